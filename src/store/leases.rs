//! Named leases: who does what only one process may do. A lease keeps the others calm; it never proves anything.

use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, Condition, ConnectionTrait, EntityTrait as _, QueryFilter as _,
    sea_query::Expr, sea_query::OnConflict,
};

use super::{StoreError, entity::leases};
use crate::clock::Timestamp;

/// Takes or prolongs the lease `name` for `holder`. `false` while somebody else holds it.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn take<C: ConnectionTrait>(
    db: &C,
    name: &str,
    holder: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool, StoreError> {
    let row = leases::ActiveModel { name: Set(name.to_owned()), holder: Set(holder.to_owned()), until: Set(until.0) };
    let skip = OnConflict::column(leases::Column::Name).do_nothing().to_owned();
    if leases::Entity::insert(row).on_conflict(skip).exec_without_returning(db).await? == 1 {
        return Ok(true);
    }
    let taken = leases::Entity::update_many()
        .col_expr(leases::Column::Holder, Expr::value(holder))
        .col_expr(leases::Column::Until, Expr::value(until.0))
        .filter(leases::Column::Name.eq(name))
        .filter(Condition::any().add(leases::Column::Holder.eq(holder)).add(leases::Column::Until.lte(now.0)))
        .exec(db)
        .await?;
    Ok(taken.rows_affected == 1)
}

/// When the lease `name` ends unless it is prolonged; `None` where nobody has it.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn ends_at<C: ConnectionTrait>(db: &C, name: &str) -> Result<Option<Timestamp>, StoreError> {
    let lease = leases::Entity::find_by_id(name.to_owned()).one(db).await?;
    Ok(lease.map(|lease| Timestamp(lease.until)))
}

/// Gives the lease back, so that another process need not wait for its end.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn give_back<C: ConnectionTrait>(db: &C, name: &str, holder: &str) -> Result<(), StoreError> {
    leases::Entity::delete_many()
        .filter(leases::Column::Name.eq(name))
        .filter(leases::Column::Holder.eq(holder))
        .exec(db)
        .await?;
    Ok(())
}
