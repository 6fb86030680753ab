//! The service as it really runs, its loops on the machine's clock, against the sandbox's Telegram and CRM. Tests wait
//! for what they want to see; nothing here waits for a length of time.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;
use zayavka::{
    app::{
        self, App,
        lifecycle::{self, Ending},
    },
    clock::{SystemClock, SystemDice},
    config::Config,
    sandbox::{Listen, World, WorldOptions},
};

pub(super) const SECRET: &str = "s3cret_for-tests";
pub(super) const PATH: &str = "/:telegram/*bot";
pub(super) const ANNA: i64 = 101;

/// More than anything a test waits for takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// One question, so that a test comes to the summary at once.
const FORM: &str = r#"
id = "consultation"
title = "Консультация"
[[field]]
id = "name"
kind = "text"
ask = "Как к вам обращаться?"
[ticket]
subject = "{{ answers.name }}"
body = "{{ summary }}"
"#;

/// How updates come to the service under test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Polling,
    Webhook,
    /// By a webhook that somebody else sets.
    ForeignHand,
}

/// The outside world and a place for the service.
pub(super) struct Bench {
    pub(super) world: World,
    pub(super) http: Client,
    folder: TempDir,
    service: Option<Service>,
}

struct Service {
    at: SocketAddr,
    stop: CancellationToken,
    ending: JoinSet<Ending>,
}

impl Bench {
    /// The world alone.
    pub(super) async fn new() -> Self {
        let world = World::start(WorldOptions { listen: Listen::Free, ..WorldOptions::default() }).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let forms = folder.path().join("templates/forms");
        std::fs::create_dir_all(&forms).unwrap();
        std::fs::write(forms.join("consultation.toml"), FORM).unwrap();
        // No idle connections: a test must see what becomes of each.
        let http = Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(PATIENCE).build().unwrap();
        Self { world, http, folder, service: None }
    }

    /// The world and the service.
    pub(super) async fn start(by: By) -> Self {
        let mut bench = Self::new().await;
        bench.run(by).await;
        bench
    }

    /// A configuration for a service that listens at `at`.
    pub(super) fn config(&self, by: By, at: SocketAddr, secret: &str) -> String {
        let (world, folder) = (&self.world, self.folder.path().display());
        let receive = if by == By::Polling { "polling" } else { "webhook" };
        let register = by == By::Webhook;
        format!(
            r#"
[telegram]
token = "{token}"
api_url = "{api}"
request_timeout = "5s"
receive = "{receive}"
[telegram.webhook]
url = "http://{at}{PATH}"
secret_token = "{secret}"
register = {register}
[pace]
per_chat = 1000
burst = 1000
group = 1000
overall = 1000

[database]
url = "sqlite://{folder}/zayavka.db"
[crm]
profile = "generic-searchable"
request_timeout = "3s"
lease = "6s"
[crm.vars]
base_url = "{crm}"
[crm.secrets]
token = "{crm_token}"
[templates]
dir = "{folder}/templates"
[web]
listen = "{at}"
"#,
            token = world.token(),
            api = world.api_url(),
            crm = world.crm_base_url(),
            crm_token = world.crm_token(),
        )
    }

    /// The service's parts, not running.
    pub(super) async fn build(&self, by: By, at: SocketAddr) -> App {
        let config = Config::parse("zayavka.toml", &self.config(by, at, SECRET), &BTreeMap::new());
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let checked = app::check(&config).unwrap_or_else(|problems| panic!("{problems}"));
        App::build(config, checked, Arc::new(SystemClock), Arc::new(SystemDice)).await.unwrap()
    }

    /// Starts the service as it really runs.
    pub(super) async fn run(&mut self, by: By) {
        self.run_as(by, false).await;
    }

