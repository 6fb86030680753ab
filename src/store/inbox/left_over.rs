//! Rows that nobody handles: left by a crash, or waiting for another try.

use std::collections::HashSet;

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, ExprTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _, sea_query::Expr,
};

use super::{Claimed, claimed};
use crate::{
    clock::Timestamp,
    ids::BotId,
    store::{
        StoreError,
        entity::{inbox, is},
    },
};

/// When the first open row nobody holds may be claimed; `None` when there is none. A read: the writer is not troubled
/// for nothing.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn next_left_over<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    held: &HashSet<i64>,
) -> Result<Option<Timestamp>, StoreError> {
    let open: Vec<(i64, i64)> = inbox::Entity::find()
        .select_only()
        .column(inbox::Column::Id)
        .column(inbox::Column::LeaseUntil)
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(is(inbox::Column::State, "new"))
        .order_by_asc(inbox::Column::LeaseUntil)
        .limit(u64::try_from(held.len()).unwrap_or(u64::MAX).saturating_add(1))
        .into_tuple()
        .all(db)
        .await?;
    Ok(open.into_iter().find(|(row, _)| !held.contains(row)).map(|(_, until)| Timestamp(until)))
}

/// When the next lease of an open row ends.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn next_lease_end<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    after: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let end: Option<i64> = inbox::Entity::find()
        .select_only()
        .column(inbox::Column::LeaseUntil)
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(is(inbox::Column::State, "new"))
        .filter(inbox::Column::LeaseUntil.gt(after.0))
        .order_by_asc(inbox::Column::LeaseUntil)
        .limit(1)
        .into_tuple()
        .one(db)
        .await?;
    Ok(end.map(Timestamp))
}

/// Claims rows nobody is handling: left by a crash, or waiting for another try. Rows of a lane that somebody is
/// handling, all but the first of a lane, and rows this process `held` already, stay.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn claim_left_over<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    now: Timestamp,
    lease_until: Timestamp,
    held: &HashSet<i64>,
    limit: u64,
) -> Result<Vec<Claimed>, StoreError> {
    let open = inbox::Entity::find()
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(is(inbox::Column::State, "new"))
        .order_by_asc(inbox::Column::Id)
        .limit(limit)
        .all(db)
        .await?;
    let mut lanes = HashSet::new();
    let mut taken = Vec::new();
    for row in open {
        // The oldest open row speaks for its lane, whether it is free or not.
        if !lanes.insert(row.lane) || row.lease_until > now.0 || held.contains(&row.id) {
            continue;
        }
        let claim = inbox::Entity::update_many()
            .col_expr(inbox::Column::LeaseUntil, Expr::value(lease_until.0))
            .col_expr(inbox::Column::Attempts, Expr::col(inbox::Column::Attempts).add(1))
            .filter(inbox::Column::Id.eq(row.id))
            .filter(inbox::Column::State.eq("new"))
            .filter(inbox::Column::LeaseUntil.eq(row.lease_until))
            .exec(db)
            .await?;
        if claim.rows_affected == 1 {
            let attempts = row.attempts + 1;
            taken.push(claimed(inbox::Model { attempts, ..row })?);
        }
    }
    Ok(taken)
}
