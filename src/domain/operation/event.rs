//! Everything that can happen to an operation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{clock::Timestamp, domain::ticket::Ticket};

/// One thing that happened. Answers name their attempt, so that a late one is known as such.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A worker took it to send; the attempt row is written in the same transaction, the call starts only after.
    Claimed {
        /// The sender may begin writing only before this moment.
        lease_end: Timestamp,
    },
    /// The CRM named the ticket.
    Created {
        /// Which attempt was answered.
        attempt: u32,
        /// The ticket.
        ticket: Ticket,
    },
    /// The CRM refused the content for good.
    Refused {
        /// Which attempt was answered.
        attempt: u32,
        /// In words for the person.
        message: String,
    },
    /// This attempt was provably not executed.
    NotSent {
        /// Which attempt.
        attempt: u32,
        /// When to try again: backoff or what the CRM asked for, thrown by the caller.
        retry_at: Timestamp,
    },
    /// Nothing was sent: the CRM's profile makes no request of this order, and trying again would not change that.
    Unfit {
        /// Which attempt.
        attempt: u32,
        /// Which template of the profile and why, for its owner; never an answer.
        detail: String,
    },
    /// The CRM is still working on an earlier request with this key.
    InFlight {
        /// Which attempt was answered.
        attempt: u32,
        /// When to ask again.
        retry_at: Timestamp,
    },
    /// The CRM says our key exists, without saying which ticket it is.
    Exists {
        /// Which attempt was answered.
        attempt: u32,
    },
    /// No answer, or one that proves nothing.
    Lost {
        /// Which attempt.
        attempt: u32,
    },
    /// The lease of the current attempt is over and nobody recorded an answer.
    LeaseEnded,
    /// A lookup found records that carry our key.
    Found {
        /// Oldest first; never empty.
        tickets: Vec<Ticket>,
        /// When the CRM was asked: a look-out ends only with what it was asked at its end.
        asked_at: Timestamp,
    },
    /// A lookup was answered properly and found nothing.
    Missed {
        /// When the CRM was asked: only what it was asked after the settle window counts.
        asked_at: Timestamp,
    },
    /// A lookup, or the check of a named number, could not be made.
    Unsure {
        /// When to ask again.
        retry_at: Timestamp,
    },
    /// There is no way to look with this CRM, or to check a number.
    LookImpossible,
    /// The number that staff named is a ticket that is ours, or may be.
    CandidateStands {
        /// The ticket.
        ticket: Ticket,
    },
    /// The number that staff named is not ours.
    CandidateFalls {
        /// Whether the CRM has such a ticket at all.
        exists: bool,
    },
    /// The number that staff named is a ticket without any key, as people make them by hand.
    CandidateKeyless,
    /// It has waited too long in its state for the machine to go on alone.
    WaitedTooLong,
    /// Staff decided.
    Decided(Decision),
    /// The person withdrew it.
    Cancelled,
    /// The clock that dated the operation's last change has been set back since.
    ClockSetBack {
        /// By how much that change lies ahead of now; not zero.
        ahead: Duration,
    },
    /// The clock has been set forward, or stood still while the machine slept: less time has gone by than it shows.
    ClockSetForward {
        /// By how much; not zero.
        by: Duration,
    },
}

/// What staff may decide about an operation in review.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// This number is its ticket; the CRM is asked.
    Link {
        /// As typed, cleaned.
        number: String,
        /// Numeric Telegram id of who decided.
        by: i64,
    },
    /// This number is its ticket although it carries no key of ours; the CRM is asked.
    LinkKeyless {
        /// As typed, cleaned.
        number: String,
        /// Numeric Telegram id of who decided.
        by: i64,
    },
    /// This number is its ticket; the CRM cannot be asked and an owner answers for it.
    LinkUnverified {
        /// As typed, cleaned.
        ticket: Ticket,
        /// Numeric Telegram id of who decided.
        by: i64,
    },
    /// Search the CRM once more.
    LookAgain {
        /// Numeric Telegram id of who decided.
        by: i64,
    },
    /// Create it although it may exist.
    CreateAfterAll {
        /// Numeric Telegram id of who decided.
        by: i64,
        /// Why, in their words.
        reason: String,
    },
    /// No ticket for this version.
    Reject {
        /// Numeric Telegram id of who decided.
        by: i64,
        /// Why, in words for the person.
        reason: String,
    },
}

impl Decision {
    /// Numeric Telegram id of who decided.
    #[must_use]
    pub fn by(&self) -> i64 {
        match self {
            Self::Link { by, .. }
            | Self::LinkKeyless { by, .. }
            | Self::LinkUnverified { by, .. }
            | Self::LookAgain { by }
            | Self::CreateAfterAll { by, .. }
            | Self::Reject { by, .. } => *by,
        }
    }
}

impl Event {
    /// The event's one word, for journals and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Claimed { .. } => "claimed",
            Self::Created { .. } => "created",
            Self::Refused { .. } => "refused",
            Self::NotSent { .. } => "not_sent",
            Self::Unfit { .. } => "unfit",
            Self::InFlight { .. } => "in_flight",
            Self::Exists { .. } => "exists",
            Self::Lost { .. } => "lost",
            Self::LeaseEnded => "lease_ended",
            Self::Found { .. } => "found",
            Self::Missed { .. } => "missed",
            Self::Unsure { .. } => "unsure",
            Self::LookImpossible => "look_impossible",
            Self::CandidateStands { .. } => "candidate_stands",
            Self::CandidateFalls { .. } => "candidate_falls",
            Self::CandidateKeyless => "candidate_keyless",
            Self::WaitedTooLong => "waited_too_long",
            Self::Decided(Decision::Link { .. }) => "decided_link",
            Self::Decided(Decision::LinkKeyless { .. }) => "decided_link_keyless",
            Self::Decided(Decision::LinkUnverified { .. }) => "decided_link_unverified",
            Self::Decided(Decision::LookAgain { .. }) => "decided_look_again",
            Self::Decided(Decision::CreateAfterAll { .. }) => "decided_create_after_all",
            Self::Decided(Decision::Reject { .. }) => "decided_reject",
            Self::Cancelled => "cancelled",
            Self::ClockSetBack { .. } => "clock_set_back",
            Self::ClockSetForward { .. } => "clock_set_forward",
        }
    }

    /// The attempt an answer belongs to.
    #[must_use]
    pub fn attempt(&self) -> Option<u32> {
        match self {
            Self::Created { attempt, .. }
            | Self::Refused { attempt, .. }
            | Self::NotSent { attempt, .. }
            | Self::Unfit { attempt, .. }
            | Self::InFlight { attempt, .. }
            | Self::Exists { attempt }
            | Self::Lost { attempt } => Some(*attempt),
            _ => None,
        }
    }
}
