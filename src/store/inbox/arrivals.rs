//! Storing what comes in: the rows of many arrivals at once, in few statements.
//!
//! A statement costs a trip to the database whatever it does, so rows travel together. The texts of the statements are
//! few, one for each power of two, so that each is prepared once a connection; a statement that is nearly full is filled
//! up with repeats, which store nothing.

use std::collections::{HashMap, hash_map::Entry};

use sea_orm::{ConnectionTrait, DbBackend, Statement, Value};
use sha2::{Digest as _, Sha256};

use super::Claimed;
use crate::{
    clock::Timestamp,
    ids::{BotId, UpdateId},
    store::StoreError,
};

/// An update to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    bot: BotId,
    update: UpdateId,
    /// Its own JSON text, keys in order.
    payload: String,
    digest: i64,
    lane: i64,
}

impl Arrival {
    /// An update that came to `bot` under a number. `lane` tells whose turn it is: the person's number, or the chat's,
    /// or 0.
    #[must_use]
    pub fn new(bot: BotId, update: UpdateId, content: &serde_json::Value, lane: i64) -> Self {
        // Written from a parsed value the keys come in order: the same content gives the same text.
        let payload = content.to_string();
        Self { bot, update, digest: digest(&payload), payload, lane }
    }

    /// Whose turn it is.
    #[must_use]
    pub fn lane(&self) -> i64 {
        self.lane
    }

    /// What tells this update from all others: numbers restart at random after an idle week.
    fn key(&self) -> Key {
        (self.bot.0, self.update.0, self.digest)
    }
}

type Key = (i64, i64, i64);

/// Updates to store and to claim for this process, and until when they are its own.
#[derive(Debug, Clone)]
pub struct Arrivals {
    /// In the order they came.
    pub updates: Vec<Arrival>,
    /// Now.
    pub at: Timestamp,
    /// When another process may take them over.
    pub lease_until: Timestamp,
}

