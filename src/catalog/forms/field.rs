//! One `[[field]]` of a form file.

use std::collections::BTreeSet;

use super::{id, shown};
use crate::{
    config::{
        nearest,
        reader::{Item, Section},
    },
    domain::{
        answer::Price,
        attachment::{LARGEST_FILE, MOST_FILES, is_mime},
        condition::{Condition, RESERVED},
        form::{Choice, Field, FieldKind, FormVersion, LONGEST_LABEL, LONGEST_TEXT, MOST_CHOICES, Slot},
        moment::Begins,
        phone,
    },
};

/// Most characters of a question.
const LONGEST_ASK: usize = 500;
/// Most characters of a consent text: with its question it must fit one message.
const LONGEST_CONSENT: usize = 2500;
/// Bounds of a number where a form does not say: what a form means by "a number", and readable in a hint.
const NUMBER: std::ops::RangeInclusive<i64> = -1_000_000_000..=1_000_000_000;

/// Most files of a question that does not say.
const FILES: u32 = 5;

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Phone,
    Email,
    Choice,
    Slot,
    Consent,
    Number,
    Date,
    Files,
}

const KINDS: [(&str, Kind); 9] = [
    ("text", Kind::Text),
    ("phone", Kind::Phone),
    ("email", Kind::Email),
    ("choice", Kind::Choice),
    ("slot", Kind::Slot),
    ("consent", Kind::Consent),
    ("number", Kind::Number),
    ("date", Kind::Date),
    ("files", Kind::Files),
];

/// Where a field stands among the others.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// The fields before it that could be read.
    pub(super) earlier: &'a [Field],
    /// The ids of all fields of the form, sound or not; none for a field without one.
    pub(super) ids: &'a [Option<String>],
    /// Its own place among them.
    pub(super) place: usize,
}

/// What the form says for all its fields.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    /// How prices are written.
    pub(super) currency: &'a str,
    /// The zone of its times: local time minus UTC, in minutes.
    pub(super) utc_offset: i16,
}

/// Reads a field.
pub(super) fn read(section: &Section<'_>, terms: Terms<'_>, around: Around<'_>) -> Option<Field> {
    let id = id(section.take("id").as_ref());
    if let Some(id) = &id
        && RESERVED.contains(&id.as_str())
    {
        section.error("id", format!("`{id}` cannot name a field"), "it is a word of the `when` language");
    }
    for (key, hint) in
        [("id", "the answer is kept under it"), ("kind", "text, phone, choice, …"), ("ask", "the question")]
    {
        if !section.has(key) {
            section.missing(key, hint);
        }
    }
    let ask = shown(section, "ask", LONGEST_ASK);
    let optional = section.bool("optional").unwrap_or(false);
    let when = section.take("when").and_then(|item| when(&item, around));
    let Some(kind) = section.one_of("kind", &KINDS) else {
        // Whatever else is written here belongs to a kind we do not know: no use in calling it unknown.
        section.take_all();
        return None;
    };
    let kind = self::kind(section, kind, terms);
    Some(Field { id: id?, ask: ask?, kind: kind?, optional, when })
}

fn kind(section: &Section<'_>, kind: Kind, terms: Terms<'_>) -> Option<FieldKind> {
    Some(match kind {
        Kind::Text => {
            let longest = i64::from(LONGEST_TEXT);
            let min = section.int("min", 1..=longest).unwrap_or(1);
            let max = section.int("max", 1..=longest).unwrap_or(longest);
            ordered(section, min, max);
            FieldKind::Text { min: u32::try_from(min).ok()?, max: u32::try_from(max).ok()? }
        }
        Kind::Phone => {
            let known: Vec<(&str, &str)> = phone::regions().map(|code| (code, code)).collect();
            FieldKind::Phone { region: section.one_of("region", &known).map(str::to_owned) }
        }
        Kind::Email => FieldKind::Email,
        Kind::Choice => FieldKind::Choice {
            choices: offered(section, "choices", |item, id, label| {
                let amount = item.int("price", 0..=1_000_000_000_000);
                let price = amount.map(|amount| Price { amount, currency: terms.currency.to_owned() });
                Choice { id, label, price }
            }),
        },
        Kind::Slot => FieldKind::Slot {
            slots: offered(section, "slots", |item, id, label| {
                if !item.has("places") {
                    item.missing("places", "how many people it takes: places = 1");
                }
                let places = item.int("places", 1..=100_000).and_then(|places| u32::try_from(places).ok());
                let begins = Begins::parse(&id, terms.utc_offset);
                Slot { id, label, places: places.unwrap_or(1), begins }
            }),
        },
        Kind::Consent => {
            if !section.has("text") {
                section.missing("text", "what is consented to, with its edition");
            }
            let text = shown(section, "text", LONGEST_CONSENT)?;
            let version = FormVersion::of(&text).0;
            FieldKind::Consent { text, version }
        }
        Kind::Number => {
            let min = section.int("min", NUMBER).unwrap_or(*NUMBER.start());
            let max = section.int("max", NUMBER).unwrap_or(*NUMBER.end());
            ordered(section, min, max);
            FieldKind::Number { min, max }
        }
        Kind::Date => FieldKind::Date,
        Kind::Files => {
            let max = section.int("max", 1..=i64::from(MOST_FILES)).unwrap_or(i64::from(FILES));
            let max_size = section.int("max_size", 1..=i64::from(LARGEST_FILE)).unwrap_or(i64::from(LARGEST_FILE));
            let types = types(section);
            FieldKind::Files { max: u32::try_from(max).ok()?, max_size: u32::try_from(max_size).ok()?, types }
        }
    })
}

