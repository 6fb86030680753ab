//! Looking: by our key after an unknown outcome and for late twins, by number when staff named one.

use std::sync::{Arc, PoisonError};

use super::{Did, Worker, did};
use crate::{
    crm::limiter::Sign,
    domain::{
        operation::{Event, OnAbsent, Policy, State},
        outcome::{Look, Promise, Verified},
        ticket::Ticket,
    },
    metrics::{self, Counter},
    store::{
        StoreError, leases,
        operations::{self, Advanced, Author, Stored},
    },
};

impl Worker {
    pub(super) async fn look(&self, stored: Stored) -> Result<Did, StoreError> {
        let asked_at = self.clock.now();
        // A clock that jumped just now would make the answer prove too much: it would come too late for the row.
        self.follow_the_clock().await?;
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
        if let Look::Found { tickets } = &look
            && let ([ticket], State::Unknown { .. }) = (tickets.as_slice(), &stored.operation.state)
        {
            self.attach(&stored, ticket).await;
        }
        // While it is not known whether the CRM keeps our key, a miss must not have a ticket made again.
        let key_due = if self.policy.on_absent == OnAbsent::Resend { self.key_due().await? } else { None };
        let (event, detail) = match look {
            Look::Missed if key_due.is_some() => {
                let retry_at = key_due.unwrap_or(asked_at).max(self.clock.now().plus(self.policy.spacing));
                (Event::Unsure { retry_at }, Some("whether the CRM keeps our key is not known yet".to_owned()))
            }
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
        Ok(did(self.tell_by(stored, Event::LookImpossible, true, author, policy).await?.is_some()))
    }

    pub(super) async fn check(&self, stored: Stored, number: &str) -> Result<Did, StoreError> {
        let (event, detail) = match self.crm.named(number, stored.operation.key, &stored.marker).await {
            Verified::Ours { ticket } | Verified::Exists { ticket } => return self.link(stored, ticket).await,
            // It can be told that it does not carry our key: only whoever knows that says that it is the one.
            Verified::Keyless { ticket } if is_named_keyless(&stored) => return self.link(stored, ticket).await,
            Verified::Keyless { .. } => (Event::CandidateKeyless, None),
            Verified::Foreign => (Event::CandidateFalls { exists: true }, None),
            Verified::Absent => (Event::CandidateFalls { exists: false }, None),
            Verified::Unsure { detail } => (Event::Unsure { retry_at: self.clock.now() }, Some(detail)),
            Verified::Impossible => (Event::LookImpossible, None),
        };
        Ok(did(self.tell(&stored, event, detail).await?.is_some()))
    }

    /// Links a ticket that was checked. Two people may have named one number for two operations at once, and two replicas
    /// carry it out: the first to be confirmed has it, since the other's transaction waits at the number's lease and then
    /// sees whose the ticket is.
    async fn link(&self, stored: Stored, ticket: Ticket) -> Result<Did, StoreError> {
        self.store.points().pass("crm.link").await;
        self.attach(&stored, &ticket).await;
        let now = self.clock.now();
        let (bot, id, rev) = (self.bot, stored.operation.id, stored.rev);
        let (policy, author) = (Arc::clone(&self.policy), Arc::new(self.author.clone()));
        let link = Arc::new((format!("link.{}", ticket.number), id.to_string(), ticket));
        let advanced = self
            .store
            .write(move |tx| {
                let (link, policy, author) = (Arc::clone(&link), Arc::clone(&policy), Arc::clone(&author));
                async move {
                    let (db, (name, holder, ticket)) = (tx.as_ref(), &*link);
                    if !leases::take(db, name, holder, now, now.plus(policy.lease)).await? {
                        return Ok(Advanced::Stale);
                    }
                    let owners = operations::by_ticket_number(db, bot, &ticket.number).await?;
                    let other = owners.into_iter().find(|other| other.operation.id != id);
                    let (event, detail) = match other {
                        Some(other) => {
                            let detail = format!("ticket {} already belongs to {}", ticket.number, other.marker);
                            (Event::CandidateFalls { exists: true }, Some(detail))
                        }
                        None => (Event::CandidateStands { ticket: ticket.clone() }, None),
                    };
                    let author = Author { detail, ..(*author).clone() };
                    let advanced = operations::advance(db, id, Some(rev), &event, now, &policy, &author).await?;
                    leases::give_back(db, name, holder).await?;
                    Ok(advanced)
                }
            })
            .await?;
        Ok(did(self.noted(&stored, "link", advanced).is_some()))
    }
}

/// Whether the number being checked was named by somebody who knows that it carries no key of ours.
fn is_named_keyless(stored: &Stored) -> bool {
    matches!(&stored.operation.state, State::Unknown { candidate: Some(candidate), .. } if candidate.keyless)
}
