//! The command menus: everybody sees the requester's commands, each of the staff also what their
//! role may use. Display only; rights are asked at
//! each action. Cosmetic: nothing waits for it and nothing fails with it.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{App, greet};
use crate::{
    catalog::texts::Key,
    domain::role::{Role, Roster},
    staff::COMMANDS,
    telegram::Answer,
};

const REQUESTER: [(&str, Key); 6] = [
    ("start", Key::MenuStart),
    ("new", Key::MenuNew),
    ("status", Key::MenuStatus),
    ("cancel", Key::MenuCancel),
    ("help", Key::MenuHelp),
    ("forget", Key::MenuForget),
];

const STAFF: [(&str, Key); 15] = [
    ("queue", Key::MenuQueue),
    ("take", Key::MenuTake),
    ("hand_back", Key::MenuHandBack),
    ("link", Key::MenuLink),
    ("look", Key::MenuLook),
    ("create", Key::MenuCreate),
    ("reject", Key::MenuReject),
    ("show", Key::MenuShow),
    ("why", Key::MenuWhy),
    ("find", Key::MenuFind),
    ("stats", Key::MenuStats),
    ("pause", Key::MenuPause),
    ("resume", Key::MenuResume),
    ("shelf", Key::MenuShelf),
    ("replay", Key::MenuReplay),
];

/// Sets the menus once Telegram can be reached, learning the bot's name on the way, and again whenever the staff change;
/// who is no longer of the staff sees the requester's commands alone.
pub(super) async fn keep(app: Arc<App>, stop: CancellationToken) {
    let mut shown: Option<Arc<Roster>> = None;
    while !stop.is_cancelled() {
        let mut pause = Duration::from_secs(1);
        while !stop.is_cancelled() {
            let known = app.username.get().is_some() || matches!(greet(&app.telegram, &app.username).await, Ok(true));
            let roster = app.roster.now();
            if known && set(&app, &roster).await {
                if let Some(before) = &shown {
                    take_away(&app, before, &roster).await;
                }
                shown = Some(roster);
                break;
            }
            drop(timeout(pause, stop.cancelled()).await);
            pause = (pause * 2).min(Duration::from_secs(300));
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = app.staff_changed.notified() => {}
        }
    }
}

/// Takes the staff's commands from those who were of the staff before.
async fn take_away(app: &App, before: &Roster, now: &Roster) {
    for (user, _) in before.everybody() {
        let still = now.role(user).is_some();
        if !still {
            forget(app, json!({"type": "chat", "chat_id": user.0})).await;
        }
        if let Some(chat) = before.chat.filter(|chat| !still || now.chat != Some(*chat)) {
            forget(app, json!({"type": "chat_member", "chat_id": chat.0, "user_id": user.0})).await;
        }
    }
    if let Some(chat) = before.chat.filter(|chat| now.chat != Some(*chat)) {
        forget(app, json!({"type": "chat", "chat_id": chat.0})).await;
    }
}

async fn forget(app: &App, scope: Value) {
    if let Answer::Refused(refusal) = app.telegram.call("deleteMyCommands", &json!({"scope": scope})).await {
        tracing::debug!(description = refusal.description, "a command menu was not taken away");
    }
}

/// Sets every menu. `false` when Telegram could not be reached at all.
async fn set(app: &App, roster: &Roster) -> bool {
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
    let of = |role: Role| {
        let may = |name: &str| COMMANDS.iter().any(|(known, needed)| *known == name && role >= *needed);
        commands(app, &default, &STAFF.into_iter().filter(|(name, _)| may(name)).collect::<Vec<_>>())
    };
    if let Some(chat) = roster.chat {
        tell(app, json!({"commands": of(Role::Viewer), "scope": {"type": "chat", "chat_id": chat.0}})).await;
    }
    for (user, role) in roster.everybody() {
        if let Some(chat) = roster.chat.filter(|chat| chat.0 != user.0) {
            let scope = json!({"type": "chat_member", "chat_id": chat.0, "user_id": user.0});
            tell(app, json!({"commands": of(role), "scope": scope})).await;
        }
        let mut both = commands(app, &default, &REQUESTER);
        both.extend(of(role));
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
