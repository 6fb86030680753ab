//! The one transaction that decides whether a chat's next message may leave, and claims it: overtaken? unreachable? silent?
//! within the pace? an edit or a new message? the same as shown? Only then is it `sending`, and the call may begin.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    Outbox, SOON,
    wording::{Worded, word},
};
use crate::{
    clock::Timestamp,
    domain::{
        delivery::{self, Event, Kind, OnUnknown, Policy},
        notice::{Keyboard, Notice, NoticeKind, Words},
        review::Hindrance,
        text::{LONGEST, cut},
    },
    ids::ChatId,
    store::{
        StoreError, Tx, cards, lanes,
        lanes::Lane,
        operations::Stored,
        outbox::{self, Advanced, Open, Row, STAFF, Said},
        pace,
    },
    telegram::render,
};

/// How many messages of a chat may end without a call in one look.
const STEPS: usize = 64;

/// Why a message ended without a call, in words of the history that the texts say in people's own.
const NO_STAFF_CHAT: &str = "no_staff_chat";
const NOTHING_TO_SAY: &str = "nothing_to_say";

/// A claimed row and its call.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) row: Row,
    /// The message to edit; absent for a new one.
    pub(super) edit: Option<cards::Card>,
    pub(super) payload: Value,
    pub(super) digest: i64,
    /// The call may begin only before this moment.
    pub(super) lease_end: Timestamp,
}

/// What a look at a chat led to.
#[derive(Debug, Default)]
pub(super) struct Took {
    /// Whether a row changed.
    pub(super) moved: bool,
    pub(super) call: Option<Box<Taken>>,
    /// When it is worth trying again, where the lane does not say.
    pub(super) again_at: Option<Timestamp>,
    /// Whether the lane knows now when it wants to be looked at next.
    pub(super) lane_knows: bool,
}

/// What became of one row that is due.
enum Claim {
    /// It ended without a call: the next one has its turn.
    Ended,
    Call(Box<Taken>),
    /// The chat waits.
    Until(Timestamp),
    /// The bot waits, not this chat.
    BotUntil(Timestamp),
}

impl Outbox {
    /// Looks at a chat and claims its first message if it may leave now.
    pub(super) async fn take(&self, tx: &Tx, chat: ChatId, now: Timestamp) -> Result<Took, StoreError> {
        let db = tx.as_ref();
        let busy = Took { again_at: Some(now.plus(SOON)), ..Took::default() };
        let mut chat = chat;
        if chat == STAFF
            && let Some(home) = self.roster.now().chat
        {
            if lanes::grab(db, self.bot, STAFF).await?.is_none() {
                return Ok(busy);
            }
            // The staff chat's number is looked up only now: it may have changed since the row was written.
            chat = lanes::today(db, self.bot, home).await?;
            lanes::hand_over(db, self.bot, STAFF, chat, self.roster.now().thread, now).await?;
        }
        match lanes::grab(db, self.bot, chat).await? {
            Some(lane) => self.take_held(tx, &lane, None, now).await,
            None => Ok(busy),
        }
    }

    /// The same for who holds the lane already; what this transaction has said there itself is not read again.
    pub(super) async fn take_held(
        &self,
        tx: &Tx,
        lane: &Lane,
        said: Option<Said>,
        now: Timestamp,
    ) -> Result<Took, StoreError> {
        let (db, chat) = (tx.as_ref(), lane.chat);
        let (mut known, about) = said.map_or((None, None), |said| (said.first, said.operation));
        let mut took = Took::default();
        for _ in 0..STEPS {
            let first = match known.take() {
                Some(open) => Some(open),
                None => outbox::first(db, self.bot, chat).await?,
            };
            let Some(open) = first else {
                lanes::set_due(db, self.bot, chat, None).await?;
                took.lane_knows = true;
                return Ok(took);
            };
            let waits = open.row.delivery.due_at().filter(|at| *at > now);
            let claim = match (&open.row.delivery.state, waits) {
                (_, Some(at)) => Claim::Until(at),
                (delivery::State::Sending { .. }, None) => self.end(tx, open.row, &[Event::LeaseEnded], now).await?,
                (delivery::State::Unknown { .. }, None) => self.pause_over(tx, open.row, now).await?,
                _ => self.claim(tx, lane, open, about.as_ref(), now).await?,
            };
            match claim {
                Claim::Ended => took.moved = true,
                Claim::Call(taken) => {
                    return Ok(Took { moved: true, call: Some(taken), again_at: None, lane_knows: true });
                }
                Claim::Until(at) => {
                    lanes::set_due(db, self.bot, chat, Some(at)).await?;
                    took.lane_knows = true;
                    return Ok(took);
                }
                Claim::BotUntil(at) => {
                    took.again_at = Some(at);
                    return Ok(took);
                }
            }
        }
        lanes::set_due(db, self.bot, chat, Some(now)).await?;
        took.lane_knows = true;
        Ok(took)
    }

    /// Moves a row by events that need no call.
    async fn end(&self, tx: &Tx, mut row: Row, events: &[Event], now: Timestamp) -> Result<Claim, StoreError> {
        for event in events {
            row = self.advance(tx, row, None, event, now).await?;
        }
        Ok(Claim::Ended)
    }

