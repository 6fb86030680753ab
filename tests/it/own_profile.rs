//! A profile of the operator's own, through the program: what `check` shows of it, and that the calendar is asked.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value as Json, json};
use zayavka::catalog::profile::built_in;

const CONFIG: &str = r#"[telegram]
token = "1000000001:SANDBOX-token-that-opens-nothing-00"
[staff]
owners = [1]
chat = -1001000000001
[crm]
profile = "mine"
vars = { base_url = "http://127.0.0.1:9100" }
secrets = { token = "secret" }
"#;

/// The searchable profile under a name of its own, tried as `verified` says.
fn profile(verified: &str) -> String {
    let text = built_in::text("generic-searchable").unwrap_or_default();
    let shipped = "verified = { date = \"2026-11-30\", against = \"the sandbox's CRM\" }";
    assert!(text.contains(shipped), "{text}");
    text.replace("generic-searchable", "mine").replacen(shipped, &format!("profile_version = 3\n{verified}"), 1)
}

fn checked(folder: &Path, profile: &str, words: &[&str]) -> (Option<i32>, String) {
    let crm = folder.join("templates/crm");
    let written = fs::create_dir_all(&crm)
        .and_then(|()| fs::write(crm.join("mine.toml"), profile))
        .and_then(|()| fs::write(folder.join("zayavka.toml"), CONFIG));
    let mut command = Command::new(env!("CARGO_BIN_EXE_zayavka"));
    command.arg("check").args(words).current_dir(folder).env_clear();
    let said = |output: Output| {
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    written.and_then(|()| command.output()).map_or_else(|error| panic!("{error}"), said)
}

#[test]
fn check_shows_a_profiles_version_and_who_tried_it() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let text = profile("verified = { date = \"2026-11-29\", against = \"our staging 2.4\", by = \"Анна\" }");
    let (code, said) = checked(folder.path(), &text, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("\n  Profile version: 3.\n  Tried: 2026-11-29 by Анна, against our staging 2.4.\n"),
        "{said}"
    );
    let (code, said) = checked(folder.path(), &text, &["--json"]);
    let told: Json = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(code, Some(0), "{said}");
    let parts = ["profile_version", "verified", "verified_on", "verified_by"].map(|name| told[name].clone());
    assert_eq!(parts, [json!("3"), json!("our staging 2.4"), json!("2026-11-29"), json!("Анна")]);
}

#[test]
fn check_refuses_a_trial_that_has_not_been() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    for (verified, wanted) in [
        (
            "verified = { date = \"2999-11-30\", against = \"our staging\" }",
            "2999-11-30 has not come yet — the day it was seen",
        ),
        (
            "verified = { date = \"2026-11-30\", against = \"…\" }",
            "`against` is `…`, which says nothing — product and version",
        ),
    ] {
        let text = profile(verified);
        let line = text.lines().position(|line| line.starts_with("verified")).map(|at| at + 1);
        let (code, said) = checked(folder.path(), &text, &[]);
        assert_eq!(code, Some(1), "{said}");
        let place = format!("templates/crm/mine.toml:{}: {wanted}", line.unwrap_or_default());
        assert!(said.contains(&place), "no `{place}` in: {said}");
    }
}
