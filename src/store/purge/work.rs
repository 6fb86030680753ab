//! What people filled in and sent: drafts, answers, operations, names.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, ExprTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
    sea_query::{Expr, Query, SelectStatement},
};
use uuid::Uuid;

use super::said;
use crate::{
    clock::Timestamp,
    domain::draft::DraftState,
    ids::BotId,
    store::{
        StoreError,
        entity::{attempts, cards, cases, drafts, is_not, is_one_of, journal, operation_steps, operations, people},
    },
};

/// Operations of a draft that keep it: any at all, or only what has not ended before then.
fn of_draft(unended_since: Option<Timestamp>) -> SelectStatement {
    let mut query = Query::select();
    query.expr(Expr::val(1)).from(operations::Entity).and_where(
        Expr::col((operations::Entity, operations::Column::DraftId)).equals((drafts::Entity, drafts::Column::Id)),
    );
    if let Some(since) = unended_since {
        let ended = Expr::col((operations::Entity, operations::Column::EndedAt));
        query.and_where(ended.clone().is_null().or(ended.gte(since.0)));
    }
    query
}

/// Drafts without an answer since then: those still open, or those closed.
async fn idle<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    open: bool,
    limit: u64,
) -> Result<Vec<Uuid>, StoreError> {
    let of = |states: [DraftState; 2]| is_one_of(drafts::Column::State, states.map(DraftState::name));
    let (states, keeps) = if open {
        // One that a late end has just reopened waits from then on.
        (of([DraftState::Filling, DraftState::Summary]), of_draft(Some(before)))
    } else {
        // A version that was sent is answered from its draft for as long as its operation is kept.
        (of([DraftState::Cancelled, DraftState::Declined]), of_draft(None))
    };
    let rows = drafts::Entity::find()
        .select_only()
        .column(drafts::Column::Id)
        .filter(is_not(drafts::Column::State, DraftState::Submitted.name()))
        .filter(drafts::Column::UpdatedAt.lt(before.0))
        .filter(drafts::Column::BotId.eq(bot.0))
        .filter(states)
        .filter(Expr::exists(keeps).not())
        .order_by_asc(drafts::Column::UpdatedAt)
        .limit(limit);
    Ok(rows.into_tuple().all(db).await?)
}

pub(super) async fn drafts_are_due<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
) -> Result<bool, StoreError> {
    Ok(!idle(db, bot, before, true, 1).await?.is_empty() || !idle(db, bot, before, false, 1).await?.is_empty())
}

/// Closes open drafts, empties them, and deletes closed ones. A closed one stays as long again, so that its buttons say
/// what became of it.
pub(super) async fn erase_drafts<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let open = idle(db, bot, before, true, limit).await?;
    drafts::Entity::update_many()
        .col_expr(drafts::Column::State, Expr::value(DraftState::Cancelled.name()))
        .col_expr(drafts::Column::Cursor, Expr::value(Option::<String>::None))
        .col_expr(drafts::Column::Answers, Expr::value("{}"))
        .col_expr(drafts::Column::Revision, Expr::col(drafts::Column::Revision).add(1))
        .col_expr(drafts::Column::UpdatedAt, Expr::value(now.0))
        .filter(drafts::Column::Id.is_in(open.iter().copied()))
        // An answer that came meanwhile keeps it open.
        .filter(drafts::Column::UpdatedAt.lt(before.0))
        .exec(db)
        .await?;
    let closed = idle(db, bot, before, false, limit).await?;
    drafts::Entity::delete_many().filter(drafts::Column::Id.is_in(closed.iter().copied())).exec(db).await?;
    Ok(open.len() + closed.len())
}

/// Operations ended before then that still hold what their person wrote, with their drafts.
pub(super) async fn answered<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<Vec<(Uuid, Uuid)>, StoreError> {
    let rows = operations::Entity::find()
        .select_only()
        .column(operations::Column::Id)
        .column(operations::Column::DraftId)
        .filter(operations::Column::TicketOrder.is_not_null())
        .filter(operations::Column::EndedAt.lt(before.0))
        .filter(operations::Column::BotId.eq(bot.0))
        .order_by_asc(operations::Column::EndedAt)
        .limit(limit);
    Ok(rows.into_tuple().all(db).await?)
}

/// Erases what the person wrote; key, state and ticket number stay, so that a repeated tap finds its number.
pub(super) async fn erase_answers<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<usize, StoreError> {
    let (ids, of): (Vec<_>, Vec<_>) = answered(db, bot, before, limit).await?.into_iter().unzip();
    let nothing = || Expr::value(Option::<String>::None);
    operations::Entity::update_many()
        .col_expr(operations::Column::TicketOrder, nothing())
        .col_expr(operations::Column::Prepared, nothing())
        .col_expr(operations::Column::ClientName, nothing())
        .col_expr(operations::Column::ClientPhone, nothing())
        .filter(operations::Column::Id.is_in(ids.iter().copied()))
        .exec(db)
        .await?;
    let theirs = operation_steps::Column::OperationId.is_in(ids.iter().copied());
    operation_steps::Entity::delete_many().filter(theirs).exec(db).await?;
    // A draft that was reopened is its person's own again, and ages by itself.
    let closed = [DraftState::Submitted, DraftState::Cancelled, DraftState::Declined].map(DraftState::name);
    drafts::Entity::update_many()
        .col_expr(drafts::Column::Answers, Expr::value("{}"))
        .filter(drafts::Column::Id.is_in(of))
        .filter(is_one_of(drafts::Column::State, closed))
        .exec(db)
        .await?;
    said::erase_of(db, &ids).await?;
    Ok(ids.len())
}

