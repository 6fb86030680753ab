//! What people do: type, tap, share a contact, block the bot. Each act becomes the update Telegram would send.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    book::{BOT_USERNAME, Book},
    chats::{Chat, Message, Person},
    updates::Lane,
};
use crate::clock::Timestamp;

/// The numbers Telegram uses for senders that are not people.
const ANONYMOUS_ADMIN: i64 = 1_087_968_824;
const CHANNEL_SENDER: i64 = 136_817_688;
/// Stands for every chat a button belongs to; bots must not read meaning into it.
const CHAT_INSTANCE: &str = "4419839571298471021";

/// How much of its message a tap carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum Carried {
    /// The whole message.
    #[default]
    Full,
    /// Only its number, with date 0: an old message.
    Inaccessible,
    /// None: it was sent by way of another chat.
    Absent,
}

/// The details of an act; each act uses those it needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::sandbox) struct Act {
    /// The person's name and language, if they change.
    name: Option<String>,
    lang: Option<String>,
    /// The chat, by default the person's own.
    chat: Option<i64>,
    thread: Option<i64>,
    text: Option<String>,
    forwarded: bool,
    reply_to: Option<i64>,
    /// Writes as this chat: the group itself (an anonymous admin) or a channel.
    sender_chat: Option<i64>,
    message_id: Option<i64>,
    phone: Option<String>,
    /// Whose contact it is: by default the person's own; null for somebody without Telegram.
    #[serde(deserialize_with = "given")]
    user_id: Option<Value>,
    /// A label or data.
    button: Option<String>,
    /// Sends the button's text as data even if no button has it.
    raw: bool,
    message: Carried,
    caption: Option<String>,
    media_group_id: Option<String>,
    count: Option<u32>,
    /// A document's name, type and size in bytes.
    file_name: Option<String>,
    mime_type: Option<String>,
    size: Option<usize>,
    payload: Option<String>,
}

/// Tells `null` from absent.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// What an act led to.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Acted {
    update_ids: Vec<i64>,
    message_id: Option<i64>,
    callback_id: Option<String>,
}

impl Acted {
    pub(in crate::sandbox) fn json(&self) -> Value {
        json!({ "update_ids": self.update_ids, "message_id": self.message_id, "callback_id": self.callback_id })
    }
}

/// An act that cannot be done, in words.
pub(in crate::sandbox) type CannotAct = String;

impl Book {
    /// Does one act; `verb` is the last part of the route.
    ///
    /// # Errors
    /// In words: what is missing or impossible, and what to do.
    pub(in crate::sandbox) fn act(
        &mut self,
        user: i64,
        verb: &str,
        act: &Act,
        now: Timestamp,
    ) -> Result<Acted, CannotAct> {
        if user <= 0 {
            return Err(format!("{user} is not a person: people have positive numbers"));
        }
        self.chats.person(user, act.name.as_deref(), act.lang.as_deref());
        match verb {
            "text" => {
                let text = act.text.as_deref().filter(|text| !text.is_empty());
                let text = text.ok_or("what should be typed? Give \"text\", not empty")?;
                self.write(user, act, "text", text_content(text), now)
            }
            "start" => {
                let text = act.payload.as_ref().map_or("/start".to_owned(), |payload| format!("/start {payload}"));
                self.write(user, act, "text", text_content(&text), now)
            }
            "edit" => self.edit(user, act, now),
            "contact" => self.contact(user, act, now),
            "tap" => self.tap(user, act, now),
            "photo" => self.photo(user, act, now),
            "document" => self.document(user, act, now),
            "sticker" => {
                let file = self.new_file("stickers", 12_000);
                let sticker = json!({ "type": "regular", "width": 512, "height": 512, "is_animated": false,
                    "is_video": false, "emoji": "👍", "file_id": file, "file_unique_id": unique(&file) });
                self.write(user, act, "sticker", one("sticker", sticker), now)
            }
            "voice" => {
                let file = self.new_file("voice", 12_000);
                let voice = json!({ "duration": 3, "mime_type": "audio/ogg", "file_size": 12_000,
                    "file_id": file, "file_unique_id": unique(&file) });
                self.write(user, act, "voice", one("voice", voice), now)
            }
            "block" => Ok(self.set_blocked(user, true, now)),
            "unblock" => Ok(self.set_blocked(user, false, now)),
            other => Err(format!(
                "there is no act \"{other}\"; there are text, start, edit, contact, tap, photo, document, sticker, voice, block \
                 and unblock"
            )),
        }
    }

