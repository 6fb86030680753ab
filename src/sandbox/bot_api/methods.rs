//! The methods that answer at once. `getUpdates` waits and lives in `poll`, the webhook's in `webhook`.

use serde_json::{Map, Value, json};

use super::{
    book::Book,
    chats::Chat,
    markup::{self, Markup},
    params::{Params, Refusal},
    strict,
};
use crate::clock::Timestamp;

/// How old a message may be deleted, milliseconds.
const DELETABLE_MS: i64 = 48 * 60 * 60 * 1_000;

const CHAT_ACTIONS: [&str; 11] = [
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

/// Who calls what, when.
pub(super) struct Called<'a> {
    /// In lower case.
    pub(super) method: &'a str,
    pub(super) params: &'a Params,
    pub(super) bot: i64,
    pub(super) now: Timestamp,
}

/// Carries a call out; `None` for a method that does not exist.
pub(super) fn call(book: &mut Book, called: &Called<'_>) -> Option<Result<Value, Refusal>> {
    let Called { params, now, .. } = *called;
    Some(match called.method {
        "getme" => Ok(me(book, called.bot)),
        "sendmessage" => send(book, called),
        "editmessagetext" => edit_text(book, called),
        "editmessagereplymarkup" => edit_markup(book, called),
        "deletemessage" => delete(book, called),
        "answercallbackquery" => book.taps.answer(params, now),
        "sendchataction" => chat_action(book, params),
        "getchat" => get_chat(book, params),
        "getfile" => super::files::get_file(book, params),
        "setmycommands" | "getmycommands" | "deletemycommands" => super::commands::call(book, called.method, params),
        "setwebhook" | "deletewebhook" | "getwebhookinfo" => super::webhook::call(book, called),
        _ => return None,
    })
}

fn me(book: &Book, bot: i64) -> Value {
    let mut me = book.bot_json(bot);
    me["can_join_groups"] = json!(true);
    me["can_read_all_group_messages"] = json!(!book.privacy);
    for no in ["supports_inline_queries", "can_connect_to_business", "has_main_web_app"] {
        me[no] = json!(false);
    }
    me
}

/// The number of the addressed chat, if it is known.
pub(super) fn known_chat(book: &Book, params: &Params) -> Result<i64, Refusal> {
    if !params.has("chat_id") {
        return Err(Refusal::bad("chat_id is empty"));
    }
    let known = params.int("chat_id").filter(|id| book.chats.chat(*id).is_some());
    known.ok_or_else(|| Refusal::bad("chat not found"))
}

/// The addressed chat, if something may be sent to it.
fn writable_chat<'a>(book: &'a Book, params: &Params) -> Result<&'a Chat, Refusal> {
    let id = known_chat(book, params)?;
    if book.chats.known_person(id).is_some_and(|person| person.blocked) {
        return Err(Refusal::forbidden("bot was blocked by the user"));
    }
    let chat = book.chats.chat(id).ok_or_else(|| Refusal::bad("chat not found"))?;
    if let Some(thread) = params.int("message_thread_id").filter(|thread| *thread != 0) {
        // Topic 1, "General", is addressed by naming none.
        if thread == 1 || !chat.threads.contains(&thread) {
            return Err(Refusal::bad("message thread not found"));
        }
    }
    Ok(chat)
}

fn send(book: &mut Book, called: &Called<'_>) -> Result<Value, Refusal> {
    let params = called.params;
    let bot = book.bot_json(called.bot);
    book.chats.written_to(params.int("chat_id").unwrap_or_default());
    let chat = writable_chat(book, params)?;
    let (chat_id, private) = (chat.id, chat.private);
    let (text, entities) = strict::text(params)?;
    let markup = markup::read(params.structure("reply_markup")?, private)?;
    let mut content = Map::from_iter([("text".to_owned(), json!(text))]);
    if !entities.is_null() {
        content.insert("entities".to_owned(), entities);
    }
    if let Some(thread) = params.int("message_thread_id").filter(|thread| *thread != 0) {
        content.insert("message_thread_id".to_owned(), json!(thread));
        content.insert("is_topic_message".to_owned(), json!(true));
    }
    if let Some(to) = replied(chat, params)? {
        content.insert("reply_to_message".to_owned(), to);
    }
    let mut reply_keyboard = None;
    match markup {
        Markup::None => {}
        Markup::Inline(rows) => {
            content.insert("reply_markup".to_owned(), json!({ "inline_keyboard": rows }));
        }
        Markup::Reply(keyboard) => reply_keyboard = Some(keyboard),
    }
    let chat = book.chats.chat_mut(chat_id).ok_or_else(|| Refusal::bad("chat not found"))?;
    let message = chat.post(bot, true, "text", content, called.now);
    message.reply_keyboard = reply_keyboard;
    Ok(message.json())
}

