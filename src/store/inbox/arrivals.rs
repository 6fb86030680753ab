//! Storing what comes in: the rows of many arrivals at once, in few statements.
//!
//! A statement costs a trip to the database whatever it does, so rows travel together. PostgreSQL takes them as arrays,
//! so that one text serves any number. On SQLite the texts are few, one for each of [`SIZES`], so that each is prepared
//! once a connection; a statement that is nearly full is filled up with repeats, which store nothing.

use std::collections::{HashMap, HashSet};

use sea_orm::{ConnectionTrait, DbBackend, QueryResult, Statement, Value, sea_query::ArrayType};
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
    /// An update that came to `bot` under a number. `payload` is its JSON with the keys of each object in order, so that the
    /// same content gives the same text. `lane` tells whose turn it is: the person's number, or the chat's, or 0.
    #[must_use]
    pub fn new(bot: BotId, update: UpdateId, payload: String, lane: i64) -> Self {
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

/// How many rows a statement may hold: each text is prepared and kept by a connection of its own. Steps of a quarter or so,
/// so that little is filled up, with a full answer of `getUpdates` among them. Parameters of one are bounded (32 766 on
/// SQLite); 256 rows of 7 are far below.
const SIZES: [usize; 22] = [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 256];

/// Rows of the largest statement.
const ROWS: usize = 256;

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
    let mut firsts = HashSet::new();
    let mut rows = Vec::new();
    for (group, arrivals) in groups.iter().enumerate() {
        for arrival in &arrivals.updates {
            if firsts.insert(arrival.key()) {
                rows.push(Row { group, arrivals, arrival });
            }
        }
    }
    let mut fresh: Vec<Vec<Claimed>> = groups.iter().map(|_| Vec::new()).collect();
    for part in rows.chunks(ROWS) {
        let mut stored = match db.get_database_backend() {
            DbBackend::Postgres => stored_of(part, db.query_all_raw(from_arrays(part)).await?)?,
            backend => {
                let done = db.execute_raw(insert(backend, part)).await?;
                let (count, last) = (done.rows_affected(), done.last_insert_id());
                if count == part.len() as u64 {
                    // The rows of one statement are numbered one after the other: nobody else writes meanwhile.
                    let ids = (1 + last - count..).map(u64::cast_signed);
                    ids.zip(part).collect()
                } else if count > 0 {
                    stored_of(part, db.query_all_raw(newest(backend, last, count)).await?)?
                } else {
                    Vec::new()
                }
            }
        };
        stored.sort_unstable_by_key(|(id, _)| *id);
        for (id, row) in stored {
            fresh[row.group].push(Claimed {
                row: id,
                update: row.arrival.update,
                payload: row.arrival.payload.clone(),
                lane: row.arrival.lane,
                attempts: 1,
                received_at: row.arrivals.at,
            });
        }
    }
    Ok(fresh)
}

/// A row to store, and whose it is.
#[derive(Debug, Clone, Copy)]
struct Row<'a> {
    group: usize,
    arrivals: &'a Arrivals,
    arrival: &'a Arrival,
}

/// Which of the rows have come back as stored.
fn stored_of<'r, 'a>(part: &'r [Row<'a>], stored: Vec<QueryResult>) -> Result<Vec<(i64, &'r Row<'a>)>, StoreError> {
    let rows: HashMap<Key, &Row<'_>> = part.iter().map(|row| (row.arrival.key(), row)).collect();
    let found = |stored: QueryResult| {
        let id: i64 = stored.try_get_by_index(0)?;
        let key = (stored.try_get_by_index(1)?, stored.try_get_by_index(2)?, stored.try_get_by_index(3)?);
        let row = rows.get(&key).copied();
        Ok((id, row.ok_or_else(|| StoreError::corrupt("inbox", id, "a row came back that was not given"))?))
    };
    stored.into_iter().map(found).collect()
}

/// Whether so many rows go in one statement.
pub(in crate::store) fn is_one_statement(rows: usize) -> bool {
    rows <= ROWS
}

