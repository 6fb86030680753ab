//! One claimed row: one call, one recorded outcome, and in the same transaction the claim of what follows it.

use std::{sync::Arc, time::Duration};

use super::{Outbox, alive, take::Taken};
use crate::{
    clock::Timestamp,
    domain::{delivery::Event, review::Hindrance},
    ids::MessageId,
    metrics::{self, Counter},
    store::{
        StoreError, Tx, cards, lanes,
        outbox::{self, Advanced, Row},
        pace,
    },
    telegram::verdict::{Call, Verdict, is_astray, verdict},
};

/// So many calls into a chat that Telegram does not know are spaced tries; the next one is the last word.
const NOT_FOUND_TRIES: u32 = 4;

/// How a call ended, as it is stored.
struct Ending {
    event: Event,
    /// Where the card is now, and what it shows.
    known: Option<cards::Card>,
    /// Whether it was an edit of a card that was known before.
    edit: bool,
    /// It stands in the chat, but not in its topic.
    astray: bool,
}

impl Outbox {
    /// Makes one call and stores its end. Returns what follows in the same chat, claimed.
    pub(super) async fn deliver(self: &Arc<Self>, taken: Taken) -> Result<Option<Box<Taken>>, StoreError> {
        let (verdict, astray) = self.call(&taken).await;
        metrics::count(counter(&verdict));
        let message = match (&verdict, taken.edit) {
            (Verdict::Done(_), Some(card)) => Some(card.message),
            (Verdict::Done(message), None) => *message,
            _ => None,
        };
        let chat = taken.row.chat;
        let known = message.map(|message| cards::Card { chat, message, digest: taken.digest });
        let (event, edit) = (self.event(verdict, message, &taken.row), taken.edit.is_some());
        let ending = Arc::new(Ending { event, known, edit, astray });
        let (outbox, row) = (Arc::downgrade(self), Arc::new(taken.row));
        self.store
            .write(move |tx| {
                let (outbox, row, ending) = (outbox.clone(), Arc::clone(&row), Arc::clone(&ending));
                async move { alive(&outbox)?.conclude(&tx, &row, &ending).await }
            })
            .await
    }

    /// The call; what its answer proves, and whether the message stands outside of its topic.
    async fn call(&self, taken: &Taken) -> (Verdict, bool) {
        // Whoever was held up past its own lease must not begin: the row may be in other hands.
        if self.clock.now() >= taken.lease_end {
            return (Verdict::NotSent("held up past its own lease before the call".to_owned()), false);
        }
        self.store.points().pass("telegram.call").await;
        let (kind, method) = match taken.edit {
            Some(_) => (Call::Edit, "editMessageText"),
            None => (Call::Send, "sendMessage"),
        };
        let verdict = tokio::select! {
            answer = self.telegram.call(method, &taken.payload) => {
                (verdict(kind, &answer), kind == Call::Send && is_astray(&taken.payload, &answer))
            }
            () = self.queue.cut.cancelled() => {
                (Verdict::Lost("the process stopped before the answer came".to_owned()), false)
            }
        };
        self.store.points().pass("telegram.answered").await;
        verdict
    }

    fn event(&self, verdict: Verdict, message: Option<MessageId>, row: &Row) -> Event {
        let (now, attempt) = (self.clock.now(), row.delivery.attempts);
        // Doubling pauses from one second to five minutes.
        let retry_at = now.plus(Duration::from_secs(1 << attempt.saturating_sub(1).min(8)));
        match verdict {
            Verdict::Done(_) => Event::Done { attempt, message_id: message },
            Verdict::NotFound(detail) if attempt >= NOT_FOUND_TRIES => Event::ChatRefused { attempt, detail },
            // 5 seconds, half a minute, three minutes.
            Verdict::NotFound(_) => {
                let pause = Duration::from_secs(5 * 6_u64.pow(attempt.saturating_sub(1)));
                Event::NotSent { attempt, retry_at: now.plus(pause) }
            }
            Verdict::NotSent(detail) => {
                tracing::debug!(outbox.id = row.id, detail, "a message was not sent; it is tried again");
                Event::NotSent { attempt, retry_at }
            }
            Verdict::Throttled(wait) => Event::Throttled { attempt, until: now.plus(wait) },
            Verdict::Moved(to) => Event::Moved { attempt, to },
            Verdict::Gone => Event::Gone { attempt },
            Verdict::ChatRefused(detail) => Event::ChatRefused { attempt, detail },
            Verdict::NoTopic(detail) => Event::NoTopic { attempt, detail },
            Verdict::RowRefused(detail) => Event::RowRefused { attempt, detail },
            Verdict::Misconfigured(detail) => {
                tracing::error!(
                    detail,
                    "Telegram does not accept our token or server: nothing can be said until it does"
                );
                Event::Misconfigured { attempt, retry_at, detail }
            }
            Verdict::Lost(detail) => {
                tracing::info!(outbox.id = row.id, detail, "nobody knows whether a message arrived");
                Event::Lost { attempt }
            }
        }
    }

