//! What was said and noted: messages, lines of the journal, closed cases.

use sea_orm::{
    ColumnTrait as _, Condition, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
    sea_query::{Expr, ExprTrait as _, Query, SelectStatement},
};

use crate::{
    clock::Timestamp,
    ids::BotId,
    store::{
        StoreError,
        cases::QUESTION,
        entity::{cards, cases, journal, operations, outbox},
    },
};

/// An open case about this very message: staff may still want it sent again.
fn wanted() -> SelectStatement {
    Query::select()
        .expr(Expr::val(1))
        .from(cases::Entity)
        .and_where(Expr::col((cases::Entity, cases::Column::Kind)).eq("undelivered"))
        .and_where(Expr::col((cases::Entity, cases::Column::ClosedAt)).is_null())
        .and_where(Expr::col((cases::Entity, cases::Column::Subject)).equals((outbox::Entity, outbox::Column::Id)))
        .to_owned()
}

/// A message that ended: its row, the card it showed, its chat, and which message it became.
type Said = (i64, Option<String>, i64, Option<i64>);

/// Messages about no operation that ended before then.
pub(super) async fn find<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<Vec<Said>, StoreError> {
    let rows = outbox::Entity::find()
        .select_only()
        .column(outbox::Column::Id)
        .column(outbox::Column::Card)
        .column(outbox::Column::ChatId)
        .column(outbox::Column::MessageId)
        .filter(outbox::Column::OperationId.is_null())
        .filter(outbox::Column::EndedAt.lt(before.0))
        .filter(outbox::Column::BotId.eq(bot.0))
        .filter(Expr::exists(wanted()).not())
        .order_by_asc(outbox::Column::EndedAt)
        .limit(limit);
    Ok(rows.into_tuple().all(db).await?)
}

pub(super) async fn erase<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<usize, StoreError> {
    let rows = find(db, bot, before, limit).await?;
    // An album's card only keeps its next items from being answered again, and a question waits for minutes; a case's
    // own card lives on.
    let passing = |card: &&str| card.starts_with("album:") || card.starts_with(QUESTION);
    let passing: Vec<_> = rows.iter().filter_map(|(_, card, ..)| card.as_deref()).filter(passing).collect();
    if !passing.is_empty() {
        cards::Entity::delete_many().filter(cards::Column::Card.is_in(passing)).exec(db).await?;
    }
    // A question that was asked anew is known by another name than its row says.
    let is_question = |card: &str| card.starts_with(QUESTION);
    let asked = rows.iter().filter(|(_, card, ..)| card.as_deref().is_some_and(is_question));
    let places: Vec<_> = asked.filter_map(|(_, _, chat, message)| Some((*chat, (*message)?))).collect();
    if !places.is_empty() {
        let mut at = Condition::any();
        for (chat, message) in places {
            at = at.add(cards::Column::ChatId.eq(chat).and(cards::Column::MessageId.eq(message)));
        }
        let of_bot = cards::Entity::delete_many().filter(cards::Column::BotId.eq(bot.0));
        of_bot.filter(cards::Column::Card.starts_with(QUESTION)).filter(at).exec(db).await?;
    }
    outbox::Entity::delete_many().filter(outbox::Column::Id.is_in(rows.iter().map(|(row, ..)| *row))).exec(db).await?;
    Ok(rows.len())
}

/// Ended messages of these operations.
pub(super) async fn erase_of<C: ConnectionTrait>(db: &C, operations: &[uuid::Uuid]) -> Result<(), StoreError> {
    outbox::Entity::delete_many()
        .filter(outbox::Column::OperationId.is_in(operations.iter().copied()))
        .filter(outbox::Column::EndedAt.is_not_null())
        .filter(Expr::exists(wanted()).not())
        .exec(db)
        .await?;
    Ok(())
}

/// Lines older than that, but for operations that have not ended: their history is still being asked for.
pub(super) async fn lines<C: ConnectionTrait>(db: &C, before: Timestamp, limit: u64) -> Result<Vec<i64>, StoreError> {
    let open = Query::select()
        .expr(Expr::val(1))
        .from(operations::Entity)
        .and_where(
            Expr::col((operations::Entity, operations::Column::Id))
                .equals((journal::Entity, journal::Column::OperationId)),
        )
        .and_where(Expr::col((operations::Entity, operations::Column::EndedAt)).is_null())
        .to_owned();
    let rows = journal::Entity::find()
        .select_only()
        .column(journal::Column::Id)
        .filter(journal::Column::At.lt(before.0))
        .filter(Condition::any().add(journal::Column::OperationId.is_null()).add(Expr::exists(open).not()))
        .order_by_asc(journal::Column::At)
        .limit(limit);
    Ok(rows.into_tuple().all(db).await?)
}

pub(super) async fn erase_lines<C: ConnectionTrait>(
    db: &C,
    before: Timestamp,
    limit: u64,
) -> Result<usize, StoreError> {
    let rows = lines(db, before, limit).await?;
    journal::Entity::delete_many().filter(journal::Column::Id.is_in(rows.iter().copied())).exec(db).await?;
    Ok(rows.len())
}

pub(super) async fn cases<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<Vec<i64>, StoreError> {
    let rows = cases::Entity::find()
        .select_only()
        .column(cases::Column::Id)
        .filter(cases::Column::ClosedAt.lt(before.0))
        // 0: written by the first release, which knew one bot only.
        .filter(cases::Column::BotId.is_in([0, bot.0]))
        .order_by_asc(cases::Column::ClosedAt)
        .limit(limit);
    Ok(rows.into_tuple().all(db).await?)
}

pub(super) async fn erase_cases<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<usize, StoreError> {
    let rows = cases(db, bot, before, limit).await?;
    let names = rows.iter().map(|case| format!("case:{case}"));
    cards::Entity::delete_many().filter(cards::Column::Card.is_in(names)).exec(db).await?;
    cases::Entity::delete_many().filter(cases::Column::Id.is_in(rows.iter().copied())).exec(db).await?;
    Ok(rows.len())
}
