//! What an owner asks at a shell before and beside the service: `form preview`, `doctor`, a start at a taken address.

#![expect(clippy::expect_used, reason = "a test that cannot set itself up should stop there")]

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use zayavka::sandbox::{Listen, World, WorldOptions};

use crate::command::process::Running;

/// Runs the program beside this runtime, which may serve what it talks to.
async fn run(folder: &Path, arguments: &[&str]) -> Output {
    let (folder, arguments) = (folder.to_owned(), arguments.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let run = move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zayavka"));
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().expect("it runs")
    };
    tokio::task::spawn_blocking(run).await.expect("it ends")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

const FORM: &str = r#"
id = "callback"
title = "Звонок <b>"
intro = "Перезвоним."

[[field]]
id = "time"
kind = "choice"
ask = "Когда?"
choices = [{ id = "now", label = "Сейчас" }, { id = "later", label = "Потом" }]

[[field]]
id = "day"
kind = "date"
ask = "В какой день?"
when = "time == 'later'"

[[field]]
id = "note"
kind = "text"
ask = "Что-то ещё?"
optional = true

[ticket]
subject = "Звонок: {{ answers.time }}"
body = "{{ summary }}"
"#;

fn form(folder: &Path, text: &str) {
    std::fs::write(folder.join("callback.toml"), text).expect("a file");
}

#[tokio::test]
async fn a_form_is_seen_before_there_is_a_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    form(folder.path(), FORM);
    let seen = run(folder.path(), &["form", "preview", "callback.toml", "--page", "seen.html"]).await;
    assert_eq!(seen.status.code(), Some(0), "{}", complained(&seen));
    let text = said(&seen);
    for wanted in [
        "1. time (choice)",
        "   │ Перезвоним.",
        "   [Сейчас]\n   [Потом]",
        "2. day (date, asked when time == 'later')",
        "3. note (text, optional)",
        "   [Пропустить] [Назад]",
        "Ways through it: 2",
        "time = Сейчас: time → note → summary",
        "time = Потом: time → day → note → summary",
        "   [Отправить заявку]",
        "subject  Звонок: Сейчас",
    ] {
        assert!(text.contains(wanted), "no `{wanted}` in {text}");
    }
    let page = std::fs::read_to_string(folder.path().join("seen.html")).expect("the page");
    assert!(page.contains("<span>Отправить заявку</span>") && page.contains("Звонок &lt;b&gt;"), "{page}");
    assert!(!page.contains("<script") && !page.contains("http"), "nothing runs, nothing is loaded");
    let english = told(&run(folder.path(), &["form", "preview", "callback.toml", "--json", "--lang", "en"]).await);
    assert_eq!((&english["ok"], &english["ways_complete"]), (&json!(true), &json!(true)));
    assert_eq!(english["ways"][1]["asked"], json!(["time", "day", "note"]));
    assert_eq!(english["ways"][1]["decided_by"], json!([["time", "Потом"]]));
    assert_eq!(english["screens"][2]["buttons"], json!([["Skip", "Back"]]));
}

#[tokio::test]
async fn a_form_with_mistakes_shows_them_with_their_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    form(folder.path(), &FORM.replace("time == 'later'", "tume == 'later'"));
    let seen = run(folder.path(), &["form", "preview", "callback.toml"]).await;
    assert_eq!((seen.status.code(), said(&seen).as_str()), (Some(1), ""));
    assert!(complained(&seen).contains("callback.toml:16"), "{}", complained(&seen));
    let listed = run(folder.path(), &["form", "preview", "callback.toml", "--json"]).await;
    assert_eq!(told(&listed)["ok"], false);
    for wrong in [&["form", "preview", "none.toml"][..], &["form", "preview"], &["form"]] {
        assert_eq!(run(folder.path(), wrong).await.status.code(), Some(2), "{wrong:?}");
    }
    form(folder.path(), FORM);
    let tongue = run(folder.path(), &["form", "preview", "callback.toml", "--lang", "xx"]).await;
    assert!(tongue.status.code() == Some(2) && complained(&tongue).contains("en, ru"), "{}", complained(&tongue));
}

/// Runs the program with its standard output led elsewhere; its exit code and what it complained of.
fn led(folder: &Path, arguments: &[&str], to: Option<std::fs::File>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zayavka"));
    let out = to.map_or_else(Stdio::piped, Stdio::from);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    // Nobody reads any of it.
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), complained(&output))
}

