//! Open operations that cannot be read: what a disk or a hand at the database has spoilt.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};
use uuid::Uuid;

use super::read;
use crate::store::{StoreError, entity::operations};

/// Rows read at once.
const PAGE: u64 = 500;

/// Each open operation that cannot be read, as the error that says which and why; at most `most` of them.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn spoilt<C: ConnectionTrait>(db: &C, most: usize) -> Result<Vec<StoreError>, StoreError> {
    let (mut found, mut last) = (Vec::new(), Uuid::nil());
    while found.len() < most {
        let rows = operations::Entity::find()
            .filter(operations::Column::EndedAt.is_null())
            .filter(operations::Column::Id.gt(last))
            .order_by_asc(operations::Column::Id)
            .limit(PAGE)
            .all(db)
            .await?;
        let Some(end) = rows.last() else { break };
        last = end.id;
        found.extend(rows.into_iter().filter_map(|row| read(row).err()));
    }
    found.truncate(most);
    Ok(found)
}
