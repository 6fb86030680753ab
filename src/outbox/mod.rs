//! The outbox: what is stored to be said goes to Telegram, in order within a chat, once where it can be.
//!
//! One owner of retries: no library repeats a call. A row is stored as `sending` before its call and ends by what the
//! answer proves; a card is worded when it is sent, so no message is behind the truth.

mod deliver;
mod wording;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{StreamExt as _, stream};

use crate::{
    catalog::texts::Texts,
    clock::{Clock, Timestamp},
    domain::{delivery::Policy, role::Roster},
    ids::{BotId, ChatId},
    store::{Store, StoreError, outbox},
    telegram::Telegram,
};

/// How many open rows one look takes from the database.
const BATCH: u64 = 512;

/// Chats written to at once.
const CHATS_AT_ONCE: usize = 16;

/// The sender of one process.
#[derive(Debug)]
pub struct Outbox {
    /// The database.
    pub store: Store,
    /// The Bot API.
    pub telegram: Telegram,
    /// The bot that speaks.
    pub bot: BotId,
    /// Every sentence.
    pub texts: Arc<Texts>,
    /// The staff chat and who may act there.
    pub roster: Arc<Roster>,
    /// The figures of the delivery machine.
    pub policy: Policy,
    /// How the CRM calls a ticket's page, and whether it can be searched: what a case's card offers.
    pub can_look: bool,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chats this process is writing to now.
    pub busy: Mutex<HashSet<ChatId>>,
}

/// What one look at the database led to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tick {
    /// Rows that moved.
    pub moved: usize,
    /// When there may be something to do again; `None` when only a signal can tell.
    pub again_at: Option<Timestamp>,
}

impl Outbox {
    /// Sends what can be sent now, one row a chat, until nothing more can.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read; what concerns one row is logged and left for the next tick.
    pub async fn tick(&self) -> Result<Tick, StoreError> {
        let mut tick = Tick::default();
        let mut stuck: HashSet<ChatId> = HashSet::new();
        loop {
            let open = outbox::open(self.store.reader(), self.bot, BATCH).await?;
            let now = self.clock.now();
            let mut chats = HashSet::new();
            let mut first_of_chat = Vec::new();
            tick.again_at = None;
            for row in open {
                // The oldest open row of a chat speaks for it: what comes later waits.
                if !chats.insert(row.chat) || stuck.contains(&row.chat) {
                    continue;
                }
                match row.delivery.due_at() {
                    Some(due_at) if due_at > now => {
                        tick.again_at = Some(tick.again_at.map_or(due_at, |known| known.min(due_at)));
                    }
                    _ => first_of_chat.push(row),
                }
            }
            if first_of_chat.is_empty() {
                return Ok(tick);
            }
            let done: Vec<_> = stream::iter(first_of_chat)
                .map(|row| async move { (row.chat, self.guarded(row).await) })
                .buffer_unordered(CHATS_AT_ONCE)
                .collect()
                .await;
            for (chat, moved) in done {
                if moved {
                    tick.moved += 1;
                } else {
                    stuck.insert(chat);
                }
            }
        }
    }

    /// One row, its chat never written to twice at a time by this process; a failure concerns only it.
    async fn guarded(&self, row: outbox::Row) -> bool {
        let (chat, id) = (row.chat, row.id);
        if !self.busy.lock().unwrap_or_else(PoisonError::into_inner).insert(chat) {
            return false;
        }
        let moved = self.deliver(row).await;
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&chat);
        moved.unwrap_or_else(|error| {
            tracing::warn!(outbox.id = id, %error, "a message could not be worked on now; it stays as stored");
            false
        })
    }
}
