//! What a person answered, as it is stored with a draft and frozen with an operation.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::{
    attachment::{self, Attachment},
    moment::Begins,
};
use crate::clock::Timestamp;

/// What a choice costs: whole units, as the form states them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Price {
    /// Whole units of the currency, 0 or more.
    pub amount: i64,
    /// How the currency is written after the amount.
    pub currency: String,
}

impl fmt::Display for Price {
    /// `3 000 ₽`, with spaces that do not break a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.amount.to_string();
        let mut grouped = String::new();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                grouped.push('\u{00A0}');
            }
            grouped.push(digit);
        }
        write!(f, "{grouped}\u{00A0}{}", self.currency)
    }
}

/// One answer, with all it needs to be shown and sent later, whatever becomes of the form file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Answer {
    /// Text exactly as typed, without outer white space.
    Text(String),
    /// A telephone number in E.164.
    Phone(String),
    /// A mail address, domain in lower case.
    Email(String),
    /// One of the offered choices, with the terms it was offered on.
    Choice {
        /// The choice's id in the form.
        id: String,
        /// What the button said.
        label: String,
        /// What it cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price: Option<Price>,
    },
    /// One of the offered times; its place is taken at submit.
    Slot {
        /// The slot's id in the form.
        id: String,
        /// What the button said.
        label: String,
        /// When it begins, if the form said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begins: Option<Begins>,
    },
    /// Consent to a text.
    Consent {
        /// Which text: the version of the form's consent text.
        version: String,
        /// When it was given.
        at: Timestamp,
    },
    /// A whole number.
    Number(i64),
    /// A day, `2026-12-07`.
    Date(String),
    /// Files, in the order they were sent; at least one.
    Files(Vec<Attachment>),
    /// An optional question passed over.
    Skipped,
}

impl Answer {
    /// How the summary shows it.
    #[must_use]
    pub fn display(&self) -> String {
        match self {
            Self::Choice { label, price: Some(price), .. } => format!("{label} — {price}"),
            // People read the hour on their own clock: whose hour it is has to stand beside it.
            Self::Slot { label, begins: Some(begins), .. } => format!("{label} ({})", begins.zone()),
            Self::Consent { .. } => "✓".to_owned(),
            Self::Skipped => "—".to_owned(),
            Self::Date(iso) => match iso.split('-').collect::<Vec<_>>()[..] {
                [year, month, day] => format!("{day}.{month}.{year}"),
                _ => iso.clone(),
            },
            other => other.value(),
        }
    }

    /// How a ticket template renders it; empty if it was skipped.
    #[must_use]
    pub fn value(&self) -> String {
        match self {
            Self::Text(text) | Self::Phone(text) | Self::Email(text) | Self::Date(text) => text.clone(),
            Self::Choice { label, .. } | Self::Slot { label, .. } => label.clone(),
            Self::Consent { version, at } => format!("{at} ({version})"),
            Self::Number(number) => number.to_string(),
            Self::Files(files) => attachment::names(files),
            Self::Skipped => String::new(),
        }
    }

    /// What a `when` condition compares: the id of a choice or slot, `yes` for consent, else the value. A skipped
    /// answer compares with nothing.
    #[must_use]
    pub fn compared(&self) -> Option<String> {
        match self {
            Self::Choice { id, .. } | Self::Slot { id, .. } => Some(id.clone()),
            Self::Consent { .. } => Some("yes".to_owned()),
            Self::Skipped => None,
            other => Some(other.value()),
        }
    }
}

/// The answers of one draft by field id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Answers(pub BTreeMap<String, Answer>);

impl Answers {
    /// No answers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The answer to a field.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Answer> {
        self.0.get(field)
    }

    /// Sets the answer to a field.
    pub fn set(&mut self, field: impl Into<String>, answer: Answer) {
        self.0.insert(field.into(), answer);
    }

    /// Takes the answer to a field away.
    pub fn remove(&mut self, field: &str) -> Option<Answer> {
        self.0.remove(field)
    }

    /// Whether the field has an answer, a skipped one included.
    #[must_use]
    pub fn has(&self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    /// Field ids and answers, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Answer)> {
        self.0.iter().map(|(id, answer)| (id.as_str(), answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_grouped_for_reading() {
        for (amount, shown) in [(0, "0 ₽"), (999, "999 ₽"), (3000, "3 000 ₽"), (1_234_567, "1 234 567 ₽")] {
            let price = Price { amount, currency: "₽".to_owned() };
            assert_eq!(price.to_string().replace('\u{00A0}', " "), shown);
        }
    }

    #[test]
    fn stored_answers_keep_their_shape() {
        let mut answers = Answers::new();
        answers.set("a", Answer::Text("x".to_owned()));
        answers.set("b", Answer::Choice { id: "tax".to_owned(), label: "Налоги".to_owned(), price: None });
        answers.set("c", Answer::Consent { version: "ab12".to_owned(), at: Timestamp(5) });
        answers.set("d", Answer::Skipped);
        let stored = serde_json::to_string(&answers).unwrap();
        // Frozen: drafts and operations of earlier releases must stay readable.
        assert_eq!(
            stored,
            r#"{"a":{"kind":"text","value":"x"},"b":{"kind":"choice","value":{"id":"tax","label":"Налоги"}},"c":{"kind":"consent","value":{"version":"ab12","at":5}},"d":{"kind":"skipped"}}"#
        );
        assert_eq!(serde_json::from_str::<Answers>(&stored).unwrap(), answers);
    }
}
