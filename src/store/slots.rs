//! Bounded places: taken by one conditional write together with the operation, given back with its end.

use sea_orm::{
    ActiveValue::Set,
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, ExprTrait as _, QueryFilter as _,
    sea_query::{Expr, OnConflict},
};

use super::{StoreError, entity::slots};

/// Takes one of `places` places. `false` when none is left.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn take<C: ConnectionTrait>(db: &C, form: &str, slot: &str, places: u32) -> Result<bool, StoreError> {
    let row = slots::ActiveModel { form_id: Set(form.to_owned()), slot_id: Set(slot.to_owned()), taken: Set(0) };
    let skip = OnConflict::columns([slots::Column::FormId, slots::Column::SlotId]).do_nothing().to_owned();
    slots::Entity::insert(row).on_conflict(skip).exec_without_returning(db).await?;
    let taken = slots::Entity::update_many()
        .col_expr(slots::Column::Taken, Expr::col(slots::Column::Taken).add(1))
        .filter(slots::Column::FormId.eq(form))
        .filter(slots::Column::SlotId.eq(slot))
        .filter(slots::Column::Taken.lt(i32::try_from(places).unwrap_or(i32::MAX)))
        .exec(db)
        .await?;
    Ok(taken.rows_affected == 1)
}

/// Gives one place back.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn give_back<C: ConnectionTrait>(db: &C, form: &str, slot: &str) -> Result<(), StoreError> {
    slots::Entity::update_many()
        .col_expr(slots::Column::Taken, Expr::col(slots::Column::Taken).sub(1))
        .filter(slots::Column::FormId.eq(form))
        .filter(slots::Column::SlotId.eq(slot))
        .filter(slots::Column::Taken.gt(0))
        .exec(db)
        .await?;
    Ok(())
}

/// How many places of a form's slots are taken, by slot; slots nobody took yet are absent.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn taken<C: ConnectionTrait>(db: &C, form: &str) -> Result<Vec<(String, u32)>, StoreError> {
    let rows = slots::Entity::find().filter(slots::Column::FormId.eq(form)).all(db).await?;
    Ok(rows.into_iter().map(|row| (row.slot_id, u32::try_from(row.taken).unwrap_or(0))).collect())
}
