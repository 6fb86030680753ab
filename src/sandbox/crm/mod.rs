//! The fake CRM: the generic contract over HTTP, with options and faults on order.
//!
//! Its listener can really be closed ("the CRM is down": connection refused) and opened again at the same port.

mod door;
mod tickets;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State, rejection::BytesRejection},
    http::{HeaderMap, Method, Uri},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use self::{
    door::Door,
    tickets::{Made, Tickets},
};
use super::{
    BODY_LIMIT, BoxFuture,
    events::Changes,
    faults::Plan,
    line::Line,
    log::CallLog,
    query,
    stage::{Call, Reply, Stage, Tasks},
};
use crate::clock::{Clock, Timestamp};

/// What the fake CRM can be switched to while it runs.
#[derive(Debug, Clone, Copy)]
struct Options {
    /// Whether `Idempotency-Key` is honoured.
    keyed: bool,
    /// How long a lookup does not see a new ticket, milliseconds.
    index_lag_ms: u64,
    /// Whether tickets can be looked up at all.
    lookup: bool,
}

/// A change of [`Options`]: what is absent stays.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OptionsChange {
    keyed: Option<bool>,
    index_lag_ms: Option<u64>,
    lookup: Option<bool>,
}

#[derive(Debug)]
struct Desk {
    options: Options,
    tickets: Tickets,
    plan: Plan,
    log: CallLog,
}

/// The fake CRM.
#[derive(Debug)]
pub(super) struct Crm {
    /// The token it asks for; absent where any will do.
    token: Option<String>,
    base_url: String,
    clock: Arc<dyn Clock>,
    changes: Changes,
    stage: Stage,
    desk: Mutex<Desk>,
    door: Door,
}

