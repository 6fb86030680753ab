//! Taps and their answers: what `answerCallbackQuery` may still answer, and what people saw. Pure bookkeeping.

use std::{collections::VecDeque, time::Duration};

use serde_json::{Value, json};

use super::{
    params::{Params, Refusal},
    strict::units,
};
use crate::clock::Timestamp;

/// How long a tap can be answered.
const OPEN_FOR: Duration = Duration::from_secs(15);
/// How many taps are kept.
const KEPT: usize = 20_000;
/// The longest answer, characters.
const ANSWER_UNITS: usize = 200;

#[derive(Debug)]
struct Answer {
    at: Timestamp,
    text: String,
    alert: bool,
}

#[derive(Debug)]
struct Tap {
    id: String,
    user: i64,
    chat: Value,
    message_id: Value,
    data: String,
    at: Timestamp,
    answer: Option<Answer>,
    /// An answer came when the tap could not be answered any more.
    late: bool,
}

impl Tap {
    fn json(&self, now: Timestamp) -> Value {
        let outcome = match (&self.answer, self.late) {
            (Some(_), _) => "answered",
            (None, true) => "late",
            (None, false) if now.since(self.at) > OPEN_FOR => "expired",
            (None, false) => "open",
        };
        json!({
            "callback_id": self.id,
            "user": self.user,
            "chat": self.chat,
            "message_id": self.message_id,
            "data": self.data,
            "text": self.answer.as_ref().map(|answer| &answer.text),
            "alert": self.answer.as_ref().is_some_and(|answer| answer.alert),
            "tapped_at": self.at,
            "answered_at": self.answer.as_ref().map(|answer| answer.at),
            "outcome": outcome,
        })
    }
}

/// All taps, oldest first.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Taps {
    taps: VecDeque<Tap>,
    made: u64,
}

impl Taps {
    /// Notes a tap; answers its callback id.
    pub(super) fn add(
        &mut self,
        user: i64,
        chat: Option<i64>,
        message_id: Option<i64>,
        data: &str,
        at: Timestamp,
    ) -> String {
        self.made += 1;
        // As long as Telegram's, and different in the tail only.
        let id = format!("{user}{:012}", self.made);
        if self.taps.len() == KEPT {
            self.taps.pop_front();
        }
        let (chat, message_id) = (json!(chat), json!(message_id));
        let tap = Tap { id: id.clone(), user, chat, message_id, data: data.to_owned(), at, answer: None, late: false };
        self.taps.push_back(tap);
        id
    }

    /// `answerCallbackQuery`.
    ///
    /// # Errors
    /// For a tap that is unknown, too old or answered, and for a text that is too long.
    pub(super) fn answer(&mut self, params: &Params, now: Timestamp) -> Result<Value, Refusal> {
        let text = params.text("text").unwrap_or_default();
        if units(&text) > ANSWER_UNITS {
            return Err(Refusal::bad("MESSAGE_TOO_LONG"));
        }
        if let Some(url) = params.text("url").filter(|url| !url.is_empty()) {
            let own = url.starts_with("https://t.me/") || url.starts_with("t.me/") || url.starts_with("tg://resolve");
            if !own {
                return Err(Refusal::bad("URL_INVALID"));
            }
        }
        let too_old = "query is too old and response timeout expired or query ID is invalid";
        let id = params.text("callback_query_id").unwrap_or_default();
        let Some(tap) = self.taps.iter_mut().rev().find(|tap| tap.id == id) else {
            return Err(Refusal::bad(too_old));
        };
        if tap.answer.is_some() {
            return Err(Refusal::bad(too_old));
        }
        if now.since(tap.at) > OPEN_FOR {
            tap.late = true;
            return Err(Refusal::bad(too_old));
        }
        tap.answer = Some(Answer { at: now, text, alert: params.flag("show_alert") });
        Ok(json!(true))
    }

    /// The last taps, oldest first.
    pub(in crate::sandbox) fn json(&self, last: usize, now: Timestamp) -> Value {
        let skip = self.taps.len().saturating_sub(last);
        self.taps.iter().skip(skip).map(|tap| tap.json(now)).collect()
    }
}
