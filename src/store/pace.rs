//! The pace over all chats of a bot, shared by its replicas and kept over restarts.

use std::time::Duration;

use sea_orm::{
    ActiveValue::Set,
    ConnectionTrait, EntityTrait as _, QuerySelect as _,
    sea_query::{LockBehavior, LockType, OnConflict},
};

use super::{StoreError, entity::pace, to_json};
use crate::{
    clock::Timestamp,
    domain::pace::Recent,
    ids::{BotId, ChatId},
};

/// So many different chats throttled within [`LATELY`] mean that it is not about them.
const MANY: usize = 3;

/// How long a throttled chat counts.
const LATELY: Duration = Duration::from_secs(10);

/// How far the bot is within its pace.
#[derive(Debug, Clone, Default)]
pub struct Overall {
    /// When the latest messages left.
    pub recent: Recent,
    /// Nothing is said to anybody before this moment.
    pub hold_until: Timestamp,
    throttled: Vec<(i64, i64)>,
}

/// The pace as it is, without holding it.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn look<C: ConnectionTrait>(db: &C, bot: BotId) -> Result<Overall, StoreError> {
    pace::Entity::find_by_id(bot.0).one(db).await?.map_or_else(|| Ok(Overall::default()), read)
}

/// Holds the pace if nobody else does: a claim never waits for another one's.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn grab<C: ConnectionTrait>(db: &C, bot: BotId) -> Result<Option<Overall>, StoreError> {
    let held = || pace::Entity::find_by_id(bot.0).lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
    if let Some(row) = held().one(db).await? {
        return read(row).map(Some);
    }
    if pace::Entity::find_by_id(bot.0).one(db).await?.is_some() {
        return Ok(None);
    }
    // The first message of this bot.
    insert(db, bot, &Overall::default(), false).await?;
    held().one(db).await?.map(read).transpose()
}

/// Stores that a message leaves.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn note_sent<C: ConnectionTrait>(db: &C, bot: BotId, overall: &Overall) -> Result<(), StoreError> {
    insert(db, bot, overall, true).await
}

/// Notes that Telegram throttled a chat. When several chats are throttled at the same time, it is the bot that must keep
/// silent: until the first of them may go on.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn throttled<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    chat: ChatId,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut overall = held(db, bot).await?;
    overall.throttled.retain(|(known, at)| *known != chat.0 && Timestamp(*at).plus(LATELY) > now);
    overall.throttled.push((chat.0, now.0));
    if overall.throttled.len() >= MANY {
        tracing::warn!(
            chats = overall.throttled.len(),
            "Telegram throttles many chats at once: nothing is said to anybody until then"
        );
        overall.hold_until = overall.hold_until.max(until);
        overall.throttled.clear();
    }
    insert(db, bot, &overall, true).await
}

/// Says nothing to anybody before `until`: our token or server is refused, and every further call would be too.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn keep_silent<C: ConnectionTrait>(db: &C, bot: BotId, until: Timestamp) -> Result<(), StoreError> {
    let overall = Overall { hold_until: until, ..held(db, bot).await? };
    insert(db, bot, &overall, true).await
}

async fn held<C: ConnectionTrait>(db: &C, bot: BotId) -> Result<Overall, StoreError> {
    let row = pace::Entity::find_by_id(bot.0).lock_exclusive().one(db).await?;
    row.map_or_else(|| Ok(Overall::default()), read)
}

async fn insert<C: ConnectionTrait>(db: &C, bot: BotId, overall: &Overall, over: bool) -> Result<(), StoreError> {
    let row = pace::ActiveModel {
        bot_id: Set(bot.0),
        recent: Set(to_json(&overall.recent)?),
        hold_until: Set(overall.hold_until.0),
        throttled: Set(to_json(&overall.throttled)?),
    };
    let mut known = OnConflict::column(pace::Column::BotId);
    if over {
        known.update_columns([pace::Column::Recent, pace::Column::HoldUntil, pace::Column::Throttled]);
    } else {
        known.do_nothing();
    }
    pace::Entity::insert(row).on_conflict(known).exec_without_returning(db).await?;
    Ok(())
}

fn read(row: pace::Model) -> Result<Overall, StoreError> {
    let corrupt = |error: serde_json::Error| StoreError::corrupt("pace", row.bot_id, error);
    Ok(Overall {
        recent: serde_json::from_str(&row.recent).map_err(corrupt)?,
        hold_until: Timestamp(row.hold_until),
        throttled: serde_json::from_str(&row.throttled).map_err(corrupt)?,
    })
}
