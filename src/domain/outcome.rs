//! What one CRM call ended in, and what that proves. Nothing here is called "failed": the word proves nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ticket::Ticket;

/// What makes a repeat harmless with this CRM, as its profile declares with evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Promise {
    /// An idempotency key, a refusal on a unique field, or an upsert: the same request again makes nothing new.
    Keyed,
    /// Our key can be looked up; a repeat would make a second ticket.
    Searchable,
    /// Neither: what became of a lost call is for a human to find out.
    Blind,
}

/// How one create call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The CRM named the ticket it made, or the one it had made for this key before.
    Created {
        /// The ticket, its number checked against the profile's pattern.
        ticket: Ticket,
    },
    /// Final refusal of the content; nothing was made.
    Refused {
        /// What the CRM said, cut short and cleaned for people.
        message: String,
    },
    /// Provably not executed: the request was never written, or the profile declares this answer to mean so.
    NotSent {
        /// Why, without secrets or answers.
        detail: String,
        /// How long the CRM asked us to wait, if it did.
        wait: Option<Duration>,
    },
    /// Nothing was sent, since the profile makes no request of this order: the same order fits no better later. A mistake
    /// of the profile, never of whoever filled the form in.
    Unfit {
        /// Which template and why, without secrets or answers.
        detail: String,
    },
    /// Not executed because the CRM does not accept our credentials: the queue pauses, nothing is lost.
    AuthRefused {
        /// What the CRM said, without secrets.
        detail: String,
    },
    /// The CRM is still working on an earlier request with this key: ask again, with the same key, later.
    InFlight {
        /// How long the CRM asked us to wait, if it did.
        wait: Option<Duration>,
    },
    /// The CRM says our key exists already, but did not say which ticket that is: look it up.
    Exists,
    /// Anything else: it may have been carried out.
    Lost {
        /// What was seen, without secrets or answers.
        detail: String,
    },
}

/// What one lookup by our key ended in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum Look {
    /// Records that themselves carry our key, oldest first; never empty.
    Found {
        /// One, or several when the CRM holds duplicates.
        tickets: Vec<Ticket>,
    },
    /// The CRM answered properly and no record carries our key.
    Missed,
    /// The CRM could not be asked, or its answer cannot be trusted; proves nothing.
    Unsure {
        /// Why, without secrets or answers.
        detail: String,
        /// How long the CRM asked us to wait, if it did.
        wait: Option<Duration>,
    },
    /// This CRM has no lookup.
    Impossible,
}

/// What the CRM says of one ticket a person named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verify", rename_all = "snake_case")]
pub enum Verified {
    /// It exists and carries our key.
    Ours {
        /// The ticket.
        ticket: Ticket,
    },
    /// It exists; whether it is ours cannot be told from what the CRM shows.
    Exists {
        /// The ticket.
        ticket: Ticket,
    },
    /// It exists, and the place of our key is empty: a person may have made it by hand.
    Keyless {
        /// The ticket.
        ticket: Ticket,
    },
    /// It exists and carries another key.
    Foreign,
    /// The CRM has no such ticket.
    Absent,
    /// The CRM could not be asked.
    Unsure {
        /// Why, without secrets.
        detail: String,
    },
    /// This profile has no way to read one ticket.
    Impossible,
}
