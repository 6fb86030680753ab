//! Cases: what staff settle. At most one is open for an operation, and each change of it gets a new number, so that a
//! decision made on an old card is known as such.

use sea_orm::{
    ActiveValue::{NotSet, Set},
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, ExprTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
    sea_query::Expr,
};

use super::{StoreError, entity::cases, to_json};
use crate::{clock::Timestamp, domain::operation::ReviewReason, ids::OperationId};

/// A case, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its number.
    pub id: i64,
    /// About which operation.
    pub operation: OperationId,
    /// Why a human must choose.
    pub reason: ReviewReason,
    /// Grows with every change.
    pub rev: i64,
    /// Since when.
    pub opened_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
}

/// Opens a case, or gives the open one its new reason. Returns its number.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn open<C: ConnectionTrait>(
    db: &C,
    operation: OperationId,
    reason: &ReviewReason,
    now: Timestamp,
) -> Result<i64, StoreError> {
    if let Some(case) = open_of(db, operation).await? {
        cases::Entity::update_many()
            .col_expr(cases::Column::Reason, Expr::value(to_json(reason)?))
            .col_expr(cases::Column::Rev, Expr::col(cases::Column::Rev).add(1))
            .filter(cases::Column::Id.eq(case.id))
            .exec(db)
            .await?;
        return Ok(case.id);
    }
    let row = cases::ActiveModel {
        id: NotSet,
        operation_id: Set(operation.0),
        reason: Set(to_json(reason)?),
        rev: Set(1),
        opened_at: Set(now.0),
        taken_by: Set(None),
        taken_until: Set(None),
        closed_at: Set(None),
    };
    Ok(cases::Entity::insert(row).exec(db).await?.last_insert_id)
}

/// Notes that the open case changed. Returns its number, if there is one.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn touch<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Option<i64>, StoreError> {
    change(db, operation, None).await
}

/// Closes the open case. Returns its number, if there is one.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn close<C: ConnectionTrait>(
    db: &C,
    operation: OperationId,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    change(db, operation, Some(now)).await
}

async fn change<C: ConnectionTrait>(
    db: &C,
    operation: OperationId,
    close_at: Option<Timestamp>,
) -> Result<Option<i64>, StoreError> {
    let Some(case) = open_of(db, operation).await? else { return Ok(None) };
    cases::Entity::update_many()
        .col_expr(cases::Column::Rev, Expr::col(cases::Column::Rev).add(1))
        .col_expr(cases::Column::ClosedAt, Expr::value(close_at.map(|at| at.0)))
        .filter(cases::Column::Id.eq(case.id))
        .exec(db)
        .await?;
    Ok(Some(case.id))
}

/// The open case of an operation.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn open_of<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Option<Case>, StoreError> {
    let row = cases::Entity::find()
        .filter(cases::Column::OperationId.eq(operation.0))
        .filter(cases::Column::ClosedAt.is_null())
        .one(db)
        .await?;
    row.map(read).transpose()
}

/// A case by its number.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn load<C: ConnectionTrait>(db: &C, id: i64) -> Result<Option<Case>, StoreError> {
    cases::Entity::find_by_id(id).one(db).await?.map(read).transpose()
}

/// Open cases, oldest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn queue<C: ConnectionTrait>(db: &C, offset: u64, limit: u64) -> Result<Vec<Case>, StoreError> {
    let rows = cases::Entity::find()
        .filter(cases::Column::ClosedAt.is_null())
        .order_by_asc(cases::Column::Id)
        .offset(offset)
        .limit(limit)
        .all(db)
        .await?;
    rows.into_iter().map(read).collect()
}

/// How many cases are open.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn count_open<C: ConnectionTrait>(db: &C) -> Result<u64, StoreError> {
    use sea_orm::PaginatorTrait as _;
    Ok(cases::Entity::find().filter(cases::Column::ClosedAt.is_null()).count(db).await?)
}

fn read(row: cases::Model) -> Result<Case, StoreError> {
    let reason = serde_json::from_str(&row.reason).map_err(|error| StoreError::corrupt("cases", row.id, error))?;
    Ok(Case {
        id: row.id,
        operation: OperationId(row.operation_id),
        reason,
        rev: row.rev,
        opened_at: Timestamp(row.opened_at),
        closed_at: row.closed_at.map(Timestamp),
    })
}
