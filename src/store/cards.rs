//! Messages that are edited in place.

use std::collections::HashSet;

use sea_orm::{
    ActiveValue::Set,
    ColumnTrait as _, Condition, ConnectionTrait, EntityTrait as _, QueryFilter as _, QuerySelect as _,
    sea_query::{Expr, OnConflict},
};

use super::{StoreError, entity::cards};
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
    /// A fingerprint of what it shows, so that equal content is not sent again; [`UNSURE`] while nobody knows.
    pub digest: i64,
}

/// The fingerprint of nothing: what a card shows is not known, since an edit of it is on its way or its answer was lost.
pub const UNSURE: i64 = 0;

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

/// Stores where a new message's card is and what it shows.
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
        // An answer that comes late must not bring back an older message: within a chat, numbers grow.
        .action_and_where(Expr::cust("cards.chat_id <> excluded.chat_id OR cards.message_id <= excluded.message_id"))
        .to_owned();
    cards::Entity::insert(row).on_conflict(update).exec_without_returning(db).await?;
    Ok(())
}

/// Notes what a known card shows now. A card that has been forgotten, or is another message by now, stays so.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn note<C: ConnectionTrait>(db: &C, name: &str, card: Card, now: Timestamp) -> Result<(), StoreError> {
    cards::Entity::update_many()
        .col_expr(cards::Column::Digest, Expr::value(card.digest))
        .col_expr(cards::Column::ChangedAt, Expr::value(now.0))
        .filter(cards::Column::Card.eq(name))
        .filter(cards::Column::ChatId.eq(card.chat.0))
        .filter(cards::Column::MessageId.eq(card.message.0))
        .exec(db)
        .await?;
    Ok(())
}

/// Gives a message another name: under the old one a new message will be shown.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn rename<C: ConnectionTrait>(db: &C, from: &str, to: &str) -> Result<(), StoreError> {
    cards::Entity::update_many()
        .col_expr(cards::Column::Card, Expr::value(to))
        .filter(cards::Column::Card.eq(from))
        .exec(db)
        .await?;
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

/// Forgets every card of a chat: its messages cannot be edited any more. Returns their names.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn forget_all<C: ConnectionTrait>(db: &C, bot: BotId, chat: ChatId) -> Result<HashSet<String>, StoreError> {
    let of_chat = Condition::all().add(cards::Column::BotId.eq(bot.0)).add(cards::Column::ChatId.eq(chat.0));
    let names: Vec<String> = cards::Entity::find()
        .select_only()
        .column(cards::Column::Card)
        .filter(of_chat.clone())
        .into_tuple()
        .all(db)
        .await?;
    cards::Entity::delete_many().filter(of_chat).exec(db).await?;
    Ok(names.into_iter().collect())
}
