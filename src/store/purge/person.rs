//! A person who wants to be forgotten: what they wrote and what was written to them goes at once; keys and ticket numbers
//! stay, so that a repeat is still recognised.

use sea_orm::{ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, sea_query::Expr};

use crate::{
    ids::{BotId, UserId},
    store::{
        StoreError, drafts,
        entity::{inbox, is, outbox},
        operations, people,
    },
};

/// Most operations of one person that are looked through.
const MOST: u64 = 1_000;

/// What went, and what has to stay for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forgotten {
    /// Drafts that are gone.
    pub drafts: u64,
    /// Operations that lost their answers.
    pub operations: u64,
    /// Operations that have not ended: they keep their answers until they do.
    pub waiting: u64,
}

/// Erases a person.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn forget<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<Forgotten, StoreError> {
    let dropped = drafts::erase(db, bot, user).await?;
    let mut waiting = 0;
    for stored in operations::of_person(db, bot, user, MOST).await? {
        if stored.operation.state.is_final() {
            drafts::erase_answers(db, stored.operation.draft).await?;
        } else {
            waiting += 1;
        }
    }
    let erased = operations::erase(db, bot, user).await?;
    people::erase(db, bot, user).await?;
    // Questions and summaries quote the answers. What is said about an operation is worded when it is sent.
    outbox::Entity::delete_many()
        .filter(outbox::Column::BotId.eq(bot.0))
        .filter(outbox::Column::ChatId.eq(user.0))
        .filter(outbox::Column::OperationId.is_null())
        .filter(outbox::Column::EndedAt.is_not_null())
        .exec(db)
        .await?;
    // The content of what was handled went with its handling; what lies on the shelf still has it.
    inbox::Entity::update_many()
        .col_expr(inbox::Column::Payload, Expr::value(Option::<String>::None))
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(inbox::Column::Lane.eq(user.0))
        .filter(is(inbox::Column::State, "shelved"))
        .exec(db)
        .await?;
    Ok(Forgotten { drafts: dropped, operations: erased, waiting })
}
