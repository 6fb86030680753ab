//! Finding an operation by what a person remembers of it: its number, its code, the end of a telephone number, a name.

use std::collections::HashSet;

use sea_orm::{
    ColumnTrait as _, Condition, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
    sea_query::{Expr, ExprTrait as _, LikeExpr},
};

use super::{Stored, by_marker, by_ticket_number, load, read};
use crate::{
    ids::{BotId, Marker, OperationId},
    store::{StoreError, entity::operations},
};

/// Fewest digits that are taken for the end of a telephone number.
const PHONE_TAIL: usize = 4;

/// Fewest characters of a name.
const NAME: usize = 2;

/// How many of the latest operations a name or the end of a telephone number is looked for in: a text inside another has
/// no index on either database, and a search must not read years. Number, marker and id have one and reach all.
const SEARCHED: u64 = 50_000;

/// Operations that `text` may mean, newest first, at most `limit`.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn find<C: ConnectionTrait>(db: &C, bot: BotId, text: &str, limit: u64) -> Result<Vec<Stored>, StoreError> {
    let text = text.trim();
    let mut found = named(db, bot, text).await?;
    let mut like = Condition::any();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let only_phone = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '(' | ')' | ' '));
    if only_phone && digits.len() >= PHONE_TAIL {
        // A number is kept as +7…, whoever writes 8….
        let tail = if digits.len() == 11 { &digits[1..] } else { &digits };
        like = like.add(Expr::col(operations::Column::ClientPhone).like(ending(tail)));
    }
    if !only_phone && text.chars().count() >= NAME {
        for written in spellings(text) {
            like = like.add(Expr::col(operations::Column::ClientName).like(holding(&written)));
        }
    }
    if !like.is_empty() {
        // Ids grow with time: the edge of what is searched is one step into the index, and what lies before it is not read.
        let edge: Option<uuid::Uuid> = operations::Entity::find()
            .select_only()
            .column(operations::Column::Id)
            .order_by_desc(operations::Column::Id)
            .offset(SEARCHED)
            .limit(1)
            .into_tuple()
            .one(db)
            .await?;
        let recent = edge.map(|edge| operations::Column::Id.gt(edge));
        let rows = operations::Entity::find()
            .filter(operations::Column::BotId.eq(bot.0))
            .filter(Condition::all().add_option(recent))
            .filter(like)
            .order_by_desc(operations::Column::Id)
            .limit(limit)
            .all(db)
            .await?;
        // A spoilt row must not hide what staff look for; `zayavka doctor` names it.
        found.extend(rows.into_iter().filter_map(|row| read(row).ok()));
    }
    let mut seen = HashSet::new();
    found.retain(|stored| seen.insert(stored.operation.id));
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(found)
}

/// Operations that a ticket's number, a marker or an operation's own id names exactly.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or a row cannot be read.
pub async fn named<C: ConnectionTrait>(db: &C, bot: BotId, name: &str) -> Result<Vec<Stored>, StoreError> {
    let name = name.trim();
    if let Ok(id) = name.parse() {
        let stored = load(db, OperationId(id)).await?;
        return Ok(stored.into_iter().filter(|stored| stored.bot == bot).collect());
    }
    if let Some(marker) = Marker::parse(name) {
        return by_marker(db, bot, &marker).await;
    }
    let number = name.trim_start_matches(['#', '№']).trim();
    if number.is_empty() { Ok(Vec::new()) } else { by_ticket_number(db, bot, number).await }
}

/// The database compares letters outside Latin as they are: a name is looked for as people write it.
fn spellings(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut letters = lower.chars();
    let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let mut all = vec![text.to_owned(), lower, capital];
    all.dedup();
    all
}

fn escaped(text: &str) -> String {
    text.chars().flat_map(|c| matches!(c, '%' | '_' | '\\').then_some('\\').into_iter().chain([c])).collect()
}

fn ending(text: &str) -> LikeExpr {
    LikeExpr::new(format!("%{}", escaped(text))).escape('\\')
}

fn holding(text: &str) -> LikeExpr {
    LikeExpr::new(format!("%{}%", escaped(text))).escape('\\')
}
