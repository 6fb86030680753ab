//! What the program says of an operator's mistakes: what, where, what to do, all at once.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use sea_orm::ConnectionTrait as _;
use zayavka::store::Store;

use crate::databases::on_both;

const SOUND: &str = r#"[telegram]
token = "1000000001:SANDBOX-token-that-opens-nothing-00"
[staff]
owners = [1]
chat = -1001000000001
[crm]
profile = "generic-keyed"
[crm.vars]
base_url = "http://127.0.0.1:9100"
[crm.secrets]
token = "secret"
"#;

/// Runs the program in a folder whose `zayavka.toml` says this; its exit code and all it said.
fn ran(folder: &Path, config: &str, words: &[&str]) -> (Option<i32>, String) {
    let said = |output: Output| {
        let all = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&all).into_owned())
    };
    let written = fs::write(folder.join("zayavka.toml"), config);
    let mut command = Command::new(env!("CARGO_BIN_EXE_zayavka"));
    let output = written.and_then(|()| command.args(words).current_dir(folder).env_clear().output());
    output.map_or_else(|error| panic!("{error}"), said)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"))
}

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).and_then(|()| fs::write(&path, text)).unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// What `check` says of mistakes: exit code 1.
fn unwell(folder: &Path, config: &str) -> String {
    let (code, said) = ran(folder, config, &["check"]);
    assert_eq!(code, Some(1), "{said}");
    said
}

fn well(folder: &Path, config: &str) -> String {
    let (code, said) = ran(folder, config, &["check"]);
    assert_eq!(code, Some(0), "{said}");
    said
}

#[test]
fn no_file_is_needed_where_the_environment_says_everything() {
    let folder = folder();
    let named = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zayavka"));
        command.args(words).current_dir(folder.path()).env_clear().envs(variables.iter().copied());
        let output = command.output().unwrap_or_else(|error| panic!("{error}"));
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let all = [
        ("ZAYAVKA_TELEGRAM__TOKEN", "1000000001:SANDBOX-token-that-opens-nothing-00"),
        ("ZAYAVKA_CRM__PROFILE", "generic-keyed"),
        ("ZAYAVKA_CRM__VARS__BASE_URL", "http://127.0.0.1:9100"),
        ("ZAYAVKA_CRM__SECRETS__TOKEN", "secret"),
    ];
    let (code, said) = named(&["check"], &all);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("consultation"), "{said}");
    let (code, said) = named(&["check"], &all[..2]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("`crm.secrets.token` is missing"), "{said}");
    // A file that was named is read, or missed; and without a token nobody meant the environment.
    for (words, variables) in [(&["check", "--config", "other.toml"][..], &all[..]), (&["check"], &all[1..])] {
        let (code, said) = named(words, variables);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(".toml: cannot be read"), "{said}");
    }
}

#[test]
fn a_folder_of_templates_that_was_named_and_is_not_there_is_spoken_of() {
    let folder = folder();
    well(folder.path(), SOUND);
    well(folder.path(), &format!("{SOUND}[templates]\ndir = \"templates\"\n"));
    let said = well(folder.path(), &format!("{SOUND}[templates]\ndir = \"nodir\"\n"));
    assert!(
        said.contains("zayavka.toml:13: warning: `templates.dir` nodir: is not there, only what ships serves"),
        "{said}"
    );
    put(folder.path(), "afile", "");
    let said = unwell(folder.path(), &format!("{SOUND}[templates]\ndir = \"afile\"\n"));
    assert!(said.contains("zayavka.toml:13: `templates.dir` afile: is a file, not a folder"), "{said}");
}

#[test]
fn a_mistyped_name_among_the_templates_is_spoken_of() {
    let folder = folder();
    put(folder.path(), "tpl/formz/a.toml", "");
    put(folder.path(), "tpl/forms/f.tml", "");
    let said = well(folder.path(), &format!("{SOUND}[templates]\ndir = \"tpl\"\n"));
    assert!(said.contains("tpl/formz: warning: is not read — did you mean `forms`?"), "{said}");
    assert!(said.contains("tpl/forms/f.tml: warning: is not read — did you mean `f.toml`?"), "{said}");
}

