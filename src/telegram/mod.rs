//! Telegram: reading updates without trusting their shape, naming buttons, wording calls, and telling what an answer
//! proves. Retries belong to the outbox alone; nothing here repeats a call.

use std::sync::{Arc, OnceLock};

pub mod answer;
pub mod button;
pub mod client;
pub mod decode;
pub mod files;
mod ordered;
pub mod render;
pub mod update;
pub mod verdict;

pub use answer::Answer;
pub use client::{ClientProblem, Telegram};

/// The bot's name, once Telegram has told it: commands in groups are addressed by it.
#[derive(Debug, Clone, Default)]
pub struct BotName(Arc<OnceLock<String>>);

impl BotName {
    /// Stores the name; the first one stands.
    pub fn learn(&self, name: String) {
        // A bot's name changes only by its owner's hand; the next start learns the new one.
        drop(self.0.set(name));
    }

    /// The name, if it is known.
    #[must_use]
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Whether something addressed to `to` is addressed to us; what is addressed to nobody is.
    #[must_use]
    pub fn is_addressed(&self, to: Option<&str>) -> bool {
        to.is_none_or(|to| self.get().is_some_and(|name| name.eq_ignore_ascii_case(to)))
    }
}
