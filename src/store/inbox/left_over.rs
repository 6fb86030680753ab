//! Rows that nobody handles: left by a crash, or waiting for another try.

use std::collections::{HashMap, HashSet};

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, ExprTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
    sea_query::{Expr, LockBehavior, LockType},
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

/// Ends the leases of all open rows: whoever held them is dead, as nobody else serves this database.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn free_all<C: ConnectionTrait>(db: &C, bot: BotId, now: Timestamp) -> Result<u64, StoreError> {
    let freed = inbox::Entity::update_many()
        .col_expr(inbox::Column::LeaseUntil, Expr::value(now.0))
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(is(inbox::Column::State, "new"))
        .filter(inbox::Column::LeaseUntil.gt(now.0))
        .exec(db)
        .await?;
    Ok(freed.rows_affected)
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

/// Claims rows nobody is handling: left by a crash, or waiting for another try. A lane's rows are claimed in order, from
/// its oldest one; a lane whose oldest row somebody is handling, this process among them (`held`), stays.
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
    let wanted = candidates(db, bot, now, held, limit).await?;
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    // What another replica is claiming is passed by, not waited for. SQLite has one writer at a time and no such lock.
    let locked = inbox::Entity::find()
        .filter(inbox::Column::Id.is_in(wanted.iter().map(|(row, _)| *row)))
        .filter(is(inbox::Column::State, "new"))
        .filter(inbox::Column::LeaseUntil.lte(now.0))
        .order_by_asc(inbox::Column::Id)
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
        .all(db)
        .await?;
    let mut locked: HashMap<i64, inbox::Model> = locked.into_iter().map(|row| (row.id, row)).collect();
    let (mut passed_by, mut taken) = (HashSet::new(), Vec::new());
    for (row, lane) in wanted {
        match locked.remove(&row) {
            Some(row) if !passed_by.contains(&lane) => taken.push(row),
            // A later row of this lane must not overtake it.
            _ => drop(passed_by.insert(lane)),
        }
    }
    inbox::Entity::update_many()
        .col_expr(inbox::Column::LeaseUntil, Expr::value(lease_until.0))
        .col_expr(inbox::Column::Attempts, Expr::col(inbox::Column::Attempts).add(1))
        .filter(inbox::Column::Id.is_in(taken.iter().map(|row| row.id)))
        .exec(db)
        .await?;
    taken.into_iter().map(|row| claimed(inbox::Model { attempts: row.attempts + 1, ..row })).collect()
}

/// The rows that are free, oldest first, with their lanes. When a few people fill the beginning of the table, the
/// beginnings of all others are looked for too: nobody waits for somebody else's backlog.
async fn candidates<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    now: Timestamp,
    held: &HashSet<i64>,
    limit: u64,
) -> Result<Vec<(i64, i64)>, StoreError> {
    let open = || {
        inbox::Entity::find()
            .select_only()
            .filter(inbox::Column::BotId.eq(bot.0))
            .filter(is(inbox::Column::State, "new"))
            .limit(limit)
    };
    let oldest: Vec<(i64, i64, i64)> = open()
        .column(inbox::Column::Id)
        .column(inbox::Column::Lane)
        .column(inbox::Column::LeaseUntil)
        .order_by_asc(inbox::Column::Id)
        .into_tuple()
        .all(db)
        .await?;
    let is_full = oldest.len() as u64 == limit;
    let (mut seen, mut busy, mut free) = (HashSet::new(), HashSet::new(), Vec::new());
    for (row, lane, lease_until) in oldest {
        seen.insert(lane);
        if lease_until > now.0 || held.contains(&row) || busy.contains(&lane) {
            busy.insert(lane);
        } else {
            free.push((row, lane));
        }
    }
    if is_full && (seen.len() as u64) < limit / 4 {
        let first = || Expr::col(inbox::Column::Id).min();
        let heads: Vec<(i64, i64)> = open()
            .column_as(first(), "head")
            .column(inbox::Column::Lane)
            .group_by(inbox::Column::Lane)
            .order_by_asc(first())
            .into_tuple()
            .all(db)
            .await?;
        free.extend(heads.into_iter().filter(|(row, lane)| !seen.contains(lane) && !held.contains(row)));
    }
    Ok(free)
}