/// The media types of files a question takes.
fn types(section: &Section<'_>) -> Vec<String> {
    let Some(item) = section.take("types") else { return Vec::new() };
    let Some(items) = item.items() else { return Vec::new() };
    if items.is_empty() {
        item.error("`types` takes no file at all", "leave it out for any file");
    }
    let read = |item: &Item<'_>| {
        let text = item.string()?;
        let fits = is_mime(&text);
        if !fits {
            item.error(format!("`{text}` is no media type"), "\"image/*\", \"application/pdf\", in small letters");
        }
        fits.then_some(text)
    };
    items.iter().filter_map(read).collect()
}

fn ordered(section: &Section<'_>, min: i64, max: i64) {
    if min > max {
        section.error("min", format!("min {min} is above max {max}"), "nothing could be answered");
    }
}

/// The choices or slots of a field, with unique ids and labels.
fn offered<T>(section: &Section<'_>, key: &str, read: impl Fn(&Section<'_>, String, String) -> T) -> Vec<T> {
    if !section.has(key) {
        section.missing(key, format!("{key} = [ {{ id = \"…\", label = \"…\" }} ]"));
    }
    let items = section.tables(key);
    if section.has(key) && items.is_empty() {
        section.error(key, format!("`{key}` offers nothing"), "at least one");
    }
    if items.len() > MOST_CHOICES {
        section.error(key, format!("`{key}` offers {}", items.len()), format!("at most {MOST_CHOICES}"));
    }
    let (mut ids, mut labels, mut found) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for item in items {
        for wanted in ["id", "label"] {
            if !item.has(wanted) {
                item.missing(wanted, "{ id = \"…\", label = \"…\" }");
            }
        }
        let id = item.take("id").and_then(|id| choice_id(&id));
        let label = shown(&item, "label", LONGEST_LABEL);
        if let Some(id) = &id
            && !ids.insert(id.clone())
        {
            item.error("id", format!("`{id}` is offered twice"), "each needs its own id");
        }
        if let Some(label) = &label
            && !labels.insert(label.trim().to_lowercase())
        {
            item.error("label", format!("two are called `{label}`"), "people choose by the label");
        }
        let one = read(&item, id.unwrap_or_default(), label.unwrap_or_default());
        item.finish();
        found.push(one);
    }
    found
}

fn choice_id(item: &Item<'_>) -> Option<String> {
    let id = item.string()?;
    let ok = (1..=40).contains(&id.len())
        && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '+'));
    if !ok {
        item.error(format!("`{id}` cannot be an id"), "1 to 40 of A-Z, a-z, 0-9, _ . : + and -");
    }
    ok.then_some(id)
}

/// A condition whose fields exist and come earlier, and whose values can be given.
fn when(item: &Item<'_>, around: Around<'_>) -> Option<Condition> {
    let source = item.string()?;
    let condition = match Condition::parse(&source) {
        Ok(condition) => condition,
        Err(error) => {
            item.error(format!("`when`: {error}"), "for example: topic == 'other' and not answered(email)");
            return None;
        }
    };
    for word in condition.fields() {
        let name = &word.text;
        match around.ids.iter().position(|id| id.as_ref() == Some(name)) {
            Some(place) if place < around.place => {}
            Some(_) => {
                let what = format!("`when` asks about `{name}`, which does not come earlier");
                item.error(what, "a condition looks only at the questions before its own");
            }
            None => {
                let before = around.ids.iter().take(around.place).flatten().map(String::as_str);
                let what = format!("`when` asks about `{name}`, which no field is called");
                item.error(what, nearest::hint(name, before));
            }
        }
    }
    for (name, literal) in condition.literals() {
        if let Some(field) = around.earlier.iter().find(|field| field.id == name.text)
            && let Some(possible) = possible(field)
            && !possible.contains(&literal.text.as_str())
        {
            let what = format!("`when` compares `{}` with '{}', which it can never be", name.text, literal.text);
            item.error(what, nearest::hint(&literal.text, possible));
        }
    }
    Some(condition)
}

/// The values a field can be compared with, where they are few.
fn possible(field: &Field) -> Option<Vec<&str>> {
    match &field.kind {
        FieldKind::Choice { choices } => Some(choices.iter().map(|choice| choice.id.as_str()).collect()),
        FieldKind::Slot { slots } => Some(slots.iter().map(|slot| slot.id.as_str()).collect()),
        FieldKind::Consent { .. } => Some(vec!["yes"]),
        _ => None,
    }
}
