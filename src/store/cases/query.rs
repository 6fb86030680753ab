//! Reading cases: by number, by what they are about, as a queue.

use sea_orm::{
    ColumnTrait as _, Condition, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _, Select,
};
use uuid::Uuid;

use super::{Case, Closed, Filter, Taken};
use crate::{
    clock::Timestamp,
    domain::review::Matter,
    ids::{BotId, OperationId, UserId},
    store::{
        StoreError,
        entity::cases::{self, Column},
    },
};

/// The open cases about an inbox or outbox row.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn about_row<C: ConnectionTrait>(db: &C, bot: BotId, kind: &str, row: i64) -> Result<Vec<Case>, StoreError> {
    let about = of_bot(bot).filter(Column::Kind.eq(kind)).filter(Column::Subject.eq(row));
    read_all(about.filter(Column::ClosedAt.is_null()).all(db).await?)
}

/// The open review of an operation.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn open_of<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Option<Case>, StoreError> {
    let row = cases::Entity::find()
        .filter(Column::OperationId.eq(operation.0))
        .filter(Column::Kind.eq("review"))
        .filter(Column::ClosedAt.is_null())
        .one(db)
        .await?;
    row.map(read).transpose()
}

/// Open cases about messages of an operation that did not reach its person.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn undelivered<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Vec<Case>, StoreError> {
    let rows = cases::Entity::find()
        .filter(Column::OperationId.eq(operation.0))
        .filter(Column::Kind.eq("undelivered"))
        .filter(Column::ClosedAt.is_null());
    read_all(rows.all(db).await?)
}

/// All cases of an operation, oldest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn of_operation<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Vec<Case>, StoreError> {
    let rows = cases::Entity::find().filter(Column::OperationId.eq(operation.0)).order_by_asc(Column::Id);
    read_all(rows.all(db).await?)
}

/// Operations whose cases tell of a ticket with this number: it was seen in the CRM and never linked.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn naming_ticket<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    number: &str,
) -> Result<Vec<OperationId>, StoreError> {
    let told = of_bot(bot).filter(Column::Word.is_in(["twin", "several"])).filter(Column::Reason.contains(number));
    let cases = read_all(told.limit(100).all(db).await?)?;
    let naming = cases.into_iter().filter(|case| case.matter.candidates().iter().any(|t| t.number == number));
    let mut operations: Vec<_> = naming.filter_map(|case| case.operation).collect();
    operations.sort();
    operations.dedup();
    Ok(operations)
}

/// A case by its number.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn load<C: ConnectionTrait>(db: &C, id: i64) -> Result<Option<Case>, StoreError> {
    cases::Entity::find_by_id(id).one(db).await?.map(read).transpose()
}

/// A case of this bot by its number: numbers come from outside, and another bot's cases are none of its staff's.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn load_of<C: ConnectionTrait>(db: &C, bot: BotId, id: i64) -> Result<Option<Case>, StoreError> {
    of_bot(bot).filter(Column::Id.eq(id)).one(db).await?.map(read).transpose()
}

/// Open cases, oldest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn queue<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    filter: &Filter,
    offset: u64,
    limit: u64,
) -> Result<Vec<Case>, StoreError> {
    let rows = filtered(bot, filter).order_by_asc(Column::Id).offset(offset).limit(limit);
    read_all(rows.all(db).await?)
}

/// Every open case, oldest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn open_cases<C: ConnectionTrait>(db: &C, bot: BotId) -> Result<Vec<Case>, StoreError> {
    read_all(filtered(bot, &Filter::default()).order_by_asc(Column::Id).all(db).await?)
}

/// How many cases are open.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn count_open<C: ConnectionTrait>(db: &C, bot: BotId, filter: &Filter) -> Result<u64, StoreError> {
    use sea_orm::PaginatorTrait as _;
    Ok(filtered(bot, filter).count(db).await?)
}

/// Open cases whose take is over, oldest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn overheld<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    now: Timestamp,
    limit: u64,
) -> Result<Vec<Case>, StoreError> {
    let over = filtered(bot, &Filter::default()).filter(Column::TakenUntil.lte(now.0));
    read_all(over.order_by_asc(Column::Id).limit(limit).all(db).await?)
}

/// Open cases that nobody works on and owners have not been reminded of, oldest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn unreminded<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    now: Timestamp,
    limit: u64,
) -> Result<Vec<Case>, StoreError> {
    let untaken = Condition::any().add(Column::TakenUntil.is_null()).add(Column::TakenUntil.lte(now.0));
    let found = filtered(bot, &Filter::default()).filter(Column::Reminded.lt(2)).filter(untaken);
    read_all(found.order_by_asc(Column::Id).limit(limit).all(db).await?)
}

fn of_bot(bot: BotId) -> Select<cases::Entity> {
    // Cases of the release that knew one bot only have none.
    cases::Entity::find().filter(Column::BotId.is_in([0, bot.0]))
}

fn filtered(bot: BotId, filter: &Filter) -> Select<cases::Entity> {
    let mut found = of_bot(bot).filter(Column::ClosedAt.is_null());
    if let Some(form) = &filter.form {
        found = found.filter(Column::FormId.eq(form.as_str()));
    }
    if let Some(word) = &filter.word {
        found = found.filter(Column::Word.eq(word.as_str()));
    }
    if let Some(by) = filter.taken_by {
        found = found.filter(Column::TakenBy.eq(by.0));
    }
    if filter.untaken {
        found = found.filter(Column::TakenBy.is_null());
    }
    found
}

fn read_all(rows: Vec<cases::Model>) -> Result<Vec<Case>, StoreError> {
    rows.into_iter().map(read).collect()
}

fn read(row: cases::Model) -> Result<Case, StoreError> {
    let corrupt = |error| StoreError::corrupt("cases", row.id, error);
    let matter = if row.kind == "review" {
        Matter::Review { reason: serde_json::from_str(&row.reason).map_err(corrupt)? }
    } else {
        serde_json::from_str(&row.reason).map_err(corrupt)?
    };
    let taken = row.taken_by.zip(row.taken_until);
    let closed_by = row.closed_by.map(UserId);
    Ok(Case {
        id: row.id,
        bot: BotId(row.bot_id),
        operation: (row.operation_id != Uuid::nil()).then_some(OperationId(row.operation_id)),
        matter,
        rev: row.rev,
        opened_at: Timestamp(row.opened_at),
        taken: taken.map(|(by, until)| Taken { by: UserId(by), until: Timestamp(until) }),
        asked: row.asked_by.map(UserId).zip(row.asked_reason),
        reminded: row.reminded,
        closed: row.closed_at.map(|at| Closed { at: Timestamp(at), by: closed_by, how: row.closed_how }),
    })
}
