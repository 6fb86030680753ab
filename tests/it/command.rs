//! `zayavka sandbox` as a newcomer's shell sees it: what it prints, how it ends, and that nothing of it stays behind.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at its first surprise")]

pub(crate) mod process;

use std::net::TcpListener;

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::process::{Running, Sandbox, ended_by_signal, signal};

/// Waits until the service has asked for updates: from then on it is up.
async fn up(sandbox: &Sandbox) {
    sandbox.until("the first getUpdates", async |sandbox| polls(sandbox).await > 0).await;
}

async fn polls(sandbox: &Sandbox) -> usize {
    let log = sandbox.get("/telegram/log").await;
    log["calls"].as_array().unwrap().iter().filter(|call| call["method"] == "getUpdates").count()
}

#[tokio::test]
async fn sigterm_ends_the_sandbox_and_its_service_and_removes_the_folder() {
    let mut sandbox = Sandbox::start();
    up(&sandbox).await;
    assert_eq!(sandbox.leftovers().len(), 1);
    sandbox.stop();
}

#[tokio::test]
async fn a_signal_before_the_service_is_up_tidies_up_too() {
    Sandbox::start().stop();
}

#[tokio::test]
async fn ctrl_c_reaches_the_whole_terminal_group_and_still_drains() {
    let mut sandbox = Sandbox::start();
    up(&sandbox).await;
    sandbox.running.signal_group("INT");
    sandbox.stopped_well();
}

#[tokio::test]
async fn a_closed_terminal_ends_it_like_ctrl_c() {
    let mut sandbox = Sandbox::start();
    up(&sandbox).await;
    sandbox.running.signal_group("HUP");
    sandbox.stopped_well();
}

#[tokio::test]
async fn kill_9_of_the_sandbox_takes_the_service_along_and_the_next_one_tidies_up() {
    let mut sandbox = Sandbox::start();
    up(&sandbox).await;
    sandbox.running.signal("KILL");
    assert!(ended_by_signal(sandbox.running.ended()));
    sandbox.running.all_ended();
    assert_eq!(sandbox.leftovers().len(), 1, "nobody could remove the folder");
    Sandbox::start_with(&[], sandbox.temporary).stop();
}

#[tokio::test]
async fn a_service_that_ends_by_itself_is_noticed_and_can_be_started_again() {
    let mut sandbox = Sandbox::start();
    up(&sandbox).await;
    let old = sandbox.service_pid().await.unwrap();
    signal("KILL", &old.to_string());
    let told = sandbox.running.error_line();
    assert!(told.contains("ended by itself") && told.contains("SIGKILL"), "{told}");
    assert_eq!(sandbox.get("/service").await, json!({ "running": false, "pid": null, "restarts": 0 }));
    let started = sandbox.post("/service", json!({ "do": "start" })).await;
    assert_eq!((&started["running"], &started["restarts"]), (&json!(true), &json!(1)));
    assert_ne!(started["pid"].as_u64(), Some(old));
    sandbox.running.signal("TERM");
    sandbox.stopped_well();
}

#[tokio::test]
async fn a_killed_service_comes_back_under_another_number_on_the_same_database() {
    let mut sandbox = Sandbox::start();
    up(&sandbox).await;
    let old = sandbox.service_pid().await.unwrap();
    let before = polls(&sandbox).await;
    let again = sandbox.post("/service", json!({ "do": "restart" })).await;
    assert_eq!((&again["running"], &again["restarts"]), (&json!(true), &json!(1)));
    assert_ne!(again["pid"].as_u64(), Some(old));
    sandbox.until("another getUpdates", async |sandbox| polls(sandbox).await > before).await;
    sandbox.stop();
}

#[test]
fn a_busy_port_is_told_in_words_and_nothing_stays_behind() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    for (at, word) in [(at.as_str(), at.as_str()), ("0.0.0.0:8088", "loopback")] {
        let temporary = TempDir::new().unwrap();
        let mut running = Running::start(&["sandbox", "--listen", at], &temporary);
        assert_eq!(running.ended().code(), Some(2));
        let said = running.all_ended().join("\n");
        assert!(said.contains(word) && said.contains("address"), "{said}");
        assert_eq!(running.rest(), "");
        assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
    }
}

#[test]
fn the_greeting_names_the_page_and_what_to_try() {
    let temporary = TempDir::new().unwrap();
    let mut running = Running::start(&["sandbox", "--listen", "127.0.0.1:0"], &temporary);
    let first = running.line();
    assert!(first.starts_with("The sandbox is ready: http://127.0.0.1:"), "{first}");
    running.signal("TERM");
    assert!(running.ended().success());
    let rest = running.rest();
    assert!(rest.contains("«Отправить заявку»") && rest.contains("Ctrl-C"), "{rest}");
}

#[tokio::test]
async fn the_world_alone_names_the_addresses_for_a_service_of_ones_own() {
    let mut sandbox = Sandbox::start_with(&["--world-only"], TempDir::new().unwrap());
    let (api, crm) = (sandbox.told["api_url"].as_str().unwrap(), sandbox.told["base_url"].as_str().unwrap());
    let http = Client::builder().no_proxy().build().unwrap();
    let me = http.get(format!("{api}/bot{}/getMe", sandbox.told["token"].as_str().unwrap())).send().await.unwrap();
    assert_eq!(me.json::<Value>().await.unwrap()["ok"], true);
    let found =
        http.get(format!("{crm}/tickets?external_id=none")).bearer_auth(sandbox.told["crm_token"].as_str().unwrap());
    assert_eq!(found.send().await.unwrap().json::<Value>().await.unwrap(), json!({ "items": [] }));
    let anybodys = http.get(format!("{crm}/tickets?external_id=none")).bearer_auth("a token of their own");
    assert_eq!(anybodys.send().await.unwrap().status(), 200, "the world cannot know their settings");
    assert_eq!((&sandbox.told["clients"], &sandbox.told["owners"]), (&json!([101, 102]), &json!([9001])));
    assert_eq!(sandbox.get("/state").await["service"], Value::Null);
    sandbox.running.signal("INT");
    sandbox.stopped_well();
}

#[test]
fn the_world_alone_prints_lines_for_a_configuration() {
    let temporary = TempDir::new().unwrap();
    let mut running = Running::start(&["sandbox", "--world-only", "--listen", "127.0.0.1:0"], &temporary);
    running.line();
    running.signal("TERM");
    assert!(running.ended().success());
    let rest = running.rest();
    assert!(
        rest.contains("api_url  = \"http://127.0.0.1:") && rest.contains("base_url = \"http://127.0.0.1:"),
        "{rest}"
    );
    assert!(rest.contains("[telegram]") && rest.contains("[crm.vars]"), "{rest}");
}
