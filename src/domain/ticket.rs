//! What we ask the CRM to make, and what it says it made.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::attachment::Attachment;
use crate::ids::{ExternalKey, Marker};

/// The ticket as rendered from a confirmed draft, frozen with its operation: every attempt sends exactly this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketOrder {
    /// The key the CRM is given; the same for every attempt.
    pub key: ExternalKey,
    /// The short code that goes into the ticket's text.
    pub marker: Marker,
    /// One line.
    pub subject: String,
    /// The whole text, with the marker in it.
    pub body: String,
    /// Who to call back.
    pub contact: Contact,
    /// Further fields by the profile's name or number for them; empty ones are left out before they get here.
    pub fields: BTreeMap<String, String>,
    /// What the requester attached, in the order of the questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attachment>,
}

/// The requester as the CRM sees them; what was not asked or was skipped is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// As they gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// E.164, `+79991234567`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// As they gave it, domain in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// A record in the CRM, as the CRM itself named it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket {
    /// The CRM's internal id; text, since some systems use numbers beyond 2^53 and some use strings.
    pub id: String,
    /// What people call it; equal to `id` where the CRM has no other number.
    pub number: String,
    /// Where to open it, if the profile or the answer says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
