//! A CRM that neither shows our key in the answer to a create nor shows one ticket by its number: whether it keeps the key is
//! seen only by looking for the ticket with it, once it must be visible. So the first ticket is looked for as a lost one
//! would be: from the settle window on, as often as a miss must be repeated to be believed. What is then not found was
//! dropped, and staff are told.

use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};

use super::Worker;
use crate::{
    clock::Timestamp,
    crm::limiter::{Admission, Sign},
    domain::{notice::Alert, outcome::Look, ticket::Ticket},
    ids::OperationId,
    store::{
        StoreError,
        operations::{self, Stored},
        settings, to_json,
    },
};

/// The ticket that is looked for.
const AWAITED: &str = "crm.key.awaited";

/// A ticket made, of which nobody knows whether it carries our key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Awaited {
    /// Of which set-up.
    fingerprint: String,
    operation: OperationId,
    id: String,
    number: String,
    /// When it is looked for next.
    due_at: Timestamp,
    /// When nobody looks for it any more.
    until: Timestamp,
    misses: u32,
}

impl Worker {
    /// Remembers a ticket to be looked for, unless one is waited for already.
    pub(super) async fn await_ticket(&self, stored: &Stored, ticket: &Ticket) -> Result<(), StoreError> {
        if self.awaited().await?.is_some() {
            return Ok(());
        }
        let now = self.clock.now();
        let due_at = now.plus(self.policy.settle);
        let awaited = Awaited {
            fingerprint: self.crm.fingerprint(),
            operation: stored.operation.id,
            id: ticket.id.clone(),
            number: ticket.number.clone(),
            due_at,
            until: due_at.plus(self.policy.look_patience),
            misses: 0,
        };
        self.put_awaited(Some(&awaited)).await
    }

    /// When the ticket waited for is looked for next.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn key_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.awaited().await?.map(|awaited| awaited.due_at))
    }

    /// Looks for the ticket waited for, if it is time. `true` when something became of it.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn see_to_the_key(&self) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let Some(awaited) = self.awaited().await?.filter(|awaited| awaited.due_at <= now) else { return Ok(false) };
        // Somebody may have erased it meanwhile, and another answer may have shown the key.
        let stored = operations::load(self.store.reader(), awaited.operation).await?;
        let (Some(stored), false) = (stored, self.crm.has_echoed()) else {
            return self.put_awaited(None).await.map(|()| true);
        };
        let cost = self.crm.cost().look;
        let admission = self.limiter.lock().unwrap_or_else(PoisonError::into_inner).admit(now, cost);
        if admission != Admission::Go {
            return Ok(false);
        }
        let look = self.crm.look(stored.operation.key, &stored.marker).await;
        if let Some(sign) = Sign::of_look(&look) {
            self.limiter.lock().unwrap_or_else(PoisonError::into_inner).note(self.clock.now(), sign);
        }
        let (now, spacing) = (self.clock.now(), self.policy.spacing);
        let later = |wait, misses| Awaited { due_at: now.plus(spacing.max(wait)), misses, ..awaited.clone() };
        let next = match look {
            Look::Found { tickets } if tickets.iter().any(|found| found.id == awaited.id) => {
                self.key_is_kept().await?;
                None
            }
            Look::Missed if awaited.misses + 1 >= self.policy.looks => {
                self.key_is_dropped(Alert::KeyUnseen { number: awaited.number.clone() }).await?;
                None
            }
            Look::Missed => Some(later(std::time::Duration::ZERO, awaited.misses + 1)),
            Look::Impossible => None,
            // Other tickets with its key, or a CRM that could not be asked: neither proves anything.
            Look::Found { .. } => Some(later(std::time::Duration::ZERO, awaited.misses)),
            Look::Unsure { wait, .. } => Some(later(wait.unwrap_or_default(), awaited.misses)),
        };
        let next = next.filter(|next| next.due_at <= next.until);
        self.put_awaited(next.as_ref()).await.map(|()| true)
    }

    /// The ticket waited for in this set-up.
    async fn awaited(&self) -> Result<Option<Awaited>, StoreError> {
        let text = settings::get(self.store.reader(), AWAITED).await?;
        let awaited: Option<Awaited> = text.and_then(|text| serde_json::from_str(&text).ok());
        Ok(awaited.filter(|awaited| awaited.fingerprint == self.crm.fingerprint()))
    }

    async fn put_awaited(&self, awaited: Option<&Awaited>) -> Result<(), StoreError> {
        let now = self.clock.now();
        let text: Arc<str> = Arc::from(awaited.map(to_json).transpose()?.unwrap_or_default());
        let write = self.store.write(move |tx| {
            let text = Arc::clone(&text);
            async move { settings::set(tx.as_ref(), AWAITED, &text, now).await }
        });
        write.await
    }
}
