//! What retention erases, a small chunk at a time: each class finds its rows by an index over what is still to be
//! erased, oldest first, and decides again inside the transaction that erases.
//!
//! Open work is never touched: an operation that has not ended keeps its answers, its history and its messages, however
//! old it is. A key and its ticket's number go last.

mod person;
mod said;
mod work;

use sea_orm::{
    ColumnTrait as _, Condition, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _, sea_query::Expr,
};

use super::{
    StoreError,
    entity::{inbox, is_not, is_one_of},
};
use crate::{clock::Timestamp, ids::BotId};

pub use person::{Forgotten, forget};
pub use work::{forget_names, unseen};

/// What is erased together, and by the age of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Raw updates that were put on the shelf so long ago. What was handled has lost its content with its handling.
    Contents,
    /// Numbers and fingerprints of updates handled so long ago: until then a repeat is recognised.
    Updates,
    /// Messages that ended so long ago and belong to no operation.
    Said,
    /// Unfinished forms without an answer for so long are closed; those closed so long ago are deleted.
    Drafts,
    /// Answers and requests of operations that ended so long ago, and what was said about them.
    Answers,
    /// Operations that ended so long ago, with all that belongs to them.
    Operations,
    /// Lines of the journal so old, but for operations that have not ended.
    Journal,
    /// Cases closed so long ago.
    Cases,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Contents,
        Self::Updates,
        Self::Said,
        Self::Drafts,
        Self::Answers,
        Self::Operations,
        Self::Journal,
        Self::Cases,
    ];
}

/// Whether there is anything of `class` that is older than `before`: a read, so that the writer is troubled only for
/// work.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn is_due<C: ConnectionTrait>(
    db: &C,
    class: Class,
    bot: BotId,
    before: Timestamp,
) -> Result<bool, StoreError> {
    Ok(match class {
        Class::Contents => !contents(db, bot, before, 1).await?.is_empty(),
        Class::Updates => !updates(db, before, 1).await?.is_empty(),
        Class::Said => !said::find(db, bot, before, 1).await?.is_empty(),
        Class::Drafts => work::drafts_are_due(db, bot, before).await?,
        Class::Answers => !work::answered(db, bot, before, 1).await?.is_empty(),
        Class::Operations => !work::ended(db, bot, before, 1).await?.is_empty(),
        Class::Journal => !said::lines(db, before, 1).await?.is_empty(),
        Class::Cases => !said::cases(db, bot, before, 1).await?.is_empty(),
    })
}

/// Erases at most `limit` rows of `class` that are older than `before`. Returns how many.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn erase<C: ConnectionTrait>(
    db: &C,
    class: Class,
    bot: BotId,
    before: Timestamp,
    limit: u64,
    now: Timestamp,
) -> Result<usize, StoreError> {
    match class {
        Class::Contents => {
            let rows = contents(db, bot, before, limit).await?;
            inbox::Entity::update_many()
                .col_expr(inbox::Column::Payload, Expr::value(Option::<String>::None))
                .filter(inbox::Column::Id.is_in(rows.iter().copied()))
                .exec(db)
                .await?;
            Ok(rows.len())
        }
        Class::Updates => {
            let rows = updates(db, before, limit).await?;
            inbox::Entity::delete_many().filter(inbox::Column::Id.is_in(rows.iter().copied())).exec(db).await?;
            Ok(rows.len())
        }
        Class::Said => said::erase(db, bot, before, limit).await,
        Class::Drafts => work::erase_drafts(db, bot, before, limit, now).await,
        Class::Answers => work::erase_answers(db, bot, before, limit).await,
        Class::Operations => work::erase_operations(db, bot, before, limit).await,
        Class::Journal => said::erase_lines(db, before, limit).await,
        Class::Cases => said::erase_cases(db, bot, before, limit).await,
    }
}

/// Rows whose content has outlived its use: on the shelf since before then, or ended by a release that kept it.
async fn contents<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<Vec<i64>, StoreError> {
    let over = Condition::any().add(inbox::Column::DoneAt.lt(before.0)).add(is_not(inbox::Column::State, "shelved"));
    let rows = inbox::Entity::find()
        .select_only()
        .column(inbox::Column::Id)
        .filter(inbox::Column::Payload.is_not_null())
        .filter(inbox::Column::DoneAt.is_not_null())
        .filter(inbox::Column::BotId.eq(bot.0))
        .filter(over)
        .order_by_asc(inbox::Column::DoneAt)
        .limit(limit);
    Ok(rows.into_tuple().all(db).await?)
}

/// The oldest rows that ended before then. Their numbers grow with time, so that the table's own order finds them and
/// no index of its own makes storing an update dearer.
async fn updates<C: ConnectionTrait>(db: &C, before: Timestamp, limit: u64) -> Result<Vec<i64>, StoreError> {
    let oldest: Vec<(i64, Option<i64>)> = inbox::Entity::find()
        .select_only()
        .column(inbox::Column::Id)
        .column(inbox::Column::DoneAt)
        .filter(is_one_of(inbox::Column::State, ["done", "put_away"]))
        .order_by_asc(inbox::Column::Id)
        .limit(limit)
        .into_tuple()
        .all(db)
        .await?;
    Ok(oldest.into_iter().filter(|(_, at)| at.is_some_and(|at| at < before.0)).map(|(row, _)| row).collect())
}
