//! People, chats and messages, as Telegram writes them and as the page reads them. Pure bookkeeping.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::{
    clock::Timestamp,
    sandbox::{CLIENTS, STAFF},
};

/// A person of the sandbox.
#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) language: String,
    pub(super) blocked: bool,
}

impl Person {
    /// Telegram's `User`.
    pub(super) fn json(&self) -> Value {
        let mut user = names(&self.name);
        user.insert("id".to_owned(), json!(self.id));
        user.insert("is_bot".to_owned(), json!(false));
        user.insert("language_code".to_owned(), json!(self.language));
        Value::Object(user)
    }
}

/// «Анна Смирнова» is a first and a last name, as Telegram sends them.
fn names(name: &str) -> Map<String, Value> {
    let (first, last) = name.split_once(' ').map_or((name, None), |(first, last)| (first, Some(last)));
    let mut map = Map::new();
    map.insert("first_name".to_owned(), json!(first));
    if let Some(last) = last {
        map.insert("last_name".to_owned(), json!(last));
    }
    map
}

/// An earlier version of a message.
#[derive(Debug, Clone)]
struct Version {
    /// When it was shown first.
    at: Timestamp,
    text: String,
    keyboard: Value,
}

/// One message of a chat.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: i64,
    pub(super) at: Timestamp,
    /// When its present version was made.
    changed_at: Timestamp,
    pub(super) by_bot: bool,
    pub(super) kind: &'static str,
    /// The whole `Message` object as Telegram shows it.
    pub(super) content: Map<String, Value>,
    /// Buttons instead of the keyboard; Telegram shows these only to people.
    pub(super) reply_keyboard: Option<Value>,
    earlier: Vec<Version>,
    pub(super) deleted: bool,
}

impl Message {
    /// Telegram's `Message`.
    pub(super) fn json(&self) -> Value {
        Value::Object(self.content.clone())
    }

    /// As an answer carries the message it answers: without what that one answered.
    pub(super) fn quoted(&self) -> Value {
        let mut content = self.content.clone();
        content.remove("reply_to_message");
        Value::Object(content)
    }

    /// Text or caption.
    pub(super) fn text(&self) -> &str {
        let text = self.content.get("text").or_else(|| self.content.get("caption"));
        text.and_then(Value::as_str).unwrap_or_default()
    }

    /// The rows of its inline keyboard now; null without one.
    pub(super) fn keyboard(&self) -> &Value {
        self.content.get("reply_markup").map_or(&Value::Null, |markup| &markup["inline_keyboard"])
    }

    /// Its inline keyboards, the present one first.
    fn keyboards(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(self.keyboard()).chain(self.earlier.iter().rev().map(|version| &version.keyboard))
    }

    /// The data behind a button of the present keyboard, else of an earlier one: by label, then by the data itself.
    pub(super) fn button_data(&self, button: &str) -> Option<String> {
        let buttons = || self.keyboards().filter_map(Value::as_array).flatten().filter_map(Value::as_array).flatten();
        let data = |found: &Value| found["callback_data"].as_str().map(str::to_owned);
        buttons()
            .filter(|found| found["text"] == *button)
            .find_map(data)
            .or_else(|| buttons().find(|found| found["callback_data"] == *button).and_then(data))
    }

    /// Whether a button it put in place of the keyboard types these words.
    pub(super) fn types(&self, words: &str) -> bool {
        let rows = self.reply_keyboard.as_ref().and_then(|keyboard| keyboard["keyboard"].as_array());
        let mut buttons = rows.into_iter().flatten().filter_map(Value::as_array).flatten();
        buttons.any(|button| *button == *words || (button["text"] == *words && button["request_contact"] != true))
    }

    /// Sets a field, or removes it if the value is null.
    pub(super) fn set(&mut self, field: &str, value: Value) {
        if value.is_null() {
            self.content.remove(field);
        } else {
            self.content.insert(field.to_owned(), value);
        }
    }

    /// Keeps the present version among the earlier ones; the caller then changes the content.
    pub(super) fn begin_edit(&mut self, now: Timestamp) {
        let keyboard = self.keyboard().clone();
        self.earlier.push(Version { at: self.changed_at, text: self.text().to_owned(), keyboard });
        self.changed_at = now;
        self.set("edit_date", json!(now.0 / 1_000));
    }

