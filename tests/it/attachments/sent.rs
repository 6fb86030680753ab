//! Files on their way to the CRM: before the ticket, within it, after it.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use zayavka::{
    catalog::profile::template::base64,
    ids::UserId,
    store::{crm_steps, operations},
};

use super::{FORM, desk::Desk};
use crate::{
    databases::{Database, on_both},
    world::{ANNA, BOT, Options, SUBMIT, World},
};

pub(super) const MINUTE: Duration = Duration::from_secs(60);

const HEAD: &str = r#"
auth.kind = "none"
number.pattern = "[0-9]{1,9}"
[profile]
name = "filed"
system = "A desk with files"
promise = "PROMISE"
verified = { date = "2026-11-30", against = "a desk on loopback" }
evidence = [{ claim = "it does", source = "this test", date = "2026-11-30" }]
[vars.base_url]
type = "url"
help = "the address"
[limits]
per_second = 100
burst = 100
concurrency = 4
[dedupe]
repeat = "REPEAT"
[[step]]
name = "create"
request = { url = "{{ vars.base_url }}/tickets", body = { ref = "{{ ext.token }}", text = "{{ body }}", keyed = KEYED, FILES } }
read = { id = "id" }
outcome = [{ status = 201, is = "created" }, { status = 429, is = "throttled" }, { status = 422, is = "refused" }]
[[lookup]]
name = "ticket"
request = { url = "{{ vars.base_url }}/tickets", query = { ref = "{{ ext.token }}" } }
results = "items"
match = { path = "ref", equals = "{{ ext.token }}" }
read = { id = "id" }
"#;

pub(super) const UPLOAD: &str = r#"
[attachments]
kind = "upload_then_token"
request = { url = "{{ vars.base_url }}/uploads", query = { filename = "{{ file.name }}" }, body_kind = "file" }
read = { id = "upload.token" }
outcome = [{ status = 201, is = "created" }, { status = 413, is = "refused" }]
"#;

pub(super) const INLINE: &str = "[attachments]\nkind = \"inline_base64\"\n";

const AFTER: &str = r#"
[attachments]
kind = "after_create_post"
request = { url = "{{ vars.base_url }}/tickets/{{ id }}/files", body_kind = "multipart", body = { title = "{{ file.name }}", file = "{{ file.content }}" } }
outcome = [{ status = 201, is = "created" }, { status = 413, is = "refused" }]
"#;

const TOKENS: &str = "uploads = \"{{ files | each({'token': 'token', 'filename': 'name', 'type': 'type'}) }}\"";
pub(super) const CONTENTS: &str = "files = \"{{ files | each({'FileName': 'name', 'FileContent': 'content'}) }}\"";

/// The product with a desk that takes files in this way.
pub(super) async fn world(db: Database, keyed: bool, files: &str, way: &str) -> (World, Desk, TempDir) {
    let desk = Desk::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("filed.toml");
    let (promise, repeat) = if keyed { ("keyed", "returns_existing") } else { ("searchable", "duplicates") };
    // A keyed one that cannot be searched repeats at once.
    let lookup = HEAD.find("[[lookup]]").map_or("", |at| &HEAD[at..]);
    let head = if keyed { HEAD.replace(lookup, "") } else { HEAD.to_owned() };
    let text = format!("{head}{way}").replace("PROMISE", promise).replace("REPEAT", repeat);
    let text = text
        .replace("KEYED", &keyed.to_string())
        .replace(", FILES", &if files.is_empty() { String::new() } else { format!(", {files}") });
    std::fs::write(&file, text).expect("a file");
    let section = format!("[crm]\nprofile = \"{}\"\n[crm.vars]\nbase_url = \"{}\"\n", file.display(), desk.url);
    let options = Options::searchable().form(|_| FORM.to_owned()).with_crm(section);
    let options = if keyed { options.set("crm.reconcile.settle", "1m") } else { options };
    let mut world = World::with(db, options).await;
    world.type_text(ANNA, "/start").await;
    world.type_text(ANNA, "Анна").await;
    (world, desk, folder)
}

/// Attaches a photo and a document, and sends.
pub(super) async fn apply(world: &mut World) {
    world.act(ANNA, "photo", json!({})).await;
    world.act(ANNA, "document", json!({ "file_name": "скан.pdf", "size": 70_000 })).await;
    world.settle().await;
    world.tap(ANNA, "Готово").await;
    world.type_text(ANNA, "всё").await;
    world.tap(ANNA, SUBMIT).await;
}

