//! One row: word it, claim it, one call, one recorded outcome.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{
    Outbox,
    wording::{Worded, word},
};
use crate::{
    clock::Timestamp,
    domain::{
        delivery::{self, Event, Kind, OnUnknown},
        notice::{Keyboard, NoticeKind, Words},
        review::Matter,
    },
    ids::{ChatId, MessageId},
    metrics::{self, Counter},
    store::{
        StoreError, cards, cases, operations,
        outbox::{self, Advanced, Row, STAFF},
    },
    telegram::{
        render,
        verdict::{Call, Verdict, verdict},
    },
};

/// Where and how a row goes out.
struct Route {
    chat: ChatId,
    thread: Option<i64>,
    /// The message to edit; absent for a new one.
    edit: Option<cards::Card>,
}

impl Outbox {
    /// Moves one row a step. `false` when it cannot move now.
    pub(super) async fn deliver(&self, row: Row) -> Result<bool, StoreError> {
        let now = self.clock.now();
        match &row.delivery.state {
            delivery::State::Pending { .. } => self.send(row, now).await,
            delivery::State::Sending { .. } => self.tell(&row, None, Event::LeaseEnded).await.map(|row| row.is_some()),
            delivery::State::Unknown { .. } => self.pause_over(row).await,
            delivery::State::Sent { .. } | delivery::State::Dropped { .. } => Ok(false),
        }
    }

    async fn pause_over(&self, row: Row) -> Result<bool, StoreError> {
        let moved = self.tell(&row, None, Event::PauseOver).await?;
        if let Some(after) = &moved
            && matches!(after.delivery.state, delivery::State::Unknown { due_at: None, .. })
        {
            self.alert(&row, "", true).await?;
        }
        Ok(moved.is_some())
    }

    async fn send(&self, row: Row, now: Timestamp) -> Result<bool, StoreError> {
        if outbox::is_overtaken(self.store.reader(), &row).await? {
            return Ok(self.tell(&row, None, Event::Overtaken).await?.is_some());
        }
        let Some(route) = self.route(&row, now).await? else { return Ok(false) };
        let kind = if route.edit.is_some() { Kind::Edit } else { new_kind(&row) };
        let lease_end = now.plus(self.policy.lease);
        let Some(row) = self.tell(&row, Some(kind), Event::Claimed { lease_end }).await? else { return Ok(true) };
        let attempt = row.delivery.attempts;
        // Worded only now: whatever changes from here on finds this row claimed and writes another one.
        let words = match word(self, &row, now).await? {
            Worded::Say(words) => words,
            Worded::Nothing(why) => {
                self.tell(&row, None, Event::RowRefused { attempt, detail: why.to_owned() }).await?;
                return Ok(true);
            }
        };
        let digest = fingerprint(&words);
        let shown = route.edit.filter(|card| card.digest == digest);
        let verdict = match shown {
            // The card shows it already: nothing to send, and nothing can be lost.
            Some(card) => Verdict::Done(Some(card.message)),
            None => {
                self.store.points().pass("telegram.call").await;
                let verdict = self.call(&route, &words).await;
                self.store.points().pass("telegram.answered").await;
                metrics::count(counter(&verdict));
                verdict
            }
        };
        let message = match (&verdict, route.edit) {
            (Verdict::Done(_), Some(card)) => Some(card.message),
            (Verdict::Done(message), None) => *message,
            _ => None,
        };
        let event = self.event(attempt, verdict, message, &row);
        let known = message.map(|message| cards::Card { chat: route.chat, message, digest });
        self.conclude(&row, route.chat, event, known).await?;
        Ok(true)
    }

    /// The chat as it is today, and the message to edit; `None` while Telegram wants silence there.
    async fn route(&self, row: &Row, now: Timestamp) -> Result<Option<Route>, StoreError> {
        let (asked, thread) = if row.chat == STAFF {
            let roster = self.roster.now();
            (roster.chat.unwrap_or(STAFF), row.thread.or(roster.thread))
        } else {
            (row.chat, row.thread)
        };
        let (chat, hold_until) = cards::chat(self.store.reader(), self.bot, asked).await?;
        if hold_until > now {
            return Ok(None);
        }
        let edit = match &row.card {
            Some(card) => cards::find(self.store.reader(), card).await?.filter(|card| card.chat == chat),
            None => None,
        };
        Ok(Some(Route { chat, thread, edit }))
    }

