//! A CRM that takes files in every way, keeps what it was sent, and answers out of turn when told to.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// One request as it came.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) what: &'static str,
    pub(super) path: String,
    pub(super) kind: String,
    pub(super) body: Vec<u8>,
}

impl Seen {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// An answer out of turn: its status, and whether the request is carried out all the same.
type Odd = (u16, bool);

#[derive(Debug, Default)]
struct Book {
    seen: Vec<Seen>,
    odd: BTreeMap<&'static str, VecDeque<Odd>>,
    /// Keys of tickets, in the order they were made.
    tickets: Vec<String>,
    /// Files of tickets.
    attached: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Desk {
    pub(super) url: String,
    book: Arc<Mutex<Book>>,
    _task: JoinSet<()>,
}

type Shared = State<Arc<Mutex<Book>>>;

impl Desk {
    pub(super) async fn start() -> Self {
        let book = Arc::new(Mutex::new(Book::default()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let routes = Router::new()
            .route("/tickets", get(find).post(create))
            .route("/uploads", post(upload))
            .route("/tickets/{id}/files", post(attach))
            .layer(axum::extract::DefaultBodyLimit::max(64 << 20))
            .with_state(Arc::clone(&book));
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, routes).await.expect("it serves") });
        Self { url, book, _task: task }
    }

    /// The next request of this kind is answered so.
    pub(super) fn answers(&self, what: &'static str, status: u16, carried_out: bool) {
        self.book.lock().expect("no panic holds it").odd.entry(what).or_default().push_back((status, carried_out));
    }

    pub(super) fn seen(&self, what: &str) -> Vec<Seen> {
        let book = self.book.lock().expect("no panic holds it");
        book.seen.iter().filter(|seen| seen.what == what).cloned().collect()
    }

    pub(super) fn tickets(&self) -> usize {
        self.book.lock().expect("no panic holds it").tickets.len()
    }

    pub(super) fn attached(&self) -> usize {
        self.book.lock().expect("no panic holds it").attached.len()
    }
}

/// Notes a request; the answer out of turn, if one was ordered, and whether to carry out.
fn note(
    book: &Mutex<Book>,
    what: &'static str,
    path: String,
    headers: &HeaderMap,
    body: &Bytes,
) -> (Option<u16>, bool) {
    let mut book = book.lock().expect("no panic holds it");
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
    book.seen.push(Seen { what, path, kind, body: body.to_vec() });
    match book.odd.get_mut(what).and_then(VecDeque::pop_front) {
        Some((status, carried_out)) => (Some(status), carried_out),
        None => (None, true),
    }
}

fn answer(odd: Option<u16>, usual: StatusCode, body: Value) -> (StatusCode, Json<Value>) {
    match odd {
        Some(status) => (StatusCode::from_u16(status).expect("a status"), Json(json!({"message": "no"}))),
        None => (usual, Json(body)),
    }
}

async fn create(State(book): Shared, headers: HeaderMap, body: Bytes) -> (StatusCode, Json<Value>) {
    let (odd, carried_out) = note(&book, "create", "/tickets".to_owned(), &headers, &body);
    let multipart = headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"multipart/"));
    let sent: Value = if multipart {
        let field = |name: &str| field(&String::from_utf8_lossy(&body), name);
        json!({"ref": field("ref"), "keyed": field("keyed").as_deref() == Some("true")})
    } else {
        serde_json::from_slice(&body).expect("JSON")
    };
    let key = sent["ref"].as_str().expect("a key").to_owned();
    let mut book = book.lock().expect("no panic holds it");
    // A repeat under the same key makes nothing new.
    let known = book.tickets.iter().position(|known| *known == key && sent["keyed"] == true);
    if known.is_none() && carried_out {
        book.tickets.push(key);
    }
    let number = known.map_or(book.tickets.len(), |at| at + 1);
    answer(odd, StatusCode::CREATED, json!({"id": number}))
}

/// The text of a form's field.
pub(super) fn field(body: &str, name: &str) -> Option<String> {
    let (_, rest) = body.split_once(&format!("name=\"{name}\"\r\n\r\n"))?;
    rest.split_once("\r\n--").map(|(text, _)| text.to_owned())
}

async fn find(State(book): Shared, Query(query): Query<BTreeMap<String, String>>) -> Json<Value> {
    let book = book.lock().expect("no panic holds it");
    let all = book.tickets.iter().enumerate().filter(|(_, key)| Some(*key) == query.get("ref"));
    let items: Vec<_> = all.map(|(at, key)| json!({"id": at + 1, "ref": key})).collect();
    Json(json!({"items": items}))
}

async fn upload(
    State(book): Shared,
    uri: axum::http::Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Json<Value>) {
    let (odd, _) = note(&book, "upload", uri.to_string(), &headers, &body);
    let number = book.lock().expect("no panic holds it").seen.len();
    answer(
        odd,
        StatusCode::CREATED,
        json!({"upload": {"token": format!("t{number}"), "url": format!("https://files.example/{number}?a=b")}}),
    )
}

async fn attach(
    State(book): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Json<Value>) {
    let (odd, carried_out) = note(&book, "attach", id.clone(), &headers, &body);
    if carried_out {
        book.lock().expect("no panic holds it").attached.push(id);
    }
    answer(odd, StatusCode::CREATED, json!({}))
}
