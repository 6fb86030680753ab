//! Cases reported from the field that no other file is about; docs/field-cases.md lists all of them with their tests.

use std::{process::Stdio, time::Duration};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
    time::timeout,
};
use zayavka::{
    clock::Timestamp,
    sandbox::{Listen, WorldOptions},
    store::{Store, settings},
};

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, Options, STAFF, World},
};

const MINUTE: Duration = Duration::from_secs(60);
/// The largest number Telegram promises for people, chats, messages and topics: 52 bits.
const LARGEST: i64 = (1 << 52) - 1;

on_both! {
    async fn a_page_of_a_proxy_comes_instead_of_updates(db: Database) {
        let mut world = World::new(db).await;
        world.fault(json!({ "on": "getUpdates", "do": "error_before", "status": 502, "html": true })).await;
        world.type_text(ANNA, "/start").await;
        assert_eq!(world.said(ANNA).await.len(), 0, "nothing came in");
        world.fault(json!({ "on": "getUpdates", "do": "junk" })).await;
        world.settle().await;
        world.settle().await;
        assert!(world.last_text(ANNA).await.contains("Как к вам обращаться?"));
        world.finish().await;
    }

    async fn a_topic_that_is_gone_is_written_to_without_it(db: Database) {
        let mut world = World::with(db, Options::blind().set("staff.thread", "55")).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        world.pass(MINUTE).await;
        let said = world.said(STAFF).await;
        assert!(said.iter().any(|text| text.starts_with("Случай")), "{said:?}");
        let calls = world.calls("telegram", "sendMessage").await;
        let threads: Vec<_> = calls
            .iter()
            .filter(|call| call["params"]["chat_id"] == STAFF)
            .map(|call| call["params"]["message_thread_id"].clone())
            .collect();
        assert_eq!(threads, [json!(55), Value::Null, json!(55), Value::Null], "each once with the topic and once without");
        world.finish().await;
    }

    async fn a_server_that_logged_the_bot_out_loses_no_message(db: Database) {
        let mut world = World::new(db).await;
        let body = json!({ "ok": false, "error_code": 400, "description": "Logged out" });
        let rule = json!({ "on": "sendMessage", "do": "error_before", "status": 400, "body": body, "times": 3 });
        world.fault(rule).await;
        world.apply_blindly(ANNA).await;
        world.pass(30 * MINUTE).await;
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"), "{}", world.last_text(ANNA).await);
        assert_eq!(world.staff("/queue").await, "Очередь пуста.", "no message has become a case");
        world.finish().await;
    }

    async fn numbers_of_any_size_go_all_the_way(db: Database) {
        let mut world = World::with(db, Options::searchable().set("staff.viewers", &LARGEST.to_string())).await;
        world.type_text(LARGEST, "/start").await;
        for text in ["Анна", "+79001234567", "anna@example.ru", "Налоги", "7 декабря, 11:00"] {
            world.type_text(LARGEST, text).await;
        }
        world.tap(LARGEST, "Даю согласие").await;
        world.submit(LARGEST).await;
        assert_eq!((world.state(LARGEST).await, world.count().await), ("created", 1));
        assert!(world.last_text(LARGEST).await.contains("№ 1001 создана"));
        for thread in [3_895_315_077, LARGEST] {
            world.act(LARGEST, "text", json!({ "text": "/queue", "chat": STAFF, "thread": thread })).await;
            world.settle().await;
            let calls = world.calls("telegram", "sendMessage").await;
            assert_eq!(calls.last().map(|call| &call["params"]["message_thread_id"]), Some(&json!(thread)));
        }
        // A channel's direct messages: a chat number outside the ranges libraries know.
        for chat in [-1_997_852_516_353_i64, -LARGEST, 1 << 41] {
            let from = json!({ "id": BORIS, "is_bot": false, "first_name": "Борис" });
            let chat = json!({ "id": chat, "type": "supergroup", "is_direct_messages": true });
            world.raw(json!({ "message": { "message_id": LARGEST, "date": 1, "from": from, "chat": chat, "text": "/start" } })).await;
        }
        world.type_text(BORIS, "/help").await;
        assert_eq!(world.said(BORIS).await.len(), 1);
        world.finish().await;
    }

    async fn writers_of_two_processes_wait_for_each_other(db: Database) {
        let (one, two) = (Store::connect(&db.url).await.unwrap_or_else(|error| panic!("{error}")), Store::connect(&db.url).await.unwrap_or_else(|error| panic!("{error}")));
        one.migrate().await.unwrap_or_else(|error| panic!("{error}"));
        // Each reads before it writes: a deferred transaction would fail at once with "database is locked".
        let writes = (0..100_i64).map(|n| {
            let store = if n % 2 == 0 { &one } else { &two };
            store.write(move |tx| async move {
                let name = format!("case-{}", n % 10);
                let before = settings::get(tx.as_ref(), &name).await?.unwrap_or_default();
                settings::set(tx.as_ref(), &name, &format!("{before}x"), Timestamp(n)).await
            })
        });
        for written in join_all(writes).await {
            written.unwrap_or_else(|error| panic!("{error}"));
        }
        one.close().await;
        two.close().await;
    }

    async fn replicas_that_start_together_migrate_once(db: Database) {
        let stores = join_all((0..4).map(|_| Store::connect(&db.url))).await;
        let stores: Vec<_> = stores.into_iter().map(|store| store.unwrap_or_else(|error| panic!("{error}"))).collect();
        for migrated in join_all(stores.iter().map(Store::migrate)).await {
            migrated.unwrap_or_else(|error| panic!("{error}"));
        }
        for store in stores {
            assert_eq!(store.pending_migrations().await.unwrap_or_else(|error| panic!("{error}")), Vec::<String>::new());
            store.close().await;
        }
    }
}

