//! What happened, append-only: the source of every "why".

use sea_orm::{
    ActiveValue::{NotSet, Set},
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};

use super::{StoreError, entity::journal};
use crate::{
    clock::Timestamp,
    domain::operation::Entry,
    ids::{OperationId, UpdateId, UserId},
};

/// The event of a further tap on a version that was confirmed before.
pub const TAPPED_AGAIN: &str = "tapped_again";

/// The event of a file that is not with its ticket: which one, counted from 1, and why.
pub const FILE_LEFT_OUT: &str = "file_left_out";

/// The event that names the update behind a confirmation or decision.
pub const BY_UPDATE: &str = "by_update";

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
    journal::Entity::insert(row(operation, entry, at)).exec_without_returning(db).await?;
    Ok(())
}

/// Appends lines about operations, in their order, by one statement.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn append_all<C: ConnectionTrait>(
    db: &C,
    lines: &[(OperationId, Entry)],
    at: Timestamp,
) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let rows = lines.iter().map(|(operation, entry)| row(Some(*operation), entry, at));
    journal::Entity::insert_many(rows).exec_without_returning(db).await?;
    Ok(())
}

fn row(operation: Option<OperationId>, entry: &Entry, at: Timestamp) -> journal::ActiveModel {
    journal::ActiveModel {
        id: NotSet,
        operation_id: Set(operation.map(|operation| operation.0)),
        at: Set(at.0),
        by: Set(entry.by),
        event: Set(entry.event.clone()),
        from_state: Set((!entry.from.is_empty()).then(|| entry.from.clone())),
        to_state: Set((!entry.to.is_empty()).then(|| entry.to.clone())),
        detail: Set(entry.detail.clone()),
    }
}

/// Appends a line that moves nothing.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn note<C: ConnectionTrait>(
    db: &C,
    operation: Option<OperationId>,
    event: &str,
    by: Option<UserId>,
    detail: Option<String>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let by = by.map(|user| user.0);
    let entry = Entry { event: event.to_owned(), from: String::new(), to: String::new(), by, detail };
    append(db, operation, &entry, at).await
}

/// The line that names the update, in its inbox row, which moved an operation: how a double is told from two honest
/// requests.
#[must_use]
pub fn caused(update: UpdateId, row: i64) -> Entry {
    let detail = Some(format!("update {update} row {row}"));
    Entry { event: BY_UPDATE.to_owned(), from: String::new(), to: String::new(), by: None, detail }
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
    Ok(rows.into_iter().map(read).collect())
}

/// What a person last decided about an operation.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn last_decision<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Option<Line>, StoreError> {
    let row = journal::Entity::find()
        .filter(journal::Column::OperationId.eq(operation.0))
        .filter(journal::Column::Event.starts_with("decided_"))
        .order_by_desc(journal::Column::Id)
        .limit(1)
        .one(db)
        .await?;
    Ok(row.map(read))
}

fn read(row: journal::Model) -> Line {
    let entry = Entry {
        event: row.event,
        from: row.from_state.unwrap_or_default(),
        to: row.to_state.unwrap_or_default(),
        by: row.by,
        detail: row.detail,
    };
    Line { at: Timestamp(row.at), entry }
}
