//! What happened, append-only: the source of every "why".

use sea_orm::{
    ActiveValue::{NotSet, Set},
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _,
};

use super::{StoreError, entity::journal};
use crate::{clock::Timestamp, domain::operation::Entry, ids::OperationId};

/// A line, as read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// When.
    pub at: Timestamp,
    /// What happened and where it led.
    pub entry: Entry,
}

/// Appends a line about an operation.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn append<C: ConnectionTrait>(
    db: &C,
    operation: Option<OperationId>,
    entry: &Entry,
    at: Timestamp,
) -> Result<(), StoreError> {
    let row = journal::ActiveModel {
        id: NotSet,
        operation_id: Set(operation.map(|operation| operation.0)),
        at: Set(at.0),
        by: Set(entry.by),
        event: Set(entry.event.clone()),
        from_state: Set((!entry.from.is_empty()).then(|| entry.from.clone())),
        to_state: Set((!entry.to.is_empty()).then(|| entry.to.clone())),
        detail: Set(entry.detail.clone()),
    };
    journal::Entity::insert(row).exec_without_returning(db).await?;
    Ok(())
}

/// The history of an operation, oldest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn of_operation<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Vec<Line>, StoreError> {
    let rows = journal::Entity::find()
        .filter(journal::Column::OperationId.eq(operation.0))
        .order_by_asc(journal::Column::Id)
        .all(db)
        .await?;
    Ok(rows
        .into_iter()
        .map(|row| Line {
            at: Timestamp(row.at),
            entry: Entry {
                event: row.event,
                from: row.from_state.unwrap_or_default(),
                to: row.to_state.unwrap_or_default(),
                by: row.by,
                detail: row.detail,
            },
        })
        .collect())
}
