//! Outages: Telegram keeps a tap for 150 s, so after a longer time without anybody to take it, taps are gone. Whoever had a
//! summary in front of them then is told so, once; typed words are kept for a day and need no telling.
//!
//! A mark in the database says when updates last could come in. The gap between two marks is the outage, whatever it was:
//! a dead process, a frozen one, a dead network, all replicas down.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    catalog::texts::{Key, Texts},
    clock::{Clock, Timestamp},
    domain::{
        delivery::OnUnknown,
        notice::{Notice, NoticeKind, Words},
    },
    ids::BotId,
    store::{
        Store, StoreError, Tx, drafts, inbox,
        outbox::{self, Letter},
        people, settings,
    },
};

/// How long Telegram keeps a tap that nobody takes. Source: `tdlib/telegram-bot-api`, `Client.cpp`, life time of
/// `callback_query`.
pub const TAPS_LIVE: Duration = Duration::from_secs(150);

/// How often the mark is renewed while all is well.
const MARK_EVERY: Duration = Duration::from_secs(30);

/// People told in one transaction.
const CHUNK: u64 = 100;

/// Notices outages of one bot.
#[derive(Debug)]
pub struct Outage {
    /// The database.
    pub store: Store,
    /// Whose taps.
    pub bot: BotId,
    /// Every sentence.
    pub texts: Arc<Texts>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// What this process knows.
    pub known: Mutex<Known>,
}

/// What a process remembers of its marks.
#[derive(Debug, Default, Clone, Copy)]
pub struct Known {
    proven_at: Option<Timestamp>,
    marked_at: Option<Timestamp>,
    /// The end of an outage whose people are not told yet.
    untold: Option<Timestamp>,
}

impl Outage {
    /// When updates last could come in, as far as any process has left word.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn last_proof(&self) -> Result<Option<Timestamp>, StoreError> {
        let mark = settings::get(self.store.reader(), &self.mark()).await?;
        Ok(mark.and_then(|at| at.parse().ok()).map(Timestamp))
    }

    /// Updates can come in now. `gap_counts`: the time since the last proof was one in which they could not. `drained`:
    /// nothing waits at Telegram any more, so that what people did meanwhile is known. Returns how many were told.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn proven(&self, gap_counts: bool, drained: bool) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let mut known = self.known();
        if known.proven_at.is_none() {
            known.proven_at = self.last_proof().await?;
            let untold = settings::get(self.store.reader(), &self.pending()).await?;
            known.untold = untold.and_then(|at| at.parse().ok()).map(Timestamp);
        }
        let gap = known.proven_at.map_or(Duration::ZERO, |at| now.since(at));
        let is_outage = gap_counts && gap > TAPS_LIVE;
        if is_outage {
            tracing::warn!(seconds = gap.as_secs(), "no updates could come in for so long; taps of that time are lost");
        }
        if is_outage || known.marked_at.is_none_or(|at| now.since(at) >= MARK_EVERY) {
            self.leave_mark(now, is_outage).await?;
            known.marked_at = Some(now);
        }
        known.proven_at = Some(now);
        if is_outage {
            known.untold = Some(now);
        }
        self.set(known);
        let Some(ended_at) = known.untold else { return Ok(0) };
        // What people did meanwhile may still be under way, but no tap lives longer than this.
        if now.since(ended_at) < TAPS_LIVE && !(drained && inbox::open_rows(self.store.reader()).await? == 0) {
            return Ok(0);
        }
        let told = self.tell().await?;
        self.set(Known { untold: None, ..self.known() });
        Ok(told)
    }

    /// Whether people are still to be told of an outage.
    #[must_use]
    pub fn is_untold(&self) -> bool {
        self.known().untold.is_some()
    }

    /// Leaves the mark of the last proof: a stop that was asked for is no outage from half a minute before.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn stops(&self) -> Result<(), StoreError> {
        match self.known().proven_at {
            Some(at) => self.leave_mark(at, false).await,
            None => Ok(()),
        }
    }

    /// The outage is noted together with the mark that hides it: a death in between loses neither.
    async fn leave_mark(&self, at: Timestamp, is_outage: bool) -> Result<(), StoreError> {
        let names = Arc::new((self.mark(), self.pending()));
        self.store
            .write(move |tx| {
                let names = Arc::clone(&names);
                async move {
                    settings::set(tx.as_ref(), &names.0, &at.0.to_string(), at).await?;
                    if is_outage {
                        settings::set(tx.as_ref(), &names.1, &at.0.to_string(), at).await?;
                    }
                    Ok(())
                }
            })
            .await
    }

    /// Tells everybody whose summary waited then and waits still.
    async fn tell(&self) -> Result<usize, StoreError> {
        let mut told = 0;
        loop {
            let (bot, texts, now, pending) = (self.bot, Arc::clone(&self.texts), self.clock.now(), self.pending());
            let chunk = self
                .store
                .write(move |tx| {
                    let (texts, pending) = (Arc::clone(&texts), pending.clone());
                    async move { tell_some(&tx, bot, &texts, &pending, now).await }
                })
                .await?;
            told += chunk;
            if chunk == 0 {
                return Ok(told);
            }
        }
    }

    fn mark(&self) -> String {
        format!("receiving.proven:{}", self.bot)
    }

    fn pending(&self) -> String {
        format!("receiving.outage:{}", self.bot)
    }

    fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, known: Known) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

/// One chunk; nobody left ends the outage. Another replica may do the same: each draft is told of by one.
async fn tell_some(tx: &Tx, bot: BotId, texts: &Texts, pending: &str, now: Timestamp) -> Result<usize, StoreError> {
    let db = tx.as_ref();
    let Some(ended_at) = settings::get(db, pending).await?.and_then(|at| at.parse().ok()).map(Timestamp) else {
        return Ok(0);
    };
    let waiting = drafts::summaries_shown_before(db, bot, ended_at, CHUNK).await?;
    if waiting.is_empty() {
        settings::set(db, pending, "", now).await?;
    }
    let mut told = 0;
    for draft in &waiting {
        if !drafts::note_nudge(db, draft).await? {
            continue;
        }
        let lang = people::lang(db, bot, draft.user).await?;
        let letter = Letter {
            bot,
            chat: draft.chat,
            thread: None,
            kind: NoticeKind::Dialog,
            card: None,
            operation: None,
            notice: Notice::Words(Words::plain(texts.say(texts.lang(lang.as_deref()), Key::DialogWeWereAway, &[]))),
            // One that may have come is not worth a second one.
            on_unknown: OnUnknown::Drop,
        };
        outbox::put(db, &letter, now).await?;
        told += 1;
    }
    // Chunks of which others told everybody are not the end.
    Ok(told.max(usize::from(!waiting.is_empty())))
}
