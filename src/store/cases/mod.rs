//! Cases: what staff settle. At most one is open a matter, and each change of it gets a new number, so that a decision
//! made on an old card is known as such.

mod query;

use std::collections::HashSet;

use sea_orm::{
    ActiveValue::{NotSet, Set},
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, ExprTrait as _, QueryFilter as _, UpdateMany,
    sea_query::Expr,
};
use uuid::Uuid;

pub use query::{
    about_row, count_open, load, load_of, naming_ticket, of_operation, open_cases, open_of, overheld, queue,
    undelivered, unreminded,
};

use super::{
    StoreError,
    entity::cases::{self, Column},
    outbox::{self, Letter, STAFF},
    to_json,
};
use crate::{
    clock::Timestamp,
    domain::{
        delivery::OnUnknown,
        notice::{Notice, NoticeKind},
        review::Matter,
    },
    ids::{BotId, OperationId, UserId},
};

/// A case, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its number.
    pub id: i64,
    /// Whose; 0 for the cases of the release that knew one bot only.
    pub bot: BotId,
    /// About which operation, if about one.
    pub operation: Option<OperationId>,
    /// What a human must look at.
    pub matter: Matter,
    /// Grows with every change.
    pub rev: i64,
    /// Since when.
    pub opened_at: Timestamp,
    /// Who works on it, and until when nobody else does.
    pub taken: Option<Taken>,
    /// Who wants to create it after all and waits for another person's consent, and why.
    pub asked: Option<(UserId, String)>,
    /// How far reminders have gone: 0 none, 1 reviewers, 2 owners.
    pub reminded: i32,
    /// Set once it is closed.
    pub closed: Option<Closed>,
}

/// Who works on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Who.
    pub by: UserId,
    /// Until when.
    pub until: Timestamp,
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// When.
    pub at: Timestamp,
    /// By whom; absent when it settled by itself.
    pub by: Option<UserId>,
    /// What they did, in one word.
    pub how: Option<String>,
}

/// A case to open.
#[derive(Debug, Clone, Copy)]
pub struct New<'a> {
    /// Whose case.
    pub bot: BotId,
    /// About which operation and which form, if about one.
    pub about: Option<(OperationId, &'a str)>,
    /// What a human must look at.
    pub matter: &'a Matter,
}

/// What a queue is filtered by; nothing set shows all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this form's.
    pub form: Option<String>,
    /// Only this reason's word.
    pub word: Option<String>,
    /// Only what this person works on.
    pub taken_by: Option<UserId>,
    /// Only what nobody has taken.
    pub untaken: bool,
}

impl Case {
    /// Who works on it now; a take that is over counts as none.
    #[must_use]
    pub fn holder(&self, now: Timestamp) -> Option<Taken> {
        self.taken.filter(|taken| taken.until > now)
    }

    /// The name its card has.
    #[must_use]
    pub fn card(&self) -> String {
        card(self.id)
    }
}

/// What the name of a case's card begins with.
const CARD: &str = "case:";

/// The name of a case's card.
#[must_use]
pub fn card(case: i64) -> String {
    format!("{CARD}{case}")
}

/// What the names of the messages that ask staff something begin with.
pub const QUESTION: &str = "ask:";

/// Opens a case, or gives the open one of the same matter its new reason. Returns its number.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn open<C: ConnectionTrait>(db: &C, new: New<'_>, now: Timestamp) -> Result<i64, StoreError> {
    let operation = new.about.map_or(Uuid::nil(), |(operation, _)| operation.0);
    let (matter, word) = (write(new.matter)?, new.matter.word());
    let known = cases::Entity::find()
        .filter(Column::OperationId.eq(operation))
        .filter(Column::Kind.eq(new.matter.kind()))
        .filter(Column::Subject.eq(new.matter.subject()))
        .filter(Column::BotId.is_in([0, new.bot.0]))
        .filter(Column::ClosedAt.is_null())
        .one(db)
        .await?;
    if let Some(known) = known {
        changed(known.id)
            .col_expr(Column::Reason, Expr::value(matter))
            .col_expr(Column::Word, Expr::value(word))
            .col_expr(Column::AskedBy, Expr::value(Option::<i64>::None))
            .col_expr(Column::AskedReason, Expr::value(Option::<String>::None))
            .exec(db)
            .await?;
        return Ok(known.id);
    }
    let row = cases::ActiveModel {
        id: NotSet,
        operation_id: Set(operation),
        reason: Set(matter),
        rev: Set(1),
        opened_at: Set(now.0),
        taken_by: Set(None),
        taken_until: Set(None),
        closed_at: Set(None),
        bot_id: Set(new.bot.0),
        kind: Set(new.matter.kind().to_owned()),
        subject: Set(new.matter.subject()),
        word: Set(word.to_owned()),
        form_id: Set(new.about.map_or(String::new(), |(_, form)| form.to_owned())),
        reminded: Set(0),
        asked_by: Set(None),
        asked_reason: Set(None),
        closed_by: Set(None),
        closed_how: Set(None),
    };
    Ok(cases::Entity::insert(row).exec(db).await?.last_insert_id)
}