/// The bytes the sandbox's Telegram has for a file.
fn bytes(path: &str, size: usize) -> Vec<u8> {
    let start = [0xFF, 0xD8, 0xFF, 0xE0].into_iter().chain(path.bytes());
    start.chain((0..=u8::MAX).cycle()).take(size).collect()
}

pub(super) fn photo() -> Vec<u8> {
    bytes("photos/file_1", 122_880)
}

pub(super) fn scan() -> Vec<u8> {
    bytes("documents/file_2", 70_000)
}

pub(super) async fn why(world: &mut World) -> String {
    let marker = world.marker(ANNA).await;
    world.staff(&format!("/why {marker}")).await
}

/// The longest text the database holds of this ticket's requests.
pub(super) async fn longest_stored(world: &World) -> usize {
    let stored = world.operations(ANNA).await.remove(0);
    let steps = crm_steps::load(world.app().store.reader(), stored.operation.id).await.expect("rows");
    let prepared = stored.prepared.map_or(0, |text| text.len());
    steps.iter().map(|step| step.output.len()).max().unwrap_or(0).max(prepared)
}

on_both! {
    async fn uploads_go_first_and_once_and_the_ticket_names_their_tokens(db: Database) {
        let (mut world, desk, _folder) = world(db, false, TOKENS, UPLOAD).await;
        desk.answers("create", 429, false);
        apply(&mut world).await;
        assert_eq!(world.state(ANNA).await, "pending");
        world.pass(MINUTE).await;
        assert_eq!(world.state(ANNA).await, "created");
        let uploads = desk.seen("upload");
        assert_eq!(uploads.len(), 2, "what was uploaded is not uploaded again");
        assert_eq!((uploads[0].body.clone(), uploads[0].kind.as_str()), (photo(), "image/jpeg"));
        assert_eq!(uploads[0].path, "/uploads?filename=photo_1.jpg");
        assert_eq!((uploads[1].body.clone(), uploads[1].kind.as_str()), (scan(), "application/pdf"));
        let creates = desk.seen("create");
        assert_eq!((creates.len(), &creates[0].body), (2, &creates[1].body), "byte for byte");
        assert_eq!(creates[1].json()["uploads"], json!([
            {"token": "t1", "filename": "photo_1.jpg", "type": "image/jpeg"},
            {"token": "t2", "filename": "скан.pdf", "type": "application/pdf"},
        ]));
        assert_eq!(desk.tickets(), 1);
        assert!(longest_stored(&world).await < 4_000, "no file is in the database");
        let store = world.app().store.clone();
        let operation = world.operations(ANNA).await[0].operation.id;
        let erased = store.write(|tx| async move { operations::erase(tx.as_ref(), BOT, UserId(ANNA)).await }).await;
        assert_eq!(erased.expect("erased"), 1);
        assert!(crm_steps::load(store.reader(), operation).await.expect("rows").is_empty());
        assert!(world.operations(ANNA).await[0].order.is_none(), "the files' ids go with the answers");
        drop(store);
        world.finish_elsewhere().await;
    }

    async fn a_file_that_cannot_be_had_never_costs_the_ticket(db: Database) {
        let (mut world, desk, _folder) = world(db, false, TOKENS, UPLOAD).await;
        // An address that is over is asked for once more; a refused file is left out.
        world.fault(json!({ "on": "file", "do": "error_before", "status": 404 })).await;
        desk.answers("upload", 413, false);
        apply(&mut world).await;
        assert_eq!(world.state(ANNA).await, "created");
        assert_eq!(world.calls("telegram", "getFile").await.len(), 3);
        let create = desk.seen("create").remove(0).json();
        assert_eq!(create["uploads"].as_array().map(Vec::len), Some(1));
        let text = create["text"].as_str().expect("a text");
        assert!(text.ends_with("Файл «photo_1.jpg» не приложен: CRM его не приняла."), "{text}");
        let why = why(&mut world).await;
        assert!(why.contains("файл не приложен · 1 · CRM его не приняла"), "{why}");
        world.finish_elsewhere().await;
    }

    async fn a_file_telegram_lost_is_named_in_the_ticket(db: Database) {
        let (mut world, desk, _folder) = world(db, false, TOKENS, UPLOAD).await;
        world.fault(json!({ "on": "getFile", "do": "error_before", "status": 400 })).await;
        apply(&mut world).await;
        assert_eq!((world.state(ANNA).await, desk.tickets(), desk.seen("upload").len()), ("created", 1, 1));
        let text = desk.seen("create")[0].json()["text"].as_str().expect("a text").to_owned();
        assert!(text.ends_with("Файл «photo_1.jpg» не приложен: Telegram его больше не отдаёт."), "{text}");
        world.finish_elsewhere().await;
    }

    async fn a_ticket_waits_a_little_for_its_files_and_then_goes_without(db: Database) {
        let (mut world, desk, _folder) = world(db, false, TOKENS, UPLOAD).await;
        world.fault(json!({ "on": "getFile", "do": "error_before", "status": 502, "times": 0 })).await;
        apply(&mut world).await;
        assert_eq!((world.state(ANNA).await, desk.seen("create").len()), ("pending", 0));
        world.pass(MINUTE * 10).await;
        assert_eq!((world.state(ANNA).await, desk.tickets(), desk.seen("upload").len()), ("created", 1, 0));
        let text = desk.seen("create")[0].json()["text"].as_str().expect("a text").to_owned();
        assert!(text.contains("Файл «photo_1.jpg» не приложен: его не удалось") && text.contains("Файл «скан.pdf»"), "{text}");
        world.finish_elsewhere().await;
    }

    async fn where_files_are_required_the_ticket_waits_for_them(db: Database) {
        let way = UPLOAD.replace("[attachments]", "[attachments]\nrequired = true");
        let (mut world, desk, _folder) = world(db, false, TOKENS, &way).await;
        desk.answers("upload", 500, false);
        world.fault(json!({ "on": "getFile", "do": "error_before", "status": 502, "times": 6 })).await;
        apply(&mut world).await;
        world.pass(MINUTE * 2).await;
        assert_eq!(desk.seen("create").len(), 0);
        world.pass(MINUTE * 20).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1));
        assert_eq!(desk.seen("create")[0].json()["uploads"].as_array().map(Vec::len), Some(2));
        world.finish_elsewhere().await;
    }

    async fn files_within_the_ticket_are_not_stored_and_a_repeat_is_the_same_to_the_byte(db: Database) {
        let (mut world, desk, _folder) = world(db, true, CONTENTS, INLINE).await;
        desk.answers("create", 500, true);
        apply(&mut world).await;
        world.pass(MINUTE * 10).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1));
        let creates = desk.seen("create");
        assert!(creates.len() == 2 && creates[0].body == creates[1].body, "{} creates", creates.len());
        let files = creates[0].json()["files"].clone();
        assert_eq!(files[0], json!({"FileName": "photo_1.jpg", "FileContent": base64(&photo())}));
        assert_eq!(files[1]["FileContent"], Value::from(base64(&scan())));
        assert!(longest_stored(&world).await < 4_000, "no file is in the database");
        world.finish_elsewhere().await;
    }

    async fn a_repeat_whose_files_are_gone_is_not_sent_otherwise(db: Database) {
        let (mut world, desk, _folder) = world(db, true, CONTENTS, INLINE).await;
        desk.answers("create", 500, true);
        world.fault(json!({ "on": "getFile", "from": 3, "do": "error_before", "status": 400, "times": 0 })).await;
        apply(&mut world).await;
        world.pass(MINUTE * 60 * 30).await;
        assert_eq!((desk.seen("create").len(), desk.tickets()), (1, 1), "nothing else goes out under the key");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish_elsewhere().await;
    }

    async fn a_ticket_that_never_went_out_is_made_anew_without_what_is_gone(db: Database) {
        let (mut world, desk, _folder) = world(db, true, CONTENTS, INLINE).await;
        desk.answers("create", 429, false);
        world.fault(json!({ "on": "getFile", "from": 3, "do": "error_before", "status": 400, "times": 0 })).await;
        apply(&mut world).await;
        world.pass(MINUTE * 10).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1));
        let text = desk.seen("create")[1].json()["text"].as_str().expect("a text").to_owned();
        assert!(text.contains("Файл «photo_1.jpg» не приложен: Telegram его больше не отдаёт."), "{text}");
        world.finish_elsewhere().await;
    }

    async fn whoever_has_it_created_after_all_gets_it_without_what_is_gone(db: Database) {
        let (mut world, desk, _folder) = world(db, false, CONTENTS, INLINE).await;
        desk.answers("create", 500, false);
        world.fault(json!({ "on": "getFile", "from": 3, "do": "error_before", "status": 400, "times": 0 })).await;
        apply(&mut world).await;
        world.pass(MINUTE * 20).await;
        assert_eq!((world.state(ANNA).await, desk.seen("create").len()), ("review", 1));
        let marker = world.marker(ANNA).await;
        world.create_after_all(crate::world::OWNER, &marker, "её нет").await;
        world.pass(MINUTE * 20).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1));
        let text = desk.seen("create")[1].json()["text"].as_str().expect("a text").to_owned();
        assert!(text.contains("Файл «скан.pdf» не приложен: Telegram его больше не отдаёт."), "{text}");
        world.finish_elsewhere().await;
    }

    async fn an_upload_whose_token_has_ended_is_made_again(db: Database) {
        let way = UPLOAD.replace("[attachments]", "[attachments]\ntoken_lives = \"5m\"");
        let (mut world, desk, _folder) = world(db, false, TOKENS, &way).await;
        for _ in 0..8 {
            desk.answers("create", 429, false);
        }
        apply(&mut world).await;
        world.pass(MINUTE * 60).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1));
        let creates = desk.seen("create");
        let tokens = |at: usize| creates[at].json()["uploads"][0]["token"].clone();
        assert_eq!(tokens(0), tokens(1), "a fresh token is used again");
        assert_ne!(tokens(0), tokens(8), "one that has ended is not");
        world.finish_elsewhere().await;
    }

    async fn files_are_posted_once_the_ticket_is_there_and_a_lost_answer_is_not_repeated(db: Database) {
        let (mut world, desk, _folder) = world(db, false, "", AFTER).await;
        desk.answers("attach", 500, true);
        apply(&mut world).await;
        world.pass(MINUTE * 10).await;
        assert_eq!((world.state(ANNA).await, desk.tickets()), ("created", 1));
        let posts = desk.seen("attach");
        assert_eq!((posts.len(), desk.attached()), (2, 2));
        assert!(posts[0].kind.starts_with("multipart/form-data; boundary=zayavka-"), "{}", posts[0].kind);
        let body = &posts[0].body;
        let holds = |needle: &[u8]| body.windows(needle.len()).any(|window| window == needle);
        assert!(holds(&photo()) && holds(b"name=\"file\"; filename=\"photo_1.jpg\"\r\nContent-Type: image/jpeg"));
        let why = why(&mut world).await;
        assert!(why.contains("файл не приложен · 1 · ответ CRM потерян"), "{why}");
        assert!(!why.contains("приложен · 2"), "{why}");
        world.finish_elsewhere().await;
    }

    async fn a_ticket_found_after_its_answer_was_lost_gets_its_files(db: Database) {
        let (mut world, desk, _folder) = world(db, false, "", AFTER).await;
        desk.answers("create", 500, true);
        apply(&mut world).await;
        world.pass(MINUTE * 10).await;
        assert_eq!((world.state(ANNA).await, desk.tickets(), desk.attached()), ("created", 1, 2));
        world.finish_elsewhere().await;
    }
}

