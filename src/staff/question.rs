//! Questions that wait: each is a message of its own in the chat, one a case, person and chat, and a row that says what
//! is waited for. Which of them words of somebody answer is told here.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::Shift;
use crate::{
    catalog::texts::Key,
    domain::{
        input::{Act, ChatKind},
        notice::{Button, Keyboard, Notice, Words},
    },
    ids::MessageId,
    store::{
        StoreError, cards, cases,
        outbox::{self, Letter},
        steps::{self, Place, Step},
    },
    telegram::button::{CaseWish, Intent},
};

/// How long an answer is waited for.
const WAITS: Duration = Duration::from_secs(600);

/// What words of somebody answer.
pub(super) enum Answered {
    /// What is waited for.
    Question(Step),
    /// An older message of a question; `below` when it was asked anew and still waits.
    Earlier { below: bool },
}

/// Whose a message with a question's buttons is.
pub(super) enum Shown {
    /// What this person is asked, or a message nobody remembers: what its buttons were made for they carry themselves.
    Present,
    /// What this person was asked before it was asked anew further down.
    Earlier,
    /// What somebody else is asked.
    Foreign,
}

/// What is waited for, as its word in the database: a ticket's number, or a reason, in words.
pub(super) const NUMBER: &str = "number";
pub(super) const CREATE: &str = "create";
pub(super) const REJECT: &str = "reject";

/// A question about a case, as it is waited for.
pub(super) struct Asked<'a> {
    pub(super) case: i64,
    /// The case's number: an answer counts for that only.
    pub(super) rev: i64,
    /// What is waited for, as its word in the database.
    pub(super) what: &'a str,
    /// What was said already.
    pub(super) data: Option<String>,
}

/// A fingerprint of what a question names, for its buttons: a tap agrees to what was read, not to what was said since.
pub(super) fn seal(said: &str) -> u32 {
    let hash = Sha256::digest(said.as_bytes());
    u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
}

impl Shift<'_> {
    pub(super) fn place(&self) -> Place {
        Place { bot: self.staff.bot, user: self.actor.id, chat: self.chat.id }
    }

    /// The name of a question's message: one a case, person and chat, so that no question takes another's place.
    fn question(&self, case: i64) -> String {
        format!("{}{case}:{}", cases::QUESTION, self.asked())
    }

    /// The name of a question's message after the question was asked anew.
    fn earlier(&self, case: i64, message: MessageId) -> String {
        format!("{}{case}@{message}:{}", cases::QUESTION, self.asked())
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
    pub(super) async fn answered(&self) -> Result<Option<Answered>, StoreError> {
        let steps = steps::all(self.tx.as_ref(), self.place(), self.now).await?;
        // A second tap is a tap; words then are meant for somebody else.
        let wants_words = |step: &&Step| matches!(step.what.as_str(), NUMBER | CREATE | REJECT);
        if let Some(reply) = self.reply_to
            && let Some(card) = self.card_at(reply.message).await?
        {
            let is_it = |step: &&Step| card == self.question(step.case) || card == cases::card(step.case);
            if let Some(step) = steps.iter().filter(wants_words).find(is_it) {
                return Ok(Some(Answered::Question(step.clone())));
            }
            if card.starts_with(cases::QUESTION) && card.ends_with(&format!("@{}:{}", reply.message, self.asked())) {
                let below = steps.iter().any(|step| card == self.earlier(step.case, reply.message));
                return Ok(Some(Answered::Earlier { below }));
            }
        }
        // In a group people also talk to each other: only a reply is an answer.
        let last = steps.first().filter(|_| self.chat.kind == ChatKind::Private);
        Ok(last.filter(wants_words).cloned().map(Answered::Question))
    }

    /// Whose the message is that was tapped about a case.
    pub(super) async fn shown(&self, case: i64, message: Option<MessageId>) -> Result<Shown, StoreError> {
        let Some(message) = message else { return Ok(Shown::Present) };
        Ok(match self.card_at(message).await? {
            Some(card) if card == self.question(case) => Shown::Present,
            Some(card) if card == self.earlier(case, message) => Shown::Earlier,
            Some(card) if card.starts_with(cases::QUESTION) => Shown::Foreign,
            _ => Shown::Present,
        })
    }

    /// The conversation about a case is over: its message says how.
    pub(super) async fn end(&self, case: i64, text: String, fresh: bool) -> Result<(), StoreError> {
        steps::forget(self.tx.as_ref(), self.place(), case).await?;
        self.question_is(case, Words::plain(text), fresh).await
    }

    /// Asks, and waits for the answer for a while.
    pub(super) async fn ask(&self, asked: Asked<'_>, words: Words, fresh: bool) -> Result<(), StoreError> {
        let Asked { case, rev, what, data } = asked;
        let step = Step { case, rev, what: what.to_owned(), data, expires_at: self.now.plus(WAITS) };
        steps::put(self.tx.as_ref(), self.place(), &step).await?;
        self.question_is(case, words, fresh).await
    }

    /// Shows the question: as a new message at the end of the chat, or in place of the one that was tapped. An older
    /// message of it says then where to look, and has no buttons any more.
    async fn question_is(&self, case: i64, words: Words, fresh: bool) -> Result<(), StoreError> {
        let name = self.question(case);
        let older = match fresh {
            true => self.set_aside(case, &name).await?,
            false => None,
        };
        outbox::put(self.tx.as_ref(), &self.letter(words, Some(name)), self.now).await?;
        let Some(older) = older else { return Ok(()) };
        let notice = Notice::InPlace(Words::plain(self.text(Key::StaffAskBelow, &[])));
        let letter = Letter { notice, ..self.letter(Words::default(), Some(older)) };
        outbox::put(self.tx.as_ref(), &letter, self.now).await
    }

    /// Gives the present message of a question another name; returns it where the message can be edited.
    async fn set_aside(&self, case: i64, name: &str) -> Result<Option<String>, StoreError> {
        let db = self.tx.as_ref();
        let Some(card) = cards::find(db, name).await? else { return Ok(None) };
        let (older, editable) = (self.earlier(case, card.message), outbox::can_be_edited(db, name).await?);
        cards::rename(db, name, &older).await?;
        Ok(editable.then_some(older))
    }

    pub(super) fn with_cancel(&self, mut rows: Vec<Vec<Button>>, case: i64, rev: i64) -> Keyboard {
        let cancel = Intent::Case { case, rev, wish: CaseWish::Cancel };
        rows.push(vec![Button::data(self.text(Key::StaffButtonCancel, &[]), cancel.encode())]);
        Keyboard::Inline(rows)
    }
}
