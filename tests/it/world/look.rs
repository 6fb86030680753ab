//! What people see, what the CRM holds, and what the service has stored.

use std::time::Duration;

use sea_orm::{ColumnTrait as _, EntityTrait as _, QueryFilter as _};
use serde_json::Value;
use zayavka::{
    clock::{Clock as _, Timestamp},
    ids::UserId,
    store::{
        entity::{chats, inbox},
        operations::{self, Stored},
    },
};

use super::{BOT, World};

/// How often what is held back is looked at while time passes.
const NOW_AND_THEN: Duration = Duration::from_secs(30);

/// One message of a chat.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: i64,
    pub(crate) by_bot: bool,
    pub(crate) text: String,
    /// Its inline buttons now, row by row.
    pub(crate) rows: Vec<Vec<String>>,
    /// What it said before, oldest first.
    pub(crate) earlier: Vec<String>,
    raw: Value,
}

impl Message {
    fn read(raw: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let row = |row: &Value| row.as_array().into_iter().flatten().map(|button| text(&button["text"])).collect();
        Self {
            id: raw["message_id"].as_i64().unwrap_or_default(),
            by_bot: raw["from"]["bot"] == true,
            text: text(&raw["text"]),
            rows: raw["keyboard"].as_array().into_iter().flatten().map(row).collect(),
            earlier: raw["edits"].as_array().into_iter().flatten().map(|edit| text(&edit["text"])).collect(),
            raw: raw.clone(),
        }
    }

    fn button(&self, label: &str) -> Option<&str> {
        self.rows.iter().flatten().map(String::as_str).find(|text| text.starts_with(label))
    }

    /// The data behind a button.
    pub(crate) fn data(&self, label: &str) -> String {
        let buttons = self.raw["keyboard"].as_array().into_iter().flatten().filter_map(Value::as_array).flatten();
        let data = buttons.filter(|button| button["text"].as_str().is_some_and(|text| text.starts_with(label)));
        data.filter_map(|button| button["data"].as_str()).next().unwrap_or_else(|| panic!("no {label}")).to_owned()
    }

    fn transcript(&self) -> String {
        if !self.by_bot {
            let said = if self.text.is_empty() { self.raw["kind"].as_str().unwrap_or_default() } else { &self.text };
            return format!("> {said}");
        }
        let mut lines: Vec<_> = self.earlier.iter().map(|text| format!("{text}\n  ~")).collect();
        lines.push(self.text.clone());
        let reply = self.raw["reply_keyboard"]["rows"].as_array().into_iter().flatten().filter_map(Value::as_array);
        let reply =
            reply.map(|row| row.iter().filter_map(|b| b["text"].as_str()).map(str::to_owned).collect::<Vec<_>>());
        for row in self.rows.iter().cloned().chain(reply) {
            lines.push(row.iter().map(|label| format!("[{label}]")).collect::<Vec<_>>().join(" "));
        }
        lines.join("\n")
    }
}

impl World {
    /// The messages of a chat that are still there.
    pub(crate) async fn messages(&self, chat: i64) -> Vec<Message> {
        let (status, all) =
            self.call(reqwest::Method::GET, &format!("/sandbox/chats/{chat}/messages"), Value::Null).await;
        if status == 404 {
            return Vec::new();
        }
        let all = all["messages"].as_array().into_iter().flatten();
        all.filter(|message| message["deleted"] != true).map(Message::read).collect()
    }

    /// What the bot said last in a chat.
    pub(crate) async fn last_text(&self, chat: i64) -> String {
        self.messages(chat)
            .await
            .into_iter()
            .rev()
            .find(|message| message.by_bot)
            .map_or(String::new(), |last| last.text)
    }

    /// What the bot said in a chat, in order.
    pub(crate) async fn said(&self, chat: i64) -> Vec<String> {
        self.messages(chat).await.into_iter().filter(|message| message.by_bot).map(|message| message.text).collect()
    }

    /// A chat as a person would read it out.
    pub(crate) async fn transcript(&self, chat: i64) -> String {
        self.messages(chat).await.iter().map(Message::transcript).collect::<Vec<_>>().join("\n\n")
    }

    /// The newest message with a button that begins so.
    pub(crate) async fn message_with(&self, chat: i64, label: &str) -> i64 {
        let messages = self.messages(chat).await;
        let found = messages.iter().rev().find(|message| message.button(label).is_some());
        found.map(|message| message.id).unwrap_or_else(|| panic!("chat {chat} shows no [{label}]: {messages:#?}"))
    }

