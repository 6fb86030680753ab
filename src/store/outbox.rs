//! What is to be said: one row a message or edit, written with the change that caused it.

mod open;
mod put;

use futures_util::future::BoxFuture;
use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
    sea_query::Expr,
};

use super::{StoreError, Tx, cards, cases, entity::outbox, journal, lanes, pace, people, to_json};
use crate::{
    clock::Timestamp,
    domain::{
        delivery::{self, Delivery, Effect, Event, Illegal, Kind, Policy},
        notice::{Keyboard, Notice},
    },
    ids::{BotId, ChatId, OperationId, UserId},
};

pub use open::{Open, first};
pub use put::{Letter, Said, put, put_at, put_first, say, send_anew};
use put::{again, insert};

/// The staff chat, whatever its number is today: resolved when the row is delivered.
pub const STAFF: ChatId = ChatId(0);

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

/// What is done once a transaction has committed, and not done if it has not.
pub type AfterCommit = Box<dyn FnOnce() + Send>;

/// Claims what a transaction has just written to be said, within that transaction, so that it leaves with its commit.
pub trait Herald: std::fmt::Debug + Send + Sync {
    /// Claims the first message of a chat, if nothing else of the chat is under way and the pace allows it. The call is
    /// made after the commit. What the transaction has said there itself is claimed or settled.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    fn take<'a>(
        &'a self,
        tx: &'a Tx,
        chat: ChatId,
        said: Option<Said>,
    ) -> BoxFuture<'a, Result<Option<AfterCommit>, StoreError>>;
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

/// The first open row of a chat, alone.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn first_open<C: ConnectionTrait>(db: &C, bot: BotId, chat: ChatId) -> Result<Option<Row>, StoreError> {
    let first = outbox::Entity::find()
        .filter(outbox::Column::BotId.eq(bot.0))
        .filter(outbox::Column::ChatId.eq(chat.0))
        .filter(outbox::Column::DueAt.is_not_null())
        .order_by_asc(outbox::Column::Id)
        .limit(1)
        .one(db)
        .await?;
    first.map(read).transpose()
}

/// A change to every open row of a chat.
pub(super) fn open_of_chat(bot: BotId, chat: ChatId) -> sea_orm::UpdateMany<outbox::Entity> {
    outbox::Entity::update_many()
        .filter(outbox::Column::BotId.eq(bot.0))
        .filter(outbox::Column::ChatId.eq(chat.0))
        .filter(outbox::Column::DueAt.is_not_null())
}

/// Open rows in the order they were written.
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

/// Has the newest row of a card begin with the repeats that `row` has on record: one state more is no reason for more
/// messages than its kind allows.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn hand_on_repeats<C: ConnectionTrait>(db: &C, row: &Row) -> Result<(), StoreError> {
    let Some(card) = &row.card else { return Ok(()) };
    let newest = outbox::Entity::find()
        .filter(outbox::Column::Card.eq(card.as_str()))
        .filter(outbox::Column::Id.gt(row.id))
        .filter(outbox::Column::DueAt.is_not_null())
        .order_by_desc(outbox::Column::Id)
        .limit(1)
        .one(db)
        .await?;
    let Some(mut newest) = newest.map(read).transpose()? else { return Ok(()) };
    newest.delivery.repeats = newest.delivery.repeats.max(row.delivery.repeats);
    outbox::Entity::update_many()
        .col_expr(outbox::Column::Body, Expr::value(to_json(&newest.delivery)?))
        .col_expr(outbox::Column::Rev, Expr::value(newest.rev + 1))
        .filter(outbox::Column::Id.eq(newest.id))
        .filter(outbox::Column::Rev.eq(newest.rev))
        .exec(db)
        .await?;
    Ok(())
}

/// Whether a card's message has buttons under it or none: Telegram edits no other.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn can_be_edited<C: ConnectionTrait>(db: &C, card: &str) -> Result<bool, StoreError> {
    let last = outbox::Entity::find()
        .filter(outbox::Column::Card.eq(card))
        .filter(outbox::Column::State.eq("sent"))
        .order_by_desc(outbox::Column::Id)
        .limit(1)
        .one(db)
        .await?;
    Ok(match last.map(read).transpose()?.map(|row| row.notice) {
        Some(Notice::Words(words)) => matches!(words.keyboard, Keyboard::Inline(_) | Keyboard::None),
        _ => true,
    })
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

/// The one door through which a row changes: load, step, write state and effects, compare-and-set on `rev`; then the lane
/// waits for whatever is first in the chat now.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn advance<C: ConnectionTrait>(
    db: &C,
    id: i64,
    rev: i64,
    event: &Event,
    at: Timestamp,
    policy: &Policy,
) -> Result<Advanced, StoreError> {
    let Some(row) = load(db, id).await? else { return Ok(Advanced::Stale) };
    if row.rev != rev {
        return Ok(Advanced::Stale);
    }
    let (bot, chat) = (row.bot, row.chat);
    lanes::hold(db, bot, chat).await?;
    let advanced = advance_held(db, row, None, event, at, policy).await?;
    lanes::refresh(db, bot, chat).await?;
    Ok(advanced)
}

/// The same for who has read the row, holds the lane already and looks at it afterwards. `kind` replaces what a repeat would do: an edit
/// and a new message are told apart only when the row is sent.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn advance_held<C: ConnectionTrait>(
    db: &C,
    mut row: Row,
    kind: Option<Kind>,
    event: &Event,
    at: Timestamp,
    policy: &Policy,
) -> Result<Advanced, StoreError> {
    let (id, rev) = (row.id, row.rev);
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
            if !delivery::is_ordinary(&entry.event) {
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
            // A later row of the card says more, and makes the new message: our words would come after its own.
            if !matches!(row.notice, Notice::InPlace(_)) && !is_overtaken(db, row).await? {
                insert(db, &again(row), row.chat, at, at).await?;
            }
        }
        Effect::MarkUnreachable { .. } => people::set_reachable(db, row.bot, UserId(row.chat.0), false).await?,
        Effect::HoldChat { until } => {
            lanes::keep_silent(db, row.bot, row.chat, *until).await?;
            pace::throttled(db, row.bot, row.chat, *until, at).await?;
        }
        Effect::FollowChat { to } => lanes::move_chat(db, row.bot, row.chat, *to, at).await?,
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
