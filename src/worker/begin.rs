//! The first attempt begun with the tap itself: claimed in the transaction that confirms, sent when the tap is answered.

use std::sync::{PoisonError, Weak};

use super::{Did, Worker};
use crate::{
    clock::Timestamp,
    crm::{Prepared, limiter::Admission},
    domain::operation::{Event, State},
    ids::OperationId,
    store::{
        StoreError,
        operations::{self, Author, Fresh, Starter, Stored},
        to_json,
    },
};

/// An attempt on record whose call has not begun.
#[derive(Debug)]
pub struct Begun {
    stored: Stored,
    prepared: Prepared,
    lease_end: Timestamp,
    /// Nobody waits longer than this for the tap's answer.
    due_at: Timestamp,
}

/// What working on one operation has told of the CRM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learnt {
    /// How it is now.
    News,
    /// It may not be asked before this moment.
    Hold(Timestamp),
    /// Nothing new.
    Nothing,
}

/// The worker as those see it who confirm. What waits in the writer must not keep alive what owns the writer.
#[derive(Debug, Clone)]
pub struct AtTap(pub Weak<Worker>);

impl Starter for AtTap {
    fn begin(&self, fresh: &Fresh) -> Result<Option<Fresh>, StoreError> {
        self.0.upgrade().map_or(Ok(None), |worker| worker.begin(fresh))
    }
}

impl Worker {
    /// Begins a fresh operation's first attempt, unless the pace towards the CRM is used up or all hands are full: then
    /// it stays `pending`, and is sent as soon as that changes.
    fn begin(&self, fresh: &Fresh) -> Result<Option<Fresh>, StoreError> {
        // Not the tap's own moment: it may have waited since for what others hold, and the limiter would take it for a clock
        // that was set back.
        let (stored, now) = (&fresh.stored, self.clock.now());
        if !self.has_a_free_hand(now) {
            return Ok(None);
        }
        let Ok(prepared) = self.prepared(stored)? else { return Ok(None) };
        let admission = self
            .limiter
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .admit(now, self.crm.cost_of(stored.order.as_ref()));
        if !matches!(admission, Admission::Go) {
            return Ok(None);
        }
        let lease_end = now.plus(self.policy.lease);
        let author = Author { prepared: Some(to_json(&prepared)?), ..self.author.clone() };
        let (id, claim) = (stored.operation.id, Event::Claimed { lease_end });
        let Some(fresh) = fresh.begun(&claim, now, &self.policy, &author) else { return Ok(None) };
        let due_at = stored.operation.due_at().unwrap_or(now);
        let begun = Begun { stored: fresh.stored.clone(), prepared, lease_end, due_at };
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(id, begun);
        Ok(Some(fresh))
    }

    fn has_a_free_hand(&self, now: Timestamp) -> bool {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|_, begun| begun.lease_end > now);
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner).len();
        begun.len() + busy < self.concurrency
    }

    /// Goes on with an operation that a committed transaction has named, since somebody is waiting for it: its tap has been
    /// answered, or staff have just decided. Its grace does not hold it up. The pace towards the CRM holds up a tap, which
    /// then waits as stored and falls due by itself, and a decision only as far as the CRM asked for it; a pause of sending
    /// holds up both.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn go_on(&self, id: OperationId) -> Result<Learnt, StoreError> {
        if self.has_begun(id) {
            self.guarded(id, self.carry_out_begun(id, true)).await;
            return Ok(Learnt::News);
        }
        let Some(stored) = operations::load(self.store.reader(), id).await? else { return Ok(Learnt::Nothing) };
        if !matches!(stored.operation.state, State::Pending { .. } | State::Unknown { .. }) {
            return Ok(Learnt::Nothing);
        }
        // Staff decide about what was tried before; what never was comes from a tap.
        let fresh = stored.operation.attempts == 0;
        let did = self.guarded(id, self.act(stored, fresh, !fresh)).await;
        Ok(if let Did::Held(_) = did { Learnt::Nothing } else { Learnt::News })
    }

    /// Goes on with an attempt that nobody has named: its transaction may have been undone.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be read.
    pub async fn go_on_unnamed(&self, id: OperationId) -> Result<Learnt, StoreError> {
        self.guarded(id, self.carry_out_begun(id, false)).await;
        Ok(Learnt::News)
    }

    /// Whether this process has begun an attempt of an operation and not made its call yet.
    #[must_use]
    pub fn has_begun(&self, id: OperationId) -> bool {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&id)
    }

    /// Attempts begun with their taps that nobody has named by `now`; all of them without a moment.
    #[must_use]
    pub fn left_begun(&self, now: Option<Timestamp>) -> Vec<OperationId> {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let left = begun.iter().filter(|(_, begun)| now.is_none_or(|now| begun.due_at <= now));
        left.map(|(id, _)| *id).filter(|id| !busy.contains(id)).collect()
    }

    /// When the first attempt begun with its tap is made without being named.
    #[must_use]
    pub fn next_begun(&self) -> Option<Timestamp> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).values().map(|begun| begun.due_at).min()
    }

    /// Makes the call of an attempt that began with the tap, if that was committed. Its lease holds off everybody else until
    /// then, and is looked at once more right before the call.
    async fn carry_out_begun(&self, id: OperationId, is_committed: bool) -> Result<Did, StoreError> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        let Some(Begun { stored, prepared, lease_end, .. }) = begun else { return Ok(Did::Nothing) };
        if !is_committed {
            // What was undone with its transaction is in no database.
            let now = operations::load(self.store.reader(), id).await?;
            if now.is_none_or(|now| now.rev != stored.rev || now.operation.state != stored.operation.state) {
                return Ok(Did::Nothing);
            }
        }
        self.call(stored, Ok(prepared), lease_end).await
    }
}
