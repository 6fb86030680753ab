//! The sandbox over real HTTP: the emulator, the fake CRM, faults on order.

#![expect(clippy::unwrap_used, reason = "a test stops at its first surprise")]

mod control;
mod crm;
mod telegram;
mod webhook;

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
        Self::with(WorldOptions::default()).await
    }

    async fn with(options: WorldOptions) -> Self {
        let clock = ManualClock::at(Timestamp(1_796_030_962_000));
        let options = WorldOptions { listen: Listen::Free, clock: Arc::new(clock.clone()), ..options };
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

    async fn delete(&self, path: &str) -> Value {
        let (status, answer) = self.call(Method::DELETE, &format!("/sandbox{path}"), json!({})).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// A control act that is refused: status and words.
    async fn cannot(&self, path: &str, body: Value) -> (u16, String) {
        let (status, answer) = self.call(Method::POST, &format!("/sandbox{path}"), body).await;
        (status.as_u16(), answer["error"].as_str().unwrap_or_else(|| panic!("{path}: {answer}")).to_owned())
    }

    async fn calls(&self, server: &str) -> Vec<Value> {
        self.get(&format!("/{server}/log")).await["calls"].as_array().unwrap().clone()
    }

    /// Looks again after each change the world announces, until it is so.
    async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        let mut events = self.http.get(format!("{}/sandbox/events", self.world.api_url())).send().await.unwrap();
        while !is_so().await {
            let next = tokio::time::timeout(Duration::from_secs(10), events.chunk()).await;
            assert!(matches!(next, Ok(Ok(Some(_)))), "{what} did not come");
        }
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
