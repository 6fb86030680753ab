//! What one process has claimed and not called yet, and how many calls it may have under way.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::{CHATS_AT_ONCE, take::Taken};

/// A claimed message on its way to its call.
#[derive(Debug)]
pub struct Ready {
    pub(super) taken: Box<Taken>,
    pub(super) slot: OwnedSemaphorePermit,
}

/// Claimed messages and room for calls.
#[derive(Debug)]
pub struct Queue {
    slots: Arc<Semaphore>,
    ready: Mutex<VecDeque<Ready>>,
    woken: Notify,
    /// Set while more chats wait than the pace over all chats has room for.
    pub(super) short: AtomicBool,
    closing: AtomicBool,
    /// Cancelled when a stop waits no longer: calls under way count as unknown from then on.
    pub cut: CancellationToken,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            slots: Arc::new(Semaphore::new(CHATS_AT_ONCE)),
            ready: Mutex::default(),
            woken: Notify::new(),
            short: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            cut: CancellationToken::new(),
        }
    }
}

impl Queue {
    /// Takes one more call under way; `None` when there are enough.
    pub(super) fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    /// How many more calls may be under way.
    #[must_use]
    pub fn free(&self) -> usize {
        self.slots.available_permits()
    }

    /// Whether a message may leave out of turn: behind another one of its chat, or with the commit that writes it.
    pub(super) fn may_follow(&self) -> bool {
        !self.short.load(Ordering::Relaxed) && !self.closing.load(Ordering::Relaxed)
    }

    pub(super) fn push(&self, ready: Ready) {
        self.lock().push_back(ready);
        self.woken.notify_one();
    }

    /// Everything that is claimed and not called yet.
    pub fn drain(&self) -> Vec<Ready> {
        self.lock().drain(..).collect()
    }

    /// Whether nothing is claimed and not called yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Waits until something is claimed.
    pub async fn woken(&self) {
        self.woken.notified().await;
    }

    /// From now on nothing leaves out of turn: the process ends.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Ready>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
