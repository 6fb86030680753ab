//! Finding an operation by what a person remembers of it: its number, its code, the end of a telephone number, a name.

use std::collections::HashSet;

use sea_orm::{
    ColumnTrait as _, Condition, ConnectionTrait, EntityTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
    sea_query::{Expr, ExprTrait as _, LikeExpr},
};
use uuid::Uuid;

use super::{Stored, by_marker, by_ticket_number, load, read};
use crate::{
    ids::{BotId, Marker, OperationId},
    store::{StoreError, cases, entity::operations},
};

/// Fewest digits that are taken for the end of a telephone number.
const PHONE_TAIL: usize = 4;

/// Fewest characters of a name.
const NAME: usize = 2;

/// How many of the latest operations a name or the end of a telephone number is looked for in: a text inside another has
/// no index on either database, and a search must not read years. Number, marker and id have one and reach all.
const SEARCHED: u64 = 50_000;

/// How many names are read at once.
const PAGE: u64 = 5_000;

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
        found.extend(called(db, bot, text, limit).await?);
    }
    if !like.is_empty() {
        // Ids grow with time: the edge of what is searched is one step into the index, and what lies before it is not read.
        let edge: Option<Uuid> = operations::Entity::find()
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

/// Operations that a ticket's number, a marker or an operation's own id names exactly; the number may be a twin's.
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
    if number.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = by_ticket_number(db, bot, number).await?;
    if found.is_empty() {
        // A late twin's number is linked to nothing: the case that tells of it knows whose it is.
        for operation in cases::naming_ticket(db, bot, number).await? {
            found.extend(load(db, operation).await?);
        }
    }
    Ok(found)
}

/// Operations whose person's name holds every word of `text`, newest first, at most `limit`. Compared here: a database
/// compares letters outside Latin as they are, and people write a name in any case, order and hyphenation.
async fn called<C: ConnectionTrait>(db: &C, bot: BotId, text: &str, limit: u64) -> Result<Vec<Stored>, StoreError> {
    let wanted = words(text);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let (mut found, mut before, mut left) = (Vec::new(), None, SEARCHED);
    while left > 0 && (found.len() as u64) < limit {
        let page: Vec<(Uuid, Option<String>)> = operations::Entity::find()
            .select_only()
            .columns([operations::Column::Id, operations::Column::ClientName])
            .filter(operations::Column::BotId.eq(bot.0))
            .filter(Condition::all().add_option(before.map(|before: Uuid| operations::Column::Id.lt(before))))
            .order_by_desc(operations::Column::Id)
            .limit(std::cmp::min(PAGE, left))
            .into_tuple()
            .all(db)
            .await?;
        left = left.saturating_sub(PAGE);
        let Some((last, _)) = page.last() else { break };
        before = Some(*last);
        let fits = |name: &str| {
            let name = words(name);
            wanted.iter().all(|part| name.iter().any(|word| word.contains(part.as_str())))
        };
        for (id, _) in page.into_iter().filter(|(_, name)| name.as_deref().is_some_and(fits)) {
            match load(db, OperationId(id)).await {
                Ok(stored) => found.extend(stored),
                // A spoilt row must not hide what staff look for; `zayavka doctor` names it.
                Err(StoreError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
            if found.len() as u64 >= limit {
                break;
            }
        }
    }
    Ok(found)
}

/// The words of a name, each as it is compared: in lower case, and `ё` is `е` to most who write it.
fn words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase().replace('ё', "е");
    let parts = |c: char| c.is_whitespace() || matches!(c, '-' | '‐' | '‑' | '–' | '—');
    lower.split(parts).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn escaped(text: &str) -> String {
    text.chars().flat_map(|c| matches!(c, '%' | '_' | '\\').then_some('\\').into_iter().chain([c])).collect()
}

fn ending(text: &str) -> LikeExpr {
    LikeExpr::new(format!("%{}", escaped(text))).escape('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_compared_word_by_word() {
        assert_eq!(words("Анна-Мария  ПЕТРОВА"), ["анна", "мария", "петрова"]);
        assert_eq!(words("Алёна О'Нил"), ["алена", "о'нил"]);
        assert_eq!(words("— -"), Vec::<String>::new());
    }
}
