//! Everything the emulated Telegram knows, under one lock.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{chats::Chats, files::File, taps::Taps, updates::Queue, webhook::Hook};
use crate::sandbox::{faults::Plan, log::CallLog};

/// The bot's name in commands addressed to it.
pub(super) const BOT_USERNAME: &str = "zayavka_sandbox_bot";

/// The state of the emulator.
#[derive(Debug)]
pub(in crate::sandbox) struct Book {
    pub(in crate::sandbox) chats: Chats,
    pub(in crate::sandbox) queue: Queue,
    pub(in crate::sandbox) taps: Taps,
    pub(in crate::sandbox) log: CallLog,
    pub(in crate::sandbox) plan: Plan,
    /// In groups the bot sees only commands and answers to itself.
    pub(in crate::sandbox) privacy: bool,
    /// The bot of updates: the world's own token.
    pub(super) bot_id: i64,
    /// Counts pollers; an older one gives way.
    pub(super) poller: u64,
    /// Command lists by scope and language.
    pub(super) commands: BTreeMap<String, Value>,
    pub(super) hook: Option<Hook>,
    files: BTreeMap<String, File>,
}

impl Book {
    pub(super) fn new(bot_id: i64, staff_chat: i64) -> Self {
        Self {
            chats: Chats::inhabited(staff_chat),
            queue: Queue::default(),
            taps: Taps::default(),
            log: CallLog::default(),
            plan: Plan::default(),
            privacy: true,
            bot_id,
            poller: 0,
            commands: BTreeMap::new(),
            hook: None,
            files: BTreeMap::new(),
        }
    }

    /// Telegram's `User` of a bot.
    pub(super) fn bot_json(&self, id: i64) -> Value {
        json!({ "id": id, "is_bot": true, "first_name": "Заявка", "username": BOT_USERNAME })
    }

    /// A new file of so many bytes in a folder; answers its id.
    pub(super) fn new_file(&mut self, folder: &str, size: usize) -> String {
        let number = self.files.len() + 1;
        let id = format!("AgACAgIAAxkBAAM{number}");
        self.files.insert(id.clone(), File { path: format!("{folder}/file_{number}"), size });
        id
    }

    /// A file, also by the id of one of its sizes.
    pub(super) fn file(&self, id: &str) -> Option<&File> {
        let whole = || self.files.get(id.trim_end_matches(['s', 'm', 'x']));
        self.files.get(id).or_else(whole)
    }

    /// The file at a path.
    pub(super) fn file_at(&self, path: &str) -> Option<File> {
        self.files.values().find(|file| file.path == path).cloned()
    }
}
