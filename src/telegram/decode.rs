//! From an update's raw JSON to what a person did.
//!
//! Fields are read one by one with our own eyes, so that a kind, an entity or a chat type newer than any library still
//! yields the text, the tap and the sender; what concerns us not at all is [`Act::Ignored`].

use serde_json::Value;

use crate::{
    clock::Timestamp,
    domain::{
        attachment::{Attachment, clean_mime, clean_name},
        input::{Act, Chat, ChatKind, Input, Person, Reply},
    },
    ids::{ChatId, Marker, MessageId, UserId},
    telegram::button::Intent,
};

/// Senders that are nobody: anonymous administrators, channels writing in groups, forwards from a linked channel.
/// Source: Bot API, `Message.from` and `sender_chat`.
pub const NOBODY: [i64; 3] = [1_087_968_824, 136_817_688, 777_000];

/// What an update carries beside us, and that asks for nothing.
const SERVICE: [&str; 22] = [
    "new_chat_members",
    "left_chat_member",
    "new_chat_title",
    "new_chat_photo",
    "delete_chat_photo",
    "group_chat_created",
    "supergroup_chat_created",
    "channel_chat_created",
    "message_auto_delete_timer_changed",
    "pinned_message",
    "invoice",
    "successful_payment",
    "refunded_payment",
    "users_shared",
    "chat_shared",
    "connected_website",
    "write_access_allowed",
    "proximity_alert_triggered",
    "forum_topic_created",
    "forum_topic_closed",
    "video_chat_started",
    "video_chat_ended",
];

/// Contents that are no text, with our word for each.
const MEDIA: [(&str, &str); 18] = [
    ("photo", "photo"),
    ("video", "video"),
    ("animation", "animation"),
    ("voice", "voice"),
    ("audio", "audio"),
    ("video_note", "video_note"),
    ("document", "document"),
    ("sticker", "sticker"),
    ("location", "location"),
    ("venue", "location"),
    ("poll", "poll"),
    ("dice", "dice"),
    ("game", "game"),
    ("story", "story"),
    ("paid_media", "photo"),
    ("checklist", "checklist"),
    ("giveaway", "other"),
    ("web_app_data", "other"),
];

/// Longer than any file id has been: a bound on what is kept of one.
const FILE_ID_LIMIT: usize = 512;

/// Reads one update.
#[must_use]
pub fn decode(update: &Value) -> Input {
    let body = |kind: &str| update.get(kind).filter(|body| body.is_object());
    if let Some(query) = body("callback_query") {
        return tap(query);
    }
    if let Some(message) = body("message") {
        return from_message(message);
    }
    if let Some(message) = body("edited_message") {
        let act = if from_bot(message) { Act::Ignored { what: "an edit by a bot" } } else { Act::Edited };
        return Input { from: sender(message), chat: chat(message), reply_to: None, sent_at: None, act };
    }
    if let Some(member) = body("my_chat_member") {
        return membership(member);
    }
    Input {
        from: None,
        chat: None,
        reply_to: None,
        sent_at: None,
        act: Act::Ignored { what: "an update of another kind" },
    }
}

fn tap(query: &Value) -> Input {
    let text = |key: &str| query.get(key).and_then(Value::as_str).map(str::to_owned);
    let Some(callback) = text("id") else {
        return Input {
            from: None,
            chat: None,
            reply_to: None,
            sent_at: None,
            act: Act::Ignored { what: "a callback without id" },
        };
    };
    let message = query.get("message").filter(|message| message.is_object());
    // A business chat is another space with perhaps the same chat number: answered, never acted on.
    let foreign_space = message.is_some_and(|message| message.get("business_connection_id").is_some());
    let data = text("data").filter(|_| !foreign_space);
    let number = message.and_then(|message| message.get("message_id")).and_then(Value::as_i64);
    Input {
        from: query.get("from").and_then(person),
        chat: message.and_then(chat),
        reply_to: None,
        sent_at: None,
        act: Act::Tap { callback, data, message: number.map(MessageId) },
    }
}

