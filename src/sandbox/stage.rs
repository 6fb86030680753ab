//! Acts faults out, the same way for both servers: what is carried out, what leaves on the line, and when.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde_json::Value;
use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
};

use super::{
    BoxFuture,
    faults::{Deed, Rule},
    line::Line,
};

/// An answer before it is put on the line.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    /// Seconds.
    pub(super) retry_after: Option<u64>,
    pub(super) body: Bytes,
    /// The word for the call log.
    pub(super) outcome: &'static str,
}

impl Reply {
    /// A JSON answer; "ok" in the log below 400, "error" from there.
    pub(super) fn json(status: u16, body: impl Into<Bytes>) -> Self {
        let outcome = if status < 400 { "ok" } else { "error" };
        Self { status, content_type: "application/json", retry_after: None, body: body.into(), outcome }
    }

    fn html(status: u16, body: &str) -> Self {
        Self { content_type: "text/html; charset=utf-8", ..Self::json(status, body.to_owned()) }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, [(header::CONTENT_TYPE, self.content_type)], self.body).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// One received call of either server.
pub(super) trait Call: Send + Sync + 'static {
    /// The server has the call in hand; an answer here ends it before it is carried out.
    fn receive(&self) -> Option<Reply> {
        None
    }

    /// Does what is asked.
    fn carry_out(&self) -> BoxFuture<'_, Reply>;

    /// An error in this server's own manner.
    fn failure(&self, status: u16, retry_after: Option<u64>) -> Reply;

    /// Notes in the log how the call ended.
    fn finish(&self, outcome: &'static str);
}

/// The tasks of one world; they end with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    /// Starts a task that nobody waits for.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Ends all tasks without waiting for them.
    pub(super) fn abort(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// Ends all tasks and waits until they have.
    pub(super) async fn stop(&self) {
        let mut tasks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }
}

/// Where the faults of one server are acted out.
#[derive(Debug)]
pub(super) struct Stage {
    tasks: Tasks,
    /// Counts releases; whoever waits leaves at the next one.
    released: watch::Sender<u64>,
}

impl Stage {
    pub(super) fn new(tasks: Tasks) -> Self {
        Self { tasks, released: watch::Sender::new(0) }
    }

    /// Lets everything held or late go on.
    pub(super) fn release(&self) {
        self.released.send_modify(|count| *count += 1);
    }

    /// Ends at the next release or after `ms`; counts releases from the call on, not from the first poll.
    fn wait(&self, ms: Option<u64>) -> impl Future<Output = ()> + Send + 'static {
        let mut released = self.released.subscribe();
        async move {
            // An error means that the stage is gone, and with it every reason to wait.
            let release = async { released.changed().await.unwrap_or_default() };
            match ms {
                Some(ms) => tokio::time::timeout(Duration::from_millis(ms), release).await.unwrap_or_default(),
                None => release.await,
            }
        }
    }

    /// Plays one call through, with the fault that hit it if one did.
    pub(super) async fn play<C: Call>(&self, rule: Option<Rule>, call: Arc<C>, line: &Line) -> Response {
        let Some(rule) = rule else {
            let reply = whole(&*call).await;
            return answer(&*call, reply);
        };
        match rule.deed {
            Deed::LoseRequest => lost(&*call, line, "lost_request"),
            Deed::LoseAnswer => {
                whole(&*call).await;
                lost(&*call, line, "lost")
            }
            Deed::HalfAnswer => {
                let reply = whole(&*call).await;
                call.finish("half");
                half(&reply)
            }
            Deed::Hold | Deed::Delay => self.hold(rule.ms, call).await,
            Deed::Late => {
                let wait = self.wait(rule.ms);
                let gone = lost(&*call, line, "late");
                self.tasks.spawn(async move {
                    wait.await;
                    whole(&*call).await;
                });
                gone
            }
            Deed::Twice => {
                whole(&*call).await;
                let reply = whole(&*call).await;
                answer(&*call, reply)
            }
            Deed::ErrorAfter => {
                whole(&*call).await;
                let reply = error(&*call, &rule, 500);
                answer(&*call, Reply { outcome: "error_after", ..reply })
            }
            Deed::ErrorBefore => {
                let reply = error(&*call, &rule, 500);
                answer(&*call, Reply { outcome: "error_before", ..reply })
            }
            Deed::Refuse => {
                let reply = error(&*call, &rule, 422);
                answer(&*call, Reply { outcome: "refused", ..reply })
            }
            Deed::Junk => {
                whole(&*call).await;
                let page = Reply::html(200, "<!doctype html><title>OK</title><p>All is well.");
                answer(&*call, Reply { outcome: "junk", ..page })
            }
        }
    }

    /// Carried out by a task of its own: a server goes on with a call whose caller has given up.
    async fn hold<C: Call>(&self, ms: Option<u64>, call: Arc<C>) -> Response {
        let wait = self.wait(ms);
        if let Some(early) = call.receive() {
            return answer(&*call, early);
        }
        let (done, answered) = oneshot::channel();
        let held = Arc::clone(&call);
        self.tasks.spawn(async move {
            wait.await;
            let reply = held.carry_out().await;
            held.finish(reply.outcome);
            if done.send(reply).is_err() {
                tracing::debug!("sandbox: a held call was carried out after its caller had gone");
            }
        });
        match answered.await {
            Ok(reply) => reply.into_response(),
            Err(_) => call.failure(503, None).into_response(),
        }
    }
}

async fn whole<C: Call>(call: &C) -> Reply {
    match call.receive() {
        Some(early) => early,
        None => call.carry_out().await,
    }
}

fn answer<C: Call>(call: &C, reply: Reply) -> Response {
    call.finish(reply.outcome);
    reply.into_response()
}

/// The answer given back here is written to a line that is already cut.
fn lost<C: Call>(call: &C, line: &Line, outcome: &'static str) -> Response {
    line.cut();
    call.finish(outcome);
    StatusCode::NO_CONTENT.into_response()
}

fn error<C: Call>(call: &C, rule: &Rule, status: u16) -> Reply {
    let status = rule.status.unwrap_or(status);
    let own = call.failure(status, rule.retry_after);
    if rule.html {
        let page = format!("<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>");
        return Reply { retry_after: rule.retry_after, ..Reply::html(status, &page) };
    }
    match &rule.body {
        None => own,
        Some(Value::String(text)) => {
            Reply { body: text.clone().into(), content_type: "text/plain; charset=utf-8", ..own }
        }
        Some(other) => Reply { body: other.to_string().into(), ..own },
    }
}

/// The full length is announced and half of it sent; the pause in between makes sure that this half leaves.
fn half(reply: &Reply) -> Response {
    let sent = reply.body.slice(..reply.body.len() / 2);
    let parts = stream::unfold(Some(sent), |state| async move {
        match state {
            Some(bytes) if !bytes.is_empty() => Some((Ok(bytes), Some(Bytes::new()))),
            Some(_) => {
                tokio::task::yield_now().await;
                Some((Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted)), None))
            }
            None => None,
        }
    });
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    let headers =
        [(header::CONTENT_TYPE, reply.content_type.to_owned()), (header::CONTENT_LENGTH, reply.body.len().to_string())];
    (status, headers, Body::from_stream(parts)).into_response()
}
