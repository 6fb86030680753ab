//! A chat's lane: what is to be said there goes out one by one, in the order it was written. Its row knows when the chat
//! wants to be looked at, until when Telegram wants silence there, and when the latest messages left.
//!
//! Whoever writes, claims or ends a message of a chat holds the lane's row until commit. So two replicas never write to
//! one chat at once, and what is worded at a claim is what was stored before it. A claim never waits for a lane that
//! somebody else holds: it looks again later.

use sea_orm::{
    ActiveValue::Set,
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QuerySelect as _,
    sea_query::{Expr, Func, LockBehavior, LockType, OnConflict, Order, Query, UnionType},
};

use super::{
    StoreError, cards, cases,
    entity::{chats, outbox},
    outbox::{first_open, open_of_chat},
    to_json,
};
use crate::{
    clock::Timestamp,
    domain::pace::Recent,
    ids::{BotId, ChatId},
};

/// The ranks there are: the priorities of [`NoticeKind`](crate::domain::notice::NoticeKind).
const RANKS: std::ops::RangeInclusive<i32> = 0..=3;

/// How long what is open may go without its lane knowing: then it was written by a release that knows no lanes.
const OVERLOOKED: std::time::Duration = std::time::Duration::from_secs(60);

/// A chat's lane, as stored.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Which chat.
    pub chat: ChatId,
    /// When it wants to be looked at; `None` while nothing waits to be said there.
    pub due_at: Option<Timestamp>,
    /// Who goes first when the pace is short: smaller is sooner.
    pub priority: i32,
    /// Nothing is said there before this moment.
    pub hold_until: Timestamp,
    /// Where the group lives now.
    pub moved_to: Option<ChatId>,
    /// When the latest messages left.
    pub recent: Recent,
}

/// Notes that something of this rank waits to be said in a chat from `due_at` on, and holds its lane. A lane that waits
/// already keeps its moment: its first message decides. Returns the lane where the message belongs: a group that
/// moved is followed.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn join<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    chat: ChatId,
    priority: i32,
    due_at: Timestamp,
) -> Result<Lane, StoreError> {
    let mut here = chat;
    // A group moves once; the bound only guards against a circle.
    for _ in 0..4 {
        let row = chats::ActiveModel {
            bot_id: Set(bot.0),
            chat_id: Set(here.0),
            hold_until: Set(0),
            moved_to: Set(None),
            due_at: Set(Some(due_at.0)),
            priority: Set(priority),
            recent: Set(None),
        };
        let joined = OnConflict::columns([chats::Column::BotId, chats::Column::ChatId])
            .value(chats::Column::DueAt, Expr::cust("COALESCE(chats.due_at, excluded.due_at)"))
            .value(
                chats::Column::Priority,
                Expr::cust(
                    "CASE WHEN chats.due_at IS NOT NULL AND chats.priority < excluded.priority \
                     THEN chats.priority ELSE excluded.priority END",
                ),
            )
            .to_owned();
        let lane = read(chats::Entity::insert(row).on_conflict(joined).exec_with_returning(db).await?)?;
        match lane.moved_to {
            Some(to) => {
                set_due(db, bot, here, None).await?;
                here = to;
            }
            None => return Ok(lane),
        }
    }
    Err(StoreError::corrupt("chats", chat, "a group that moved in a circle"))
}

/// Holds a lane, waiting for whoever holds it. A chat nothing was said to yet has none.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn hold<C: ConnectionTrait>(db: &C, bot: BotId, chat: ChatId) -> Result<Option<Lane>, StoreError> {
    let row = chats::Entity::find_by_id((bot.0, chat.0)).lock_exclusive().one(db).await?;
    row.map(read).transpose()
}

/// Holds a lane if nobody else does.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn grab<C: ConnectionTrait>(db: &C, bot: BotId, chat: ChatId) -> Result<Option<Lane>, StoreError> {
    let row = chats::Entity::find_by_id((bot.0, chat.0))
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
        .one(db)
        .await?;
    row.map(read).transpose()
}

/// The lanes that want to be looked at first: of each rank at most `limit`, the most urgent rank first, with their moments.
/// One question, answered by an index however much waits: it is asked after every step.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn soonest<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    limit: usize,
) -> Result<Vec<(ChatId, Timestamp)>, StoreError> {
    let columns = [chats::Column::Priority, chats::Column::DueAt, chats::Column::ChatId];
    let of_rank = |rank: i32| {
        let first = Query::select()
            .columns(columns)
            .from(chats::Entity)
            .and_where(chats::Column::BotId.eq(bot.0))
            .and_where(chats::Column::Priority.eq(rank))
            .and_where(chats::Column::DueAt.is_not_null())
            .order_by(chats::Column::DueAt, Order::Asc)
            .limit(limit as u64)
            .to_owned();
        // A part of a union cannot be cut short by itself; a table within can.
        Query::select().columns(columns).from_subquery(first, format!("rank_{rank}")).to_owned()
    };
    let mut all = of_rank(*RANKS.start());
    for rank in RANKS.skip(1) {
        all.union(UnionType::All, of_rank(rank));
    }
    let mut found = Vec::new();
    for row in db.query_all(&all).await? {
        let (rank, due_at, chat): (i32, i64, i64) =
            (row.try_get_by_index(0)?, row.try_get_by_index(1)?, row.try_get_by_index(2)?);
        found.push((rank, due_at, chat));
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, due_at, chat)| (ChatId(chat), Timestamp(due_at))).collect())
}

/// Sets when a lane wants to be looked at.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn set_due<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    chat: ChatId,
    due_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    update(bot, chat).col_expr(chats::Column::DueAt, Expr::value(due_at.map(|at| at.0))).exec(db).await?;
    Ok(())
}

