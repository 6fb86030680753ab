//! Drafts: loaded whole, saved by compare-and-set on the revision.

use sea_orm::{
    ActiveValue::Set,
    ColumnTrait as _, Condition, ConnectionTrait, EntityTrait as _, PaginatorTrait as _, QueryFilter as _,
    QueryOrder as _, QuerySelect as _,
    sea_query::{Expr, ExprTrait as _},
};

use super::{
    StoreError,
    entity::{drafts, is, is_not, is_one_of},
    to_json,
};
use crate::{
    clock::Timestamp,
    domain::draft::{Draft, DraftState},
    ids::{BotId, ChatId, ConfirmVersion, DraftId, UserId},
};

/// Stores a new draft.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn insert<C: ConnectionTrait>(db: &C, draft: &Draft, now: Timestamp) -> Result<(), StoreError> {
    let row = drafts::ActiveModel {
        id: Set(draft.id.0),
        bot_id: Set(draft.bot.0),
        user_id: Set(draft.user.0),
        chat_id: Set(draft.chat.0),
        form_id: Set(draft.form.clone()),
        form_version: Set(draft.form_version.clone()),
        state: Set(draft.state.name().to_owned()),
        cursor: Set(draft.cursor.clone()),
        revision: Set(draft.revision),
        version: Set(version_to_row(draft.version)),
        answers: Set(to_json(&draft.answers)?),
        created_at: Set(now.0),
        updated_at: Set(now.0),
        nudged: Set(None),
    };
    drafts::Entity::insert(row).exec_without_returning(db).await?;
    Ok(())
}

/// Saves a draft that was loaded at revision `was`.
///
/// # Errors
/// [`StoreError::Stale`] when it has changed since.
pub async fn save<C: ConnectionTrait>(db: &C, draft: &Draft, was: i64, now: Timestamp) -> Result<(), StoreError> {
    write(db, draft, was, Some(now)).await
}

/// Saves a draft that something else than its person reopened: one they are working on meanwhile stays in front of it.
///
/// # Errors
/// [`StoreError::Stale`] when it has changed since.
pub async fn save_reopened<C: ConnectionTrait>(
    db: &C,
    draft: &Draft,
    was: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let alone = count_open(db, draft.bot, draft.user).await? == 0;
    write(db, draft, was, alone.then_some(now)).await
}

async fn write<C: ConnectionTrait>(
    db: &C,
    draft: &Draft,
    was: i64,
    updated_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    let mut change = drafts::Entity::update_many()
        .col_expr(drafts::Column::FormVersion, Expr::value(draft.form_version.clone()))
        .col_expr(drafts::Column::State, Expr::value(draft.state.name()))
        .col_expr(drafts::Column::Cursor, Expr::value(draft.cursor.clone()))
        .col_expr(drafts::Column::Revision, Expr::value(draft.revision))
        .col_expr(drafts::Column::Version, Expr::value(version_to_row(draft.version)))
        .col_expr(drafts::Column::Answers, Expr::value(to_json(&draft.answers)?))
        .filter(drafts::Column::Id.eq(draft.id.0))
        .filter(drafts::Column::Revision.eq(was));
    if let Some(at) = updated_at {
        change = change.col_expr(drafts::Column::UpdatedAt, Expr::value(at.0));
    }
    let saved = change.exec(db).await?;
    if saved.rows_affected == 1 { Ok(()) } else { Err(StoreError::Stale("drafts")) }
}

/// A draft by its id.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn load<C: ConnectionTrait>(db: &C, id: DraftId) -> Result<Option<Draft>, StoreError> {
    drafts::Entity::find_by_id(id.0).one(db).await?.map(read).transpose()
}

/// The open draft a person worked on last.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn active<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<Option<Draft>, StoreError> {
    open_of(bot, user)
        .order_by_desc(drafts::Column::UpdatedAt)
        .order_by_desc(drafts::Column::Id)
        .one(db)
        .await?
        .map(read)
        .transpose()
}

/// The open draft of one form that a person worked on last.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn active_of<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    user: UserId,
    form: &str,
) -> Result<Option<Draft>, StoreError> {
    open_of(bot, user)
        .filter(drafts::Column::FormId.eq(form))
        .order_by_desc(drafts::Column::UpdatedAt)
        .order_by_desc(drafts::Column::Id)
        .one(db)
        .await?
        .map(read)
        .transpose()
}

