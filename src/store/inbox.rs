//! Updates as they came: stored once before they are acknowledged, handled once, shelved when they cannot be.

mod arrivals;
mod left_over;

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, ExprTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
    sea_query::{Expr, Query},
};

use super::{
    StoreError,
    entity::{inbox, is},
};
use crate::{
    clock::Timestamp,
    ids::{BotId, UpdateId},
};

pub use arrivals::{Arrival, Arrivals};
pub(super) use arrivals::{accept, is_one_statement};
pub use left_over::{claim_left_over, free_all, next_lease_end, next_left_over};

/// A stored update, claimed for handling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Its row.
    pub row: i64,
    /// Its number.
    pub update: UpdateId,
    /// Its own JSON text.
    pub payload: String,
    /// Whose turn it is.
    pub lane: i64,
    /// How often its handling has begun, this time included.
    pub attempts: i32,
    /// When it was stored.
    pub received_at: Timestamp,
}

/// A row on the shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelved {
    /// Its row.
    pub row: i64,
    /// Its number.
    pub update: UpdateId,
    /// Why it could not be handled.
    pub error: String,
    /// When it was stored.
    pub received_at: Timestamp,
}

fn claimed(row: inbox::Model) -> Result<Claimed, StoreError> {
    let payload = row.payload.ok_or_else(|| StoreError::corrupt("inbox", row.id, "an open row without payload"))?;
    Ok(Claimed {
        row: row.id,
        update: UpdateId(row.update_id),
        payload,
        lane: row.lane,
        attempts: row.attempts,
        received_at: Timestamp(row.received_at),
    })
}

/// Marks a row handled, if its turn has come. `false` when it has not, or when somebody else had done so: then nothing of
/// this handling may stand.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn done_in_turn<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    lane: i64,
    row: i64,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let older = Query::select()
        .expr(Expr::val(1))
        .from_as(inbox::Entity, "older")
        .and_where(Expr::col(("older", inbox::Column::BotId)).eq(bot.0))
        .and_where(Expr::cust("older.state = 'new'"))
        .and_where(Expr::col(("older", inbox::Column::Lane)).eq(lane))
        .and_where(Expr::col(("older", inbox::Column::Id)).lt(row))
        .to_owned();
    let done = ending(row, "done", None, now).filter(Expr::exists(older).not()).exec(db).await?;
    Ok(done.rows_affected == 1)
}

/// Puts a row on the shelf.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn shelve<C: ConnectionTrait>(db: &C, row: i64, error: &str, now: Timestamp) -> Result<bool, StoreError> {
    Ok(ending(row, "shelved", Some(error), now).exec(db).await?.rows_affected == 1)
}

fn ending(row: i64, state: &str, error: Option<&str>, now: Timestamp) -> sea_orm::UpdateMany<inbox::Entity> {
    let end = inbox::Entity::update_many()
        .col_expr(inbox::Column::State, Expr::value(state))
        .col_expr(inbox::Column::Error, Expr::value(error.map(str::to_owned)))
        .col_expr(inbox::Column::DoneAt, Expr::value(now.0))
        .filter(inbox::Column::Id.eq(row))
        .filter(is(inbox::Column::State, "new"));
    if state == "done" {
        // Raw updates are personal data: what is handled needs only its number and fingerprint, to know a repeat.
        return end.col_expr(inbox::Column::Payload, Expr::value(Option::<String>::None));
    }
    end
}

/// Lets a row be tried again at `at`, with the reason of the last try.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn try_later<C: ConnectionTrait>(db: &C, row: i64, error: &str, at: Timestamp) -> Result<(), StoreError> {
    inbox::Entity::update_many()
        .col_expr(inbox::Column::LeaseUntil, Expr::value(at.0))
        .col_expr(inbox::Column::Error, Expr::value(error))
        .filter(inbox::Column::Id.eq(row))
        .filter(is(inbox::Column::State, "new"))
        .exec(db)
        .await?;
    Ok(())
}