/// What the rows bring, column by column.
fn values(row: &Row<'_>) -> [Value; COLUMNS] {
    let Row { arrivals, arrival, .. } = row;
    [
        arrival.bot.0.into(),
        arrival.update.0.into(),
        arrival.digest.into(),
        arrival.payload.as_str().into(),
        arrival.lane.into(),
        arrivals.lease_until.0.into(),
        arrivals.at.0.into(),
    ]
}

const INTO: &str =
    "INSERT INTO inbox (bot_id, update_id, digest, payload, lane, lease_until, received_at, state, attempts)";
const UNLESS_STORED: &str = "ON CONFLICT (bot_id, update_id, digest) DO NOTHING";
const NAMES: &str = "id, bot_id, update_id, digest";

/// A statement of one of the [`SIZES`], filled up with repeats of the last row.
fn insert(backend: DbBackend, rows: &[Row<'_>]) -> Statement {
    let size = SIZES.into_iter().find(|size| *size >= rows.len()).unwrap_or(rows.len());
    let repeats = rows.last().into_iter().cycle();
    let places = format!("({}'new', 1)", "?, ".repeat(COLUMNS));
    let sql = format!("{INTO} VALUES {} {UNLESS_STORED}", vec![places; size].join(", "));
    Statement::from_sql_and_values(backend, sql, rows.iter().chain(repeats).take(size).flat_map(values))
}

/// The rows that the last statement has stored: the newest, up to its last one.
fn newest(backend: DbBackend, last: u64, count: u64) -> Statement {
    let sql = format!("SELECT {NAMES} FROM inbox WHERE id <= ? ORDER BY id DESC LIMIT ?");
    Statement::from_sql_and_values(backend, sql, [last.into(), count.into()])
}

/// A statement that takes any number of rows: an array a column.
fn from_arrays(rows: &[Row<'_>]) -> Statement {
    const TYPES: [(ArrayType, &str); COLUMNS] = {
        const NUMBER: (ArrayType, &str) = (ArrayType::BigInt, "bigint");
        [NUMBER, NUMBER, NUMBER, (ArrayType::String, "text"), NUMBER, NUMBER, NUMBER]
    };
    let mut columns: [Vec<Value>; COLUMNS] = std::array::from_fn(|_| Vec::with_capacity(rows.len()));
    for row in rows {
        for (column, value) in columns.iter_mut().zip(values(row)) {
            column.push(value);
        }
    }
    let places: Vec<_> = (1..).zip(&TYPES).map(|(place, (_, of))| format!("${place}::{of}[]")).collect();
    let sql = format!("{INTO} SELECT *, 'new', 1 FROM unnest({}) {UNLESS_STORED} RETURNING {NAMES}", places.join(", "));
    let arrays = TYPES.into_iter().zip(columns).map(|((of, _), column)| Value::Array(of, Some(Box::new(column))));
    Statement::from_sql_and_values(DbBackend::Postgres, sql, arrays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_what_it_was_in_every_release_before() {
        let shortest = Arrival::new(BotId(1), UpdateId(7), r#"{"update_id":7}"#.to_owned(), 0);
        assert_eq!(shortest.digest, -6_000_170_753_282_028_529);
    }

    #[test]
    fn rows_go_in_statements_of_few_sizes() {
        let updates: Vec<_> =
            (0..=ROWS).map(|n| Arrival::new(BotId(1), UpdateId(n as i64), String::new(), 0)).collect();
        let arrivals = Arrivals { updates, at: Timestamp(0), lease_until: Timestamp(0) };
        let rows: Vec<_> =
            arrivals.updates.iter().map(|arrival| Row { group: 0, arrivals: &arrivals, arrival }).collect();
        let mut texts = HashSet::new();
        for count in 1..=ROWS {
            let statement = insert(DbBackend::Sqlite, &rows[..count]);
            let values = statement.values.map_or(0, |values| values.0.len());
            let size = statement.sql.matches("'new'").count();
            assert_eq!(values, size * COLUMNS);
            assert!(size >= count && size <= count + count * 3 / 10 + 1, "{count} rows in a statement of {size}");
            texts.insert(statement.sql);
        }
        assert_eq!(texts.len(), SIZES.len());
        assert!(is_one_statement(ROWS) && !is_one_statement(ROWS + 1));
        assert!(from_arrays(&rows[..2]).sql.contains("unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]"));
    }
}
