//! The webhook's route: what Telegram brings is stored, then acknowledged.
//!
//! The secret comes first: nothing of a request without it is read. What is no update is acknowledged all the same, since
//! Telegram would bring it again and again and hold back what comes after it. "Later" is said only when nothing could
//! be stored; `Retry-After: 1` keeps Telegram from doubling its pauses while a tap's 150 seconds run.
//!
//! A tap's answer does not ride in the response, although Telegram would carry it out: what it says is known only after
//! the handling, for which the acknowledgement would have to wait, and nobody would ever hear whether it was taken.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::{FromRequest as _, Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;
use tokio::{
    sync::{Semaphore, mpsc},
    time::timeout,
};

use super::Web;
use crate::{
    config::Webhook,
    inbox::{
        Inbox,
        doubt::{Doubt, date_back},
    },
    metrics::{Counter, count},
    store::inbox::Claimed,
    telegram::update::Update,
};

const SECRET: &str = "X-Telegram-Bot-Api-Secret-Token";

/// The largest update, bytes.
pub(super) const BODY_LIMIT: usize = 1024 * 1024;

/// The longest a body may take to come.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest storing may take before Telegram is told "later"; it goes on all the same.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Updates being stored at once; beyond that Telegram is told "later".
const STORED_AT_ONCE: usize = 1024;

/// How long an acknowledgement waits for handling to keep up; that slows Telegram down, as a late poll would.
const HAND_OVER: Duration = Duration::from_secs(1);

/// The webhook's route and where its updates go.
#[derive(Debug)]
pub struct Hook {
    path: String,
    secret: SecretString,
    /// Weak: intake's own sender is the leave to take updates in. Once it is gone, the service drains.
    rows: mpsc::WeakSender<Vec<Claimed>>,
    room: Arc<Semaphore>,
    doubt: Arc<Doubt>,
}

impl Hook {
    /// The route of `webhook`; what it stores goes to `rows` for as long as somebody else holds a sender of it. Whoever knows
    /// when updates last could come in tells `doubt`: a tap that may have waited long counts, and is not answered.
    #[must_use]
    pub fn new(webhook: &Webhook, rows: mpsc::WeakSender<Vec<Claimed>>, doubt: Arc<Doubt>) -> Self {
        Self {
            doubt,
            path: webhook.path.clone(),
            secret: webhook.secret_token.clone(),
            rows,
            room: Arc::new(Semaphore::new(STORED_AT_ONCE)),
        }
    }

    /// Whether a request proves to come from Telegram. The time it takes tells nothing of where a guess went wrong.
    fn is_proven(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(SECRET).iter();
        let (Some(first), None) = (given.next(), given.next()) else { return false };
        let secret = self.secret.expose_secret();
        // Refused when the configuration is read; an empty one must never open the door.
        !secret.is_empty() && bool::from(first.as_bytes().ct_eq(secret.as_bytes()))
    }
}

/// Any request that no other route takes: the webhook's, or one to nowhere.
pub(super) async fn receive(State(web): State<Arc<Web>>, request: Request) -> Response {
    let Some(hook) = web.hook.as_ref().filter(|hook| hook.path == request.uri().path()) else {
        count(Counter::PathUnknown);
        return StatusCode::NOT_FOUND.into_response();
    };
    if request.method() != Method::POST {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")]).into_response();
    }
    if !hook.is_proven(request.headers()) {
        count(Counter::WebhookDenied);
        tracing::debug!("a webhook request without the right secret");
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if web.stop.is_cancelled() {
        return later();
    }
    let body = match body(request).await {
        Ok(body) => body,
        Err(status) => return (status, [(header::CONNECTION, "close")]).into_response(),
    };
    let Some(update) = Update::read(&String::from_utf8_lossy(&body)) else {
        count(Counter::UpdatesPoison);
        tracing::warn!(body.bytes = body.len(), "a webhook request that is no update is acknowledged and dropped");
        return StatusCode::OK.into_response();
    };
    drop(body);
    if store(&web.inbox, hook, update).await { StatusCode::OK.into_response() } else { later() }
}

fn later() -> Response {
    count(Counter::WebhookPutOff);
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response()
}

/// The whole body, or the status that says why not.
async fn body(request: Request) -> Result<Bytes, StatusCode> {
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > BODY_LIMIT) {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match timeout(BODY_TIMEOUT, Bytes::from_request(request, &())).await {
        Ok(whole) => whole.map_err(|rejection| rejection.status()),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

/// Stores one update and hands it over. `false` when it is not known to be stored.
#[expect(
    clippy::disallowed_methods,
    reason = "a peer that hangs up must not keep a stored update from its handling: the task outlives the request, \
              is bounded by a semaphore, and the drain waits for its sender"
)]
async fn store(inbox: &Inbox, hook: &Hook, update: Update) -> bool {
    // No sender: the service drains. No place: the database does not keep up.
    let (Some(rows), Ok(place)) = (hook.rows.upgrade(), Arc::clone(&hook.room).try_acquire_owned()) else {
        return false;
    };
    let (inbox, doubt) = (inbox.clone(), Arc::clone(&hook.doubt));
    let storing = tokio::spawn(async move {
        let _place = place;
        let began = inbox.clock.now();
        let waited_long = doubt.is_on(began);
        match inbox.accept(vec![update]).await {
            Ok(mut fresh) => {
                if waited_long {
                    date_back(&mut fresh, began);
                }
                // A full channel loses nothing: rows are claimed again when their lease ends.
                if !fresh.is_empty() && rows.send_timeout(fresh, HAND_OVER).await.is_err() {
                    tracing::warn!("handling does not keep up; a stored update waits for the next sweep");
                }
                true
            }
            Err(error) => {
                tracing::warn!(%error, "an update could not be stored, so it was not acknowledged");
                false
            }
        }
    });
    matches!(timeout(STORE_TIMEOUT, storing).await, Ok(Ok(true)))
}
