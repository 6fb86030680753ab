//! Posts updates to the webhook: lanes in parallel, in order inside a lane, again and again until taken or too old.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use reqwest::{Client, header};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};

use super::{
    BotApi,
    methods::{self, Called},
    params::Params,
    updates::{Lane, Queued},
    webhook::Hook,
};

/// How long the bot may take to answer.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest pause between two tries of one update.
const LONGEST_PAUSE: u64 = 60;
/// The longest pause the bot may ask for.
const LONGEST_RETRY_AFTER: u64 = 3_600;
/// With nothing due, the loop still looks now and then: updates grow old.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// A lane whose first update failed.
struct Failing {
    failures: u32,
    due: Instant,
}

/// What a try led to.
struct Tried {
    update: Queued,
    /// The answer's body, or why the update was not taken and how long to wait at least, seconds.
    outcome: Result<String, (String, Option<u64>)>,
}

/// What is known of the deliveries under way. It belongs to the one delivering task.
#[derive(Default)]
struct Progress {
    /// The address the failures belong to.
    url: String,
    busy: HashSet<Lane>,
    failing: HashMap<Lane, Failing>,
}

impl Progress {
    fn may_start(&self, lane: Lane, now: Instant, hook: &Hook) -> bool {
        if self.busy.contains(&lane) {
            return false;
        }
        match self.failing.get(&lane) {
            Some(failing) => failing.due <= now,
            // Failing lanes use up places of their own: many of them stop all delivery, as they do at Telegram.
            None => self.failing.len() + self.busy.len() < 2 * hook.max_connections,
        }
    }
}

impl BotApi {
    /// Delivers for as long as the world lives.
    pub(super) async fn deliver(self: Arc<Self>) {
        let built = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(READ_TIMEOUT);
        let client = match built.build() {
            Ok(client) => client,
            Err(error) => return tracing::error!(%error, "sandbox: webhooks cannot be delivered"),
        };
        let mut progress = Progress::default();
        let mut sending: JoinSet<Tried> = JoinSet::new();
        loop {
            // Listening begins before looking, so that nothing queued in between is slept through.
            let queued = self.queued.notified();
            tokio::pin!(queued);
            queued.as_mut().enable();
            let wait = self.start_due(&mut progress, &mut sending, &client);
            tokio::select! {
                _ = tokio::time::timeout(wait, queued) => {}
                Some(done) = sending.join_next() => match done {
                    Ok(tried) => self.settle(&mut progress, tried),
                    Err(error) => tracing::error!(%error, "sandbox: a webhook delivery ended early"),
                },
            }
        }
    }

    /// Starts every delivery that may start now; answers how long nothing else will be due.
    fn start_due(&self, progress: &mut Progress, sending: &mut JoinSet<Tried>, client: &Client) -> Duration {
        let Some(hook) = self.read(|book, _| book.hook.clone()) else {
            progress.url.clear();
            return LOOK_AGAIN;
        };
        // A new address starts afresh, without the pauses the old one had earned.
        if progress.url != hook.url {
            progress.failing.clear();
            progress.url.clone_from(&hook.url);
        }
        let now = Instant::now();
        let room = hook.max_connections.saturating_sub(sending.len());
        let heads = self.read(|book, at| book.queue.heads(at, room, |lane| progress.may_start(lane, now, &hook)));
        // With room left over, a due lane without an update has lost it to old age, and with it its place.
        if heads.len() < room {
            let waits = |lane: &Lane| heads.iter().any(|update| update.lane == *lane);
            progress.failing.retain(|lane, failing| failing.due > now || waits(lane) || progress.busy.contains(lane));
        }
        for update in heads {
            progress.busy.insert(update.lane);
            sending.spawn(post(client.clone(), hook.clone(), update));
        }
        let dues = progress.failing.values().map(|failing| failing.due);
        dues.filter(|due| *due > now).map(|due| due - now).min().unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN)
    }

    fn settle(&self, progress: &mut Progress, tried: Tried) {
        let Tried { update, outcome } = tried;
        progress.busy.remove(&update.lane);
        match outcome {
            Ok(body) => {
                progress.failing.remove(&update.lane);
                self.with(|book, _| book.queue.delivered(&update));
                self.call_in_answer(&body);
            }
            Err((words, retry_after)) => {
                let failing = progress.failing.entry(update.lane);
                let failing = failing.or_insert_with(|| Failing { failures: 0, due: Instant::now() });
                failing.failures += 1;
                failing.due = Instant::now() + pause(failing.failures, retry_after);
                self.with(|book, now| {
                    if let Some(hook) = &mut book.hook {
                        hook.last_error = Some((now, words));
                    }
                });
            }
        }
    }

    /// A webhook's answer may call one method; its result is told to nobody.
    fn call_in_answer(&self, body: &str) {
        let Ok(Value::Object(object)) = serde_json::from_str(body) else { return };
        let Some(name) = object.get("method").and_then(Value::as_str).map(str::to_owned) else { return };
        let method = name.to_ascii_lowercase();
        let barred = ["setwebhook", "deletewebhook", "close", "logout"];
        if method.starts_with("get") || barred.contains(&method.as_str()) {
            return;
        }
        let params = Params::from_object(object);
        self.with(|book, now| {
            let seq = book.log.open(now, &name, json!({ "method": name, "params": params.json(), "by": "webhook" }));
            let called = Called { method: &method, params: &params, bot: book.bot_id, now };
            let done = methods::call(book, &called).is_some_and(|result| result.is_ok());
            book.log.close(seq, if done { "ok" } else { "error" });
        });
    }
}

/// The first repeat comes at once, then after 2, 4, 8 … 60 seconds; never sooner than the bot asked for.
fn pause(failures: u32, retry_after: Option<u64>) -> Duration {
    let own = if failures < 2 { 0 } else { 1_u64.checked_shl(failures - 1).unwrap_or(LONGEST_PAUSE) };
    let asked = retry_after.unwrap_or_default().min(LONGEST_RETRY_AFTER);
    Duration::from_secs(own.min(LONGEST_PAUSE).max(asked))
}

async fn post(client: Client, hook: Hook, update: Queued) -> Tried {
    let mut request = client.post(&hook.url).header(header::CONTENT_TYPE, "application/json");
    if let Some(secret) = &hook.secret {
        request = request.header("X-Telegram-Bot-Api-Secret-Token", secret);
    }
    let outcome = match request.body(update.text.to_string()).send().await {
        Err(error) if error.is_connect() => Err(("Connection refused".to_owned(), None)),
        Err(error) if error.is_timeout() => Err(("Read timeout expired".to_owned(), None)),
        Err(_) => Err(("Connection closed".to_owned(), None)),
        Ok(response) if response.status().is_success() => Ok(response.text().await.unwrap_or_default()),
        Ok(response) => {
            let asked = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
            let asked = asked.and_then(|value| value.trim().parse().ok());
            Err((format!("Wrong response from the webhook: {}", response.status()), asked))
        }
    };
    Tried { update, outcome }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_a_minute_and_honour_what_the_bot_asks() {
        let seconds: Vec<_> = (1..=8).map(|failures| pause(failures, None).as_secs()).collect();
        assert_eq!(seconds, [0, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause(1, Some(30)).as_secs(), 30);
        assert_eq!(pause(3, Some(1)).as_secs(), 4);
        assert_eq!(pause(1, Some(99_999)).as_secs(), 3_600);
        assert_eq!(pause(200, None).as_secs(), 60);
    }
}
