//! What waits for a moment in the future, when the clock that set it has been set back since. Nothing here proves
//! anything: a claim or lease that ends early is settled by the row it stands for.

use sea_orm::{ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, sea_query::Expr};

use super::{
    StoreError,
    entity::{chats, inbox, leases},
};
use crate::{clock::Timestamp, ids::BotId};

/// Lets no lease, no claim of an update and no silence of a chat last beyond `most`.
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
        .filter(inbox::Column::State.eq("new"))
        .filter(inbox::Column::LeaseUntil.gt(most.0))
        .exec(db)
        .await?;
    chats::Entity::update_many()
        .col_expr(chats::Column::HoldUntil, Expr::value(most.0))
        .filter(chats::Column::BotId.eq(bot.0))
        .filter(chats::Column::HoldUntil.gt(most.0))
        .exec(db)
        .await?;
    Ok(())
}
