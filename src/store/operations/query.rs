//! Reading operations: by due time for the worker, by name for people.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
    QueryTrait as _,
    sea_query::{Expr, ExprTrait as _, LockBehavior, LockType, Query},
};
use uuid::Uuid;

use super::{Stored, read, version_to_row};
use crate::{
    clock::Timestamp,
    domain::notice::NoticeKind,
    ids::{BotId, ChatId, ConfirmVersion, DraftId, Marker, OperationId, UserId},
    store::{
        StoreError,
        entity::{attempts, is_one_of, operation_steps, operations, outbox},
    },
};

/// An operation by its id.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn load<C: ConnectionTrait>(db: &C, id: OperationId) -> Result<Option<Stored>, StoreError> {
    operations::Entity::find_by_id(id.0).one(db).await?.map(read).transpose()
}

/// The same for a claim: one that another replica is changing at this moment is passed by, not waited for.
pub(super) async fn load_free<C: ConnectionTrait>(db: &C, id: OperationId) -> Result<Option<Stored>, StoreError> {
    let free = operations::Entity::find_by_id(id.0).lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
    free.one(db).await?.map(read).transpose()
}

/// The operation of a confirmed draft version.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn by_draft_version<C: ConnectionTrait>(
    db: &C,
    draft: DraftId,
    version: ConfirmVersion,
) -> Result<Option<Stored>, StoreError> {
    let row = operations::Entity::find()
        .filter(operations::Column::DraftId.eq(draft.0))
        .filter(operations::Column::Version.eq(version_to_row(version)))
        .one(db)
        .await?;
    row.map(read).transpose()
}

/// Operations with this marker: one, or by rare chance more.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn by_marker<C: ConnectionTrait>(db: &C, bot: BotId, marker: &Marker) -> Result<Vec<Stored>, StoreError> {
    let rows = operations::Entity::find()
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::Marker.eq(marker.as_str()))
        .order_by_asc(operations::Column::Id)
        .limit(10)
        .all(db)
        .await?;
    rows.into_iter().map(read).collect()
}

/// Operations that ended in the ticket with this number.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn by_ticket_number<C: ConnectionTrait>(db: &C, bot: BotId, number: &str) -> Result<Vec<Stored>, StoreError> {
    let rows = operations::Entity::find()
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::TicketNumber.eq(number))
        .order_by_asc(operations::Column::Id)
        .limit(10)
        .all(db)
        .await?;
    rows.into_iter().map(read).collect()
}

/// A person's operations, newest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn of_person<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    user: UserId,
    limit: u64,
) -> Result<Vec<Stored>, StoreError> {
    let rows = operations::Entity::find()
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::UserId.eq(user.0))
        .order_by_desc(operations::Column::ConfirmedAt)
        .limit(limit)
        .all(db)
        .await?;
    rows.into_iter().map(read).collect()
}

/// What is due: a row that cannot be read does not hide the others.
#[derive(Debug, Default)]
pub struct Claimable {
    /// The longest due first.
    pub readable: Vec<Stored>,
    /// Rows that hold what no release of ours wrote, each with what is wrong.
    pub unreadable: Vec<(OperationId, StoreError)>,
}

/// Operations of this bot a loop should look at by `now`, at most `limit` rows.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn claimable<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    now: Timestamp,
    limit: u64,
) -> Result<Claimable, StoreError> {
    let rows = operations::Entity::find()
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::DueAt.lte(now.0))
        .order_by_asc(operations::Column::DueAt)
        .limit(limit)
        .all(db)
        .await?;
    let mut due = Claimable::default();
    for row in rows {
        let id = OperationId(row.id);
        match read(row) {
            Ok(stored) => due.readable.push(stored),
            Err(error) => due.unreadable.push((id, error)),
        }
    }
    Ok(due)
}

/// When operations fall due, the first `limit` of them: enough to know whether there is something to do, and when next.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn moments<C: ConnectionTrait>(db: &C, bot: BotId, limit: u64) -> Result<Vec<Timestamp>, StoreError> {
    let moments: Vec<i64> = operations::Entity::find()
        .select_only()
        .column(operations::Column::DueAt)
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::DueAt.is_not_null())
        .order_by_asc(operations::Column::DueAt)
        .limit(limit)
        .into_tuple()
        .all(db)
        .await?;
    Ok(moments.into_iter().map(Timestamp).collect())
}