    /// Posts a message and queues its update, unless the bot would not see it.
    fn write(
        &mut self,
        user: i64,
        act: &Act,
        kind: &'static str,
        mut content: Map<String, Value>,
        now: Timestamp,
    ) -> Result<Acted, CannotAct> {
        let chat_id = act.chat.unwrap_or(user);
        let person = self.chats.known_person(user).map_or(Value::Null, Person::json);
        self.chats.written_to(chat_id);
        let known = self.chats.chat_mut(chat_id).filter(|chat| !chat.private || chat.id == user);
        let chat = known.ok_or_else(|| format!("person {user} has no chat {chat_id}"))?;
        if let Some(thread) = act.thread {
            chat.threads.insert(thread);
            content.insert("message_thread_id".to_owned(), json!(thread));
            content.insert("is_topic_message".to_owned(), json!(true));
        }
        if act.forwarded {
            let origin =
                json!({ "type": "hidden_user", "sender_user_name": "Кто-то другой", "date": now.0 / 1_000 - 3_600 });
            content.insert("forward_origin".to_owned(), origin);
        }
        let mut answers_bot = false;
        if let Some(id) = act.reply_to {
            let to = chat.message(id).ok_or_else(|| format!("chat {chat_id} has no message {id} to reply to"))?;
            answers_bot = to.by_bot;
            content.insert("reply_to_message".to_owned(), to.quoted());
        }
        let from = match act.sender_chat {
            None => person,
            Some(sender) => {
                let (from, as_chat) = impersonal(sender, chat);
                content.insert("sender_chat".to_owned(), as_chat);
                from
            }
        };
        let private = chat.private;
        let message = chat.post(from, false, kind, content, now);
        let id = message.id;
        let seen = private || answers_bot || !self.privacy || addressed(message.text());
        let payload = message.json();
        let update = if seen { self.queue.push("message", Lane::Chat(chat_id), &payload, now) } else { None };
        Ok(Acted { update_ids: update.into_iter().collect(), message_id: Some(id), callback_id: None })
    }

    fn edit(&mut self, user: i64, act: &Act, now: Timestamp) -> Result<Acted, CannotAct> {
        let chat_id = act.chat.unwrap_or(user);
        let id = act.message_id.ok_or("which message? Give \"message_id\"")?;
        let text = act.text.as_deref().filter(|text| !text.is_empty()).ok_or("the new \"text\" is missing")?;
        let own = |message: &&mut Message| {
            !message.by_bot && message.content.get("from").is_some_and(|from| from["id"] == user)
        };
        let message = self.chats.chat_mut(chat_id).and_then(|chat| chat.message_mut(id)).filter(own);
        let message = message.ok_or_else(|| format!("chat {chat_id} has no message {id} of person {user}"))?;
        message.begin_edit(now);
        message.set("text", json!(text));
        message.set("entities", commands(text));
        let payload = message.json();
        let private = chat_id == user;
        let seen = private || !self.privacy || addressed(text);
        let update = if seen { self.queue.push("edited_message", Lane::Chat(chat_id), &payload, now) } else { None };
        Ok(Acted { update_ids: update.into_iter().collect(), message_id: Some(id), callback_id: None })
    }

    fn contact(&mut self, user: i64, act: &Act, now: Timestamp) -> Result<Acted, CannotAct> {
        let phone = act.phone.as_deref().ok_or("whose number? Give \"phone\"")?;
        let owner = act.user_id.clone().unwrap_or(json!(user));
        let name = self.chats.known_person(user).map_or(String::new(), |person| person.name.clone());
        let first = name.split(' ').next().unwrap_or_default();
        let first = if owner == user { first } else { "Знакомый" };
        let mut contact = json!({ "phone_number": phone, "first_name": first });
        if !owner.is_null() {
            contact["user_id"] = owner;
        }
        self.write(user, act, "contact", one("contact", contact), now)
    }

    fn photo(&mut self, user: i64, act: &Act, now: Timestamp) -> Result<Acted, CannotAct> {
        let count = act.count.unwrap_or(1);
        if !(1..=10).contains(&count) {
            return Err("\"count\" is from 1 to 10: that is as many as an album holds".to_owned());
        }
        let group = act.media_group_id.clone().or_else(|| (count > 1).then(|| format!("137{}", now.0)));
        let mut all = Acted::default();
        for n in 0..count {
            let file = self.new_file("photos", 1280 * 960 / 10);
            let size = |suffix: &str, width: u32, height: u32| {
                json!({ "file_id": format!("{file}{suffix}"), "file_unique_id": format!("{}{suffix}", unique(&file)),
                    "file_size": width * height / 10, "width": width, "height": height })
            };
            let mut content = one("photo", json!([size("s", 90, 67), size("m", 320, 240), size("x", 1280, 960)]));
            if let Some(caption) = act.caption.as_ref().filter(|_| n == 0) {
                content.insert("caption".to_owned(), json!(caption));
            }
            if let Some(group) = &group {
                content.insert("media_group_id".to_owned(), json!(group));
            }
            let mut one = self.write(user, act, "photo", content, now)?;
            all.update_ids.append(&mut one.update_ids);
            all.message_id = all.message_id.or(one.message_id);
        }
        Ok(all)
    }

    /// A document, as the sender's device names it.
    fn document(&mut self, user: i64, act: &Act, now: Timestamp) -> Result<Acted, CannotAct> {
        let size = act.size.unwrap_or(1_000);
        let file = self.new_file("documents", size);
        let name = act.file_name.as_deref().unwrap_or("документ.pdf");
        let mime = act.mime_type.as_deref().unwrap_or("application/pdf");
        let document = json!({ "file_name": name, "mime_type": mime, "file_id": file,
            "file_unique_id": unique(&file), "file_size": size });
        let mut content = one("document", document);
        if let Some(caption) = &act.caption {
            content.insert("caption".to_owned(), json!(caption));
        }
        if let Some(group) = &act.media_group_id {
            content.insert("media_group_id".to_owned(), json!(group));
        }
        self.write(user, act, "document", content, now)
    }

