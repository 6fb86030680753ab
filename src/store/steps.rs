//! Conversations with staff that wait for an answer (a number, a reason, a second tap), and what members of staff are
//! called. One conversation a person, chat and case; it forgets itself after a while.

use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _,
    sea_query::OnConflict,
};

use super::{
    StoreError,
    entity::{staff_people, staff_questions},
};
use crate::{
    clock::Timestamp,
    domain::input::Person,
    ids::{BotId, ChatId, UserId},
};

/// Whose conversation, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// With which bot.
    pub bot: BotId,
    /// Whose.
    pub user: UserId,
    /// In which chat.
    pub chat: ChatId,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// About which case.
    pub case: i64,
    /// The case's number when it began: an answer counts for that only.
    pub rev: i64,
    /// What, in one word.
    pub what: String,
    /// What was said already.
    pub data: Option<String>,
    /// From then on nothing is waited for.
    pub expires_at: Timestamp,
}

/// Waits for something about a case; what was waited for about it before is given up.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn put<C: ConnectionTrait>(db: &C, place: Place, step: &Step) -> Result<(), StoreError> {
    let row = staff_questions::ActiveModel {
        bot_id: Set(place.bot.0),
        user_id: Set(place.user.0),
        chat_id: Set(place.chat.0),
        case_id: Set(step.case),
        case_rev: Set(step.rev),
        what: Set(step.what.clone()),
        data: Set(step.data.clone()),
        expires_at: Set(step.expires_at.0),
    };
    let columns = [
        staff_questions::Column::BotId,
        staff_questions::Column::UserId,
        staff_questions::Column::ChatId,
        staff_questions::Column::CaseId,
    ];
    let update = OnConflict::columns(columns)
        .update_columns([
            staff_questions::Column::CaseRev,
            staff_questions::Column::What,
            staff_questions::Column::Data,
            staff_questions::Column::ExpiresAt,
        ])
        .to_owned();
    staff_questions::Entity::insert(row).on_conflict(update).exec_without_returning(db).await?;
    Ok(())
}

/// What is waited for now about a case.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn find<C: ConnectionTrait>(
    db: &C,
    place: Place,
    case: i64,
    now: Timestamp,
) -> Result<Option<Step>, StoreError> {
    let row = staff_questions::Entity::find_by_id((place.bot.0, place.user.0, place.chat.0, case)).one(db).await?;
    Ok(row.filter(|row| row.expires_at > now.0).map(read))
}

/// All that is waited for now, what was asked last first.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn all<C: ConnectionTrait>(db: &C, place: Place, now: Timestamp) -> Result<Vec<Step>, StoreError> {
    let rows = staff_questions::Entity::find()
        .filter(staff_questions::Column::BotId.eq(place.bot.0))
        .filter(staff_questions::Column::UserId.eq(place.user.0))
        .filter(staff_questions::Column::ChatId.eq(place.chat.0))
        .filter(staff_questions::Column::ExpiresAt.gt(now.0))
        .order_by_desc(staff_questions::Column::ExpiresAt)
        .order_by_desc(staff_questions::Column::CaseId);
    Ok(rows.all(db).await?.into_iter().map(read).collect())
}

fn read(row: staff_questions::Model) -> Step {
    Step { case: row.case_id, rev: row.case_rev, what: row.what, data: row.data, expires_at: Timestamp(row.expires_at) }
}

/// Waits for nothing any more about a case.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn forget<C: ConnectionTrait>(db: &C, place: Place, case: i64) -> Result<(), StoreError> {
    staff_questions::Entity::delete_by_id((place.bot.0, place.user.0, place.chat.0, case)).exec(db).await?;
    Ok(())
}

/// Removes conversations that are over. Returns how many.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn sweep<C: ConnectionTrait>(db: &C, bot: BotId, now: Timestamp) -> Result<u64, StoreError> {
    let over = staff_questions::Entity::delete_many()
        .filter(staff_questions::Column::BotId.eq(bot.0))
        .filter(staff_questions::Column::ExpiresAt.lte(now.0));
    Ok(over.exec(db).await?.rows_affected)
}

/// Notes what a member of staff is called.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn meet<C: ConnectionTrait>(db: &C, bot: BotId, person: &Person, now: Timestamp) -> Result<(), StoreError> {
    let row = staff_people::ActiveModel {
        bot_id: Set(bot.0),
        user_id: Set(person.id.0),
        name: Set(person.name.clone()),
        username: Set(person.username.clone()),
        seen_at: Set(now.0),
    };
    let update = OnConflict::columns([staff_people::Column::BotId, staff_people::Column::UserId])
        .update_columns([staff_people::Column::Name, staff_people::Column::Username, staff_people::Column::SeenAt])
        .to_owned();
    staff_people::Entity::insert(row).on_conflict(update).exec_without_returning(db).await?;
    Ok(())
}

/// What somebody of the staff is called: their name as last seen, or their number.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn name<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<String, StoreError> {
    let row = staff_people::Entity::find_by_id((bot.0, user.0)).one(db).await?;
    Ok(row.map(|row| row.name).filter(|name| !name.is_empty()).unwrap_or_else(|| user.to_string()))
}

/// How to call on somebody in a group: `@name` where they have one, so that they are notified.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn mention<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<String, StoreError> {
    let row = staff_people::Entity::find_by_id((bot.0, user.0)).one(db).await?;
    Ok(match row {
        Some(staff_people::Model { username: Some(username), .. }) => format!("@{username}"),
        Some(row) if !row.name.is_empty() => row.name,
        _ => user.to_string(),
    })
}