    /// Stores how a call ended; an answer counts even when the row moved meanwhile. What follows is claimed with it.
    async fn conclude(self: &Arc<Self>, tx: &Tx, row: &Row, ending: &Ending) -> Result<Option<Box<Taken>>, StoreError> {
        let (db, now) = (tx.as_ref(), self.clock.now());
        // A private chat keeps its number, and a row that was claimed changes through its one door only: what was read with
        // the claim stands, or the row has moved on.
        let mut advanced = None;
        let (before, lane) = if row.chat.0 > 0 && matches!(ending.event, Event::Done { .. }) {
            let lane = lanes::hold(db, self.bot, row.chat).await?;
            let done = outbox::advance_held(db, row.clone(), None, &ending.event, now, &self.policy).await?;
            if matches!(done, Advanced::Moved(_)) {
                advanced = Some(done);
                (row.clone(), lane)
            } else {
                let Some(before) = outbox::load(db, row.id).await? else { return Ok(None) };
                (before, lane)
            }
        } else {
            let Some(before) = outbox::load(db, row.id).await? else { return Ok(None) };
            let lane = lanes::hold(db, self.bot, before.chat).await?;
            (before, lane)
        };
        if let (Some(name), Some(card)) = (&row.card, ending.known) {
            if ending.edit {
                // An answer that comes late does not tell what calls after its own have made of the card.
                let last = row.delivery.attempts == before.delivery.attempts && !before.delivery.state.is_final();
                let digest = if last { card.digest } else { cards::UNSURE };
                cards::note(db, name, cards::Card { digest, ..card }, now).await?;
            } else {
                cards::put(db, name, self.bot, card, now).await?;
            }
        }
        let advanced = match advanced {
            Some(advanced) => advanced,
            None => outbox::advance_held(db, before.clone(), None, &ending.event, now, &self.policy).await?,
        };
        match advanced {
            Advanced::Moved(after) => {
                if ending.astray {
                    self.flag_topic(tx, &before, now).await?;
                }
                self.follow_up(tx, &before, &after, &ending.event, now).await?;
            }
            Advanced::Stale => return Err(StoreError::Stale("outbox")),
            Advanced::Illegal(illegal) => {
                tracing::debug!(outbox.id = row.id, %illegal, "an answer came too late to mean anything");
            }
        }
        if !self.queue.may_follow() {
            lanes::refresh(db, self.bot, before.chat).await?;
            return Ok(None);
        }
        // An answer that silences or moves the chat has changed its lane; any other leaves it as it was read.
        let ordinary = matches!(ending.event, Event::Done { .. });
        let Some(lane) = lane.filter(|lane| ordinary && lane.moved_to.is_none()) else {
            lanes::refresh(db, self.bot, before.chat).await?;
            let chat = lanes::today(db, self.bot, before.chat).await?;
            return Ok(self.take_apart(tx, chat, now).await?.and_then(|took| took.call));
        };
        let took = self.take_held_apart(tx, lane, None, now).await?.unwrap_or_default();
        if !took.lane_knows {
            lanes::refresh(db, self.bot, before.chat).await?;
        }
        Ok(took.call)
    }

    /// What an answer means beyond its row.
    async fn follow_up(
        &self,
        tx: &Tx,
        before: &Row,
        after: &Row,
        event: &Event,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match event {
            Event::Misconfigured { retry_at, .. } => pace::keep_silent(tx.as_ref(), self.bot, *retry_at).await,
            Event::NoTopic { .. } if after.delivery.topicless && !before.delivery.topicless => {
                self.flag_topic(tx, before, now).await
            }
            Event::RowRefused { detail, .. } => self.alert(tx, before, Hindrance::ContentRefused, detail, now).await,
            Event::NoTopic { detail, .. } => self.alert(tx, before, Hindrance::ChatRefused, detail, now).await,
            // A question nobody can read is asked again when its person comes back; what became of their request is not.
            Event::ChatRefused { detail, .. } if before.operation.is_some() => {
                // A private chat has its person's number.
                let because = if before.chat.0 > 0 { Hindrance::ClientAway } else { Hindrance::ChatRefused };
                self.alert(tx, before, because, detail, now).await
            }
            Event::ChatRefused { detail, .. } if before.chat.0 < 0 => {
                tracing::error!(
                    chat = before.chat.0,
                    detail,
                    "a group takes nothing from the bot: is it still a member?"
                );
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn counter(verdict: &Verdict) -> Counter {
    match verdict {
        Verdict::Done(_) => Counter::MessageDone,
        Verdict::NotSent(_) | Verdict::NotFound(_) => Counter::MessageNotSent,
        Verdict::Throttled(_) => Counter::MessageThrottled,
        Verdict::Moved(_) => Counter::MessageMoved,
        Verdict::NoTopic(_) => Counter::MessageNoTopic,
        Verdict::Gone => Counter::MessageGone,
        Verdict::ChatRefused(_) => Counter::MessageChatRefused,
        Verdict::RowRefused(_) => Counter::MessageRowRefused,
        Verdict::Misconfigured(_) => Counter::MessageMisconfigured,
        Verdict::Lost(_) => Counter::MessageLost,
    }
}
