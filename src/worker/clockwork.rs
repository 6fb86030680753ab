//! The clock may be set: by hand, or by a time server. Back, after it had run ahead: what was dated in that future would
//! wait until time catches up with it. Forward: what must be waited out would seem to have been.

use std::time::Duration;

use super::Worker;
use crate::{
    clock::Looked,
    domain::operation::Event,
    store::{
        StoreError,
        operations::{self, Author},
        outbox, set_back,
    },
};

/// Clocks of replicas differ a little, and a time server nudges them: that is no jump.
const NUDGE: Duration = Duration::from_secs(5);

/// No lease, no claim and no pause of a message is meant to last longer, silences by Telegram's word apart.
const LONGEST: Duration = Duration::from_secs(300);

/// Rows brought back together.
const AT_ONCE: u64 = 256;

impl Worker {
    /// At the first look, and whenever the clock shows less than it did before: brings back what is dated ahead. Whenever
    /// it shows more than has gone by: lets what waits for a window wait it out. Nobody gets past while that is being done.
    pub(super) async fn follow_the_clock(&self) -> Result<(), StoreError> {
        let _one_at_a_time = self.following.lock().await;
        let now = self.clock.now();
        let back = match self.hindsight.look(now, self.clock.steady(), NUDGE) {
            Looked::Well => return Ok(()),
            Looked::Forward(by) => {
                let told = self.let_wait(by).await;
                if told.is_err() {
                    // Not done yet: the next look tries again.
                    self.hindsight.owe(by);
                }
                return told;
            }
            Looked::Back => Ok(true),
            // What an earlier process left may be dated ahead as well.
            Looked::First => set_back::is_dated_ahead(self.store.reader(), now.plus(NUDGE)).await,
        };
        let brought = match back {
            Ok(true) => self.bring_back().await,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if brought.is_err() {
            // Not done yet: the next look tries again.
            self.hindsight.forget();
        }
        brought
    }

    /// Tells every operation that waits for something that less time has gone by than the clock shows.
    async fn let_wait(&self, by: Duration) -> Result<(), StoreError> {
        let seconds = by.as_secs();
        tracing::warn!(
            seconds,
            "the clock was set forward, or the machine slept: what has to be waited out is waited out"
        );
        let mut after = None;
        loop {
            let (waiting, last) = operations::waiting(self.store.reader(), self.bot, after, AT_ONCE).await?;
            for stored in &waiting {
                // Whatever became of it meanwhile, it must know.
                let author = Author { detail: None, ..self.author.clone() };
                match self.tell_as(stored, Event::ClockSetForward { by }, false, author).await {
                    Err(error @ StoreError::Unavailable(_)) => return Err(error),
                    Err(error) => tracing::error!(operation.id = %stored.operation.id, %error, "it cannot be told"),
                    Ok(_) => {}
                }
            }
            if last.is_none() {
                return Ok(());
            }
            after = last;
        }
    }

    async fn bring_back(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        tracing::warn!(now = %now, "the clock was set back: what it had dated ahead waits as long as it was meant to, from now");
        let (bot, most) = (self.bot, now.plus(LONGEST));
        self.store.write(move |tx| async move { set_back::shorten(tx.as_ref(), bot, most).await }).await?;
        self.bring_back_operations().await?;
        self.bring_back_messages().await
    }

    async fn bring_back_operations(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        loop {
            let ahead = operations::dated_ahead(self.store.reader(), self.bot, now.plus(NUDGE), AT_ONCE).await?;
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

    async fn bring_back_messages(&self) -> Result<(), StoreError> {
        use crate::domain::delivery;
        let (bot, now) = (self.bot, self.clock.now());
        let most = now.plus(LONGEST);
        loop {
            let beyond = set_back::messages_beyond(self.store.reader(), bot, most, AT_ONCE).await?;
            if beyond.is_empty() {
                return Ok(());
            }
            let policy = self.delivery.clone();
            let moved = self.store.write(move |tx| {
                let (beyond, policy) = (beyond.clone(), policy.clone());
                async move {
                    let event = delivery::Event::ClockSetBack { most };
                    let mut moved = false;
                    for (row, rev) in beyond {
                        let advanced = outbox::advance(tx.as_ref(), row, rev, &event, now, &policy).await?;
                        moved |= matches!(advanced, outbox::Advanced::Moved(_));
                    }
                    Ok(moved)
                }
            });
            if !moved.await? {
                return Ok(());
            }
        }
    }
}