    /// What the control API shows of it.
    fn view(&self) -> Value {
        let from = self.content.get("from").unwrap_or(&Value::Null);
        let name = [&from["first_name"], &from["last_name"]];
        let name: Vec<_> = name.iter().filter_map(|part| part.as_str()).collect();
        let mut view = json!({
            "message_id": self.id,
            "from": { "id": from["id"], "name": name.join(" "), "bot": self.by_bot },
            "at": self.at,
            "text": self.text(),
            "keyboard": view_rows(self.keyboard()),
            "edits": self.earlier.iter().map(|version| json!({
                "at": version.at, "text": version.text, "keyboard": view_rows(&version.keyboard),
            })).collect::<Vec<_>>(),
            "changed_at": self.changed_at,
            "deleted": self.deleted,
            "kind": self.kind,
        });
        for field in ["entities", "message_thread_id", "media_group_id", "forward_origin"] {
            if let Some(value) = self.content.get(field) {
                view[field] = value.clone();
            }
        }
        if let Some(reply) = self.content.get("reply_to_message") {
            view["reply_to"] = reply["message_id"].clone();
        }
        if let Some(contact) = self.content.get("contact") {
            view["contact"] = json!({ "phone": contact["phone_number"], "name": contact["first_name"] });
        }
        if let Some(keyboard) = &self.reply_keyboard {
            view["reply_keyboard"] = view_reply_keyboard(keyboard);
        }
        view
    }
}

fn view_rows(rows: &Value) -> Value {
    let Some(rows) = rows.as_array() else { return Value::Null };
    let button = |button: &Value| {
        let mut view = json!({ "text": button["text"] });
        match (&button["callback_data"], &button["url"], &button["copy_text"]["text"]) {
            (Value::String(data), _, _) => view["data"] = json!(data),
            (_, Value::String(url), _) => view["url"] = json!(url),
            (_, _, Value::String(text)) => view["copy"] = json!(text),
            _ => {}
        }
        view
    };
    rows.iter().map(|row| row.as_array().into_iter().flatten().map(button).collect::<Value>()).collect()
}

fn view_reply_keyboard(keyboard: &Value) -> Value {
    if keyboard["remove_keyboard"] == true {
        return json!({ "remove": true });
    }
    let button = |button: &Value| {
        let text = button.as_str().or_else(|| button["text"].as_str()).unwrap_or_default();
        json!({ "text": text, "contact": button["request_contact"] == true })
    };
    let rows = keyboard["keyboard"].as_array().into_iter().flatten();
    let rows: Vec<Value> = rows.map(|row| row.as_array().into_iter().flatten().map(button).collect()).collect();
    json!({ "rows": rows, "one_time": keyboard["one_time_keyboard"] == true })
}

/// A chat: private with one person, or the group of the staff.
#[derive(Debug)]
pub(super) struct Chat {
    pub(super) id: i64,
    pub(super) title: String,
    pub(super) private: bool,
    messages: BTreeMap<i64, Message>,
    last_id: i64,
    /// Topics that were written in.
    pub(super) threads: BTreeSet<i64>,
}

impl Chat {
    /// Telegram's `Chat`.
    pub(super) fn json(&self) -> Value {
        if self.private {
            let mut chat = names(&self.title);
            chat.insert("id".to_owned(), json!(self.id));
            chat.insert("type".to_owned(), json!("private"));
            return Value::Object(chat);
        }
        let mut chat = json!({ "id": self.id, "title": self.title, "type": "supergroup" });
        if !self.threads.is_empty() {
            chat["is_forum"] = json!(true);
        }
        chat
    }

    /// A message that is still there.
    pub(super) fn message(&self, id: i64) -> Option<&Message> {
        self.messages.get(&id).filter(|message| !message.deleted)
    }

    /// A message, also a deleted one: it may still stand on somebody's screen.
    pub(super) fn any_message(&self, id: i64) -> Option<&Message> {
        self.messages.get(&id)
    }

