//! A form file becomes a [`Form`], or a list of everything that is wrong with it.

mod field;

use std::collections::BTreeMap;

use self::field::Around;
use crate::{
    catalog::{mapping, problem::Problems},
    config::reader::{Document, Item, Section},
    domain::{
        form::{ContactTemplate, Field, Form, FormVersion, TicketTemplate},
        moment,
    },
};

/// Most questions of one form.
const MOST_FIELDS: usize = 50;
/// Most characters of a title: it is a button where there are several forms.
const LONGEST_TITLE: usize = 64;
/// Most characters of an intro.
const LONGEST_INTRO: usize = 1000;
/// How prices are written where a form does not say.
const CURRENCY: &str = "₽";

/// Reads one form file. What is wrong is added to `problems`; a form with errors is not returned.
#[must_use]
pub fn load(file: &str, text: &str, problems: &mut Problems) -> Option<Form> {
    let document = Document::parse(file, text);
    let form = read(&document);
    let sound = !document.has_errors();
    problems.append(document.into_problems());
    form.filter(|_| sound)
}

fn read(document: &Document<'_>) -> Option<Form> {
    let root = document.root();
    let id = id(root.take("id").as_ref());
    if id.is_none() && !root.has("id") {
        root.missing("id", "a short name for links and logs: id = \"consultation\"");
    }
    let title = shown(&root, "title", LONGEST_TITLE);
    if !root.has("title") {
        root.missing("title", "what people call this form");
    }
    let intro = shown(&root, "intro", LONGEST_INTRO).unwrap_or_default();
    let currency = shown(&root, "currency", 8).unwrap_or_else(|| CURRENCY.to_owned());
    let fields = fields(&root, field::Terms { currency: &currency, utc_offset: utc_offset(&root) });
    let ticket = ticket(&root, &fields);
    root.finish();
    let version = FormVersion(String::new());
    Some(Form { id: id?, version, title: title?, intro, fields, ticket: ticket? }.sealed())
}

/// The zone of the form's times.
fn utc_offset(root: &Section<'_>) -> i16 {
    let Some(item) = root.take("utc_offset") else { return moment::DEFAULT_OFFSET };
    let Some(text) = item.string() else { return moment::DEFAULT_OFFSET };
    moment::offset(text.trim()).unwrap_or_else(|| {
        item.error(format!("`utc_offset` cannot be `{text}`"), "\"+03:00\", from -14:00 to +14:00");
        moment::DEFAULT_OFFSET
    })
}

fn fields(root: &Section<'_>, terms: field::Terms<'_>) -> Vec<Field> {
    let sections = root.tables("field");
    if sections.is_empty() && !root.has("field") {
        root.missing("field", "at least one question: [[field]] with id, kind and ask");
    }
    if sections.len() > MOST_FIELDS {
        root.error("field", format!("{} questions in one form", sections.len()), format!("at most {MOST_FIELDS}"));
    }
    // Ids of all fields, so that a condition on a later one is told from a condition on none.
    let ids: Vec<Option<String>> = sections.iter().map(|section| section.peek("id")).collect();
    let mut read: Vec<Field> = Vec::new();
    for (place, section) in sections.into_iter().enumerate() {
        if let Some(id) = ids.get(place).and_then(Option::as_ref)
            && ids.iter().take(place).flatten().any(|earlier| earlier == id)
        {
            section.error("id", format!("there are two fields `{id}`"), "an answer is kept under its field's id");
        }
        let around = Around { earlier: &read, ids: &ids, place };
        if let Some(field) = field::read(&section, terms, around) {
            read.push(field);
        }
        section.finish();
    }
    read
}

fn ticket(root: &Section<'_>, fields: &[Field]) -> Option<TicketTemplate> {
    let Some(section) = root.table("ticket") else {
        if !root.has("ticket") {
            root.missing("ticket", "[ticket] with subject and body says how the answers become a ticket");
        }
        return None;
    };
    for key in ["subject", "body"] {
        if !section.has(key) {
            section.missing(key, "a template, such as \"{{ form.title }}: {{ answers.name }}\" or \"{{ summary }}\"");
        }
    }
    let subject = template(section.take("subject"), fields);
    let body = template(section.take("body"), fields);
    let contact = section.table_or_empty("contact");
    let contact_template = ContactTemplate {
        name: template(contact.take("name"), fields),
        phone: template(contact.take("phone"), fields),
        email: template(contact.take("email"), fields),
    };
    contact.finish();
    let mut extras = BTreeMap::new();
    let extra_fields = section.table_or_empty("fields");
    for (key, item) in extra_fields.items() {
        if let Some(source) = template(Some(item), fields) {
            extras.insert(key, source);
        }
    }
    extra_fields.finish();
    section.finish();
    Some(TicketTemplate { subject: subject?, body: body?, contact: contact_template, fields: extras })
}

/// A template that compiles and asks only for what there is.
fn template(item: Option<Item<'_>>, fields: &[Field]) -> Option<String> {
    let item = item?;
    let source = item.string()?;
    let mistakes = mapping::check(&source, fields);
    for mistake in &mistakes {
        item.error_in(mistake.line, format!("`{}`: {}", item.label(), mistake.what), mistake.hint.clone());
    }
    mistakes.is_empty().then_some(source)
}

/// An id: `[a-z0-9_-]{1,32}`.
fn id(item: Option<&Item<'_>>) -> Option<String> {
    let item = item?;
    let id = item.string()?;
    let ok = (1..=32).contains(&id.len())
        && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'));
    if !ok {
        item.error(format!("`{id}` cannot be an id"), "1 to 32 of a-z, 0-9, _ and -");
    }
    ok.then_some(id)
}

/// A text people see: not blank, at most `longest` characters.
fn shown(section: &Section<'_>, key: &str, longest: usize) -> Option<String> {
    let item = section.take(key)?;
    let text = item.string()?;
    let length = text.chars().count();
    if crate::domain::blank::is_blank(&text) {
        item.error(format!("`{}` shows nothing", item.label()), "write something, or leave the key out");
        return None;
    }
    if length > longest {
        item.error(format!("`{}` has {length} characters", item.label()), format!("at most {longest}"));
        return None;
    }
    Some(text)
}

#[cfg(test)]
mod tests;
