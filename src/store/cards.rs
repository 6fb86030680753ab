//! Messages that are edited in place, and what Telegram told us about their chats.

use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, sea_query::Expr,
    sea_query::OnConflict,
};

use super::{
    StoreError,
    entity::{cards, chats, outbox},
};
use crate::{
    clock::Timestamp,
    ids::{BotId, ChatId, MessageId},
};

/// A card that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Card {
    /// Where it is.
    pub chat: ChatId,
    /// Which message it is.
    pub message: MessageId,
    /// A fingerprint of what it shows, so that equal content is not sent again.
    pub digest: i64,
}

/// A card by its name.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn find<C: ConnectionTrait>(db: &C, card: &str) -> Result<Option<Card>, StoreError> {
    let row = cards::Entity::find_by_id(card.to_owned()).one(db).await?;
    Ok(row.map(|row| Card { chat: ChatId(row.chat_id), message: MessageId(row.message_id), digest: row.digest }))
}

/// The name of the card a message is, if it is one.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn by_message<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    chat: ChatId,
    message: MessageId,
) -> Result<Option<String>, StoreError> {
    let row = cards::Entity::find()
        .filter(cards::Column::BotId.eq(bot.0))
        .filter(cards::Column::ChatId.eq(chat.0))
        .filter(cards::Column::MessageId.eq(message.0))
        .one(db)
        .await?;
    Ok(row.map(|row| row.card))
}

/// Stores where a card is and what it shows.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn put<C: ConnectionTrait>(
    db: &C,
    name: &str,
    bot: BotId,
    card: Card,
    now: Timestamp,
) -> Result<(), StoreError> {
    // An answer that comes late must not bring back an older message: within a chat, numbers grow.
    let known = find(db, name).await?;
    if known.is_some_and(|known| known.chat == card.chat && known.message > card.message) {
        return Ok(());
    }
    let row = cards::ActiveModel {
        card: Set(name.to_owned()),
        bot_id: Set(bot.0),
        chat_id: Set(card.chat.0),
        message_id: Set(card.message.0),
        digest: Set(card.digest),
        changed_at: Set(now.0),
    };
    let update = OnConflict::column(cards::Column::Card)
        .update_columns([
            cards::Column::ChatId,
            cards::Column::MessageId,
            cards::Column::Digest,
            cards::Column::ChangedAt,
        ])
        .to_owned();
    cards::Entity::insert(row).on_conflict(update).exec_without_returning(db).await?;
    Ok(())
}

/// Forgets a card whose message has gone: the next showing makes a new one.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn forget<C: ConnectionTrait>(db: &C, card: &str) -> Result<(), StoreError> {
    cards::Entity::delete_by_id(card.to_owned()).exec(db).await?;
    Ok(())
}

/// Keeps silent in a chat until then, as Telegram asked.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn hold_chat<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    chat: ChatId,
    until: Timestamp,
) -> Result<(), StoreError> {
    let row =
        chats::ActiveModel { bot_id: Set(bot.0), chat_id: Set(chat.0), hold_until: Set(until.0), moved_to: Set(None) };
    let update = OnConflict::columns([chats::Column::BotId, chats::Column::ChatId])
        .update_column(chats::Column::HoldUntil)
        .to_owned();
    chats::Entity::insert(row).on_conflict(update).exec_without_returning(db).await?;
    Ok(())
}

/// Follows a group to its new number: cards and what waits to be said go there.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn move_chat<C: ConnectionTrait>(db: &C, bot: BotId, from: ChatId, to: ChatId) -> Result<(), StoreError> {
    let row =
        chats::ActiveModel { bot_id: Set(bot.0), chat_id: Set(from.0), hold_until: Set(0), moved_to: Set(Some(to.0)) };
    let update = OnConflict::columns([chats::Column::BotId, chats::Column::ChatId])
        .update_column(chats::Column::MovedTo)
        .to_owned();
    chats::Entity::insert(row).on_conflict(update).exec_without_returning(db).await?;
    // Messages of the old group cannot be edited from the new one: cards are made anew.
    cards::Entity::delete_many()
        .filter(cards::Column::BotId.eq(bot.0))
        .filter(cards::Column::ChatId.eq(from.0))
        .exec(db)
        .await?;
    outbox::Entity::update_many()
        .col_expr(outbox::Column::ChatId, Expr::value(to.0))
        .filter(outbox::Column::BotId.eq(bot.0))
        .filter(outbox::Column::ChatId.eq(from.0))
        .filter(outbox::Column::DueAt.is_not_null())
        .exec(db)
        .await?;
    Ok(())
}

/// Where a chat is today, and until when to keep silent there.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn chat<C: ConnectionTrait>(db: &C, bot: BotId, chat: ChatId) -> Result<(ChatId, Timestamp), StoreError> {
    let mut here = chat;
    let mut hold = Timestamp(0);
    // A group moves once; the bound only guards against a circle.
    for _ in 0..4 {
        let Some(row) = chats::Entity::find_by_id((bot.0, here.0)).one(db).await? else { break };
        hold = Timestamp(row.hold_until);
        match row.moved_to {
            Some(to) => here = ChatId(to),
            None => break,
        }
    }
    Ok((here, hold))
}