    /// The same; an operator may want what waits at Telegram dropped.
    pub(super) async fn run_as(&mut self, by: By, drop_waiting: bool) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let app = App { drop_waiting, ..self.build(by, at).await };
        let stop = CancellationToken::new();
        let mut ending = JoinSet::new();
        ending.spawn(lifecycle::run_at(app, listener, stop.clone()));
        self.service = Some(Service { at, stop, ending });
    }

    /// Asks the service to drain.
    pub(super) fn drain(&self) {
        self.service.as_ref().unwrap().stop.cancel();
    }

    /// Waits until the service has ended.
    pub(super) async fn ended(&mut self) -> Ending {
        let mut service = self.service.take().unwrap();
        service.stop.cancel();
        timeout(PATIENCE, service.ending.join_next()).await.unwrap().unwrap().unwrap()
    }

    pub(super) fn at(&self) -> SocketAddr {
        self.service.as_ref().unwrap().at
    }

    pub(super) fn hook(&self) -> String {
        format!("http://{}{PATH}", self.at())
    }

    pub(super) async fn get(&self, path: &str) -> Response {
        self.http.get(format!("http://{}{path}", self.at())).send().await.unwrap()
    }

    /// Brings a body to the webhook, as Telegram does.
    pub(super) async fn bring(&self, body: impl Into<reqwest::Body>) -> Response {
        let request = self.http.post(self.hook()).header("X-Telegram-Bot-Api-Secret-Token", SECRET);
        request.body(body).send().await.unwrap()
    }

    /// Status, reasons and warnings of readiness.
    pub(super) async fn ready(&self) -> (StatusCode, Vec<String>, Vec<String>) {
        let response = self.get("/health/ready").await;
        let status = response.status();
        let told: Value = response.json().await.unwrap();
        let lines = |key: &str| -> Vec<String> { serde_json::from_value(told[key].clone()).unwrap() };
        assert_eq!(told["ready"], status == 200);
        assert_eq!(lines("reasons").is_empty(), status == 200, "{told}");
        (status, lines("reasons"), lines("warnings"))
    }

    /// Waits until readiness says so.
    pub(super) async fn until_ready(&self, is_so: impl Fn(StatusCode, &[String], &[String]) -> bool) {
        let last = Mutex::new(String::new());
        let asked = async {
            let mut again = tokio::time::interval(Duration::from_millis(20));
            loop {
                again.tick().await;
                let told = self.ready().await;
                *last.lock().unwrap() = format!("{told:?}");
                if is_so(told.0, &told.1, &told.2) {
                    return;
                }
            }
        };
        assert!(timeout(PATIENCE, asked).await.is_ok(), "readiness stays {}", last.lock().unwrap());
    }

    /// A number on the page of metrics.
    pub(super) async fn metric(&self, line: &str) -> f64 {
        let page = self.get("/metrics").await.text().await.unwrap();
        let found = page.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("{line} is not in\n{page}")).parse().unwrap()
    }

    /// The sandbox's control.
    pub(super) async fn sandbox(&self, method: Method, path: &str, body: Value) -> Value {
        let url = format!("{}/sandbox{path}", self.world.api_url());
        let response = self.http.request(method, url).json(&body).send().await.unwrap();
        let status = response.status();
        let answer: Value = response.json().await.unwrap();
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// What a Bot API call is answered, as anybody with the token makes it.
    pub(super) async fn asked(&self, method: &str, params: Value) -> Value {
        let url = format!("{}/bot{}/{method}", self.world.api_url(), self.world.token());
        self.http.post(url).json(&params).send().await.unwrap().json().await.unwrap()
    }

    /// A Bot API call that goes well.
    pub(super) async fn bot(&self, method: &str, params: Value) -> Value {
        let answer = self.asked(method, params).await;
        assert_eq!(answer["ok"], true, "{method}: {answer}");
        answer["result"].clone()
    }

    /// Looks again after each change the world announces, until it is so.
    pub(super) async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let mut events = self.http.get(format!("{}/sandbox/events", self.world.api_url())).send().await.unwrap();
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            let next = timeout(PATIENCE, events.chunk()).await;
            assert!(matches!(next, Ok(Ok(Some(_)))), "{what} did not come");
        }
    }

    pub(super) async fn type_text(&self, text: &str) -> Value {
        self.sandbox(Method::POST, &format!("/clients/{ANNA}/text"), json!({ "text": text })).await
    }

    pub(super) async fn tap(&self, message: i64, button: &str) -> Value {
        let act = json!({ "message_id": message, "button": button });
        self.sandbox(Method::POST, &format!("/clients/{ANNA}/tap"), act).await
    }

    /// Waits for a message of the bot that holds these words; its number.
    pub(super) async fn said(&self, words: &str) -> i64 {
        self.until(words, async || {
            let chat = self.sandbox(Method::GET, &format!("/chats/{ANNA}/messages"), json!({})).await;
            let messages = chat["messages"].as_array().unwrap();
            let found = messages.iter().rev().find(|message| {
                message["from"]["bot"] == true && message["text"].as_str().is_some_and(|text| text.contains(words))
            });
            found.map(|message| message["message_id"].as_i64().unwrap())
        })
        .await
    }

    /// Waits until the CRM holds a ticket; how many it holds.
    pub(super) async fn tickets(&self) -> u64 {
        self.until("a ticket", async || {
            let tickets = self.sandbox(Method::GET, "/crm/tickets", json!({})).await;
            tickets["count"].as_u64().filter(|count| *count > 0)
        })
        .await
    }

    /// Waits for the answers of these taps; their words.
    pub(super) async fn answers(&self, taps: &[&Value]) -> Vec<String> {
        self.until("the taps' answers", async || {
            let acks = self.sandbox(Method::GET, "/acks", json!({})).await;
            let acks = acks["acks"].as_array().unwrap();
            let words = taps.iter().map(|tap| {
                let ack = acks.iter().find(|ack| ack["callback_id"] == tap["callback_id"])?;
                (ack["outcome"] == "answered").then(|| ack["text"].as_str().unwrap().to_owned())
            });
            words.collect()
        })
        .await
    }

    /// Waits until Telegram has nothing more to bring.
    pub(super) async fn until_brought(&self) {
        self.until("an empty queue", async || {
            let state = self.sandbox(Method::GET, "/state", json!({})).await;
            (state["pending_updates"] == 0).then_some(())
        })
        .await;
    }
}
