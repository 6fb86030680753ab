//! The moments at which a process may die: before and after each commit and each call to the outside.
//!
//! A running service passes them all. A test can let a process "die" at the n-th one: nothing after it happens, exactly
//! as after a power cut, and the test starts a new process on what was stored.

use std::{fmt, sync::Arc};

/// Decides at each point whether the process lives on.
pub trait Watcher: Send + Sync {
    /// Called in the order the points are reached; `false` means that nothing after this point happens.
    fn lives_past(&self, point: &'static str) -> bool;

    /// Called with the text of each statement that the database was asked, once it has answered; what begins and ends
    /// transactions is not told.
    fn asked(&self, _statement: &str) {}
}

/// The points of one process; cheap to clone.
#[derive(Clone, Default)]
pub struct Points(Option<Arc<dyn Watcher>>);

impl Points {
    /// Points that `watcher` is told of.
    #[must_use]
    pub fn watched_by(watcher: Arc<dyn Watcher>) -> Self {
        Self(Some(watcher))
    }

    /// Passes a point, or never returns.
    pub async fn pass(&self, point: &'static str) {
        if let Some(watcher) = &self.0
            && !watcher.lives_past(point)
        {
            std::future::pending::<()>().await;
        }
    }

    /// Whether anybody watches.
    #[must_use]
    pub fn are_watched(&self) -> bool {
        self.0.is_some()
    }

    /// Tells of a statement that the database was asked.
    pub fn asked(&self, statement: &str) {
        if let Some(watcher) = &self.0 {
            watcher.asked(statement);
        }
    }
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Points(watched)" } else { "Points" })
    }
}
