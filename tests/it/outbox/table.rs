//! Each method × each error Telegram is known to give × each way its answer can reach us, or not: one table. Every cell says
//! what became of the row, of the chat and of the person, and how often Telegram was called.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};
use zayavka::{domain::notice::NoticeKind, ids::UserId, store::people};

use super::{figure, moments, put, rows};
use crate::{
    databases::{Database, Kind, run},
    world::{BOT, STAFF, World},
};

/// Longer than any pause between two calls of one row.
const LONG: Duration = Duration::from_secs(1_200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Send,
    Edit,
}

/// How the answer comes.
#[derive(Debug, Clone, Copy)]
enum How {
    Given,
    Lost,
    Late,
    Half,
    Html,
}

const HOWS: [How; 5] = [How::Given, How::Lost, How::Late, How::Half, How::Html];

/// An error as Telegram words it, and what becomes of a send and of an edit that gets it.
struct Error {
    code: u16,
    says: &'static str,
    parameters: Value,
    send: &'static str,
    edit: &'static str,
}

fn errors() -> Vec<Error> {
    let plain = |code, says, send, edit| Error { code, says, parameters: Value::Null, send, edit };
    let later = "sent by call 2";
    let refused = "dropped refused; case";
    let gone = "dropped unreachable; person away";
    vec![
        Error {
            code: 429,
            says: "Too Many Requests: retry after 40",
            parameters: json!({ "retry_after": 40 }),
            send: "sent by call 2 after 40 s",
            edit: "sent by call 2 after 40 s",
        },
        Error {
            code: 400,
            says: "Bad Request: group chat was upgraded to a supergroup chat",
            parameters: json!({ "migrate_to_chat_id": STAFF }),
            send: "sent by call 2 elsewhere",
            edit: "sent by call 2 elsewhere",
        },
        plain(429, "Too Many Requests", "sent by call 2 after 5 s", "sent by call 2 after 5 s"),
        plain(401, "Unauthorized: invalid token specified", later, later),
        plain(404, "Not Found", later, later),
        plain(404, "Not Found: method not found", later, later),
        plain(421, "Misdirected Request", later, later),
        plain(400, "Logged out", later, later),
        plain(500, "Internal Server Error: restart", "sent by call 2, repeated", "sent by call 2, repeated"),
        plain(500, "Request aborted", "sent by call 2, repeated", "sent by call 2, repeated"),
        plain(
            500,
            "Internal Server Error: sent message was immediately deleted and can't be returned",
            "sent by call 1",
            "sent by call 1",
        ),
        plain(403, "Forbidden: bot was blocked by the user", gone, gone),
        plain(403, "Forbidden: user is deactivated", gone, gone),
        plain(403, "Forbidden: bot can't initiate conversation with a user", gone, gone),
        plain(403, "Forbidden: bot can't send messages to bots", gone, gone),
        plain(403, "Forbidden: can't send messages to bots", gone, gone),
        plain(403, "Forbidden: bot was kicked from the supergroup chat", gone, gone),
        plain(403, "Forbidden: bot is not a member of the channel chat", gone, gone),
        plain(403, "Forbidden: the group chat was deleted", gone, gone),
        plain(400, "Bad Request: not enough rights to send text messages to the chat", gone, gone),
        plain(400, "Bad Request: have no rights to send a message", gone, gone),
        plain(400, "Bad Request: chat not found", later, later),
        plain(400, "Bad Request: private chat not found", later, later),
        plain(400, "Bad Request: PEER_ID_INVALID", later, later),
        plain(400, "Bad Request: message thread not found", later, later),
        plain(400, "Bad Request: TOPIC_CLOSED", later, later),
        plain(400, "Bad Request: TOPIC_DELETED", later, later),
        plain(400, "Bad Request: message to be replied not found", refused, refused),
        plain(400, "Bad Request: can't parse entities: x", refused, refused),
        plain(400, "Bad Request: message is too long", refused, refused),
        plain(400, "Bad Request: MESSAGE_TOO_LONG", refused, refused),
        plain(400, "Bad Request: text is too long", refused, refused),
        plain(400, "Bad Request: message text is empty", refused, refused),
        plain(400, "Bad Request: text must be non-empty", refused, refused),
        plain(400, "Bad Request: BUTTON_DATA_INVALID", refused, refused),
        plain(400, "Bad Request: BUTTON_URL_INVALID", refused, refused),
        plain(400, "Bad Request: reply markup is too long", refused, refused),
        plain(413, "Request Entity Too Large", refused, refused),
        plain(400, "Bad Request: message is not modified: same", refused, "sent by call 1"),
        plain(400, "Bad Request: message to edit not found", refused, "dropped gone; new message"),
        plain(400, "Bad Request: message can't be edited", refused, "dropped gone; new message"),
        plain(400, "Bad Request: MESSAGE_ID_INVALID", refused, "dropped gone; new message"),
        plain(400, "Bad Request: words nobody has seen yet", refused, refused),
    ]
}

/// What happens to the call.
fn rule(method: Method, error: &Error, how: How) -> Value {
    let on = if method == Method::Send { "sendMessage" } else { "editMessageText" };
    let mut body = json!({ "ok": false, "error_code": error.code, "description": error.says });
    if !error.parameters.is_null() {
        body["parameters"] = error.parameters.clone();
    }
    let answered = |body: Value| json!({ "on": on, "do": "error_before", "status": error.code, "body": body });
    match how {
        How::Given => answered(body),
        How::Lost => json!({ "on": on, "do": "lose_request" }),
        // Nobody hears the answer, and the call itself is carried out long after it was given up on.
        How::Late => json!({ "on": on, "do": "late" }),
        How::Half => {
            let text = body.to_string();
            answered(json!(text.chars().take(text.chars().count() / 2).collect::<String>()))
        }
        How::Html => json!({ "on": on, "do": "error_before", "status": error.code, "html": true }),
    }
}

