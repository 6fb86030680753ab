//! The transition table: one function a state, and one typed refusal for every pair that is not listed.

mod clock;
mod ended;
mod pending;
mod review;
mod sending;
mod unknown;

use super::{
    AttemptEnd, Effect, Entry, Event, Ground, OnWire, Operation, Policy, RejectedBy, ReviewReason, Silence, State,
    Watch,
};
use crate::{
    clock::Timestamp,
    domain::{outcome::Promise, ticket::Ticket},
};

/// What one event made of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The operation after it.
    pub operation: Operation,
    /// What to write in the same transaction, in this order.
    pub effects: Vec<Effect>,
}

/// This event has no meaning in this state; nothing changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Illegal {
    /// The state's word.
    pub state: &'static str,
    /// The event's word.
    pub event: &'static str,
}

impl std::fmt::Display for Illegal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` has no meaning for an operation that is `{}`", self.event, self.state)
    }
}

impl std::error::Error for Illegal {}

/// Carries one event out at the moment `at`.
///
/// # Errors
/// [`Illegal`] when the event has no meaning in the operation's state, or answers an attempt that never began.
pub fn step(operation: &Operation, event: &Event, at: Timestamp, policy: &Policy) -> Result<Step, Illegal> {
    let illegal = Illegal { state: operation.state.name(), event: event.name() };
    if event.attempt().is_some_and(|attempt| attempt == 0 || attempt > operation.attempts) {
        return Err(illegal);
    }
    let mut turn = Turn { before: operation, after: operation.clone(), effects: Vec::new(), at, policy, detail: None };
    let taken = match &operation.state {
        _ if matches!(event, Event::ClockSetBack { .. }) => clock::set_back(&mut turn, event),
        _ if matches!(event, Event::ClockSetForward { .. }) => clock::set_forward(&mut turn, event),
        State::Pending { .. } => pending::step(&mut turn, event),
        State::Sending { .. } => sending::step(&mut turn, event),
        State::Unknown { .. } => unknown::step(&mut turn, event),
        State::Review { .. } => review::step(&mut turn, event),
        State::Created { .. } | State::Rejected { .. } | State::Cancelled => ended::step(&mut turn, event),
    };
    if taken.is_some() { Ok(turn.finish(event)) } else { Err(illegal) }
}

/// Whether `ground` still entitles us to send at `at`: a key outlives its CRM's memory, absence grows stale.
pub(super) fn may_send(ground: Ground, operation: &Operation, at: Timestamp, policy: &Policy) -> bool {
    match ground {
        Ground::First | Ground::Decided => true,
        Ground::SameKey => policy.key_lives(operation.on_wire, at),
        // Nothing else waits for a due moment: it is due from the moment that absence was found.
        Ground::Absent => operation.due_at().is_none_or(|found_at| !policy.absence_is_stale(found_at, at)),
    }
}

/// One step being taken. `Some(())` from a handler means taken, `None` means illegal.
struct Turn<'a> {
    before: &'a Operation,
    after: Operation,
    effects: Vec<Effect>,
    at: Timestamp,
    policy: &'a Policy,
    detail: Option<String>,
}

impl Turn<'_> {
    fn finish(mut self, event: &Event) -> Step {
        let by = if let Event::Decided(decision) = event { Some(decision.by()) } else { None };
        let entry = Entry {
            event: event.name().to_owned(),
            from: self.before.state.name().to_owned(),
            to: self.after.state.name().to_owned(),
            by,
            detail: self.detail.take().or_else(|| event.attempt().map(|attempt| format!("attempt {attempt}"))),
        };
        self.effects.insert(0, Effect::Record(entry));
        Step { operation: self.after, effects: self.effects }
    }

    fn note(&mut self, detail: impl Into<String>) {
        self.detail = Some(detail.into());
    }

    fn end_attempt(&mut self, attempt: u32, end: AttemptEnd) {
        self.effects.push(Effect::EndAttempt { attempt, end });
    }

    /// One more attempt whose fate nobody knows: it began at `began` and could have been written until `until`.
    fn add_to_wire(&mut self, began: Timestamp, until: Timestamp) {
        let known = self.after.on_wire;
        self.after.on_wire = Some(OnWire {
            attempts: known.map_or(0, |wire| wire.attempts) + 1,
            first: known.map_or(began, |wire| wire.first.min(began)),
            last: known.map_or(until, |wire| wire.last.max(until)),
        });
    }

    /// Waiting to be sent, entitled by `ground`.
    fn pend(&mut self, due_at: Timestamp, ground: Ground) {
        self.after.state = State::Pending { due_at, ground };
        self.effects.push(Effect::ShowCard);
    }

    /// Waiting to be sent as something new to wait for: patience starts over.
    fn pend_anew(&mut self, due_at: Timestamp, ground: Ground) {
        self.after.waiting_since = self.at;
        self.pend(due_at, ground);
    }

    /// The CRM may hold it: look from `due_at` on.
    fn become_unknown(&mut self, due_at: Timestamp) {
        let (since, misses) = (self.at, 0);
        self.after.state = State::Unknown { since, misses, due_at, candidate: None, refused: None, silence: None };
        self.effects.push(Effect::ShowCard);
    }

    fn ask_a_human(&mut self, reason: ReviewReason) {
        self.after.state = State::Review { since: self.at, reason: reason.clone() };
        self.after.reviewed = true;
        self.effects.push(Effect::ShowCard);
        self.effects.push(Effect::OpenCase { reason });
    }

    /// The end with a ticket that one of our calls made. `others` = further attempts whose fate nobody knows.
    fn create(&mut self, ticket: &Ticket, others: u32) {
        // As long as the CRM remembers the key, a further attempt can only name the same ticket again.
        let same = self.policy.key_lives(self.after.on_wire, self.at);
        self.end_with(ticket, others > 0 && !same);
    }

    /// The end with a ticket that a human named: any attempt on the wire may still make another.
    fn link(&mut self, ticket: &Ticket) {
        self.end_with(ticket, self.after.on_wire.is_some());
    }

    fn end_with(&mut self, ticket: &Ticket, another_may_land: bool) {
        self.note(format!("ticket {}", ticket.number));
        self.after.state = State::Created { ticket: ticket.clone() };
        self.watch_if(another_may_land);
        self.close();
    }

    fn reject(&mut self, reason: &str, by: RejectedBy) {
        self.after.state = State::Rejected { reason: reason.to_owned(), by };
        self.watch_if(self.after.on_wire.is_some());
        self.close();
        self.effects.extend([Effect::FreeSlot, Effect::ReopenDraft]);
    }

    fn close(&mut self) {
        self.effects.push(Effect::ShowCard);
        let late = self.at.since(self.before.confirmed_at) >= self.policy.tell_after;
        // Whoever was told that a human looks at it waits for word of them, and an edit makes no sound.
        let reviewed = self.before.reviewed || matches!(self.before.state, State::Review { .. });
        if late || reviewed {
            self.effects.push(Effect::TellOutcome);
        }
        // What ends with its very first attempt never stood before a human.
        let at_once = matches!(self.before.state, State::Sending { attempt: 1, ground: Ground::First, .. })
            && self.before.waiting_since == self.before.confirmed_at;
        if reviewed || !at_once {
            self.effects.push(Effect::CloseCase);
        }
    }

    /// Without a lookup there is nothing to watch with.
    fn watch_if(&mut self, may_land: bool) {
        self.after.watch = (may_land && self.policy.can_look).then(|| {
            let until = self.at.plus(self.policy.watch);
            Watch { due_at: self.next_watch(until).min(until), until }
        });
    }

    /// The next look of a watch that ends at `until`. Most twins come soon: looks begin as close as the CRM's index
    /// wants them, each pause is half as long as the watch has lasted, and none is longer than its tenth part. So there
    /// are never more than a few dozen.
    fn next_watch(&self, until: Timestamp) -> Timestamp {
        let watch = self.policy.watch;
        let lasted = watch.saturating_sub(until.since(self.at));
        self.at.plus(self.policy.spacing.max((lasted / 2).min(watch / 10)))
    }

    /// Since the first loss, or since the latest word to send it: how long it has been tried in vain.
    fn out_of_patience(&self) -> bool {
        let waiting = self.before.waiting_since;
        let since = self.after.on_wire.map_or(waiting, |wire| wire.first.max(waiting));
        self.at.since(since) >= self.policy.patience
    }

    /// Again under the same key, from `due_at` on: never at once, so that a CRM in trouble is not hammered, and not for
    /// ever. `None` when the CRM may have forgotten the key by then.
    fn repeat_under_key(&mut self, due_at: Timestamp) -> Option<()> {
        let due_at = due_at.max(self.at.plus(self.policy.backoff(self.before.attempts)));
        if !self.policy.key_lives(self.after.on_wire, due_at) {
            return None;
        }
        if self.out_of_patience() {
            self.ask_a_human(ReviewReason::NotResent);
        } else {
            self.pend(due_at, Ground::SameKey);
        }
        Some(())
    }

    /// What follows when it is as good as certain that no ticket exists. It is created again on its own once; what is
    /// lost twice and found neither time is for a human.
    fn absent(&mut self, otherwise: ReviewReason) {
        let resend = self.policy.on_absent == super::OnAbsent::Resend && self.policy.promise != Promise::Blind;
        if resend && self.on_wire_attempts() <= 1 {
            self.pend(self.at, Ground::Absent);
        } else {
            self.ask_a_human(otherwise);
        }
    }

    /// How many attempts nobody knows the fate of.
    fn on_wire_attempts(&self) -> u32 {
        self.before.on_wire.map_or(0, |wire| wire.attempts)
    }

    /// An answer for an attempt that is not, or no longer, the one being waited for.
    ///
    /// It is always recorded. A ticket settles the matter. A proof that nothing was made settles it only when that
    /// attempt is the only one there ever was, had not been heard of before, and nothing speaks for a ticket: neither
    /// the CRM, which showed some, nor a person, who named one.
    fn late_answer(&mut self, event: &Event, sending_another: bool) -> Option<()> {
        let a_ticket_is_spoken_for = matches!(
            self.before.state,
            State::Unknown { candidate: Some(_), .. }
                | State::Review { reason: ReviewReason::Several { .. } | ReviewReason::ExistsUnseen, .. }
        );
        let only_one =
            self.before.attempts == 1 && self.before.on_wire.is_some() && !sending_another && !a_ticket_is_spoken_for;
        match event {
            Event::Created { attempt, ticket } => {
                self.end_attempt(*attempt, AttemptEnd::Created);
                let others = self.on_wire_attempts().saturating_sub(1) + u32::from(sending_another);
                self.create(ticket, others);
            }
            Event::Refused { attempt, message } => {
                self.end_attempt(*attempt, AttemptEnd::Refused);
                if only_one {
                    self.after.on_wire = None;
                    self.reject(message, RejectedBy::Crm);
                }
            }
            Event::NotSent { attempt, retry_at } => {
                self.end_attempt(*attempt, AttemptEnd::NotSent);
                if only_one {
                    self.after.on_wire = None;
                    self.pend(*retry_at, Ground::First);
                    self.effects.push(Effect::CloseCase);
                }
            }
            Event::Unfit { attempt, detail } => {
                self.end_attempt(*attempt, AttemptEnd::Unfit);
                if only_one {
                    self.after.on_wire = None;
                    self.note(detail.clone());
                    self.ask_a_human(ReviewReason::Unfit);
                }
            }
            Event::InFlight { attempt, .. } => self.end_attempt(*attempt, AttemptEnd::InFlight),
            Event::Exists { attempt } => self.end_attempt(*attempt, AttemptEnd::Exists),
            Event::Lost { attempt } => self.end_attempt(*attempt, AttemptEnd::Lost),
            Event::Found { tickets, .. } => return self.late_look(tickets),
            _ => return None,
        }
        Some(())
    }

    /// What a lookup showed that began while the operation was still unknown: a ticket with our key settles the matter
    /// wherever it has got to since.
    fn late_look(&mut self, tickets: &[Ticket]) -> Option<()> {
        if let State::Sending { lease_end, began, .. } = self.before.state {
            self.add_to_wire(began, lease_end.max(self.at).plus(self.policy.request_timeout));
        }
        let others = self.after.on_wire.map_or(0, |wire| wire.attempts).saturating_sub(1);
        match (tickets, &self.before.state) {
            ([], _) | (_, State::Review { reason: ReviewReason::Several { .. }, .. }) => return None,
            ([ticket], _) => self.create(ticket, others),
            (several, _) => self.ask_a_human(ReviewReason::Several { tickets: several.to_vec() }),
        }
        Some(())
    }
}
