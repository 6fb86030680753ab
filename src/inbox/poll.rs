//! Long polling: the offset moves only after the batch is stored, so a crash in between makes Telegram send it again.

use std::time::Duration;

use serde_json::{Value, json};

use super::Inbox;
use crate::{store::inbox::Claimed, telegram::Answer};

/// The kinds we ask for; always said in full, since the server remembers the last list it was given.
pub const ALLOWED: [&str; 4] = ["message", "edited_message", "callback_query", "my_chat_member"];

/// Where polling stands.
#[derive(Debug, Default)]
pub struct Poller {
    offset: Option<i64>,
}

/// What one poll led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Polled {
    /// These rows are fresh and ours to handle.
    Fresh(Vec<Claimed>),
    /// Nothing came.
    Nothing,
    /// It did not work; in words, and how long to wait before the next try.
    Trouble {
        /// What to tell an operator.
        why: String,
        /// The pause.
        wait: Duration,
        /// Whether waiting alone will not mend it.
        needs_operator: bool,
    },
}

impl Poller {
    /// Asks once, waiting up to `wait` at the server, and stores what came.
    pub async fn poll(&mut self, inbox: &Inbox, wait: Duration) -> Polled {
        let mut payload = json!({"timeout": wait.as_secs(), "limit": 100, "allowed_updates": ALLOWED});
        if let Some(offset) = self.offset {
            payload["offset"] = json!(offset);
        }
        let answer = inbox.telegram.poll("getUpdates", &payload).await;
        let updates = match answer {
            Answer::Ok(Value::Array(updates)) => updates,
            other => return trouble(&other),
        };
        if updates.is_empty() {
            return Polled::Nothing;
        }
        match inbox.accept(&updates).await {
            Ok(fresh) => {
                // The highest of this batch, whatever came before: numbers restart at random after an idle week.
                let last = updates.iter().filter_map(|update| update.get("update_id").and_then(Value::as_i64)).max();
                self.offset = last.map(|last| last + 1);
                if fresh.is_empty() { Polled::Nothing } else { Polled::Fresh(fresh) }
            }
            Err(error) => {
                // Readiness tells the trouble to whoever asks: the database's own words stay in the log.
                tracing::warn!(%error, "updates could not be stored");
                Polled::Trouble {
                    why: "updates could not be stored, so they were not acknowledged".to_owned(),
                    wait: Duration::from_secs(1),
                    needs_operator: false,
                }
            }
        }
    }
}

fn trouble(answer: &Answer) -> Polled {
    let (why, wait, needs_operator) = match answer {
        Answer::Refused(refusal) if refusal.code == 409 && refusal.says("webhook") => (
            "this bot has a webhook, so updates cannot be polled. Remove it (deleteWebhook, without dropping pending updates) or set telegram.receive = \"webhook\"".to_owned(),
            15,
            true,
        ),
        Answer::Refused(refusal) if refusal.code == 409 => (
            "another process polls with the same token. Only one may: stop the other, or give this one a token of its own".to_owned(),
            5,
            true,
        ),
        Answer::Refused(refusal) if matches!(refusal.code, 401 | 404) => (
            format!("Telegram does not accept the token ({} {}): check telegram.token and telegram.api_url", refusal.code, refusal.description),
            30,
            true,
        ),
        Answer::Refused(refusal) => (
            format!("Telegram refused a poll: {} {}", refusal.code, refusal.description),
            refusal.retry_after.map_or(3, |wait| wait.as_secs()),
            false,
        ),
        Answer::Unreadable { status } => (format!("a poll was answered with something else, HTTP {status}"), 3, false),
        Answer::NotSent { detail } => (format!("Telegram cannot be reached: {detail}"), 3, false),
        Answer::Lost { detail } => (format!("a poll broke off: {detail}"), 1, false),
        Answer::Ok(_) => ("a poll was answered without a list".to_owned(), 3, false),
    };
    Polled::Trouble { why, wait: Duration::from_secs(wait), needs_operator }
}
