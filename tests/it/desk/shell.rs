//! The same desk from a shell, for the day Telegram is down: the real program on the database of a running service.

use std::process::Command;

use serde_json::{Value, json};
use zayavka::clock::{Clock as _, SystemClock};

use super::{MINUTE, lose, undelivered::poison};
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, Options, REVIEWER, VIEWER, World},
};

/// A world whose clock begins at the machine's own: the program has no other.
async fn world_now(db: crate::databases::Database, options: Options) -> World {
    let world = World::with(db, options).await;
    world.clock.set(SystemClock.now());
    world
}

/// The same with Anna's request in front of staff.
async fn absent(db: crate::databases::Database, options: Options) -> World {
    let mut world = world_now(db, options).await;
    lose(&mut world, ANNA).await;
    world
}

/// What a command said and how it ended.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {} {}", self.out, self.err))
    }
}

/// Runs the program on the world's database.
fn zayavka(world: &World, more: &str, words: &[&str]) -> Said {
    ran(&configured(world, more), words)
}

/// The same beside this runtime, which serves the CRM that the program asks.
async fn zayavka_beside(world: &World, words: &[&str]) -> Said {
    let (folder, words) = (configured(world, ""), words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let run = move || ran(&folder, &words.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap_or_else(|error| panic!("{error}"))
}

/// A folder with a configuration for the world's database and CRM.
fn configured(world: &World, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let config = folder.path().join("zayavka.toml");
    let text = format!(
        "[telegram]\ntoken = \"1000000001:SANDBOX-token-that-opens-nothing-00\"\n\
         [staff]\nchat = -1001000000001\nowners = [{OWNER}]\nreviewers = [{REVIEWER}]\nviewers = [{VIEWER}]\n{more}\n\
         [database]\nurl = \"{}\"\n[crm]\nprofile = \"generic-searchable\"\n[crm.vars]\nbase_url = \"{}\"\n\
         [crm.secrets]\ntoken = \"sandbox-secret\"\n",
        world.database.url,
        world.crm_url(),
    );
    std::fs::write(&config, text).unwrap_or_else(|error| panic!("{error}"));
    folder
}

fn ran(folder: &tempfile::TempDir, words: &[&str]) -> Said {
    let config = folder.path().join("zayavka.toml");
    let done = Command::new(env!("CARGO_BIN_EXE_zayavka")).arg("--config").arg(&config).args(words).output();
    let done = done.unwrap_or_else(|error| panic!("{error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Said { code: done.status.code().unwrap_or(-1), out: text(&done.stdout), err: text(&done.stderr) }
}

on_both! {
    async fn the_queue_and_a_case_can_be_read(db: Database) {
        let world = absent(db, Options::searchable()).await;
        let marker = world.marker(ANNA).await;
        let list = zayavka(&world, "", &["ops", "list"]);
        assert!(list.code == 0 && list.out.starts_with("1 waiting") && list.out.contains(&marker), "{}", list.out);
        let list = zayavka(&world, "", &["ops", "list", "--reason", "absent", "--json"]).json();
        assert_eq!((&list["total"], &list["cases"][0]["name"]), (&json!(1), &json!(marker)));
        assert_eq!(list["cases"][0]["reason"], "absent");
        assert_eq!(zayavka(&world, "", &["ops", "list", "--form", "other", "--json"]).json()["total"], 0);
        for (owner, total) in [("none", 1), (&*OWNER.to_string(), 0)] {
            assert_eq!(zayavka(&world, "", &["ops", "list", "--owner", owner, "--json"]).json()["total"], total, "{owner}");
        }
        assert_eq!(zayavka(&world, "", &["ops", "list", "--owner", "anna"]).code, 2);
        let shown = zayavka(&world, "", &["ops", "show", &marker]).out;
        for part in ["на проверке", "client: Анна, •••0101", "waiting: ", "sent: Консультация: Анна", "answer: 1) ", "ответа нет"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let shown = zayavka(&world, "", &["ops", "show", &marker, "--json"]).json();
        assert_eq!(shown["operation"]["client"], "Анна, •••0101", "{shown}");
        assert!(shown["operation"]["sent"].as_str().is_some_and(|sent| sent.starts_with("Консультация: Анна")), "{shown}");
        assert!(shown["operation"]["answers"][0].as_str().is_some_and(|answer| answer.contains("ответа нет")), "{shown}");
        assert!(shown["operation"]["waiting_seconds"].is_u64() && !shown.to_string().contains("79000000101"), "{shown}");
        assert_eq!(zayavka(&world, "", &["ops", "show", "Z-0000-0000"]).code, 1);
        assert!(zayavka(&world, "", &["ops", "find", "нна"]).out.contains(&marker));
        assert!(zayavka(&world, "", &["ops", "stats", "--json"]).json()["figures"]["open_cases"] == 1);
        assert_eq!(zayavka(&world, "", &["ops", "shelf"]).out, "The shelf is empty.");
        world.finish().await;
    }

    async fn a_decision_at_a_shell_is_the_same_decision(db: Database) {
        let mut world = absent(db, Options::searchable()).await;
        let marker = world.marker(ANNA).await;
        let (owner, reviewer, viewer) = (OWNER.to_string(), REVIEWER.to_string(), VIEWER.to_string());
        let ops = |world: &World, words: &[&str]| zayavka(world, "", &[&["ops"], words].concat());
        assert_eq!(ops(&world, &["look", &marker]).code, 2, "nobody decides");
        assert_eq!(ops(&world, &["look", &marker, "--as", "4711"]).code, 2);
        assert_eq!(ops(&world, &["look", &marker, "--as", &viewer]).code, 2);
        for number in ["", "совсем не номер; <b>"] {
            let said = ops(&world, &["link", &marker, number, "--unverified", "--as", &owner]);
            assert!(said.code == 2 && said.err.contains("number"), "{}{}", said.out, said.err);
        }
        let blank = ops(&world, &["reject", &marker, "   ", "--as", &owner]);
        assert!(blank.code == 2 && blank.err.contains("reason"), "{}{}", blank.out, blank.err);
        assert!(ops(&world, &["take", &marker, "--as", &reviewer]).out.contains("взято до"));
        let card = world.desk_message("Случай").await;
        world.settle().await;
        assert!(world.desk_text(card).await.contains("В работе"));
        let risk = ops(&world, &["create", &marker, "её нет", "--as", &reviewer]);
        assert!(risk.code == 2 && risk.err.contains("--yes"), "{}", risk.err);
        let said = ops(&world, &["create", &marker, "её", "нет", "--as", &reviewer, "--yes", "--json"]).json();
        assert_eq!((&said["done"], &said["outcome"]["ruling"]), (&json!(true), &json!("creating")));
        world.pass(MINUTE).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        let again = ops(&world, &["create", &marker, "её нет", "--as", &reviewer, "--yes"]);
        assert!(again.code == 0 && again.out.contains("уже сделано вами"), "{}", again.out);
        let late = ops(&world, &["reject", &marker, "поздно", "--as", &owner]);
        assert!(late.code == 1 && late.out.contains("уже решено"), "{}", late.out);
        world.finish().await;
    }

    async fn a_second_person_is_another_one_at_a_shell_too(db: Database) {
        let mut world = absent(db, Options::searchable().set("staff.second_person", "true")).await;
        let marker = world.marker(ANNA).await;
        let (owner, reviewer) = (OWNER.to_string(), REVIEWER.to_string());
        let ops = |world: &World, words: &[&str]| zayavka(world, "second_person = true", &[&["ops"], words].concat());
        assert!(ops(&world, &["create", &marker, "нет её", "--as", &reviewer, "--yes"]).out.contains("согласие"));
        assert_eq!(ops(&world, &["consent", &marker, "--as", &reviewer]).code, 1);
        assert_eq!(ops(&world, &["consent", &marker, "--as", &owner]).code, 0);
        world.pass(MINUTE).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }

    async fn why_and_duplicate_tell_the_cause_with_the_rows(db: Database) {
        let mut world = absent(db, Options::searchable()).await;
        world.may_have_twins();
        let marker = world.marker(ANNA).await;
        let stored = world.operations(ANNA).await.remove(0);
        world.staff_as(REVIEWER, &format!("/create {marker} её нет")).await;
        world.desk_tap(REVIEWER, "Да, создать").await;
        let body = json!({ "external_id": stored.operation.key, "marker": marker, "subject": "поздно", "body": "",
            "contact": {}, "fields": {} });
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_else(|error| panic!("{error}"));
        let url = format!("{}/tickets", world.crm_url());
        let made = http.post(url).bearer_auth("sandbox-secret").json(&body).send().await;
        made.unwrap_or_else(|error| panic!("{error}"));
        world.pass(4 * 60 * MINUTE).await;
        let twice = zayavka(&world, "", &["doctor", "duplicate", "1001", "1002"]);
        assert!(twice.out.starts_with("lost_answer: attempt 1"), "{} {}", twice.out, twice.err);
        assert!(twice.out.contains("attempt 2") && twice.out.contains("update "), "{}", twice.out);
        lose(&mut world, BORIS).await;
        let boris = world.marker(BORIS).await;
        let honest = zayavka(&world, "", &["doctor", "duplicate", &marker, &boris, "--json"]).json();
        assert_eq!(honest["cause"], "none", "{honest}");
        assert_eq!(honest["operations"][0]["attempts"].as_array().map(Vec::len), Some(2));
        assert_eq!(zayavka(&world, "", &["doctor", "duplicate", "4712", "4711"]).code, 1);
        let why = zayavka(&world, "", &["why", "1001"]);
        assert!(why.out.contains("ответа нет") && why.out.contains("велено создать всё же"), "{}", why.out);
        let twin = zayavka(&world, "", &["why", "1002"]);
        assert!(twin.code == 0 && twin.out.starts_with(&marker), "{} {}", twin.out, twin.err);
        assert!(zayavka(&world, "", &["ops", "show", "1002"]).out.contains(&marker));
        let why = zayavka(&world, "", &["why", &stored.operation.id.to_string(), "--json"]).json();
        assert_eq!(why["operation"]["marker"], marker.as_str());
        assert_eq!(zayavka(&world, "", &["why", "4711"]).code, 1);
        world.finish().await;
    }

    async fn a_ticket_that_only_the_crm_knows_is_asked_for_there(db: Database) {
        let mut world = world_now(db, Options::searchable()).await;
        world.may_have_twins();
        world.fault(json!({ "on": "POST /tickets", "do": "twice" })).await;
        world.apply(ANNA).await;
        let marker = world.marker(ANNA).await;
        let twice = zayavka_beside(&world, &["doctor", "duplicate", "1002", "1001", "--json"]).await.json();
        assert_eq!(twice["cause"], "carried_out_twice", "{twice}");
        assert_eq!(twice["operations"][0]["operation"]["marker"], marker.as_str());
        let other = json!({ "external_id": "3f2c1d9e-0000-4000-8000-000000000001", "marker": "Z-1111-1111",
            "subject": "чужая", "body": "", "contact": {}, "fields": {} });
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_else(|error| panic!("{error}"));
        let made = http.post(format!("{}/tickets", world.crm_url())).bearer_auth("sandbox-secret").json(&other).send();
        let made: Value = match made.await {
            Ok(answer) => answer.json().await.unwrap_or_else(|error| panic!("{error}")),
            Err(error) => panic!("{error}"),
        };
        let number = made["number"].as_str().unwrap_or_else(|| panic!("no ticket was made: {made}"));
        let foreign = zayavka_beside(&world, &["doctor", "duplicate", &marker, number]).await;
        assert!(foreign.code == 0 && foreign.out.starts_with("none: the CRM was asked"), "{} {}", foreign.out, foreign.err);
        let nobody = zayavka_beside(&world, &["doctor", "duplicate", &marker, "4711"]).await;
        assert!(nobody.code == 1 && nobody.err.contains("has no such ticket"), "{} {}", nobody.out, nobody.err);
        world.finish().await;
    }

    async fn a_person_s_data_is_handed_out_and_erased(db: Database) {
        let mut world = world_now(db, Options::searchable()).await;
        world.apply(ANNA).await;
        let marker = world.marker(ANNA).await;
        let (owner, reviewer) = (OWNER.to_string(), REVIEWER.to_string());
        assert_eq!(zayavka(&world, "", &["ops", "export", &marker, "--as", &reviewer]).code, 2);
        let all = zayavka(&world, "", &["ops", "export", &marker, "--as", &owner]).json();
        assert_eq!(all["operations"][0]["phone"], "+79000000101");
        let erased = zayavka(&world, "", &["ops", "erase", "101", "--as", &owner]);
        assert_eq!(erased.code, 0, "{} {}", erased.out, erased.err);
        let all = zayavka(&world, "", &["ops", "export", "101", "--as", &owner]);
        assert!(!all.out.contains("+79000000101") && !all.out.contains("Анна"), "{}", all.out);
        assert_eq!(all.json()["operations"][0]["operation"]["state"], "created");
        let summary = world.message_with(ANNA, "Отправить заявку").await;
        assert!(world.tap_on(ANNA, summary, "Отправить заявку").await.contains("1001 уже создана"));
        world.finish().await;
    }

    async fn who_and_what_nobody_knows_is_said_so(db: Database) {
        let world = world_now(db, Options::searchable()).await;
        let owner = OWNER.to_string();
        for what in ["export", "erase"] {
            let said = zayavka(&world, "", &["ops", what, "424242", "--as", &owner]);
            assert_eq!((said.code, said.out.as_str()), (1, ""), "{what}: {}", said.err);
            assert!(said.err.contains("nothing is stored about the person 424242"), "{}", said.err);
        }
        let said = zayavka(&world, "", &["ops", "find", "никто"]);
        assert!(said.code == 1 && said.out.is_empty() && said.err.contains("nothing is known by `никто`"), "{}", said.err);
        assert_eq!(zayavka(&world, "", &["ops", "find", "никто", "--json"]).json(), json!({ "operations": [] }));
        for blank in ["", "  "] {
            let said = zayavka(&world, "", &["ops", "find", blank]);
            assert!(said.code == 2 && said.err.contains("what is to be found?"), "{} {}", said.code, said.err);
        }
        world.finish().await;
    }

    async fn sending_is_paused_and_updates_replayed_from_a_shell(db: Database) {
        let mut world = world_now(db, Options::searchable()).await;
        poison(&mut world).await;
        let reviewer = REVIEWER.to_string();
        let shelf = zayavka(&world, "", &["ops", "shelf", "--json"]).json();
        let row = shelf["shelf"][0]["row"].to_string();
        assert_eq!(zayavka(&world, "", &["ops", "replay", &row]).code, 2);
        assert_eq!(zayavka(&world, "", &["ops", "replay", &row, "--as", &reviewer]).code, 0);
        assert_eq!(zayavka(&world, "", &["ops", "replay", "99999", "--as", &reviewer]).code, 1);
        assert!(zayavka(&world, "", &["ops", "pause", "--as", &reviewer]).out.contains("остановлена"));
        assert_eq!(zayavka(&world, "", &["ops", "resume", "--as", &reviewer, "--json"]).json()["paused"], false);
        world.pass(MINUTE).await;
        assert!(world.staff("/queue").await.contains("Ждут решения: 1"), "it fails again and is a case again");
        world.finish().await;
    }
}
