//! Questions that wait: each is a message of its own in the chat, one a case, person and chat, and a row that says what
//! is waited for. Which of them words of somebody answer is told here.

use std::time::Duration;

use super::Shift;
use crate::{
    catalog::texts::Key,
    domain::{
        input::{Act, ChatKind},
        notice::{Button, Keyboard, Words},
    },
    ids::MessageId,
    store::{
        StoreError, cards, cases, outbox,
        steps::{self, Place, Step},
    },
    telegram::button::{CaseWish, Intent},
};

/// How long an answer is waited for.
const WAITS: Duration = Duration::from_secs(600);

/// What is waited for, as its word in the database: a ticket's number, or a reason, in words.
pub(super) const NUMBER: &str = "number";
pub(super) const CREATE: &str = "create";
pub(super) const REJECT: &str = "reject";

impl Shift<'_> {
    pub(super) fn place(&self) -> Place {
        Place { bot: self.staff.bot, user: self.actor.id, chat: self.chat.id }
    }

    /// The name of a question's message: one a case, person and chat, so that no question takes another's place.
    fn question(&self, case: i64) -> String {
        format!("{}{case}:{}", cases::QUESTION, self.asked())
    }

    /// How the names of all questions to this person in this chat end.
    fn asked(&self) -> String {
        format!("{}:{}:{}", self.staff.bot, self.actor.id, self.chat.id)
    }

    /// Whether an act answers what this person was asked.
    pub(super) async fn is_awaited(&self, act: &Act) -> Result<bool, StoreError> {
        match act {
            Act::Command { name, .. } if name == "help" => Ok(true),
            Act::Command { .. } => Ok(!steps::all(self.tx.as_ref(), self.place(), self.now).await?.is_empty()),
            _ => Ok(self.answered().await?.is_some()),
        }
    }

    /// Which question words of this person answer: the one they reply to, and in private also the last one.
    pub(super) async fn answered(&self) -> Result<Option<Step>, StoreError> {
        let steps = steps::all(self.tx.as_ref(), self.place(), self.now).await?;
        // A second tap is a tap; words then are meant for somebody else.
        let wants_words = |step: &&Step| matches!(step.what.as_str(), NUMBER | CREATE | REJECT);
        if let (Some(reply), false) = (self.reply_to, steps.is_empty())
            && let Some(card) = self.card_at(reply.message).await?
        {
            let is_it = |step: &&Step| card == self.question(step.case) || card == cases::card(step.case);
            if let Some(step) = steps.iter().filter(wants_words).find(is_it) {
                return Ok(Some(step.clone()));
            }
        }
        // In a group people also talk to each other: only a reply is an answer.
        let last = steps.first().filter(|_| self.chat.kind == ChatKind::Private);
        Ok(last.filter(wants_words).cloned())
    }

    /// Whether a question's message was put to this person; one nobody remembers is taken for theirs.
    pub(super) async fn is_own(&self, message: Option<MessageId>) -> Result<bool, StoreError> {
        let Some(message) = message else { return Ok(true) };
        let card = self.card_at(message).await?;
        Ok(card.is_none_or(|card| !card.starts_with(cases::QUESTION) || card.ends_with(&format!(":{}", self.asked()))))
    }

    /// The conversation about a case is over: its message says how.
    pub(super) async fn end(&self, case: i64, text: String, fresh: bool) -> Result<(), StoreError> {
        steps::forget(self.tx.as_ref(), self.place(), case).await?;
        self.question_is(case, Words::plain(text), fresh).await
    }

    pub(super) async fn wait_for(
        &self,
        case: i64,
        rev: i64,
        what: &str,
        data: Option<String>,
    ) -> Result<(), StoreError> {
        let step = Step { case, rev, what: what.to_owned(), data, expires_at: self.now.plus(WAITS) };
        steps::put(self.tx.as_ref(), self.place(), &step).await
    }

    /// Shows the question: as a new message at the end of the chat, or in place of the one that was tapped.
    pub(super) async fn question_is(&self, case: i64, words: Words, fresh: bool) -> Result<(), StoreError> {
        let name = self.question(case);
        if fresh {
            cards::forget(self.tx.as_ref(), &name).await?;
        }
        outbox::put(self.tx.as_ref(), &self.letter(words, Some(name)), self.now).await
    }

    pub(super) fn with_cancel(&self, mut rows: Vec<Vec<Button>>, case: i64, rev: i64) -> Keyboard {
        let cancel = Intent::Case { case, rev, wish: CaseWish::Cancel };
        rows.push(vec![Button::data(self.text(Key::StaffButtonCancel, &[]), cancel.encode())]);
        Keyboard::Inline(rows)
    }
}