/// Opens a case and shows its card.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn raise<C: ConnectionTrait>(
    db: &C,
    new: New<'_>,
    on_unknown: OnUnknown,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let case = open(db, new, now).await?;
    show(db, new.bot, case, new.about.map(|(operation, _)| operation), on_unknown, now).await?;
    Ok(case)
}

/// Puts a case's card on its way, as the case is when it is sent.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn show<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    case: i64,
    operation: Option<OperationId>,
    on_unknown: OnUnknown,
    now: Timestamp,
) -> Result<(), StoreError> {
    let notice = match operation {
        Some(operation) => Notice::Case { operation, case },
        None => Notice::Desk { case },
    };
    let kind = NoticeKind::StaffCard;
    let letter = Letter { bot, chat: STAFF, thread: None, kind, card: Some(card(case)), operation, notice, on_unknown };
    outbox::put(db, &letter, now).await
}

/// Shows those open cases again whose cards were lost with their chat, oldest first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn show_anew<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    lost: &HashSet<String>,
    now: Timestamp,
) -> Result<(), StoreError> {
    if !lost.iter().any(|name| name.starts_with(CARD)) {
        return Ok(());
    }
    for case in open_cases(db, bot).await?.into_iter().filter(|case| lost.contains(&case.card())) {
        show(db, bot, case.id, case.operation, OnUnknown::Repeat, now).await?;
    }
    Ok(())
}

/// Notes that the open review of an operation changed. Returns its number, if there is one.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn touch<C: ConnectionTrait>(db: &C, operation: OperationId) -> Result<Option<i64>, StoreError> {
    let Some(case) = open_of(db, operation).await? else { return Ok(None) };
    changed(case.id)
        .col_expr(Column::AskedBy, Expr::value(Option::<i64>::None))
        .col_expr(Column::AskedReason, Expr::value(Option::<String>::None))
        .exec(db)
        .await?;
    Ok(Some(case.id))
}

/// Closes the open review of an operation. Returns its number, if there is one.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn close<C: ConnectionTrait>(
    db: &C,
    operation: OperationId,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    let Some(case) = open_of(db, operation).await? else { return Ok(None) };
    changed(case.id).col_expr(Column::ClosedAt, Expr::value(now.0)).exec(db).await?;
    Ok(Some(case.id))
}

/// Closes a case that settled by itself, and shows it.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn settle_itself<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    case: &Case,
    now: Timestamp,
) -> Result<(), StoreError> {
    changed(case.id).col_expr(Column::ClosedAt, Expr::value(now.0)).exec(db).await?;
    show(db, bot, case.id, case.operation, OnUnknown::Repeat, now).await
}

/// Closes one case by a person's decision. `false` when it changed meanwhile.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn settle<C: ConnectionTrait>(
    db: &C,
    case: &Case,
    by: UserId,
    how: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let settled = changed(case.id)
        .col_expr(Column::ClosedAt, Expr::value(now.0))
        .col_expr(Column::ClosedBy, Expr::value(by.0))
        .col_expr(Column::ClosedHow, Expr::value(how))
        .filter(Column::Rev.eq(case.rev))
        .filter(Column::ClosedAt.is_null());
    Ok(settled.exec(db).await?.rows_affected == 1)
}

/// Gives a case to somebody, or to nobody. `false` when it changed meanwhile.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn hand<C: ConnectionTrait>(db: &C, case: &Case, to: Option<Taken>) -> Result<bool, StoreError> {
    let handed = changed(case.id)
        .col_expr(Column::TakenBy, Expr::value(to.map(|taken| taken.by.0)))
        .col_expr(Column::TakenUntil, Expr::value(to.map(|taken| taken.until.0)))
        .filter(Column::Rev.eq(case.rev))
        .filter(Column::ClosedAt.is_null());
    Ok(handed.exec(db).await?.rows_affected == 1)
}

/// Notes who wants to create it after all. `false` when the case changed meanwhile.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn ask<C: ConnectionTrait>(db: &C, case: &Case, by: UserId, reason: &str) -> Result<bool, StoreError> {
    let asked = changed(case.id)
        .col_expr(Column::AskedBy, Expr::value(by.0))
        .col_expr(Column::AskedReason, Expr::value(reason))
        .filter(Column::Rev.eq(case.rev))
        .filter(Column::ClosedAt.is_null());
    Ok(asked.exec(db).await?.rows_affected == 1)
}

/// Notes that a reminder has gone so far. `false` when another process was quicker: then it is not ours to say.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn note_reminder<C: ConnectionTrait>(db: &C, case: i64, from: i32, to: i32) -> Result<bool, StoreError> {
    let noted = cases::Entity::update_many()
        .col_expr(Column::Reminded, Expr::value(to))
        .filter(Column::Id.eq(case))
        .filter(Column::Reminded.eq(from));
    Ok(noted.exec(db).await?.rows_affected == 1)
}

/// An update of one case; it gets its next number.
fn changed(case: i64) -> UpdateMany<cases::Entity> {
    cases::Entity::update_many().col_expr(Column::Rev, Expr::col(Column::Rev).add(1)).filter(Column::Id.eq(case))
}

/// A review is stored as its reason alone, as the first release did.
fn write(matter: &Matter) -> Result<String, StoreError> {
    match matter {
        Matter::Review { reason } => to_json(reason),
        other => to_json(other),
    }
}
