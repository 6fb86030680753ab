//! Writing what is to be said.

use sea_orm::{
    ActiveValue::{NotSet, Set},
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
    sea_query::Expr,
};

use super::{
    Row,
    open::{Open, Unread, open_of},
    read,
};
use crate::{
    clock::Timestamp,
    domain::{
        delivery::{self, Delivery, Kind, OnUnknown},
        notice::{Notice, NoticeKind, Words},
        text::{LONGEST, split},
    },
    ids::{BotId, ChatId, OperationId},
    store::{
        StoreError,
        entity::outbox,
        lanes::{self, Lane},
        operations::Stored,
        to_json,
    },
};

/// So many open rows of a chat are looked through at once.
const OPEN: u64 = 16;

/// A message or edit to write.
#[derive(Debug, Clone)]
pub struct Letter {
    /// Which bot says it.
    pub bot: BotId,
    /// To whom; [`STAFF`](super::STAFF) for the staff chat.
    pub chat: ChatId,
    /// The topic, if any.
    pub thread: Option<i64>,
    /// What it is for.
    pub kind: NoticeKind,
    /// The name of the card it shows; absent for a message that is never edited.
    pub card: Option<String>,
    /// Which operation it is about.
    pub operation: Option<OperationId>,
    /// What to say.
    pub notice: Notice,
    /// What to do when nobody knows whether it arrived.
    pub on_unknown: OnUnknown,
}

/// Writes a row, due now, and lets its chat's lane wait for it. A text too long for one message becomes several rows, its
/// buttons under the last. Showing a card that already waits to be shown writes nothing: it is worded when it is
/// sent. Words chosen already are another matter: the newer ones overtake the older.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn put<C: ConnectionTrait>(db: &C, letter: &Letter, now: Timestamp) -> Result<(), StoreError> {
    put_at(db, letter, now, now).await
}

/// The same, not to leave before `due_at`, unless there is more to say by then: something that will soon be overtaken
/// need not be said.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn put_at<C: ConnectionTrait>(
    db: &C,
    letter: &Letter,
    now: Timestamp,
    due_at: Timestamp,
) -> Result<(), StoreError> {
    say(db, letter, now, due_at).await?.settle(db, true).await
}

/// What a transaction has put on its way to a chat whose lane it holds: whoever claims it within the same transaction need
/// not read it again.
#[derive(Debug, Clone)]
pub struct Said {
    /// The lane, as it is.
    pub lane: Lane,
    /// The first open row of the chat, where it is known.
    pub first: Option<Open>,
    /// The operation it is about, as this transaction has written it.
    pub operation: Option<Stored>,
    bot: BotId,
    /// The first row is to go out sooner than its row says.
    sooner: Option<Timestamp>,
}

impl Said {
    fn written(bot: BotId, lane: Lane) -> Self {
        Self { lane, first: None, operation: None, bot, sooner: None }
    }

    /// Writes what nobody has claimed: a row that is to go out sooner, and with `lane` when its chat wants to be looked at.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn settle<C: ConnectionTrait>(&self, db: &C, lane: bool) -> Result<(), StoreError> {
        let (Some(at), Some(first)) = (self.sooner, &self.first) else { return Ok(()) };
        make_due(db, &first.row, at).await?;
        if lane {
            lanes::set_due(db, self.bot, self.lane.chat, self.lane.due_at).await?;
        }
        Ok(())
    }
}

/// The same as [`put_at`], except that a row which waits already and is to go out sooner is left to be claimed, or to
/// [`Said::settle`].
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn say<C: ConnectionTrait>(
    db: &C,
    letter: &Letter,
    now: Timestamp,
    due_at: Timestamp,
) -> Result<Said, StoreError> {
    // From here on nobody claims and words anything of this chat before what we write can be seen.
    let lane = lanes::join(db, letter.bot, letter.chat, letter.kind.priority(), due_at).await?;
    if let Notice::Words(words) = &letter.notice {
        put_words(db, letter, lane.chat, words, now, due_at).await?;
        return Ok(Said::written(letter.bot, lane));
    }
    let Some(card) = &letter.card else {
        insert(db, letter, lane.chat, now, due_at).await?;
        return Ok(Said::written(letter.bot, lane));
    };
    // A group may go on under another number, with what waits for it: its cards are looked for wherever they are.
    if lane.chat.0 > 0 {
        let open = open_of(db, letter.bot, lane.chat, OPEN).await?;
        if (open.len() as u64) < OPEN {
            return say_among(db, letter, lane, open, now, due_at).await;
        }
    }
    match first_untouched(db, card).await? {
        None => insert(db, letter, lane.chat, now, due_at).await?,
        Some(waiting) if waiting.delivery.due_at().is_some_and(|at| at > due_at) => {
            make_due(db, &waiting, due_at).await?;
            if waiting.chat == lane.chat {
                lanes::refresh_held(db, letter.bot, &lane).await?;
            } else {
                lanes::refresh(db, letter.bot, waiting.chat).await?;
            }
        }
        Some(_) => {}
    }
    Ok(Said::written(letter.bot, lane))
}

