//! Intake: an update is stored before it is acknowledged, handled once in its person's turn, and shelved when it cannot
//! be handled at all, so that it stops nobody else.
//!
//! [`poll`] and the webhook only store. [`Inbox::handle`] runs the handler tree inside the transaction that marks the
//! row done; its outcome decides whether the row is done, tried again or shelved.

pub mod doubt;
pub mod lanes;
pub mod poll;
mod routes;
pub mod turn;

use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;

use crate::{
    clock::Clock,
    domain::{
        delivery::OnUnknown,
        input::{Act, Handled},
        review::Matter,
    },
    ids::{BotId, ChatId, OperationId},
    metrics::{self, Counter},
    store::{
        Store, StoreError, cases,
        inbox::{self, Arrival, Arrivals, Claimed},
        journal,
        outbox::Herald,
    },
    telegram::{
        Answer, Telegram, decode, render,
        update::{self, Update},
    },
};

pub use routes::{Routes, routes};

/// How long this process owns a row it has stored or claimed. Its death leaves a person unanswered for so long, where others
/// may be at work: a row handled by two is handled once all the same.
pub const LEASE: Duration = Duration::from_secs(10);

/// How often a row's handling may begin before it is shelved.
const TRIES: i32 = 3;

/// So often a row is claimed at most, whatever ended those who had it: one that ends the whole process would do so again
/// and again. Far above [`TRIES`], for a process may die of something else with many rows in hand.
const CLAIMS: i32 = 10 * TRIES;

/// A callback older than this is dead: its client no longer waits for an answer.
const TOAST_LIFE: Duration = Duration::from_secs(12);

/// The longest an answer to a tap may take; it is not worth more.
const TOAST_TIMEOUT: Duration = Duration::from_secs(3);

/// The intake of one process.
#[derive(Clone)]
pub struct Inbox {
    /// The database.
    pub store: Store,
    /// The Bot API.
    pub telegram: Telegram,
    /// The bot whose updates these are.
    pub bot: BotId,
    /// Who handles what.
    pub routes: Arc<Routes>,
    /// Lets an answer leave with the commit that stores it.
    pub herald: Arc<dyn Herald>,
    /// What to do when nobody knows whether an alert arrived.
    pub staff_unknown: OnUnknown,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").field("bot", &self.bot).finish_non_exhaustive()
    }
}

/// What a tap is to be answered.
#[derive(Debug)]
pub struct TapAnswer {
    callback: String,
    toast: Option<String>,
}

/// What handling a row led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It is done; these operations may be sent now.
    Done(Vec<OperationId>),
    /// Somebody else had done it, or it must wait for its turn.
    Left,
    /// It could not be handled and is tried again later.
    Later,
    /// It was put on the shelf.
    Shelved,
}

impl Inbox {
    /// Stores updates that are not stored yet, and claims them for this process.
    ///
    /// # Errors
    /// [`StoreError`] when nothing could be stored: then nothing may be acknowledged.
    pub async fn accept(&self, updates: Vec<Update>) -> Result<Vec<Claimed>, StoreError> {
        let (at, brought) = (self.clock.now(), updates.len());
        let arrival = |update: Update| Arrival::new(self.bot, update.number, update.text, update.lane);
        let updates = updates.into_iter().map(arrival).collect();
        let fresh = self.store.accept(Arrivals { updates, at, lease_until: at.plus(LEASE) }).await?;
        metrics::add(Counter::UpdatesStored, fresh.len());
        metrics::add(Counter::UpdatesRepeated, brought.saturating_sub(fresh.len()));
        Ok(fresh)
    }

