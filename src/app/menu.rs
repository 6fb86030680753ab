//! The command menus: everybody sees the requester's commands, each of the staff also what their
//! role may use. Display only; rights are asked at
//! each action. Cosmetic: nothing waits for it and nothing fails with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{App, greet};
use crate::{
    catalog::texts::Key,
    domain::role::{Role, Roster},
    ids::{ChatId, UserId},
    staff::COMMANDS,
    store::{StoreError, lanes, settings},
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

/// Where a menu of the staff is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Scope {
    /// Somebody's own chat with the bot, or the staff chat.
    chat: i64,
    /// Whose menu it is, in the staff chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<i64>,
}

impl Scope {
    fn wire(self) -> Value {
        match self.user {
            Some(user) => json!({"type": "chat_member", "chat_id": self.chat, "user_id": user}),
            None => json!({"type": "chat", "chat_id": self.chat}),
        }
    }
}

/// How Telegram took a menu.
enum Took {
    Yes,
    /// A member of staff who never opened the bot has no chat yet: that is no fault.
    No,
    /// It could not be reached, or wants silence.
    Later,
}

/// Sets the menus once Telegram can be reached, learning the bot's name on the way, and again whenever the staff change,
/// its chat moves, or one of them opens the bot.
pub(super) async fn keep(app: Arc<App>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let mut pause = Duration::from_secs(1);
        while !stop.is_cancelled() {
            let known = app.username.get().is_some() || matches!(greet(&app.telegram, &app.username).await, Ok(true));
            let whole = if known { app.show_menus().await } else { Ok(false) };
            match whole {
                Ok(true) => break,
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "the command menus wait for the database"),
            }
            drop(timeout(pause, stop.cancelled()).await);
            pause = (pause * 2).min(Duration::from_secs(300));
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = app.menus.stale() => {}
        }
    }
}

impl App {
    /// Sets every menu that somebody is to see and takes away those that nobody is to see any more, also those of people
    /// who left the staff while no process ran. `false` when Telegram could not be reached for all of it.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn show_menus(&self) -> Result<bool, StoreError> {
        let roster = self.roster.now();
        if !self.show_requesters_menu().await {
            return Ok(false);
        }
        // A private staff chat is somebody's own chat.
        let group = match roster.chat.filter(|chat| chat.0 < 0) {
            Some(chat) => Some(lanes::today(self.store.reader(), self.config.telegram.bot_id, chat).await?),
            None => None,
        };
        let wanted = wanted(&roster, group);
        let before = self.shown_menus().await?;
        // Noted before anything is set: what a crash leaves behind is taken away all the same.
        self.note_menus(before.iter().copied().chain(wanted.keys().copied()).collect()).await?;
        let (mut shown, mut whole) = (before.clone(), true);
        for scope in before.into_iter().filter(|scope| !wanted.contains_key(scope)) {
            match self.menu("deleteMyCommands", json!({"scope": scope.wire()})).await {
                Took::Later => whole = false,
                Took::Yes | Took::No => drop(shown.remove(&scope)),
            }
        }
        if let Some(group) = group {
            // An earlier release showed the staff's commands to every member of the group.
            let all = Scope { chat: group.0, user: None };
            whole &= !matches!(self.menu("deleteMyCommands", json!({"scope": all.wire()})).await, Took::Later);
        }
        for (scope, role) in wanted {
            let both = if scope.user.is_none() { &REQUESTER[..] } else { &[] };
            let own = STAFF.iter().filter(|(name, _)| may(role, name));
            let list: Vec<_> = both.iter().chain(own).copied().collect();
            let commands = commands(self, self.texts.lang(None), &list);
            match self.menu("setMyCommands", json!({"commands": commands, "scope": scope.wire()})).await {
                Took::Yes => drop(shown.insert(scope)),
                Took::No => {}
                Took::Later => whole = false,
            }
        }
        self.menus.are_set(shown.iter().filter(|scope| scope.user.is_none()).map(|scope| UserId(scope.chat)));
        self.note_menus(shown).await?;
        Ok(whole)
    }

    async fn show_requesters_menu(&self) -> bool {
        for lang in self.texts.langs() {
            let scope = json!({"type": "all_private_chats"});
            let mut menu = json!({"commands": commands(self, lang, &REQUESTER), "scope": scope});
            if lang != self.texts.lang(None) {
                menu["language_code"] = json!(lang);
            }
            if matches!(self.menu("setMyCommands", menu).await, Took::Later) {
                return false;
            }
        }
        true
    }

    async fn menu(&self, method: &str, menu: Value) -> Took {
        match self.telegram.call(method, &menu).await {
            Answer::Refused(refusal) if refusal.retry_after.is_some() => Took::Later,
            Answer::Refused(refusal) => {
                tracing::debug!(method, description = refusal.description, "a command menu was not taken");
                Took::No
            }
            Answer::NotSent { .. } | Answer::Lost { .. } => Took::Later,
            Answer::Ok(_) | Answer::Unreadable { .. } => Took::Yes,
        }
    }

    fn menus_setting(&self) -> String {
        format!("menus.{}", self.config.telegram.bot_id)
    }

    /// The menus of staff that were set, or may have been.
    async fn shown_menus(&self) -> Result<BTreeSet<Scope>, StoreError> {
        let text = settings::get(self.store.reader(), &self.menus_setting()).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    async fn note_menus(&self, shown: BTreeSet<Scope>) -> Result<(), StoreError> {
        if self.shown_menus().await? == shown {
            return Ok(());
        }
        let note = Arc::new((self.menus_setting(), json!(shown).to_string()));
        let now = self.clock.now();
        let write = self.store.write(move |tx| {
            let note = Arc::clone(&note);
            async move { settings::set(tx.as_ref(), &note.0, &note.1, now).await }
        });
        write.await
    }
}

/// Whose menu is to be where: in their own chat with the bot, and in the staff's group.
fn wanted(roster: &Roster, group: Option<ChatId>) -> BTreeMap<Scope, Role> {
    let scopes = |user: UserId| {
        let in_group = group.map(|group| Scope { chat: group.0, user: Some(user.0) });
        in_group.into_iter().chain([Scope { chat: user.0, user: None }])
    };
    roster.everybody().into_iter().flat_map(|(user, role)| scopes(user).map(move |scope| (scope, role))).collect()
}

fn may(role: Role, name: &str) -> bool {
    COMMANDS.iter().any(|(known, needed)| *known == name && role >= *needed)
}

fn commands(app: &App, lang: &str, list: &[(&str, Key)]) -> Vec<Value> {
    list.iter().map(|(name, key)| json!({"command": name, "description": app.texts.say(lang, *key, &[])})).collect()
}
