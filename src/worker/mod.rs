//! The worker: looks at stored operations, does for each what [`next_action`] says, and stores what came of it.
//!
//! It takes no input. A signal or a timer only makes it look sooner; the loop and the tests call the same
//! [`Worker::due`] and [`Worker::step`].

mod awaited;
mod begin;
mod clockwork;
mod echo;
mod files;
mod kept;
mod look;
pub mod outage;
pub mod remind;
mod rest;
pub mod retain;
mod send;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::{Clock, Dice, Hindsight, Timestamp},
    crm::{
        Crm,
        limiter::{Admission, Limiter},
    },
    domain::{
        delivery,
        operation::{Event, NextAction, Operation, Policy, State, next_action},
    },
    ids::{BotId, OperationId},
    metrics,
    store::{
        Store, StoreError,
        operations::{self, Advanced, Author, Claimable, Stored},
        outbox::Herald,
        settings,
    },
};

pub use begin::{AtTap, Begun, Learnt};
pub use files::TelegramFiles;
pub use kept::SharedTokens;
pub use rest::Resting;

/// How many due operations one look takes from the database at most.
const BATCH: usize = 256;

/// How many more a look takes, and chooses from, while another replica is after the same ones.
const SPREAD: usize = 64;

/// How long nothing is begun after the database could not be used.
const NO_DATABASE: Duration = Duration::from_secs(1);

/// The worker of one process.
#[derive(Debug)]
pub struct Worker {
    /// The database.
    pub store: Store,
    /// The CRM.
    pub crm: Arc<Crm>,
    /// The figures of the operation machine.
    pub policy: Arc<Policy>,
    /// The bot whose operations it carries.
    pub bot: BotId,
    /// What it adds to events: its name, policies for messages.
    pub author: Author,
    /// Most CRM calls at once.
    pub concurrency: usize,
    /// The pace towards the CRM, and the breaker.
    pub limiter: Arc<Mutex<Limiter>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub dice: Arc<dyn Dice>,
    /// What this process works on now: the database decides races between processes, this one within.
    pub busy: Mutex<HashSet<OperationId>>,
    /// The figures of the delivery machine.
    pub delivery: delivery::Policy,
    /// Notices a clock that was set.
    pub hindsight: Hindsight,
    /// Held while what waits is told of it.
    pub following: tokio::sync::Mutex<()>,
    /// Attempts that began with their taps and whose calls have not begun.
    pub begun: Mutex<HashMap<OperationId, Begun>>,
    /// Lets what is to be said of an operation leave with the commit that moved it.
    pub herald: Arc<dyn Herald>,
    /// Cancelled when a stop waits no longer: calls under way count as lost from then on.
    pub cut: CancellationToken,
    /// Whether another replica was quicker lately: then not everybody should go for the very first.
    pub rivalled: AtomicBool,
    /// Operations that could not be worked on lately.
    pub resting: Resting,
}

/// What one step led to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stepped {
    /// Whether something changed in the database.
    pub moved: bool,
    /// When it may be worth trying again; `None` when the row itself says.
    pub again_at: Option<Timestamp>,
}

/// What doing one thing led to.
enum Did {
    Moved,
    Nothing,
    /// The CRM may not be asked before this moment.
    Held(Timestamp),
}

