//! Several real processes on one PostgreSQL: they start at once, freeze, lose their connections, and meet a database that was
//! restarted. Each can stand in for the others, and the CRM sees one of them.

#![expect(clippy::unwrap_used, reason = "a test stops at its first surprise")]

mod pooler;
mod server;

use std::{process::Stdio, sync::Arc, time::Duration};

use reqwest::{Client, Method};
use sea_orm::{ConnectionTrait as _, EntityTrait as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    sync::Notify,
    time::timeout,
};
use zayavka::{
    clock::{ManualClock, Timestamp},
    ids::BotId,
    inbox::turn::{LEASE, PROLONG, Turn},
    points::Points,
    sandbox::{Listen, World, WorldOptions},
    store::{Store, StoreError, entity::leases, settings},
};

use crate::databases::{self, Database, Kind};

const PATIENCE: Duration = Duration::from_secs(60);
const SUBMIT: &str = "Отправить заявку";

const FORM: &str = r#"
id = "short"
title = "Коротко"
[[field]]
id = "name"
kind = "text"
ask = "Как к вам обращаться?"
[ticket]
subject = "{{ answers.name }}"
body = "{{ summary }}"
"#;

struct Fleet {
    world: World,
    http: Client,
    url: String,
    folder: TempDir,
    ships: Vec<Ship>,
}

struct Ship {
    child: Child,
    at: String,
}

impl Fleet {
    async fn new(url: &str) -> Self {
        let world = World::start(WorldOptions { listen: Listen::Free, ..WorldOptions::default() }).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("templates/forms")).unwrap();
        std::fs::write(folder.path().join("templates/forms/short.toml"), FORM).unwrap();
        let http = Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(PATIENCE).build().unwrap();
        Self { world, http, url: url.to_owned(), folder, ships: Vec::new() }
    }

    fn launch(&mut self) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        drop(listener);
        let (world, n) = (&self.world, self.ships.len());
        let config = format!(
            r#"
[telegram]
token = "{token}"
api_url = "{api}"
request_timeout = "5s"
[database]
url = "{url}"
[crm]
profile = "generic-searchable"
request_timeout = "2s"
lease = "4s"
[crm.vars]
base_url = "{crm}"
[crm.secrets]
token = "{crm_token}"
[templates]
dir = "{dir}/templates"
[web]
listen = "{at}"
[log]
filter = "error"
"#,
            token = world.token(),
            api = world.api_url(),
            url = self.url,
            crm = world.crm_base_url(),
            crm_token = world.crm_token(),
            dir = self.folder.path().display(),
        );
        let file = self.folder.path().join(format!("{n}.toml"));
        std::fs::write(&file, config).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_zayavka"))
            .args(["run", "--stop-with-parent", "--config"])
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        self.ships.push(Ship { child, at });
    }

    fn signal(&self, ship: usize, name: &str) {
        let pid = self.ships[ship].child.id().unwrap().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap();
        assert!(sent.success());
    }

    async fn until_all_ready(&self) {
        for ship in &self.ships {
            let ready = async {
                let mut again = tokio::time::interval(Duration::from_millis(50));
                loop {
                    again.tick().await;
                    let asked = self.http.get(format!("http://{}/health/ready", ship.at)).send().await;
                    if asked.is_ok_and(|answer| answer.status() == 200) {
                        return;
                    }
                }
            };
            assert!(timeout(PATIENCE, ready).await.is_ok(), "{} is not ready", ship.at);
        }
    }

    async fn sandbox(&self, method: Method, path: &str, body: Value) -> Value {
        let url = format!("{}/sandbox{path}", self.world.api_url());
        let response = self.http.request(method, url).json(&body).send().await.unwrap();
        assert!(response.status().is_success() || response.status() == 404, "{path}: {}", response.status());
        response.json().await.unwrap_or_default()
    }

    /// Looks again after each change the world announces, until it is so.
    async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let mut events = self.http.get(format!("{}/sandbox/events", self.world.api_url())).send().await.unwrap();
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            let next = timeout(PATIENCE, events.chunk()).await;
            assert!(matches!(next, Ok(Ok(Some(_)))), "{what} did not come");
        }
    }

    async fn said(&self, user: i64, words: &str) -> i64 {
        self.until(words, async || {
            let chat = self.sandbox(Method::GET, &format!("/chats/{user}/messages"), json!({})).await;
            let messages = chat["messages"].as_array().cloned().unwrap_or_default();
            messages.iter().rev().find_map(|message| {
                let shown = message.to_string();
                (message["from"]["bot"] == true && shown.contains(words))
                    .then(|| message["message_id"].as_i64().unwrap())
            })
        })
        .await
    }

    /// One person goes from the first word to the number.
    async fn serves(&self, user: i64) {
        self.sandbox(Method::POST, &format!("/clients/{user}/text"), json!({ "text": "/start" })).await;
        self.said(user, "Как к вам обращаться?").await;
        self.sandbox(Method::POST, &format!("/clients/{user}/text"), json!({ "text": "Имя" })).await;
        let summary = self.said(user, SUBMIT).await;
        for _ in 0..3 {
            let tap = json!({ "message_id": summary, "button": SUBMIT });
            self.sandbox(Method::POST, &format!("/clients/{user}/tap"), tap).await;
        }
        self.said(user, "№").await;
    }

    async fn tickets(&self) -> usize {
        self.sandbox(Method::GET, "/crm/tickets", json!({})).await["tickets"].as_array().unwrap().len()
    }

    /// The process that has the turn to poll.
    async fn polling(&self, store: &Store) -> usize {
        let rows = leases::Entity::find().all(store.reader()).await.unwrap();
        let holder =
            rows.iter().find(|lease| lease.name.starts_with("poller:")).map(|lease| lease.holder.clone()).unwrap();
        let pid = holder.split_once('-').unwrap().0.to_owned();
        self.ships.iter().position(|ship| ship.child.id().unwrap().to_string() == pid).unwrap()
    }
}

