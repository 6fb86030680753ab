//! The webhook at Telegram's side: set at the start, then compared every minute, since anybody with the token can point
//! it elsewhere and only Telegram sees why its deliveries fail.
//!
//! A webhook that points elsewhere is reported and left alone: two services that each set it back would fight for ever.
//! Nothing deletes it when the service stops: updates wait at Telegram until the next start.

use std::{sync::Arc, time::Duration};

use reqwest::Url;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::Receiving;
use crate::{
    clock::{Clock, Timestamp},
    config::Webhook,
    inbox::poll::ALLOWED,
    telegram::{Answer, Telegram},
};

/// How often the webhook is compared.
const COMPARE_EVERY: Duration = Duration::from_secs(60);

/// The longest pause between two tries to set it.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A failed delivery is worth a word for this long.
const RECENT: Duration = Duration::from_secs(150);

/// How often in a row the backlog must have grown before it is worth a word.
const GROWN: u32 = 2;

/// So many updates that wait are worth a word although they do not become more.
const MANY: u64 = 1_000;

/// Sets and compares the webhook of one process.
#[derive(Debug)]
pub struct Registration {
    telegram: Telegram,
    webhook: Webhook,
    receiving: Arc<Receiving>,
    clock: Arc<dyn Clock>,
    is_set: bool,
    /// What waits is to be dropped when it is set.
    dropping: bool,
    failures: u32,
    pending: Option<u64>,
    nothing_waits: bool,
    grown: u32,
    failed_at: Option<i64>,
}

impl Registration {
    /// Nothing is set yet; with `register = false` somebody else does, and it is only compared.
    #[must_use]
    pub fn new(webhook: Webhook, telegram: Telegram, receiving: Arc<Receiving>, clock: Arc<dyn Clock>) -> Self {
        let is_set = !webhook.register;
        Self {
            telegram,
            webhook,
            receiving,
            clock,
            is_set,
            dropping: false,
            failures: 0,
            pending: None,
            nothing_waits: false,
            grown: 0,
            failed_at: None,
        }
    }

    /// Has Telegram drop what waits when the webhook is set, because an operator asked for it. With `register = false` it is
    /// never set, and nothing is dropped.
    #[must_use]
    pub fn dropping_first(self) -> Self {
        Self { dropping: true, ..self }
    }

    /// Sets the webhook unless that has worked before, then compares it. Returns when to do so again.
    pub async fn step(&mut self) -> Duration {
        if !self.is_set
            && let Err(pause) = self.set().await
        {
            return pause;
        }
        self.compare().await;
        COMPARE_EVERY
    }

    /// Whether Telegram said at the last comparison that nothing waits; an answer of before proves nothing.
    #[must_use]
    pub fn nothing_waits(&self) -> bool {
        self.nothing_waits
    }

    /// The error is the pause before the next try.
    async fn set(&mut self) -> Result<(), Duration> {
        // Pending updates are people's words: they are dropped only where an operator asks for it, until Telegram has said
        // yes once. The list is said in full, since Telegram remembers the last one it was given.
        let mut payload = json!({
            "url": self.webhook.url,
            "secret_token": self.webhook.secret_token.expose_secret(),
            "max_connections": self.webhook.max_connections,
            "allowed_updates": ALLOWED,
        });
        if self.dropping {
            payload["drop_pending_updates"] = json!(true);
        }
        let answer = self.telegram.call("setWebhook", &payload).await;
        if let Answer::Ok(_) = answer {
            if std::mem::take(&mut self.dropping) {
                tracing::warn!("what waited at Telegram was dropped, as an operator asked for this start");
            }
            tracing::info!("Telegram was told where to bring updates");
            self.is_set = true;
            self.receiving.works(Vec::new());
            return Ok(());
        }
        let (why, needs_operator, asked) = trouble("the webhook could not be set", &answer);
        self.receiving.trouble(why, needs_operator);
        let own = Duration::from_secs(1 << self.failures.min(6)).min(LONGEST_PAUSE);
        self.failures += 1;
        Err(own.max(asked.unwrap_or_default()))
    }