impl Crm {
    pub(super) fn new(
        address: SocketAddr,
        token: Option<String>,
        clock: Arc<dyn Clock>,
        changes: Changes,
        tasks: Tasks,
    ) -> Self {
        let options = Options { keyed: true, index_lag_ms: 0, lookup: true };
        let desk = Desk { options, tickets: Tickets::default(), plan: Plan::default(), log: CallLog::default() };
        Self {
            token,
            base_url: format!("http://{address}"),
            clock,
            changes,
            stage: Stage::new(tasks),
            desk: Mutex::new(desk),
            door: Door::new(address),
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to answer on the listener.
    pub(super) async fn open(self: &Arc<Self>, listener: TcpListener) {
        self.door.open(listener, router(Arc::clone(self))).await;
    }

    /// Closes the listener and all connections, or listens again at the same port.
    ///
    /// # Errors
    /// In words, if the port is not free any more.
    pub(super) async fn set_down(self: &Arc<Self>, down: bool) -> Result<(), String> {
        let set = if down {
            self.door.close(true).await;
            Ok(())
        } else {
            let router = router(Arc::clone(self));
            self.door.reopen(router).await.map_err(|error| format!("the CRM cannot listen at its port again: {error}"))
        };
        self.changes.note();
        set
    }

    /// Closes the listener for good and waits until it is.
    pub(super) async fn close(&self) {
        self.door.close(false).await;
    }

    /// Ends everything at once, without waiting.
    pub(super) fn abandon(&self) {
        self.door.abandon();
    }

    pub(super) fn is_down(&self) -> bool {
        self.door.is_closed()
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(super) fn release(&self) {
        self.stage.release();
    }

    /// Works on the fault rules.
    pub(super) fn with_plan<T>(&self, work: impl FnOnce(&mut Plan) -> T) -> T {
        let done = work(&mut self.desk().plan);
        self.changes.note();
        done
    }

    pub(super) fn has_switch(&self, name: &str) -> bool {
        self.desk().plan.has_switch(name)
    }

    pub(super) fn set_options(&self, change: &OptionsChange) -> Value {
        {
            let options = &mut self.desk().options;
            options.keyed = change.keyed.unwrap_or(options.keyed);
            options.index_lag_ms = change.index_lag_ms.unwrap_or(options.index_lag_ms);
            options.lookup = change.lookup.unwrap_or(options.lookup);
        }
        self.changes.note();
        self.options_json()
    }

    pub(super) fn options_json(&self) -> Value {
        let Options { keyed, index_lag_ms, lookup } = self.desk().options;
        json!({ "keyed": keyed, "index_lag_ms": index_lag_ms, "lookup": lookup, "down": self.is_down() })
    }

    pub(super) fn log_json(&self) -> Value {
        self.desk().log.json()
    }

    pub(super) fn log_lines(&self, count: usize) -> Vec<(Timestamp, Value)> {
        self.desk().log.lines("crm", "", count)
    }

    /// `{"count", "tickets"}`.
    pub(super) fn tickets_json(&self) -> Value {
        let desk = self.desk();
        json!({ "count": desk.tickets.len(), "tickets": desk.tickets.json() })
    }

    pub(super) fn clear_tickets(&self) {
        self.desk().tickets.clear();
        self.changes.note();
    }
}

fn router(crm: Arc<Crm>) -> Router {
    Router::new().fallback(received).layer(DefaultBodyLimit::max(BODY_LIMIT)).with_state(crm)
}

async fn received(
    State(crm): State<Arc<Crm>>,
    line: Line,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return message(rejection.status().as_u16(), &rejection.body_text()).into_response(),
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // The header is a structured string: quotes belong to its writing, not to the key.
    let key = text("idempotency-key").map(|key| key.trim().trim_matches('"').to_owned());
    let token = text("authorization").and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
    let authorized = token.is_some_and(|given| match &crm.token {
        Some(asked) => given == asked,
        None => !given.is_empty(),
    });
    let name = format!("{method} {}", uri.path().trim_end_matches('/'));
    let (seq, rule) = {
        let mut desk = crm.desk();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let entry = json!({ "method": method.as_str(), "path": path, "key": key });
        let seq = desk.log.open(crm.clock.now(), &name, entry);
        (seq, desk.plan.pick(&name))
    };
    crm.changes.note();
    let call = CrmCall { crm: Arc::clone(&crm), seq, name, uri, key, authorized, body };
    crm.stage.play(rule, Arc::new(call), &line).await
}

fn message(status: u16, words: &str) -> Reply {
    Reply::json(status, json!({ "message": words }).to_string())
}

struct CrmCall {
    crm: Arc<Crm>,
    seq: u64,
    /// Method and path.
    name: String,
    uri: Uri,
    key: Option<String>,
    authorized: bool,
    body: Bytes,
}

impl CrmCall {
    fn creates(&self) -> bool {
        self.name == "POST /tickets"
    }

    fn create(&self) -> Reply {
        let mut desk = self.crm.desk();
        let Options { keyed, index_lag_ms, .. } = desk.options;
        let now = self.crm.clock.now();
        match desk.tickets.create(self.key.as_deref(), keyed, &self.body, now, index_lag_ms) {
            Made::New(ticket) => {
                desk.log.note(self.seq, "ticket", json!(ticket.number.to_string()));
                Reply::json(201, ticket.answer(&self.crm.base_url).to_string())
            }
            Made::Again(ticket) => {
                desk.log.note(self.seq, "again", json!(ticket.number.to_string()));
                Reply::json(200, ticket.answer(&self.crm.base_url).to_string())
            }
            Made::KeyReused => message(422, "idempotency key reused with another body"),
            Made::Invalid(words) => message(422, words),
        }
    }

    fn look(&self) -> Reply {
        let desk = self.crm.desk();
        if !desk.options.lookup {
            return message(404, "this CRM has no lookup");
        }
        let base_url = &self.crm.base_url;
        if let Some(number) = self.name.strip_prefix("GET /tickets/") {
            let ticket = number.parse().ok().and_then(|number| desk.tickets.by_number(number));
            return match ticket {
                Some(ticket) => Reply::json(200, ticket.answer(base_url).to_string()),
                None => message(404, "no such ticket"),
            };
        }
        let Some(external_id) = query(self.uri.query().unwrap_or_default()).remove("external_id") else {
            return message(400, "external_id is required");
        };
        let found = desk.tickets.find(&external_id, self.crm.clock.now());
        let items: Vec<_> = found.map(|ticket| ticket.answer(base_url)).collect();
        Reply::json(200, json!({ "items": items }).to_string())
    }
}

impl Call for CrmCall {
    fn receive(&self) -> Option<Reply> {
        if !self.authorized {
            return Some(message(401, "unauthorized: the bearer token is wrong or missing"));
        }
        let mut desk = self.crm.desk();
        let key = self.key.as_deref().filter(|_| self.creates() && desk.options.keyed)?;
        (!desk.tickets.take(key)).then(|| message(409, "a request with this idempotency key is being handled"))
    }

    fn carry_out(&self) -> BoxFuture<'_, Reply> {
        let reply = if self.creates() {
            self.create()
        } else if self.name == "GET /tickets" || self.name.starts_with("GET /tickets/") {
            self.look()
        } else {
            message(404, "no such route; there are POST /tickets, GET /tickets?external_id= and GET /tickets/{number}")
        };
        self.crm.changes.note();
        Box::pin(std::future::ready(reply))
    }

    fn failure(&self, status: u16, retry_after: Option<u64>) -> Reply {
        let words = match status {
            401 | 403 => "not allowed",
            400 | 422 => "the ticket was refused",
            429 => "too many requests",
            503 => "service unavailable",
            _ => "internal error",
        };
        Reply { retry_after, ..message(status, words) }
    }

    fn finish(&self, outcome: &'static str) {
        self.crm.desk().log.close(self.seq, outcome);
        self.crm.changes.note();
    }
}
