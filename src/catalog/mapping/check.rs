//! Whether a template can be rendered, asked when the form is loaded: it compiles, and every name in it exists.

use minijinja::{Environment, Value, context};

use super::{answer, environment, reason};
use crate::{
    clock::Timestamp,
    config::nearest,
    domain::{
        answer::{Answer, Answers},
        attachment::Attachment,
        form::{Choice, Field, FieldKind, Slot},
    },
};

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The line inside the template, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

/// Names a template can use besides `answers.…`.
const NAMES: [&str; 10] = [
    "summary",
    "marker",
    "key",
    "form.id",
    "form.title",
    "form.version",
    "client.user_id",
    "client.name",
    "client.username",
    "client.lang",
];

/// Everything wrong with a template over the answers to these fields.
#[must_use]
pub fn check(source: &str, fields: &[Field]) -> Vec<Mistake> {
    let environment = environment();
    let template = match environment.template_from_str(source) {
        Ok(template) => template,
        Err(error) => {
            let line = error.line().unwrap_or(1);
            let detail = error.detail().unwrap_or("").to_owned();
            let what = format!("{}: {detail}", reason(error.kind()));
            return vec![Mistake {
                line,
                what: what.trim_end_matches([':', ' ']).to_owned(),
                hint: syntax_hint(source),
            }];
        }
    };
    let mut names: Vec<String> = template.undeclared_variables(true).into_iter().collect();
    names.sort();
    let mut mistakes: Vec<Mistake> = names.iter().filter_map(|name| unknown(name, source, fields)).collect();
    mistakes.extend(fields.iter().filter_map(|field| never_equal(field, source)));
    if mistakes.is_empty() {
        mistakes.extend(try_out(&environment, source, fields));
    }
    mistakes.sort_by_key(|mistake| mistake.line);
    mistakes
}

fn syntax_hint(source: &str) -> String {
    let hint = if source.contains("{%") { "{% if answers.email %}…{% endif %}" } else { "{{ answers.name }}" };
    hint.to_owned()
}

/// A name that nothing stands behind.
fn unknown(name: &str, source: &str, fields: &[Field]) -> Option<Mistake> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let line = source.lines().position(|line| line.contains(last)).unwrap_or(0) + 1;
    let ids = fields.iter().map(|field| field.id.as_str());
    let (what, hint) = if let Some(path) = name.strip_prefix("answers.") {
        let (id, part) = path.split_once('.').map_or((path, None), |(id, part)| (id, Some(part)));
        if !fields.iter().any(|field| field.id == id) {
            let dashed = fields.iter().find(|field| field.id.starts_with(&format!("{id}-")));
            let hint = dashed.map_or_else(|| nearest::hint(id, ids), |field| format!("write answers['{}']", field.id));
            (format!("no field is called `{id}`"), hint)
        } else if let Some(part) = part
            && !answer::PARTS.contains(&part)
        {
            (format!("an answer has no `{part}`"), nearest::hint(part, answer::PARTS))
        } else {
            return None;
        }
    } else if NAMES.contains(&name) || matches!(name, "answers" | "form" | "client") {
        return None;
    } else if fields.iter().any(|field| field.id == name) {
        (format!("`{name}` is unknown here"), format!("write answers.{name}"))
    } else {
        (format!("`{name}` is unknown here"), nearest::hint(name, NAMES.into_iter().chain(["answers"])))
    };
    Some(Mistake { line, what, hint })
}

/// A choice compared as a whole: it is never equal to a text, which would silently drop a part of the ticket.
fn never_equal(field: &Field, source: &str) -> Option<Mistake> {
    let has_id = matches!(field.kind, FieldKind::Choice { .. } | FieldKind::Slot { .. });
    let name = format!("answers.{}", field.id);
    let (at, _) = source.match_indices(&name).find(|(at, _)| {
        let after = source.get(at + name.len()..).unwrap_or_default().trim_start();
        after.starts_with("==") || after.starts_with("!=")
    })?;
    let line = source.get(..at).unwrap_or_default().matches('\n').count() + 1;
    has_id.then(|| Mistake {
        line,
        what: format!("`{name}` is compared as a whole and never equal"),
        hint: format!("write {name}.id or {name}.label"),
    })
}

/// Renders over sample answers, given and skipped: finds unknown filters and endless loops before a client does.
fn try_out(environment: &Environment<'_>, source: &str, fields: &[Field]) -> Option<Mistake> {
    [samples(fields), Answers::new()].iter().find_map(|answers| {
        let values: Value = context! {
            answers => answer::values(answers),
            form => context! { id => "form", title => "Form", version => "0" },
            client => context! { user_id => 1, name => "Name", username => "name", lang => "en" },
            marker => "Z-0000-0000",
            key => "00000000-0000-0000-0000-000000000000",
            summary => "Question — answer",
        };
        let error = environment.render_str(source, values).err()?;
        let what = format!("{}: {}", reason(error.kind()), error.detail().unwrap_or(""));
        let hint = "filters: lower, upper, trim, oneline, digits, truncate, replace, default".to_owned();
        Some(Mistake { line: error.line().unwrap_or(1), what: what.trim_end_matches([':', ' ']).to_owned(), hint })
    })
}

/// An answer to every question, for trials.
#[must_use]
pub fn samples(fields: &[Field]) -> Answers {
    let mut given = Answers::new();
    for field in fields {
        given.set(field.id.clone(), sample(&field.kind));
    }
    given
}

fn sample(kind: &FieldKind) -> Answer {
    match kind {
        FieldKind::Text { .. } => Answer::Text("Text".to_owned()),
        FieldKind::Phone { .. } => Answer::Phone("+79991234567".to_owned()),
        FieldKind::Email => Answer::Email("name@example.com".to_owned()),
        FieldKind::Choice { choices } => choices.first().map_or(Answer::Skipped, Choice::answer),
        FieldKind::Slot { slots } => slots.first().map_or(Answer::Skipped, Slot::answer),
        FieldKind::Consent { version, .. } => Answer::Consent { version: version.clone(), at: Timestamp(0) },
        FieldKind::Number { min, .. } => Answer::Number(*min),
        FieldKind::Date => Answer::Date("2026-12-07".to_owned()),
        FieldKind::Files { .. } => Answer::Files(vec![Attachment {
            file_id: "sample".to_owned(),
            unique_id: "sample".to_owned(),
            name: None,
            size: Some(1_000),
            mime: "image/jpeg".to_owned(),
        }]),
    }
}