/// A PostgreSQL database for a test's own processes.
async fn on_postgres<F: Future<Output = ()>>(body: impl FnOnce(Database) -> F) {
    databases::run(Kind::Postgres, body).await;
}

#[tokio::test]
async fn three_start_at_once_on_an_empty_database_and_serve_while_one_freezes() {
    on_postgres(|db| async move {
        // Whole: its folder goes with it.
        let db = db;
        let mut fleet = Fleet::new(&db.url).await;
        for _ in 0..3 {
            fleet.launch();
        }
        fleet.until_all_ready().await;
        fleet.serves(101).await;
        let store = Store::connect(&db.url).await.unwrap();
        let frozen = fleet.polling(&store).await;
        fleet.signal(frozen, "STOP");
        // Another takes over once its turn has ended; nothing is lost meanwhile.
        fleet.serves(102).await;
        let now = fleet.polling(&store).await;
        assert_ne!(now, frozen);
        fleet.signal(frozen, "CONT");
        fleet.serves(103).await;
        assert_eq!(fleet.polling(&store).await, now, "who was frozen stands by");
        assert_eq!(fleet.tickets().await, 3);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn who_stands_by_looks_when_the_turn_of_a_dead_replica_ends() {
    on_postgres(|db| async move {
        // Whole: its folder goes with it.
        let db = db;
        let store = Store::connect(&db.url).await.unwrap();
        store.migrate().await.unwrap();
        let clock = ManualClock::at(Timestamp(1_796_030_962_000));
        let turn = |holder: &str| Turn::new(store.clone(), BotId(1), holder.to_owned(), Arc::new(clock.clone()));
        let (dead, stands_by) = (turn("dead"), turn("stands by"));
        assert!(dead.take().await.unwrap());
        let mut waited = Duration::ZERO;
        while !stands_by.take().await.unwrap() {
            let pause = stands_by.look_again_in().await;
            assert!(pause <= PROLONG, "a turn that is given back is noticed before its end: {pause:?}");
            // Looks that do not fall together with the end.
            let pause = if waited.is_zero() { pause / 2 } else { pause };
            clock.advance(pause);
            waited += pause;
        }
        assert_eq!(waited, LEASE);
        assert!(!dead.take().await.unwrap(), "one at a time");
        stands_by.give_back().await;
        assert!(dead.look_again_in().await < Duration::from_secs(1));
        assert!(dead.take().await.unwrap());
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn lost_connections_and_a_killed_replica_lose_nothing() {
    on_postgres(|db| async move {
        // Whole: its folder goes with it.
        let db = db;
        let mut fleet = Fleet::new(&db.url).await;
        fleet.launch();
        fleet.launch();
        fleet.until_all_ready().await;
        fleet.serves(101).await;
        let store = Store::connect(&db.url).await.unwrap();
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        for user in 102..106 {
            // Our own other connections may be among them.
            drop(store.reader().execute_unprepared(cut).await);
            fleet.serves(user).await;
        }
        let polling = fleet.polling(&store).await;
        fleet.signal(polling, "KILL");
        fleet.serves(106).await;
        assert_eq!(fleet.tickets().await, 6);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn replicas_meet_a_restarted_database() {
    // A server of its own: nobody else may be restarted with it.
    let mut server = server::Server::start();
    let mut fleet = Fleet::new(server.url()).await;
    fleet.launch();
    fleet.launch();
    fleet.until_all_ready().await;
    fleet.serves(101).await;
    server.restart("QUIT");
    fleet.serves(102).await;
    server.restart("INT");
    fleet.serves(103).await;
    assert_eq!(fleet.tickets().await, 3);
}

#[tokio::test]
async fn three_processes_migrate_at_once() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        databases::run(kind, |db| async move {
            // Whole: its folder goes with it.
            let db = db;
            let migrate = async || {
                let store = Store::connect_as(&db.url, None, Points::default()).await.unwrap();
                store.migrate().await.unwrap();
                assert_eq!(store.pending_migrations().await.unwrap(), [""; 0]);
                store
            };
            let stores = tokio::join!(migrate(), migrate(), migrate());
            for store in [stores.0, stores.1, stores.2] {
                store.ping().await.unwrap();
                store.close().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_replica_hears_of_anothers_commits_and_not_of_its_own() {
    on_postgres(|db| async move {
        // Whole: its folder goes with it.
        let db = db;
        let (one, two) = (Store::connect(&db.url).await.unwrap(), Store::connect(&db.url).await.unwrap());
        one.migrate().await.unwrap();
        let (tell_one, mut one_heard) = tokio::sync::mpsc::unbounded_channel();
        let (tell_two, mut two_heard) = tokio::sync::mpsc::unbounded_channel();
        let write = async || {
            one.write(|tx| async move { settings::set(tx.as_ref(), "x", "y", Timestamp(1)).await }).await.unwrap();
        };
        let play = async {
            // Each looks once when it begins to listen.
            for heard in [&mut one_heard, &mut two_heard] {
                timeout(PATIENCE, heard.recv()).await.unwrap().unwrap();
            }
            write().await;
            timeout(PATIENCE, two_heard.recv()).await.unwrap().unwrap();
            for _ in 0..50 {
                write().await;
            }
            timeout(PATIENCE, two_heard.recv()).await.unwrap().unwrap();
            assert!(two_heard.len() < 25, "many commits share a call: {}", two_heard.len());
            assert!(one_heard.is_empty(), "its own commits are no news to it");
        };
        tokio::select! {
            () = one.call_others("one") => {}
            () = one.hear_others(Some(&db.url), "one", || tell_one.send(()).unwrap()) => {}
            () = two.hear_others(Some(&db.url), "two", || tell_two.send(()).unwrap()) => {}
            () = play => {}
        }
        one.close().await;
        two.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_second_process_on_a_sqlite_file_waits_and_reads_on() {
    databases::run(Kind::Sqlite, |db| async move {
        // Whole: its folder goes with it.
        let db = db;
        let (one, two) = (Store::connect(&db.url).await.unwrap(), Store::connect(&db.url).await.unwrap());
        one.migrate().await.unwrap();
        let (inside, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (told, told_to_go) = (Arc::clone(&inside), Arc::clone(&go_on));
        let holds = one.write(move |tx| {
            let (told, told_to_go) = (Arc::clone(&told), Arc::clone(&told_to_go));
            async move {
                settings::set(tx.as_ref(), "x", "one", Timestamp(1)).await?;
                told.notify_one();
                told_to_go.notified().await;
                Ok(())
            }
        });
        let waits = async {
            inside.notified().await;
            // Nobody who reads waits for who writes, and sees nothing half done.
            assert_eq!(settings::get(two.reader(), "x").await.unwrap(), None);
            assert_eq!(settings::get(one.reader(), "x").await.unwrap(), None);
            let writes = two.write(|tx| async move { settings::set(tx.as_ref(), "x", "two", Timestamp(2)).await });
            let let_go = async { go_on.notify_one() };
            tokio::join!(writes, let_go).0
        };
        let (held, waited) = tokio::join!(holds, waits);
        held.unwrap();
        waited.unwrap();
        assert_eq!(settings::get(one.reader(), "x").await.unwrap().as_deref(), Some("two"));
        one.close().await;
        two.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_work_that_panics_fails_alone() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        databases::run(kind, |db| async move {
            // Whole: its folder goes with it.
            let db = db;
            let store = Store::connect(&db.url).await.unwrap();
            store.migrate().await.unwrap();
            let set = |name: &'static str| {
                store.write(move |tx| async move { settings::set(tx.as_ref(), name, "y", Timestamp(1)).await })
            };
            let panics = store.write(|tx| async move {
                settings::set(tx.as_ref(), "undone", "y", Timestamp(1)).await?;
                if tx.as_ref().support_returning() {
                    panic!("a handler's own");
                }
                Ok(())
            });
            let (before, panicked, after) = tokio::join!(set("before"), panics, set("after"));
            before.and(after).unwrap();
            assert!(matches!(panicked, Err(StoreError::Panicked(_))), "{panicked:?}");
            assert_eq!(settings::get(store.reader(), "undone").await.unwrap(), None);
            assert_eq!(settings::get(store.reader(), "after").await.unwrap().as_deref(), Some("y"));
            store.close().await;
        })
        .await;
    }
}
