//! How much is under way, for whoever watches the service. Every count goes through an index over open rows only, so
//! that looking costs the same however long the history is.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, PaginatorTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
    sea_query::{Expr, ExprTrait as _},
};

use super::{
    StoreError,
    entity::{cases, inbox, is, is_one_of, operations, outbox},
};
use crate::clock::Timestamp;

/// States an operation can be unfinished in, as their words.
const UNFINISHED: [&str; 3] = ["pending", "sending", "unknown"];

/// What is under way in the whole database, all replicas together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gauges {
    /// Unfinished operations by the word of their state, `review` among them; states without any are listed with 0.
    pub operations: Vec<(&'static str, u64)>,
    /// When the oldest operation that the machine still works on was confirmed.
    pub oldest_operation: Option<Timestamp>,
    /// Updates stored and not handled yet.
    pub open_updates: u64,
    /// When the oldest of them was stored.
    pub oldest_update: Option<Timestamp>,
    /// Updates on the shelf.
    pub shelved_updates: u64,
    /// Messages not delivered yet.
    pub open_messages: u64,
    /// When the oldest of them was written.
    pub oldest_message: Option<Timestamp>,
    /// Cases that wait for a human.
    pub open_cases: u64,
    /// When the oldest of them was opened.
    pub oldest_case: Option<Timestamp>,
}

/// Reads all of them.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn read<C: ConnectionTrait>(db: &C) -> Result<Gauges, StoreError> {
    let due = operations::Entity::find()
        .filter(operations::Column::DueAt.is_not_null())
        .filter(is_one_of(operations::Column::State, UNFINISHED));
    let counted: Vec<(String, i64)> = due
        .clone()
        .select_only()
        .column(operations::Column::State)
        .column_as(Expr::col(operations::Column::Id).count(), "count")
        .group_by(operations::Column::State)
        .into_tuple()
        .all(db)
        .await?;
    let of = |state: &str| counted.iter().find(|(word, _)| word == state).map_or(0, |(_, n)| n.unsigned_abs());
    let review = operations::Entity::find().filter(is(operations::Column::State, "review")).count(db).await?;
    let in_work = UNFINISHED.iter().map(|state| (*state, of(state)));
    let updates = inbox::Entity::find().filter(is(inbox::Column::State, "new"));
    let shelf = inbox::Entity::find().filter(is(inbox::Column::State, "shelved"));
    let messages = outbox::Entity::find().filter(outbox::Column::DueAt.is_not_null());
    let open_cases = cases::Entity::find().filter(cases::Column::ClosedAt.is_null());
    let oldest: Option<Option<i64>> = due
        .select_only()
        .column_as(Expr::col(operations::Column::ConfirmedAt).min(), "oldest")
        .into_tuple()
        .one(db)
        .await?;
    Ok(Gauges {
        operations: in_work.chain([("review", review)]).collect(),
        oldest_operation: oldest.flatten().map(Timestamp),
        open_updates: updates.clone().count(db).await?,
        // Rows are numbered as they come: the first open one is the oldest.
        oldest_update: first(updates.order_by_asc(inbox::Column::Id), inbox::Column::ReceivedAt, db).await?,
        shelved_updates: shelf.count(db).await?,
        open_messages: messages.clone().count(db).await?,
        oldest_message: first(messages.order_by_asc(outbox::Column::Id), outbox::Column::CreatedAt, db).await?,
        open_cases: open_cases.clone().count(db).await?,
        oldest_case: first(open_cases.order_by_asc(cases::Column::OpenedAt), cases::Column::OpenedAt, db).await?,
    })
}

/// A moment of the first row in order.
async fn first<E, C, D>(rows: sea_orm::Select<E>, moment: C, db: &D) -> Result<Option<Timestamp>, StoreError>
where
    E: sea_orm::EntityTrait,
    C: sea_orm::ColumnTrait,
    D: ConnectionTrait,
{
    let at: Option<i64> = rows.select_only().column(moment).limit(1).into_tuple().one(db).await?;
    Ok(at.map(Timestamp))
}