    async fn compare(&mut self) {
        self.nothing_waits = false;
        let answer = self.telegram.call("getWebhookInfo", &json!({})).await;
        let Answer::Ok(info) = answer else {
            let (why, needs_operator, _) = trouble("the webhook could not be compared", &answer);
            return self.receiving.trouble(why, needs_operator);
        };
        let url = info.get("url").and_then(Value::as_str).unwrap_or_default();
        if url.is_empty() {
            let why = "no webhook is set: somebody removed it, or nobody set it. Updates wait at Telegram; start the service anew with telegram.webhook.register = true";
            return self.receiving.trouble(why.to_owned(), true);
        }
        if !is_same(url, &self.webhook.url) {
            let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            let why = format!(
                "the webhook points to another address (host {}): another service uses this bot's token. Stop it, or revoke the token at @BotFather, and start this service anew",
                host.as_deref().unwrap_or("unknown")
            );
            return self.receiving.trouble(why, true);
        }
        let remarks = self.remarks(&info);
        self.receiving.works(remarks);
    }

    /// What goes wrong although the webhook is ours. Never a reason to be taken out of a balancer: then nothing could
    /// arrive at all, and the failures would go on.
    fn remarks(&mut self, info: &Value) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(failed_at) = info.get("last_error_date").and_then(Value::as_i64) {
            let now = self.clock.now();
            let age = now.since(Timestamp(failed_at.saturating_mul(1_000)));
            let is_new = self.failed_at.is_some_and(|known| known != failed_at);
            if age <= RECENT || is_new {
                let said = info.get("last_error_message").and_then(Value::as_str).unwrap_or("without words");
                let said: String = said.chars().filter(|c| !c.is_control()).take(200).collect();
                remarks.push(format!("Telegram could not bring an update lately: {said}"));
            }
            self.failed_at = Some(failed_at);
        }
        let pending = info.get("pending_update_count").and_then(Value::as_u64).unwrap_or(0);
        let has_grown = self.pending.is_some_and(|before| pending > before);
        self.grown = if has_grown { self.grown + 1 } else { 0 };
        self.receiving.waits(pending);
        (self.pending, self.nothing_waits) = (Some(pending), pending == 0);
        if self.grown >= GROWN {
            remarks.push(format!("{pending} updates wait at Telegram, and they become more"));
        } else if pending >= MANY {
            remarks.push(format!("{pending} updates wait at Telegram"));
        }
        let missing = missing(info);
        if !missing.is_empty() {
            remarks.push(format!("Telegram was told not to bring {}: set the webhook anew", missing.join(", ")));
        }
        remarks
    }
}

/// Kinds we need and the webhook's list leaves out. Without a list Telegram brings all of them.
fn missing(info: &Value) -> Vec<&'static str> {
    let Some(allowed) = info.get("allowed_updates").and_then(Value::as_array).filter(|list| !list.is_empty()) else {
        return Vec::new();
    };
    ALLOWED.into_iter().filter(|kind| !allowed.iter().any(|known| known == kind)).collect()
}

/// Whether two addresses are one: letter by letter, or after the usual tidying.
fn is_same(one: &str, other: &str) -> bool {
    one == other || matches!((Url::parse(one), Url::parse(other)), (Ok(one), Ok(other)) if one == other)
}

/// Why a call did not work, whether waiting alone will not mend it, and the pause Telegram asked for.
fn trouble(what: &str, answer: &Answer) -> (String, bool, Option<Duration>) {
    match answer {
        Answer::Refused(refusal) if matches!(refusal.code, 401 | 404 | 421) || refusal.says("logged out") => (
            format!(
                "{what}: Telegram does not accept the token ({} {}); check telegram.token and telegram.api_url",
                refusal.code, refusal.description
            ),
            true,
            None,
        ),
        Answer::Refused(refusal) => {
            let mends = refusal.code == 429 || refusal.code >= 500;
            let hint = if mends { "" } else { "; check telegram.webhook" };
            let why = format!("{what}: {} {}{hint}", refusal.code, refusal.description);
            (why, !mends, refusal.retry_after)
        }
        Answer::Unreadable { status } => {
            (format!("{what}: the answer is not the Bot API's, HTTP {status}"), false, None)
        }
        Answer::NotSent { detail } | Answer::Lost { detail } => (format!("{what}: {detail}"), false, None),
        Answer::Ok(_) => (format!("{what}: the answer says nothing"), false, None),
    }
}
