//! A ticket from sample answers: what `check` shows and `probe` makes.

use crate::{
    catalog::{
        Catalog,
        mapping::{ClientView, samples},
    },
    domain::{
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
    let client = ClientView {
        user_id: UserId(1),
        name: "Name".to_owned(),
        username: Some("name".to_owned()),
        lang: "en".to_owned(),
    };
    let lines = summary_lines(form, &answers).into_iter().map(|(ask, answer)| format!("{ask}\n{answer}"));
    let summary = lines.collect::<Vec<_>>().join("\n\n");
    let marker = Marker::of(key);
    catalog.renderer.render(form, &answers, &client, (&marker, key), &summary).map_err(|error| error.to_string())
}
