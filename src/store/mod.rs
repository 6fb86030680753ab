//! The database: SQLite by default, PostgreSQL by one URL, the same code on both.
//!
//! Everything is written by [`Store::write`], which commits waiting works together; [`operations::advance`] is the one
//! door through which an operation changes. Reads go to connections of their own and never wait for a writer.

mod backend;
pub mod backlog;
pub mod cards;
pub mod cases;
mod confirming;
pub mod crm_steps;
pub mod drafts;
pub mod entity;
mod error;
pub mod figures;
pub mod gauges;
pub mod inbox;
pub mod journal;
pub mod lanes;
pub mod leases;
pub mod operations;
pub mod outbox;
pub mod pace;
pub mod people;
pub mod purge;
mod reader;
pub mod set_back;
pub mod settings;
pub mod slots;
pub mod steps;
mod wake;
mod writer;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sea_orm::{DatabaseConnection, EntityTrait as _, QuerySelect as _, TransactionTrait as _};

use crate::{clock::Timestamp, ids::BotId, points::Points};

pub use confirming::{Confirming, confirming};
pub use error::StoreError;
pub use reader::Reader;
pub use sea_orm::DatabaseTransaction as Db;
pub use writer::Tx;

/// How a database's schema differs from the one of this release, by the names of its steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaSteps {
    /// Not applied yet.
    pub pending: Vec<String>,
    /// Applied by a release later than this one, which may go on all the same.
    pub unknown: Vec<String>,
}

/// The database of one process.
#[derive(Debug, Clone)]
pub struct Store {
    reader: Reader,
    raw_writer: DatabaseConnection,
    pooled: bool,
    writer: writer::Writer,
    points: Points,
}

impl Store {
    /// Connects to `url` (`sqlite://file` or `postgres://…`) without touching the schema.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be reached or opened.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_watched(url, Points::default()).await
    }

    /// The same, with a watcher at the points where a process may die.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be reached or opened.
    pub async fn connect_watched(url: &str, points: Points) -> Result<Self, StoreError> {
        Self::connect_as(url, None, points).await
    }

    /// The same, where somebody knows whether a transaction pooler stands in between (PostgreSQL only); otherwise it is
    /// found out.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be reached or opened.
    pub async fn connect_as(url: &str, pooled: Option<bool>, points: Points) -> Result<Self, StoreError> {
        let backend::Connections { mut writer, mut reader, pooled } = backend::connect(url, pooled).await?;
        if points.are_watched() {
            for connection in [&mut writer, &mut reader] {
                let points = points.clone();
                connection.set_metric_callback(move |asked| points.asked(&asked.statement.sql));
            }
        }
        Ok(Self {
            reader: Reader::new(reader, pooled),
            writer: writer::Writer::start(writer.clone(), pooled, points.clone()),
            raw_writer: writer,
            pooled,
            points,
        })
    }

    /// Whether a transaction pooler stands between us and the server.
    #[must_use]
    pub fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// Where the process may die.
    #[must_use]
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Brings the schema up to date.
    ///
    /// # Errors
    /// [`StoreError`] when a step cannot be applied.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        backend::migrate(&self.raw_writer, self.pooled).await
    }

    /// How the schema differs from the one of this release.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be asked.
    pub async fn schema_steps(&self) -> Result<SchemaSteps, StoreError> {
        backend::schema_steps(&self.raw_writer, self.pooled).await
    }

    /// The schema steps not yet applied, by name.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be asked.
    pub async fn pending_migrations(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.schema_steps().await?.pending)
    }

    /// Writes one row, so that a database which can only be read is noticed before anything is acknowledged.
    ///
    /// # Errors
    /// [`StoreError`] when nothing can be written.
    pub async fn try_writing(&self, now: Timestamp) -> Result<(), StoreError> {
        let tx = backend::begin(&self.raw_writer, self.pooled).await?;
        settings::set(&tx, settings::STARTED, &now.rfc3339(), now).await?;
        Ok(tx.commit().await?)
    }

    /// A SQLite file serves one process: what the one before had in hand when it died is nobody's now, and its people need not
    /// wait for the end of a dead process's lease. Returns how many updates that were; none where others may be at work.
    ///
    /// # Errors
    /// [`StoreError`] when nothing can be written.
    pub async fn take_over(&self, bot: BotId, now: Timestamp) -> Result<u64, StoreError> {
        if self.has_replicas() {
            return Ok(0);
        }
        let tx = backend::begin(&self.raw_writer, self.pooled).await?;
        let freed = inbox::free_all(&tx, bot, now).await?;
        tx.commit().await?;
        Ok(freed)
    }

    /// Where to read from.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Runs `work` in a transaction and returns its result after the commit. It may run twice, and must only touch the
    /// database.
    ///
    /// # Errors
    /// The work's own error, or [`StoreError`] when the commit failed.
    pub async fn write<T, F, Fut>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(Tx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.writer.write(work).await
    }

    /// Stores updates that are not stored yet, in one commit with whatever else waits, and claims them for this process.
    /// Returns the fresh ones in order; an update that was stored before is skipped.
    ///
    /// # Errors
    /// [`StoreError`] when nothing could be stored.
    pub async fn accept(&self, arrivals: inbox::Arrivals) -> Result<Vec<inbox::Claimed>, StoreError> {
        self.writer.accept(arrivals).await
    }

    /// Whether the last commit was refused: then nothing can be stored for the moment.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.writer.is_stuck()
    }

    /// Stores one row of no meaning, to see whether that works again.
    ///
    /// # Errors
    /// [`StoreError`] when nothing can be stored.
    pub async fn probe(&self, now: Timestamp) -> Result<(), StoreError> {
        self.write(move |tx| async move { settings::set(tx.as_ref(), settings::PROBED, &now.rfc3339(), now).await })
            .await
    }

    /// Asks the database for a sign of life.
    ///
    /// # Errors
    /// [`StoreError`] when there is none.
    pub async fn ping(&self) -> Result<(), StoreError> {
        entity::settings::Entity::find().limit(1).all(&self.reader).await?;
        Ok(())
    }

    /// Closes all connections after the last write.
    pub async fn close(self) {
        let Self { reader, raw_writer, writer, .. } = self;
        drop(writer);
        // Closing fails only when it is closed already.
        drop(reader.close().await);
        drop(raw_writer.close().await);
    }
}

/// Runs `work` within a transaction so that its failure is undone alone and what the transaction did before stands. `None`
/// when it failed; the reason is in the log.
///
/// # Errors
/// [`StoreError`] when the transaction itself cannot go on.
pub async fn apart<'a, T>(
    tx: &Tx,
    work: impl FnOnce(Tx) -> BoxFuture<'a, Result<T, StoreError>>,
) -> Result<Option<T>, StoreError> {
    let point = Arc::new(tx.begin().await?);
    let done = work(Arc::clone(&point)).await;
    let Ok(point) = Arc::try_unwrap(point) else {
        return Err(StoreError::Refused("a work kept its transaction".into()));
    };
    match done {
        Ok(value) => {
            point.commit().await?;
            Ok(Some(value))
        }
        Err(error) => {
            tracing::warn!(%error, "what could have been done at once is left for later");
            point.rollback().await?;
            Ok(None)
        }
    }
}

/// JSON for a text column.
pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Refused(format!("cannot be written as JSON: {error}")))
}
