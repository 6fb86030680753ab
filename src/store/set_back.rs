//! What waits for a moment in the future, when the clock that set it has been set back since. Nothing here proves
//! anything: a claim or lease that ends early is settled by the row it stands for, and a chat that is spoken to too early
//! says so.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
    sea_query::Expr,
};

use super::{
    StoreError,
    entity::{chats, inbox, is, leases, outbox, pace},
};
use crate::{clock::Timestamp, ids::BotId};

/// Whether the latest update or the latest message was stored at a moment after `now`.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn is_dated_ahead<C: ConnectionTrait>(db: &C, now: Timestamp) -> Result<bool, StoreError> {
    let update: Option<i64> = inbox::Entity::find()
        .select_only()
        .column(inbox::Column::ReceivedAt)
        .order_by_desc(inbox::Column::Id)
        .limit(1)
        .into_tuple()
        .one(db)
        .await?;
    let message: Option<i64> = outbox::Entity::find()
        .select_only()
        .column(outbox::Column::CreatedAt)
        .order_by_desc(outbox::Column::Id)
        .limit(1)
        .into_tuple()
        .one(db)
        .await?;
    Ok(update.max(message).is_some_and(|latest| latest > now.0))
}

/// Lets no lease, no claim of an update and no silence last beyond `most`, and no chat wait longer to be looked at.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn shorten<C: ConnectionTrait>(db: &C, bot: BotId, most: Timestamp) -> Result<(), StoreError> {
    leases::Entity::update_many()
        .col_expr(leases::Column::Until, Expr::value(most.0))
        .filter(leases::Column::Until.gt(most.0))
        .exec(db)
        .await?;
    inbox::Entity::update_many()
        .col_expr(inbox::Column::LeaseUntil, Expr::value(most.0))
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(is(inbox::Column::State, "new"))
        .filter(inbox::Column::LeaseUntil.gt(most.0))
        .exec(db)
        .await?;
    pace::Entity::update_many()
        .col_expr(pace::Column::HoldUntil, Expr::value(most.0))
        .filter(pace::Column::BotId.eq(bot.0))
        .filter(pace::Column::HoldUntil.gt(most.0))
        .exec(db)
        .await?;
    for column in [chats::Column::HoldUntil, chats::Column::DueAt] {
        chats::Entity::update_many()
            .col_expr(column, Expr::value(most.0))
            .filter(chats::Column::BotId.eq(bot.0))
            .filter(column.gt(most.0))
            .exec(db)
            .await?;
    }
    Ok(())
}

/// Messages that wait for a moment after `most`: number and revision.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn messages_beyond<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    most: Timestamp,
    limit: u64,
) -> Result<Vec<(i64, i64)>, StoreError> {
    let rows = outbox::Entity::find()
        .select_only()
        .column(outbox::Column::Id)
        .column(outbox::Column::Rev)
        .filter(outbox::Column::BotId.eq(bot.0))
        .filter(outbox::Column::DueAt.gt(most.0))
        .order_by_asc(outbox::Column::DueAt)
        .limit(limit);
    Ok(rows.into_tuple().all(db).await?)
}
