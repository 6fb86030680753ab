//! Operations that wait for a moment, when the clock that set it has been set since.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};

use super::{Stored, read};
use crate::{
    clock::Timestamp,
    ids::{BotId, OperationId},
    store::{StoreError, entity::operations},
};

/// Operations that wait for a moment after `now` and were last changed at one after `now` too, each with that moment.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn dated_ahead<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    now: Timestamp,
    limit: u64,
) -> Result<Vec<(Stored, Timestamp)>, StoreError> {
    let rows = operations::Entity::find()
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::DueAt.gt(now.0))
        .filter(operations::Column::ChangedAt.gt(now.0))
        .order_by_asc(operations::Column::DueAt)
        .limit(limit)
        .all(db)
        .await?;
    rows.into_iter()
        .map(|row| {
            let changed_at = Timestamp(row.changed_at);
            Ok((read(row)?, changed_at))
        })
        .collect()
}

/// Operations that wait for any moment, in the order of their ids, those after `after`; and the last id looked at. `None`
/// for the id when there are no more. What cannot be read is passed over: it waits for a person, not for a moment.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn waiting<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    after: Option<OperationId>,
    limit: u64,
) -> Result<(Vec<Stored>, Option<OperationId>), StoreError> {
    let mut rows = operations::Entity::find()
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::DueAt.is_not_null());
    if let Some(after) = after {
        rows = rows.filter(operations::Column::Id.gt(after.0));
    }
    let rows = rows.order_by_asc(operations::Column::Id).limit(limit).all(db).await?;
    let last = rows.last().map(|row| OperationId(row.id));
    Ok((rows.into_iter().filter_map(|row| read(row).ok()).collect(), last))
}