#[tokio::test]
async fn a_reader_that_has_gone_ends_no_command_badly() {
    let bench = Bench::new().await;
    let folder = bench.folder.path();
    form(folder, FORM);
    assert_eq!(run(folder, &["migrate", "up"]).await.status.code(), Some(0));
    for words in [&["check", "--json"][..], &["check"], &["form", "preview", "callback.toml"], &["--help"]] {
        let (code, complaints) = led(folder, words, None);
        assert_eq!((code, complaints.contains("panicked")), (Some(0), false), "{words:?}: {complaints}");
    }
    assert_eq!(led(folder, &["why", "1"], None).0, Some(1), "it still says that something is not well");
    // A full disk is another matter: what was asked for is not there.
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a full device");
    let (code, complaints) = led(folder, &["check", "--json"], Some(full));
    assert_eq!(code, Some(1), "{complaints}");
    assert!(complaints.contains("the output is not whole"), "{complaints}");
    bench.world.stop().await;
}

/// An installation against the sandbox's world.
struct Bench {
    world: World,
    folder: tempfile::TempDir,
    http: reqwest::Client,
}

impl Bench {
    async fn new() -> Self {
        let world =
            World::start(WorldOptions { listen: Listen::Free, ..WorldOptions::default() }).await.expect("a world");
        let bench = Self {
            world,
            folder: tempfile::tempdir().expect("a folder"),
            http: reqwest::Client::builder().no_proxy().build().expect("a client"),
        };
        bench.config(bench.world.token(), "127.0.0.1:9", "");
        bench
    }

    fn config(&self, token: &str, listen: &str, telegram: &str) -> PathBuf {
        let text = format!(
            "[telegram]\ntoken = \"{token}\"\napi_url = \"{}\"\n{telegram}\n[staff]\nchat = -100\nowners = [11]\n\
             [web]\nlisten = \"{listen}\"\n[database]\nurl = \"sqlite://z.db\"\n\
             [crm]\nprofile = \"generic-searchable\"\n[crm.vars]\nbase_url = \"{}\"\n[crm.secrets]\ntoken = \"{}\"\n",
            self.world.api_url(),
            self.world.crm_base_url(),
            self.world.crm_token()
        );
        let path = self.folder.path().join("zayavka.toml");
        std::fs::write(&path, text).expect("a file");
        path
    }

    async fn doctor(&self) -> (Option<i32>, Value) {
        // Nobody else polls here: there is nothing to listen for.
        let output = run(self.folder.path(), &["doctor", "--listen", "0", "--json"]).await;
        (output.status.code(), told(&output))
    }

    async fn control(&self, path: &str, body: Value) {
        let url = format!("{}/sandbox/{path}", self.world.api_url());
        let status = self.http.post(url).json(&body).send().await.expect("it answers").status();
        assert_eq!(status, 200, "{path}");
    }

    async fn call(&self, method: &str, payload: Value) -> Value {
        let url = format!("{}/bot{}/{method}", self.world.api_url(), self.world.token());
        self.http.post(url).json(&payload).send().await.expect("it answers").json().await.expect("JSON")
    }
}

fn part<'v>(findings: &'v Value, name: &str) -> &'v Value {
    let all = findings["findings"].as_array().expect("a list");
    all.iter().find(|finding| finding["part"] == name).unwrap_or_else(|| panic!("no {name} in {findings}"))
}

