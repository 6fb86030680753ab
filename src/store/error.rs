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
                // PostgreSQL: a deadlock, a serialisation failure, a server going down or coming up.
                let passing = [
                    "deadlock",
                    "could not serialize",
                    "terminating connection",
                    "starting up",
                    "shutting down",
                    "database is locked",
                    "error communicating",
                ];
                if passing.iter().any(|part| text.contains(part)) {
                    Self::Unavailable(text)
                } else {
                    Self::Refused(text)
                }
            }
            other => Self::Refused(other.to_string()),
        }
    }
}