/// When the next operation that is not due yet falls due.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn next_due<C: ConnectionTrait>(db: &C, bot: BotId, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let next: Option<i64> = operations::Entity::find()
        .select_only()
        .column(operations::Column::DueAt)
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::DueAt.gt(now.0))
        .order_by_asc(operations::Column::DueAt)
        .limit(1)
        .into_tuple()
        .one(db)
        .await?;
    Ok(next.map(Timestamp))
}

/// Open operations confirmed before `before` whose person has not been told that it takes longer, oldest first, each with
/// the chat where they are told. Nothing else is read: a spoilt row must not silence the others.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn untold<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<Vec<(OperationId, ChatId)>, StoreError> {
    let told = Query::select()
        .column(outbox::Column::OperationId)
        .from(outbox::Entity)
        .and_where(Expr::col((outbox::Entity, outbox::Column::Kind)).eq(NoticeKind::Waiting.name()))
        .and_where(
            Expr::col((outbox::Entity, outbox::Column::OperationId))
                .equals((operations::Entity, operations::Column::Id)),
        )
        .to_owned();
    let rows: Vec<(Uuid, i64)> = operations::Entity::find()
        .select_only()
        .columns([operations::Column::Id, operations::Column::ChatId])
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::EndedAt.is_null())
        .filter(operations::Column::ConfirmedAt.lte(before.0))
        .filter(Expr::exists(told).not())
        .order_by_asc(operations::Column::ConfirmedAt)
        .limit(limit)
        .into_tuple()
        .all(db)
        .await?;
    Ok(rows.into_iter().map(|(id, chat)| (OperationId(id), ChatId(chat))).collect())
}

/// How many operations are in a state.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn count_by_state<C: ConnectionTrait>(db: &C) -> Result<Vec<(String, i64)>, StoreError> {
    let counts = operations::Entity::find()
        .select_only()
        .column(operations::Column::State)
        .column_as(Expr::col(operations::Column::Id).count(), "count")
        .group_by(operations::Column::State)
        .into_tuple()
        .all(db)
        .await?;
    Ok(counts)
}

/// States an operation does not leave.
const ENDED: [&str; 3] = ["created", "rejected", "cancelled"];

/// Erases a person's answers from operations that have ended: key, state and ticket number stay, so that the
/// once-only promise outlives the personal data. Returns how many were erased.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn erase<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<u64, StoreError> {
    let erased = operations::Entity::update_many()
        .col_expr(operations::Column::TicketOrder, Expr::value(Option::<String>::None))
        .col_expr(operations::Column::Prepared, Expr::value(Option::<String>::None))
        .col_expr(operations::Column::ClientName, Expr::value(Option::<String>::None))
        .col_expr(operations::Column::ClientPhone, Expr::value(Option::<String>::None))
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::UserId.eq(user.0))
        .filter(is_one_of(operations::Column::State, ENDED))
        .exec(db)
        .await?;
    // Requests of single steps hold the same answers.
    let ended = operations::Entity::find()
        .select_only()
        .column(operations::Column::Id)
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::UserId.eq(user.0))
        .filter(is_one_of(operations::Column::State, ENDED))
        .into_query();
    let theirs = operation_steps::Column::OperationId.in_subquery(ended);
    operation_steps::Entity::delete_many().filter(theirs).exec(db).await?;
    Ok(erased.rows_affected)
}

/// A call to the CRM, as its row tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Counted from 1.
    pub attempt: u32,
    /// Which worker made it.
    pub worker: String,
    /// When its row was written, before the call.
    pub began_at: Timestamp,
    /// When its end was recorded.
    pub ended_at: Option<Timestamp>,
    /// How it ended, as its word.
    pub outcome: Option<String>,
    /// What was seen, without secrets or answers.
    pub detail: Option<String>,
}

/// The attempts of an operation, in order.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn attempts<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Vec<Attempt>, StoreError> {
    let rows = attempts::Entity::find()
        .filter(attempts::Column::OperationId.eq(operation.0))
        .order_by_asc(attempts::Column::Attempt)
        .all(db)
        .await?;
    Ok(rows
        .into_iter()
        .map(|row| Attempt {
            attempt: u32::try_from(row.attempt).unwrap_or(0),
            worker: row.worker,
            began_at: Timestamp(row.began_at),
            ended_at: row.ended_at.map(Timestamp),
            outcome: row.outcome,
            detail: row.detail,
        })
        .collect())
}
