//! A draft: one person's answers to one form, on their way to a summary.
//!
//! The revision grows with every change and is written into each button, so that a button tells whether it still
//! belongs to what the person sees. Confirming freezes the draft; only the operation's end opens it again.

use serde::{Deserialize, Serialize};

use super::{
    answer::{Answer, Answers},
    attachment::Attachment,
    form::{Field, FieldKind, Form},
};
use crate::ids::{BotId, ChatId, ConfirmVersion, DraftId, UserId};

/// Where a draft stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftState {
    /// A question is open.
    Filling,
    /// All is answered; the summary waits for a tap.
    Summary,
    /// Confirmed: frozen while its operation is undecided.
    Submitted,
    /// Withdrawn by the person.
    Cancelled,
    /// Consent was refused; answers are gone.
    Declined,
}

impl DraftState {
    /// The word in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Filling => "filling",
            Self::Summary => "summary",
            Self::Submitted => "submitted",
            Self::Cancelled => "cancelled",
            Self::Declined => "declined",
        }
    }

    /// Reads the database's word.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Filling, Self::Summary, Self::Submitted, Self::Cancelled, Self::Declined]
            .into_iter()
            .find(|state| state.name() == name)
    }
}

/// One person's answers to one form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Its name.
    pub id: DraftId,
    /// Which bot it was begun with.
    pub bot: BotId,
    /// Whose it is; nobody else may see or send it.
    pub user: UserId,
    /// Where it is talked about.
    pub chat: ChatId,
    /// Which form.
    pub form: String,
    /// Which version of that form the answers were last checked against.
    pub form_version: String,
    /// Where it stands.
    pub state: DraftState,
    /// The field being asked, while filling.
    pub cursor: Option<String>,
    /// Grows with every change.
    pub revision: i64,
    /// What the next confirmation is numbered.
    pub version: ConfirmVersion,
    /// The answers so far.
    pub answers: Answers,
}

impl Draft {
    /// An empty draft of `form`, its first question open.
    #[must_use]
    pub fn begin(id: DraftId, bot: BotId, user: UserId, chat: ChatId, form: &Form) -> Self {
        let mut draft = Self {
            id,
            bot,
            user,
            chat,
            form: form.id.clone(),
            form_version: form.version.to_string(),
            state: DraftState::Filling,
            cursor: None,
            revision: 0,
            version: ConfirmVersion(1),
            answers: Answers::default(),
        };
        draft.go_on(form);
        draft
    }