#[tokio::test]
async fn the_doctor_finds_all_well_and_says_what_is_not() {
    let bench = Bench::new().await;
    let (code, findings) = bench.doctor().await;
    assert_eq!((code, &part(&findings, "database")["well"]), (Some(1), &json!(false)), "{findings}");
    assert!(part(&findings, "database")["do"].as_str().is_some_and(|hint| hint.contains("migrate up")));
    let files = std::fs::read_dir(bench.folder.path()).expect("a folder");
    let made = files.flatten().filter(|file| file.file_name().to_string_lossy().contains(".db")).count();
    assert_eq!(made, 0, "a look makes no database");
    assert_eq!(run(bench.folder.path(), &["migrate", "up"]).await.status.code(), Some(0));
    let (code, findings) = bench.doctor().await;
    assert_eq!((code, &findings["ok"]), (Some(0), &json!(true)), "{findings}");
    for name in ["configuration", "database", "token", "clock", "updates", "CRM"] {
        assert_eq!(part(&findings, name)["well"], true, "{name}: {findings}");
    }
    assert_eq!(part(&findings, "service")["well"], Value::Null, "none was started");
    let (token, asked) = (bench.world.token().to_owned(), part(&findings, "service")["said"].to_string());
    assert!(asked.contains("none answers at 127.0.0.1:9"), "{asked}");
    bench.config(&token, "127.0.0.1:0", "");
    let (_, findings) = bench.doctor().await;
    assert!(part(&findings, "service")["said"].to_string().contains("has port 0"), "{findings}");
    bench.config(&token, "127.0.0.1:9", "");
    let text = said(&run(bench.folder.path(), &["doctor", "--listen", "0"]).await);
    assert!(text.contains("yes   token") && !text.contains(bench.world.token()), "{text}");
    // A webhook somebody set takes the updates away.
    let set = bench.call("setWebhook", json!({"url": "http://127.0.0.1:9/hook"})).await;
    assert_eq!(set["ok"], true, "{set}");
    let (code, findings) = bench.doctor().await;
    let updates = part(&findings, "updates");
    assert_eq!((code, &updates["well"]), (Some(1), &json!(false)), "{findings}");
    assert!(updates["said"].as_str().is_some_and(|said| said.contains("webhook")), "{updates}");
    bench.call("deleteWebhook", json!({})).await;
    bench.control("telegram/faults", json!({"on": "getMe", "do": "error_before", "status": 401})).await;
    let (code, findings) = bench.doctor().await;
    assert_eq!((code, &part(&findings, "token")["well"]), (Some(1), &json!(false)), "{findings}");
    assert!(!findings.to_string().contains(bench.world.token()), "{findings}");
    bench.control("crm/down", json!({"down": true})).await;
    let (code, findings) = bench.doctor().await;
    assert_eq!((code, &part(&findings, "CRM")["well"]), (Some(1), &json!(false)), "{findings}");
    bench.world.stop().await;
}