fn from_message(message: &Value) -> Input {
    let (from, chat) = (sender(message), chat(message));
    let ignored = |what| Input { from: None, chat, reply_to: None, sent_at: None, act: Act::Ignored { what } };
    if let Some(to) = message.get("migrate_to_chat_id").and_then(Value::as_i64) {
        return Input { from: None, chat, reply_to: None, sent_at: None, act: Act::ChatMoved { to: ChatId(to) } };
    }
    // The new supergroup says where it came from: the same news from the other side.
    if let (Some(old), Some(new)) = (message.get("migrate_from_chat_id").and_then(Value::as_i64), chat) {
        let was = Chat { id: ChatId(old), kind: ChatKind::Group, thread: None };
        return Input {
            from: None,
            chat: Some(was),
            reply_to: None,
            sent_at: None,
            act: Act::ChatMoved { to: new.id },
        };
    }
    if message.get("business_connection_id").is_some() {
        return ignored("a message of a business chat");
    }
    if from_bot(message) {
        return ignored("a message of a bot");
    }
    if SERVICE.iter().any(|key| message.get(key).is_some()) {
        return ignored("a service message");
    }
    let forwarded = ["forward_origin", "forward_date", "forward_from"].iter().any(|key| message.get(key).is_some());
    let act = if let Some(text) = message.get("text").and_then(Value::as_str) {
        written(text, forwarded)
    } else if let Some(contact) = message.get("contact").filter(|contact| contact.is_object()) {
        Act::Contact {
            phone: contact.get("phone_number").and_then(Value::as_str).unwrap_or_default().to_owned(),
            owner: contact.get("user_id").and_then(Value::as_i64).map(UserId),
            forwarded,
        }
    } else {
        let kind = MEDIA.iter().find(|(key, _)| message.get(key).is_some()).map_or("other", |(_, word)| word);
        let album = message.get("media_group_id").and_then(Value::as_str).map(str::to_owned);
        Act::Media { kind, album, file: attached(message) }
    };
    let reply_to = message.get("reply_to_message").and_then(reply);
    // Telegram writes whole seconds.
    let sent_at = message.get("date").and_then(Value::as_i64).map(|date| Timestamp(date.saturating_mul(1_000)));
    Input { from, chat, reply_to, sent_at, act }
}

/// A photo in its largest size, or a document. What has no proper ids cannot be asked for later, so it is none.
fn attached(message: &Value) -> Option<Attachment> {
    let area = |size: &&Value| {
        let side = |name: &str| size.get(name).and_then(Value::as_u64).unwrap_or(0);
        side("width").saturating_mul(side("height"))
    };
    let photo = message.get("photo").and_then(Value::as_array).and_then(|sizes| sizes.iter().max_by_key(area));
    let file = photo.or_else(|| message.get("document"))?;
    let text = |name: &str| file.get(name).and_then(Value::as_str);
    let id = |name: &str| text(name).filter(|id| (1..=FILE_ID_LIMIT).contains(&id.len())).map(str::to_owned);
    let document = photo.is_none();
    Some(Attachment {
        file_id: id("file_id")?,
        unique_id: id("file_unique_id")?,
        name: document.then(|| text("file_name").and_then(clean_name).unwrap_or_else(|| "file".to_owned())),
        size: file.get("file_size").and_then(Value::as_u64),
        mime: if document { clean_mime(text("mime_type")) } else { "image/jpeg".to_owned() },
    })
}