    async fn call(&self, route: &Route, words: &Words) -> Verdict {
        let unsayable = |error: render::Unsayable| Verdict::RowRefused(error.to_string());
        if route.chat == STAFF {
            return Verdict::ChatRefused("no staff chat is configured: set staff.chat".to_owned());
        }
        match route.edit {
            Some(card) => match render::edit(route.chat, card.message, words) {
                Ok(payload) => verdict(Call::Edit, &self.telegram.call("editMessageText", &payload).await),
                Err(error) => unsayable(error),
            },
            None => match render::send(route.chat, route.thread, words) {
                Ok(payload) => {
                    let said = verdict(Call::Send, &self.telegram.call("sendMessage", &payload).await);
                    match (said, render::send(route.chat, None, words)) {
                        // The topic is closed or gone: once without it.
                        (Verdict::NoTopic, Ok(payload)) if route.thread.is_some() => {
                            tracing::warn!(
                                chat = route.chat.0,
                                "the topic to write to is closed or gone: writing to the chat itself"
                            );
                            verdict(Call::Send, &self.telegram.call("sendMessage", &payload).await)
                        }
                        (said, _) => said,
                    }
                }
                Err(error) => unsayable(error),
            },
        }
    }

    fn event(&self, attempt: u32, verdict: Verdict, message: Option<MessageId>, row: &Row) -> Event {
        let now = self.clock.now();
        // Doubling pauses from one second to five minutes.
        let retry_at = now.plus(std::time::Duration::from_secs(1 << attempt.saturating_sub(1).min(8)));
        match verdict {
            Verdict::Done(_) => Event::Done { attempt, message_id: message },
            Verdict::NotSent(detail) if detail.contains("chat not found") && attempt >= 4 => {
                Event::ChatRefused { attempt, detail }
            }
            Verdict::NotSent(detail) => {
                tracing::debug!(outbox.id = row.id, detail, "a message was not sent; it is tried again");
                Event::NotSent { attempt, retry_at }
            }
            Verdict::Throttled(wait) => Event::Throttled { attempt, until: now.plus(wait) },
            Verdict::Moved(to) => Event::Moved { attempt, to },
            Verdict::Gone => Event::Gone { attempt },
            Verdict::ChatRefused(detail) => Event::ChatRefused { attempt, detail },
            Verdict::NoTopic => Event::RowRefused { attempt, detail: "the topic is closed or gone".to_owned() },
            Verdict::RowRefused(detail) => Event::RowRefused { attempt, detail },
            Verdict::Misconfigured(detail) => Event::Misconfigured { attempt, retry_at, detail },
            Verdict::Lost(detail) => {
                tracing::info!(outbox.id = row.id, detail, "nobody knows whether a message arrived");
                Event::Lost { attempt }
            }
        }
    }

    /// Records how a call ended, with where the card is now; an answer counts even when the row moved meanwhile.
    async fn conclude(
        &self,
        row: &Row,
        chat: ChatId,
        event: Event,
        known: Option<cards::Card>,
    ) -> Result<(), StoreError> {
        let refused = match &event {
            Event::RowRefused { detail, .. } => Some(detail.clone()),
            // A question nobody can read is asked again when its person comes back; what became of their request is not.
            Event::ChatRefused { detail, .. } if row.operation.is_some() => Some(detail.clone()),
            Event::Misconfigured { detail, .. } => {
                tracing::error!(
                    detail,
                    "Telegram does not accept our token or server: nothing can be said until it does"
                );
                None
            }
            _ => None,
        };
        let (id, rev, at, policy, bot) = (row.id, row.rev, self.clock.now(), self.policy.clone(), self.bot);
        let staff = row.chat == STAFF;
        let shared = Arc::new((event, row.card.clone(), policy));
        let advanced = self
            .store
            .write(move |tx| {
                let shared = Arc::clone(&shared);
                async move {
                    let (event, card, policy) = shared.as_ref();
                    let rev = match outbox::load(tx.as_ref(), id).await? {
                        Some(now) => now.rev,
                        None => rev,
                    };
                    if let (Some(card), Some(known)) = (card, known) {
                        cards::put(tx.as_ref(), card, bot, known, at).await?;
                    }
                    match event {
                        Event::Moved { to, .. } if staff => cards::move_chat(tx.as_ref(), bot, chat, *to).await?,
                        Event::Throttled { until, .. } if staff => {
                            cards::hold_chat(tx.as_ref(), bot, chat, *until).await?
                        }
                        _ => {}
                    }
                    outbox::advance(tx.as_ref(), id, rev, None, event, at, policy).await
                }
            })
            .await?;
        if let Advanced::Illegal(illegal) = advanced {
            tracing::debug!(outbox.id = id, ?illegal, "an answer came too late to mean anything");
        }
        if let Some(why) = refused {
            self.alert(row, &why, false).await?;
        }
        Ok(())
    }