    /// Whether a person can still change it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.state, DraftState::Filling | DraftState::Summary)
    }

    /// The field being asked.
    #[must_use]
    pub fn asked<'f>(&self, form: &'f Form) -> Option<&'f Field> {
        let cursor = self.cursor.as_deref()?;
        form.fields.iter().find(|field| field.id == cursor)
    }

    /// Takes the answer to the open question and goes on.
    pub fn answer(&mut self, form: &Form, field: &str, answer: Answer) {
        self.answers.set(field, answer);
        self.go_on(form);
    }

    /// Keeps the files sent to the open question so far, which stays open; no answer where there are none.
    pub fn attach(&mut self, field: &str, files: Vec<Attachment>) {
        if files.is_empty() {
            self.answers.remove(field);
        } else {
            self.answers.set(field, Answer::Files(files));
        }
        self.revision += 1;
    }

    /// Opens the question before the open one, or before the summary. A question opened from the summary leads back to
    /// it. Nothing changes when there is nothing before.
    pub fn back(&mut self, form: &Form) -> bool {
        if self.cursor.is_some() && form.next_unanswered(&self.answers).is_none() {
            self.go_on(form);
            return true;
        }
        let asked: Vec<_> = form.asked(&self.answers).into_iter().map(|field| field.id.clone()).collect();
        let here = match &self.cursor {
            Some(cursor) => asked.iter().position(|id| id == cursor).unwrap_or(asked.len()),
            None => asked.len(),
        };
        let Some(before) = here.checked_sub(1).and_then(|place| asked.get(place)) else { return false };
        self.open(before.clone());
        true
    }

    /// Opens an answered question from the summary. Nothing changes when the form does not ask it.
    pub fn edit(&mut self, form: &Form, field: &str) -> bool {
        let known = form.asked(&self.answers).into_iter().any(|asked| asked.id == field);
        if known {
            self.open(field.to_owned());
        }
        known
    }

    /// The person withdraws it.
    pub fn cancel(&mut self) {
        self.end(DraftState::Cancelled);
    }

    /// The person refuses consent: the answers go at once.
    pub fn decline(&mut self) {
        self.answers = Answers::default();
        self.end(DraftState::Declined);
    }

    /// Confirmed: frozen.
    pub fn submit(&mut self) {
        self.end(DraftState::Submitted);
    }

    /// The operation ended without a ticket: the next confirmation is the next version.
    pub fn reopen(&mut self) {
        self.state = DraftState::Summary;
        self.cursor = None;
        self.revision += 1;
        self.version = ConfirmVersion(self.version.0 + 1);
    }

    /// Brings the draft to a form that changed since: keeps every answer that still fits, with today's labels and
    /// prices. Returns whether anything the person has seen may have changed: a summary shows every question's words, so
    /// under one any change of the form counts.
    pub fn adopt(&mut self, form: &Form) -> bool {
        if self.form_version == form.version.to_string() {
            return false;
        }
        let before = self.answers.clone();
        let mut kept = Answers::default();
        for field in &form.fields {
            if let Some(answer) = before.get(&field.id).and_then(|answer| refit(field, answer)) {
                kept.set(field.id.clone(), answer);
            }
        }
        self.answers = kept;
        self.form_version = form.version.to_string();
        let was = (self.state, self.cursor.clone());
        if self.is_open() {
            let asked_still =
                self.asked(form).is_some_and(|field| form.asked(&self.answers).iter().any(|f| f.id == field.id));
            if asked_still {
                self.answers = form.clean(&self.answers);
                self.revision += 1;
            } else {
                self.go_on(form);
            }
        }
        self.state == DraftState::Summary || before != self.answers || was != (self.state, self.cursor.clone())
    }

    fn open(&mut self, field: String) {
        self.state = DraftState::Filling;
        self.cursor = Some(field);
        self.revision += 1;
    }

    fn end(&mut self, state: DraftState) {
        self.state = state;
        self.cursor = None;
        self.revision += 1;
    }

    /// Opens the next unanswered question, or the summary.
    fn go_on(&mut self, form: &Form) {
        self.answers = form.clean(&self.answers);
        self.cursor = form.next_unanswered(&self.answers).map(|field| field.id.clone());
        self.state = if self.cursor.is_some() { DraftState::Filling } else { DraftState::Summary };
        self.revision += 1;
    }
}

/// The answer as the changed field offers it today, or `None` if it has to be asked again.
fn refit(field: &Field, answer: &Answer) -> Option<Answer> {
    match (&field.kind, answer) {
        (_, Answer::Skipped) => field.optional.then_some(Answer::Skipped),
        (FieldKind::Choice { choices }, Answer::Choice { id, .. }) => {
            choices.iter().find(|choice| choice.id == *id).map(|choice| choice.answer())
        }
        (FieldKind::Slot { slots }, Answer::Slot { id, .. }) => {
            slots.iter().find(|slot| slot.id == *id).map(|slot| slot.answer())
        }
        (FieldKind::Consent { version, .. }, Answer::Consent { version: given, .. }) => {
            (version == given).then(|| answer.clone())
        }
        (FieldKind::Text { max, .. }, Answer::Text(text)) => {
            (text.chars().count() <= *max as usize).then(|| answer.clone())
        }
        (FieldKind::Files { max, max_size, types }, Answer::Files(files)) => {
            let fits = |file: &Attachment| file.is_one_of(types) && !file.is_larger_than(*max_size);
            (files.len() <= *max as usize && files.iter().all(fits)).then(|| answer.clone())
        }
        (FieldKind::Phone { .. }, Answer::Phone(_))
        | (FieldKind::Email, Answer::Email(_))
        | (FieldKind::Date, Answer::Date(_))
        | (FieldKind::Number { .. }, Answer::Number(_)) => Some(answer.clone()),
        _ => None,
    }
}