/// Lets a lane wait for its first open message, whatever that is now.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn refresh<C: ConnectionTrait>(db: &C, bot: BotId, chat: ChatId) -> Result<(), StoreError> {
    let Some(lane) = hold(db, bot, chat).await? else { return Ok(()) };
    refresh_held(db, bot, &lane).await
}

/// The same for who holds the lane already.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn refresh_held<C: ConnectionTrait>(db: &C, bot: BotId, lane: &Lane) -> Result<(), StoreError> {
    let first = first_open(db, bot, lane.chat).await?.and_then(|row| row.delivery.due_at());
    set_due(db, bot, lane.chat, first.map(|at| at.max(lane.hold_until))).await
}

/// Notes that a message leaves now; the lane then waits for its lease.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn note_sent<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    chat: ChatId,
    recent: &Recent,
    lease_end: Timestamp,
) -> Result<(), StoreError> {
    update(bot, chat)
        .col_expr(chats::Column::DueAt, Expr::value(lease_end.0))
        .col_expr(chats::Column::Recent, Expr::value(to_json(recent)?))
        .exec(db)
        .await?;
    Ok(())
}

/// Keeps silent in a chat until then, as Telegram asked: no message, no edit.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn keep_silent<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    chat: ChatId,
    until: Timestamp,
) -> Result<(), StoreError> {
    update(bot, chat).col_expr(chats::Column::HoldUntil, Expr::value(until.0)).exec(db).await?;
    Ok(())
}

/// Follows a group to its new number: what waits to be said goes there.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn move_chat<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    from: ChatId,
    to: ChatId,
    now: Timestamp,
) -> Result<(), StoreError> {
    if from == to {
        return Ok(());
    }
    let row = chats::ActiveModel {
        bot_id: Set(bot.0),
        chat_id: Set(from.0),
        hold_until: Set(0),
        moved_to: Set(Some(to.0)),
        due_at: Set(None),
        priority: Set(1),
        recent: Set(None),
    };
    let moved = OnConflict::columns([chats::Column::BotId, chats::Column::ChatId])
        .update_columns([chats::Column::MovedTo])
        .to_owned();
    chats::Entity::insert(row).on_conflict(moved).exec_without_returning(db).await?;
    // Messages of the old group cannot be edited from the new one: cards are made anew.
    let forgotten = cards::forget_all(db, bot, from).await?;
    cases::show_anew(db, bot, &forgotten, now).await?;
    hand_over(db, bot, from, to, None, now).await
}

/// Lets everything that waits in one chat wait in another, behind what waits there only if it was written later.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn hand_over<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    from: ChatId,
    to: ChatId,
    thread: Option<i64>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(lane) = hold(db, bot, from).await? else { return Ok(()) };
    let mut rows = open_of_chat(bot, from).col_expr(outbox::Column::ChatId, Expr::value(to.0));
    if let Some(thread) = thread {
        let kept = Func::coalesce([Expr::col(outbox::Column::ThreadId), Expr::value(thread)]);
        rows = rows.col_expr(outbox::Column::ThreadId, kept.into());
    }
    let moved = rows.exec(db).await?.rows_affected;
    set_due(db, bot, from, None).await?;
    if moved > 0 {
        join(db, bot, to, lane.priority, now).await?;
        refresh(db, bot, to).await?;
    }
    Ok(())
}

/// The number a chat has today.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn today<C: ConnectionTrait>(db: &C, bot: BotId, chat: ChatId) -> Result<ChatId, StoreError> {
    let mut here = chat;
    for _ in 0..4 {
        match chats::Entity::find_by_id((bot.0, here.0)).one(db).await?.and_then(|row| row.moved_to) {
            Some(to) => here = ChatId(to),
            None => break,
        }
    }
    Ok(here)
}

/// Chats whose open messages no lane waits for, at most `limit`: a release that knows no lanes wrote them.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn overlooked<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    now: Timestamp,
    limit: u64,
) -> Result<Vec<ChatId>, StoreError> {
    let old: Vec<i64> = outbox::Entity::find()
        .select_only()
        .column(outbox::Column::ChatId)
        .filter(outbox::Column::BotId.eq(bot.0))
        .filter(outbox::Column::DueAt.lte(now.minus(OVERLOOKED).0))
        .distinct()
        .limit(limit)
        .into_tuple()
        .all(db)
        .await?;
    let known: Vec<i64> = chats::Entity::find()
        .select_only()
        .column(chats::Column::ChatId)
        .filter(chats::Column::BotId.eq(bot.0))
        .filter(chats::Column::ChatId.is_in(old.iter().copied()))
        .filter(chats::Column::DueAt.is_not_null())
        .into_tuple()
        .all(db)
        .await?;
    Ok(old.into_iter().filter(|chat| !known.contains(chat)).map(ChatId).collect())
}

fn update(bot: BotId, chat: ChatId) -> sea_orm::UpdateMany<chats::Entity> {
    chats::Entity::update_many().filter(chats::Column::BotId.eq(bot.0)).filter(chats::Column::ChatId.eq(chat.0))
}

fn read(row: chats::Model) -> Result<Lane, StoreError> {
    let corrupt = |error: serde_json::Error| StoreError::corrupt("chats", row.chat_id, format!("recent: {error}"));
    let recent =
        row.recent.as_deref().map_or(Ok(Recent::default()), |text| serde_json::from_str(text).map_err(corrupt));
    Ok(Lane {
        chat: ChatId(row.chat_id),
        due_at: row.due_at.map(Timestamp),
        priority: row.priority,
        hold_until: Timestamp(row.hold_until),
        moved_to: row.moved_to.map(ChatId),
        recent: recent?,
    })
}
