//! The delivery: one outbox row on its way to one Telegram message or edit.
//!
//! Same words and same shape as [`operation`](super::operation), for a service that has no idempotency key and cannot
//! be searched: what may have been sent stays `unknown` for a pause, and then the row's [`Kind`] decides. An edit goes
//! again, since repeating it is harmless; a new message follows its written [`OnUnknown`], and a repeat is recorded
//! before it is made. A lease never decides here either, and the end is the end.
//!
//! Order is part of the promise: an edit that may still land must not land after a newer one. So a row
//! [`holds_back`](Delivery::holds_back) later rows of its chat until its pause is over, and the pause is longer than
//! the longest late delivery.

mod policy;
mod step;

use serde::{Deserialize, Serialize};

pub use policy::{GiveUp, Policy};
pub use step::{Illegal, is_ordinary, next_action, step};

use super::operation::Entry;
use crate::{
    clock::Timestamp,
    ids::{ChatId, MessageId},
};

/// One outbox row, as stored, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Delivery {
    /// What a repeat would do.
    pub kind: Kind,
    /// Where it stands.
    pub state: State,
    /// Calls begun so far.
    pub attempts: u32,
    /// Repeats of a call that may have arrived; counted before the repeat is made.
    pub repeats: u32,
    /// Set when an earlier call turned out to have arrived while a later one was under way: nothing more need be sent,
    /// but the later one must come to its end first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<Arrived>,
    /// Set when Telegram said that the row's topic is closed or gone: from then on it is sent to the chat itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub topicless: bool,
}

/// That a call was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Arrived {
    /// The message made or edited, where Telegram named it.
    pub message_id: Option<MessageId>,
}

/// What a repeat of the call would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// Changes a message that exists: again is harmless.
    Edit,
    /// Makes a message: again may show it twice.
    New {
        /// What to do when nobody knows whether it arrived.
        on_unknown: OnUnknown,
    },
}

/// What to do with a new message when nobody knows whether it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnUnknown {
    /// Send it once more, [`Policy::repeats`] times: twice is better than never. If that is lost too,
    /// [`Policy::second_unknown`] decides.
    Repeat,
    /// A human decides.
    Review,
    /// Let it go: never is better than twice.
    Drop,
}

/// Where a delivery stands, with the facts that place proves.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// The next call has not begun.
    Pending {
        /// Not before this moment.
        due_at: Timestamp,
    },
    /// A call has begun: it may be on the wire.
    Sending {
        /// Which one, counted from 1.
        attempt: u32,
        /// The sender may begin writing only before this moment.
        lease_end: Timestamp,
    },
    /// It may have arrived.
    Unknown {
        /// Since when.
        since: Timestamp,
        /// When the kind decides; `None` when a human must.
        due_at: Option<Timestamp>,
    },
    /// The end: Telegram took it.
    Sent {
        /// The message made or edited, where Telegram named it.
        message_id: Option<MessageId>,
    },
    /// The end: it is not, or no longer, sent.
    Dropped {
        /// Why.
        why: DropReason,
    },
}

/// Why a delivery ended without a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum DropReason {
    /// A newer edit of the same card says more.
    Overtaken,
    /// The message to edit is no longer there; a new one is sent instead.
    Gone,
    /// This chat cannot be written to.
    Unreachable {
        /// What Telegram said, cleaned.
        detail: String,
    },
    /// Telegram will never take this content.
    Refused {
        /// What Telegram said, cleaned.
        detail: String,
    },
    /// It may have arrived, and its kind is not repeated.
    Unconfirmed,
    /// Staff let it go.
    ByStaff,
}