/// Drafts whose summary was shown before then, waits still, and whose person was not told of an outage under it.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn summaries_shown_before<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    before: Timestamp,
    limit: u64,
) -> Result<Vec<Draft>, StoreError> {
    let untold = Condition::any()
        .add(drafts::Column::Nudged.is_null())
        .add(Expr::col(drafts::Column::Nudged).not_equals(drafts::Column::Revision));
    let rows = drafts::Entity::find()
        .filter(drafts::Column::BotId.eq(bot.0))
        .filter(is(drafts::Column::State, DraftState::Summary.name()))
        .filter(drafts::Column::UpdatedAt.lt(before.0))
        .filter(untold)
        .order_by_asc(drafts::Column::UpdatedAt)
        .limit(limit)
        .all(db)
        .await?;
    rows.into_iter().map(read).collect()
}

/// Notes that the person of this summary was told. `false` when they were, or the draft has moved on.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn note_nudge<C: ConnectionTrait>(db: &C, draft: &Draft) -> Result<bool, StoreError> {
    let untold = Condition::any().add(drafts::Column::Nudged.is_null()).add(drafts::Column::Nudged.ne(draft.revision));
    let noted = drafts::Entity::update_many()
        .col_expr(drafts::Column::Nudged, Expr::value(draft.revision))
        .filter(drafts::Column::Id.eq(draft.id.0))
        .filter(is(drafts::Column::State, DraftState::Summary.name()))
        .filter(drafts::Column::Revision.eq(draft.revision))
        .filter(untold)
        .exec(db)
        .await?;
    Ok(noted.rows_affected == 1)
}

/// How many open drafts a person has.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn count_open<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<u64, StoreError> {
    Ok(open_of(bot, user).count(db).await?)
}

/// Deletes a person's drafts that no operation needs any more. Returns how many.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn erase<C: ConnectionTrait>(db: &C, bot: BotId, user: UserId) -> Result<u64, StoreError> {
    let gone = drafts::Entity::delete_many()
        .filter(drafts::Column::BotId.eq(bot.0))
        .filter(drafts::Column::UserId.eq(user.0))
        .filter(is_not(drafts::Column::State, DraftState::Submitted.name()))
        .exec(db)
        .await?;
    Ok(gone.rows_affected)
}

/// Empties the answers of a confirmed draft; the draft stays to recognise old buttons.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn erase_answers<C: ConnectionTrait>(db: &C, id: DraftId) -> Result<(), StoreError> {
    drafts::Entity::update_many()
        .col_expr(drafts::Column::Answers, Expr::value("{}"))
        .filter(drafts::Column::Id.eq(id.0))
        .exec(db)
        .await?;
    Ok(())
}

fn open_of(bot: BotId, user: UserId) -> sea_orm::Select<drafts::Entity> {
    drafts::Entity::find()
        .filter(drafts::Column::BotId.eq(bot.0))
        .filter(drafts::Column::UserId.eq(user.0))
        .filter(is_one_of(drafts::Column::State, [DraftState::Filling.name(), DraftState::Summary.name()]))
}

pub(super) fn read(row: drafts::Model) -> Result<Draft, StoreError> {
    let corrupt = |what: String| StoreError::corrupt("drafts", row.id, what);
    let state = DraftState::parse(&row.state).ok_or_else(|| corrupt(format!("state `{}`", row.state)))?;
    let answers = serde_json::from_str(&row.answers).map_err(|error| corrupt(format!("answers: {error}")))?;
    Ok(Draft {
        id: DraftId(row.id),
        bot: BotId(row.bot_id),
        user: UserId(row.user_id),
        chat: ChatId(row.chat_id),
        form: row.form_id,
        form_version: row.form_version,
        state,
        cursor: row.cursor,
        revision: row.revision,
        version: version_from_row(row.version),
        answers,
    })
}

/// Versions fit 31 bits: a person would have to be rejected two thousand million times.
pub(super) fn version_to_row(version: ConfirmVersion) -> i32 {
    i32::try_from(version.0).unwrap_or(i32::MAX)
}

pub(super) fn version_from_row(version: i32) -> ConfirmVersion {
    ConfirmVersion(u32::try_from(version).unwrap_or(0))
}
