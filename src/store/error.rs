//! What can go wrong with the database, by what to do about it.

use sea_orm::{DbErr, SqlErr};

/// Why a store call has no result.
#[derive(Debug, Clone)]
pub enum StoreError {
    /// The database cannot be used now; the same call may work later.
    Unavailable(String),
    /// A row changed between reading and writing: read again and decide anew.
    Stale(&'static str),
    /// A row holds what no release of ours wrote.
    Corrupt {
        /// Which table.
        table: &'static str,
        /// Which row, by its key.
        row: String,
        /// What is wrong with it.
        what: String,
    },
    /// The work panicked; its changes were rolled back.
    Panicked(String),
    /// A statement was refused: a mistake of ours.
    Refused(String),
}

impl StoreError {
    /// A row that cannot be read.
    #[must_use]
    pub fn corrupt(table: &'static str, row: impl ToString, what: impl ToString) -> Self {
        Self::Corrupt { table, row: row.to_string(), what: what.to_string() }
    }

    /// A work that panicked, with what the panic said.
    #[must_use]
    pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
        Self::Panicked(words.unwrap_or_else(|| "without words".into()))
    }

    /// What went wrong with a connection that was used directly.
    pub(super) fn from_sqlx(error: &sea_orm::sqlx::Error) -> Self {
        Self::Unavailable(error.to_string())
    }

    /// Whether it met a change by another replica and would go through now.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Unavailable(text) if CONFLICT.iter().any(|part| text.contains(part)))
    }

    /// Whether the same call may work when it is simply made again.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Stale(_))
    }
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unavailable(what) => write!(f, "the database cannot be used now: {what}"),
            Self::Stale(table) => write!(f, "a row of `{table}` changed meanwhile"),
            Self::Corrupt { table, row, what } => write!(f, "row {row} of `{table}` cannot be read: {what}"),
            Self::Panicked(what) => write!(f, "the work panicked: {what}"),
            Self::Refused(what) => write!(f, "the database refused a statement: {what}"),
        }
    }
}

impl std::error::Error for StoreError {}

/// What a database says when the statement is not to blame: a race, a server that goes down, comes up or is full, a pooler
/// that has lost it, a full disk.
const PASSING: [&str; 19] = [
    "deadlock",
    "could not serialize",
    "lock timeout",
    "terminating connection",
    "starting up",
    "shutting down",
    "in recovery mode",
    "too many clients",
    "remaining connection slots",
    "error communicating",
    "pool timed out",
    "server conn crashed",
    "server closed the connection",
    "server_login",
    "query_wait_timeout",
    "database or disk is full",
    "No space left",
    "could not extend file",
    "readonly database",
];

/// What PostgreSQL says of two transactions in each other's way.
const CONFLICT: [&str; 2] = ["deadlock", "could not serialize"];

impl From<DbErr> for StoreError {
    fn from(error: DbErr) -> Self {
        if let Some(SqlErr::UniqueConstraintViolation(what) | SqlErr::ForeignKeyConstraintViolation(what)) =
            error.sql_err()
        {
            return Self::Refused(what);
        }
        match error {
            DbErr::Conn(_) | DbErr::ConnectionAcquire(_) => Self::Unavailable(error.to_string()),
            DbErr::Exec(ref inner) | DbErr::Query(ref inner) => {
                let text = inner.to_string();
                if text.contains("database is locked") {
                    return Self::Unavailable(
                        "another process has held the SQLite file for longer than we wait: only one service may write \
                         to it, and no copying tool may lock it"
                            .to_owned(),
                    );
                }
                if PASSING.iter().any(|part| text.contains(part)) {
                    Self::Unavailable(text)
                } else {
                    Self::Refused(text)
                }
            }
            other => Self::Refused(other.to_string()),
        }
    }
}
