//! Whose turn it is to poll. Telegram gives updates to one poller at a time, so of several replicas one polls and the
//! others stand by: by a lease in the database, prolonged while a poll waits.
//!
//! The lease keeps replicas out of each other's way and proves nothing. A poller that was frozen past its lease finds out
//! before its next poll, and only that would acknowledge anything: with an offset it had stored everything below.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    clock::{Clock, Timestamp},
    ids::BotId,
    store::{Store, StoreError, leases},
};

/// How long a turn lasts without being prolonged. Telegram keeps taps for 150 s: another replica must take over well
/// within that.
pub const LEASE: Duration = Duration::from_secs(15);

/// How often it is prolonged. Those who stand by look as often, and when it ends.
pub const PROLONG: Duration = Duration::from_secs(5);

/// The shortest pause between two looks of theirs: at the end another may have been faster.
const SOON: Duration = Duration::from_millis(100);

/// The turn of one process.
#[derive(Debug)]
pub struct Turn {
    store: Store,
    name: String,
    holder: String,
    clock: Arc<dyn Clock>,
    until: Mutex<Timestamp>,
}

impl Turn {
    /// Nobody's yet. `holder` is a name no other process has.
    #[must_use]
    pub fn new(store: Store, bot: BotId, holder: String, clock: Arc<dyn Clock>) -> Self {
        Self { store, name: format!("poller:{bot}"), holder, clock, until: Mutex::default() }
    }

    /// Takes the turn or prolongs it. `false` while another process has it. A SQLite file serves one process: there it
    /// is always ours, and a restart need not wait for the end of the turn of its own dead self.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn take(&self) -> Result<bool, StoreError> {
        if !self.store.has_replicas() {
            return Ok(true);
        }
        let now = self.clock.now();
        let (until, who) = (now.plus(LEASE), Arc::new((self.name.clone(), self.holder.clone())));
        let ours = self
            .store
            .write(move |tx| {
                let who = Arc::clone(&who);
                async move { leases::take(tx.as_ref(), &who.0, &who.1, now, until).await }
            })
            .await?;
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = if ours { until } else { Timestamp::default() };
        Ok(ours)
    }

    /// How long who stands by waits before it looks again: until the turn that is another's would end, at most [`PROLONG`].
    pub async fn look_again_in(&self) -> Duration {
        match leases::ends_at(self.store.reader(), &self.name).await {
            Ok(Some(end)) => end.since(self.clock.now()).clamp(SOON, PROLONG),
            // It was given back a moment ago.
            Ok(None) => SOON,
            Err(error) => {
                tracing::debug!(%error, "when the turn to poll ends cannot be told");
                PROLONG
            }
        }
    }

    /// Prolongs the turn for as long as it is polled; ends when it is another's, or when nobody can say any more.
    pub async fn lost(&self) {
        if !self.store.has_replicas() {
            return std::future::pending().await;
        }
        loop {
            drop(tokio::time::timeout(PROLONG, std::future::pending::<()>()).await);
            match self.take().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) if self.clock.now() < *self.until.lock().unwrap_or_else(PoisonError::into_inner) => {}
                Err(_) => return,
            }
        }
    }

    /// Gives it back, so that another replica need not wait for its end.
    pub async fn give_back(&self) {
        if !self.store.has_replicas() {
            return;
        }
        let who = Arc::new((self.name.clone(), self.holder.clone()));
        let given = self.store.write(move |tx| {
            let who = Arc::clone(&who);
            async move { leases::give_back(tx.as_ref(), &who.0, &who.1).await }
        });
        if let Err(error) = given.await {
            tracing::debug!(%error, "the turn to poll could not be given back; it ends by itself");
        }
    }
}
