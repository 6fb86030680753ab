//! The control API: JSON over HTTP for the page, the tests and load tools. Each route is one act on the outside world.
//!
//! | route under `/sandbox` | does |
//! |---|---|
//! | `POST clients/{user}/{act}` | a person acts: text, start, edit, contact, tap, photo, document, sticker, voice, block, unblock |
//! | `POST updates/raw` · `updates/redeliver` | any update · an old one again, to the letter |
//! | `GET chats/{chat}/messages` · `acks` | what was said · what taps were answered |
//! | `GET`, `DELETE crm/tickets` | the tickets |
//! | `GET`, `POST`, `DELETE {crm or telegram}/faults`, `…/faults/{id}` | faults on order |
//! | `POST {crm or telegram}/release` · `GET …/log` | lets held calls go · the calls received |
//! | `POST crm/down` · `crm/options` · `telegram/options` | the CRM's listener · how both behave |
//! | `GET`, `POST switches` · `service` | the page's sticky faults · the service's process |
//! | `GET state` · `events` | everything the page shows · when to fetch it again |

mod guard;
mod state;

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Request, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, Uri},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    BODY_LIMIT, Outside,
    bot_api::Act,
    crm::OptionsChange,
    faults::{self, Plan},
    line::Line,
    page,
    stage::Reply,
    switches,
};

/// An answer of the control API: JSON, or words with a status.
type Answer = Result<Value, Trouble>;

/// Why a control call was not carried out: what, where, what to do.
#[derive(Debug)]
pub(super) struct Trouble {
    status: StatusCode,
    words: String,
}

impl Trouble {
    fn bad(words: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, words: words.into() }
    }

    fn not_found(words: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, words: words.into() }
    }

    fn conflict(words: impl Into<String>) -> Self {
        Self { status: StatusCode::CONFLICT, words: words.into() }
    }
}

impl From<String> for Trouble {
    fn from(words: String) -> Self {
        Self::bad(words)
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        Reply::json(self.status.as_u16(), json!({ "error": self.words }).to_string()).into_response()
    }
}

/// JSON as such.
struct Json(Answer);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        match self.0 {
            Ok(value) => Reply::json(200, value.to_string()).into_response(),
            Err(trouble) => trouble.into_response(),
        }
    }
}

type World = State<Arc<Outside>>;
type Body = Result<Bytes, BytesRejection>;

/// Everything the world's address serves.
pub(super) fn router(outside: Arc<Outside>) -> Router {
    Router::new()
        .route("/sandbox/clients/{user}/{act}", post(act))
        .route("/sandbox/updates/raw", post(raw_update))
        .route("/sandbox/updates/redeliver", post(redeliver))
        .route("/sandbox/chats/{chat}/messages", get(messages))
        .route("/sandbox/acks", get(acks))
        .route("/sandbox/crm/tickets", get(tickets).delete(clear_tickets))
        .route("/sandbox/crm/log", get(crm_log))
        .route("/sandbox/crm/release", post(release_crm))
        .route("/sandbox/crm/down", post(down))
        .route("/sandbox/crm/options", get(crm_options).post(set_crm_options))
        .route("/sandbox/telegram/log", get(telegram_log))
        .route("/sandbox/telegram/release", post(release_telegram))
        .route("/sandbox/telegram/options", post(set_telegram_options))
        .route("/sandbox/{server}/faults", get(list_faults).post(add_faults).delete(clear_faults))
        .route("/sandbox/{server}/faults/{id}", axum::routing::delete(remove_fault))
        .route("/sandbox/switches", get(list_switches).post(switch))
        .route("/sandbox/service", get(service_status).post(service))
        .route("/sandbox/state", get(whole_state))
        .route("/sandbox/events", get(events))
        .fallback(elsewhere)
        .layer(middleware::from_fn(guard::only_local))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(outside)
}

/// The whole body, if it was not too long.
fn whole(body: Body) -> Result<Bytes, Trouble> {
    body.map_err(|rejection| Trouble { status: rejection.status(), words: rejection.body_text() })
}