    /// Claims rows that nobody handles: left by a crash, or due for another try; never what this process holds.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn claim_left_over(&self, held: HashSet<i64>, limit: u64) -> Result<Vec<Claimed>, StoreError> {
        let (bot, now, held) = (self.bot, self.clock.now(), Arc::new(held));
        let first = inbox::next_left_over(self.store.reader(), bot, &held).await?;
        if first.is_none_or(|until| until > now) {
            return Ok(Vec::new());
        }
        self.store
            .write(move |tx| {
                let held = Arc::clone(&held);
                async move { inbox::claim_left_over(tx.as_ref(), bot, now, now.plus(LEASE), &held, limit).await }
            })
            .await
    }

    /// Handles one claimed row to its end, its tap's answer included.
    pub async fn handle(&self, row: &Claimed) -> Ended {
        let (ended, tap) = self.settle(row).await;
        if let Some(tap) = tap {
            self.answer(row, tap).await;
        }
        ended
    }

    /// Handles one claimed row; what a tap is to be answered is left to [`Inbox::answer`]. Its person's next row need not
    /// wait for that.
    pub async fn settle(&self, row: &Claimed) -> (Ended, Option<TapAnswer>) {
        let (ended, tap) = self.attempt(row).await;
        match ended {
            Ended::Done(_) => metrics::count(Counter::UpdatesHandled),
            Ended::Later => metrics::count(Counter::UpdatesRetried),
            Ended::Shelved => metrics::count(Counter::UpdatesShelved),
            Ended::Left => {}
        }
        (ended, tap)
    }

    async fn attempt(&self, row: &Claimed) -> (Ended, Option<TapAnswer>) {
        let ran = if row.attempts > CLAIMS {
            Err(StoreError::Panicked(format!("{} times its handling began and never came to an end", row.attempts - 1)))
        } else {
            // What is done outside of the transaction can panic as well.
            let ran = AssertUnwindSafe(self.run(row)).catch_unwind().await;
            ran.unwrap_or_else(|panic| Err(StoreError::panicked(&*panic)))
        };
        match ran {
            Ok(Some((callback, handled))) => {
                self.store.points().pass("telegram.toast").await;
                let tap = callback.map(|callback| TapAnswer { callback, toast: handled.toast });
                (Ended::Done(handled.send_now), tap)
            }
            Ok(None) => (Ended::Left, None),
            Err(error) => {
                let ended = self.after_failure(row, &error).await.unwrap_or_else(|error| {
                    // The lease runs out and the row is claimed again: nothing is lost.
                    tracing::warn!(inbox.row = row.row, %error, "a failed update could not be noted");
                    Ended::Later
                });
                (ended, None)
            }
        }
    }

    /// The handler tree and "done" in one transaction. `None` when the row was not ours to handle.
    async fn run(&self, row: &Claimed) -> Result<Option<(Option<String>, Handled)>, StoreError> {
        let update = update::stored(&row.payload);
        if update.get(update::UNREADABLE).is_some() {
            return Err(StoreError::corrupt("inbox", row.row, "an update that is no JSON we can read"));
        }
        let input = Arc::new(decode::decode(&update));
        let callback = match &input.act {
            Act::Tap { callback, .. } => Some(callback.clone()),
            _ => None,
        };
        if let Act::Ignored { what } = input.act {
            tracing::debug!(inbox.row = row.row, what, "an update asks for nothing");
        }
        let (routes, bot, lane, number, now) =
            (Arc::clone(&self.routes), self.bot, row.lane, row.row, self.clock.now());
        let update_id = row.update;
        let (herald, clock) = (Arc::clone(&self.herald), Arc::clone(&self.clock));
        let chat = input.chat.map(|chat| chat.id).or(input.from.as_ref().map(|person| ChatId(person.id.0)));
        let handled = self
            .store
            .write(move |tx| {
                let (routes, input, herald) = (Arc::clone(&routes), Arc::clone(&input), Arc::clone(&herald));
                let clock = Arc::clone(&clock);
                async move {
                    if !inbox::done_in_turn(tx.as_ref(), bot, lane, number, now).await? {
                        // Somebody else had done it, or an older one of its person is open yet.
                        if inbox::must_wait(tx.as_ref(), bot, lane, number).await? {
                            inbox::wait_turn(tx.as_ref(), number, now).await?;
                        }
                        return Ok(None);
                    }
                    let mut handled = routes.run(Arc::clone(&tx), input).await?;
                    let caused =
                        handled.send_now.iter().map(|operation| (*operation, journal::caused(update_id, number)));
                    handled.history.extend(caused);
                    // The row may have waited long since it was taken.
                    journal::append_all(tx.as_ref(), &handled.history, clock.now()).await?;
                    let afterwards = match chat.filter(|_| !handled.waits) {
                        Some(chat) => herald.take(&tx, chat, None).await?,
                        None => None,
                    };
                    Ok(Some((handled, afterwards)))
                }
            })
            .await?;
        let Some((handled, afterwards)) = handled else { return Ok(None) };
        if let Some(afterwards) = afterwards {
            afterwards();
        }
        Ok(Some((callback, handled)))
    }

    /// A passing trouble of the database is tried again without counting against the row; anything else is its own
    /// fault and, after three tries, ends on the shelf.
    async fn after_failure(&self, row: &Claimed, error: &StoreError) -> Result<Ended, StoreError> {
        let (number, now, bot) = (row.row, self.clock.now(), self.bot);
        let words: Arc<str> = Arc::from(error.to_string());
        tracing::warn!(inbox.row = number, attempt = row.attempts, %error, "an update could not be handled");
        if error.may_pass() || row.attempts < TRIES {
            let pause = Duration::from_millis(if error.may_pass() { 50 } else { 500 } << row.attempts.clamp(0, 6));
            self.store
                .write(move |tx| {
                    let words = Arc::clone(&words);
                    async move { inbox::try_later(tx.as_ref(), number, &words, now.plus(pause)).await }
                })
                .await?;
            return Ok(Ended::Later);
        }
        let on_unknown = self.staff_unknown;
        self.store
            .write(move |tx| {
                let words = Arc::clone(&words);
                async move {
                    if inbox::shelve(tx.as_ref(), number, &words, now).await? {
                        let matter = Matter::Shelved { row: number, error: words.to_string() };
                        let new = cases::New { bot, about: None, matter: &matter };
                        cases::raise(tx.as_ref(), new, on_unknown, now).await?;
                    }
                    Ok(())
                }
            })
            .await?;
        Ok(Ended::Shelved)
    }

    /// Answers a tap at once; a failed answer is not worth a second one.
    pub async fn answer(&self, row: &Claimed, tap: TapAnswer) {
        let answered = AssertUnwindSafe(async {
            let waits = self.clock.now().since(row.received_at) <= TOAST_LIFE;
            waits && self.toast(row, &tap.callback, tap.toast.as_deref()).await
        });
        let taken = answered.catch_unwind().await.unwrap_or_else(|panic| {
            tracing::error!(inbox.row = row.row, error = %StoreError::panicked(&*panic), "a tap could not be answered");
            false
        });
        metrics::count(if taken { Counter::TapsAnswered } else { Counter::TapsUnanswered });
    }

    /// `true` when Telegram took the answer.
    async fn toast(&self, row: &Claimed, callback: &str, toast: Option<&str>) -> bool {
        let Ok(payload) = render::toast(callback, toast, false) else { return false };
        match tokio::time::timeout(TOAST_TIMEOUT, self.telegram.call("answerCallbackQuery", &payload)).await {
            Ok(Answer::Ok(_)) => return true,
            Ok(answer) => tracing::debug!(inbox.row = row.row, ?answer, "a tap's answer was not taken"),
            Err(_) => tracing::debug!(inbox.row = row.row, "a tap's answer took too long"),
        }
        false
    }
}