/// Everything that can happen to a delivery. Answers name their call, so that a late one is known as such.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A sender took it; the call starts only after this is stored.
    Claimed {
        /// The sender may begin writing only before this moment.
        lease_end: Timestamp,
    },
    /// Telegram took it; "not modified" is this too.
    Done {
        /// Which call.
        attempt: u32,
        /// The message made or edited, where Telegram named it.
        message_id: Option<MessageId>,
    },
    /// Provably not carried out.
    NotSent {
        /// Which call.
        attempt: u32,
        /// When to try again.
        retry_at: Timestamp,
    },
    /// Not carried out: too much for this chat.
    Throttled {
        /// Which call.
        attempt: u32,
        /// As long as Telegram asked, for every row of the chat.
        until: Timestamp,
    },
    /// Not carried out: the group lives under another number now.
    Moved {
        /// Which call.
        attempt: u32,
        /// The new number.
        to: ChatId,
    },
    /// Not carried out: our token or server is wrong. An operator must act; nothing is lost.
    Misconfigured {
        /// Which call.
        attempt: u32,
        /// When to try again.
        retry_at: Timestamp,
        /// What Telegram said, without secrets.
        detail: String,
    },
    /// The message to edit is no longer there.
    Gone {
        /// Which call.
        attempt: u32,
    },
    /// This chat cannot be written to until its person writes again.
    ChatRefused {
        /// Which call.
        attempt: u32,
        /// What Telegram said, cleaned.
        detail: String,
    },
    /// Telegram will never take this content.
    RowRefused {
        /// Which call.
        attempt: u32,
        /// What Telegram said, cleaned.
        detail: String,
    },
    /// Not carried out: the topic is closed or gone. May work once without it.
    NoTopic {
        /// Which call.
        attempt: u32,
        /// What Telegram said, cleaned.
        detail: String,
    },
    /// No answer, or one that proves nothing.
    Lost {
        /// Which call.
        attempt: u32,
    },
    /// The lease of the current call is over and nobody recorded an answer.
    LeaseEnded,
    /// It was unknown for its pause: a late answer is no longer waited for.
    PauseOver,
    /// A newer row of the same card is stored.
    Overtaken,
    /// The chat is known not to take anything until its person writes again: not even one call is made.
    Unreachable,
    /// The clock that dated it has been set back: nothing it waits for is meant to lie further ahead than `most`.
    ClockSetBack {
        /// The latest moment it may wait for.
        most: Timestamp,
    },
    /// Staff decided.
    Decided(Decision),
}

/// What staff may decide about a delivery that may have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Send it although it may show twice.
    SendAgain {
        /// Numeric Telegram id of who decided.
        by: i64,
    },
    /// Leave it as it is.
    LetGo {
        /// Numeric Telegram id of who decided.
        by: i64,
    },
}

/// What a step makes true beside the state itself; a row written in the same transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// A line of the history.
    Record(Entry),
    /// The message this row made has this number: later edits go there.
    KnowMessage {
        /// Unique only within its chat.
        message_id: MessageId,
    },
    /// One new message with the same content, in place of the edit.
    SendInstead,
    /// Nothing is sent to this chat until its person writes again.
    MarkUnreachable {
        /// What Telegram said, cleaned.
        detail: String,
    },
    /// Nothing is sent to this chat before this moment.
    HoldChat {
        /// As Telegram asked.
        until: Timestamp,
    },
    /// Every row and card of this chat goes to the new number.
    FollowChat {
        /// The new number.
        to: ChatId,
    },
    /// An operator must act.
    Alert {
        /// What Telegram said, without secrets.
        detail: String,
    },
    /// A human must know, and for [`State::Unknown`] decide.
    OpenCase,
    /// The open case has settled by itself or by its decision.
    CloseCase,
}

/// What to do with a delivery now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextAction {
    /// Claim it and call Telegram.
    Send,
    /// Tell the machine what time alone decides.
    Tell(Event),
    /// Nothing before this moment.
    Wait(Timestamp),
    /// Nothing by itself: only a person, or a late answer, moves it.
    Nothing,
}

/// What one event made of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The delivery after it.
    pub delivery: Delivery,
    /// What to write in the same transaction, in this order.
    pub effects: Vec<Effect>,
}

impl Delivery {
    /// A freshly written row, due at `due_at`.
    #[must_use]
    pub fn new(kind: Kind, due_at: Timestamp) -> Self {
        Self { kind, state: State::Pending { due_at }, attempts: 0, repeats: 0, arrived: None, topicless: false }
    }

    /// When a loop should look at it next; `None` when only an answer or a person can move it.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        match self.state {
            State::Pending { due_at } => Some(due_at),
            State::Sending { lease_end, .. } => Some(lease_end),
            State::Unknown { due_at, .. } => due_at,
            State::Sent { .. } | State::Dropped { .. } => None,
        }
    }

    /// Whether later rows of the same chat must wait for this one, so that what is said stays in order.
    ///
    /// A newer edit of the same card need not wait for a `pending` one: it overtakes it.
    #[must_use]
    pub fn holds_back(&self) -> bool {
        self.due_at().is_some()
    }
}

impl State {
    /// The state's one word: the same in code, database, metrics and documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Sending { .. } => "sending",
            Self::Unknown { .. } => "unknown",
            Self::Sent { .. } => "sent",
            Self::Dropped { .. } => "dropped",
        }
    }

    /// Whether nothing more happens.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Sent { .. } | Self::Dropped { .. })
    }
}

#[cfg(test)]
mod tests;