/// One call of its own in each chat, all at one moment, and then everything that follows from them.
async fn cells(world: &mut World, first: i64, method: Method, error: &Error) -> Vec<String> {
    let chats: Vec<(How, i64)> = HOWS.into_iter().zip(first..).collect();
    for (_, chat) in &chats {
        world.act(*chat, "text", json!({ "text": "/help" })).await;
    }
    world.settle().await;
    for (_, chat) in &chats {
        put(world, *chat, Some(&format!("table:{chat}")), NoticeKind::Dialog, vec!["было".to_owned()]).await;
    }
    world.settle().await;
    let cases_before = cases(world).await;
    let mut ids = Vec::new();
    for (how, chat) in chats.iter().rev() {
        let card = format!("table:{chat}");
        let name = (method == Method::Edit).then_some(card.as_str());
        world.fault(rule(method, error, *how)).await;
        let known = rows(world, *chat).await.len();
        put(world, *chat, name, NoticeKind::Dialog, vec!["стало".to_owned()]).await;
        ids.insert(0, rows(world, *chat).await[known].id);
        // The answer that silences the bot, if it is one, comes last.
        world.app().outbox.tick().await.unwrap_or_else(|error| panic!("{error}"));
    }
    world.settle().await;
    world.post("/telegram/release", json!({})).await;
    world.pass(LONG).await;
    world.mend().await;
    let raised = cases(world).await > cases_before;
    let mut found = Vec::new();
    for ((how, chat), id) in chats.into_iter().zip(ids) {
        let mut words = became(world, chat, id, method, error, how).await;
        if raised && matches!(how, How::Given) {
            words.push_str("; case");
        }
        found.push(words);
    }
    found
}

/// What became of one row, in words, read from the database and from Telegram.
async fn became(world: &World, chat: i64, id: i64, method: Method, error: &Error, how: How) -> String {
    let row = by_id(world, id).await;
    let mut words = row.state.clone();
    if row.state == "dropped" {
        let why: Value = serde_json::from_str(row.error.as_deref().unwrap_or("{}")).unwrap_or_default();
        let _ = write!(words, " {}", why["why"].as_str().unwrap_or_default());
    } else {
        let _ = write!(words, " by call {}", figure(&row, "attempts"));
    }
    if figure(&row, "repeats") > 0 {
        assert_eq!(figure(&row, "repeats"), 1);
        words.push_str(", repeated");
    }
    if error.code == 429 && words == "sent by call 2" {
        let at = moments(world, Some(chat)).await;
        let [.., one, two] = at.as_slice() else { panic!("{at:?}") };
        let _ = write!(words, " after {} s", (two - one) / 1_000);
    }
    if row.chat_id != chat {
        words.push_str(" elsewhere");
    }
    if rows(world, chat).await.iter().any(|later| later.id > id && later.state == "sent") {
        words.push_str("; new message");
    }
    if !people::is_reachable(world.app().store.reader(), BOT, UserId(chat)).await.unwrap_or(true) {
        words.push_str("; person away");
    }
    // The person reads it once; twice only where a repeat is on record and the first call was carried out all the same.
    if row.state == "sent" && row.chat_id == chat && !words.starts_with("sent by call 1") {
        let seen = world.said(chat).await.iter().filter(|text| *text == "стало").count();
        let twice = matches!((how, method), (How::Late, Method::Send));
        assert_eq!(seen, if twice { 2 } else { 1 }, "{method:?} {how:?} {}: {words}", error.says);
    }
    words
}

async fn by_id(world: &World, id: i64) -> zayavka::store::entity::outbox::Model {
    use sea_orm::EntityTrait as _;
    let row = zayavka::store::entity::outbox::Entity::find_by_id(id).one(world.app().store.reader()).await;
    row.ok().flatten().unwrap_or_else(|| panic!("row {id} is gone"))
}

async fn cases(world: &World) -> usize {
    use sea_orm::EntityTrait as _;
    zayavka::store::entity::cases::Entity::find().all(world.app().store.reader()).await.map_or(0, |all| all.len())
}

async fn whole_table(db: Database, method: Method) {
    let mut world = World::new(db).await;
    let mut table = format!("{method:?}: error → given | lost | late | half a body | HTML\n");
    let mut wrong = Vec::new();
    for (error, first) in errors().iter().zip((20_000..).step_by(10)) {
        let _ = write!(table, "{} {}", error.code, error.says);
        let found = cells(&mut world, first, method, error).await;
        for (how, became) in HOWS.into_iter().zip(found) {
            let given = if method == Method::Send { error.send } else { error.edit };
            // Whatever the answer would have said, nobody read it: once more, and the repeat is on record.
            let expected = if matches!(how, How::Given) { given } else { "sent by call 2, repeated" };
            if became != expected {
                wrong.push(format!("{method:?} {} {} {how:?}: {became}, expected {expected}", error.code, error.says));
            }
            let _ = write!(table, " | {became}");
        }
        table.push('\n');
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    world.finish().await;
}

// What an answer proves does not depend on the database; that both store it alike is shown elsewhere in this folder.
#[tokio::test]
async fn of_sends() {
    run(Kind::Sqlite, |db| whole_table(db, Method::Send)).await;
}

#[tokio::test]
async fn of_edits() {
    run(Kind::Sqlite, |db| whole_table(db, Method::Edit)).await;
}
