//! A form: its questions in order, which of them are asked, and how the answers become a ticket.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    answer::{Answer, Answers, Price},
    condition::Condition,
    moment::Begins,
};

/// Most characters a text answer may have: what one Telegram message holds.
pub const LONGEST_TEXT: u32 = 4096;
/// Most choices or slots of one field.
pub const MOST_CHOICES: usize = 100;
/// Most characters of a button's label.
pub const LONGEST_LABEL: usize = 64;

/// Which edition of a form: changes with every change of its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FormVersion(pub String);

impl FormVersion {
    /// The version of a text: the first 16 hex digits of its SHA-256.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        Self(digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }
}

impl std::fmt::Display for FormVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A form as loaded and checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// `[a-z0-9_-]{1,32}`, unique among the forms.
    pub id: String,
    /// Which edition this is.
    pub version: FormVersion,
    /// What people call it.
    pub title: String,
    /// Said before the first question; may be empty.
    pub intro: String,
    /// The questions, in order; at least one.
    pub fields: Vec<Field>,
    /// How the answers become a ticket.
    pub ticket: TicketTemplate,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// `[a-z0-9_-]{1,32}`, unique in the form.
    pub id: String,
    /// The question as the person reads it.
    pub ask: String,
    /// What counts as an answer.
    pub kind: FieldKind,
    /// Whether it may be passed over.
    pub optional: bool,
    /// When it is asked; always, if absent.
    pub when: Option<Condition>,
}

/// What counts as an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FieldKind {
    /// Free text.
    Text {
        /// Fewest characters, from 1.
        min: u32,
        /// Most characters, up to [`LONGEST_TEXT`].
        max: u32,
    },
    /// A telephone number.
    Phone {
        /// Whose home numbers are understood (`RU`); without it a number needs its plus sign.
        region: Option<String>,
    },
    /// A mail address.
    Email,
    /// One of a few choices.
    Choice {
        /// What is offered, 1 to [`MOST_CHOICES`].
        choices: Vec<Choice>,
    },
    /// One of a few times with bounded places.
    Slot {
        /// What is offered, 1 to [`MOST_CHOICES`].
        slots: Vec<Slot>,
    },
    /// Consent to a text; a refusal ends the form.
    Consent {
        /// What is consented to.
        text: String,
        /// Which edition of the text.
        version: String,
    },
    /// A whole number.
    Number {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A day.
    Date,
    /// Photos and documents.
    Files {
        /// Most of them, 1 to [`MOST_FILES`](super::attachment::MOST_FILES).
        max: u32,
        /// The largest, in megabytes, up to [`LARGEST_FILE`](super::attachment::LARGEST_FILE).
        max_size: u32,
        /// Media types taken, such as `image/*`; any where there are none.
        types: Vec<String>,
    },
}

/// One choice of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// `[A-Za-z0-9_.:-]{1,40}`, unique in the field.
    pub id: String,
    /// The button's words.
    pub label: String,
    /// What it costs, if anything is said of that.
    pub price: Option<Price>,
}

impl Choice {
    /// The label, and the price if there is one: how the question lists it.
    #[must_use]
    pub fn listed(&self) -> String {
        self.answer().display()
    }

    /// The answer that taking this choice gives.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer::Choice { id: self.id.clone(), label: self.label.clone(), price: self.price.clone() }
    }
}

/// One time of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// `[A-Za-z0-9_.:-]{1,40}`, unique in the field.
    pub id: String,
    /// The button's words.
    pub label: String,
    /// How many submitted drafts may hold it, from 1.
    pub places: u32,
    /// When it begins, if its id is a time. Left out of the form's version while the zone is the usual one, so that
    /// drafts of earlier releases find their form unchanged.
    #[serde(default, skip_serializing_if = "Begins::is_usual")]
    pub begins: Option<Begins>,
}

impl Slot {
    /// The answer that taking this slot gives.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer::Slot { id: self.id.clone(), label: self.label.clone(), begins: self.begins }
    }
}

/// Templates (minijinja) of a ticket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketTemplate {
    /// One line.
    pub subject: String,
    /// The whole text.
    pub body: String,
    /// Who to call back.
    pub contact: ContactTemplate,
    /// Further fields by the profile's name or number for them.
    pub fields: BTreeMap<String, String>,
}

/// Templates of the ticket's contact; what is absent is not sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactTemplate {
    /// Name.
    pub name: Option<String>,
    /// Telephone number.
    pub phone: Option<String>,
    /// Mail address.
    pub email: Option<String>,
}

