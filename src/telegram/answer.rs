//! What came back from one Bot API call, before anybody decides what it proves.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::ids::ChatId;

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// `"ok": true`; the result as raw JSON, since newer servers answer with more than any library knows.
    Ok(Value),
    /// `"ok": false`.
    Refused(Refusal),
    /// An answer that is not the Bot API's: a proxy's page, half a body that still parsed as nothing.
    Unreadable {
        /// HTTP status.
        status: u16,
    },
    /// The request was provably not written: no name, no connection, no TLS.
    NotSent {
        /// Why, without the token.
        detail: String,
    },
    /// No whole answer: it may have been carried out.
    Lost {
        /// Why, without the token.
        detail: String,
    },
}

/// A refusal in the Bot API's own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// `error_code`, or the HTTP status.
    pub code: u16,
    /// `description`; wording and letter case change between releases.
    pub description: String,
    /// How long to keep silent.
    pub retry_after: Option<Duration>,
    /// Where the group lives now.
    pub moved_to: Option<ChatId>,
}

impl Refusal {
    /// Whether the description holds this fragment, whatever the letter case.
    #[must_use]
    pub fn says(&self, fragment: &str) -> bool {
        self.description.to_lowercase().contains(&fragment.to_lowercase())
    }
}

#[derive(Deserialize)]
struct Wire {
    ok: bool,
    result: Option<Value>,
    error_code: Option<u16>,
    description: Option<String>,
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

/// Reads a whole body that came with `status`.
#[must_use]
pub fn read(status: u16, body: &[u8]) -> Answer {
    match serde_json::from_slice::<Wire>(body) {
        Ok(Wire { ok: true, result, .. }) => Answer::Ok(result.unwrap_or(Value::Null)),
        Ok(wire) => Answer::Refused(Refusal {
            code: wire.error_code.unwrap_or(status),
            description: wire.description.unwrap_or_default(),
            retry_after: wire.parameters.as_ref().and_then(|p| p.retry_after).map(Duration::from_secs),
            moved_to: wire.parameters.and_then(|p| p.migrate_to_chat_id).map(ChatId),
        }),
        Err(_) => Answer::Unreadable { status },
    }
}
