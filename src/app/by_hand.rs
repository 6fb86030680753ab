//! The service turned by hand, one round after another: what the loops do, in the order of the flow, without waiting.
//! Tests hold the clock and turn; nothing here is another way of doing the work.

use std::time::Duration;

use super::App;
use crate::{
    clock::Timestamp,
    inbox::{
        Ended,
        lanes::Lanes,
        poll::{Polled, Poller},
    },
    store::{
        StoreError,
        inbox::{self, Claimed},
    },
};

/// More rounds than any chain of effects needs: reaching it means that something moves for ever.
const MOST_ROUNDS: usize = 200;

impl App {
    /// Takes in what Telegram has, without waiting for more. Returns the rows that are ours to handle.
    ///
    /// # Errors
    /// The poll's trouble, in words.
    pub async fn take_in(&self, poller: &mut Poller) -> Result<Vec<Claimed>, String> {
        if poller.is_in_doubt() {
            poller.worked_before(self.outage.last_proof().await.map_err(|error| error.to_string())?);
        }
        match poller.poll(&self.inbox, Duration::ZERO).await {
            Polled::Fresh(rows) => Ok(rows),
            Polled::Nothing => Ok(Vec::new()),
            Polled::Trouble { why, .. } => Err(why),
        }
    }

    /// Handles rows in turns and goes on at once with what they confirmed or decided. Returns how many were handled.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn handle(&self, rows: Vec<Claimed>) -> Result<usize, StoreError> {
        let mut lanes = Lanes::default();
        lanes.add(rows);
        lanes.add(self.inbox.claim_left_over(lanes.held().clone(), 1_000).await?);
        let mut handled = 0;
        while let Some(row) = lanes.take() {
            let ended = self.inbox.handle(&row).await;
            lanes.done(row.lane, row.row);
            if let Ended::Done(go_on) = ended {
                handled += 1;
                for operation in go_on {
                    self.worker.go_on(operation).await?;
                }
            }
        }
        Ok(handled)
    }

    /// The next moment after now at which something stored falls due; `None` when only the outside can move anything.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn next_moment(&self) -> Result<Option<Timestamp>, StoreError> {
        let reader = self.store.reader();
        let bot = self.config.telegram.bot_id;
        let operation = self.worker.next_due().await?;
        let message = self.outbox.due().await?.again_at;
        let now = self.clock.now();
        let update = inbox::next_lease_end(reader, bot, now).await?;
        Ok([operation, message, update].into_iter().flatten().filter(|moment| *moment > now).min())
    }

    /// Turns until nothing moves any more at the clock's present moment. Returns how many rounds moved something.
    ///
    /// # Errors
    /// In words: the database, or something that never stops moving.
    pub async fn settle(&self, poller: &mut Poller) -> Result<usize, String> {
        for round in 0..MOST_ROUNDS {
            // Turned by hand, the service is not away between two turns, however far the clock jumped.
            let in_doubt = poller.is_in_doubt();
            let taken = self.take_in(poller).await;
            let told = match &taken {
                Ok(rows) => self.outage.proven(in_doubt, rows.is_empty()).await.map_err(|error| error.to_string())?,
                Err(_) => 0,
            };
            let rows = taken.unwrap_or_default();
            let handled = self.handle(rows).await.map_err(|error| error.to_string())?;
            let worked = self.worker.tick().await.map_err(|error| error.to_string())?;
            let seen = self.worker.see_to_the_key().await.map_err(|error| error.to_string())?;
            let reminded = self.reminder.tick().await.map_err(|error| error.to_string())?;
            let said = self.outbox.tick().await.map_err(|error| error.to_string())?;
            let erased = self.retainer.tick().await.map_err(|error| error.to_string())?;
            if handled + worked + usize::from(seen) + reminded + said + erased + told == 0 {
                return Ok(round);
            }
        }
        Err(format!("something still moves after {MOST_ROUNDS} rounds"))
    }
}