    async fn tell(&self, row: &Row, kind: Option<Kind>, event: Event) -> Result<Option<Row>, StoreError> {
        let (id, rev, at) = (row.id, row.rev, self.clock.now());
        let shared = Arc::new((event, self.policy.clone()));
        let advanced = self
            .store
            .write(move |tx| {
                let shared = Arc::clone(&shared);
                async move { outbox::advance(tx.as_ref(), id, rev, kind, &shared.0, at, &shared.1).await }
            })
            .await?;
        Ok(match advanced {
            Advanced::Moved(row) => Some(*row),
            Advanced::Stale => None,
            Advanced::Illegal(illegal) => {
                tracing::debug!(outbox.id = id, ?illegal, "a message had moved on");
                None
            }
        })
    }

    /// Brings a message that was not delivered before staff; a message to staff never asks for another one.
    async fn alert(&self, row: &Row, why: &str, may_have_arrived: bool) -> Result<(), StoreError> {
        tracing::warn!(outbox.id = row.id, outbox.kind = row.kind, why, "a message was not delivered");
        let to_staff = [NoticeKind::StaffReply, NoticeKind::StaffCard].iter().any(|kind| kind.name() == row.kind);
        if row.chat == STAFF || to_staff {
            return Ok(());
        }
        let (kind, why) = (row.kind.clone(), why.to_owned());
        let matter = Arc::new(Matter::Undelivered { row: row.id, kind, why, may_have_arrived });
        let (bot, operation, now) = (self.bot, row.operation, self.clock.now());
        self.store
            .write(move |tx| {
                let matter = Arc::clone(&matter);
                async move {
                    let stored = match operation {
                        Some(operation) => operations::load(tx.as_ref(), operation).await?,
                        None => None,
                    };
                    // One case tells that a person cannot be reached, however many messages do not reach them.
                    let known = match operation {
                        Some(operation) if !may_have_arrived => cases::undelivered(tx.as_ref(), operation).await?,
                        _ => Vec::new(),
                    };
                    if !known.is_empty() {
                        return Ok(());
                    }
                    let about = stored.as_ref().map(|stored| (stored.operation.id, stored.form.as_str()));
                    let new = cases::New { bot, about, matter: &matter };
                    cases::raise(tx.as_ref(), new, OnUnknown::Repeat, now).await.map(drop)
                }
            })
            .await
    }
}

fn counter(verdict: &Verdict) -> Counter {
    match verdict {
        Verdict::Done(_) => Counter::MessageDone,
        Verdict::NotSent(_) => Counter::MessageNotSent,
        Verdict::Throttled(_) => Counter::MessageThrottled,
        Verdict::Moved(_) => Counter::MessageMoved,
        Verdict::NoTopic => Counter::MessageNoTopic,
        Verdict::Gone => Counter::MessageGone,
        Verdict::ChatRefused(_) => Counter::MessageChatRefused,
        Verdict::RowRefused(_) => Counter::MessageRowRefused,
        Verdict::Misconfigured(_) => Counter::MessageMisconfigured,
        Verdict::Lost(_) => Counter::MessageLost,
    }
}

/// What a repeat of a new message would do: as the row was written.
fn new_kind(row: &Row) -> Kind {
    match row.delivery.kind {
        kind @ Kind::New { .. } => kind,
        Kind::Edit => Kind::New { on_unknown: OnUnknown::Repeat },
    }
}

fn fingerprint(words: &Words) -> i64 {
    let keyboard = match &words.keyboard {
        Keyboard::Inline(rows) => serde_json::to_string(rows).unwrap_or_default(),
        _ => String::new(),
    };
    let hash = Sha256::digest(format!("{}\u{0}{keyboard}", words.text).as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    i64::from_le_bytes(first)
}
