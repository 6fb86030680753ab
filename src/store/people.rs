//! People who wrote to the bot: their language, and whether they can be reached.

use sea_orm::{
    ActiveValue::Set,
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QuerySelect as _,
    sea_query::{Expr, OnConflict},
};

use super::{
    StoreError,
    entity::{drafts, operations, people},
};
use crate::{
    clock::Timestamp,
    domain::input::Person,
    ids::{BotId, UserId},
};

/// Notes that a person was here; they can be reached again from now on. Returns whether they could not be before.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn seen<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    person: &Person,
    lang: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let row = people::ActiveModel {
        bot_id: Set(bot.0),
        user_id: Set(person.id.0),
        name: Set(person.name.clone()),
        username: Set(person.username.clone()),
        lang: Set(lang.to_owned()),
        reachable: Set(true),
        first_seen: Set(now.0),
        seen_at: Set(now.0),
    };
    let update = OnConflict::columns([people::Column::BotId, people::Column::UserId])
        .update_columns([people::Column::Name, people::Column::Username, people::Column::Lang, people::Column::SeenAt])
        .to_owned();
    // What comes back is whether they could be reached until now: writing leaves that as it was.
    let known = people::Entity::insert(row).on_conflict(update).exec_with_returning(db).await?;
    if !known.reachable {
        set_reachable(db, bot, person.id, true).await?;
    }
    Ok(!known.reachable)
}

/// Notes whether a person can be written to.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn set_reachable<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId, to: bool) -> Result<(), StoreError> {
    people::Entity::update_many()
        .col_expr(people::Column::Reachable, Expr::value(to))
        .filter(people::Column::BotId.eq(bot.0))
        .filter(people::Column::UserId.eq(user.0))
        .exec(db)
        .await?;
    Ok(())
}

/// Whether a person can be written to, as far as is known.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn is_reachable<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<bool, StoreError> {
    Ok(people::Entity::find_by_id((bot.0, user.0)).one(db).await?.is_none_or(|person| person.reachable))
}

/// Whether anything is stored about a person: that they wrote, a form, a request.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn is_known<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<bool, StoreError> {
    if people::Entity::find_by_id((bot.0, user.0)).one(db).await?.is_some() {
        return Ok(true);
    }
    let forms =
        drafts::Entity::find().filter(drafts::Column::BotId.eq(bot.0)).filter(drafts::Column::UserId.eq(user.0));
    let requests = operations::Entity::find()
        .filter(operations::Column::BotId.eq(bot.0))
        .filter(operations::Column::UserId.eq(user.0));
    Ok(forms.limit(1).one(db).await?.is_some() || requests.limit(1).one(db).await?.is_some())
}

/// What a person calls themselves, as last seen.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn name<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<Option<String>, StoreError> {
    let person = people::Entity::find_by_id((bot.0, user.0)).one(db).await?;
    Ok(person.map(|person| person.name).filter(|name| !name.is_empty()))
}

/// A person's language, as last seen.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn lang<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<Option<String>, StoreError> {
    Ok(people::Entity::find_by_id((bot.0, user.0)).one(db).await?.map(|person| person.lang))
}

/// Erases a person's names.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn erase<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<(), StoreError> {
    people::Entity::update_many()
        .col_expr(people::Column::Name, Expr::value(""))
        .col_expr(people::Column::Username, Expr::value(Option::<String>::None))
        .filter(people::Column::BotId.eq(bot.0))
        .filter(people::Column::UserId.eq(user.0))
        .exec(db)
        .await?;
    Ok(())
}
