//! How the answers become a ticket: minijinja templates, checked when the form is loaded.
//!
//! Nothing is escaped: the characters of an answer reach the CRM as they were typed, and the profile escapes for the
//! place it puts them in. What was skipped or not asked renders as nothing.

mod answer;
mod check;

use std::collections::BTreeMap;

use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, context};

pub use check::{Mistake, check, samples};

use crate::{
    domain::{
        answer::{Answer, Answers},
        attachment::Attachment,
        blank,
        form::{Field, Form},
        ticket::{Contact, TicketOrder},
    },
    ids::{ExternalKey, Marker, UserId},
};

/// Most characters of a subject.
pub const LONGEST_SUBJECT: usize = 255;
/// Steps one template may take: thousands of times what a real one needs, and over in milliseconds.
const FUEL: u64 = 100_000;

/// The requester as templates see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientView {
    /// Telegram's number for them.
    pub user_id: UserId,
    /// As Telegram shows it.
    pub name: String,
    /// Without the `@`.
    pub username: Option<String>,
    /// Language of the chat: `ru`.
    pub lang: String,
}

/// A template could not be rendered. Says which and why in kind; never what the answers were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderError {
    /// `subject`, `body`, `contact.phone`, `fields.topic`, …
    pub template: String,
    /// What went wrong.
    pub what: String,
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ticket template `{}` cannot be rendered: {}", self.template, self.what)
    }
}

impl std::error::Error for RenderError {}

/// The rules all ticket templates run under.
#[derive(Debug)]
pub struct Renderer {
    environment: Environment<'static>,
}

impl Default for Renderer {
    fn default() -> Self {
        Self { environment: environment() }
    }
}

impl Renderer {
    /// The ticket for these answers. `summary` is what `{{ summary }}` renders to.
    ///
    /// # Errors
    /// A template ran out of steps or asked for what its values cannot do; loading has tried all templates, so this
    /// is rare.
    pub fn render(
        &self,
        form: &Form,
        answers: &Answers,
        client: &ClientView,
        (marker, key): (&Marker, ExternalKey),
        summary: &str,
    ) -> Result<TicketOrder, RenderError> {
        let values = context! {
            answers => answer::values(&form.clean(answers)),
            form => context! { id => &form.id, title => &form.title, version => &form.version.0 },
            client => context! {
                user_id => client.user_id.0,
                name => &client.name,
                username => client.username.clone().unwrap_or_default(),
                lang => &client.lang,
            },
            marker => marker.as_str(),
            key => key.to_string(),
            summary => summary,
        };
        let one = |name: &str, source: &str| self.one(name, source, &values);
        let part = |name: &str, source: &Option<String>| match source {
            None => Ok(None),
            Some(source) => Ok(Some(one(name, source)?).filter(|text| !blank::is_blank(text))),
        };
        let mut fields = BTreeMap::new();
        for (name, source) in &form.ticket.fields {
            let text = one(&format!("fields.{name}"), source)?;
            if !blank::is_blank(&text) {
                fields.insert(name.clone(), text);
            }
        }
        Ok(TicketOrder {
            key,
            marker: marker.clone(),
            subject: subject(&one("subject", &form.ticket.subject)?, &form.title, marker),
            body: body(one("body", &form.ticket.body)?, marker),
            contact: Contact {
                name: part("contact.name", &form.ticket.contact.name)?,
                phone: part("contact.phone", &form.ticket.contact.phone)?,
                email: part("contact.email", &form.ticket.contact.email)?,
            },
            fields,
            files: attached(form, answers),
        })
    }

    fn one(&self, name: &str, source: &str, values: &Value) -> Result<String, RenderError> {
        self.environment
            .render_str(source, values.clone())
            .map_err(|error| RenderError { template: name.to_owned(), what: reason(error.kind()).to_owned() })
    }
}

/// All files of the questions that are asked, in their order.
fn attached(form: &Form, answers: &Answers) -> Vec<Attachment> {
    let of = |field: &Field| match answers.get(&field.id) {
        Some(Answer::Files(files)) => files.clone(),
        _ => Vec::new(),
    };
    form.asked(answers).into_iter().flat_map(of).collect()
}

/// What an error's kind means to an operator; its own detail may quote an answer.
fn reason(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::SyntaxError => "not a valid template",
        ErrorKind::UnknownFilter => "unknown filter",
        ErrorKind::UnknownTest => "unknown test",
        ErrorKind::UnknownFunction | ErrorKind::UnknownMethod => "unknown function",
        ErrorKind::OutOfFuel => "it takes too many steps",
        ErrorKind::InvalidOperation | ErrorKind::NonPrimitive => "a value cannot be used like this",
        ErrorKind::MissingArgument | ErrorKind::TooManyArguments => "wrong number of arguments",
        ErrorKind::UndefinedError => "something undefined is used",
        _ => "it cannot be rendered",
    }
}

/// An environment with nothing in it but a few harmless filters.
fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_fuel(Some(FUEL));
    environment.add_filter("lower", |text: String| text.to_lowercase());
    environment.add_filter("upper", |text: String| text.to_uppercase());
    environment.add_filter("trim", |text: String| text.trim().to_owned());
    environment.add_filter("oneline", |text: String| one_line(&text));
    environment.add_filter("digits", |text: String| text.chars().filter(char::is_ascii_digit).collect::<String>());
    environment.add_filter("truncate", |text: String, most: usize| cut(&text, most));
    environment.add_filter(
        "replace",
        |text: String, from: String, to: String| {
            if from.is_empty() { text } else { text.replace(&from, &to) }
        },
    );
    environment.add_filter("default", |value: Value, other: Value| {
        let nothing = value.is_undefined() || value.is_none() || value.to_string().is_empty();
        if nothing { other } else { value }
    });
    environment.add_test("defined", |value: Value| !value.is_undefined());
    environment
}

fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// At most `most` characters, the last one `…` if anything was cut off.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    if most > 0 {
        kept.push('…');
    }
    kept
}

/// One line with something in it: no CRM takes a ticket without a subject.
fn subject(rendered: &str, title: &str, marker: &Marker) -> String {
    let line = one_line(rendered);
    if blank::is_blank(&line) {
        cut(&format!("{title} {marker}"), LONGEST_SUBJECT)
    } else {
        cut(&line, LONGEST_SUBJECT)
    }
}

/// The text with the marker in it, so that a person can find the ticket by hand.
fn body(mut rendered: String, marker: &Marker) -> String {
    if !rendered.contains(marker.as_str()) {
        if !rendered.is_empty() {
            rendered.push_str("\n\n");
        }
        rendered.push_str(marker.as_str());
    }
    rendered
}

#[cfg(test)]
mod tests;