impl Worker {
    /// What [`Worker::due`] finds, and when the next operation falls due. One question where nothing is due, as after most
    /// steps. Where all that was seen is due there is no next moment: the end of a step brings the next look.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn work(&self, room: usize) -> Result<(Vec<Stored>, Option<Timestamp>), StoreError> {
        self.follow_the_clock().await?;
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner).len();
        let most = room.saturating_add(busy).saturating_add(self.resting.count()).saturating_add(1).min(BATCH) as u64;
        let moments = operations::moments(self.store.reader(), self.bot, most).await?;
        let now = self.clock.now();
        let next = moments.iter().copied().find(|at| *at > now);
        let next = [next, self.next_begun(), self.resting.next(now)].into_iter().flatten().min();
        if moments.first().is_none_or(|first| *first > now) {
            self.rivalled.store(false, Ordering::Relaxed);
            return Ok((Vec::new(), next));
        }
        Ok((self.due(room).await?, next))
    }

    /// Operations that are due now and that this process is not working on, at most `room` of them.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn due(&self, room: usize) -> Result<Vec<Stored>, StoreError> {
        self.follow_the_clock().await?;
        // No more than can be of use: a look costs what it reads, and comes after every step.
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner).len();
        let rivalled = self.rivalled.load(Ordering::Relaxed);
        let most = room.saturating_add(busy).saturating_add(if rivalled { SPREAD } else { 0 }).min(BATCH);
        let most = u64::try_from(most.saturating_add(self.resting.count())).unwrap_or(u64::MAX);
        let now = self.clock.now();
        let Claimable { readable: mut due, unreadable } =
            operations::claimable(self.store.reader(), self.bot, now, most).await?;
        for (id, error) in unreadable {
            if !self.resting.holds(id, now) {
                self.let_rest(id, &error);
            }
        }
        {
            let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            due.retain(|stored| !busy.contains(&stored.operation.id) && !self.resting.holds(stored.operation.id, now));
        }
        if due.is_empty() {
            self.rivalled.store(false, Ordering::Relaxed);
        } else if rivalled {
            let first = self.dice.below(due.len() as u64);
            due.rotate_left(usize::try_from(first).unwrap_or(0));
        }
        due.truncate(room);
        Ok(due)
    }

    /// When the next operation falls due.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let now = self.clock.now();
        let due = operations::next_due(self.store.reader(), self.bot, now).await?;
        let key = self.key_due().await?.filter(|at| *at > now);
        Ok([due, self.next_begun(), self.resting.next(now), key].into_iter().flatten().min())
    }

    /// Does what one due operation needs. A failure concerns only it and leaves it as stored.
    pub async fn step(&self, stored: Stored) -> Stepped {
        match self.guarded(stored.operation.id, self.act(stored, false, false)).await {
            Did::Moved => Stepped { moved: true, again_at: None },
            Did::Nothing => Stepped::default(),
            Did::Held(at) => Stepped { moved: false, again_at: Some(at) },
        }
    }

    /// Does everything that is due now, once. Returns how many operations moved.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn tick(&self) -> Result<usize, StoreError> {
        let left = self.left_begun(Some(self.clock.now()));
        for id in &left {
            self.go_on_unnamed(*id).await?;
        }
        let due = self.due(usize::MAX).await?;
        let steps = stream::iter(due).map(|stored| self.step(stored)).buffer_unordered(self.concurrency);
        Ok(left.len() + steps.filter(|stepped| std::future::ready(stepped.moved)).count().await)
    }

    /// One operation, never twice at a time in this process; a failure concerns only it.
    async fn guarded(&self, id: OperationId, doing: impl Future<Output = Result<Did, StoreError>>) -> Did {
        if !self.busy.lock().unwrap_or_else(PoisonError::into_inner).insert(id) {
            return Did::Nothing;
        }
        let did = doing.await;
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        match did {
            Ok(did) => {
                self.resting.wake(id);
                did
            }
            Err(StoreError::Stale(_)) => Did::Nothing,
            Err(error @ StoreError::Unavailable(_)) => {
                tracing::warn!(operation.id = %id, %error, "an operation could not be worked on now; it stays as stored");
                Did::Held(self.clock.now().plus(NO_DATABASE))
            }
            // Its own fault: the others must not wait for it.
            Err(error) => {
                self.let_rest(id, &error);
                Did::Nothing
            }
        }
    }

    /// An operation that only a person can help: told, and passed by for a while.
    fn let_rest(&self, id: OperationId, error: &StoreError) {
        let rest = self.resting.rest(id, self.clock.now());
        tracing::error!(
            operation.id = %id, %error, rest_seconds = rest.as_secs(),
            "an operation cannot be worked on and stays as stored: `zayavka doctor` tells which and what to do"
        );
    }

    async fn act(&self, stored: Stored, even_if_not_due: bool, urgent: bool) -> Result<Did, StoreError> {
        let now = self.clock.now();
        let action = match next_action(&stored.operation, now, &self.policy) {
            NextAction::Wait(_) if even_if_not_due => NextAction::Send,
            action => action,
        };
        let cost = self.crm.cost();
        let create = self.crm.cost_of(stored.order.as_ref());
        match action {
            NextAction::Send => match self.admit(true, urgent, create).await? {
                Some(at) => Ok(Did::Held(at)),
                None => self.send(stored).await,
            },
            NextAction::Look | NextAction::Watch => match self.admit(false, urgent, cost.look).await? {
                Some(at) => Ok(Did::Held(at)),
                None => self.look(stored).await,
            },
            NextAction::Check(candidate) => match self.admit(false, urgent, cost.check).await? {
                Some(at) => Ok(Did::Held(at)),
                None => self.check(stored, &candidate.number).await,
            },
            NextAction::Tell(event) => self.tell(&stored, event, None).await.map(|moved| did(moved.is_some())),
            NextAction::Wait(_) | NextAction::Nothing => Ok(Did::Nothing),
        }
    }

    /// Until when the CRM may not be asked; `None` when it may now, and then it is counted. A pause by staff stops sending,
    /// not looking.
    async fn admit(&self, sends: bool, urgent: bool, cost: u32) -> Result<Option<Timestamp>, StoreError> {
        let now = self.clock.now();
        if sends && settings::get(self.store.reader(), settings::PAUSED).await?.is_some() {
            return Ok(Some(now.plus(Duration::from_secs(5))));
        }
        let admission = {
            let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
            if urgent { limiter.admit_urgent(now, cost) } else { limiter.admit(now, cost) }
        };
        Ok(match admission {
            Admission::Go => None,
            Admission::Wait { after, .. } => Some(now.plus(after)),
        })
    }

    /// Brings an event to the one door. Returns the operation after it, or `None` when it had moved meanwhile.
    /// The others bring it, without `as_read`, to whatever the operation is by now.
    async fn tell(&self, stored: &Stored, event: Event, detail: Option<String>) -> Result<Option<Stored>, StoreError> {
        self.tell_as(stored, event, true, Author { detail, ..self.author.clone() }).await
    }

    async fn tell_as(
        &self,
        stored: &Stored,
        event: Event,
        as_read: bool,
        author: Author,
    ) -> Result<Option<Stored>, StoreError> {
        self.tell_by(stored, event, as_read, author, Arc::clone(&self.policy)).await
    }

    async fn tell_by(
        &self,
        stored: &Stored,
        event: Event,
        as_read: bool,
        author: Author,
        policy: Arc<Policy>,
    ) -> Result<Option<Stored>, StoreError> {
        let at = self.clock.now();
        let name = event.name();
        let shared = Arc::new((event, author, Arc::clone(&self.herald), stored.clone()));
        let (advanced, afterwards) = self
            .store
            .write(move |tx| {
                let (shared, policy) = (Arc::clone(&shared), Arc::clone(&policy));
                async move {
                    let (event, author, herald, known) = shared.as_ref();
                    let (advanced, said) =
                        operations::advance_known(tx.as_ref(), known, as_read, event, at, &policy, author).await?;
                    let moved = matches!(advanced, Advanced::Moved(_));
                    let afterwards = if moved { herald.take(&tx, known.chat, said).await? } else { None };
                    Ok((advanced, afterwards))
                }
            })
            .await?;
        if let Some(afterwards) = afterwards {
            afterwards();
        }
        Ok(self.noted(stored, name, advanced))
    }

    /// The operation after an event, counted and told; `None` where it had moved meanwhile.
    fn noted(&self, stored: &Stored, name: &str, advanced: Advanced) -> Option<Stored> {
        let id = stored.operation.id;
        let at = self.clock.now();
        match advanced {
            Advanced::Moved(after) => {
                let is_created = |operation: &Operation| matches!(operation.state, State::Created { .. });
                if is_created(&after.operation) && !is_created(&stored.operation) {
                    metrics::ticket_after(at.since(after.operation.confirmed_at));
                }
                tracing::info!(
                    operation.id = %id, operation.marker = %after.marker, event = name,
                    state = after.operation.state.name(), "an operation moved"
                );
                Some(*after)
            }
            Advanced::Stale | Advanced::Gone => None,
            Advanced::Illegal(illegal) => {
                tracing::debug!(operation.id = %id, %illegal, "an event came too late to mean anything");
                None
            }
        }
    }

    /// The pause after an attempt that was provably not executed: doubled each time, with a fifth of jitter, and never
    /// shorter than the CRM asked for.
    fn retry_at(&self, attempts: u32, asked: Option<Duration>) -> Timestamp {
        let pause = self.policy.backoff(attempts);
        let fifth = u64::try_from(pause.as_millis() / 5).unwrap_or(0);
        let jitter = Duration::from_millis(self.dice.below(fifth.max(1)));
        self.clock.now().plus((pause + jitter).max(asked.unwrap_or_default()))
    }
}

fn did(moved: bool) -> Did {
    if moved { Did::Moved } else { Did::Nothing }
}