#[test]
fn an_own_text_file_has_every_text() {
    let folder = folder();
    let shipped = include_str!("../../templates/texts/ru.toml");
    put(folder.path(), "templates/texts/ru.toml", &shipped.replace("chosen = \"Выбрано.\"", "chosen = \"Записали.\""));
    well(folder.path(), SOUND);
    put(folder.path(), "templates/texts/ru.toml", &shipped.replace("chosen = \"Выбрано.\"\n", ""));
    let said = unwell(folder.path(), SOUND);
    assert!(said.contains("ru.toml") && said.contains("`tap.chosen` is missing"), "{said}");
}

#[test]
fn what_the_profile_asks_for_is_told_with_its_line() {
    let folder = folder();
    let said = unwell(folder.path(), &SOUND.replace("token = \"secret\"", "tokn = \"secret\""));
    assert!(said.contains("zayavka.toml:10: `crm.secrets.token` is missing"), "{said}");
    assert!(
        said.contains("zayavka.toml:11: the profile `generic-keyed` has no secret `tokn` — did you mean `token`?"),
        "{said}"
    );
    let said = unwell(folder.path(), &SOUND.replace("http://127.0.0.1:9100", "127.0.0.1:9100"));
    assert!(said.contains("zayavka.toml:9: `crm.vars.base_url`: it must be"), "{said}");
    let said = unwell(folder.path(), &SOUND.replace("generic-keyed", "generic-nope"));
    assert!(
        said.contains(
            "zayavka.toml:7: there is no CRM profile `generic-nope` — there are: generic-blind, generic-keyed"
        ),
        "{said}"
    );
    assert!(said.contains("templates/crm/generic-nope.toml"), "{said}");
    let said = unwell(folder.path(), &format!("{SOUND}[templates]\nlanguage = \"fr\"\n"));
    assert!(said.contains("zayavka.toml:13: there is no file of texts for the default language `fr`"), "{said}");
}

