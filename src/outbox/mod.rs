//! The outbox: what is stored to be said goes to Telegram, in order within a chat, once where it can be.
//!
//! One owner of retries: no library repeats a call. A row is stored as `sending` before its call and ends by what the
//! answer proves; a card is worded when it is claimed, so no message is behind the truth. `take` is the one transaction
//! that decides whether a chat's next message may leave; it runs for a chat whose lane is due, behind the end of the
//! message before, and inside the transaction that writes something new ([`Herald`]).

pub mod case_card;
mod deliver;
mod queue;
mod take;
mod trouble;
mod wording;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, Weak, atomic::Ordering},
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};

use crate::{
    catalog::texts::Texts,
    clock::{Clock, Timestamp},
    crm::limiter::Limiter,
    domain::{delivery::Policy, hours::WorkingHours, notice::Policies, pace::Pace, role::LiveRoster},
    ids::{BotId, ChatId},
    store::{
        Store, StoreError, Tx, apart, lanes,
        outbox::{AfterCommit, Herald, STAFF, Said},
        pace,
    },
    telegram::Telegram,
};

pub use queue::{Queue, Ready};

/// Chats written to at once.
pub const CHATS_AT_ONCE: usize = 16;

/// How soon a lane or the pace that another process holds at this moment is looked at again.
const SOON: Duration = Duration::from_millis(10);

/// How soon something is tried again that the database could not be used for.
const NO_DATABASE: Duration = Duration::from_secs(1);

/// How soon a chat whose rows cannot be read is looked at again.
const TROUBLE: Duration = Duration::from_secs(5);

/// How many lanes that know nothing of their messages one look finds.
const OVERLOOKED: u64 = 256;

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
    /// How many messages may leave within how long.
    pub pace: Pace,
    /// What to do with each kind of message when nobody knows whether it arrived.
    pub on_unknown: Policies,
    /// Staff's own time, for what they read.
    pub hours: WorkingHours,
    /// How the CRM calls a ticket's page, and whether it can be searched: what a case's card offers.
    pub can_look: bool,
    /// Whether the CRM is left alone now: then a card says so.
    pub limiter: Arc<Mutex<Limiter>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// What is claimed and not called yet.
    pub queue: Arc<Queue>,
}

/// Chats where something can be said now.
#[derive(Debug, Default)]
pub struct Due {
    /// The most urgent first.
    pub chats: Vec<ChatId>,
    /// When the next one falls due; `None` when only a signal can tell.
    pub again_at: Option<Timestamp>,
}

/// What one step led to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stepped {
    /// Whether something changed in the database.
    pub moved: bool,
    /// When it is worth trying again; `None` when the lane itself says.
    pub again_at: Option<Timestamp>,
}

