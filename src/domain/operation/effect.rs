//! What a step makes true beside the state itself. Every effect is durable: a row written in the same transaction.

use serde::{Deserialize, Serialize};

use super::ReviewReason;
use crate::{clock::Timestamp, domain::ticket::Ticket};

/// One row to write, or one thing to give back, together with the new state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// A line of the operation's history.
    Record(Entry),
    /// The attempt row, before its call.
    BeginAttempt {
        /// Counted from 1.
        attempt: u32,
        /// Its lease.
        lease_end: Timestamp,
    },
    /// The attempt row gets its end; a late answer replaces `lease_ended`.
    EndAttempt {
        /// Which.
        attempt: u32,
        /// How.
        end: AttemptEnd,
    },
    /// The person's status card says something new.
    ShowCard,
    /// The outcome is worth a message of its own.
    TellOutcome,
    /// The case opens, or its reason changes: staff see a card.
    OpenCase {
        /// Why a human must choose.
        reason: ReviewReason,
    },
    /// An open case's card says something new; it stays open.
    ShowCase,
    /// Any open case is closed: its card says how.
    CloseCase,
    /// The CRM holds more than one ticket for this operation, or one although it ended without.
    ReportTwin {
        /// The tickets known.
        tickets: Vec<Ticket>,
    },
    /// The place that the confirmation took is free again.
    FreeSlot,
    /// The draft may be edited and confirmed again.
    ReopenDraft,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// The CRM named the ticket.
    Created,
    /// The CRM refused the content.
    Refused,
    /// Provably not executed.
    NotSent,
    /// Nothing was sent: the CRM's profile makes no request of the order.
    Unfit,
    /// The CRM was still working on an earlier one.
    InFlight,
    /// The CRM knew the key.
    Exists,
    /// No answer that proves anything.
    Lost,
    /// Nobody recorded an answer in time.
    LeaseEnded,
}

impl AttemptEnd {
    /// The word in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Refused => "refused",
            Self::NotSent => "not_sent",
            Self::Unfit => "unfit",
            Self::InFlight => "in_flight",
            Self::Exists => "exists",
            Self::Lost => "lost",
            Self::LeaseEnded => "lease_ended",
        }
    }
}

/// A line of the history: what happened and where it led.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The event's word.
    pub event: String,
    /// The state's word before.
    pub from: String,
    /// The state's word after; equal to `from` for a late answer that changed nothing.
    pub to: String,
    /// Numeric Telegram id of who decided; absent when the machine did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<i64>,
    /// Numbers and reasons, never answers or secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