    fn tap(&mut self, user: i64, act: &Act, now: Timestamp) -> Result<Acted, CannotAct> {
        let chat_id = act.chat.unwrap_or(user);
        let id = act.message_id.ok_or("which message? Give \"message_id\"")?;
        let button = act.button.as_deref().ok_or("which button? Give \"button\", its label or data")?;
        let chat = self.chats.chat(chat_id).ok_or_else(|| format!("there is no chat {chat_id}"))?;
        let message = chat.any_message(id);
        if message.is_some_and(|message| message.button_data(button).is_none() && message.types(button)) {
            // A button in place of the keyboard types its words.
            return self.write(user, act, "text", text_content(button), now);
        }
        let data = match message.and_then(|message| message.button_data(button)) {
            Some(data) => data,
            None if act.raw => button.to_owned(),
            None => {
                return Err(format!(
                    "message {id} of chat {chat_id} has and had no button \"{button}\"; give a label or data it shows, \
                     or \"raw\": true to forge"
                ));
            }
        };
        let from = self.chats.known_person(user).map_or(Value::Null, Person::json);
        let absent = act.message == Carried::Absent;
        let callback_id = self.taps.add(user, Some(chat_id), Some(id), &data, now);
        let mut query = json!({ "id": callback_id, "from": from, "chat_instance": CHAT_INSTANCE, "data": data });
        match message {
            _ if absent => query["inline_message_id"] = json!(format!("AgAAAL{id}_{chat_id}")),
            Some(message) if act.message == Carried::Full && !message.deleted => query["message"] = message.json(),
            _ => query["message"] = json!({ "chat": chat.json(), "message_id": id, "date": 0 }),
        }
        let update = self.queue.push("callback_query", Lane::Person(user), &query, now);
        Ok(Acted { update_ids: update.into_iter().collect(), message_id: Some(id), callback_id: Some(callback_id) })
    }

    fn set_blocked(&mut self, user: i64, blocked: bool, now: Timestamp) -> Acted {
        let person = self.chats.person(user, None, None);
        if std::mem::replace(&mut person.blocked, blocked) == blocked {
            return Acted::default();
        }
        let from = person.json();
        let bot = self.bot_json(self.bot_id);
        let member = |blocked: bool| {
            if blocked {
                json!({ "user": bot, "status": "kicked", "until_date": 0 })
            } else {
                json!({ "user": bot, "status": "member" })
            }
        };
        let chat = self.chats.chat(user).map_or(Value::Null, Chat::json);
        let change = json!({ "chat": chat, "from": from, "date": now.0 / 1_000,
            "old_chat_member": member(!blocked), "new_chat_member": member(blocked) });
        let update = self.queue.push("my_chat_member", Lane::Chat(user), &change, now);
        Acted { update_ids: update.into_iter().collect(), ..Acted::default() }
    }
}

/// The sender Telegram shows for a message written as the group itself or as a channel, and that chat.
fn impersonal(sender: i64, chat: &Chat) -> (Value, Value) {
    let (id, name, username, as_chat) = if sender == chat.id {
        (ANONYMOUS_ADMIN, "Group", "GroupAnonymousBot", chat.json())
    } else {
        let channel = json!({ "id": sender, "title": "Канал", "type": "channel" });
        (CHANNEL_SENDER, "Channel", "Channel_Bot", channel)
    };
    (json!({ "id": id, "is_bot": true, "first_name": name, "username": username }), as_chat)
}

fn one(field: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(field.to_owned(), value)])
}

fn unique(file: &str) -> String {
    format!("u{file}")
}

fn text_content(text: &str) -> Map<String, Value> {
    let mut content = one("text", json!(text));
    let entities = commands(text);
    if !entities.is_null() {
        content.insert("entities".to_owned(), entities);
    }
    content
}

/// The `/commands` of a text as entities; null without any.
fn commands(text: &str) -> Value {
    let mut found = Vec::new();
    let mut offset = 0;
    let mut before = None;
    for (at, c) in text.char_indices() {
        if c == '/' && before.is_none_or(char::is_whitespace) {
            let word = text[at + 1..].split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '@')).next();
            let length = word.unwrap_or_default().len();
            if length > 0 {
                found.push(json!({ "type": "bot_command", "offset": offset, "length": length + 1 }));
            }
        }
        offset += c.len_utf16();
        before = Some(c);
    }
    if found.is_empty() { Value::Null } else { Value::Array(found) }
}

/// Whether a bot in privacy mode sees this text in a group: a command that is not another bot's.
fn addressed(text: &str) -> bool {
    let command = text.strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    command.is_some_and(|command| match command.split_once('@') {
        Some((_, name)) => name.eq_ignore_ascii_case(BOT_USERNAME),
        None => true,
    })
}