impl Form {
    /// The same form with the version its content has.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.version = FormVersion(String::new());
        // A form is plain data: it always serialises, and in one way (struct order, sorted maps).
        let canonical = serde_json::to_string(&self).unwrap_or_default();
        self.version = FormVersion::of(&canonical);
        self
    }

    /// The field with this id.
    #[must_use]
    pub fn field(&self, id: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.id == id)
    }

    /// The fields that are asked given these answers, in order. A field's condition sees only answers to earlier
    /// fields that are themselves asked.
    #[must_use]
    pub fn asked(&self, answers: &Answers) -> Vec<&Field> {
        self.walk(answers).0
    }

    /// The answers without those to fields that are not asked (any more) or not in the form.
    ///
    /// Conditions look only backwards, so one pass settles everything: cleaning twice changes nothing.
    #[must_use]
    pub fn clean(&self, answers: &Answers) -> Answers {
        self.walk(answers).1
    }

    /// The first asked field that has no answer yet.
    #[must_use]
    pub fn next_unanswered(&self, answers: &Answers) -> Option<&Field> {
        self.asked(answers).into_iter().find(|field| !answers.has(&field.id))
    }

    fn walk(&self, answers: &Answers) -> (Vec<&Field>, Answers) {
        let (mut asked, mut live) = (Vec::new(), Answers::new());
        for field in &self.fields {
            if field.when.as_ref().is_none_or(|when| when.holds(&live)) {
                asked.push(field);
                if let Some(answer) = answers.get(&field.id) {
                    live.set(field.id.clone(), answer.clone());
                }
            }
        }
        (asked, live)
    }
}

/// Question and answer, in order, of every asked field that has an answer; what the summary and the ticket show.
#[must_use]
pub fn summary_lines(form: &Form, answers: &Answers) -> Vec<(String, String)> {
    let shown = |field: &Field| answers.get(&field.id).map(|answer| (field.ask.clone(), answer.display()));
    form.asked(answers).into_iter().filter_map(shown).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn field(id: &str, kind: FieldKind, when: Option<&str>) -> Field {
        let when = when.map(|source| Condition::parse(source).unwrap());
        Field { id: id.to_owned(), ask: format!("{id}?"), kind, optional: false, when }
    }

    fn text() -> FieldKind {
        FieldKind::Text { min: 1, max: 100 }
    }

    fn form() -> Form {
        Form {
            id: "f".into(),
            version: FormVersion(String::new()),
            title: "F".into(),
            intro: String::new(),
            fields: vec![
                field("a", text(), None),
                field("b", text(), Some("a == '1'")),
                field("c", text(), Some("b == '1'")),
                field("d", text(), None),
            ],
            ticket: TicketTemplate::default(),
        }
        .sealed()
    }

    fn answers(given: &[(&str, &str)]) -> Answers {
        let mut answers = Answers::new();
        for (id, text) in given {
            answers.set(*id, Answer::Text((*text).to_owned()));
        }
        answers
    }

    #[test]
    fn an_answer_that_closes_a_branch_drops_everything_behind_it() {
        let form = form();
        let given = answers(&[("a", "1"), ("b", "1"), ("c", "x"), ("d", "y")]);
        assert_eq!(form.clean(&given), given);
        let changed = answers(&[("a", "2"), ("b", "1"), ("c", "x"), ("d", "y"), ("gone", "z")]);
        assert_eq!(form.clean(&changed), answers(&[("a", "2"), ("d", "y")]));
        assert_eq!(form.next_unanswered(&answers(&[("a", "1")])).map(|f| f.id.as_str()), Some("b"));
        assert_eq!(form.next_unanswered(&answers(&[("a", "2")])).map(|f| f.id.as_str()), Some("d"));
        assert_eq!(form.next_unanswered(&given), None);
    }

    #[test]
    fn the_summary_shows_asked_questions_in_order() {
        let mut given = answers(&[("a", "2"), ("b", "hidden")]);
        given.set("d", Answer::Skipped);
        assert_eq!(
            summary_lines(&form(), &given),
            [("a?".to_owned(), "2".to_owned()), ("d?".to_owned(), "—".to_owned())]
        );
    }

    #[test]
    fn any_change_of_content_changes_the_version() {
        let (one, mut two) = (form(), form());
        assert_eq!(one.version, two.clone().sealed().version);
        two.fields[0].ask.push('!');
        assert_ne!(one.version, two.sealed().version);
    }

    proptest! {
        #[test]
        fn cleaning_is_stable_and_leaves_only_what_is_asked(
            given in proptest::collection::btree_map("[a-e]", "[12]", 0..6)
        ) {
            let form = form();
            let given = Answers(given.into_iter().map(|(k, v)| (k, Answer::Text(v))).collect());
            let clean = form.clean(&given);
            prop_assert_eq!(&form.clean(&clean), &clean);
            prop_assert_eq!(form.asked(&clean), form.asked(&given));
            for (id, _) in clean.iter() {
                prop_assert!(form.asked(&clean).iter().any(|field| field.id == id));
            }
        }
    }
}
