//! The operation: one confirmed draft version on its way to one ticket.
//!
//! A [`State`] carries the facts it proves. [`step()`] takes an operation and one [`Event`] and gives the next operation
//! with its [`Effect`]s, or says that the pair is [`Illegal`]; nothing here waits, reads a clock or throws dice.
//! [`next_action`] is the question a loop asks of a stored operation; it has no other source of work, so nothing can be
//! lost between deciding and doing.
//!
//! Four rules hold everything together, and an exhaustive walk over a model CRM keeps them (`tests/it/model`):
//! a lease never decides (its end means `unknown`, never `pending`); a miss counts only after the settle window;
//! what may have been sent goes again only under the CRM's own key, after proven absence, or by a human's word;
//! and the end is the end, however late an answer comes.

mod effect;
mod event;
mod next;
mod policy;
mod step;

use serde::{Deserialize, Serialize};

pub use effect::{AttemptEnd, Effect, Entry};
pub use event::{Decision, Event};
pub use next::{NextAction, next_action};
pub use policy::{OnAbsent, Policy, PolicyProblem};
pub use step::{Illegal, Step, step};

use super::ticket::Ticket;
use crate::{
    clock::Timestamp,
    ids::{ConfirmVersion, DraftId, ExternalKey, OperationId},
};

/// One confirmed draft version, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Operation {
    /// Our own name for it.
    pub id: OperationId,
    /// Whose confirmation it carries out; unique together with `version`.
    pub draft: DraftId,
    /// Which confirmation of that draft.
    pub version: ConfirmVersion,
    /// What the CRM is given; the same for every attempt.
    pub key: ExternalKey,
    /// Where it stands.
    pub state: State,
    /// Attempts begun so far; each has a row of its own, written before its call.
    pub attempts: u32,
    /// When the person confirmed.
    pub confirmed_at: Timestamp,
    /// Since when it has been waiting to be sent: confirmed, or entitled to a repeat.
    pub waiting_since: Timestamp,
    /// The attempts that may have reached the CRM and whose answer nobody has; `None` when there is no such attempt.
    pub on_wire: Option<OnWire>,
    /// Set at the end when another attempt may still land: look for a late twin.
    pub watch: Option<Watch>,
    /// Whether a human was ever asked. Its person was told so, and hears the outcome as a message of its own, however
    /// soon it comes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reviewed: bool,
}

/// What may be under way, or may have been carried out, without our knowing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OnWire {
    /// How many attempts.
    pub attempts: u32,
    /// When the earliest of them began; the life of the key counts from it.
    pub first: Timestamp,
    /// The latest moment at which one of them could have been written; the settle window counts from it.
    pub last: Timestamp,
}

/// The look-out for a late twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Watch {
    /// The next look.
    pub due_at: Timestamp,
    /// The last one.
    pub until: Timestamp,
}

/// Where an operation stands, with the facts that place proves.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// The next attempt has not begun.
    Pending {
        /// Not before this moment.
        due_at: Timestamp,
        /// What entitles us to send.
        ground: Ground,
    },
    /// An attempt has begun: it may be on the wire.
    Sending {
        /// Which one, counted from 1.
        attempt: u32,
        /// The sender may begin writing only before this moment.
        lease_end: Timestamp,
        /// What entitled us to send.
        ground: Ground,
        /// When it began: the life of the key counts from the first one that may have arrived.
        began: Timestamp,
    },
    /// The CRM may hold it. Not a failure, and never repeated blindly.
    Unknown {
        /// Since when.
        since: Timestamp,
        /// Misses that count, in a row.
        misses: u32,
        /// The next look.
        due_at: Timestamp,
        /// A number that staff named, to be checked in the CRM.
        candidate: Option<Candidate>,
        /// What the CRM refused a repeat with: the end, unless looking shows that an earlier attempt made the ticket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
        /// Looks in a row that were not answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silence: Option<Silence>,
    },
    /// A human must choose.
    Review {
        /// Since when.
        since: Timestamp,
        /// Why the machine cannot.
        reason: ReviewReason,
    },
    /// The end: the ticket exists.
    Created {
        /// As the CRM named it.
        ticket: Ticket,
    },
    /// The end: no ticket for this version. The person may edit and confirm the next one.
    Rejected {
        /// In words for the person.
        reason: String,
        /// Who said no.
        by: RejectedBy,
    },
    /// The end: the person withdrew it before the first attempt.
    Cancelled,
}