/// The message that is answered. What it is about counts only where a bot wrote it: people quote each other.
fn reply(message: &Value) -> Option<Reply> {
    let number = message.get("message_id").and_then(Value::as_i64).map(MessageId)?;
    if !from_bot(message) {
        return Some(Reply { message: number, case: None, marker: None });
    }
    let rows = walk(message, &["reply_markup", "inline_keyboard"]).and_then(Value::as_array);
    let buttons = rows.into_iter().flatten().filter_map(Value::as_array).flatten();
    let case =
        buttons.filter_map(|button| button.get("callback_data")?.as_str()).find_map(|data| {
            match Intent::decode(data)? {
                Intent::Case { case, .. } => Some(case),
                _ => None,
            }
        });
    let text = message.get("text").and_then(Value::as_str).unwrap_or_default();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let mut markers: Vec<_> = words.filter(|word| word.contains('-')).filter_map(Marker::parse).collect();
    markers.dedup();
    // A page of the queue names many: none of them is meant.
    let marker = if markers.len() == 1 { markers.pop() } else { None };
    Some(Reply { message: number, case, marker })
}

/// A command starts with a slash and a name of Latin letters, digits and underscores; anything else is text.
fn written(text: &str, forwarded: bool) -> Act {
    let as_text = || Act::Text { text: text.to_owned() };
    let Some(rest) = text.strip_prefix('/') else { return as_text() };
    let word_end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, args) = rest.split_at(word_end);
    let (name, to) = match word.split_once('@') {
        Some((name, to)) => (name, Some(to.to_owned())),
        None => (word, None),
    };
    let is_name = !name.is_empty() && name.len() <= 32 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return as_text();
    }
    Act::Command { name: name.to_ascii_lowercase(), to, args: args.trim().to_owned(), forwarded }
}

fn membership(member: &Value) -> Input {
    let status = walk(member, &["new_chat_member", "status"]).and_then(Value::as_str).unwrap_or_default();
    let blocked = match status {
        "kicked" | "left" => true,
        "member" | "administrator" | "creator" => false,
        _ => {
            return Input {
                from: None,
                chat: chat(member),
                reply_to: None,
                sent_at: None,
                act: Act::Ignored { what: "a membership of another kind" },
            };
        }
    };
    Input {
        from: member.get("from").and_then(person),
        chat: chat(member),
        reply_to: None,
        sent_at: None,
        act: Act::Blocked(blocked),
    }
}

fn walk<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// Who wrote a message, if a real person did.
fn sender(message: &Value) -> Option<Person> {
    if message.get("sender_chat").is_some() {
        return None;
    }
    message.get("from").and_then(person)
}

fn from_bot(message: &Value) -> bool {
    walk(message, &["from", "is_bot"]).and_then(Value::as_bool).unwrap_or(false) && sender(message).is_none()
}

fn person(user: &Value) -> Option<Person> {
    let id = user.get("id").and_then(Value::as_i64)?;
    if NOBODY.contains(&id) || user.get("is_bot").and_then(Value::as_bool).unwrap_or(false) {
        return None;
    }
    let text = |key: &str| user.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = format!("{} {}", text("first_name"), text("last_name")).trim().to_owned();
    let given = |key: &str| user.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    Some(Person { id: UserId(id), name, username: given("username"), lang: given("language_code") })
}

