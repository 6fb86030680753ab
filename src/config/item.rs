//! One value of a file or of the environment: knows its name and place, and reads itself as the type asked for.

use std::{
    ops::{Range, RangeInclusive},
    time::Duration,
};

use toml::{Spanned, de::DeValue};

use super::{
    duration, nearest,
    places::Place,
    reader::{Document, Section},
};

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Raw<'d> {
    /// The file.
    File(&'d Spanned<DeValue<'d>>),
    /// An environment variable, or one part of its comma-separated list.
    Env { name: &'d str, text: &'d str },
}

/// One value with its dotted name and place.
#[derive(Debug, Clone)]
pub struct Item<'d> {
    document: &'d Document<'d>,
    label: String,
    raw: Raw<'d>,
}

impl<'d> Item<'d> {
    pub(super) fn new(document: &'d Document<'d>, label: String, raw: Raw<'d>) -> Self {
        Self { document, label, raw }
    }

    /// The dotted name, such as `telegram.token`.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The value as the file has it; absent if it comes from the environment.
    #[must_use]
    pub fn value(&self) -> Option<&'d DeValue<'d>> {
        match self.raw {
            Raw::File(value) => Some(value.get_ref()),
            Raw::Env { .. } => None,
        }
    }

    /// Where the value is written in the file.
    #[must_use]
    pub fn span(&self) -> Option<Range<usize>> {
        match self.raw {
            Raw::File(value) => Some(value.span()),
            Raw::Env { .. } => None,
        }
    }

