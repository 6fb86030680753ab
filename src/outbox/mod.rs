//! The outbox: what is stored to be said goes to Telegram, in order within a chat, once where it can be.
//!
//! One owner of retries: no library repeats a call. A row is stored as `sending` before its call and ends by what the
//! answer proves; a card is worded when it is sent, so no message is behind the truth.

mod case_card;
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
    domain::{delivery::Policy, hours::WorkingHours, role::LiveRoster},
    ids::{BotId, ChatId},
    store::{Store, StoreError, outbox},
    telegram::Telegram,
};

/// How many open rows one look takes from the database.
const BATCH: u64 = 512;

/// Chats written to at once.
pub const CHATS_AT_ONCE: usize = 16;

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
    pub roster: LiveRoster,
    /// The figures of the delivery machine.
    pub policy: Policy,
    /// Staff's own time, for what they read.
    pub hours: WorkingHours,
    /// How the CRM calls a ticket's page, and whether it can be searched: what a case's card offers.
    pub can_look: bool,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chats this process is writing to now.
    pub busy: Mutex<HashSet<ChatId>>,
}

/// Rows that can be sent now.
#[derive(Debug, Default)]
pub struct Due {
    /// One a chat, oldest first.
    pub rows: Vec<outbox::Row>,
    /// When the next row falls due; `None` when only a signal can tell.
    pub again_at: Option<Timestamp>,
}

impl Outbox {
    /// The oldest open row of each chat that is due now, for chats this process is not writing to.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn due(&self) -> Result<Due, StoreError> {
        let open = outbox::open(self.store.reader(), self.bot, BATCH).await?;
        let now = self.clock.now();
        let mut chats = self.busy.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut due = Due::default();
        for row in open {
            // The oldest open row of a chat speaks for it: what comes later waits.
            if !chats.insert(row.chat) {
                continue;
            }
            match row.delivery.due_at() {
                Some(due_at) if due_at > now => {
                    due.again_at = Some(due.again_at.map_or(due_at, |known| known.min(due_at)));
                }
                _ => due.rows.push(row),
            }
        }
        Ok(due)
    }

    /// Moves one row a step. A failure concerns only it and leaves it as stored. Returns whether it moved.
    pub async fn step(&self, row: outbox::Row) -> bool {
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

    /// Sends what can be sent now until nothing more can. Returns how many rows moved.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn tick(&self) -> Result<usize, StoreError> {
        let mut moved = 0;
        let mut stuck = HashSet::new();
        loop {
            let mut rows = self.due().await?.rows;
            rows.retain(|row| !stuck.contains(&row.chat));
            if rows.is_empty() {
                return Ok(moved);
            }
            let steps = stream::iter(rows).map(|row| async move { (row.chat, self.step(row).await) });
            for (chat, stepped) in steps.buffer_unordered(CHATS_AT_ONCE).collect::<Vec<_>>().await {
                if stepped {
                    moved += 1;
                } else {
                    stuck.insert(chat);
                }
            }
        }
    }
}
