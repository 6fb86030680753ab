//! The outside world on loopback: a Bot API that says yes and notes when, and a CRM that behaves as it is told.
//!
//! Leaner than the sandbox: what is measured shares the machine with it.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinSet, time::timeout};

pub(crate) const TOKEN: &str = "1000000001:token-of-the-benchmark";

/// How the CRM behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crm {
    Well,
    /// Nothing listens.
    Down,
    /// Takes requests and never answers.
    Hanging,
    /// Answers after [`SLOW`].
    Slow,
}

const SLOW: Duration = Duration::from_secs(2);

/// What the world has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// When each tap was answered, by its callback's id.
    pub(crate) answers: HashMap<String, Instant>,
    /// Messages and edits.
    pub(crate) said: usize,
    /// The keys tickets were made under.
    pub(crate) keys: HashSet<String>,
    /// When a ticket was first asked for, and last made.
    pub(crate) first_call: Option<Instant>,
    pub(crate) last_ticket: Option<Instant>,
    /// Tickets made: more than keys when one was made twice.
    pub(crate) tickets: usize,
}

#[derive(Debug, Default)]
struct World {
    crm: AtomicU8,
    seen: Mutex<Seen>,
    changed: Notify,
    message: AtomicI64,
}

/// Both servers; they end with it.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) telegram: SocketAddr,
    crm: SocketAddr,
    world: Arc<World>,
    _tasks: JoinSet<()>,
}

impl Outside {
    pub(crate) async fn start() -> Self {
        let world = Arc::<World>::default();
        let mut tasks = JoinSet::new();
        let mut serve = async |router: Router<Arc<World>>| {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let at = listener.local_addr().expect("an address");
            let router = router.with_state(Arc::clone(&world));
            tasks.spawn(async move { axum::serve(listener, router).await.expect("the world goes on") });
            at
        };
        let telegram = serve(Router::new().fallback(bot_api)).await;
        let crm = serve(Router::new().fallback(crm)).await;
        Self { telegram, crm, world, _tasks: tasks }
    }

    /// Where the CRM is; nowhere when it is down.
    pub(crate) fn crm(&self, mode: Crm) -> String {
        self.world.crm.store(mode as u8, Ordering::Relaxed);
        // Nothing listens on the port that its name says is for nothing.
        if mode == Crm::Down { "http://127.0.0.1:9".to_owned() } else { format!("http://{}", self.crm) }
    }

    pub(crate) fn api(&self) -> String {
        format!("http://{}", self.telegram)
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.world.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn forget(&self) {
        *self.seen() = Seen::default();
    }

    /// Waits until it is so; `false` when that takes longer than the limit.
    pub(crate) async fn until(&self, limit: Duration, mut is_so: impl FnMut(&Seen) -> bool) -> bool {
        let look = async {
            while !is_so(&self.seen()) {
                // A change wakes; the pause only covers a change between look and wait.
                drop(timeout(Duration::from_millis(20), self.world.changed.notified()).await);
            }
        };
        timeout(limit, look).await.is_ok()
    }
}

async fn body(request: Request) -> Value {
    let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or(Value::Null)
}

async fn bot_api(State(world): State<Arc<World>>, request: Request) -> Response {
    let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let params = body(request).await;
    let now = Instant::now();
    let mut seen = world.seen.lock().unwrap_or_else(PoisonError::into_inner);
    let result = match method.as_str() {
        "getme" => json!({"id": 1_000_000_001, "is_bot": true, "first_name": "Bot", "username": "bench_bot",
            "can_join_groups": true, "can_read_all_group_messages": false, "supports_inline_queries": false,
            "can_connect_to_business": false, "has_main_web_app": false}),
        "answercallbackquery" => {
            let id = params["callback_query_id"].as_str().unwrap_or_default().to_owned();
            seen.answers.entry(id).or_insert(now);
            json!(true)
        }
        "sendmessage" | "editmessagetext" => {
            seen.said += 1;
            let known = params["message_id"].as_i64();
            let number = known.unwrap_or_else(|| world.message.fetch_add(1, Ordering::Relaxed) + 1);
            json!({"message_id": number, "date": 1_796_030_962, "text": params["text"],
                "chat": {"id": params["chat_id"], "type": "private", "first_name": "Анна"}})
        }
        "getupdates" => json!([]),
        "getwebhookinfo" => json!({"url": "", "has_custom_certificate": false, "pending_update_count": 0}),
        _ => json!(true),
    };
    drop(seen);
    world.changed.notify_waiters();
    Json(json!({"ok": true, "result": result})).into_response()
}

async fn crm(State(world): State<Arc<World>>, request: Request) -> Response {
    if request.method() != axum::http::Method::POST {
        return Json(json!({"items": []})).into_response();
    }
    let order = body(request).await;
    {
        let mut seen = world.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.first_call.get_or_insert_with(Instant::now);
    }
    world.changed.notify_waiters();
    let mode = world.crm.load(Ordering::Relaxed);
    if mode == Crm::Hanging as u8 {
        std::future::pending::<()>().await;
    }
    if mode == Crm::Slow as u8 {
        drop(timeout(SLOW, std::future::pending::<()>()).await);
    }
    let key = order["external_id"].as_str().unwrap_or_default().to_owned();
    let number = {
        let mut seen = world.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.tickets += 1;
        seen.keys.insert(key.clone());
        seen.last_ticket = Some(Instant::now());
        seen.tickets
    };
    world.changed.notify_waiters();
    let ticket = json!({"id": number, "number": format!("T-{number}"), "external_id": key,
        "url": format!("http://127.0.0.1/tickets/{number}")});
    (StatusCode::CREATED, Json(ticket)).into_response()
}
