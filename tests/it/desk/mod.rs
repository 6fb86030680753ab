//! The desk: what staff see and do, and what people are told meanwhile.

mod basics;
mod cards;
mod decisions;
mod hints;
mod keyless;
mod menus;
mod moved;
mod named;
mod outcome;
mod questions;
mod queue;
mod reminders;
mod rights;
mod shell;
mod transcripts;
mod undelivered;

use std::time::Duration;

use serde_json::json;

use crate::{
    databases::Database,
    world::{ANNA, Options, STAFF, World},
};

const MINUTE: Duration = Duration::from_secs(60);

/// The news that the staff's group goes on under another number.
fn moved_to(to: i64) -> serde_json::Value {
    json!({ "message": {
        "message_id": 9_999, "date": 1, "chat": { "id": STAFF, "type": "group" }, "migrate_to_chat_id": to,
        "from": { "id": crate::world::OWNER, "is_bot": false, "first_name": "Ольга" },
    } })
}

/// A world in which the ticket of the first request is not there, and nobody but a human can tell.
async fn absent(db: Database) -> World {
    absent_with(db, Options::searchable()).await
}

async fn absent_with(db: Database, options: Options) -> World {
    let mut world = World::with(db, options).await;
    lose(&mut world, ANNA).await;
    world
}

/// One request whose only call never arrives: it ends in front of staff.
async fn lose(world: &mut World, user: i64) {
    world.fill_in(user).await;
    world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
    world.submit(user).await;
    world.pass(5 * MINUTE).await;
    assert_eq!(world.state(user).await, "review");
}

impl World {
    /// Somebody of the staff taps the newest button with this label in the staff chat; what they see at once.
    pub(crate) async fn desk_tap(&mut self, user: i64, label: &str) -> String {
        let message = self.message_with(STAFF, label).await;
        let all = self.messages(STAFF).await;
        let mut shown = all.iter().filter(|known| known.id == message).flat_map(|known| known.rows.iter().flatten());
        let whole = shown.find(|button| button.starts_with(label)).cloned().unwrap_or_default();
        self.desk_tap_on(user, message, &whole).await
    }

    /// Creates after all: the reason, and the second tap; what is seen at it.
    pub(crate) async fn create_after_all(&mut self, user: i64, marker: &str, reason: &str) -> String {
        self.staff_as(user, &format!("/create {marker} {reason}")).await;
        self.desk_tap(user, "Да, создать").await
    }

    /// The same under one message, whatever it shows now.
    pub(crate) async fn desk_tap_on(&mut self, user: i64, message: i64, label: &str) -> String {
        self.tap_as(user, json!({ "message_id": message, "button": label, "chat": STAFF })).await
    }

    /// Somebody answers a message of the staff chat; what the bot says there to it.
    pub(crate) async fn desk_reply(&mut self, user: i64, message: i64, text: &str) -> String {
        let before = self.messages(STAFF).await.len();
        self.act(user, "text", json!({ "text": text, "chat": STAFF, "reply_to": message })).await;
        self.settle().await;
        let said = self.messages(STAFF).await.into_iter().skip(before).filter(|message| message.by_bot);
        said.map(|message| message.text).collect::<Vec<_>>().join("\n---\n")
    }

    /// The newest message of the staff chat that begins so.
    pub(crate) async fn desk_message(&self, begins: &str) -> i64 {
        let all = self.messages(STAFF).await;
        let found = all.iter().rev().find(|message| message.by_bot && message.text.starts_with(begins));
        found.map(|message| message.id).unwrap_or_else(|| panic!("no message begins with {begins}: {all:#?}"))
    }

    /// What a message of the staff chat says now.
    pub(crate) async fn desk_text(&self, message: i64) -> String {
        let all = self.messages(STAFF).await;
        all.into_iter().find(|known| known.id == message).map(|known| known.text).unwrap_or_default()
    }

    /// The staff chat as a person would read it out, with every name that changes from run to run made plain.
    pub(crate) async fn desk_transcript(&self) -> String {
        let mut told = self.transcript(STAFF).await.replace(&self.crm_url(), "http://crm");
        for (user, plain) in [(ANNA, "Z-ANNA-XXXX"), (crate::world::BORIS, "Z-BORI-XXXX")] {
            if let Some(newest) = self.operations(user).await.first() {
                told = told.replace(newest.marker.as_str(), plain);
            }
        }
        told.replace('\u{a0}', " ")
    }
}