    pub(super) fn message_mut(&mut self, id: i64) -> Option<&mut Message> {
        self.messages.get_mut(&id).filter(|message| !message.deleted)
    }

    /// Posts a message; `content` is completed with its number, chat and date.
    pub(super) fn post(
        &mut self,
        from: Value,
        by_bot: bool,
        kind: &'static str,
        content: Map<String, Value>,
        now: Timestamp,
    ) -> &mut Message {
        self.last_id += 1;
        let id = self.last_id;
        let mut content = content;
        content.insert("message_id".to_owned(), json!(id));
        content.insert("from".to_owned(), from);
        content.insert("chat".to_owned(), self.json());
        content.insert("date".to_owned(), json!(now.0 / 1_000));
        let message = Message {
            id,
            at: now,
            changed_at: now,
            by_bot,
            kind,
            content,
            reply_keyboard: None,
            earlier: Vec::new(),
            deleted: false,
        };
        self.messages.entry(id).or_insert(message)
    }

    fn view(&self) -> Value {
        self.messages.values().map(Message::view).collect()
    }
}

/// All people and chats.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Chats {
    people: BTreeMap<i64, Person>,
    chats: BTreeMap<i64, Chat>,
    /// Whether a group is there as soon as somebody writes to it.
    pub(in crate::sandbox) open: bool,
}

impl Chats {
    /// The people and the group that are there from the start.
    pub(super) fn inhabited(staff_chat: i64) -> Self {
        let mut chats = Self::default();
        let names = ["Анна Смирнова", "Борис Петров", "Ольга (сотрудник)", "Пётр (сотрудник)"];
        for (id, name) in CLIENTS.into_iter().chain(STAFF).zip(names) {
            chats.person(id, Some(name), None);
        }
        chats.add(staff_chat, "Сотрудники", false);
        chats
    }

    /// Somebody is about to write to a chat: in an open world a group that nobody knew is there from now on.
    pub(super) fn written_to(&mut self, id: i64) {
        if self.open && id < 0 && !self.chats.contains_key(&id) {
            self.add(id, &format!("Группа {id}"), false);
        }
    }

    fn add(&mut self, id: i64, title: &str, private: bool) {
        let messages = BTreeMap::new();
        let chat = Chat { id, title: title.to_owned(), private, messages, last_id: 0, threads: BTreeSet::new() };
        self.chats.insert(id, chat);
    }

    /// A person, made with a private chat on first use; a given name or language replaces the known one.
    pub(super) fn person(&mut self, id: i64, name: Option<&str>, language: Option<&str>) -> &mut Person {
        if !self.people.contains_key(&id) {
            let name = name.map_or_else(|| format!("Гость {id}"), str::to_owned);
            self.add(id, &name, true);
        }
        let person = self.people.entry(id).or_insert_with(|| Person {
            id,
            name: name.map_or_else(|| format!("Гость {id}"), str::to_owned),
            language: "ru".to_owned(),
            blocked: false,
        });
        if let Some(name) = name {
            name.clone_into(&mut person.name);
            if let Some(chat) = self.chats.get_mut(&id) {
                name.clone_into(&mut chat.title);
            }
        }
        if let Some(language) = language {
            language.clone_into(&mut person.language);
        }
        person
    }

    pub(super) fn known_person(&self, id: i64) -> Option<&Person> {
        self.people.get(&id)
    }

    pub(super) fn chat(&self, id: i64) -> Option<&Chat> {
        self.chats.get(&id)
    }

    pub(super) fn chat_mut(&mut self, id: i64) -> Option<&mut Chat> {
        self.chats.get_mut(&id)
    }

    /// The messages of a chat for the control API.
    pub(in crate::sandbox) fn messages(&self, chat: i64) -> Option<Value> {
        self.chats.get(&chat).map(Chat::view)
    }

    /// Titles and messages of some chats, by number.
    pub(in crate::sandbox) fn view(&self, ids: &[i64]) -> Value {
        let mut view = Map::new();
        for chat in ids.iter().filter_map(|id| self.chats.get(id)) {
            view.insert(chat.id.to_string(), json!({ "title": chat.title, "messages": chat.view() }));
        }
        Value::Object(view)
    }
}
