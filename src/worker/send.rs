//! Sending: claim, one call, one recorded outcome.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use super::{Did, Worker};
use crate::{
    clock::Timestamp,
    crm::{Prepared, limiter::Sign},
    domain::{
        notice::{Alert, Notice, NoticeKind},
        operation::{Event, State},
        outcome::Outcome,
    },
    metrics::{self, Counter},
    store::{
        StoreError,
        operations::{Author, Stored},
        outbox::{self, Letter, STAFF},
        settings, to_json,
    },
};

impl Worker {
    pub(super) async fn send(&self, stored: Stored) -> Result<Did, StoreError> {
        let prepared = self.prepared(&stored)?;
        let lease_end = self.clock.now().plus(self.policy.lease);
        // The request is stored with the claim: a repeat sends the same bytes, whatever became of profile and settings.
        let author = Author { prepared: prepared.as_ref().ok().map(to_json).transpose()?, ..self.author.clone() };
        let claim = Event::Claimed { lease_end };
        let Some(stored) = self.tell_as(&stored, claim, true, author).await? else {
            self.rivalled.store(true, Ordering::Relaxed);
            return Ok(Did::Nothing);
        };
        self.call(stored, prepared, lease_end).await
    }

    /// Makes the call of an attempt that is on record, and stores its outcome.
    pub(super) async fn call(
        &self,
        stored: Stored,
        prepared: Result<Prepared, String>,
        lease_end: Timestamp,
    ) -> Result<Did, StoreError> {
        let attempt = stored.operation.attempts;
        let began = match stored.operation.state {
            State::Sending { began, .. } => began,
            _ => self.clock.now(),
        };
        let outcome = match prepared {
            // The lease is checked again right before writing: whoever was held up past it must not begin. Under a clock
            // that was set back since, nobody can tell.
            Ok(_) if !(began..lease_end).contains(&self.clock.now()) => {
                Outcome::NotSent { detail: "held up past its own lease before writing".to_owned(), wait: None }
            }
            Ok(prepared) => {
                self.store.points().pass("crm.create").await;
                let steps = self.steps(&stored, began, lease_end);
                let outcome = tokio::select! {
                    outcome = self.crm.create(&prepared, &steps) => outcome,
                    () = self.cut.cancelled() => {
                        Outcome::Lost { detail: "the process stopped before the answer came".to_owned() }
                    }
                };
                self.store.points().pass("crm.answered").await;
                outcome
            }
            Err(unfit) => Outcome::Unfit { detail: unfit },
        };
        metrics::count(counter(&outcome));
        self.limiter.lock().unwrap_or_else(PoisonError::into_inner).note(self.clock.now(), Sign::of(&outcome));
        let (event, detail) = self.event(attempt, &outcome);
        if let Outcome::AuthRefused { detail } = &outcome {
            self.pause_for_credentials(detail).await?;
        }
        // Without a number to compare: an answer is recorded even when the lease ended meanwhile.
        let author = Author { detail, ..self.author.clone() };
        self.tell_as(&stored, event, false, author).await?;
        if let Outcome::Created { ticket } = &outcome {
            self.read_back(&stored, ticket).await?;
        }
        Ok(Did::Moved)
    }

    /// The request of the first attempt, or a fresh one; a reason in words when the order fits no request.
    pub(super) fn prepared(&self, stored: &Stored) -> Result<Result<Prepared, String>, StoreError> {
        if let Some(stored_request) = &stored.prepared {
            let read = serde_json::from_str(stored_request);
            return read.map(Ok).map_err(|error| StoreError::corrupt("operations", stored.operation.id, error));
        }
        let Some(order) = &stored.order else {
            return Err(StoreError::corrupt("operations", stored.operation.id, "an open operation without its order"));
        };
        Ok(self.crm.prepare(order).map_err(|error| error.to_string()))
    }

    /// What an outcome means to the machine, and what is kept of it for people.
    fn event(&self, attempt: u32, outcome: &Outcome) -> (Event, Option<String>) {
        match outcome {
            Outcome::Created { ticket } => (Event::Created { attempt, ticket: ticket.clone() }, None),
            Outcome::Refused { message } => {
                (Event::Refused { attempt, message: message.clone() }, Some(message.clone()))
            }
            Outcome::NotSent { detail, wait } => {
                (Event::NotSent { attempt, retry_at: self.retry_at(attempt, *wait) }, Some(detail.clone()))
            }
            Outcome::Unfit { detail } => (Event::Unfit { attempt, detail: detail.clone() }, Some(detail.clone())),
            Outcome::AuthRefused { detail } => {
                (Event::NotSent { attempt, retry_at: self.retry_at(attempt, None) }, Some(detail.clone()))
            }
            // The outcome's own word says all there is to say, in the reader's language.
            Outcome::InFlight { wait } => (Event::InFlight { attempt, retry_at: self.retry_at(attempt, *wait) }, None),
            Outcome::Exists => (Event::Exists { attempt }, None),
            Outcome::Lost { detail } => (Event::Lost { attempt }, Some(detail.clone())),
        }
    }

    /// Stops sending until an owner resumes or the service starts with other credentials, and tells staff once.
    async fn pause_for_credentials(&self, detail: &str) -> Result<(), StoreError> {
        let (bot, now) = (self.bot, self.clock.now());
        let unknown = self.author.on_unknown.of(NoticeKind::StaffCard);
        let detail: Arc<str> = Arc::from(detail);
        self.store
            .write(move |tx| {
                let detail = Arc::clone(&detail);
                async move {
                    if settings::get(tx.as_ref(), settings::PAUSED).await?.is_some() {
                        return Ok(());
                    }
                    settings::set(tx.as_ref(), settings::PAUSED, settings::PAUSED_FOR_CREDENTIALS, now).await?;
                    let about = Alert::CrmAuth { detail: detail.to_string() };
                    let letter = Letter {
                        bot,
                        chat: STAFF,
                        thread: None,
                        kind: NoticeKind::StaffCard,
                        card: None,
                        operation: None,
                        notice: Notice::Alert { about },
                        on_unknown: unknown,
                    };
                    outbox::put(tx.as_ref(), &letter, now).await
                }
            })
            .await
    }
}

fn counter(outcome: &Outcome) -> Counter {
    match outcome {
        Outcome::Created { .. } => Counter::CrmCreated,
        Outcome::Refused { .. } => Counter::CrmRefused,
        Outcome::NotSent { .. } => Counter::CrmNotSent,
        Outcome::Unfit { .. } => Counter::CrmUnfit,
        Outcome::AuthRefused { .. } => Counter::CrmAuthRefused,
        Outcome::InFlight { .. } => Counter::CrmInFlight,
        Outcome::Exists => Counter::CrmExists,
        Outcome::Lost { .. } => Counter::CrmLost,
    }
}
