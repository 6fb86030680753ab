//! Files as parts of the ticket's own form, and as addresses in it.

use serde_json::json;

use super::{
    desk::field,
    sent::{CONTENTS, INLINE, MINUTE, UPLOAD, apply, longest_stored, photo, scan, why, world},
};
use crate::{databases::on_both, world::ANNA};

const PARTS: &str = r#"
[attachments]
kind = "multipart"
parts = { "case[files][{{ file.number }}]" = "{{ file.content }}", "names[]" = "{{ file.name }}" }
"#;

const TREE: &str = r#"more = { list = ["{{ marker }}", 2] }"#;

/// Where something stands in a body.
fn place(body: &[u8], needle: &[u8]) -> Option<usize> {
    body.windows(needle.len()).position(|window| window == needle)
}

on_both! {
    async fn files_go_as_parts_beside_the_fields_and_a_repeat_is_the_same_to_the_byte(db: Database) {
        let (mut world, desk, _folder) = world(db, true, TREE, PARTS).await;
        desk.answers("create", 500, true);
        apply(&mut world).await;
        world.pass(MINUTE * 10).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1));
        let creates = desk.seen("create");
        assert_eq!(creates.len(), 2);
        assert_eq!((&creates[0].body, &creates[0].kind), (&creates[1].body, &creates[1].kind), "byte for byte");
        let boundary = creates[0].kind.strip_prefix("multipart/form-data; boundary=").expect("a form").to_owned();
        let body = &creates[0].body;
        let head = |n: usize, name: &str, kind: &str| {
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"case[files][{n}]\"; filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n")
        };
        for (n, name, kind, content) in [(1, "photo_1.jpg", "image/jpeg", photo()), (2, "скан.pdf", "application/pdf", scan())] {
            let part = [head(n, name, kind).as_bytes(), &content, format!("\r\n--{boundary}").as_bytes()].concat();
            assert!(place(body, &part).is_some(), "no part {name} as it is");
        }
        let text = String::from_utf8_lossy(body);
        assert_eq!(field(&text, "names[]").as_deref(), Some("photo_1.jpg"));
        assert_eq!(field(&text, "more[list][]").as_deref(), Some(world.marker(ANNA).await.as_str()));
        assert!(field(&text, "text").is_some_and(|text| text.contains("Анна")), "the fields are there too");
        assert!(body.ends_with(format!("\r\n--{boundary}--\r\n").as_bytes()));
        assert!(longest_stored(&world).await < 6_000, "no file is in the database");
        world.finish_elsewhere().await;
    }

    async fn without_files_the_ticket_goes_as_it_always_did(db: Database) {
        let (mut world, desk, _folder) = world(db, false, "", PARTS).await;
        world.fault(json!({ "on": "getFile", "do": "error_before", "status": 400, "times": 0 })).await;
        apply(&mut world).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1), "a file never costs the ticket");
        let create = desk.seen("create").remove(0);
        assert_eq!(create.kind, "application/json");
        let text = create.json()["text"].as_str().expect("a text").to_owned();
        assert!(text.contains("Файл «photo_1.jpg» не приложен: Telegram его больше не отдаёт."), "{text}");
        let why = why(&mut world).await;
        assert!(why.contains("файл не приложен · 2"), "{why}");
        world.finish_elsewhere().await;
    }

    async fn a_ticket_refused_with_its_files_is_made_without_them(db: Database) {
        let (mut world, desk, _folder) = world(db, false, "", PARTS).await;
        desk.answers("create", 422, false);
        apply(&mut world).await;
        world.pass(MINUTE).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1));
        let creates = desk.seen("create");
        assert_eq!((creates.len(), creates[1].kind.as_str()), (2, "application/json"));
        let text = creates[1].json()["text"].as_str().expect("a text").to_owned();
        assert!(text.contains("Файл «скан.pdf» не приложен: CRM его не приняла."), "{text}");
        world.finish_elsewhere().await;
    }

    async fn what_is_refused_without_files_too_is_told_to_the_person(db: Database) {
        let (mut world, desk, _folder) = world(db, false, CONTENTS, INLINE).await;
        desk.answers("create", 422, false);
        desk.answers("create", 422, false);
        apply(&mut world).await;
        world.pass(MINUTE).await;
        assert_eq!((world.state(ANNA).await, desk.tickets(), desk.seen("create").len()), ("rejected", 0, 2));
        world.finish_elsewhere().await;
    }

    async fn a_form_whose_answer_was_lost_is_found_and_its_files_are_there_once(db: Database) {
        let (mut world, desk, _folder) = world(db, false, "", PARTS).await;
        desk.answers("create", 502, true);
        apply(&mut world).await;
        world.pass(MINUTE * 10).await;
        assert_eq!((world.state(ANNA).await, desk.tickets(), desk.seen("create").len()), ("created", 1, 1));
        world.finish_elsewhere().await;
    }

    async fn an_upload_gives_the_address_that_the_ticket_names(db: Database) {
        let way = UPLOAD.replace("upload_then_token", "url_list").replace("id = \"upload.token\"", "url = \"upload.url\"");
        let urls = "attachment_urls = \"{{ files | each('url') }}\"";
        let (mut world, desk, _folder) = world(db, false, urls, &way).await;
        desk.answers("create", 429, false);
        apply(&mut world).await;
        world.pass(MINUTE).await;
        assert_eq!((world.state(ANNA).await, desk.tickets(), desk.seen("upload").len()), ("created", 1, 2));
        let create = desk.seen("create").remove(1);
        let wanted = json!(["https://files.example/1?a=b", "https://files.example/2?a=b"]);
        assert_eq!(create.json()["attachment_urls"], wanted);
        assert!(!String::from_utf8_lossy(&create.body).contains("telegram"), "never an address of Telegram's");
        world.finish_elsewhere().await;
    }

    async fn an_upload_that_names_no_address_leaves_the_file_out(db: Database) {
        let way = UPLOAD.replace("upload_then_token", "url_list").replace("id = \"upload.token\"", "url = \"upload.token\"");
        let urls = "attachment_urls = \"{{ files | each('url') }}\"";
        let (mut world, desk, _folder) = world(db, false, urls, &way).await;
        apply(&mut world).await;
        world.pass(MINUTE * 20).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1));
        let create = desk.seen("create").remove(0).json();
        assert_eq!(create.get("attachment_urls"), None, "`t1` is no address");
        assert!(create["text"].as_str().is_some_and(|text| text.contains("«скан.pdf» не приложен")), "{create}");
        world.finish_elsewhere().await;
    }
}