/// Reads a body as JSON; an empty one counts as `{}`.
fn read<T: DeserializeOwned>(body: Body) -> Result<T, Trouble> {
    let body = whole(body)?;
    let text: &[u8] = if body.is_empty() { b"{}" } else { &body };
    serde_json::from_slice(text).map_err(|error| Trouble::bad(format!("the body was not understood: {error}")))
}

fn number(text: &str, what: &str) -> Result<i64, Trouble> {
    text.parse().map_err(|_| Trouble::bad(format!("\"{text}\" is not a {what}: a number is wanted")))
}

async fn act(State(world): World, Path((user, verb)): Path<(String, String)>, body: Body) -> Json {
    let done = || {
        let user = number(&user, "person")?;
        let act: Act = read(body)?;
        let acted = world.bot_api.with(|book, now| book.act(user, &verb, &act, now))?;
        Ok(acted.json())
    };
    Json(done())
}

async fn raw_update(State(world): World, body: Body) -> Json {
    let done = || {
        let body = whole(body)?;
        Ok(json!({ "update_ids": [world.bot_api.push_raw(&body)?] }))
    };
    Json(done())
}

async fn redeliver(State(world): World, body: Body) -> Json {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Which {
        update_id: i64,
    }
    let done = || {
        let Which { update_id } = read(body)?;
        if world.bot_api.with(|book, now| book.queue.redeliver(update_id, now)) {
            Ok(json!({ "update_ids": [update_id] }))
        } else {
            Err(Trouble::not_found(format!("there was no update {update_id}, or it was too long ago")))
        }
    };
    Json(done())
}

async fn messages(State(world): World, Path(chat): Path<String>) -> Json {
    let done = || {
        let chat = number(&chat, "chat")?;
        let messages = world.bot_api.read(|book, _| book.chats.messages(chat));
        let messages = messages.ok_or_else(|| Trouble::not_found(format!("there is no chat {chat}")))?;
        Ok(json!({ "messages": messages }))
    };
    Json(done())
}

async fn acks(State(world): World) -> Json {
    Json(Ok(json!({ "acks": world.bot_api.read(|book, now| book.taps.json(usize::MAX, now)) })))
}

async fn tickets(State(world): World) -> Json {
    Json(Ok(world.crm.tickets_json()))
}

async fn clear_tickets(State(world): World) -> Json {
    world.crm.clear_tickets();
    Json(Ok(world.crm.tickets_json()))
}

async fn crm_log(State(world): World) -> Json {
    Json(Ok(world.crm.log_json()))
}

async fn telegram_log(State(world): World) -> Json {
    Json(Ok(world.bot_api.read(|book, _| book.log.json())))
}

async fn release_crm(State(world): World) -> Json {
    world.crm.release();
    Json(Ok(json!({ "ok": true })))
}

async fn release_telegram(State(world): World) -> Json {
    world.bot_api.release();
    Json(Ok(json!({ "ok": true })))
}

async fn down(State(world): World, body: Body) -> Json {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Down {
        down: bool,
    }
    let down = match read::<Down>(body) {
        Ok(Down { down }) => down,
        Err(trouble) => return Json(Err(trouble)),
    };
    Json(world.crm.set_down(down).await.map(|()| world.crm.options_json()).map_err(Trouble::conflict))
}

async fn crm_options(State(world): World) -> Json {
    Json(Ok(world.crm.options_json()))
}

async fn set_crm_options(State(world): World, body: Body) -> Json {
    Json(read::<OptionsChange>(body).map(|change| world.crm.set_options(&change)))
}

async fn set_telegram_options(State(world): World, body: Body) -> Json {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Options {
        deliver_twice: Option<bool>,
        privacy: Option<bool>,
        next_update_id: Option<i64>,
    }
    let done = || {
        let options: Options = read(body)?;
        world.bot_api.with(|book, _| {
            if options.next_update_id.is_some_and(|next| !book.queue.renumber(next)) {
                return Err(Trouble::conflict("updates are waiting: numbers can only start elsewhere when none does"));
            }
            book.queue.twice = options.deliver_twice.unwrap_or(book.queue.twice);
            book.privacy = options.privacy.unwrap_or(book.privacy);
            Ok(json!({ "deliver_twice": book.queue.twice, "privacy": book.privacy }))
        })
    };
    Json(done())
}

