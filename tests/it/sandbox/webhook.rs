//! The webhook: order, secret, repeats, and methods called in the answer.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

use super::Bench;

/// A bot that takes updates by webhook and answers as the test says.
struct Receiver {
    url: String,
    got: watch::Receiver<Vec<(String, Value)>>,
    answers: Answers,
    _server: JoinSet<()>,
}

/// Status and body of the next answers; 200 when there are none left.
type Answers = Arc<Mutex<Vec<(u16, String)>>>;
type Shared = (Arc<watch::Sender<Vec<(String, Value)>>>, Answers);

async fn take(State((got, answers)): State<Shared>, headers: HeaderMap, body: String) -> Response {
    let secret = headers.get("X-Telegram-Bot-Api-Secret-Token").map_or("", |value| value.to_str().unwrap());
    let update = serde_json::from_str(&body).unwrap();
    got.send_modify(|all| all.push((secret.to_owned(), update)));
    let mut answers = answers.lock().unwrap();
    let (status, body) = if answers.is_empty() { (200, String::new()) } else { answers.remove(0) };
    (StatusCode::from_u16(status).unwrap(), body).into_response()
}

impl Receiver {
    async fn start(answers: &[(u16, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (sender, got) = watch::channel(Vec::new());
        let answers = answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
        let answers: Answers = Arc::new(Mutex::new(answers));
        let shared: Shared = (Arc::new(sender), Arc::clone(&answers));
        let router = Router::new().route("/hook", post(take)).with_state(shared);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, got, answers, _server: server }
    }

    /// The texts and data received, once there are so many.
    async fn texts(&mut self, count: usize) -> Vec<String> {
        let got = self.got.wait_for(|got| got.len() >= count);
        let got = tokio::time::timeout(std::time::Duration::from_secs(10), got).await.unwrap().unwrap();
        let word = |update: &Value| {
            update["message"]["text"].as_str().or(update["callback_query"]["data"].as_str()).map(str::to_owned)
        };
        got.iter().map(|(_, update)| word(update).unwrap()).collect()
    }
}

#[tokio::test]
async fn updates_are_posted_with_the_secret_and_repeated_until_taken() {
    let bench = Bench::start().await;
    let mut bot = Receiver::start(&[(503, ""), (200, "")]).await;
    bench.post("/clients/101/text", json!({ "text": "до" })).await;
    let hook = json!({ "url": bot.url, "secret_token": "s-1", "allowed_updates": ["message", "callback_query"] });
    bench.bot("setWebhook", hook).await;
    bench.post("/clients/101/text", json!({ "text": "после" })).await;
    // One lane: the failed one comes again before the next.
    assert_eq!(bot.texts(3).await, ["до", "до", "после"]);
    assert!(bot.got.borrow().iter().all(|(secret, _)| secret == "s-1"));
    bench.until("an empty queue", async || bench.get("/state").await["pending_updates"] == 0).await;
    let info = bench.bot("getWebhookInfo", json!({})).await;
    assert_eq!((&info["url"], &info["pending_update_count"]), (&json!(bot.url), &json!(0)));
    let error = info["last_error_message"].as_str().unwrap();
    assert_eq!(error, "Wrong response from the webhook: 503 Service Unavailable");
    assert_eq!(info["allowed_updates"], json!(["message", "callback_query"]));
}

#[tokio::test]
async fn a_failing_lane_does_not_hold_up_another() {
    let bench = Bench::start().await;
    let mut bot = Receiver::start(&[]).await;
    bench.bot("setWebhook", json!({ "url": bot.url })).await;
    // The first repeat comes at once, the second after two seconds: by then the other chat is long served.
    bot.answers.lock().unwrap().extend([(500, String::new()), (500, String::new())]);
    bench.post("/clients/101/text", json!({ "text": "ждёт" })).await;
    bot.texts(2).await;
    bench.post("/clients/102/text", json!({ "text": "идёт" })).await;
    assert_eq!(bot.texts(4).await, ["ждёт", "ждёт", "идёт", "ждёт"]);
}

#[tokio::test]
async fn deliver_twice_posts_twice_and_a_deleted_webhook_leaves_the_rest_to_polling() {
    let bench = Bench::start().await;
    let mut bot = Receiver::start(&[]).await;
    bench.bot("setWebhook", json!({ "url": bot.url })).await;
    bench.post("/switches", json!({ "name": "deliver_twice", "on": true })).await;
    bench.post("/clients/101/text", json!({ "text": "раз" })).await;
    assert_eq!(bot.texts(2).await, ["раз", "раз"]);
    bench.post("/switches", json!({ "name": "deliver_twice", "on": false })).await;
    bench.until("an empty queue", async || bench.get("/state").await["pending_updates"] == 0).await;
    bench.bot("deleteWebhook", json!({})).await;
    bench.post("/clients/101/text", json!({ "text": "два" })).await;
    assert_eq!(bench.updates(0).await[0]["message"]["text"], "два");
    bench.bot("setWebhook", json!({ "url": bot.url, "drop_pending_updates": true })).await;
    bench.post("/clients/101/text", json!({ "text": "три" })).await;
    assert_eq!(bot.texts(3).await, ["раз", "раз", "три"]);
}

#[tokio::test]
async fn a_tap_can_be_answered_in_the_webhooks_answer() {
    let bench = Bench::start().await;
    let tapped = bench.post("/clients/101/tap", json!({ "message_id": 1, "button": "x", "raw": true })).await;
    let answer = json!({ "method": "answerCallbackQuery", "callback_query_id": tapped["callback_id"], "text": "да" });
    let barred = json!({ "method": "deleteWebhook" });
    let mut bot = Receiver::start(&[(200, &answer.to_string()), (200, &barred.to_string())]).await;
    bench.bot("setWebhook", json!({ "url": bot.url })).await;
    assert_eq!(bot.texts(1).await, ["x"]);
    bench.until("the answer", async || bench.get("/acks").await["acks"][0]["text"] == "да").await;
    bench.post("/clients/101/text", json!({ "text": "a" })).await;
    assert_eq!(bot.texts(2).await, ["x", "a"]);
    bench.until("an empty queue", async || bench.get("/state").await["pending_updates"] == 0).await;
    assert_eq!(bench.bot("getWebhookInfo", json!({})).await["url"], json!(bot.url));
}
