//! What is to be said: one row a message or edit, written with the change that caused it.

use sea_orm::{
    ActiveValue::{NotSet, Set},
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
    sea_query::Expr,
};

use super::{StoreError, cards, cases, entity::outbox, journal, people, to_json};
use crate::{
    clock::Timestamp,
    domain::{
        delivery::{self, Delivery, Effect, Event, Illegal, Kind, OnUnknown, Policy},
        notice::{Notice, NoticeKind},
    },
    ids::{BotId, ChatId, OperationId, UserId},
};

/// The staff chat, whatever its number is today: resolved when the row is delivered.
pub const STAFF: ChatId = ChatId(0);

/// A message or edit to write.
#[derive(Debug, Clone)]
pub struct Letter {
    /// Which bot says it.
    pub bot: BotId,
    /// To whom; [`STAFF`] for the staff chat.
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

/// A row, as stored.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its number: the order of what is said.
    pub id: i64,
    /// Which bot says it.
    pub bot: BotId,
    /// To whom.
    pub chat: ChatId,
    /// The topic, if any.
    pub thread: Option<i64>,
    /// What it is for, as its word.
    pub kind: String,
    /// The name of the card it shows.
    pub card: Option<String>,
    /// Which operation it is about.
    pub operation: Option<OperationId>,
    /// What to say.
    pub notice: Notice,
    /// How far it is.
    pub delivery: Delivery,
    /// For compare-and-set.
    pub rev: i64,
    /// When it was written.
    pub created_at: Timestamp,
}

/// What became of a step.
#[derive(Debug)]
pub enum Advanced {
    /// It was taken.
    Moved(Box<Row>),
    /// The row changed meanwhile, or is gone.
    Stale,
    /// The event has no meaning in the row's state.
    Illegal(Illegal),
}

/// Writes a row, due now. Showing a card that already waits to be shown writes nothing: it is worded when it is sent.
/// Words chosen already are another matter: the newer ones overtake the older.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn put<C: ConnectionTrait>(db: &C, letter: &Letter, now: Timestamp) -> Result<(), StoreError> {
    if let (Some(card), false) = (&letter.card, matches!(letter.notice, Notice::Words(_))) {
        let waiting = outbox::Entity::find()
            .filter(outbox::Column::Card.eq(card.as_str()))
            .filter(outbox::Column::State.eq("pending"))
            .filter(outbox::Column::DueAt.is_not_null())
            .limit(8)
            // Another replica must not claim and word it before what we write now can be seen.
            .lock_exclusive()
            .all(db)
            .await?;
        // One that waits for its repeat may turn out to have arrived: then its words are the old ones.
        for row in waiting {
            if read(row)?.delivery.attempts == 0 {
                return Ok(());
            }
        }
    }
    insert(db, letter, now).await
}

async fn insert<C: ConnectionTrait>(db: &C, letter: &Letter, now: Timestamp) -> Result<(), StoreError> {
    let delivery = Delivery::new(Kind::New { on_unknown: letter.on_unknown }, now);
    let row = outbox::ActiveModel {
        id: NotSet,
        bot_id: Set(letter.bot.0),
        chat_id: Set(letter.chat.0),
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

/// Open rows in the order they were written; the first open one of a chat holds the others back.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn open<C: ConnectionTrait>(db: &C, bot: BotId, limit: u64) -> Result<Vec<Row>, StoreError> {
    let rows = outbox::Entity::find()
        .filter(outbox::Column::BotId.eq(bot.0))
        .filter(outbox::Column::DueAt.is_not_null())
        .order_by_asc(outbox::Column::Id)
        .limit(limit)
        .all(db)
        .await?;
    rows.into_iter().map(read).collect()
}

/// A row by its number.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn load<C: ConnectionTrait>(db: &C, id: i64) -> Result<Option<Row>, StoreError> {
    outbox::Entity::find_by_id(id).one(db).await?.map(read).transpose()
}

/// Whether a later row shows the same card.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn is_overtaken<C: ConnectionTrait>(db: &C, row: &Row) -> Result<bool, StoreError> {
    let Some(card) = &row.card else { return Ok(false) };
    let later = outbox::Entity::find()
        .filter(outbox::Column::Card.eq(card.as_str()))
        .filter(outbox::Column::Id.gt(row.id))
        .limit(1)
        .one(db)
        .await?;
    Ok(later.is_some())
}

/// How many rows are not delivered yet.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn count_open<C: ConnectionTrait>(db: &C, bot: BotId) -> Result<u64, StoreError> {
    use sea_orm::PaginatorTrait as _;
    let open =
        outbox::Entity::find().filter(outbox::Column::BotId.eq(bot.0)).filter(outbox::Column::DueAt.is_not_null());
    Ok(open.count(db).await?)
}

