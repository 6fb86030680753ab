//! The command menus: everybody sees the requester's commands, staff also their own. Display only; rights are asked at
//! each action. Cosmetic: nothing waits for it and nothing fails with it.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{App, greet};
use crate::{catalog::texts::Key, telegram::Answer};

const REQUESTER: [(&str, Key); 6] = [
    ("start", Key::MenuStart),
    ("new", Key::MenuNew),
    ("status", Key::MenuStatus),
    ("cancel", Key::MenuCancel),
    ("help", Key::MenuHelp),
    ("forget", Key::MenuForget),
];

const STAFF: [(&str, Key); 11] = [
    ("queue", Key::MenuQueue),
    ("link", Key::MenuLink),
    ("look", Key::MenuLook),
    ("create", Key::MenuCreate),
    ("reject", Key::MenuReject),
    ("show", Key::MenuShow),
    ("why", Key::MenuWhy),
    ("pause", Key::MenuPause),
    ("resume", Key::MenuResume),
    ("shelf", Key::MenuShelf),
    ("replay", Key::MenuReplay),
];

/// Sets the menus once Telegram can be reached, learning the bot's name on the way; then rests until the stop.
pub(super) async fn keep(app: Arc<App>, stop: CancellationToken) {
    let mut pause = Duration::from_secs(1);
    while !stop.is_cancelled() {
        let known = app.username.get().is_some() || matches!(greet(&app.telegram, &app.username).await, Ok(true));
        if known && set(&app).await {
            break;
        }
        drop(timeout(pause, stop.cancelled()).await);
        pause = (pause * 2).min(Duration::from_secs(300));
    }
    stop.cancelled().await;
}

/// Sets every menu. `false` when Telegram could not be reached at all.
async fn set(app: &App) -> bool {
    let default = app.texts.lang(None).to_owned();
    for lang in app.texts.langs() {
        let mut menu = json!({"commands": commands(app, lang, &REQUESTER), "scope": {"type": "all_private_chats"}});
        if lang != default {
            menu["language_code"] = json!(lang);
        }
        if matches!(app.telegram.call("setMyCommands", &menu).await, Answer::NotSent { .. } | Answer::Lost { .. }) {
            return false;
        }
    }
    let staff = commands(app, &default, &STAFF);
    let mut both = commands(app, &default, &REQUESTER);
    both.extend(staff.iter().cloned());
    if let Some(chat) = app.roster.chat {
        tell(app, json!({"commands": staff, "scope": {"type": "chat", "chat_id": chat.0}})).await;
    }
    for user in app.roster.owners.iter().chain(&app.roster.reviewers).chain(&app.roster.viewers) {
        tell(app, json!({"commands": both, "scope": {"type": "chat", "chat_id": user.0}})).await;
    }
    true
}

fn commands(app: &App, lang: &str, list: &[(&str, Key)]) -> Vec<Value> {
    list.iter().map(|(name, key)| json!({"command": name, "description": app.texts.say(lang, *key, &[])})).collect()
}

/// A staff member who never opened the bot has no chat yet: that is no fault.
async fn tell(app: &App, menu: Value) {
    if let Answer::Refused(refusal) = app.telegram.call("setMyCommands", &menu).await {
        tracing::debug!(description = refusal.description, "a command menu was not taken");
    }
}
