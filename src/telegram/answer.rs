//! What came back from one Bot API call, before anybody decides what it proves.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::ids::ChatId;

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer<T = Value> {
    /// `"ok": true`; the result, mostly as raw JSON, since newer servers answer with more than any library knows.
    Ok(T),
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

/// What stands where a token was.
const HIDDEN: &str = "•••";

impl<T> Answer<T> {
    /// The same with a token taken out of every word that may be logged or shown: whole, or without the bot's number.
    #[must_use]
    pub fn without(self, token: &str) -> Self {
        let secret = token.split_once(':').map_or(token, |(_, secret)| secret);
        let hush =
            |text: String| if secret.is_empty() { text } else { text.replace(token, HIDDEN).replace(secret, HIDDEN) };
        match self {
            Self::Refused(refusal) => Self::Refused(Refusal { description: hush(refusal.description), ..refusal }),
            Self::NotSent { detail } => Self::NotSent { detail: hush(detail) },
            Self::Lost { detail } => Self::Lost { detail: hush(detail) },
            other @ (Self::Ok(_) | Self::Unreadable { .. }) => other,
        }
    }
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
    result: Option<Box<RawValue>>,
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
    read_by(status, body, |result| match result {
        Some(raw) => serde_json::from_str(raw.get()).ok(),
        None => Some(Value::Null),
    })
}

/// The same for a result that is read in another way; an answer whose result `by` cannot read is unreadable.
pub(super) fn read_by<T>(status: u16, body: &[u8], by: impl FnOnce(Option<&RawValue>) -> Option<T>) -> Answer<T> {
    match serde_json::from_str::<Wire>(&String::from_utf8_lossy(body)) {
        Ok(Wire { ok: true, result, .. }) => by(result.as_deref()).map_or(Answer::Unreadable { status }, Answer::Ok),
        Ok(wire) => Answer::Refused(Refusal {
            code: wire.error_code.unwrap_or(status),
            description: wire.description.unwrap_or_default(),
            retry_after: wire.parameters.as_ref().and_then(|p| p.retry_after).map(Duration::from_secs),
            moved_to: wire.parameters.and_then(|p| p.migrate_to_chat_id).map(ChatId),
        }),
        Err(_) => Answer::Unreadable { status },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_a_server_repeats_is_taken_out() {
        let token = "42:AAsecret_part";
        let said = |description: &str| {
            Answer::<Value>::Refused(Refusal { code: 404, description: description.into(), ..Refusal::default() })
        };
        for (answer, shown) in [
            (said("no /bot42:AAsecret_part/getMe here"), said("no /bot•••/getMe here")),
            (said("AAsecret_part is unknown"), said("••• is unknown")),
            (said("Not Found"), said("Not Found")),
            (Answer::Lost { detail: "at 42:AAsecret_part".into() }, Answer::Lost { detail: "at •••".into() }),
            (Answer::NotSent { detail: "to AAsecret_part".into() }, Answer::NotSent { detail: "to •••".into() }),
        ] {
            assert_eq!(answer.without(token), shown);
        }
    }
}