/// The one door through which a row changes: load, step, write state and effects, compare-and-set on `rev`.
/// `kind` replaces what a repeat would do: an edit and a new message are told apart only when the row is sent.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn advance<C: ConnectionTrait>(
    db: &C,
    id: i64,
    rev: i64,
    kind: Option<Kind>,
    event: &Event,
    at: Timestamp,
    policy: &Policy,
) -> Result<Advanced, StoreError> {
    let Some(mut row) = load(db, id).await? else { return Ok(Advanced::Stale) };
    if row.rev != rev {
        return Ok(Advanced::Stale);
    }
    if let Some(kind) = kind {
        row.delivery.kind = kind;
    }
    let step = match delivery::step(&row.delivery, event, at, policy) {
        Ok(step) => step,
        Err(illegal) => return Ok(Advanced::Illegal(illegal)),
    };
    let next = step.delivery;
    let message = match &next.state {
        delivery::State::Sent { message_id } => *message_id,
        _ => None,
    };
    let error = match &next.state {
        delivery::State::Dropped { why } => Some(to_json(why)?),
        _ => None,
    };
    let saved = outbox::Entity::update_many()
        .col_expr(outbox::Column::State, Expr::value(next.state.name()))
        .col_expr(outbox::Column::Body, Expr::value(to_json(&next)?))
        .col_expr(outbox::Column::Rev, Expr::value(rev + 1))
        .col_expr(outbox::Column::DueAt, Expr::value(next.due_at().map(|at| at.0)))
        .col_expr(outbox::Column::MessageId, Expr::value(message.map(|message| message.0)))
        .col_expr(outbox::Column::Error, Expr::value(error))
        .col_expr(outbox::Column::EndedAt, Expr::value(next.state.is_final().then_some(at.0)))
        .filter(outbox::Column::Id.eq(id))
        .filter(outbox::Column::Rev.eq(rev))
        .exec(db)
        .await?;
    if saved.rows_affected != 1 {
        return Ok(Advanced::Stale);
    }
    row.delivery = next;
    row.rev = rev + 1;
    for effect in &step.effects {
        carry_out(db, &row, effect, at).await?;
    }
    Ok(Advanced::Moved(Box::new(row)))
}

async fn carry_out<C: ConnectionTrait>(db: &C, row: &Row, effect: &Effect, at: Timestamp) -> Result<(), StoreError> {
    match effect {
        Effect::Record(entry) => {
            // Every message leaves several lines; only what is out of the ordinary is history.
            let ordinary = matches!(entry.event.as_str(), "claimed" | "done" | "not_sent" | "throttled" | "overtaken");
            if !ordinary {
                let mut entry = entry.clone();
                entry.event = format!("outbox_{}", entry.event);
                let about = format!("{} {}", row.kind, row.id);
                entry.detail = Some(entry.detail.map_or(about.clone(), |detail| format!("{about}: {detail}")));
                journal::append(db, row.operation, &entry, at).await?;
            }
        }
        Effect::SendInstead => {
            if let Some(card) = &row.card {
                cards::forget(db, card).await?;
            }
            insert(db, &again(row), at).await?;
        }
        // What Telegram says of the staff chat is kept by the sender, who knows its number.
        Effect::HoldChat { .. } | Effect::FollowChat { .. } if row.chat == STAFF => {}
        Effect::MarkUnreachable { .. } => people::set_reachable(db, row.bot, UserId(row.chat.0), false).await?,
        Effect::HoldChat { until } => cards::hold_chat(db, row.bot, row.chat, *until).await?,
        Effect::FollowChat { to } => cards::move_chat(db, row.bot, row.chat, *to).await?,
        // The sender words these: they need the catalogue, and a send that ends in an alert must not ask for another.
        Effect::Alert { .. } | Effect::OpenCase => {}
        Effect::CloseCase => {
            for case in cases::about_row(db, row.bot, "undelivered", row.id).await? {
                cases::settle_itself(db, row.bot, &case, at).await?;
            }
        }
        // Where the message is and what it shows is known to the sender, who stores the card.
        Effect::KnowMessage { .. } => {}
    }
    Ok(())
}

/// Writes a message anew that ended without arriving: staff want it sent once more.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn send_anew<C: ConnectionTrait>(db: &C, row: &Row, now: Timestamp) -> Result<(), StoreError> {
    put(db, &again(row), now).await
}

fn again(row: &Row) -> Letter {
    let on_unknown = match row.delivery.kind {
        Kind::New { on_unknown } => on_unknown,
        Kind::Edit => OnUnknown::Repeat,
    };
    Letter {
        bot: row.bot,
        chat: row.chat,
        thread: row.thread,
        kind: kind_of(&row.kind),
        card: row.card.clone(),
        operation: row.operation,
        notice: row.notice.clone(),
        on_unknown,
    }
}

fn kind_of(word: &str) -> NoticeKind {
    use NoticeKind::{Card, Created, Dialog, Rejected, StaffCard, StaffReply, Waiting};
    [Dialog, Card, Created, Rejected, Waiting, StaffCard, StaffReply]
        .into_iter()
        .find(|kind| kind.name() == word)
        .unwrap_or(Dialog)
}

fn read(row: outbox::Model) -> Result<Row, StoreError> {
    let corrupt = |what: String| StoreError::corrupt("outbox", row.id, what);
    let notice = serde_json::from_str(&row.notice).map_err(|error| corrupt(format!("notice: {error}")))?;
    let delivery = serde_json::from_str(&row.body).map_err(|error| corrupt(format!("body: {error}")))?;
    Ok(Row {
        id: row.id,
        bot: BotId(row.bot_id),
        chat: ChatId(row.chat_id),
        thread: row.thread_id,
        kind: row.kind,
        card: row.card,
        operation: row.operation_id.map(OperationId),
        notice,
        delivery,
        rev: row.rev,
        created_at: Timestamp(row.created_at),
    })
}
