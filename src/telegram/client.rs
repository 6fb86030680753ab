//! Calls to the Bot API over HTTP: our own client, so that the raw answer, its status and what failed stay visible.
//!
//! Requests are worded with teloxide's payload types. teloxide's own transport is not used: it hides the status code,
//! sleeps ten seconds on a 5xx and knows many refusals only as text.

use std::time::Duration;

use reqwest::{Client, redirect::Policy};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use super::{
    answer::{Answer, read, read_by},
    update::{self, Update},
};
use crate::clock::http_date;

/// The longest answer that is read.
const ANSWER_LIMIT: usize = 16 * 1024 * 1024;

/// A Bot API server and our token for it.
#[derive(Clone)]
pub struct Telegram {
    pub(super) calls: Client,
    polls: Client,
    pub(super) base: String,
    pub(super) token: SecretString,
}

impl std::fmt::Debug for Telegram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Telegram").field("base", &self.base).finish_non_exhaustive()
    }
}

/// The client could not be built.
#[derive(Debug)]
pub struct ClientProblem(String);

impl std::fmt::Display for ClientProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the HTTP client for Telegram cannot be built: {}", self.0)
    }
}

impl std::error::Error for ClientProblem {}

impl Telegram {
    /// A client for the server at `base` (such as `https://api.telegram.org`), waiting `timeout` for an answer to a
    /// send. Some throttled sends are answered only after many seconds, so 30 s or more outside tests.
    ///
    /// # Errors
    /// [`ClientProblem`] when TLS cannot be set up.
    pub fn new(base: &str, token: SecretString, timeout: Duration) -> Result<Self, ClientProblem> {
        let build = |timeout: Duration| {
            Client::builder()
                // A redirect would carry the token in the address to somebody else.
                .redirect(Policy::none())
                .referer(false)
                .connect_timeout(timeout.min(Duration::from_secs(5)))
                .timeout(timeout)
                .build()
                .map_err(|error| ClientProblem(error.without_url().to_string()))
        };
        Ok(Self {
            calls: build(timeout)?,
            // A poll waits up to 50 s at the server.
            polls: build(timeout + Duration::from_secs(55))?,
            base: base.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// Calls a method with a payload. No answer holds our token, whatever a server repeats of the address it was asked at.
    pub async fn call<P: Serialize + Sync>(&self, method: &str, payload: &P) -> Answer {
        self.send(&self.calls, method, payload, read).await.without(self.token.expose_secret())
    }

    /// Asks for updates, which may take the server's long-poll time; in the place of what is no update, nothing.
    pub async fn updates<P: Serialize + Sync>(&self, payload: &P) -> Answer<Vec<Option<Update>>> {
        let read = |status, body: &[u8]| read_by(status, body, |result| update::list(result?.get()));
        self.send(&self.polls, "getUpdates", payload, read).await.without(self.token.expose_secret())
    }

    /// The server's own time as its answers tell it, in Unix seconds; `None` where it cannot be reached or does not say.
    pub async fn time(&self) -> Option<i64> {
        let url = format!("{}/bot{}/getMe", self.base, self.token.expose_secret());
        let response = self.calls.post(url).send().await.ok()?;
        response.headers().get("date")?.to_str().ok().and_then(http_date)
    }

    async fn send<T, P: Serialize + Sync>(
        &self,
        client: &Client,
        method: &str,
        payload: &P,
        read: impl FnOnce(u16, &[u8]) -> Answer<T>,
    ) -> Answer<T> {
        let url = format!("{}/bot{}/{method}", self.base, self.token.expose_secret());
        let sent = client.post(url).json(payload).send().await;
        let mut response = match sent {
            Ok(response) => response,
            // Only these two flags prove that nothing was written; a timeout while connecting is told apart by `connect`.
            Err(error) if error.is_builder() || error.is_connect() => {
                return Answer::NotSent { detail: describe(&error.without_url()) };
            }
            Err(error) => return Answer::Lost { detail: describe(&error.without_url()) },
        };
        let status = response.status().as_u16();
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= ANSWER_LIMIT => body.extend_from_slice(&chunk),
                Ok(Some(_)) => return Answer::Lost { detail: "the answer is too long".to_owned() },
                Ok(None) => return read(status, &body),
                Err(error) => return Answer::Lost { detail: describe(&error.without_url()) },
            }
        }
    }
}

/// The error and its causes in one line; the address, and with it the token, was taken off before.
pub(super) fn describe(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