impl World {
    /// Types and submits without reading what the bot says: it may say nothing for now.
    async fn apply_blindly(&mut self, user: i64) {
        self.type_text(user, "/start").await;
        self.pass(10 * MINUTE).await;
        self.fill_in_from_the_name(user, "Анна").await;
        self.submit(user).await;
    }
}

/// The real program against a world of its own, with everything it logs.
struct Program {
    world: zayavka::sandbox::World,
    http: reqwest::Client,
    child: tokio::process::Child,
    lines: tokio::io::Lines<BufReader<tokio::process::ChildStderr>>,
    log: String,
    _folder: tempfile::TempDir,
}

/// The part of the token that is the secret.
const CANARY: &str = "AAcanary-of-the-token-that-nobody-may-read_";

impl Program {
    async fn start(api_url: Option<&str>, env: &[(&str, &str)]) -> Self {
        let token = format!("1000000001:{CANARY}");
        let options = WorldOptions { listen: Listen::Free, token: token.clone(), ..WorldOptions::default() };
        let world = zayavka::sandbox::World::start(options).await.unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let config = format!(
            "[telegram]\ntoken = \"{token}\"\napi_url = \"{}\"\nrequest_timeout = \"2s\"\n\
             [staff]\nchat = -424242\nowners = [{OWNER}]\n[database]\nurl = \"sqlite://{}\"\n\
             [crm]\nprofile = \"generic-blind\"\nrequest_timeout = \"1s\"\nlease = \"2s\"\n[crm.vars]\nbase_url = \"{}\"\n\
             [crm.secrets]\ntoken = \"{}\"\n[web]\nlisten = \"127.0.0.1:0\"\n[log]\nfilter = \"trace\"\n",
            api_url.map_or_else(|| world.api_url(), str::to_owned),
            folder.path().join("zayavka.db").display(),
            world.crm_base_url(),
            world.crm_token(),
        );
        let path = folder.path().join("zayavka.toml");
        std::fs::write(&path, config).unwrap_or_else(|error| panic!("{error}"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_zayavka"))
            .args(["run", "--config"])
            .arg(&path)
            .current_dir(folder.path())
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{error}"));
        let stderr = child.stderr.take().unwrap_or_else(|| panic!("a pipe"));
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_else(|error| panic!("{error}"));
        let lines = BufReader::new(stderr).lines();
        Self { world, http, child, lines, log: String::new(), _folder: folder }
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let url = format!("{}/sandbox{path}", self.world.api_url());
        let answer = self.http.post(url).json(&body).send().await.unwrap_or_else(|error| panic!("{error}"));
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads the log until a line holds these words.
    async fn until(&mut self, words: &str) {
        let found = timeout(MINUTE, async {
            while let Ok(Some(line)) = self.lines.next_line().await {
                self.log.push_str(&line);
                self.log.push('\n');
                if line.contains(words) {
                    return true;
                }
            }
            false
        });
        assert!(found.await.unwrap_or(false), "no line says `{words}`:\n{}", self.log);
    }

    /// The same, if no line has said it yet.
    async fn sooner_or_later(&mut self, words: &str) {
        if !self.log.contains(words) {
            self.until(words).await;
        }
    }

    /// Asks it to stop; how it ended, and all it logged.
    async fn stop(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().map(|pid| pid.to_string()).unwrap_or_default();
        drop(std::process::Command::new("kill").args(["-TERM", &pid]).status());
        let rest = async {
            while let Ok(Some(line)) = self.lines.next_line().await {
                self.log.push_str(&line);
                self.log.push('\n');
            }
            self.child.wait().await
        };
        let ended = timeout(MINUTE, rest).await;
        let ended = ended.unwrap_or_else(|_| panic!("it did not stop")).unwrap_or_else(|error| panic!("{error}"));
        (ended.code(), self.log)
    }
}

/// A refusal that repeats the address it was asked at.
fn repeated(method: &str) -> Value {
    let said = format!("Bad Request: nothing at /bot1000000001:{CANARY}/{method}");
    json!({ "ok": false, "error_code": 400, "description": said })
}

fn keeps_the_secret(log: &str) {
    let told = log.lines().find(|line| line.contains(CANARY));
    assert_eq!(told, None, "the token stands in the log");
    assert!(log.lines().count() > 5, "nothing was logged: {log}");
}

#[tokio::test]
async fn the_token_stands_in_no_line_of_the_log_whatever_goes_wrong() {
    let mut program = Program::start(None, &[]).await;
    program.until("updates can come in").await;
    for (on, how) in [
        ("getUpdates", json!({ "do": "lose_request" })),
        ("getUpdates", json!({ "do": "half_answer" })),
        ("getUpdates", json!({ "do": "junk" })),
        ("getUpdates", json!({ "do": "error_before", "status": 502, "html": true })),
        ("getUpdates", json!({ "do": "error_before", "status": 400, "body": repeated("getUpdates") })),
        ("sendMessage", json!({ "do": "lose_answer" })),
        ("sendMessage", json!({ "do": "error_before", "status": 400, "body": repeated("sendMessage") })),
        ("sendMessage", json!({ "do": "error_after", "status": 500 })),
        ("answerCallbackQuery", json!({ "do": "error_before", "status": 401 })),
        ("setMyCommands", json!({ "do": "junk" })),
    ] {
        let mut rule = how;
        rule["on"] = json!(on);
        program.post("/telegram/faults", rule).await;
    }
    for n in 0..5 {
        program.post("/clients/101/text", json!({ "text": format!("/start {n}") })).await;
        program.until("no updates come in for the moment").await;
    }
    program.until("updates can come in").await;
    program.sooner_or_later("nobody knows whether a message arrived").await;
    let (code, log) = program.stop().await;
    assert_eq!(code, Some(0), "{log}");
    keeps_the_secret(&log);
}

#[tokio::test]
async fn a_token_nobody_knows_is_refused_without_being_shown() {
    let program = Program::start(None, &[]).await;
    let rule = json!({ "on": "getMe", "do": "error_before", "status": 401 });
    program.post("/telegram/faults", rule).await;
    // Whichever came first, the fault or the question: what is said of it holds no secret.
    let (_, log) = program.stop().await;
    assert!(!log.contains(CANARY), "{log}");
}

#[tokio::test]
async fn a_dead_proxy_is_told_and_holds_up_no_stop() {
    // Port 9 of the loopback: nobody listens there.
    let dead = "http://127.0.0.1:9";
    let mut program =
        Program::start(Some("http://telegram.invalid"), &[("http_proxy", dead), ("HTTP_PROXY", dead)]).await;
    program.until("Telegram cannot be reached").await;
    let (code, log) = program.stop().await;
    assert_eq!(code, Some(0), "{log}");
    keeps_the_secret(&log);
}
