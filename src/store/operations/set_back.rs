//! Operations that a clock dated which has been set back since.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};

use super::{Stored, read};
use crate::{
    clock::Timestamp,
    ids::BotId,
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
