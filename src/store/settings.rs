//! Small facts all replicas share: whether sending is paused, and why.

use sea_orm::{ActiveValue::Set, ConnectionTrait, EntityTrait as _, sea_query::OnConflict};

use super::{StoreError, entity::settings};
use crate::clock::Timestamp;

/// When a process of this installation last started.
pub(super) const STARTED: &str = "service.started";

/// When it was last tried whether anything can be stored.
pub(super) const PROBED: &str = "service.probed";

/// Why nothing is sent to the CRM; absent while sending goes on.
pub const PAUSED: &str = "crm.paused";

/// The value of [`PAUSED`] when the CRM refused our credentials: a start with other ones tries again.
pub const PAUSED_FOR_CREDENTIALS: &str = "credentials";

/// The value of [`PAUSED`] when staff paused.
pub const PAUSED_BY_STAFF: &str = "staff";

/// Reads a setting.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn get<C: ConnectionTrait>(db: &C, name: &str) -> Result<Option<String>, StoreError> {
    let row = settings::Entity::find_by_id(name.to_owned()).one(db).await?;
    Ok(row.map(|row| row.value).filter(|value| !value.is_empty()))
}

/// Sets a setting; an empty value means absent.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn set<C: ConnectionTrait>(db: &C, name: &str, value: &str, now: Timestamp) -> Result<(), StoreError> {
    let row =
        settings::ActiveModel { name: Set(name.to_owned()), value: Set(value.to_owned()), changed_at: Set(now.0) };
    let update = OnConflict::column(settings::Column::Name)
        .update_columns([settings::Column::Value, settings::Column::ChangedAt])
        .to_owned();
    settings::Entity::insert(row).on_conflict(update).exec_without_returning(db).await?;
    Ok(())
}
