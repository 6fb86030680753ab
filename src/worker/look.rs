//! Looking: by our key after an unknown outcome and for late twins, by number when staff named one.

use std::sync::{Arc, PoisonError};

use super::{Did, Worker, did};
use crate::{
    crm::limiter::Sign,
    domain::{
        operation::{Event, Policy, State},
        outcome::{Look, Promise, Verified},
        ticket::Ticket,
    },
    ids::Marker,
    metrics::{self, Counter},
    store::{
        StoreError,
        operations::{self, Author, Stored},
    },
};

impl Worker {
    pub(super) async fn look(&self, stored: Stored) -> Result<Did, StoreError> {
        let asked_at = self.clock.now();
        self.store.points().pass("crm.look").await;
        let look = self.crm.look(stored.operation.key, &stored.marker).await;
        metrics::count(match look {
            Look::Found { .. } => Counter::LookFound,
            Look::Missed => Counter::LookMissed,
            Look::Unsure { .. } => Counter::LookUnsure,
            Look::Impossible => Counter::LookImpossible,
        });
        if let Some(sign) = Sign::of_look(&look) {
            self.limiter.lock().unwrap_or_else(PoisonError::into_inner).note(self.clock.now(), sign);
        }
        if let Look::Missed | Look::Unsure { .. } = look
            && matches!(stored.operation.state, State::Unknown { .. })
            && self.key_is_known_dropped().await?
        {
            return self.give_up_looking(&stored).await;
        }
        let (event, detail) = match look {
            Look::Found { tickets } => (Event::Found { tickets, asked_at }, None),
            Look::Missed => (Event::Missed { asked_at }, None),
            Look::Unsure { detail, wait } => {
                let pause = self.policy.spacing.max(wait.unwrap_or_default());
                (Event::Unsure { retry_at: self.clock.now().plus(pause) }, Some(detail))
            }
            Look::Impossible => (Event::LookImpossible, None),
        };
        Ok(did(self.tell(&stored, event, detail).await?.is_some()))
    }

    /// Nothing a search shows or does not show means anything where our key is dropped: a person is asked at once. Where
    /// the key's field is also what makes a repeat harmless, a repeat would double.
    async fn give_up_looking(&self, stored: &Stored) -> Result<Did, StoreError> {
        let detail = Some("the CRM does not keep our key: no search means anything".to_owned());
        let author = Author { detail, ..self.author.clone() };
        let policy = if self.crm.key_is_a_header() {
            Arc::clone(&self.policy)
        } else {
            Arc::new(Policy { promise: Promise::Blind, ..(*self.policy).clone() })
        };
        Ok(did(self.tell_by(stored, Event::LookImpossible, Some(stored.rev), author, policy).await?.is_some()))
    }

    pub(super) async fn check(&self, stored: Stored, number: &str) -> Result<Did, StoreError> {
        let (event, detail) = match self.crm.verify(number, stored.operation.key, &stored.marker).await {
            // Two people may have named one number for two operations at once: the first to be confirmed has it.
            Verified::Ours { ticket } | Verified::Exists { ticket } => match self.owner_of(&ticket, &stored).await? {
                Some(other) => (
                    Event::CandidateFalls { exists: true },
                    Some(format!("ticket {} already belongs to {other}", ticket.number)),
                ),
                None => (Event::CandidateStands { ticket }, None),
            },
            Verified::Foreign => (Event::CandidateFalls { exists: true }, None),
            Verified::Absent => (Event::CandidateFalls { exists: false }, None),
            Verified::Unsure { detail } => (Event::Unsure { retry_at: self.clock.now() }, Some(detail)),
            Verified::Impossible => (Event::LookImpossible, None),
        };
        Ok(did(self.tell(&stored, event, detail).await?.is_some()))
    }

    /// The other operation that ended in this very ticket, if one did.
    async fn owner_of(&self, ticket: &Ticket, stored: &Stored) -> Result<Option<Marker>, StoreError> {
        let linked = operations::by_ticket_number(self.store.reader(), self.bot, &ticket.number).await?;
        let other = linked.into_iter().find(|other| other.operation.id != stored.operation.id);
        Ok(other.map(|other| other.marker))
    }
}