/// The same where `open` is all that is open in the chat.
async fn say_among<C: ConnectionTrait>(
    db: &C,
    letter: &Letter,
    lane: Lane,
    open: Vec<Unread>,
    now: Timestamp,
    due_at: Timestamp,
) -> Result<Said, StoreError> {
    let first_due = open.first().and_then(Unread::due_at);
    let mut said = Said::written(letter.bot, lane);
    let waiting = open.into_iter().enumerate().rev();
    for (place, row) in
        waiting.filter(|(_, row)| row.is_pending() && letter.card.as_deref().is_some_and(|card| row.shows(card)))
    {
        let mut open = row.read()?;
        if open.row.delivery.attempts > 0 {
            continue;
        }
        let waits = open.row.delivery.due_at().is_some_and(|at| at > due_at);
        if waits && place > 0 {
            make_due(db, &open.row, due_at).await?;
            said.lane.due_at = first_due.map(|at| at.max(said.lane.hold_until));
            lanes::set_due(db, letter.bot, said.lane.chat, said.lane.due_at).await?;
        } else if waits {
            open.row.delivery.state = delivery::State::Pending { due_at };
            said.lane.due_at = Some(due_at.max(said.lane.hold_until));
            said.sooner = Some(due_at);
        }
        said.first = (place == 0).then_some(open);
        return Ok(said);
    }
    insert(db, letter, said.lane.chat, now, due_at).await?;
    Ok(said)
}

/// Writes the first row of a card that has just come to be: nothing can show it yet.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn put_first<C: ConnectionTrait>(
    db: &C,
    letter: &Letter,
    now: Timestamp,
    due_at: Timestamp,
) -> Result<(), StoreError> {
    let lane = lanes::join(db, letter.bot, letter.chat, letter.kind.priority(), due_at).await?;
    insert(db, letter, lane.chat, now, due_at).await
}

async fn put_words<C: ConnectionTrait>(
    db: &C,
    letter: &Letter,
    chat: ChatId,
    words: &Words,
    now: Timestamp,
    due_at: Timestamp,
) -> Result<(), StoreError> {
    let mut parts = split(&words.text, LONGEST);
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let part = Letter { card: None, notice: Notice::Words(Words::plain(part)), ..letter.clone() };
        insert(db, &part, chat, now, due_at).await?;
    }
    let words = Words { text: last, keyboard: words.keyboard.clone() };
    insert(db, &Letter { notice: Notice::Words(words), ..letter.clone() }, chat, now, due_at).await
}

/// A row of this card whose first call has not begun. One that waits for its repeat does not count: it may turn out to
/// have arrived, and then its words are the old ones.
async fn first_untouched<C: ConnectionTrait>(db: &C, card: &str) -> Result<Option<Row>, StoreError> {
    let waiting = outbox::Entity::find()
        .filter(outbox::Column::Card.eq(card))
        .filter(outbox::Column::State.eq("pending"))
        .filter(outbox::Column::DueAt.is_not_null())
        .order_by_desc(outbox::Column::Id)
        .limit(8)
        .all(db)
        .await?;
    for row in waiting {
        let row = read(row)?;
        if row.delivery.attempts == 0 {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

async fn make_due<C: ConnectionTrait>(db: &C, row: &Row, due_at: Timestamp) -> Result<(), StoreError> {
    let mut delivery = row.delivery.clone();
    delivery.state = delivery::State::Pending { due_at };
    outbox::Entity::update_many()
        .col_expr(outbox::Column::Body, Expr::value(to_json(&delivery)?))
        .col_expr(outbox::Column::DueAt, Expr::value(due_at.0))
        .col_expr(outbox::Column::Rev, Expr::value(row.rev + 1))
        .filter(outbox::Column::Id.eq(row.id))
        .filter(outbox::Column::Rev.eq(row.rev))
        .exec(db)
        .await?;
    Ok(())
}

pub(super) async fn insert<C: ConnectionTrait>(
    db: &C,
    letter: &Letter,
    chat: ChatId,
    now: Timestamp,
    due_at: Timestamp,
) -> Result<(), StoreError> {
    let delivery = Delivery::new(Kind::New { on_unknown: letter.on_unknown }, due_at);
    let row = outbox::ActiveModel {
        id: NotSet,
        bot_id: Set(letter.bot.0),
        chat_id: Set(chat.0),
        thread_id: Set(letter.thread),
        kind: Set(letter.kind.name().to_owned()),
        card: Set(letter.card.clone()),
        operation_id: Set(letter.operation.map(|operation| operation.0)),
        notice: Set(to_json(&letter.notice)?),
        state: Set(delivery.state.name().to_owned()),
        body: Set(to_json(&delivery)?),
        rev: Set(0),
        priority: Set(letter.kind.priority()),
        due_at: Set(delivery.due_at().map(|at| at.0)),
        message_id: Set(None),
        error: Set(None),
        created_at: Set(now.0),
        ended_at: Set(None),
    };
    outbox::Entity::insert(row).exec_without_returning(db).await?;
    Ok(())
}

/// Writes a message anew that ended without arriving: staff want it sent once more.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn send_anew<C: ConnectionTrait>(db: &C, row: &Row, now: Timestamp) -> Result<(), StoreError> {
    put(db, &again(row), now).await
}

pub(super) fn again(row: &Row) -> Letter {
    let on_unknown = match row.delivery.kind {
        Kind::New { on_unknown } => on_unknown,
        Kind::Edit => OnUnknown::Repeat,
    };
    Letter {
        bot: row.bot,
        chat: row.chat,
        thread: row.thread,
        kind: NoticeKind::named(&row.kind),
        card: row.card.clone(),
        operation: row.operation,
        notice: row.notice.clone(),
        on_unknown,
    }
}
