//! The way to the database for writing: transactions on a connection that can be trusted.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use sea_orm::{DatabaseConnection, DatabaseTransaction};

use crate::{
    points::Points,
    store::{StoreError, backend},
};

/// Where transactions are begun, and who watches them.
pub(super) struct Door {
    pub(super) connection: DatabaseConnection,
    pub(super) pooled: bool,
    pub(super) points: Points,
    /// A transaction could be neither committed nor undone: nobody knows what the connection is in.
    pub(super) distrusted: AtomicBool,
    pub(super) stuck: Arc<AtomicBool>,
}

impl Door {
    /// Begins a transaction on a connection that can be trusted.
    pub(super) async fn begin(&self) -> Result<DatabaseTransaction, StoreError> {
        self.renew().await?;
        backend::begin(&self.connection, self.pooled).await
    }

    pub(super) async fn renew(&self) -> Result<(), StoreError> {
        if self.distrusted.load(Ordering::Relaxed) {
            backend::renew(&self.connection).await?;
            self.distrusted.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    pub(super) async fn commit(&self, tx: DatabaseTransaction) -> Result<(), StoreError> {
        let done = tx.commit().await;
        if done.is_err() {
            self.distrusted.store(true, Ordering::Relaxed);
        }
        Ok(done?)
    }

    pub(super) async fn undo(&self, tx: DatabaseTransaction) {
        if let Err(error) = tx.rollback().await {
            tracing::debug!(%error, "a transaction could not be undone: its connection is given up");
            self.distrusted.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps in mind whether the database takes anything.
    pub(super) fn note<T>(&self, outcome: &Result<T, StoreError>) {
        match outcome {
            Ok(_) => self.stuck.store(false, Ordering::Relaxed),
            Err(StoreError::Unavailable(_)) => self.stuck.store(true, Ordering::Relaxed),
            // The work's own fault says nothing of the database.
            Err(_) => {}
        }
    }
}
