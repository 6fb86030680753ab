//! The clock may be set back: by hand, or by a time server after it had run ahead. What was dated in that future would
//! wait until time catches up with it.

use std::{sync::atomic::Ordering, time::Duration};

use super::{BATCH, Worker};
use crate::{
    domain::operation::Event,
    store::{StoreError, operations, set_back},
};

/// Clocks of replicas differ a little, and a time server nudges them: that is no jump.
const NUDGE: Duration = Duration::from_secs(5);

/// No lease and no claim is meant to last longer.
const LONGEST_LEASE: Duration = Duration::from_secs(300);

impl Worker {
    /// At the first look, and whenever the clock shows less than it did before: brings back what is dated ahead.
    pub(super) async fn follow_the_clock(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        // Zero at the first look: what an earlier process left may be dated ahead as well.
        let seen = self.seen.swap(now.0, Ordering::Relaxed);
        if seen != 0 && now.plus(NUDGE).0 >= seen {
            return Ok(());
        }
        if let Err(error) = self.bring_back().await {
            // Not done yet: the next look tries again.
            self.seen.store(0, Ordering::Relaxed);
            return Err(error);
        }
        Ok(())
    }

    async fn bring_back(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let (bot, most) = (self.bot, now.plus(LONGEST_LEASE));
        self.store.write(move |tx| async move { set_back::shorten(tx.as_ref(), bot, most).await }).await?;
        loop {
            let ahead = operations::dated_ahead(self.store.reader(), bot, now.plus(NUDGE), BATCH).await?;
            let Some((first, dated)) = ahead.first() else { return Ok(()) };
            tracing::warn!(
                operation.id = %first.operation.id, dated = %dated, now = %now, operations = ahead.len(),
                "operations were dated by a clock that has been set back: they wait as long as they were meant to, from now"
            );
            let mut moved = false;
            for (stored, dated) in &ahead {
                let event = Event::ClockSetBack { ahead: dated.since(now) };
                moved |= self.tell(stored, event, None).await?.is_some();
            }
            if !moved {
                return Ok(());
            }
        }
    }
}