    /// The whole label of the button that begins so; what begins so nowhere, as it is: an old button.
    pub(super) async fn full_label(&self, chat: i64, message: i64, label: &str) -> String {
        let messages = self.messages(chat).await;
        let found = messages.iter().find(|known| known.id == message).and_then(|message| message.button(label));
        found.unwrap_or(label).to_owned()
    }

    /// What a tap was answered.
    pub(crate) async fn toast(&self, callback: &str) -> String {
        let acks = self.acks().await;
        let tap = acks.iter().find(|tap| tap["callback_id"] == callback).unwrap_or_else(|| panic!("no tap {callback}"));
        match (&tap["outcome"], &tap["text"]) {
            (Value::String(outcome), Value::String(text)) if outcome == "answered" => text.clone(),
            (outcome, _) => format!("({})", outcome.as_str().unwrap_or_default()),
        }
    }

    /// All taps with their answers.
    pub(crate) async fn acks(&self) -> Vec<Value> {
        self.get("/acks").await["acks"].as_array().cloned().unwrap_or_default()
    }

    /// The CRM's address.
    pub(crate) fn crm_url(&self) -> String {
        self.outside.crm_base_url()
    }

    /// All tickets of the CRM.
    pub(crate) async fn tickets(&self) -> Vec<Value> {
        self.get("/crm/tickets").await["tickets"].as_array().cloned().unwrap_or_default()
    }

    /// How many tickets the CRM holds.
    pub(crate) async fn count(&self) -> usize {
        self.tickets().await.len()
    }

    /// The calls a server received whose route or method begins so.
    pub(crate) async fn calls(&self, server: &str, name: &str) -> Vec<Value> {
        let log = self.get(&format!("/{server}/log")).await;
        let named = |call: &&Value| {
            let method = call["method"].as_str().unwrap_or_default();
            let path = call["path"].as_str().unwrap_or_default();
            method.eq_ignore_ascii_case(name) || format!("{method} {path}").starts_with(name)
        };
        log["calls"].as_array().into_iter().flatten().filter(named).cloned().collect()
    }

    /// Looks again after each change the world announces, until it is so.
    pub(crate) async fn until(&self, what: &str, mut is_so: impl AsyncFnMut(&Self) -> bool) {
        let events = self.http.get(format!("{}/sandbox/events", self.outside.api_url())).send().await;
        let mut events = events.unwrap_or_else(|error| panic!("{error}"));
        while !is_so(self).await {
            let next = tokio::time::timeout(Duration::from_secs(10), events.chunk()).await;
            assert!(matches!(next, Ok(Ok(Some(_)))), "{what} did not come");
        }
    }

    /// A person's operations, newest first.
    pub(crate) async fn operations(&self, user: i64) -> Vec<Stored> {
        let found = operations::of_person(self.app().store.reader(), BOT, UserId(user), 100).await;
        found.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The state of a person's newest operation.
    pub(crate) async fn state(&self, user: i64) -> &'static str {
        self.operations(user).await.first().map_or("none", |newest| newest.operation.state.name())
    }

    /// The short code of a person's newest operation.
    pub(crate) async fn marker(&self, user: i64) -> String {
        let operations = self.operations(user).await;
        operations.first().unwrap_or_else(|| panic!("{user} sent nothing")).marker.to_string()
    }

    /// The next moment at which something falls due.
    pub(super) async fn next_moment(&self) -> Option<Timestamp> {
        let app = &self.service.as_ref()?.app;
        let (now, reader) = (self.clock.now(), app.store.reader());
        let operations = app.worker.next_due().await.unwrap_or_else(|error| panic!("{error}"));
        // What is due and yet does not move waits for the pace towards the CRM, or for staff: looked at now and then.
        let held = app.worker.due(1).await.is_ok_and(|due| !due.is_empty()).then(|| now.plus(NOW_AND_THEN));
        let outbox = app.outbox.due().await.unwrap_or_else(|error| panic!("{error}")).again_at;
        let rows = inbox::Entity::find().filter(inbox::Column::State.eq("new")).all(reader).await;
        let rows =
            rows.unwrap_or_else(|error| panic!("{error}")).into_iter().map(|row| Timestamp(row.lease_until)).min();
        let silent = chats::Entity::find().filter(chats::Column::HoldUntil.gt(now.0)).all(reader).await;
        let silent =
            silent.unwrap_or_else(|error| panic!("{error}")).into_iter().map(|chat| Timestamp(chat.hold_until)).min();
        [operations, held, outbox, rows, silent].into_iter().flatten().filter(|moment| *moment > now).min()
    }
}
