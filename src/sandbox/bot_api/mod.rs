//! The Bot API emulator: `/bot<token>/<method>`, strict where Telegram is strict.

mod acts;
mod book;
mod chats;
mod commands;
mod deliver;
mod files;
mod html;
mod markup;
mod methods;
mod params;
mod poll;
mod strict;
mod taps;
mod updates;
mod webhook;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::{
    body::Bytes,
    http::{HeaderMap, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use tokio::sync::Notify;

pub(super) use self::acts::Act;
use self::{
    book::Book,
    methods::Called,
    params::{Params, Refusal},
    updates::{LIFE, Lane},
};
use super::{
    BoxFuture,
    events::Changes,
    line::Line,
    stage::{Call, Reply, Stage, Tasks},
};
use crate::clock::{Clock, Timestamp};

/// The emulated Telegram.
#[derive(Debug)]
pub(super) struct BotApi {
    clock: Arc<dyn Clock>,
    changes: Changes,
    stage: Stage,
    book: Mutex<Book>,
    /// Woken when something is queued, or when who may fetch it changes.
    queued: Notify,
}

/// The bot's number in a token of the right form.
fn bot_of(token: &str) -> Option<i64> {
    let (id, secret) = token.split_once(':')?;
    let digits = !id.is_empty() && id.bytes().all(|c| c.is_ascii_digit());
    let known = secret.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'));
    let long = (4..=64).contains(&secret.len());
    if digits && known && long { id.parse().ok() } else { None }
}

impl BotApi {
    /// Starts it with its delivering task; `None` if the token has not the form of one.
    pub(super) fn new(
        token: &str,
        staff_chat: i64,
        clock: Arc<dyn Clock>,
        changes: Changes,
        tasks: &Tasks,
    ) -> Option<Arc<Self>> {
        let book = Mutex::new(Book::new(bot_of(token)?, staff_chat));
        let stage = Stage::new(tasks.clone());
        let api = Arc::new(Self { clock, changes, stage, book, queued: Notify::new() });
        tasks.spawn(Arc::clone(&api).deliver());
        Some(api)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads or changes the state, then wakes whoever waits for updates.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Book, Timestamp) -> T) -> T {
        let done = work(&mut self.book(), self.clock.now());
        self.queued.notify_waiters();
        self.changes.note();
        done
    }

    /// Reads the state.
    pub(super) fn read<T>(&self, work: impl FnOnce(&mut Book, Timestamp) -> T) -> T {
        work(&mut self.book(), self.clock.now())
    }

    pub(super) fn release(&self) {
        self.stage.release();
    }

    /// Queues any update: a JSON object without its number.
    ///
    /// # Errors
    /// In words, if it is none.
    pub(super) fn push_raw(&self, body: &[u8]) -> Result<i64, String> {
        let text = std::str::from_utf8(body).map_err(|_| "the update is not UTF-8")?.trim();
        let value: Value = serde_json::from_str(text).map_err(|error| format!("the update is not JSON: {error}"))?;
        let object = value.as_object().ok_or("the update is not an object")?;
        if object.contains_key("update_id") {
            return Err("leave \"update_id\" out: the sandbox numbers updates itself".to_owned());
        }
        let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        let chat = object.values().find_map(|payload| payload["chat"]["id"].as_i64()).unwrap_or_default();
        Ok(self.with(|book, now| book.queue.push_raw(inside, Lane::Chat(chat), LIFE, now)))
    }

    /// The answer to a body that nobody reads to its end.
    pub(super) fn too_large(&self) -> Response {
        let refusal = Refusal { code: 413, description: "Request Entity Too Large".to_owned() };
        Reply::json(413, refusal.body(None)).into_response()
    }

    /// Answers one call; `rest` is the path after `/bot`.
    pub(super) async fn received(
        self: &Arc<Self>,
        rest: &str,
        line: &Line,
        uri: &Uri,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Response {
        let refused = |code: u16, words: &str| {
            let refusal = Refusal { code, description: words.to_owned() };
            Reply::json(code, refusal.body(None)).into_response()
        };
        let Some((token, method)) = rest.split_once('/') else { return refused(404, "Not Found") };
        let Some(bot) = bot_of(token) else { return refused(401, "Unauthorized") };
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let params = match Params::read(uri.query().unwrap_or_default(), content_type, body) {
            Ok(params) => params,
            Err(refusal) => return Reply::json(refusal.code, refusal.body(None)).into_response(),
        };
        let (seq, rule) = self.read(|book, now| {
            let entry = serde_json::json!({ "method": method, "params": params.json() });
            (book.log.open(now, method, entry), book.plan.pick(method))
        });
        // Also for polls: whoever waits for a call to arrive looks again.
        self.changes.note();
        let method = method.to_ascii_lowercase();
        let call = BotCall { api: Arc::clone(self), seq, bot, method, params };
        self.stage.play(rule, Arc::new(call), line).await
    }
}

struct BotCall {
    api: Arc<BotApi>,
    seq: u64,
    bot: i64,
    /// In lower case.
    method: String,
    params: Params,
}

fn reply(result: Result<Value, Refusal>) -> Reply {
    match result {
        Ok(result) => Reply::json(200, format!("{{\"ok\":true,\"result\":{result}}}")),
        Err(refusal) => Reply::json(refusal.code, refusal.body(None)),
    }
}

impl Call for BotCall {
    fn carry_out(&self) -> BoxFuture<'_, Reply> {
        if self.method == "getupdates" {
            return Box::pin(self.api.poll(&self.params));
        }
        let result = self.api.with(|book, now| {
            let called = Called { method: &self.method, params: &self.params, bot: self.bot, now };
            methods::call(book, &called)
        });
        let unknown = || Err(Refusal { code: 404, description: "Not Found: method not found".to_owned() });
        Box::pin(std::future::ready(reply(result.unwrap_or_else(unknown))))
    }

    fn failure(&self, status: u16, retry_after: Option<u64>) -> Reply {
        let description = match status {
            400 => "Bad Request".to_owned(),
            401 => "Unauthorized".to_owned(),
            403 => "Forbidden".to_owned(),
            404 => "Not Found".to_owned(),
            409 => "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
                .to_owned(),
            429 => format!("Too Many Requests: retry after {}", retry_after.unwrap_or(1)),
            502 => "Bad Gateway".to_owned(),
            _ => "Internal Server Error".to_owned(),
        };
        let retry_after = if status == 429 { retry_after.or(Some(1)) } else { retry_after };
        let body = Refusal { code: status, description }.body(retry_after);
        Reply { retry_after, ..Reply::json(status, body) }
    }

    fn finish(&self, outcome: &'static str) {
        self.api.book().log.close(self.seq, outcome);
        // A poll that brought nothing changes nothing the page shows.
        if self.method != "getupdates" {
            self.api.changes.note();
        }
    }
}