/// Operations ended before then about which nothing is open, with their drafts.
pub(super) async fn ended<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<Vec<(Uuid, Uuid)>, StoreError> {
    let open_case = Query::select()
        .expr(Expr::val(1))
        .from(cases::Entity)
        .and_where(
            Expr::col((cases::Entity, cases::Column::OperationId)).equals((operations::Entity, operations::Column::Id)),
        )
        .and_where(Expr::col((cases::Entity, cases::Column::ClosedAt)).is_null())
        .to_owned();
    let rows = operations::Entity::find()
        .select_only()
        .column(operations::Column::Id)
        .column(operations::Column::DraftId)
        .filter(operations::Column::EndedAt.lt(before.0))
        .filter(operations::Column::DueAt.is_null())
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(Expr::exists(open_case).not())
        .order_by_asc(operations::Column::EndedAt)
        .limit(limit);
    Ok(rows.into_tuple().all(db).await?)
}

pub(super) async fn erase_operations<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<usize, StoreError> {
    let (ids, of): (Vec<_>, Vec<_>) = ended(db, bot, before, limit).await?.into_iter().unzip();
    let these = || ids.iter().copied();
    attempts::Entity::delete_many().filter(attempts::Column::OperationId.is_in(these())).exec(db).await?;
    operation_steps::Entity::delete_many().filter(operation_steps::Column::OperationId.is_in(these())).exec(db).await?;
    journal::Entity::delete_many().filter(journal::Column::OperationId.is_in(these())).exec(db).await?;
    cases::Entity::delete_many().filter(cases::Column::OperationId.is_in(these())).exec(db).await?;
    said::erase_of(db, &ids).await?;
    let names = ids.iter().map(|id| format!("operation:{id}"));
    cards::Entity::delete_many().filter(cards::Column::Card.is_in(names)).exec(db).await?;
    operations::Entity::delete_many().filter(operations::Column::Id.is_in(these())).exec(db).await?;
    drafts::Entity::delete_many()
        .filter(drafts::Column::Id.is_in(of))
        .filter(drafts::Column::State.is_not_in([DraftState::Filling, DraftState::Summary].map(DraftState::name)))
        .filter(Expr::exists(of_draft(None)).not())
        .exec(db)
        .await?;
    Ok(ids.len())
}

/// The next `limit` people after `after`, in the order of their numbers: the last of them, `None` at the end, and those
/// among them who still have a name and were not seen since `before`.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn unseen<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    after: i64,
    before: Timestamp,
    limit: u64,
) -> Result<(Option<i64>, Vec<i64>), StoreError> {
    let next: Vec<(i64, i64, String, Option<String>)> = people::Entity::find()
        .select_only()
        .column(people::Column::UserId)
        .column(people::Column::SeenAt)
        .column(people::Column::Name)
        .column(people::Column::Username)
        .filter(people::Column::BotId.eq(bot.0))
        .filter(people::Column::UserId.gt(after))
        .order_by_asc(people::Column::UserId)
        .limit(limit)
        .into_tuple()
        .all(db)
        .await?;
    let last = next.last().map(|(user, ..)| *user);
    let named = next
        .into_iter()
        .filter(|(_, seen_at, name, username)| *seen_at < before.0 && (!name.is_empty() || username.is_some()));
    Ok((last, named.map(|(user, ..)| user).collect()))
}

/// Erases the names of those of `users` who were not seen since `before` and have nothing open.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn forget_names<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    users: &[i64],
    before: Timestamp,
) -> Result<(), StoreError> {
    let open = Query::select()
        .expr(Expr::val(1))
        .from(operations::Entity)
        .and_where(Expr::col((operations::Entity, operations::Column::BotId)).eq(bot.0))
        .and_where(
            Expr::col((operations::Entity, operations::Column::UserId))
                .equals((people::Entity, people::Column::UserId)),
        )
        .and_where(Expr::col((operations::Entity, operations::Column::EndedAt)).is_null())
        .to_owned();
    people::Entity::update_many()
        .col_expr(people::Column::Name, Expr::value(""))
        .col_expr(people::Column::Username, Expr::value(Option::<String>::None))
        .filter(people::Column::BotId.eq(bot.0))
        .filter(people::Column::UserId.is_in(users.iter().copied()))
        .filter(people::Column::SeenAt.lt(before.0))
        .filter(Expr::exists(open).not())
        .exec(db)
        .await?;
    Ok(())
}