    /// The line of the value, from 1.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.span().map(|span| self.document.place(span.start).0)
    }

    /// Where the value is: its file and line, or the variable.
    #[must_use]
    pub fn place(&self) -> Place {
        match self.raw {
            Raw::File(_) => (self.document.file().to_owned(), self.line()),
            Raw::Env { name, .. } => (format!("environment {name}"), None),
        }
    }

    /// Records an error at this value.
    pub fn error(&self, what: impl Into<String>, hint: impl Into<String>) {
        match self.raw {
            Raw::File(value) => self.document.error_at(Some(value.span()), what, hint),
            Raw::Env { name, .. } => {
                let mut problems = self.document.problems().borrow_mut();
                problems.error(format!("environment {name}"), None, what, hint);
            }
        }
    }

    /// Records an error on a line inside this value, counted from 1: for a language of its own in a long string.
    pub fn error_in(&self, line: usize, what: impl Into<String>, hint: impl Into<String>) {
        match self.span() {
            Some(span) => self.document.error_at(Some(self.document.line_within(span, line)), what, hint),
            None => self.error(what, hint),
        }
    }

    /// Records something to look at, at this value.
    pub fn warning(&self, what: impl Into<String>, hint: impl Into<String>) {
        match self.raw {
            Raw::File(value) => self.document.warning_at(Some(value.span()), what, hint),
            Raw::Env { name, .. } => {
                let mut problems = self.document.problems().borrow_mut();
                problems.warning(format!("environment {name}"), None, what, hint);
            }
        }
    }

    /// The value as a string.
    #[must_use]
    pub fn string(&self) -> Option<String> {
        match self.raw {
            Raw::Env { text, .. } => Some(text.to_owned()),
            Raw::File(value) => match value.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                other => self.wrong_type("a string (in quotes)", other),
            },
        }
    }

    /// A string, number or truth value as text: for values whose type another file decides.
    #[must_use]
    pub fn plain(&self) -> Option<String> {
        match self.value() {
            Some(DeValue::Integer(number)) => Some(number.to_string()),
            Some(DeValue::Float(number)) => Some(number.as_str().to_owned()),
            Some(DeValue::Boolean(truth)) => Some(truth.to_string()),
            _ => self.string(),
        }
    }

    /// Whether it comes from the environment.
    #[must_use]
    pub fn is_env(&self) -> bool {
        matches!(self.raw, Raw::Env { .. })
    }

    /// The value as a whole number within `range`.
    #[must_use]
    pub fn int(&self, range: RangeInclusive<i64>) -> Option<i64> {
        let number = match self.raw {
            Raw::Env { text, .. } => text.trim().parse().ok(),
            Raw::File(value) => match value.get_ref() {
                DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
                other => return self.wrong_type("a whole number", other),
            },
        };
        let hint = if range == (i64::MIN..=i64::MAX) {
            "a whole number of at most 18 digits".to_owned()
        } else {
            format!("{} to {}", range.start(), range.end())
        };
        match number {
            Some(number) if range.contains(&number) => Some(number),
            Some(number) => self.refuse(format!("`{}` is {number}, out of range", self.label), hint),
            None => self.refuse(format!("`{}` is not a whole number we can hold", self.label), hint),
        }
    }

    /// The value as `true` or `false`.
    #[must_use]
    pub fn bool(&self) -> Option<bool> {
        match self.raw {
            Raw::Env { text: "true" | "1" | "yes", .. } => Some(true),
            Raw::Env { text: "false" | "0" | "no", .. } => Some(false),
            Raw::Env { .. } => self.refuse(format!("`{}` is not true or false", self.label), "true or false"),
            Raw::File(value) => match value.get_ref() {
                DeValue::Boolean(value) => Some(*value),
                other => self.wrong_type("true or false", other),
            },
        }
    }

    /// The value as a duration within `range`.
    #[must_use]
    pub fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let text = match self.raw {
            Raw::Env { text, .. } => text,
            Raw::File(value) => match value.get_ref() {
                DeValue::String(text) => text,
                other => {
                    let what = format!("`{}` must be a duration, this is {}", self.label, kind(other));
                    return self.refuse(what, duration::SHAPE);
                }
            },
        };
        let Some(read) = duration::parse(text) else {
            return self.refuse(format!("`{}` is not a duration: `{text}`", self.label), duration::SHAPE);
        };
        if range.contains(&read) {
            return Some(read);
        }
        let hint = format!("{} to {}", duration::show(*range.start()), duration::show(*range.end()));
        self.refuse(format!("`{}` is {}, out of range", self.label, duration::show(read)), hint)
    }

    /// The value as one of a few words, by what each means.
    #[must_use]
    pub fn one_of<T: Clone>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.string()?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Some(meaning.clone());
        }
        let hint = nearest::hint(&text, words.iter().map(|(word, _)| *word));
        self.refuse(format!("`{}` cannot be `{text}`", self.label), hint)
    }

    /// The values of a list; from the environment, what stands between commas.
    #[must_use]
    pub fn items(&self) -> Option<Vec<Item<'d>>> {
        let part = |(i, raw)| Item::new(self.document, format!("{}[{}]", self.label, i + 1), raw);
        match self.raw {
            Raw::Env { name, text } => {
                let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
                let parts = inner.split(',').map(str::trim).filter(|part| !part.is_empty());
                Some(parts.map(|text| Raw::Env { name, text }).enumerate().map(part).collect())
            }
            Raw::File(value) => match value.get_ref() {
                DeValue::Array(values) => Some(values.iter().map(Raw::File).enumerate().map(part).collect()),
                other => self.wrong_type("a list", other),
            },
        }
    }

    /// The value as a table.
    #[must_use]
    pub fn section(&self) -> Option<Section<'d>> {
        match self.raw {
            Raw::Env { .. } => self.refuse(format!("`{}` is a table", self.label), "set its keys one by one"),
            Raw::File(value) => match value.get_ref() {
                DeValue::Table(table) => {
                    Some(Section::of(self.document, self.label.clone(), Some(value.span()), Some(table)))
                }
                other => self.wrong_type("a table", other),
            },
        }
    }

    fn wrong_type<T>(&self, wanted: &str, got: &DeValue<'_>) -> Option<T> {
        self.refuse(format!("`{}` must be {wanted}, this is {}", self.label, kind(got)), "")
    }

    fn refuse<T>(&self, what: String, hint: impl Into<String>) -> Option<T> {
        self.error(what, hint);
        None
    }
}

/// What a value's type is called in a message.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