/// Works on the rules of the named server.
fn with_plan<T>(world: &Outside, server: &str, work: impl FnOnce(&mut Plan) -> T) -> Result<T, Trouble> {
    match server {
        "crm" => Ok(world.crm.with_plan(work)),
        "telegram" => Ok(world.bot_api.with(|book, _| work(&mut book.plan))),
        other => Err(Trouble::not_found(format!("there is no server \"{other}\"; there are crm and telegram"))),
    }
}

async fn list_faults(State(world): World, Path(server): Path<String>) -> Json {
    Json(with_plan(&world, &server, |plan| plan.json()))
}

async fn add_faults(State(world): World, Path(server): Path<String>, body: Body) -> Json {
    let done = || {
        let body = whole(body)?;
        let (rules, many) = faults::read(&body)?;
        let added = with_plan(&world, &server, |plan| {
            rules.into_iter().map(|rule| plan.add(rule, None)).collect::<Result<Vec<_>, _>>()
        })??;
        match added.first() {
            Some(first) if !many => Ok(first.clone()),
            _ => Ok(json!({ "rules": added })),
        }
    };
    Json(done())
}

async fn clear_faults(State(world): World, Path(server): Path<String>) -> Json {
    let cleared = with_plan(&world, &server, |plan| {
        plan.clear();
        plan.json()
    });
    Json(cleared)
}

async fn remove_fault(State(world): World, Path((server, id)): Path<(String, String)>) -> Json {
    let done = || {
        let number = u64::try_from(number(&id, "fault rule")?).unwrap_or_default();
        if with_plan(&world, &server, |plan| plan.remove(number))? {
            Ok(json!({ "removed": number }))
        } else {
            Err(Trouble::not_found(format!("there is no fault rule {number}")))
        }
    };
    Json(done())
}

async fn list_switches(State(world): World) -> Json {
    Json(Ok(switches::json(&world)))
}

async fn switch(State(world): World, body: Body) -> Json {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Switch {
        name: String,
        on: bool,
    }
    let Switch { name, on } = match read(body) {
        Ok(switch) => switch,
        Err(trouble) => return Json(Err(trouble)),
    };
    Json(switches::turn(&world, &name, on).await.map(|()| switches::json(&world)).map_err(Trouble::bad))
}

async fn service_status(State(world): World) -> Json {
    Json(Ok(state::service(&world)))
}

async fn service(State(world): World, body: Body) -> Json {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Deed {
        Kill,
        Start,
        Restart,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Order {
        r#do: Deed,
    }
    let deed = match read::<Order>(body) {
        Ok(order) => order.r#do,
        Err(trouble) => return Json(Err(trouble)),
    };
    let Some(service) = &world.service else {
        return Json(Err(Trouble::conflict("this sandbox runs no service: it was started with --world-only")));
    };
    let done = match deed {
        Deed::Kill => service.kill().await,
        Deed::Start => service.start().await,
        Deed::Restart => {
            // One that does not run is as good as killed.
            drop(service.kill().await);
            service.start().await
        }
    };
    world.changes.note();
    Json(done.map(|()| state::service(&world)).map_err(Trouble::conflict))
}

async fn whole_state(State(world): World) -> Json {
    Json(Ok(state::json(&world)))
}

async fn events(State(world): World) -> Response {
    world.changes.stream()
}

/// The page's files and the Bot API, whose paths have the token in the middle of a part.
async fn elsewhere(State(world): World, line: Line, uri: Uri, headers: HeaderMap, request: Request) -> Response {
    if let Some(rest) = uri.path().strip_prefix("/file/bot") {
        return world.bot_api.file(rest, &line).await;
    }
    if let Some(rest) = uri.path().strip_prefix("/bot").filter(|rest| rest.contains('/')) {
        return match axum::body::to_bytes(request.into_body(), BODY_LIMIT).await {
            Ok(body) => world.bot_api.received(rest, &line, &uri, &headers, &body).await,
            Err(_) => world.bot_api.too_large(),
        };
    }
    match page::file(uri.path()) {
        Some(file) => file,
        None => Trouble::not_found(format!("there is nothing at {}", uri.path())).into_response(),
    }
}