/// A fingerprint of an update's content, taken of its text with the keys in order.
fn digest(payload: &str) -> i64 {
    let hash = Sha256::digest(payload.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    i64::from_le_bytes(first)
}

/// Rows of the largest statement. Parameters of one are bounded (32 766 on SQLite); 256 rows of 7 are far below.
const ROWS: usize = 256;

/// Repeats that are cheaper than another statement.
const REPEATS: usize = 8;

/// Columns whose value a row brings.
const COLUMNS: usize = 7;

/// Stores what is not stored yet. Returns for each of the `groups` its fresh ones, in order; an update that was stored
/// before, or came in an earlier group, is skipped.
///
/// # Errors
/// [`StoreError`] when the rows could not be written.
pub(in crate::store) async fn accept<C: ConnectionTrait>(
    db: &C,
    groups: &[&Arrivals],
) -> Result<Vec<Vec<Claimed>>, StoreError> {
    let mut firsts = HashMap::new();
    let mut rows = Vec::new();
    for (group, arrivals) in groups.iter().enumerate() {
        for arrival in &arrivals.updates {
            if let Entry::Vacant(first) = firsts.entry(arrival.key()) {
                first.insert((group, arrival));
                rows.push((*arrivals, arrival));
            }
        }
    }
    let backend = db.get_database_backend();
    let mut fresh: Vec<Vec<Claimed>> = groups.iter().map(|_| Vec::new()).collect();
    for (part, size) in parts(&rows) {
        for stored in db.query_all_raw(insert(backend, part, size)).await? {
            let (row, key): (i64, Key) = (
                stored.try_get_by_index(0)?,
                (stored.try_get_by_index(1)?, stored.try_get_by_index(2)?, stored.try_get_by_index(3)?),
            );
            let Some((group, arrival)) = firsts.get(&key) else {
                return Err(StoreError::corrupt("inbox", row, "a row came back under another key than it was given"));
            };
            fresh[*group].push(Claimed {
                row,
                update: arrival.update,
                payload: arrival.payload.clone(),
                lane: arrival.lane,
                attempts: 1,
                received_at: groups[*group].at,
            });
        }
    }
    for group in &mut fresh {
        group.sort_by_key(|claimed| claimed.row);
    }
    Ok(fresh)
}

/// Whether so many rows go in one statement.
pub(in crate::store) fn is_one_statement(rows: usize) -> bool {
    parts(&vec![(); rows]).len() <= 1
}

/// Parts, each with how many rows its statement takes: powers of two, the largest first.
fn parts<T>(mut rows: &[T]) -> Vec<(&[T], usize)> {
    let mut parts = Vec::new();
    while !rows.is_empty() {
        let above = rows.len().next_power_of_two();
        let size = if above - rows.len() <= REPEATS { above } else { above / 2 }.min(ROWS);
        let (part, rest) = rows.split_at(size.min(rows.len()));
        parts.push((part, size));
        rows = rest;
    }
    parts
}

fn insert(backend: DbBackend, rows: &[(&Arrivals, &Arrival)], size: usize) -> Statement {
    let mut values: Vec<Value> = Vec::with_capacity(size * COLUMNS);
    let repeats = rows.last().into_iter().cycle();
    for (arrivals, arrival) in rows.iter().chain(repeats).take(size) {
        values.extend([
            arrival.bot.0.into(),
            arrival.update.0.into(),
            arrival.digest.into(),
            arrival.payload.as_str().into(),
            arrival.lane.into(),
            arrivals.lease_until.0.into(),
            arrivals.at.0.into(),
        ]);
    }
    Statement::from_sql_and_values(backend, text(backend, size), values)
}

/// The statement for so many rows.
fn text(backend: DbBackend, rows: usize) -> String {
    let mut sql = String::from(
        "INSERT INTO inbox (bot_id, update_id, digest, payload, lane, lease_until, received_at, state, attempts) VALUES ",
    );
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=COLUMNS {
            match backend {
                DbBackend::Postgres => sql.push_str(&format!("${}, ", row * COLUMNS + column)),
                _ => sql.push_str("?, "),
            }
        }
        sql.push_str("'new', 1)");
    }
    sql.push_str(" ON CONFLICT (bot_id, update_id, digest) DO NOTHING RETURNING id, bot_id, update_id, digest");
    sql
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_content_has_the_same_fingerprint_whatever_the_order_of_its_keys() {
        let arrival = |text: &str| Arrival::new(BotId(1), UpdateId(7), &serde_json::from_str(text).expect("JSON"), 0);
        let one = arrival(r#"{"update_id": 7, "message": {"text": "а", "chat": {"id": 1}}}"#);
        assert_eq!(one, arrival(r#"{"message":{"chat":{"id":1},"text":"а"},"update_id":7}"#));
        assert_ne!(one.digest, arrival(r#"{"update_id": 7, "message": {"text": "б", "chat": {"id": 1}}}"#).digest);
        // Frozen: rows that are stored already must be known again by every later release.
        let shortest = Arrival::new(BotId(1), UpdateId(7), &json!({"update_id": 7}), 0);
        assert_eq!(shortest.digest, -6_000_170_753_282_028_529);
    }

    #[test]
    fn rows_go_in_few_statements_whose_sizes_are_powers_of_two() {
        let sizes = |rows: usize| {
            let rows = vec![(); rows];
            let parts = parts(&rows);
            assert_eq!(parts.iter().map(|(part, _)| part.len()).sum::<usize>(), rows.len());
            parts.into_iter().map(|(_, size)| size).collect::<Vec<_>>()
        };
        assert_eq!(sizes(0), Vec::<usize>::new());
        assert_eq!(sizes(1), [1]);
        assert_eq!(sizes(5), [8]);
        assert_eq!(sizes(100), [64, 32, 4]);
        assert_eq!(sizes(250), [256]);
        assert_eq!(sizes(600), [256, 256, 64, 32]);
        assert!((0..2_000).all(|rows| sizes(rows).iter().all(|size| size.is_power_of_two() && *size <= ROWS)));
        assert!(is_one_statement(8) && !is_one_statement(300));
    }

    #[test]
    fn places_are_counted_as_each_database_counts_them() {
        assert!(text(DbBackend::Postgres, 2).contains("$7, 'new', 1), ($8, $9"));
        assert!(text(DbBackend::Sqlite, 2).contains("?, 'new', 1), (?, ?"));
    }
}