/// The message replied to, as the new message carries it.
fn replied(chat: &Chat, params: &Params) -> Result<Option<Value>, Refusal> {
    let given = params.structure("reply_parameters")?;
    let (id, lenient) = match &given {
        Some(given) => (given["message_id"].as_i64(), given["allow_sending_without_reply"] == true),
        None => (params.int("reply_to_message_id"), params.flag("allow_sending_without_reply")),
    };
    let Some(id) = id else { return Ok(None) };
    match chat.message(id) {
        Some(message) => Ok(Some(message.quoted())),
        None if lenient => Ok(None),
        None => Err(Refusal::bad("message to be replied not found")),
    }
}

/// The bot's message that an edit names.
fn editable(book: &Book, params: &Params) -> Result<(i64, i64), Refusal> {
    if params.has("inline_message_id") {
        return Err(Refusal::bad("MESSAGE_ID_INVALID"));
    }
    let chat_id = known_chat(book, params)?;
    let id = params.int("message_id").ok_or_else(|| Refusal::bad("message identifier is not specified"))?;
    let message = book.chats.chat(chat_id).and_then(|chat| chat.message(id));
    match message {
        None => Err(Refusal::bad("message to edit not found")),
        Some(message) if !message.by_bot => Err(Refusal::bad("message can't be edited")),
        Some(_) => Ok((chat_id, id)),
    }
}

/// The inline keyboard an edit gives; a message without one loses its own.
fn edited_markup(params: &Params, private: bool) -> Result<Value, Refusal> {
    match markup::read(params.structure("reply_markup")?, private)? {
        Markup::None => Ok(Value::Null),
        Markup::Inline(rows) => Ok(json!({ "inline_keyboard": rows })),
        Markup::Reply(_) => Err(Refusal::bad("inline keyboard expected")),
    }
}

fn edit_text(book: &mut Book, called: &Called<'_>) -> Result<Value, Refusal> {
    let (chat_id, id) = editable(book, called.params)?;
    let (text, entities) = strict::text(called.params)?;
    let markup = edited_markup(called.params, chat_id > 0)?;
    replace(book, chat_id, id, Some((text, entities)), markup, called.now)
}

fn edit_markup(book: &mut Book, called: &Called<'_>) -> Result<Value, Refusal> {
    let (chat_id, id) = editable(book, called.params)?;
    let markup = edited_markup(called.params, chat_id > 0)?;
    replace(book, chat_id, id, None, markup, called.now)
}

fn replace(
    book: &mut Book,
    chat_id: i64,
    id: i64,
    text: Option<(String, Value)>,
    markup: Value,
    now: Timestamp,
) -> Result<Value, Refusal> {
    let gone = || Refusal::bad("message to edit not found");
    let message = book.chats.chat_mut(chat_id).and_then(|chat| chat.message_mut(id)).ok_or_else(gone)?;
    let present = |field: &str| message.content.get(field).unwrap_or(&Value::Null);
    let same_text =
        text.as_ref().is_none_or(|(text, entities)| message.text() == text && present("entities") == entities);
    if same_text && *present("reply_markup") == markup {
        return Err(Refusal::bad(
            "message is not modified: specified new message content and reply markup are exactly the same as a \
             current content and reply markup of the message",
        ));
    }
    message.begin_edit(now);
    if let Some((text, entities)) = text {
        message.set("text", json!(text));
        message.set("entities", entities);
    }
    message.set("reply_markup", markup);
    Ok(message.json())
}

fn delete(book: &mut Book, called: &Called<'_>) -> Result<Value, Refusal> {
    let chat_id = known_chat(book, called.params)?;
    let id = called.params.int("message_id").unwrap_or_default();
    let message = book.chats.chat_mut(chat_id).and_then(|chat| chat.message_mut(id));
    let message = message.ok_or_else(|| Refusal::bad("message to delete not found"))?;
    // In groups the bot is no administrator: it may delete only what it wrote.
    let own = message.by_bot || chat_id > 0;
    if !own || called.now.0 - message.at.0 > DELETABLE_MS {
        return Err(Refusal::bad("message can't be deleted"));
    }
    message.deleted = true;
    Ok(json!(true))
}

fn chat_action(book: &Book, params: &Params) -> Result<Value, Refusal> {
    writable_chat(book, params)?;
    let action = params.text("action").unwrap_or_default();
    if CHAT_ACTIONS.contains(&action.as_str()) {
        Ok(json!(true))
    } else {
        Err(Refusal::bad("wrong parameter action in request"))
    }
}

fn get_chat(book: &Book, params: &Params) -> Result<Value, Refusal> {
    let id = known_chat(book, params)?;
    let mut chat = book.chats.chat(id).map_or(Value::Null, Chat::json);
    chat["accent_color_id"] = json!(0);
    chat["max_reaction_count"] = json!(11);
    chat["accepted_gift_types"] = json!({ "unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false,
        "premium_subscription": false });
    Ok(chat)
}
