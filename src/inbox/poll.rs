//! Long polling: the offset moves only after the batch is stored, so a crash in between makes Telegram send it again.

use std::time::Duration;

use serde_json::json;

use super::{
    Inbox,
    doubt::{DOUBTFUL, date_back},
};
use crate::{
    clock::Timestamp,
    metrics::{self, Counter},
    store::inbox::Claimed,
    telegram::{Answer, update::Update},
};

/// The kinds we ask for; always said in full, since the server remembers the last list it was given.
pub const ALLOWED: [&str; 4] = ["message", "edited_message", "callback_query", "my_chat_member"];

/// The most updates of one answer. Telegram gives no more.
const BATCH: usize = 100;

/// Where polling stands.
#[derive(Debug)]
pub struct Poller {
    offset: Option<i64>,
    /// How many updates are asked for: fewer after an answer that could not be read to its end, since it may be too long for
    /// us, or for a proxy in between.
    limit: usize,
    /// When a poll last worked, in this process or before it; unknown at first.
    worked_at: Option<Timestamp>,
    /// No poll has worked since the start, or since the last trouble: what comes now may have waited long.
    doubt: bool,
    /// What waits is to be dropped by the first poll that works.
    dropping: bool,
}

impl Default for Poller {
    fn default() -> Self {
        Self { offset: None, limit: BATCH, worked_at: None, doubt: true, dropping: false }
    }
}

/// What came back from a poll.
pub type Asked = Answer<Vec<Option<Update>>>;

/// What one poll led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Polled {
    /// These rows are fresh and ours to handle; none when all of them were known.
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
    /// Tells when a poll last worked, as far as another process or a start before this one knew.
    pub fn worked_before(&mut self, at: Option<Timestamp>) {
        self.worked_at = self.worked_at.max(at);
    }

    /// Has the first poll that works drop what waits at Telegram, because an operator asked for it.
    #[must_use]
    pub fn dropping_first(self) -> Self {
        Self { dropping: true, ..self }
    }

    /// Whether what waits is still to be dropped.
    #[must_use]
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// Whether no poll has worked since the start or the last trouble.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        self.doubt
    }

    /// Asks once, waiting up to `wait` at the server, and stores what came.
    pub async fn poll(&mut self, inbox: &Inbox, wait: Duration) -> Polled {
        let began = inbox.clock.now();
        let answer = self.ask(inbox, wait).await;
        self.keep(inbox, began, answer).await
    }

    /// Asks once. What an earlier answer brought is acknowledged by this.
    pub async fn ask(&self, inbox: &Inbox, wait: Duration) -> Asked {
        let mut payload = json!({"timeout": wait.as_secs(), "limit": self.limit, "allowed_updates": ALLOWED});
        if self.dropping {
            // All but the last are forgotten; the next poll's offset lets go of that one too. `deleteWebhook` drops as well, but
            // would take a webhook away.
            (payload["offset"], payload["timeout"]) = (json!(-1), json!(0));
        } else if let Some(offset) = self.offset {
            payload["offset"] = json!(offset);
        }
        inbox.telegram.updates(&payload).await
    }

    /// Stores what came to a question asked at `began`; only then the offset moves.
    pub async fn keep(&mut self, inbox: &Inbox, began: Timestamp, answer: Asked) -> Polled {
        let polled = self.take(inbox, began, answer).await;
        if let Polled::Trouble { .. } = polled {
            self.doubt = true;
        } else {
            self.worked_at = Some(inbox.clock.now());
        }
        polled
    }

    async fn take(&mut self, inbox: &Inbox, began: Timestamp, answer: Asked) -> Polled {
        let updates = match answer {
            Answer::Ok(updates) => updates,
            other => {
                if matches!(other, Answer::Lost { .. } | Answer::Unreadable { .. }) {
                    self.limit = (self.limit / 2).max(1);
                }
                return trouble(&other);
            }
        };
        let waited_long = self.doubt && self.worked_at.is_some_and(|at| began.since(at) > DOUBTFUL);
        // A full answer leaves more behind; after any other, whatever comes has just been made.
        let is_full = updates.len() >= self.limit;
        self.doubt &= is_full;
        if !is_full {
            self.limit = (self.limit * 2).min(BATCH);
        }
        if updates.is_empty() {
            self.dropped();
            return Polled::Nothing;
        }
        // The highest of this batch, whatever came before: numbers restart at random after an idle week.
        let Some(last) = updates.iter().flatten().map(|update| update.number.0).max() else {
            return Polled::Trouble {
                why: "a poll was answered with updates that have no number".to_owned(),
                wait: Duration::from_secs(3),
                needs_operator: false,
            };
        };
        if self.dropping {
            self.offset = Some(last.saturating_add(1));
            self.dropped();
            return Polled::Fresh(Vec::new());
        }
        let brought = updates.len();
        let updates: Vec<_> = updates.into_iter().flatten().collect();
        metrics::add(Counter::UpdatesPoison, brought - updates.len());
        match inbox.accept(updates).await {
            Ok(mut fresh) => {
                self.offset = Some(last.saturating_add(1));
                if waited_long {
                    date_back(&mut fresh, began);
                }
                Polled::Fresh(fresh)
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

    fn dropped(&mut self) {
        if std::mem::take(&mut self.dropping) {
            tracing::warn!("what waited at Telegram was dropped, as an operator asked for this start");
        }
    }
}

fn trouble(answer: &Asked) -> Polled {
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
        Answer::Ok(_) => ("a poll worked".to_owned(), 0, false),
    };
    Polled::Trouble { why, wait: Duration::from_secs(wait), needs_operator }
}
