//! A form filled in once, and many lives from its tap on: each begins on a copy of the same stored state.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::Notify;
use zayavka::{
    app::{self, App},
    clock::{ManualClock, SeededDice, Timestamp},
    config::Config,
    inbox::poll::Poller,
    points::{Points, Watcher},
    sandbox::{Listen, World, WorldOptions},
};

use crate::databases::{self, Database, Kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    Keyed,
    Searchable,
    Blind,
}

/// What one run left behind, as read from outside.
#[derive(Debug, Clone)]
pub struct Life {
    pub promise: Promise,
    /// Points passed in the last life.
    pub points: usize,
    pub deaths: usize,
    pub tickets: usize,
    pub states: Vec<String>,
    /// The client's chat after the summary, as it reads at the end.
    pub texts: Vec<String>,
    pub numbers: Vec<String>,
    pub unfinished: u64,
}

impl Life {
    /// One tap: at most one ticket, none lost, no claim the CRM does not bear out, and a client who knows: two deaths in the
    /// sending of a status card leave it its third message.
    pub fn must_be_honest(&self, when: &str) {
        let [state] = self.states.as_slice() else { panic!("{when}: one operation expected: {self:?}") };
        assert!(self.tickets <= 1, "{when}: {} tickets for one tap: {self:?}", self.tickets);
        assert_eq!(self.unfinished, 0, "{when}: something is unfinished: {self:?}");
        let last = self.texts.last().map(String::as_str).unwrap_or_default();
        match state.as_str() {
            "created" => {
                assert_eq!(self.tickets, 1, "{when}: created without a ticket: {self:?}");
                let told = last.contains(&format!("№ {}", self.numbers[0]));
                assert!(told, "{when}: the client does not know: {self:?}");
            }
            // Only what nobody can find out by machine may stand before a human.
            "review" => {
                let lost_for_good = self.promise == Promise::Blind || self.tickets == 0;
                assert!(lost_for_good, "{when}: a human is asked what a look would tell: {self:?}");
                assert!(self.promise != Promise::Keyed, "{when}: a key settles it without a human: {self:?}");
                let told = last.contains("на проверке у сотрудника");
                assert!(told, "{when}: the client is not told: {self:?}");
            }
            other => panic!("{when}: ended in `{other}`: {self:?}"),
        }
        for text in &self.texts {
            let claims = text.contains("создана");
            assert!(
                !claims || self.numbers.iter().any(|number| text.contains(&format!("№ {number} "))),
                "{when}: {text}"
            );
        }
    }
}

/// Lets the process die at chosen points, one a life.
struct Reaper {
    at: Option<usize>,
    passed: AtomicUsize,
    died: Notify,
}

impl Watcher for Reaper {
    fn lives_past(&self, _point: &'static str) -> bool {
        let passed = self.passed.fetch_add(1, Ordering::SeqCst) + 1;
        let lives = self.at != Some(passed);
        if !lives {
            self.died.notify_one();
        }
        lives
    }
}

const START: Timestamp = Timestamp(1_796_000_000_000);
const CLIENT: i64 = 101;

/// A form filled in to its summary, stored, and ready to be copied.
pub struct Bench {
    promise: Promise,
    stored: Database,
    submit: String,
    message: i64,
    clock_at: Timestamp,
}

impl Bench {
    pub async fn prepare(kind: Kind, promise: Promise) -> Self {
        let stored = databases::make(kind).await;
        let clock = ManualClock::at(START);
        let world = world(&clock).await;
        let app = build(&world, &clock, promise, &stored.url, Points::default()).await;
        let mut poller = Poller::default();
        let client = Client { world: &world, http: reqwest::Client::builder().build().unwrap() };
        for act in [
            json!({"text": "/start"}),
            json!({"text": "Анна"}),
            json!({"text": "+7 999 123-45-67"}),
            json!({"tap": "Пропустить"}),
            json!({"tap": "Налоги"}),
            json!({"tap": "7 декабря, 10:00"}),
            json!({"tap": "Даю согласие"}),
        ] {
            client.act(&act).await;
            app.settle(&mut poller).await.unwrap();
        }
        let summary = client.messages().await.pop().unwrap();
        let submit = summary["keyboard"][0][0].clone();
        assert_eq!(submit["text"], "Отправить заявку", "{summary}");
        app.store.close().await;
        world.stop().await;
        Self {
            promise,
            stored,
            submit: submit["data"].as_str().unwrap().to_owned(),
            message: summary["message_id"].as_i64().unwrap(),
            clock_at: zayavka::clock::Clock::now(&clock),
        }
    }

    /// Takes the prepared database away.
    pub async fn end(self) {
        databases::remove(self.stored).await;
    }

    /// One tap, then one life after another, dying at the given points; the last life goes on to the end.
    pub async fn run(&self, deaths: &[usize], faults: &[&str]) -> Life {
        let copy = databases::copy(&self.stored).await;
        let clock = ManualClock::at(self.clock_at);
        let world = world(&clock).await;
        let client = Client { world: &world, http: reqwest::Client::builder().build().unwrap() };
        client.act(&json!({"text": "…"})).await;
        for fault in faults {
            client.post("/sandbox/crm/faults", &serde_json::from_str(fault).unwrap()).await;
        }
        client.post("/sandbox/updates/raw", &self.tap()).await;
        let mut died = 0;
        let mut lives = deaths.iter().copied().map(Some).chain([None]).collect::<Vec<_>>().into_iter();
        let points = loop {
            let at = lives.next().unwrap();
            let reaper = Arc::new(Reaper { at, passed: AtomicUsize::new(0), died: Notify::new() });
            let watched = Points::watched_by(Arc::clone(&reaper) as Arc<dyn Watcher>);
            let app = build(&world, &clock, self.promise, &copy.url, watched).await;
            tokio::select! {
                () = finish(&app, &clock) => {
                    let points = reaper.passed.load(Ordering::SeqCst);
                    let life = self.read(&client, &app, points, died).await;
                    app.store.close().await;
                    world.stop().await;
                    databases::remove(copy).await;
                    return life;
                }
                () = reaper.died.notified() => {
                    died += 1;
                    // Everything of that life is dropped here: no line of it runs any more.
                    drop(app);
                }
            }
            if at.is_none() {
                break reaper.passed.load(Ordering::SeqCst);
            }
        };
        unreachable!("a life without a death ends by finishing, after {points} points")
    }