fn chat(holder: &Value) -> Option<Chat> {
    let chat = holder.get("chat")?;
    let id = chat.get("id").and_then(Value::as_i64)?;
    let kind = match chat.get("type").and_then(Value::as_str) {
        Some("private") => ChatKind::Private,
        Some("group" | "supergroup") => ChatKind::Group,
        _ => ChatKind::Other,
    };
    // A thread number means a topic only where Telegram says so; replies in plain groups carry one too.
    let topic = holder.get("is_topic_message").and_then(Value::as_bool).unwrap_or(false);
    let thread = holder.get("message_thread_id").and_then(Value::as_i64).filter(|_| topic);
    Some(Chat { id: ChatId(id), kind, thread })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn act(update: &Value) -> Act {
        decode(update).act
    }

    fn message(extra: &Value) -> Value {
        let mut message = json!({
            "message_id": 5, "date": 1, "from": {"id": 7, "is_bot": false, "first_name": "Анна"},
            "chat": {"id": 7, "type": "private"},
        });
        for (key, value) in extra.as_object().unwrap() {
            message[key] = value.clone();
        }
        json!({"update_id": 1, "message": message})
    }

    #[test]
    fn a_text_with_entities_and_kinds_from_the_future_is_still_a_text() {
        let update = json!({
            "new_top_level": {"x": 1},
            "message": {
                "chat": {"type": "hologram", "id": 7}, "from": {"id": 7, "first_name": "A"}, "message_id": 1,
                "text": "завтра", "entities": [{"type": "date_time", "offset": 0, "length": 6, "unix": 5}],
            },
            "update_id": 9,
        });
        assert_eq!(act(&update), Act::Text { text: "завтра".into() });
    }

    #[test]
    fn a_tap_survives_old_and_absent_messages() {
        let from = json!({"id": 7, "first_name": "A"});
        for (query, data, number, chat) in [
            (
                json!({"id": "c", "from": from, "data": "s1", "message": {"date": 0, "message_id": 5, "chat": {"id": 7, "type": "private"}}}),
                Some("s1"),
                Some(5),
                Some(7),
            ),
            (json!({"id": "c", "from": from, "data": "s1", "inline_message_id": "q"}), Some("s1"), None, None),
            (json!({"id": "c", "from": from, "game_short_name": "g"}), None, None, None),
            (
                json!({"id": "c", "from": from, "data": "s1", "message": {"chat": {"id": 7, "type": "private"}, "message_id": 5, "business_connection_id": "b"}}),
                None,
                Some(5),
                Some(7),
            ),
            (json!({"id": "c", "from": from, "data": "s1", "message": 5}), Some("s1"), None, None),
        ] {
            let input = decode(&json!({"update_id": 1, "callback_query": query}));
            assert_eq!(input.from.unwrap().id, UserId(7));
            assert_eq!(input.chat.map(|chat| chat.id.0), chat);
            assert_eq!(
                input.act,
                Act::Tap { callback: "c".into(), data: data.map(str::to_owned), message: number.map(MessageId) }
            );
        }
    }

    #[test]
    fn channels_and_anonymous_administrators_are_nobody() {
        let group = json!({"id": -1001, "type": "supergroup"});
        for extra in [
            json!({"chat": group, "text": "/queue", "from": {"id": 1_087_968_824_i64, "is_bot": true, "first_name": "Group"}, "sender_chat": {"id": -1001}}),
            json!({"chat": group, "text": "/queue", "from": {"id": 136_817_688, "is_bot": true, "first_name": "Channel"}, "sender_chat": {"id": -2}}),
            json!({"chat": group, "text": "/queue", "from": {"id": 777_000, "is_bot": false, "first_name": "Telegram"}}),
            json!({"chat": group, "text": "/queue", "sender_chat": {"id": -2}}),
        ] {
            assert_eq!(decode(&message(&extra)).from, None, "{extra}");
        }
    }

    #[test]
    fn commands_are_read_as_telegram_writes_them() {
        let command = |name: &str, to: Option<&str>, args: &str| Act::Command {
            name: name.into(),
            to: to.map(str::to_owned),
            args: args.into(),
            forwarded: false,
        };
        for (text, expected) in [
            ("/start", command("start", None, "")),
            ("/Start@Zayavka_Bot  consultation ", command("start", Some("Zayavka_Bot"), "consultation")),
            ("/link Z-7KQ4-M2XD #1001", command("link", None, "Z-7KQ4-M2XD #1001")),
            ("/create\nпричина", command("create", None, "причина")),
            ("/", Act::Text { text: "/".into() }),
            ("/5 этаж, кв. 3", command("5", None, "этаж, кв. 3")),
            ("/дом", Act::Text { text: "/дом".into() }),
            (" /start", Act::Text { text: " /start".into() }),
        ] {
            assert_eq!(act(&message(&json!({"text": text}))), expected, "{text}");
        }
    }

    #[test]
    fn a_photo_is_taken_in_its_largest_size_and_a_document_by_its_cleaned_name() {
        let size = |id: &str, side: u32| json!({"file_id": id, "file_unique_id": "u", "width": side, "height": side, "file_size": 9});
        let file = |extra: &Value| match act(&message(extra)) {
            Act::Media { file, .. } => file,
            other => panic!("{other:?}"),
        };
        let photo = file(&json!({"photo": [size("s", 90), size("x", 1280), size("m", 320)]})).unwrap();
        assert_eq!(
            (photo.file_id.as_str(), photo.name, photo.mime.as_str(), photo.size),
            ("x", None, "image/jpeg", Some(9))
        );
        let document = json!({"file_id": "d", "file_unique_id": "u", "file_name": "../a\u{202e}b.pdf", "mime_type": "Application/PDF"});
        let document = file(&json!({"document": document})).unwrap();
        assert_eq!(
            (document.name.as_deref(), document.mime.as_str(), document.size),
            (Some("ab.pdf"), "application/pdf", None)
        );
        for nothing in [
            json!({"photo": []}),
            json!({"document": {"file_id": 5}}),
            json!({"voice": {"file_id": "v", "file_unique_id": "u"}}),
        ] {
            assert_eq!(file(&nothing), None, "{nothing}");
        }
        let endless = "f".repeat(10_000);
        assert_eq!(file(&json!({"document": {"file_id": endless, "file_unique_id": "u"}})), None);
    }

    #[test]
    fn a_moved_group_is_seen_from_both_sides() {
        let old = message(&json!({"chat": {"id": -5, "type": "group"}, "migrate_to_chat_id": -1005}));
        let new = message(&json!({"chat": {"id": -1005, "type": "supergroup"}, "migrate_from_chat_id": -5}));
        for update in [old, new] {
            let input = decode(&update);
            assert_eq!(input.chat.unwrap().id, ChatId(-5));
            assert_eq!(input.act, Act::ChatMoved { to: ChatId(-1005) });
        }
    }

    #[test]
    fn an_answered_message_tells_its_case_where_a_bot_wrote_it() {
        let bot = json!({"id": 5, "is_bot": true, "first_name": "Z"});
        let card = json!({"message_id": 7, "from": bot, "text": "Случай Z-7KQ4-M2XD", "reply_markup": {"inline_keyboard": [
            [{"text": "копия", "copy_text": {"text": "x"}}, {"text": "сайт", "url": "https://example.ru"}],
            [{"text": "Взять", "callback_data": "T12.3"}]]}});
        let read = |to: Value| decode(&message(&json!({"text": "/take", "reply_to_message": to}))).reply_to.unwrap();
        let marker = Marker::parse("Z-7KQ4-M2XD");
        assert_eq!(read(card), Reply { message: MessageId(7), case: Some(12), marker: marker.clone() });
        let said = |from: &Value, text: &str| read(json!({"message_id": 8, "from": from, "text": text}));
        assert_eq!(said(&bot, "Случай Z-7KQ4-M2XD решён: Z-7KQ4-M2XD").marker, marker);
        assert_eq!(said(&bot, "Z-7KQ4-M2XD · Z-0000-0000").marker, None, "a list means none of its lines");
        let person = json!({"id": 6, "is_bot": false, "first_name": "A"});
        assert_eq!(said(&person, "Z-7KQ4-M2XD"), Reply { message: MessageId(8), case: None, marker: None });
    }

    #[test]
    fn nothing_that_arrives_breaks_the_reader() {
        for update in [
            json!({}),
            json!([]),
            json!(null),
            json!({"update_id": "x"}),
            json!({"update_id": 1}),
            json!({"update_id": 1, "message": null}),
            json!({"update_id": 1, "message": {}}),
            json!({"update_id": 1, "message": {"chat": 5, "from": []}}),
            json!({"update_id": 1, "callback_query": {"id": 5}}),
            json!({"update_id": 1, "callback_query": {"id": "c"}}),
            json!({"update_id": 1, "my_chat_member": {"new_chat_member": {}}}),
            json!({"update_id": 1, "guest_message": {"text": "hi", "from": {"id": 3}}}),
        ] {
            let _ = decode(&update);
        }
    }
}