#[test]
fn mistakes_of_the_settings_and_of_what_they_name_come_at_once() {
    let folder = folder();
    let wrong = SOUND
        .replace("profile =", "request_timeout = \"40s\"\nlease = \"30s\"\nprofile =")
        .replace("token = \"1000000001:SANDBOX-token-that-opens-nothing-00\"\n", "");
    let said = unwell(folder.path(), &format!("{wrong}[crm.reconcile]\nsettle = \"1s\"\n"));
    assert!(said.contains("`telegram.token` is missing"), "{said}");
    assert_eq!(said.matches("`crm.lease`").count(), 1, "{said}");
    assert!(said.contains("zayavka.toml:14: `crm.reconcile.settle` 1s is shorter than request_timeout 40s"), "{said}");
    let (code, said) = ran(folder.path(), &format!("{wrong}[crm.reconcile]\nsettle = \"1s\"\n"), &["run"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`crm.lease`") && said.contains("`crm.reconcile.settle`"), "{said}");
}

#[test]
fn figures_are_checked_though_the_profile_its_variables_or_its_secrets_are_wrong() {
    let folder = folder();
    let figures = "[crm.reconcile]\nsettle = \"1s\"\n";
    for (right, wrong, said_of_it) in [
        ("token = \"secret\"", "token = \"\"", "zayavka.toml:11: `crm.secrets.token` is empty"),
        ("http://127.0.0.1:9100", "127.0.0.1:9100", "zayavka.toml:9: `crm.vars.base_url`: it must be"),
        ("generic-keyed", "generic-keyd", "zayavka.toml:7: there is no CRM profile `generic-keyd`"),
    ] {
        let said = unwell(folder.path(), &format!("{SOUND}{figures}").replace(right, wrong));
        assert!(said.contains(said_of_it), "{said}");
        let settle = "zayavka.toml:13: `crm.reconcile.settle` 1s is shorter than request_timeout 10s";
        assert_eq!(said.matches(settle).count(), 1, "{said}");
    }
    // What no profile was read for is not made up.
    let said = unwell(folder.path(), &SOUND.replace("generic-keyed", "generic-keyd"));
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn one_mistake_is_one_line() {
    let folder = folder();
    put(folder.path(), "empty", "\n");
    for (config, setting) in [
        (SOUND.replace("token = \"secret\"", "token = \"\""), "`crm.secrets.token"),
        (SOUND.replace("token = \"secret\"", "token_file = \"empty\""), "`crm.secrets.token"),
        (SOUND.replace("base_url = \"http://127.0.0.1:9100\"", "base_url = [1]"), "`crm.vars.base_url"),
        (
            SOUND.replace("generic-keyed", "generic-blind") + "[crm.reconcile]\non_absent = \"resend\"\n",
            "`crm.reconcile.on_absent`",
        ),
        (
            SOUND.replace(
                "[staff]",
                "receive = \"webhook\"\n[telegram.webhook]\nurl = \"https://b.example.ru/t\"\nsecret_token = \"\"\n[staff]",
            ),
            "`telegram.webhook.secret_token`",
        ),
    ] {
        let said = unwell(folder.path(), &config);
        assert_eq!((said.matches(setting).count(), said.lines().count()), (1, 1), "{said}");
    }
}

#[test]
fn a_profile_that_is_not_selected_is_read_too() {
    let folder = folder();
    let shipped = include_str!("../../templates/crm/generic-blind.toml");
    put(folder.path(), "templates/crm/generic-blind.toml", shipped);
    let said = well(folder.path(), SOUND);
    assert!(!said.contains("warning"), "{said}");
    let magic = shipped.replace("promise = \"blind\"", "promise = \"magic\"");
    put(folder.path(), "templates/crm/generic-blind.toml", &magic);
    put(folder.path(), "templates/crm/notes.toml", "to be written\n");
    let said = well(folder.path(), SOUND);
    assert!(said.contains("templates/crm/generic-blind.toml:12: warning: "), "{said}");
    assert!(said.contains("cannot be `magic`"), "{said}");
    assert!(said.contains("templates/crm/notes.toml:1: warning: not valid TOML"), "{said}");
    let said = unwell(folder.path(), &SOUND.replace("generic-keyed", "generic-blind"));
    assert!(said.contains("templates/crm/generic-blind.toml:12: `profile.promise` cannot be `magic`"), "{said}");
}

#[test]
fn words_that_call_an_unknown_one_unsent_or_made_are_refused() {
    let folder = folder();
    let shipped = include_str!("../../templates/texts/ru.toml");
    for words in ["Заявка {marker} не отправлена", "Заявка {marker} в CRM есть", "Заявка {marker} соз\u{AD}дана"]
    {
        let changed = shipped.lines().map(|line| match line.starts_with("waiting_unknown = ") {
            true => format!("waiting_unknown = \"{words}\"\n"),
            false => format!("{line}\n"),
        });
        put(folder.path(), "templates/texts/ru.toml", &changed.collect::<String>());
        let said = unwell(folder.path(), SOUND);
        assert!(said.contains("`notice.waiting_unknown`: «") && said.lines().count() == 1, "{words}: {said}");
    }
}

#[test]
fn what_is_wrong_is_told_to_programs_in_parts() {
    let folder = folder();
    let parts = |config: &str, code: i32| {
        let (ended, said) = ran(folder.path(), config, &["check", "--json"]);
        assert_eq!(ended, Some(code), "{said}");
        let line = said.lines().find(|line| line.starts_with('{')).unwrap_or_default();
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{error}: {said}"))
    };
    let told = parts(&SOUND.replace("token = \"secret\"", "token = \"\""), 1);
    let (line, detail) = (told["problems"][0].as_str().unwrap_or_default(), &told["details"][0]);
    assert!(line.starts_with("zayavka.toml:11: "), "{told}");
    assert_eq!((&detail["file"], &detail["line"]), (&"zayavka.toml".into(), &11.into()), "{told}");
    assert_eq!((&detail["severity"], &detail["hint"]), (&"error".into(), &"".into()), "{told}");
    assert_eq!(detail["what"], "`crm.secrets.token` is empty");
    let told = parts(&format!("{SOUND}[templates]\ndir = \"nodir\"\n"), 0);
    assert_eq!((&told["ok"], &told["details"][0]["severity"]), (&true.into(), &"warning".into()), "{told}");
}

#[test]
fn a_configuration_that_cannot_be_read_ends_every_command_alike() {
    let folder = folder();
    for words in [&["check"][..], &["run"], &["doctor"], &["migrate", "status"], &["ops", "list"], &["why", "1"]] {
        let (code, said) = ran(folder.path(), SOUND, &[words, &["--config", "nofile.toml"][..]].concat());
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.contains("nofile.toml: cannot be read: there is no such file"), "{said}");
    }
    // One that can be read has been checked.
    let (code, said) = ran(folder.path(), "[telegram\n", &["check"]);
    assert_eq!(code, Some(1), "{said}");
}

#[test]
fn a_database_that_cannot_be_used_is_named_with_its_place_and_what_to_do() {
    let folder = folder();
    put(folder.path(), "notes.db", &"this is no database ".repeat(100));
    for (url, said_of_it, advice) in [
        ("sqlite://nowhere/z.db", "unable to open database file", "is the file there"),
        ("sqlite://notes.db", "file is not a database", "name another one"),
        ("postgres://u:hunter2@127.0.0.1:1/z", "postgres://u:…@127.0.0.1:1/z", "does the server run"),
    ] {
        let config = format!("{SOUND}[database]\nurl = \"{url}\"\n[web]\nlisten = \"127.0.0.1:0\"\n");
        for words in [&["run"][..], &["migrate", "status"]] {
            let (code, said) = ran(folder.path(), &config, words);
            assert_eq!(code, Some(2), "{url}: {said}");
            assert!(said.contains("zayavka.toml:13: `database.url` "), "{said}");
            assert!(said.contains(said_of_it) && said.contains(advice) && !said.contains("hunter2"), "{said}");
        }
    }
}

on_both! {
    async fn the_release_before_goes_on_with_a_later_schema(db: Database) {
        let store = Store::connect(&db.url).await.unwrap_or_else(|error| panic!("{error}"));
        store.migrate().await.unwrap_or_else(|error| panic!("{error}"));
        let later = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('m20990101_000001_later', 1)";
        let added = store.write(move |tx| async move { Ok(tx.as_ref().execute_unprepared(later).await?) }).await;
        added.unwrap_or_else(|error| panic!("{error}"));
        store.migrate().await.unwrap_or_else(|error| panic!("{error}"));
        let steps = store.schema_steps().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((steps.pending.as_slice(), steps.unknown.as_slice()), (&[][..], &["m20990101_000001_later".to_owned()][..]));
        let folder = folder();
        let config = format!("{SOUND}[database]\nurl = \"{}\"\n", db.url);
        let (code, said) = ran(folder.path(), &config, &["migrate", "status"]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("Warning: applied by a later release") && said.contains("m20990101_000001_later"), "{said}");
        // A schema that is neither the one nor the other is nobody's.
        let lacking = "DELETE FROM seaql_migrations WHERE version LIKE '%_set_back'";
        let removed = store.write(move |tx| async move { Ok(tx.as_ref().execute_unprepared(lacking).await?) }).await;
        removed.unwrap_or_else(|error| panic!("{error}"));
        let mixed = store.migrate().await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(mixed.contains("steps of another release (m20990101_000001_later)") && mixed.contains("_set_back"), "{mixed}");
        store.close().await;
    }

    async fn a_database_that_can_only_be_read_stops_the_start(db: Database) {
        let store = Store::connect(&db.url).await.unwrap_or_else(|error| panic!("{error}"));
        store.migrate().await.unwrap_or_else(|error| panic!("{error}"));
        store.close().await;
        let url = match db.url.strip_prefix("sqlite:") {
            // A read-only server is one whose sessions are.
            None => format!("{}{}options=-c%20default_transaction_read_only%3Don", db.url, if db.url.contains('?') { '&' } else { '?' }),
            Some(_) => format!("{}?mode=ro", db.url),
        };
        let folder = folder();
        let (code, said) = ran(folder.path(), &format!("{SOUND}[database]\nurl = \"{url}\"\n[web]\nlisten = \"127.0.0.1:0\"\n"), &["run"]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("zayavka.toml:13: `database.url` ") && said.contains("nothing can be stored"), "{said}");
    }
}
