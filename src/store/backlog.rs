//! Answers to words that waited for us for long: each rests for a moment, and the next one takes its place, so that a
//! person who wrote ten times to a bot that was away gets one answer.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
};

use super::{StoreError, entity::outbox as rows, outbox};
use crate::{
    clock::Timestamp,
    domain::{
        delivery::{Event, Policy},
        notice::{Keyboard, Notice, NoticeKind},
    },
    ids::{BotId, ChatId},
};

/// The newest message that is on its way to a chat; 0 when there is none.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn newest<C: ConnectionTrait>(db: &C, bot: BotId, chat: ChatId) -> Result<i64, StoreError> {
    let newest: Option<i64> = open(bot, chat)
        .select_only()
        .column(rows::Column::Id)
        .order_by_desc(rows::Column::Id)
        .limit(1)
        .into_tuple()
        .one(db)
        .await?;
    Ok(newest.unwrap_or(0))
}

/// Drops the answers to a person that still rest and were written up to `before`, if anything was said to them since.
/// What takes a keyboard away stays: nothing later does.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn replace_resting<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    chat: ChatId,
    before: i64,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), StoreError> {
    if before == 0 || newest(db, bot, chat).await? <= before {
        return Ok(());
    }
    let resting = open(bot, chat)
        .select_only()
        .column(rows::Column::Id)
        .filter(rows::Column::Id.lte(before))
        .filter(rows::Column::Kind.eq(NoticeKind::Dialog.name()))
        .filter(rows::Column::State.eq("pending"))
        .filter(rows::Column::DueAt.gt(now.0));
    for id in resting.into_tuple::<i64>().all(db).await? {
        let Some(row) = outbox::load(db, id).await? else { continue };
        let takes_away = matches!(&row.notice, Notice::Words(words) if words.keyboard == Keyboard::Remove);
        if row.delivery.attempts == 0 && !takes_away {
            outbox::advance(db, id, row.rev, &Event::Overtaken, now, policy).await?;
        }
    }
    Ok(())
}

fn open(bot: BotId, chat: ChatId) -> sea_orm::Select<rows::Entity> {
    rows::Entity::find()
        .filter(rows::Column::BotId.eq(bot.0))
        .filter(rows::Column::ChatId.eq(chat.0))
        .filter(rows::Column::DueAt.is_not_null())
}
