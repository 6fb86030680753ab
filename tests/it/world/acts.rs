//! What people do.

use serde_json::{Value, json};

use super::{ANNA, OWNER, STAFF, World};

/// The button that confirms.
pub(crate) const SUBMIT: &str = "Отправить заявку";

impl World {
    /// A person acts; the service does not turn yet.
    pub(crate) async fn act(&self, user: i64, verb: &str, details: Value) -> Value {
        self.post(&format!("/clients/{user}/{verb}"), details).await
    }

    /// Any update, exactly as given.
    pub(crate) async fn raw(&mut self, update: Value) {
        self.post("/updates/raw", update).await;
        self.settle().await;
    }

    /// A person writes to the bot.
    pub(crate) async fn type_text(&mut self, user: i64, text: &str) {
        self.act(user, "text", json!({ "text": text })).await;
        self.settle().await;
    }

    /// A person shares their own contact.
    pub(crate) async fn share_contact(&mut self, user: i64, phone: &str) {
        self.act(user, "contact", json!({ "phone": phone })).await;
        self.settle().await;
    }

    /// A person taps the newest button with this label; what they see at once.
    pub(crate) async fn tap(&mut self, user: i64, label: &str) -> String {
        let message = self.message_with(user, label).await;
        self.tap_on(user, message, label).await
    }

    /// A person taps a button of one message; what they see at once.
    pub(crate) async fn tap_on(&mut self, user: i64, message: i64, label: &str) -> String {
        let callback = self.press(user, message, label).await;
        self.settle().await;
        self.toast(&callback).await
    }

    /// The same without turning the service; the tap's own number.
    pub(crate) async fn press(&self, user: i64, message: i64, label: &str) -> String {
        let button = self.full_label(user, message, label).await;
        self.press_as(user, json!({ "message_id": message, "button": button })).await
    }

    /// A tap in all its details, without turning the service.
    pub(crate) async fn press_as(&self, user: i64, details: Value) -> String {
        let done = self.act(user, "tap", details).await;
        done["callback_id"].as_str().unwrap_or_else(|| panic!("{done}")).to_owned()
    }

    /// A tap in all its details; what its person sees at once.
    pub(crate) async fn tap_as(&mut self, user: i64, details: Value) -> String {
        let callback = self.press_as(user, details).await;
        self.settle().await;
        self.toast(&callback).await
    }

    /// Fills in the sample form up to its summary.
    pub(crate) async fn fill_in(&mut self, user: i64) {
        self.type_text(user, "/start").await;
        self.fill_in_from_the_name(user, if user == ANNA { "Анна" } else { "Борис" }).await;
    }

    /// The same when the first question is open already.
    pub(crate) async fn fill_in_from_the_name(&mut self, user: i64, name: &str) {
        self.type_text(user, name).await;
        self.share_contact(user, &format!("+7900000{user:04}")).await;
        self.tap(user, "Пропустить").await;
        self.tap(user, "Налоги").await;
        self.tap(user, "7 декабря, 11:00").await;
        self.tap(user, "Даю согласие").await;
    }

    /// Taps «Отправить заявку» under the newest summary.
    pub(crate) async fn submit(&mut self, user: i64) -> String {
        self.tap(user, SUBMIT).await
    }

    /// Fills in and submits, in one breath.
    pub(crate) async fn apply(&mut self, user: i64) {
        self.fill_in(user).await;
        self.submit(user).await;
    }

    /// The owner writes in the staff chat; what the bot says there to it.
    pub(crate) async fn staff(&mut self, command: &str) -> String {
        self.staff_as(OWNER, command).await
    }

    /// Somebody writes in the staff chat; what the bot says there to it.
    pub(crate) async fn staff_as(&mut self, user: i64, command: &str) -> String {
        let before = self.messages(STAFF).await.len();
        self.act(user, "text", json!({ "text": command, "chat": STAFF })).await;
        self.settle().await;
        let said = self.messages(STAFF).await.into_iter().skip(before).filter(|message| message.by_bot);
        said.map(|message| message.text).collect::<Vec<_>>().join("\n---\n")
    }
}
