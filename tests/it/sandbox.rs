//! The sandbox over real HTTP: the emulator, the fake CRM, faults on order.

use std::{sync::Arc, time::Duration};

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use zayavka::{
    clock::{ManualClock, Timestamp},
    sandbox::{Listen, World, WorldOptions},
};

const STAFF: i64 = -1_001_000_000_001;

/// A world with a clock in the test's hand, and a client that speaks to all of it.
struct Bench {
    world: World,
    clock: ManualClock,
    http: Client,
}

impl Bench {
    async fn start() -> Self {
        let clock = ManualClock::at(Timestamp(1_796_030_962_000));
        let options = WorldOptions { listen: Listen::Free, clock: Arc::new(clock.clone()), ..WorldOptions::default() };
        let world = World::start(options).await.unwrap();
        // No idle connections: a cut one must never be mistaken for a stale one and silently tried again.
        let http = Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(Duration::from_secs(20)).build();
        Self { world, clock, http: http.unwrap() }
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        let url = format!("{}{path}", self.world.api_url());
        let response = self.http.request(method, url).json(&body).send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    /// A control act that succeeds.
    async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(Method::POST, &format!("/sandbox{path}"), body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.call(Method::GET, &format!("/sandbox{path}"), json!({})).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    fn bot_url(&self, method: &str) -> String {
        format!("{}/bot{}/{method}", self.world.api_url(), self.world.token())
    }

    /// A Bot API call as a bot makes it.
    async fn try_bot(&self, method: &str, params: Value) -> Result<Value, reqwest::Error> {
        self.http.post(self.bot_url(method)).json(&params).send().await?.json().await
    }

    /// A Bot API call that succeeds.
    async fn bot(&self, method: &str, params: Value) -> Value {
        let answer = self.try_bot(method, params).await.unwrap();
        assert_eq!(answer["ok"], true, "{method}: {answer}");
        answer["result"].clone()
    }

    /// A Bot API call that is refused: code and words.
    async fn refused(&self, method: &str, params: Value) -> (i64, String) {
        let answer = self.try_bot(method, params).await.unwrap();
        assert_eq!(answer["ok"], false, "{method}: {answer}");
        (answer["error_code"].as_i64().unwrap(), answer["description"].as_str().unwrap().to_owned())
    }

    /// The updates from an offset, without waiting.
    async fn updates(&self, offset: i64) -> Vec<Value> {
        self.bot("getUpdates", json!({ "offset": offset })).await.as_array().unwrap().clone()
    }

    fn ticket(external_id: &str) -> Value {
        json!({ "external_id": external_id, "marker": "Z-7KQ4-M2XD", "subject": "Консультация", "body": "строка\r\n\u{202e}ещё 😀",
            "contact": { "name": "Анна", "phone": "+7 900 000-00-01", "email": null }, "fields": { "город": "Тверь" } })
    }

    async fn create(&self, key: &str, body: &Value) -> Result<(StatusCode, Value), reqwest::Error> {
        let url = format!("{}/tickets", self.world.crm_base_url());
        let request = self.http.post(url).bearer_auth("sandbox-secret").header("Idempotency-Key", format!("\"{key}\""));
        let response = request.json(body).send().await?;
        Ok((response.status(), response.json().await?))
    }

    async fn find(&self, external_id: &str) -> (StatusCode, Value) {
        let url = format!("{}/tickets?external_id={external_id}", self.world.crm_base_url());
        let response = self.http.get(url).bearer_auth("sandbox-secret").send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    async fn count(&self) -> u64 {
        self.get("/crm/tickets").await["count"].as_u64().unwrap()
    }

    async fn crm_fault(&self, rule: Value) -> Value {
        self.post("/crm/faults", rule).await
    }
}

#[tokio::test]
async fn a_typed_text_a_question_a_tap_and_its_answer() {
    let bench = Bench::start().await;
    let me = bench.bot("getMe", json!({})).await;
    assert_eq!(me["id"], 1_000_000_001);
    let acted = bench.post("/clients/101/text", json!({ "text": "/start форма" })).await;
    let updates = bench.updates(0).await;
    assert_eq!(updates.len(), 1);
    let message = &updates[0]["message"];
    assert_eq!(updates[0]["update_id"], acted["update_ids"][0]);
    assert_eq!(message["from"]["first_name"], "Анна");
    assert_eq!(message["chat"], json!({ "id": 101, "type": "private", "first_name": "Анна", "last_name": "Смирнова" }));
    assert_eq!(message["entities"], json!([{ "type": "bot_command", "offset": 0, "length": 6 }]));
    assert_eq!(message["date"], 1_796_030_962);

    let keyboard = json!({ "inline_keyboard": [[{ "text": "Отправить заявку", "callback_data": "s:1" }]] });
    let sent = bench.bot("sendMessage", json!({ "chat_id": 101, "text": "Сводка", "reply_markup": keyboard })).await;
    let next = updates[0]["update_id"].as_i64().unwrap() + 1;
    let tap = json!({ "message_id": sent["message_id"], "button": "Отправить заявку" });
    let tapped = bench.post("/clients/101/tap", tap).await;
    let updates = bench.updates(next).await;
    let query = &updates[0]["callback_query"];
    assert_eq!((&query["data"], &query["from"]["id"]), (&json!("s:1"), &json!(101)));
    assert_eq!(query["message"], sent);
    assert_eq!(query["id"], tapped["callback_id"]);

    bench.clock.advance(Duration::from_millis(300));
    bench.bot("answerCallbackQuery", json!({ "callback_query_id": query["id"], "text": "принято" })).await;
    let ack = &bench.get("/acks").await["acks"][0];
    assert_eq!((&ack["text"], &ack["outcome"]), (&json!("принято"), &json!("answered")));
    assert_eq!(ack["answered_at"].as_i64().unwrap() - ack["tapped_at"].as_i64().unwrap(), 300);

    let edit = json!({ "chat_id": 101, "message_id": sent["message_id"], "text": "Принято" });
    bench.bot("editMessageText", edit).await;
    let shown = &bench.get("/chats/101/messages").await["messages"][1];
    assert_eq!((&shown["text"], &shown["keyboard"]), (&json!("Принято"), &Value::Null));
    assert_eq!(shown["edits"][0]["text"], "Сводка");
    assert_eq!(shown["edits"][0]["keyboard"], json!([[{ "text": "Отправить заявку", "data": "s:1" }]]));
}

#[tokio::test]
async fn a_ticket_is_created_once_found_and_kept_to_the_letter() {
    let bench = Bench::start().await;
    let sent = Bench::ticket("k1");
    let (status, made) = bench.create("k1", &sent).await.unwrap();
    assert_eq!((status.as_u16(), &made["number"], &made["id"]), (201, &json!("1001"), &json!("t-1001")));
    assert_eq!(bench.create("k1", &sent).await.unwrap(), (StatusCode::OK, made.clone()));
    assert_eq!(bench.find("k1").await, (StatusCode::OK, json!({ "items": [made] })));
    assert_eq!(bench.find("k2").await, (StatusCode::OK, json!({ "items": [] })));
    let kept = &bench.get("/crm/tickets").await["tickets"][0];
    for field in ["external_id", "marker", "subject", "body", "contact", "fields"] {
        assert_eq!(kept[field], sent[field], "{field}");
    }
    assert_eq!(kept["key"], "k1");
}