#[tokio::test]
async fn wherever_the_process_dies_there_is_one_ticket_and_no_file_twice() {
    // Before the ticket: each upload answered and stored, the ticket stored, its answer stored. After it: the ticket
    // stored, its answer stored, then each file announced and answered.
    let uploaded =
        [(UPLOAD, TOKENS, 1, "review", 2), (UPLOAD, TOKENS, 3, "review", 2), (UPLOAD, TOKENS, 4, "created", 2)];
    let posted = [2, 3, 4, 5, 6].map(|nth| (AFTER, "", nth, "created", if nth % 2 == 1 { 1 } else { 2 }));
    for (way, files, nth, state, count) in uploaded.into_iter().chain(posted) {
        crate::databases::run(crate::databases::Kind::Sqlite, async move |db| {
            let (mut world, desk, _folder) = world(db, false, files, way).await;
            world.act(ANNA, "photo", json!({})).await;
            world.act(ANNA, "document", json!({ "file_name": "скан.pdf", "size": 70_000 })).await;
            world.settle().await;
            world.tap(ANNA, "Готово").await;
            world.type_text(ANNA, "всё").await;
            world.kill_at("crm.step", nth);
            let summary = world.message_with(ANNA, SUBMIT).await;
            world.press(ANNA, summary, SUBMIT).await;
            world.settle().await;
            assert!(!world.is_alive(), "it did not die at {nth}");
            world.start().await;
            world.pass(MINUTE * 20).await;
            assert_eq!(world.state(ANNA).await, state, "died at {nth} {way}");
            if state == "review" {
                let marker = world.marker(ANNA).await;
                world.create_after_all(crate::world::OWNER, &marker, "её нет").await;
                world.pass(MINUTE * 20).await;
                assert_eq!(world.state(ANNA).await, "created", "died at {nth}");
            }
            let files = if way == UPLOAD { desk.seen("upload").len() } else { desk.attached() };
            assert_eq!((desk.tickets(), files), (1, count), "died at {nth} {way}");
            world.finish_elsewhere().await;
        })
        .await;
    }
}