/// Gives a claimed row back untouched: its turn has not come, and that was no try.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn wait_turn<C: ConnectionTrait>(db: &C, row: i64, now: Timestamp) -> Result<(), StoreError> {
    inbox::Entity::update_many()
        .col_expr(inbox::Column::LeaseUntil, Expr::value(now.0))
        .col_expr(inbox::Column::Attempts, Expr::col(inbox::Column::Attempts).sub(1))
        .filter(inbox::Column::Id.eq(row))
        .filter(is(inbox::Column::State, "new"))
        .exec(db)
        .await?;
    Ok(())
}

/// Whether a lane has an open row older than `row`: then `row` must wait its turn.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn must_wait<C: ConnectionTrait>(db: &C, bot: BotId, lane: i64, row: i64) -> Result<bool, StoreError> {
    let older = inbox::Entity::find()
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(is(inbox::Column::State, "new"))
        .filter(inbox::Column::Lane.eq(lane))
        .filter(inbox::Column::Id.lt(row))
        .limit(1)
        .one(db)
        .await?;
    Ok(older.is_some())
}

/// An update as its row tells, without what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its row.
    pub row: i64,
    /// Its number.
    pub update: UpdateId,
    /// How far its handling is.
    pub state: String,
    /// When it was stored.
    pub received_at: Timestamp,
}

/// Every row of an update's number: more than one when Telegram gave a number twice.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn seen<C: ConnectionTrait>(db: &C, bot: BotId, update: i64) -> Result<Vec<Seen>, StoreError> {
    let rows = inbox::Entity::find()
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(inbox::Column::UpdateId.eq(update))
        .order_by_asc(inbox::Column::Id)
        .all(db)
        .await?;
    let seen = |row: inbox::Model| Seen {
        row: row.id,
        update: UpdateId(row.update_id),
        state: row.state,
        received_at: Timestamp(row.received_at),
    };
    Ok(rows.into_iter().map(seen).collect())
}

/// What lies on the shelf, oldest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn shelf<C: ConnectionTrait>(db: &C, bot: BotId, limit: u64) -> Result<Vec<Shelved>, StoreError> {
    let rows = inbox::Entity::find()
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(is(inbox::Column::State, "shelved"))
        .order_by_asc(inbox::Column::Id)
        .limit(limit)
        .all(db)
        .await?;
    Ok(rows
        .into_iter()
        .map(|row| Shelved {
            row: row.id,
            update: UpdateId(row.update_id),
            error: row.error.unwrap_or_default(),
            received_at: Timestamp(row.received_at),
        })
        .collect())
}

/// Takes a row from the shelf for good: staff have seen it and it asks for nothing more. `false` when it is not there.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn put_away<C: ConnectionTrait>(db: &C, row: i64) -> Result<bool, StoreError> {
    let away = inbox::Entity::update_many()
        .col_expr(inbox::Column::State, Expr::value("put_away"))
        .col_expr(inbox::Column::Payload, Expr::value(Option::<String>::None))
        .filter(inbox::Column::Id.eq(row))
        .filter(is(inbox::Column::State, "shelved"))
        .exec(db)
        .await?;
    Ok(away.rows_affected == 1)
}

/// Takes a row from the shelf for one more round of tries. `false` when it is not there, or its payload has gone.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn replay<C: ConnectionTrait>(db: &C, row: i64) -> Result<bool, StoreError> {
    let taken = inbox::Entity::update_many()
        .col_expr(inbox::Column::State, Expr::value("new"))
        .col_expr(inbox::Column::Attempts, Expr::value(0))
        .col_expr(inbox::Column::LeaseUntil, Expr::value(0_i64))
        .filter(inbox::Column::Id.eq(row))
        .filter(is(inbox::Column::State, "shelved"))
        .filter(inbox::Column::Payload.is_not_null())
        .exec(db)
        .await?;
    Ok(taken.rows_affected == 1)
}

/// How many rows are open.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn open_rows<C: ConnectionTrait>(db: &C) -> Result<u64, StoreError> {
    use sea_orm::PaginatorTrait as _;
    Ok(inbox::Entity::find().filter(is(inbox::Column::State, "new")).count(db).await?)
}
