//! The whole product against a peer that behaves as Odoo's JSON-RPC is documented to: every error is HTTP 200, the answer
//! to a create is a bare number, archived leads hide, a field it does not know is an error.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::post,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    databases::on_both,
    world::{ANNA, OWNER, Options, World},
};

const KEY_FIELD: &str = "x_tg_ref";
const FIELDS: [&str; 8] = ["id", "name", "contact_name", "phone", "email_from", "description", "topic", KEY_FIELD];

/// What happens to the next create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Never carried out, and no answer.
    LoseRequest,
    /// Carried out, and no answer.
    LoseAnswer,
    /// Carried out, archived by a person at once, and no answer.
    LoseAnswerAndArchive,
    /// Carried out; a gateway's page instead of the answer.
    Gateway,
    /// A server's error inside a 200; nothing made.
    Broken,
    /// The content is refused.
    Refuse,
}

#[derive(Debug, Default)]
struct Leads {
    all: Vec<Value>,
    next: Option<Fault>,
    creates: usize,
}

#[derive(Clone)]
struct Odoo(Arc<Mutex<Leads>>);

impl Odoo {
    async fn start() -> (Self, String, JoinSet<std::io::Result<()>>) {
        let odoo = Self(Arc::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|error| panic!("{error}"));
        let address = listener.local_addr().unwrap_or_else(|error| panic!("{error}"));
        let router = Router::new().route("/jsonrpc", post(rpc)).with_state(odoo.clone());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await });
        (odoo, format!("http://{address}"), server)
    }

    fn leads(&self) -> MutexGuard<'_, Leads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, fault: Fault) {
        self.leads().next = Some(fault);
    }

    fn count(&self) -> usize {
        self.leads().all.len()
    }
}

fn error(name: &str, message: &str) -> Response {
    let data = json!({"name": name, "message": message, "arguments": [message], "debug": "Traceback …"});
    let error = json!({"code": 200, "message": "Odoo Server Error", "data": data});
    Json(json!({"jsonrpc": "2.0", "id": 1, "error": error})).into_response()
}

fn result(value: Value) -> Response {
    Json(json!({"jsonrpc": "2.0", "id": 1, "result": value})).into_response()
}

/// The connection breaks where the answer should be.
fn nothing() -> Response {
    let broken = futures_util::stream::iter([Err::<String, _>(std::io::Error::other("gone"))]);
    Response::new(Body::from_stream(broken))
}

async fn rpc(State(odoo): State<Odoo>, Json(call): Json<Value>) -> Response {
    let args = &call["params"]["args"];
    assert_eq!((&call["params"]["service"], &call["params"]["method"]), (&json!("object"), &json!("execute_kw")));
    if (&args[0], &args[1], &args[2]) != (&json!("prod"), &json!(7), &json!("right-key")) {
        return error("odoo.exceptions.AccessDenied", "Access Denied");
    }
    assert_eq!(args[3], "crm.lead");
    match args[4].as_str() {
        Some("create") => create(&odoo, args[5][0].clone()),
        Some("search_read") => search(&odoo, &args[5][0][0], &args[6]),
        other => error("builtins.AttributeError", &format!("type object 'crm.lead' has no attribute {other:?}")),
    }
}

fn create(odoo: &Odoo, mut lead: Value) -> Response {
    let mut leads = odoo.leads();
    leads.creates += 1;
    let fault = leads.next.take();
    match fault {
        Some(Fault::LoseRequest) => return nothing(),
        Some(Fault::Broken) => return error("psycopg2.errors.SerializationFailure", "could not serialize access"),
        Some(Fault::Refuse) => return error("odoo.exceptions.ValidationError", "Телефон в чёрном списке"),
        _ => {}
    }
    let Some(values) = lead.as_object_mut() else { return error("builtins.TypeError", "no values") };
    if let Some(unknown) = values.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return error("builtins.ValueError", &format!("Invalid field '{unknown}' on model 'crm.lead'"));
    }
    let id = leads.all.len() + 1;
    values.insert("id".to_owned(), json!(id));
    values.insert("active".to_owned(), json!(fault != Some(Fault::LoseAnswerAndArchive)));
    leads.all.push(lead);
    match fault {
        Some(Fault::LoseAnswer | Fault::LoseAnswerAndArchive) => nothing(),
        Some(Fault::Gateway) => {
            (axum::http::StatusCode::BAD_GATEWAY, "<html><body>502 Bad Gateway</body></html>").into_response()
        }
        _ => result(json!(id)),
    }
}

