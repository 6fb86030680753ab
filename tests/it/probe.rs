//! `zayavka probe` and `zayavka check` as an owner's shell sees them, against the sandbox's CRM.

#![expect(clippy::expect_used, reason = "a test that cannot set itself up should stop there")]

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use zayavka::sandbox::{Listen, World, WorldOptions};

struct Bench {
    world: World,
    folder: tempfile::TempDir,
}

impl Bench {
    async fn new(options: Value) -> Self {
        let world =
            World::start(WorldOptions { listen: Listen::Free, ..WorldOptions::default() }).await.expect("a world");
        let bench = Self { world, folder: tempfile::tempdir().expect("a folder") };
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        let url = format!("{}/sandbox/crm/options", bench.world.api_url());
        let status = http.post(url).json(&options).send().await.expect("it answers").status();
        assert_eq!(status, 200);
        bench
    }

    fn config(&self, profile: &str, more: &str) -> std::path::PathBuf {
        let text = format!(
            "[telegram]\ntoken = \"123456:SAMPLE\"\n[crm]\nprofile = \"{profile}\"\n{more}\n[crm.vars]\nbase_url = \"{}\"\n\
             [crm.secrets]\ntoken = \"{}\"\n",
            self.world.crm_base_url(),
            self.world.crm_token()
        );
        let path = self.folder.path().join("zayavka.toml");
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// Runs the program beside this runtime, which serves its CRM.
    async fn run(&self, profile: &str, more: &str, arguments: &[&str]) -> Output {
        let config = self.config(profile, more);
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let run = move || {
            Command::new(env!("CARGO_BIN_EXE_zayavka"))
                .args(arguments)
                .arg("--config")
                .arg(config)
                .stdin(Stdio::null())
                .output()
                .expect("it runs")
        };
        tokio::task::spawn_blocking(run).await.expect("it ends")
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn probe_makes_nothing_without_the_word() {
    let bench = Bench::new(json!({})).await;
    let output = bench.run("generic-searchable", "", &["probe"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--i-understand-it-creates-records"), "{}", said(&output));
}

#[tokio::test]
async fn probe_learns_what_the_crm_does() {
    let cases = [
        ("generic-keyed", json!({ "keyed": true, "lookup": true }), "keyed", 2),
        ("generic-searchable", json!({ "keyed": false, "lookup": true, "index_lag_ms": 300 }), "searchable", 3),
    ];
    for (profile, options, promise, records) in cases {
        let bench = Bench::new(options).await;
        let words = ["probe", "--i-understand-it-creates-records", "--times", "2", "--patience", "20", "--json"];
        let output = bench.run(profile, "", &words).await;
        assert_eq!(output.status.code(), Some(0), "{profile}: {}", said(&output));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(found["promise"], promise, "{found}");
        assert_eq!(
            (found["key_is_kept"].as_bool(), found["seen_after_ms"].as_array().map(Vec::len)),
            (Some(true), Some(2))
        );
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        let url = format!("{}/sandbox/crm/tickets", bench.world.api_url());
        let tickets: Value = http.get(url).send().await.expect("it answers").json().await.expect("JSON");
        assert_eq!(tickets["count"], records, "{profile}: a repeat made one more only where nothing refuses it");
        let text = bench.run(profile, "", &words[..6]).await;
        assert!(said(&text).contains("[crm.reconcile]\nsettle = "), "{}", said(&text));
    }
}

/// The worked example of `docs/crm-profiles.md`, walked as it is printed: its profile, its configuration, both commands and what
/// they say. Times and addresses differ from run to run.
#[tokio::test]
async fn the_guide_is_walked_as_it_is_printed() {
    let guide = include_str!("../../docs/crm-profiles.md");
    let (_, example) = guide.split_once("## A profile in fifteen minutes").expect("the example");
    let block = |begins: &str| {
        let (_, rest) = example.split_once(begins).expect("a block that begins so");
        format!("{begins}{}", rest.split("```").next().unwrap_or_default())
    };
    let bench = Bench::new(json!({ "keyed": false, "lookup": true })).await;
    let crm = bench.folder.path().join("templates/crm");
    std::fs::create_dir_all(&crm).expect("a folder");
    std::fs::write(crm.join("helpdesk.toml"), block("# file: crm/helpdesk.toml")).expect("a file");
    let url = bench.world.crm_base_url();
    let config = block("[telegram]").replace("http://127.0.0.1:34803", &url);
    std::fs::write(bench.folder.path().join("zayavka.toml"), config).expect("a file");
    for (words, printed) in [
        (vec!["check"], block("Form consultation:")),
        (vec!["probe", "--i-understand-it-creates-records"], block("made  ")),
    ] {
        let folder = bench.folder.path().to_owned();
        let run = move || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_zayavka"));
            command.args(words).current_dir(folder).stdin(Stdio::null()).output().expect("it runs")
        };
        let output = tokio::task::spawn_blocking(run).await.expect("it ends");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        for line in printed.replace("http://127.0.0.1:34803", &url).lines() {
            // What is measured, today's date, and what the page cuts short, up to there.
            let known = line.split(['…', '{']).next().unwrap_or_default();
            let known =
                if line.contains(" ms") || line.starts_with("settle") { line.get(..10).unwrap_or(line) } else { known };
            assert!(
                said.lines().any(|said| said.trim_end().starts_with(known.trim_end())),
                "`{line}` is not in\n{said}"
            );
        }
    }
}

#[tokio::test]
async fn probe_that_ends_half_way_tells_what_it_left_behind() {
    let bench = Bench::new(json!({ "keyed": false, "lookup": true })).await;
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let faults = format!("{}/sandbox/crm/faults", bench.world.api_url());
    for fault in [
        // The first create is asked to come back, and comes; the third one's answer is lost.
        json!({ "on": "POST /tickets", "do": "error_before", "status": 429, "retry_after": 1 }),
        json!({ "on": "POST /tickets", "do": "lose_answer", "from": 4 }),
    ] {
        assert!(http.post(&faults).json(&fault).send().await.expect("it answers").status().is_success());
    }
    let words = ["probe", "--i-understand-it-creates-records", "--times", "3", "--patience", "20", "--json"];
    let output = bench.run("generic-searchable", "", &words).await;
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let url = format!("{}/sandbox/crm/tickets", bench.world.api_url());
    let tickets: Value = http.get(url).send().await.expect("it answers").json().await.expect("JSON");
    assert_eq!(
        (tickets["count"].as_u64(), found["left_behind"].as_array().map(Vec::len)),
        (Some(3), Some(3)),
        "{found}"
    );
    assert_eq!(found["repeat"], "makes another ticket: 1002", "{found}");
    assert_eq!((&found["promise"], &found["settle"]), (&Value::Null, &Value::Null), "half a trial: {found}");
    assert!(found["stopped"].as_str().is_some_and(|why| why.contains("no answer that proves anything")), "{found}");
}

#[tokio::test]
async fn probe_that_made_nothing_concludes_nothing() {
    let bench = Bench::new(json!({ "keyed": false, "lookup": true })).await;
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let fault = json!({ "on": "POST /tickets", "do": "lose_answer", "times": 0 });
    let faults = format!("{}/sandbox/crm/faults", bench.world.api_url());
    assert!(http.post(&faults).json(&fault).send().await.expect("it answers").status().is_success());
    let words = ["probe", "--i-understand-it-creates-records", "--times", "1", "--patience", "20"];
    let output = bench.run("generic-searchable", "", &words).await;
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("This supports no promise") && text.contains("left behind"), "{text}");
    assert!(!text.contains("verified =") && !text.contains("settle ="), "{text}");
}

#[tokio::test]
async fn a_repeat_refused_as_bad_content_is_no_key() {
    let bench = Bench::new(json!({ "keyed": false, "lookup": true })).await;
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let fault = json!({ "on": "POST /tickets", "do": "refuse", "from": 2 });
    let faults = format!("{}/sandbox/crm/faults", bench.world.api_url());
    assert!(http.post(&faults).json(&fault).send().await.expect("it answers").status().is_success());
    let words = ["probe", "--i-understand-it-creates-records", "--times", "1", "--patience", "20", "--json"];
    let output = bench.run("generic-searchable", "", &words).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(found["repeat"].as_str().is_some_and(|said| said.starts_with("is refused for its content")), "{found}");
    assert_eq!(found["promise"], "searchable", "{found}");
    assert!(found["why"].as_str().is_some_and(|why| why.contains("is = \"exists\"")), "{found}");
}

#[tokio::test]
async fn check_refuses_a_profile_that_can_never_send() {
    let bench = Bench::new(json!({})).await;
    let shipped = zayavka::catalog::profile::built_in::text("generic-searchable").expect("it ships");
    let crm = bench.folder.path().join("templates/crm");
    std::fs::create_dir_all(&crm).expect("a folder");
    let templates = format!("[templates]\ndir = \"{}\"", bench.folder.path().join("templates").display());
    for (good, bad, table) in [
        ("subject = \"{{ subject }}\"", "subject = \"{{ subject + 1 }}\"", "[[step]]"),
        ("subject = \"{{ subject }}\"", "subject = \"{{ subject | chars }}\"", "[[step]]"),
        (
            "query = { external_id = \"{{ ext.uuid }}\"",
            "query = { n = \"{{ marker + 1 }}\", external_id = \"{{ ext.uuid }}\"",
            "[[lookup]]",
        ),
        ("/tickets/{{ number }}\"", "/tickets/{{ number + 1 }}\"", "[verify]"),
    ] {
        let text = shipped.replacen("generic-searchable", "pingvin", 1).replacen(good, bad, 1);
        assert!(text.contains(bad), "{bad}");
        let line = text.lines().position(|line| line == table).expect("the table") + 1;
        let path = crm.join("pingvin.toml");
        std::fs::write(&path, &text).expect("a file");
        for json in [false, true] {
            let words = if json { vec!["check", "--json"] } else { vec!["check"] };
            let output = bench.run("pingvin", &templates, &words).await;
            let text = said(&output);
            assert_eq!(output.status.code(), Some(1), "{bad}: {text}");
            assert!(text.contains(&format!("pingvin.toml:{line}: ")) && !text.contains("All is well"), "{bad}: {text}");
            if json {
                let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                assert_eq!(report["ok"], false, "{report}");
            }
        }
    }
}

#[tokio::test]
async fn check_shows_each_forms_request_without_secrets() {
    let bench = Bench::new(json!({})).await;
    let output = bench.run("generic-keyed", "", &["check"]).await;
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("POST http://127.0.0.1") && text.contains("authorization: Bearer ***"), "{text}");
    assert!(text.contains("\"subject\": \"Консультация: Text\"") && !text.contains(bench.world.crm_token()), "{text}");
    let output = bench.run("generic-keyed", "", &["check", "--json"]).await;
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(
        report["requests"]["consultation"].as_str().is_some_and(|text| text.contains("idempotency-key")),
        "{report}"
    );
}

#[tokio::test]
async fn check_refuses_to_send_again_where_that_could_double() {
    let bench = Bench::new(json!({})).await;
    for (profile, more, why) in [
        ("generic-blind", "reconcile.on_absent = \"resend\"", "neither be searched nor refuses repeats"),
        (
            "generic-searchable",
            "reconcile.on_absent = \"resend\"\nreconcile.settle = \"20s\"",
            "a miss means something only after",
        ),
    ] {
        let output = bench.run(profile, more, &["check"]).await;
        assert_eq!(output.status.code(), Some(1), "{profile}: {}", said(&output));
        assert!(said(&output).contains(why), "{profile}: {}", said(&output));
    }
    let well = bench.run("generic-searchable", "reconcile.on_absent = \"resend\"", &["check"]).await;
    assert_eq!(well.status.code(), Some(0), "{}", said(&well));
    let text = said(&well);
    assert!(text.contains("if it is not there, it is made again") && !text.contains("goes to a human"), "{text}");
}
