//! The day in figures: taps, tickets, repeats, unknowns and how they were settled, how long it took.

use std::{collections::BTreeMap, time::Duration};

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, PaginatorTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _,
};
use uuid::Uuid;

use super::{
    StoreError, cases,
    entity::{is, journal, operations},
    journal::TAPPED_AGAIN,
};
use crate::{clock::Timestamp, ids::BotId};

/// Most rows one figure is made from; beyond it the figure is of the latest ones.
const ROWS: u64 = 100_000;

/// What happened since a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Figures {
    /// Versions confirmed.
    pub confirmed: u64,
    /// Tickets known to exist.
    pub tickets: u64,
    /// Taps on what was confirmed before, answered with its state.
    pub repeats: u64,
    /// Operations whose answer was lost.
    pub unknown: u64,
    /// How those were settled.
    pub settled: Settled,
    /// The middle time from the tap to the ticket, in milliseconds.
    pub median_ms: Option<u64>,
    /// The longest one, in milliseconds.
    pub worst_ms: Option<u64>,
    /// Cases open now.
    pub open_cases: u64,
    /// How long the oldest of them has been open, in milliseconds.
    pub oldest_case_ms: Option<u64>,
}

/// How lost answers were settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Settled {
    /// A search found the ticket.
    pub found: u64,
    /// A repeat under the same key, or a late answer, named it.
    pub answered: u64,
    /// Staff named its number, or had it created after all.
    pub by_staff: u64,
    /// It ended without a ticket.
    pub rejected: u64,
    /// Not settled yet.
    pub open: u64,
}

/// The figures since `since`.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn since<C: ConnectionTrait>(
    db: &C,
    bot: BotId,
    since: Timestamp,
    now: Timestamp,
) -> Result<Figures, StoreError> {
    let of_bot = || operations::Entity::find().filter(operations::Column::BotId.eq(bot.0));
    let confirmed = of_bot().filter(operations::Column::ConfirmedAt.gte(since.0)).count(db).await?;
    let mut took: Vec<u64> = of_bot()
        .select_only()
        .column(operations::Column::ConfirmedAt)
        .column(operations::Column::EndedAt)
        .filter(operations::Column::EndedAt.gte(since.0))
        .filter(is(operations::Column::State, "created"))
        .order_by_desc(operations::Column::EndedAt)
        .limit(ROWS)
        .into_tuple::<(i64, Option<i64>)>()
        .all(db)
        .await?
        .into_iter()
        .map(|(from, to)| millis(Timestamp(to.unwrap_or(from)).since(Timestamp(from))))
        .collect();
    took.sort_unstable();
    let repeats = journal::Entity::find()
        .filter(journal::Column::At.gte(since.0))
        .filter(journal::Column::Event.eq(TAPPED_AGAIN))
        .count(db)
        .await?;
    let (unknown, settled) = unknowns(db, bot, since).await?;
    let all = cases::Filter::default();
    let oldest = cases::queue(db, bot, &all, 0, 1).await?.pop();
    Ok(Figures {
        confirmed,
        tickets: u64::try_from(took.len()).unwrap_or(u64::MAX),
        repeats,
        unknown,
        settled,
        median_ms: took.get(took.len().saturating_sub(1) / 2).copied(),
        worst_ms: took.last().copied(),
        open_cases: cases::count_open(db, bot, &all).await?,
        oldest_case_ms: oldest.map(|case| millis(now.since(case.opened_at))),
    })
}

/// Operations that became unknown since then, and what ended each.
async fn unknowns<C: ConnectionTrait>(db: &C, bot: BotId, since: Timestamp) -> Result<(u64, Settled), StoreError> {
    let lost: Vec<Uuid> = journal::Entity::find()
        .select_only()
        .column(journal::Column::OperationId)
        .distinct()
        .filter(journal::Column::At.gte(since.0))
        .filter(journal::Column::FromState.eq("sending"))
        .filter(journal::Column::ToState.eq("unknown"))
        .filter(journal::Column::OperationId.is_not_null())
        .limit(ROWS)
        .into_tuple::<Uuid>()
        .all(db)
        .await?;
    let mut settled = Settled::default();
    let mut count = 0;
    // Few to a statement: parameters are bounded.
    for ids in lost.chunks(500) {
        let states: BTreeMap<Uuid, String> = operations::Entity::find()
            .select_only()
            .column(operations::Column::Id)
            .column(operations::Column::State)
            .filter(operations::Column::BotId.eq(bot.0))
            .filter(operations::Column::Id.is_in(ids.to_vec()))
            .into_tuple::<(Uuid, String)>()
            .all(db)
            .await?
            .into_iter()
            .collect();
        let ended: Vec<(Option<Uuid>, String)> = journal::Entity::find()
            .select_only()
            .column(journal::Column::OperationId)
            .column(journal::Column::Event)
            .filter(journal::Column::OperationId.is_in(ids.to_vec()))
            .filter(
                sea_orm::Condition::any()
                    .add(journal::Column::ToState.eq("created"))
                    .add(journal::Column::Event.eq("decided_create_after_all")),
            )
            .order_by_asc(journal::Column::Id)
            .into_tuple()
            .all(db)
            .await?;
        let mut how: BTreeMap<Uuid, String> = BTreeMap::new();
        for (operation, event) in ended {
            if let Some(operation) = operation {
                // A human's word stands before the answer it led to.
                how.entry(operation).or_insert(event);
            }
        }
        count += u64::try_from(states.len()).unwrap_or(0);
        for (id, state) in states {
            let place = match (state.as_str(), how.get(&id).map(String::as_str)) {
                ("created", Some("found")) => &mut settled.found,
                ("created", Some("created") | None) => &mut settled.answered,
                ("created", Some(_)) => &mut settled.by_staff,
                ("rejected" | "cancelled", _) => &mut settled.rejected,
                _ => &mut settled.open,
            };
            *place += 1;
        }
    }
    Ok((count, settled))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
