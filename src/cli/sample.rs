//! A ticket from sample answers: what `check` shows and `probe` makes.

use crate::{
    catalog::{
        Catalog,
        mapping::{ClientView, Renderer, samples},
    },
    domain::{
        answer::Answers,
        form::{Form, summary_lines},
        ticket::TicketOrder,
    },
    ids::{ExternalKey, Marker, UserId},
};

/// The order a form gives for sample answers, under this key.
///
/// # Errors
/// A template of the form cannot be rendered.
pub(super) fn order(catalog: &Catalog, form: &Form, key: ExternalKey) -> Result<TicketOrder, String> {
    let answers = samples(&form.fields);
    let lines = summary_lines(form, &answers).into_iter().map(|(ask, answer)| format!("{ask}\n{answer}"));
    let summary = lines.collect::<Vec<_>>().join("\n\n");
    ticket(&catalog.renderer, form, &answers, (key, "en"), &summary)
}

/// The order a form gives for these answers of nobody.
///
/// # Errors
/// A template of the form cannot be rendered.
pub(super) fn ticket(
    renderer: &Renderer,
    form: &Form,
    answers: &Answers,
    (key, lang): (ExternalKey, &str),
    summary: &str,
) -> Result<TicketOrder, String> {
    let client = ClientView {
        user_id: UserId(1),
        name: "Name".to_owned(),
        username: Some("name".to_owned()),
        lang: lang.to_owned(),
    };
    let marker = Marker::of(key);
    renderer.render(form, answers, &client, (&marker, key), summary).map_err(|error| error.to_string())
}