fn search(odoo: &Odoo, domain: &Value, options: &Value) -> Response {
    let (Some(field), Some("=")) = (domain[0].as_str(), domain[1].as_str()) else {
        return error("builtins.ValueError", "Invalid leaf");
    };
    if !FIELDS.contains(&field) {
        return error("builtins.ValueError", &format!("Invalid field crm.lead.{field} in leaf"));
    }
    let archived_too = options["context"]["active_test"] == json!(false);
    let leads = odoo.leads();
    let found =
        leads.all.iter().filter(|lead| lead[field] == domain[2] && (archived_too || lead["active"] == json!(true)));
    let wanted = options["fields"].as_array().cloned().unwrap_or_default();
    let shown = found.map(|lead| {
        let pair = |name: &Value| Some((name.as_str()?.to_owned(), lead[name.as_str()?].clone()));
        Value::Object(wanted.iter().filter_map(pair).collect())
    });
    result(Value::Array(shown.collect()))
}

fn section(url: &str, key: &str) -> String {
    format!(
        "[crm]\nprofile = \"odoo\"\n[crm.vars]\nbase_url = \"{url}\"\ndb = \"prod\"\nuid = 7\nkey_field = \"{KEY_FIELD}\"\n\
         [crm.secrets]\napi_key = \"{key}\"\n"
    )
}

/// One request more, with this fault on its way; how it stands after a while, and how many leads there are more.
async fn applied(world: &mut World, odoo: &Odoo, fault: Option<Fault>) -> (&'static str, usize) {
    let before = odoo.count();
    if let Some(fault) = fault {
        odoo.next(fault);
    }
    world.apply(ANNA).await;
    world.pass(Duration::from_secs(900)).await;
    (world.state(ANNA).await, odoo.count() - before)
}

on_both! {
    async fn each_request_makes_one_lead_whatever_becomes_of_the_answer(db: Database) {
        let (odoo, url, _server) = Odoo::start().await;
        let options = Options::searchable().with_crm(section(&url, "right-key")).places(50);
        let options = options.set("limits.submissions_per_client_per_hour", "50");
        let mut world = World::with(db, options.clone()).await;
        assert_eq!(applied(&mut world, &odoo, None).await, ("created", 1));
        assert!(world.said(ANNA).await.join("\n").contains("№ 1"));
        for fault in [Fault::LoseAnswer, Fault::Gateway, Fault::LoseAnswerAndArchive] {
            assert_eq!(applied(&mut world, &odoo, Some(fault)).await, ("created", 1), "{fault:?}");
        }
        for fault in [Fault::LoseRequest, Fault::Broken] {
            assert_eq!(applied(&mut world, &odoo, Some(fault)).await, ("review", 0), "{fault:?}");
            let marker = world.marker(ANNA).await;
            world.create_after_all(OWNER, &marker, "её нет").await;
            world.pass(Duration::from_secs(60)).await;
            assert_eq!(world.state(ANNA).await, "created", "{fault:?}");
        }
        assert_eq!(applied(&mut world, &odoo, Some(Fault::Refuse)).await, ("rejected", 0));
        assert!(world.said(ANNA).await.join("\n").contains("Телефон в чёрном списке"));
        // A key that has ended: nothing is made, nothing is lost.
        world.options = options.clone().with_crm(section(&url, "old-key"));
        world.restart().await;
        assert_eq!(applied(&mut world, &odoo, None).await, ("pending", 0));
        world.options = options;
        world.restart().await;
        world.pass(Duration::from_secs(900)).await;
        assert_eq!(world.state(ANNA).await, "created");
        let leads = odoo.leads().all.clone();
        let mut keys: Vec<String> = leads.iter().filter_map(|lead| lead[KEY_FIELD].as_str().map(str::to_owned)).collect();
        keys.sort();
        keys.dedup();
        assert_eq!((leads.len(), keys.len()), (7, 7), "one lead a key: {leads:#?}");
        world.finish_elsewhere().await;
    }
}
