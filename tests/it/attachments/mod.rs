//! Files: sent in the chat, kept as names alone, and with the ticket once, whatever is lost on the way.

#![expect(clippy::expect_used, reason = "a test that cannot set itself up should stop there")]

mod chat;
mod desk;
mod parts;
mod sent;

use std::collections::BTreeMap;

use zayavka::{app, config::Config};

/// A form with a question for files.
pub(crate) const FORM: &str = r#"
id = "consultation"
title = "Консультация"
[[field]]
id = "name"
kind = "text"
ask = "Как к вам обращаться?"
[[field]]
id = "papers"
kind = "files"
ask = "Приложите документы"
optional = true
max = 3
max_size = 2
types = ["image/*", "application/pdf"]
[[field]]
id = "note"
kind = "text"
ask = "Что ещё?"
when = "answered(papers)"
[ticket]
subject = "Документы: {{ answers.name }}"
body = "{{ summary }}\n[{{ answers.papers }}]"
"#;

#[test]
fn check_names_the_line_of_a_question_for_files_that_do_not_all_reach_the_ticket() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("forms")).expect("a folder");
    let form = folder.path().join("forms/consultation.toml");
    let checked = |profile: &str, vars: &str, secret: &str, max: u32| {
        std::fs::write(&form, FORM.replace("max = 3", &format!("max = {max}"))).expect("a file");
        let text = format!(
            "[telegram]\ntoken = \"1000000001:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc\"\n[staff]\nchat = -1001\nowners = [9001]\n\
             [database]\nurl = \"sqlite://z.db\"\n[crm]\nprofile = \"{profile}\"\n[crm.vars]\n\
             base_url = \"http://127.0.0.1:1\"\n{vars}\n[crm.secrets]\n{secret} = \"s3cret\"\n[templates]\ndir = \"{}\"\n",
            folder.path().display()
        );
        let config =
            Config::parse("zayavka.toml", &text, &BTreeMap::new()).unwrap_or_else(|problems| panic!("{problems}"));
        app::check(&config).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let redmine = "project = \"p\"\ntracker_id = \"1\"\nkey_field_id = \"2\"";
    let none = checked("generic-searchable", "", "token", 3).warnings.to_string();
    let file = form.display();
    let said =
        format!("{file}:10: warning: `papers` asks for files, but the CRM profile `generic-searchable` takes none");
    assert!(none.contains(&said), "{none}");
    assert!(!checked("redmine", redmine, "api_key", 10).warnings.to_string().contains("papers"));
    let few = folder.path().join("crm");
    std::fs::create_dir_all(&few).expect("a folder");
    let text = zayavka::catalog::profile::built_in::text("redmine").expect("it ships");
    std::fs::write(few.join("redmine.toml"), text.replace("max_files = 10", "max_files = 2")).expect("a file");
    let some = checked("redmine", redmine, "api_key", 3).warnings.to_string();
    assert!(
        some.contains(":10: ") && some.contains("takes 3 files of 2 MB, the CRM profile `redmine` 2 of 20 MB"),
        "{some}"
    );
}