    async fn advance(
        &self,
        tx: &Tx,
        row: Row,
        kind: Option<Kind>,
        event: &Event,
        now: Timestamp,
    ) -> Result<Row, StoreError> {
        let policy = Policy { repeats: NoticeKind::named(&row.kind).repeats(), ..self.policy.clone() };
        match outbox::advance_held(tx.as_ref(), row, kind, event, now, &policy).await? {
            Advanced::Moved(row) => Ok(*row),
            Advanced::Stale => Err(StoreError::Stale("outbox")),
            Advanced::Illegal(illegal) => Err(StoreError::Refused(illegal.to_string())),
        }
    }

    async fn pause_over(&self, tx: &Tx, row: Row, now: Timestamp) -> Result<Claim, StoreError> {
        let after = self.advance(tx, row.clone(), None, &Event::PauseOver, now).await?;
        if matches!(after.delivery.state, delivery::State::Unknown { due_at: None, .. }) {
            self.alert(tx, &row, Hindrance::Unconfirmed, "", now).await?;
        }
        Ok(Claim::Ended)
    }

    async fn claim(
        &self,
        tx: &Tx,
        lane: &Lane,
        open: Open,
        about: Option<&Stored>,
        now: Timestamp,
    ) -> Result<Claim, StoreError> {
        let (db, chat) = (tx.as_ref(), lane.chat);
        let Open { row, overtaken, reachable, card } = open;
        if overtaken {
            if row.delivery.repeats > 0 {
                // The newer row's first message is the repeat that was recorded here and not made.
                outbox::hand_on_repeats(db, &row).await?;
            }
            return self.end(tx, row, &[Event::Overtaken], now).await;
        }
        // A private chat has its person's number.
        if chat.0 > 0 && !reachable {
            if row.operation.is_some() {
                self.alert(tx, &row, Hindrance::ClientAway, "", now).await?;
            }
            return self.end(tx, row, &[Event::Unreachable], now).await;
        }
        let lease_end = now.plus(self.policy.lease);
        if chat == STAFF {
            tracing::warn!(outbox.id = row.id, "no staff chat is configured: set staff.chat");
            let attempt = row.delivery.attempts + 1;
            let detail = NO_STAFF_CHAT.to_owned();
            let events = [Event::Claimed { lease_end }, Event::ChatRefused { attempt, detail }];
            return self.end(tx, row, &events, now).await;
        }
        let paced = self.pace.of_chat(chat.0 < 0).filter_map(|rule| rule.again_at(&lane.recent, now)).max();
        if let Some(at) = Some(lane.hold_until).filter(|at| *at > now).max(paced) {
            return Ok(Claim::Until(at));
        }
        let Some(mut overall) = pace::grab(db, self.bot).await? else { return Ok(Claim::BotUntil(now.plus(SOON))) };
        let paced = self.pace.overall.again_at(&overall.recent, now);
        if let Some(at) = Some(overall.hold_until).filter(|at| *at > now).max(paced) {
            return Ok(Claim::BotUntil(at));
        }
        let edit = card.filter(|card| card.chat == chat);
        let kind = if edit.is_some() { Kind::Edit } else { new_kind(&row) };
        // Worded here: whatever changes from now on waits for this lane, finds the row claimed and writes another one.
        let worded = match (&row.notice, &edit) {
            (Notice::InPlace(_), None) => Worded::Nothing("its message is gone"),
            _ => word(self, db, &row, about, now).await?,
        };
        let row = self.advance(tx, row, Some(kind), &Event::Claimed { lease_end }, now).await?;
        let attempt = row.delivery.attempts;
        let words = match worded {
            Worded::Say(words) => Words { text: cut(&words.text, LONGEST), ..words },
            Worded::Nothing(why) => {
                tracing::debug!(outbox.id = row.id, why, "a message has nothing to say any more");
                let refused = Event::RowRefused { attempt, detail: NOTHING_TO_SAY.to_owned() };
                return self.end(tx, row, &[refused], now).await;
            }
        };
        let digest = fingerprint(&words);
        if let Some(card) = edit.filter(|card| card.digest == digest) {
            // The card shows it already: nothing to send, and nothing can be lost.
            let done = Event::Done { attempt, message_id: Some(card.message) };
            return self.end(tx, row, &[done], now).await;
        }
        let thread = row.thread.filter(|_| !row.delivery.topicless);
        let payload = match edit {
            Some(card) => render::edit(chat, card.message, &words),
            None => render::send(chat, thread, &words),
        };
        let payload = match payload {
            Ok(payload) => payload,
            Err(unsayable) => {
                tracing::error!(outbox.id = row.id, %unsayable, "a message breaks a limit of Telegram's");
                self.alert(tx, &row, unsayable.why, &unsayable.detail, now).await?;
                let detail = format!("{}: {}", unsayable.why.word(), unsayable.detail);
                return self.end(tx, row, &[Event::RowRefused { attempt, detail }], now).await;
            }
        };
        if let (Some(card), Some(name)) = (edit, &row.card) {
            // Until its answer is read nobody knows what the card shows: a later row must not be spared its call.
            cards::note(db, name, cards::Card { digest: cards::UNSURE, ..card }, now).await?;
        }
        overall.recent = overall.recent.with(now, [self.pace.overall].into_iter());
        pace::note_sent(db, self.bot, &overall).await?;
        let recent = lane.recent.with(now, self.pace.of_chat(chat.0 < 0));
        lanes::note_sent(db, self.bot, chat, &recent, lease_end).await?;
        Ok(Claim::Call(Box::new(Taken { row, edit, payload, digest, lease_end })))
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
    match i64::from_le_bytes(first) {
        cards::UNSURE => 1,
        known => known,
    }
}
