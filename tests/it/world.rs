//! The whole product and the outside world, in a test's hand: the sandbox over real HTTP, the real service on a real
//! database, turned step by step, and one clock for both. A test speaks in acts of people and reads what they see.
//!
//! A test ends with [`World::finish`], which fails while work is unfinished, while the CRM holds two tickets under one
//! key, and when somebody was told a number that the CRM does not have.

mod acts;
mod end;
mod look;
mod options;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;
use zayavka::{
    app::{self, App},
    clock::{Clock as _, ManualClock, SeededDice, Timestamp},
    config::{Config, overlay},
    ids::BotId,
    inbox::poll::Poller,
    points::{Points, Watcher},
    sandbox::{self, Listen, WorldOptions},
};

pub(crate) use self::{
    acts::SUBMIT,
    options::{Options, Promise},
};
use crate::databases::Database;

/// Two clients.
pub(crate) const ANNA: i64 = 101;
pub(crate) const BORIS: i64 = 102;
/// The staff: an owner, a reviewer, a viewer.
pub(crate) const OWNER: i64 = 9001;
pub(crate) const REVIEWER: i64 = 9002;
pub(crate) const VIEWER: i64 = 9003;
/// The staff's group.
pub(crate) const STAFF: i64 = -1_001_000_000_001;
/// The bot.
pub(crate) const BOT: BotId = BotId(1_000_000_001);

/// More moments than anything takes to come to rest.
const MOST_MOMENTS: usize = 5_000;

/// The outside world, the service, and what the test has to know of both.
pub(crate) struct World {
    outside: sandbox::World,
    pub(crate) clock: ManualClock,
    http: Client,
    pub(crate) database: Database,
    pub(crate) options: Options,
    templates: TempDir,
    service: Option<Service>,
    /// Starts so far: each process has dice of its own.
    starts: u64,
    death: Arc<Death>,
    end: end::Allowed,
}

/// One process of the service.
pub(crate) struct Service {
    pub(crate) app: App,
    pub(crate) poller: Poller,
}

/// Where the process is to die, if it is.
#[derive(Default)]
struct Death {
    at: std::sync::Mutex<Option<(&'static str, usize)>>,
    came: Notify,
    /// Every point passed since they were last forgotten.
    passed: std::sync::Mutex<Vec<&'static str>>,
    /// Every statement the database was asked since they were last forgotten.
    asked: std::sync::Mutex<Vec<String>>,
}

impl Watcher for Death {
    fn lives_past(&self, point: &'static str) -> bool {
        self.passed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(point);
        let mut at = self.at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match at.as_mut() {
            Some((name, left)) if *name == point || *name == "*" => {
                *left = left.saturating_sub(1);
                let lives = *left > 0;
                if !lives {
                    self.came.notify_one();
                }
                lives
            }
            _ => true,
        }
    }

    fn asked(&self, statement: &str) {
        self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(statement.to_owned());
    }
}

impl World {
    /// A world with a CRM that can be searched, and the sample form.
    pub(crate) async fn new(database: Database) -> Self {
        Self::with(database, Options::searchable()).await
    }

    /// A world as the options say.
    pub(crate) async fn with(database: Database, options: Options) -> Self {
        let clock = ManualClock::at(Timestamp(1_796_030_962_000));
        let outside = sandbox::World::start(WorldOptions {
            listen: Listen::Free,
            clock: Arc::new(clock.clone()),
            staff_chat: STAFF,
            ..WorldOptions::default()
        })
        .await
        .unwrap_or_else(|error| panic!("no world: {error}"));
        let http = Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(Duration::from_secs(20)).build();
        let templates = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let mut world = Self {
            outside,
            clock,
            http: http.unwrap_or_else(|error| panic!("no client: {error}")),
            database,
            options,
            templates,
            service: None,
            starts: 0,
            death: Arc::default(),
            end: end::Allowed::default(),
        };
        world.post("/crm/options", world.options.crm()).await;
        world.write_form();
        world.start().await;
        world
    }

    /// Starts the service on the database as it is.
    pub(crate) async fn start(&mut self) {
        assert!(self.service.is_none(), "the service runs already");
        self.death = Arc::default();
        self.service = Some(self.build().await);
    }

    /// Ends the service where it stands.
    pub(crate) fn stop(&mut self) {
        self.service = None;
    }

    /// Ends the service where it stands and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.service = None;
        self.start().await;
    }

    /// Lets the process die when it reaches a point for the n-th time from now; `*` counts every point. The next act
    /// that gets there ends without the service; [`World::start`] starts a new one.
    pub(crate) fn kill_at(&self, point: &'static str, nth: usize) {
        *self.death.at.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((point, nth));
    }