impl Outbox {
    /// The chats that want to be looked at now, as many as may be written to at once and as the pace has room for. While
    /// it has less room than chats wait, nothing passes them by: only the most urgent go on.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn due(&self) -> Result<Due, StoreError> {
        let (reader, now) = (self.store.reader(), self.clock.now());
        let limit = self.queue.free().max(1);
        // One more than can be used: where all of a rank are due, the end of a step brings the next look.
        let soonest = lanes::soonest(reader, self.bot, limit + 1).await?;
        let mut again_at = soonest.iter().map(|(_, at)| *at).filter(|at| *at > now).min();
        let mut chats: Vec<_> = soonest.into_iter().filter(|(_, at)| *at <= now).map(|(chat, _)| chat).collect();
        chats.truncate(limit);
        if chats.is_empty() {
            self.queue.short.store(false, Ordering::Relaxed);
            return Ok(Due { chats, again_at });
        }
        let overall = pace::look(reader, self.bot).await?;
        let silent = overall.hold_until > now;
        let room = if silent { 0 } else { self.pace.overall.room(&overall.recent, now) };
        let short = chats.len() > room;
        self.queue.short.store(short, Ordering::Relaxed);
        chats.truncate(room);
        if short {
            let free_at =
                if silent { Some(overall.hold_until) } else { self.pace.overall.again_at(&overall.recent, now) };
            again_at = [again_at, free_at].into_iter().flatten().min();
        }
        Ok(Due { chats, again_at })
    }

    /// Says the next thing in a chat, and what follows it there at once. A failure concerns only this chat and leaves it
    /// as stored.
    pub async fn step(self: &Arc<Self>, chat: ChatId) -> Stepped {
        let Some(slot) = self.queue.slot() else { return Stepped::default() };
        let (outbox, now) = (Arc::downgrade(self), self.clock.now());
        let took = self
            .store
            .write(move |tx| {
                let outbox = outbox.clone();
                async move { alive(&outbox)?.take(&tx, chat, now).await }
            })
            .await;
        match took {
            Ok(took) => {
                if let Some(taken) = took.call {
                    self.speak(Ready { taken, slot }).await;
                }
                Stepped { moved: took.moved, again_at: took.again_at }
            }
            Err(error) => {
                tracing::warn!(chat = chat.0, %error, "nothing could be said in a chat now; it stays as stored");
                let pause = match error {
                    StoreError::Stale(_) => SOON,
                    StoreError::Unavailable(_) => NO_DATABASE,
                    _ => TROUBLE,
                };
                Stepped { moved: false, again_at: Some(now.plus(pause)) }
            }
        }
    }

    /// Makes a call that is claimed, and those that follow it in the same chat.
    pub async fn speak(self: &Arc<Self>, ready: Ready) {
        let Ready { taken, slot } = ready;
        let mut next = Some(taken);
        while let Some(taken) = next {
            let id = taken.row.id;
            next = self.deliver(*taken).await.unwrap_or_else(|error| {
                tracing::warn!(outbox.id = id, %error, "the end of a call could not be stored; its lease ends and it counts as unknown");
                None
            });
        }
        drop(slot);
    }

    /// Sends what can be sent now until nothing more can. Returns how many chats moved.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn tick(self: &Arc<Self>) -> Result<usize, StoreError> {
        let mut moved = 0;
        let mut stuck = HashSet::new();
        loop {
            let ready = self.queue.drain();
            moved += ready.len();
            stream::iter(ready).for_each_concurrent(None, |ready| self.speak(ready)).await;
            let mut chats = self.due().await?.chats;
            chats.retain(|chat| !stuck.contains(chat));
            if chats.is_empty() && self.queue.is_empty() {
                return Ok(moved);
            }
            let steps = stream::iter(chats).map(|chat| async move { (chat, self.step(chat).await.moved) });
            for (chat, stepped) in steps.buffer_unordered(CHATS_AT_ONCE).collect::<Vec<_>>().await {
                if stepped {
                    moved += 1;
                } else {
                    stuck.insert(chat);
                }
            }
        }
    }

    /// Looks at a chat within a transaction that must stand whatever comes of it.
    async fn take_apart(
        self: &Arc<Self>,
        tx: &Tx,
        chat: ChatId,
        now: Timestamp,
    ) -> Result<Option<take::Took>, StoreError> {
        let outbox = Arc::clone(self);
        apart(tx, move |point| async move { outbox.take(&point, chat, now).await }.boxed()).await
    }

    /// The same for who holds the lane already, and has perhaps said something there.
    async fn take_held_apart(
        self: &Arc<Self>,
        tx: &Tx,
        lane: lanes::Lane,
        said: Option<Said>,
        now: Timestamp,
    ) -> Result<Option<take::Took>, StoreError> {
        let outbox = Arc::clone(self);
        apart(tx, move |point| async move { outbox.take_held(&point, &lane, said, now).await }.boxed()).await
    }

    /// Claims what the transaction has just said in a chat, or writes that it is to be said.
    async fn take_said(
        self: &Arc<Self>,
        tx: &Tx,
        said: Said,
        now: Timestamp,
    ) -> Result<Option<take::Took>, StoreError> {
        if said.lane.due_at.is_none_or(|at| at > now) {
            said.settle(tx.as_ref(), true).await?;
            return Ok(None);
        }
        let took = self.take_held_apart(tx, said.lane.clone(), Some(said.clone()), now).await?;
        if took.as_ref().is_none_or(|took| !took.moved) {
            let lane_knows = took.as_ref().is_some_and(|took| took.lane_knows);
            said.settle(tx.as_ref(), !lane_knows).await?;
        }
        Ok(took)
    }

    /// Finds messages that no lane waits for, as a release before this one leaves them, and lets their lanes wait.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn rescue(&self) -> Result<usize, StoreError> {
        let (bot, now) = (self.bot, self.clock.now());
        let chats = lanes::overlooked(self.store.reader(), bot, now, OVERLOOKED).await?;
        let found = chats.len();
        if found > 0 {
            let chats = Arc::new(chats);
            self.store
                .write(move |tx| {
                    let chats = Arc::clone(&chats);
                    async move {
                        for chat in chats.iter() {
                            lanes::join(tx.as_ref(), bot, *chat, 1, now).await?;
                        }
                        Ok(())
                    }
                })
                .await?;
        }
        Ok(found)
    }
}

/// What waits in the writer must not keep alive what owns the writer.
fn alive(outbox: &Weak<Outbox>) -> Result<Arc<Outbox>, StoreError> {
    outbox.upgrade().ok_or_else(|| StoreError::Unavailable("the process ends".to_owned()))
}

/// The outbox as those see it who write what it says.
#[derive(Debug, Clone)]
pub struct AtCommit(pub Weak<Outbox>);

impl Herald for AtCommit {
    fn take<'a>(
        &'a self,
        tx: &'a Tx,
        chat: ChatId,
        said: Option<Said>,
    ) -> BoxFuture<'a, Result<Option<AfterCommit>, StoreError>> {
        async move {
            let outbox = alive(&self.0)?;
            let slot = if outbox.queue.may_follow() { outbox.queue.slot() } else { None };
            let Some(slot) = slot else {
                if let Some(said) = said {
                    said.settle(tx.as_ref(), true).await?;
                }
                return Ok(None);
            };
            let queue = Arc::clone(&outbox.queue);
            let now = outbox.clock.now();
            let took = if let Some(said) = said {
                outbox.take_said(tx, said, now).await?
            } else if chat == STAFF {
                outbox.take_apart(tx, chat, now).await?
            } else {
                // Most often there is nothing to be said at once.
                let lane = lanes::grab(tx.as_ref(), outbox.bot, chat).await?;
                let Some(lane) = lane.filter(|lane| lane.due_at.is_some_and(|at| at <= now)) else { return Ok(None) };
                outbox.take_held_apart(tx, lane, None, now).await?
            };
            Ok(took
                .and_then(|took| took.call)
                .map(|taken| Box::new(move || queue.push(Ready { taken, slot })) as AfterCommit))
        }
        .boxed()
    }
}