    fn tap(&self) -> Value {
        json!({"callback_query": {
            "id": "4382bfdwdsb323b2d9", "chat_instance": "1",
            "from": {"id": CLIENT, "is_bot": false, "first_name": "Анна", "language_code": "ru"},
            "message": {"message_id": self.message, "date": 0, "chat": {"id": CLIENT, "type": "private"}},
            "data": self.submit,
        }})
    }

    async fn read(&self, client: &Client<'_>, app: &App, points: usize, deaths: usize) -> Life {
        use zayavka::store::{inbox, operations, outbox};
        let reader = app.store.reader();
        let tickets = client.get("/sandbox/crm/tickets").await;
        let states = operations::count_by_state(reader).await.unwrap();
        let open = inbox::open_rows(reader).await.unwrap();
        let unsaid = outbox::count_open(reader, app.config.telegram.bot_id).await.unwrap();
        Life {
            promise: self.promise,
            points,
            deaths,
            tickets: usize::try_from(tickets["count"].as_u64().unwrap()).unwrap(),
            states: states.iter().flat_map(|(state, n)| vec![state.clone(); usize::try_from(*n).unwrap()]).collect(),
            texts: client
                .messages()
                .await
                .iter()
                .filter(|m| m["from"]["bot"] == true)
                .map(|m| m["text"].as_str().unwrap().to_owned())
                .collect(),
            numbers: tickets["tickets"]
                .as_array()
                .unwrap()
                .iter()
                .map(|t| t["number"].as_str().unwrap().to_owned())
                .collect(),
            unfinished: open + unsaid,
        }
    }
}

/// Moves the clock from one due moment to the next until nothing is left to do; the look-out for late twins, hours
/// long, is not waited for.
async fn finish(app: &App, clock: &ManualClock) {
    let mut poller = Poller::default();
    for _ in 0..300 {
        app.settle(&mut poller).await.unwrap();
        let now = zayavka::clock::Clock::now(clock);
        match app.next_moment().await.unwrap() {
            Some(moment) if moment < now.plus(Duration::from_secs(600)) => clock.set(moment),
            _ => return,
        }
    }
    panic!("something goes on and on");
}

struct Client<'w> {
    world: &'w World,
    http: reqwest::Client,
}

impl Client<'_> {
    async fn act(&self, act: &Value) {
        let path = format!("/sandbox/clients/{CLIENT}");
        if let Some(label) = act["tap"].as_str() {
            let message = self.messages().await.pop().unwrap()["message_id"].clone();
            self.post(&format!("{path}/tap"), &json!({"message_id": message, "button": label})).await;
        } else {
            self.post(&format!("{path}/text"), act).await;
        }
    }

    async fn messages(&self) -> Vec<Value> {
        let chat = self.get(&format!("/sandbox/chats/{CLIENT}/messages")).await;
        chat["messages"].as_array().unwrap().clone()
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("http://{}{path}", self.world.addr());
        let answer = self.http.post(url).json(body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    async fn get(&self, path: &str) -> Value {
        let url = format!("http://{}{path}", self.world.addr());
        self.http.get(url).send().await.unwrap().json().await.unwrap()
    }
}

async fn world(clock: &ManualClock) -> World {
    let options = WorldOptions { listen: Listen::Free, clock: Arc::new(clock.clone()), ..WorldOptions::default() };
    World::start(options).await.unwrap()
}

async fn build(world: &World, clock: &ManualClock, promise: Promise, url: &str, points: Points) -> App {
    let profile = match promise {
        Promise::Keyed => "generic-keyed",
        Promise::Searchable => "generic-searchable",
        Promise::Blind => "generic-blind",
    };
    let text = format!(
        r#"
[telegram]
token = "{}"
api_url = "{}"
request_timeout = "5s"
[staff]
chat = {}
owners = [9001]
[pace]
per_chat = 1000
burst = 1000
group = 1000
overall = 1000

[database]
url = "{url}"
[crm]
profile = "{profile}"
request_timeout = "4s"
lease = "8s"
[crm.vars]
base_url = "{}"
[crm.secrets]
token = "{}"
[crm.reconcile]
settle = "10s"
looks = 2
spacing = "3s"
look_patience = "60s"
watch = "3h"
[templates]
dir = "{}"
"#,
        world.token(),
        world.api_url(),
        world.staff_chat(),
        world.crm_base_url(),
        world.crm_token(),
        PathBuf::from("no-such-folder").display(),
    );
    let config = Config::parse("crash.toml", &text, &BTreeMap::new()).unwrap_or_else(|p| panic!("{p}"));
    let checked = app::check(&config).unwrap_or_else(|p| panic!("{p}"));
    let dice = Arc::new(SeededDice::new(7));
    App::build_watched(config, checked, Arc::new(clock.clone()), dice, points).await.unwrap()
}