    /// Takes the order to die back.
    pub(crate) fn lives_on(&self) {
        *self.death.at.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    /// Forgets which points were passed.
    pub(crate) fn forget_points(&self) {
        self.death.passed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    }

    /// The points passed since they were forgotten, in order.
    pub(crate) fn points(&self) -> Vec<&'static str> {
        self.death.passed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// The statements the database was asked since the last call, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.death.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// The service's parts, for a test that runs them itself; it starts another one afterwards.
    pub(crate) fn take_app(&mut self) -> App {
        self.service.take().unwrap_or_else(|| panic!("the service does not run")).app
    }

    /// Takes in what waits at Telegram, without handling it.
    pub(crate) async fn take_in(&mut self) -> Vec<zayavka::store::inbox::Claimed> {
        let service = self.service.as_mut().unwrap_or_else(|| panic!("the service does not run"));
        service.app.take_in(&mut service.poller).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Whether the service runs.
    pub(crate) fn is_alive(&self) -> bool {
        self.service.is_some()
    }

    /// The bot's token.
    pub(crate) fn token(&self) -> &str {
        self.outside.token()
    }

    /// Another process on the same database.
    pub(crate) async fn replica(&mut self) -> Service {
        self.build().await
    }

    /// The running service.
    pub(crate) fn app(&self) -> &App {
        self.service.as_ref().map(|service| &service.app).unwrap_or_else(|| panic!("the service does not run"))
    }

    async fn build(&mut self) -> Service {
        self.starts += 1;
        let text = self.options.config(&self.outside, &self.database.url, self.templates.path());
        let over = self.options.settings.iter();
        let env: BTreeMap<_, _> = over.map(|(path, value)| (overlay::variable(path), value.clone())).collect();
        let config = Config::parse("zayavka.toml", &text, &env).unwrap_or_else(|problems| panic!("{problems}"));
        let checked = app::check(&config).unwrap_or_else(|problems| panic!("{problems}"));
        let (clock, dice) = (Arc::new(self.clock.clone()), Arc::new(SeededDice::new(self.starts)));
        let points = Points::watched_by(Arc::clone(&self.death) as Arc<dyn Watcher>);
        let app = App::build_watched(config, checked, clock, dice, points).await;
        Service { app: app.unwrap_or_else(|error| panic!("{error}")), poller: Poller::default() }
    }

    /// Puts another form in the place of the one the service began with; a restart takes it up.
    pub(crate) fn change_form(&mut self, change: impl FnOnce(String) -> String) {
        let form = self.options.form.clone();
        self.options.form = change(form.clone());
        assert_ne!(form, self.options.form, "the form did not change");
        self.write_form();
    }

    fn write_form(&self) {
        let folder = self.templates.path().join("forms");
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join("consultation.toml"), &self.options.form))
            .unwrap_or_else(|error| panic!("the form cannot be written: {error}"));
    }

    /// Turns the service until nothing moves at this moment, or until it dies.
    pub(crate) async fn settle(&mut self) {
        let Some(service) = self.service.as_mut() else { return };
        let died = tokio::select! {
            biased;
            () = self.death.came.notified() => true,
            settled = service.app.settle(&mut service.poller) => {
                settled.unwrap_or_else(|error| panic!("{error}"));
                false
            }
        };
        if died {
            self.service = None;
        }
    }

    /// Turns the service and lets it die in the middle, as soon as something is so in the world outside.
    pub(crate) async fn dies_when(&mut self, what: &str, is_so: impl AsyncFnMut(&Self) -> bool) {
        let Service { app, mut poller } = self.service.take().unwrap_or_else(|| panic!("the service does not run"));
        tokio::select! {
            settled = app.settle(&mut poller) => panic!("it came to rest before: {what}: {settled:?}"),
            () = self.until(what, is_so) => {}
        }
    }

    /// Jumps the clock and turns.
    pub(crate) async fn advance(&mut self, by: Duration) {
        self.clock.advance(by);
        self.settle().await;
    }

    /// Lets time pass as it does: from one moment at which something falls due to the next, to the end.
    pub(crate) async fn pass(&mut self, by: Duration) {
        let end = self.clock.now().plus(by);
        self.settle().await;
        for _ in 0..MOST_MOMENTS {
            let next = self.next_moment().await.filter(|next| *next <= end && self.service.is_some());
            self.clock.set(next.unwrap_or(end));
            self.settle().await;
            if next.is_none() {
                return;
            }
        }
        panic!("something falls due again and again");
    }

    /// Calls the world's own address.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        let url = format!("{}{path}", self.outside.api_url());
        let answer = self.http.request(method, url).json(&body).send().await;
        let answer = answer.unwrap_or_else(|error| panic!("{path}: {error}"));
        let status = answer.status();
        (status, answer.json().await.unwrap_or(Value::Null))
    }

    /// A control act that succeeds.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(Method::POST, &format!("/sandbox{path}"), body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.call(Method::GET, &format!("/sandbox{path}"), json!({})).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Orders a fault: a route is the CRM's, a method is Telegram's.
    pub(crate) async fn fault(&self, rule: Value) {
        let server = if rule["on"].as_str().is_some_and(|on| on.contains('/')) { "crm" } else { "telegram" };
        self.post(&format!("/{server}/faults"), rule).await;
    }

    /// Takes all faults back.
    pub(crate) async fn mend(&self) {
        for server in ["crm", "telegram"] {
            self.call(Method::DELETE, &format!("/sandbox/{server}/faults"), json!({})).await;
        }
    }

    /// Closes the CRM's listener, or opens it again.
    pub(crate) async fn crm_down(&self, down: bool) {
        self.post("/crm/down", json!({ "down": down })).await;
    }
}