/// What entitles us to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    /// Nothing of it was ever sent.
    First,
    /// It may have been sent, and the CRM makes a repeat under the same key harmless.
    SameKey,
    /// It may have been sent, and looking over the whole settle window found nothing.
    Absent,
    /// It may have been sent, and a human decided to create it after all.
    Decided,
}

/// Looks that were not answered, in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Silence {
    /// When the first of them was made: before it nobody had asked in vain, however long nobody asked.
    pub since: Timestamp,
    /// How many; no more are counted than are needed.
    pub looks: u32,
}

/// A ticket number named by staff, before the CRM confirmed it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Candidate {
    /// As typed, cleaned.
    pub number: String,
    /// Numeric Telegram id of who named it.
    pub by: i64,
    /// Whether they said, having seen that it carries no key of ours, that it is the one all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keyless: bool,
}

/// Why a human must choose.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum ReviewReason {
    /// The answer was lost and this CRM cannot be searched.
    Blind,
    /// The answer was lost and the CRM, searched for the whole settle window, shows nothing.
    Absent,
    /// The answer was lost and the CRM could not be searched for too long.
    CrmSilent,
    /// The CRM holds several tickets with our key.
    Several {
        /// All of them, oldest first.
        tickets: Vec<Ticket>,
    },
    /// The CRM says our key exists and does not show the ticket.
    ExistsUnseen,
    /// The CRM refused a repeat, an earlier attempt may have made the ticket, and nobody can look.
    RefusedRepeat {
        /// In the CRM's words.
        message: String,
    },
    /// The answer was lost and the CRM's memory of our key has ended.
    KeyExpired,
    /// It could not be sent for too long; nothing of it ever reached the CRM.
    NeverSent,
    /// It may have been sent once, and could not be sent again for too long.
    NotResent,
    /// The CRM's profile makes no request of the order: its latest attempt sent nothing.
    Unfit,
    /// The number that staff named is not a ticket of this operation.
    BadNumber {
        /// The number.
        number: String,
        /// Whether the CRM has such a ticket at all.
        exists: bool,
    },
    /// The number that staff named could not be checked in the CRM.
    Unchecked {
        /// The number.
        number: String,
    },
    /// The number that staff named is a ticket without any key, as people make them by hand.
    Keyless {
        /// The number.
        number: String,
        /// Numeric Telegram id of who named it.
        by: i64,
    },
}

/// Who refused a version for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectedBy {
    /// The CRM refused the content.
    Crm,
    /// A member of staff.
    Staff,
}

impl State {
    /// The state's one word: the same in code, database, metrics and documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Sending { .. } => "sending",
            Self::Unknown { .. } => "unknown",
            Self::Review { .. } => "review",
            Self::Created { .. } => "created",
            Self::Rejected { .. } => "rejected",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more happens by itself and the draft may be touched again.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Created { .. } | Self::Rejected { .. } | Self::Cancelled)
    }
}

impl Operation {
    /// A freshly confirmed one, due at `due_at`.
    #[must_use]
    pub fn confirmed(
        id: OperationId,
        draft: DraftId,
        version: ConfirmVersion,
        key: ExternalKey,
        confirmed_at: Timestamp,
        due_at: Timestamp,
    ) -> Self {
        Self {
            id,
            draft,
            version,
            key,
            state: State::Pending { due_at, ground: Ground::First },
            attempts: 0,
            confirmed_at,
            waiting_since: confirmed_at,
            on_wire: None,
            watch: None,
            reviewed: false,
        }
    }

    /// When a loop should look at it next; `None` when only an answer or a person can move it.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        match &self.state {
            State::Pending { due_at, .. } | State::Unknown { due_at, .. } => Some(*due_at),
            State::Sending { lease_end, .. } => Some(*lease_end),
            State::Created { .. } | State::Rejected { .. } => self.watch.map(|watch| watch.due_at),
            State::Review { .. } | State::Cancelled => None,
        }
    }
}

#[cfg(test)]
mod tests;
