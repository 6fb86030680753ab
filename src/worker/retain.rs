//! Retention: what has been kept long enough is erased, off the tap path, in chunks so small that a tap waits for one at
//! most. One replica does it at a time; that two would do no harm, since each row is decided anew inside its transaction.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    clock::{Clock, Timestamp},
    config::Retention,
    ids::BotId,
    metrics::{self, Counter},
    store::{
        Store, StoreError, leases,
        purge::{self, Class},
    },
};

/// The longest the content of an update may be kept, whatever the configuration says: it is what a person wrote, raw.
const CONTENT_STAYS: Duration = Duration::from_secs(3 * 24 * 3_600);

/// The shortest its number and fingerprint are kept. Telegram brings an update again for up to 24 hours.
const NUMBER_STAYS: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Rows erased in one transaction.
const CHUNK: u64 = 200;

/// People looked at in one transaction.
const PEOPLE: u64 = 1_000;

/// The pause after a look that found nothing.
const EVERY: Duration = Duration::from_secs(600);

/// How often everybody's last visit is looked at: it is no index's first column, so that a tap does not pay for one.
const EVERYBODY: Duration = Duration::from_secs(24 * 3_600);

/// How long the work is this process's after a chunk.
const LEASE: Duration = Duration::from_secs(60);

/// The lease's name.
const NAME: &str = "retention";

/// Erases what has been kept long enough.
#[derive(Debug)]
pub struct Retainer {
    /// The database.
    pub store: Store,
    /// Whose rows.
    pub bot: BotId,
    /// How long what is kept.
    pub periods: Retention,
    /// A name no other process has.
    pub holder: String,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// When to look again, and how far the walk through people is.
    pub rest: Mutex<Rest>,
}

/// Until when nothing need be looked for. A start looks at once.
#[derive(Debug, Default, Clone, Copy)]
pub struct Rest {
    rows: Timestamp,
    people: Timestamp,
    after: i64,
}

impl Retainer {
    /// Erases at most one chunk of each class. Returns how many rows went; while it is more than none, there may be more.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn tick(&self) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let rest = self.rest();
        let mut erased = 0;
        if now >= rest.rows {
            for class in Class::ALL {
                let before = now.minus(self.kept_for(class));
                if purge::is_due(self.store.reader(), class, self.bot, before).await? {
                    let Some(rows) = self.erase(class, before, now).await? else {
                        // Another process is at it.
                        self.set(Rest { rows: now.plus(LEASE), ..self.rest() });
                        return Ok(erased);
                    };
                    erased += rows;
                }
            }
            if erased == 0 {
                self.set(Rest { rows: now.plus(EVERY), ..self.rest() });
            }
        }
        if now >= rest.people {
            self.forget_names(now).await?;
        }
        metrics::add(Counter::RowsErased, erased);
        Ok(erased)
    }

    /// When there is something to look for again.
    #[must_use]
    pub fn again_at(&self) -> Timestamp {
        let rest = self.rest();
        rest.rows.min(rest.people)
    }

    fn kept_for(&self, class: Class) -> Duration {
        let kept = &self.periods;
        match class {
            // What was said in a dialogue is as personal as what it answered.
            Class::Contents | Class::Said => kept.updates.min(CONTENT_STAYS),
            Class::Updates => kept.updates.max(NUMBER_STAYS),
            Class::Drafts => kept.drafts,
            Class::Answers => kept.answers,
            Class::Operations => kept.operations,
            Class::Journal | Class::Cases => kept.journal,
        }
    }

    /// One chunk in one transaction; `None` when another process does this work.
    async fn erase(&self, class: Class, before: Timestamp, now: Timestamp) -> Result<Option<usize>, StoreError> {
        let (bot, holder) = (self.bot, self.holder.clone());
        self.store
            .write(move |tx| {
                let holder = holder.clone();
                async move {
                    if !leases::take(tx.as_ref(), NAME, &holder, now, now.plus(LEASE)).await? {
                        return Ok(None);
                    }
                    purge::erase(tx.as_ref(), class, bot, before, CHUNK, now).await.map(Some)
                }
            })
            .await
    }

    /// The next people in turn; at the end of all of them, a long rest.
    async fn forget_names(&self, now: Timestamp) -> Result<(), StoreError> {
        let (bot, before) = (self.bot, now.minus(self.periods.answers));
        let (last, unseen) = purge::unseen(self.store.reader(), bot, self.rest().after, before, PEOPLE).await?;
        if !unseen.is_empty() {
            let unseen: Arc<[i64]> = unseen.into();
            self.store
                .write(move |tx| {
                    let unseen = Arc::clone(&unseen);
                    async move { purge::forget_names(tx.as_ref(), bot, &unseen, before).await }
                })
                .await?;
        }
        let next = match last {
            Some(after) => Rest { after, people: now, ..self.rest() },
            None => Rest { after: 0, people: now.plus(EVERYBODY), ..self.rest() },
        };
        self.set(next);
        Ok(())
    }

    fn rest(&self) -> Rest {
        *self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, rest: Rest) {
        *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = rest;
    }
}