#[tokio::test]
async fn the_doctor_reaches_for_a_crm_that_cannot_be_asked() {
    let bench = Bench::new().await;
    let config = bench.folder.path().join("zayavka.toml");
    let text = std::fs::read_to_string(&config).expect("the configuration");
    std::fs::write(&config, text.replace("generic-searchable", "generic-blind")).expect("a file");
    assert_eq!(run(bench.folder.path(), &["migrate", "up"]).await.status.code(), Some(0));
    let (code, findings) = bench.doctor().await;
    assert_eq!((code, &part(&findings, "CRM")["well"]), (Some(0), &json!(true)), "{findings}");
    let url = format!("{}/sandbox/crm/tickets", bench.world.api_url());
    let tickets = bench.http.get(url).send().await.expect("it answers").text().await.expect("text");
    assert!(tickets.contains(r#""tickets":[]"#), "nothing was made: {tickets}");
    bench.control("crm/down", json!({"down": true})).await;
    let (code, findings) = bench.doctor().await;
    let crm = part(&findings, "CRM");
    assert_eq!((code, &crm["well"]), (Some(1), &json!(false)), "{findings}");
    assert!(crm["said"].as_str().is_some_and(|said| said.contains("cannot be reached")), "{crm}");
    bench.world.stop().await;
}

#[tokio::test]
async fn the_doctor_hears_another_service_and_changes_nothing() {
    let bench = Bench::new().await;
    assert_eq!(run(bench.folder.path(), &["migrate", "up"]).await.status.code(), Some(0));
    // The other one: a service of ours with the same token, on a database and at an address of its own.
    let other = tempfile::tempdir().expect("a folder");
    let own = format!("sqlite://{}", other.path().join("other.db").display());
    let config = bench.config(bench.world.token(), "127.0.0.1:0", "");
    let text = std::fs::read_to_string(&config).expect("the configuration").replace("sqlite://z.db", &own);
    let path = other.path().join("zayavka.toml");
    std::fs::write(&path, text).expect("a file");
    bench.config(bench.world.token(), "127.0.0.1:9", "");
    bench.control("clients/11/text", json!({"text": "/start"})).await;
    let temporary = tempfile::tempdir().expect("a folder");
    let mut running = Running::start(&["run", "--config", &path.display().to_string()], &temporary);
    let mut beat = tokio::time::interval(std::time::Duration::from_millis(100));
    let mut waited = 0;
    // It polls once the waiting update is gone.
    while bench.call("getWebhookInfo", json!({})).await["result"]["pending_update_count"] != 0 {
        beat.tick().await;
        waited += 1;
        assert!(waited < 600, "it does not poll: {:?}", running.error_line());
    }
    let output = run(bench.folder.path(), &["doctor", "--json"]).await;
    let (code, findings) = (output.status.code(), told(&output));
    running.signal("TERM");
    assert!(running.ended().success());
    let updates = part(&findings, "updates");
    assert_eq!((code, &updates["well"]), (Some(1), &json!(false)), "{findings}");
    assert!(updates["said"].as_str().is_some_and(|said| said.contains("another process polls")), "{updates}");
    bench.world.stop().await;
}

#[tokio::test]
async fn a_taken_address_is_told_with_what_to_do_and_nothing_is_begun() {
    let bench = Bench::new().await;
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = taken.local_addr().expect("an address").to_string();
    bench.config(bench.world.token(), &at, "");
    let output = run(bench.folder.path(), &["run"]).await;
    let words = complained(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    for wanted in ["zayavka.toml", "web.listen", at.as_str(), "another port"] {
        assert!(words.contains(wanted), "no `{wanted}` in {words}");
    }
    assert!(!bench.folder.path().join("z.db").exists(), "the database was touched");
    let (code, findings) = bench.doctor().await;
    assert_eq!((code, &part(&findings, "service")["well"]), (Some(1), &json!(false)), "{findings}");
    drop(taken);
    bench.world.stop().await;
}

/// The commands one person sees in their chat with the bot.
async fn menu(bench: &Bench, user: i64) -> Vec<String> {
    let list = bench.call("getMyCommands", json!({"scope": {"type": "chat", "chat_id": user}})).await;
    let all = list["result"].as_array().cloned().unwrap_or_default();
    all.iter().filter_map(|one| one["command"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn each_sees_what_they_may_use_and_a_changed_staff_list_is_read_at_a_signal() {
    let bench = Bench::new().await;
    // A chat with somebody exists once they have written.
    for user in [11, 12, 13] {
        bench.control(&format!("clients/{user}/text"), json!({"text": "/start"})).await;
    }
    let staff = |reviewers: &str| format!("owners = [11]\nreviewers = {reviewers}\nviewers = [13]\n");
    let config = bench.config(bench.world.token(), "127.0.0.1:0", "");
    let plain = std::fs::read_to_string(&config).expect("the configuration");
    let write = |reviewers: &str| {
        std::fs::write(&config, plain.replacen("owners = [11]\n", &staff(reviewers), 1)).expect("a file");
    };
    write("[12]");
    let path = config.display().to_string();
    let temporary = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite://{}", bench.folder.path().join("own.db").display());
    let text = std::fs::read_to_string(&config).expect("the configuration").replace("sqlite://z.db", &database);
    std::fs::write(&config, &text).expect("a file");
    let mut running = Running::start(&["run", "--config", &path], &temporary);
    let mut beat = tokio::time::interval(std::time::Duration::from_millis(100));
    let mut waited = 0;
    while menu(&bench, 13).await.is_empty() {
        beat.tick().await;
        waited += 1;
        assert!(waited < 600, "no menu came: {:?}", running.error_line());
    }
    let (owner, reviewer, viewer) = (menu(&bench, 11).await, menu(&bench, 12).await, menu(&bench, 13).await);
    for name in ["start", "status", "queue", "find", "stats"] {
        for all in [&owner, &reviewer, &viewer] {
            assert!(all.iter().any(|known| known == name), "{name}: {all:?}");
        }
    }
    for name in ["link", "create", "reject", "pause"] {
        assert!(owner.iter().chain(&reviewer).filter(|known| *known == name).count() == 2, "{name}: {reviewer:?}");
        assert!(!viewer.iter().any(|known| known == name), "{name}: {viewer:?}");
    }
    let everybody = bench.call("getMyCommands", json!({"scope": {"type": "all_private_chats"}})).await;
    assert!(!everybody.to_string().contains("queue") && everybody.to_string().contains("forget"), "{everybody}");
    // The reviewer leaves: from the next action on, and in the menu.
    std::fs::write(&config, text.replacen("reviewers = [12]", "reviewers = []", 1)).expect("a file");
    running.signal("HUP");
    while !menu(&bench, 12).await.is_empty() {
        beat.tick().await;
        waited += 1;
        assert!(waited < 1_200, "the menu stayed");
    }
    running.signal("TERM");
    assert!(running.ended().success());
    bench.world.stop().await;
}
