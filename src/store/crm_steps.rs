//! Steps of a create that takes several requests: stored before each is sent, and again with what it gave.
//!
//! A row holds the request with the person's answers in it, so it is erased together with them.

use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, sea_query::OnConflict,
};
use uuid::Uuid;

use super::{StoreError, entity::operation_steps};
use crate::{clock::Timestamp, ids::OperationId};

/// One stored step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// The step's name.
    pub step: String,
    /// The step's own key.
    pub key: Uuid,
    /// What was sent and what it gave, as JSON.
    pub output: String,
    /// When it was stored last.
    pub at: Timestamp,
}

/// All steps of an operation.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn load<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Vec<StepRow>, StoreError> {
    let mine = operation_steps::Column::OperationId.eq(operation.0);
    let rows = operation_steps::Entity::find().filter(mine).all(db).await?;
    let read = |row: operation_steps::Model| StepRow {
        step: row.step,
        key: row.key,
        output: row.output,
        at: Timestamp(row.at),
    };
    Ok(rows.into_iter().map(read).collect())
}

/// Stores a step in place of what was stored of it before.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn save<C: ConnectionTrait>(db: &C, operation: OperationId, step: &StepRow) -> Result<(), StoreError> {
    use operation_steps::Column;
    let row = operation_steps::ActiveModel {
        operation_id: Set(operation.0),
        step: Set(step.step.clone()),
        key: Set(step.key),
        output: Set(step.output.clone()),
        at: Set(step.at.0),
    };
    let update = OnConflict::columns([Column::OperationId, Column::Step])
        .update_columns([Column::Key, Column::Output, Column::At])
        .to_owned();
    operation_steps::Entity::insert(row).on_conflict(update).exec_without_returning(db).await?;
    Ok(())
}

/// Stores a step unless something is stored of it: whether this was the first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn begin<C: ConnectionTrait>(db: &C, operation: OperationId, step: &StepRow) -> Result<bool, StoreError> {
    use operation_steps::Column;
    let row = operation_steps::ActiveModel {
        operation_id: Set(operation.0),
        step: Set(step.step.clone()),
        key: Set(step.key),
        output: Set(step.output.clone()),
        at: Set(step.at.0),
    };
    let skip = OnConflict::columns([Column::OperationId, Column::Step]).do_nothing().to_owned();
    Ok(operation_steps::Entity::insert(row).on_conflict(skip).exec_without_returning(db).await? == 1)
}

/// Erases what is stored of an operation's steps. Returns how many there were.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn erase<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<u64, StoreError> {
    let mine = operation_steps::Column::OperationId.eq(operation.0);
    Ok(operation_steps::Entity::delete_many().filter(mine).exec(db).await?.rows_affected)
}
