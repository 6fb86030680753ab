//! The open rows of a chat, each with all that its claim depends on beside the pace: one look instead of four.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, FromQueryResult as _, JoinType, QueryFilter as _,
    QueryOrder as _, QueryResult, QuerySelect as _, QueryTrait as _,
    sea_query::{Expr, ExprTrait as _, Query},
};

use super::{Row, read};
use crate::{
    clock::Timestamp,
    ids::{BotId, ChatId, MessageId},
    store::{
        StoreError,
        cards::Card,
        entity::{cards, outbox, people},
    },
};

/// A row that is not delivered yet.
#[derive(Debug, Clone)]
pub struct Open {
    /// As stored.
    pub row: Row,
    /// Whether a later row shows the same card.
    pub overtaken: bool,
    /// Whether the person of a private chat can be written to, as far as is known.
    pub reachable: bool,
    /// Where its card is and what it shows.
    pub card: Option<Card>,
}

/// The same before it is known whether it can be read: one that cannot must not hide the others.
#[derive(Debug)]
pub(super) struct Unread {
    model: outbox::Model,
    overtaken: bool,
    reachable: bool,
    card: Option<Card>,
}

impl Unread {
    pub(super) fn shows(&self, card: &str) -> bool {
        self.model.card.as_deref() == Some(card)
    }

    pub(super) fn is_pending(&self) -> bool {
        self.model.state == "pending"
    }

    pub(super) fn due_at(&self) -> Option<Timestamp> {
        self.model.due_at.map(Timestamp)
    }

    pub(super) fn read(self) -> Result<Open, StoreError> {
        let Self { model, overtaken, reachable, card } = self;
        Ok(Open { row: read(model)?, overtaken, reachable, card })
    }
}

/// The first open row of a chat: it speaks for the chat, what comes later waits.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn first<C: ConnectionTrait>(db: &C, bot: BotId, chat: ChatId) -> Result<Option<Open>, StoreError> {
    open_of(db, bot, chat, 1).await?.pop().map(Unread::read).transpose()
}

/// The open rows of a chat in their order, at most `limit`.
pub(super) async fn open_of<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    chat: ChatId,
    limit: u64,
) -> Result<Vec<Unread>, StoreError> {
    let later = Query::select()
        .expr(Expr::cust("1"))
        .from_as(outbox::Entity, "later")
        .and_where(Expr::col(("later", outbox::Column::Card)).equals((outbox::Entity, outbox::Column::Card)))
        .and_where(Expr::col(("later", outbox::Column::Id)).gt(Expr::col((outbox::Entity, outbox::Column::Id))))
        .to_owned();
    let of_card = Expr::col((cards::Entity, cards::Column::Card)).equals((outbox::Entity, outbox::Column::Card));
    // A private chat has its person's number.
    let of_person = Expr::col((people::Entity, people::Column::BotId))
        .equals((outbox::Entity, outbox::Column::BotId))
        .and(Expr::col((people::Entity, people::Column::UserId)).equals((outbox::Entity, outbox::Column::ChatId)));
    let mut look = outbox::Entity::find()
        .expr_as(Expr::exists(later), "overtaken")
        .expr_as(Expr::col((people::Entity, people::Column::Reachable)), "reachable")
        .expr_as(Expr::col((cards::Entity, cards::Column::ChatId)), "card_chat")
        .expr_as(Expr::col((cards::Entity, cards::Column::MessageId)), "card_message")
        .expr_as(Expr::col((cards::Entity, cards::Column::Digest)), "card_digest")
        .filter(outbox::Column::BotId.eq(bot.0))
        .filter(outbox::Column::ChatId.eq(chat.0))
        .filter(outbox::Column::DueAt.is_not_null())
        .order_by_asc(outbox::Column::Id)
        .limit(limit)
        .into_query();
    look.join(JoinType::LeftJoin, cards::Entity, of_card).join(JoinType::LeftJoin, people::Entity, of_person);
    db.query_all(&look).await?.iter().map(unread).collect()
}

fn unread(row: &QueryResult) -> Result<Unread, StoreError> {
    let (chat, message, digest): (Option<i64>, Option<i64>, Option<i64>) =
        (row.try_get("", "card_chat")?, row.try_get("", "card_message")?, row.try_get("", "card_digest")?);
    let card = chat.zip(message).zip(digest);
    Ok(Unread {
        model: outbox::Model::from_query_result(row, "")?,
        overtaken: row.try_get("", "overtaken")?,
        reachable: row.try_get::<Option<bool>>("", "reachable")?.unwrap_or(true),
        card: card.map(|((chat, message), digest)| Card { chat: ChatId(chat), message: MessageId(message), digest }),
    })
}
