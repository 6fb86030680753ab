//! What may happen next, chosen so that most of it means something and some of it never should.

use std::{sync::Arc, time::Duration};

use zayavka::{
    clock::{Dice, SeededDice, Timestamp},
    domain::{
        operation::{Decision, Event, NextAction, Operation, Policy, next_action},
        ticket::Ticket,
    },
};

use super::is;

pub struct Acts {
    dice: Arc<SeededDice>,
    /// The latest answer: delivered again now and then.
    answered: Option<Event>,
}

impl Acts {
    pub fn new(dice: Arc<SeededDice>) -> Self {
        Self { dice, answered: None }
    }

    pub fn one_in(&self, n: u64) -> bool {
        self.dice.below(n) == 0
    }

    /// Time passes: mostly a little, sometimes past a lease or a settle window; rarely the clock jumps back.
    pub fn later(&self, now: Timestamp) -> Timestamp {
        match self.dice.below(20) {
            0 => now.minus(Duration::from_secs(30)),
            1..5 => now.plus(Duration::from_secs(12)),
            5..8 => now.plus(Duration::from_secs(4)),
            _ => now.plus(Duration::from_millis(200)),
        }
    }

    pub fn next(&mut self, operation: &Operation, now: Timestamp, policy: &Policy) -> Event {
        if self.one_in(10)
            && let Some(again) = self.answered.clone()
        {
            return again;
        }
        // What the machine itself asks for, five times out of six; otherwise anything at all.
        let wanted = (!self.one_in(6)).then(|| self.wanted(operation, now, policy)).flatten();
        let event = wanted.unwrap_or_else(|| self.anything(operation, now));
        if event.attempt().is_some() {
            self.answered = Some(event.clone());
        }
        event
    }

    fn wanted(&self, operation: &Operation, now: Timestamp, policy: &Policy) -> Option<Event> {
        if is(operation, "sending") && !self.one_in(6) {
            return Some(self.answer(operation.attempts, now));
        }
        if is(operation, "review") {
            return Some(Event::Decided(self.decision()));
        }
        match next_action(operation, now, policy) {
            NextAction::Send => Some(Event::Claimed { lease_end: now.plus(policy.lease) }),
            NextAction::Look | NextAction::Watch => Some(self.look(now)),
            NextAction::Check(_) => Some(match self.dice.below(4) {
                0 => Event::CandidateStands { ticket: self.ticket() },
                1 => Event::CandidateFalls { exists: self.one_in(2) },
                2 => Event::LookImpossible,
                _ => Event::Unsure { retry_at: now.plus(Duration::from_secs(3)) },
            }),
            NextAction::Tell(event) => Some(event),
            // Due later: a worker may claim a fresh one early, a person may withdraw it.
            NextAction::Wait(_) if is(operation, "pending") => Some(if self.one_in(5) {
                Event::Cancelled
            } else {
                Event::Claimed { lease_end: now.plus(policy.lease) }
            }),
            NextAction::Wait(_) | NextAction::Nothing => None,
        }
    }

    fn anything(&self, operation: &Operation, now: Timestamp) -> Event {
        match self.dice.below(9) {
            0 => Event::Claimed { lease_end: now.plus(Duration::from_secs(8)) },
            1 => Event::LeaseEnded,
            2 => self.look(now),
            3 => Event::LookImpossible,
            4 => Event::WaitedTooLong,
            5 => Event::Decided(self.decision()),
            6 => Event::Cancelled,
            7 => Event::CandidateStands { ticket: self.ticket() },
            _ => {
                // An earlier attempt, the current one, or one that never began.
                let attempt = u32::try_from(self.dice.below(u64::from(operation.attempts) + 2)).unwrap_or(0);
                self.answer(attempt, now)
            }
        }
    }

    fn answer(&self, attempt: u32, now: Timestamp) -> Event {
        let retry_at = now.plus(Duration::from_secs(2));
        match self.dice.below(9) {
            0 => Event::Created { attempt, ticket: self.ticket() },
            1 => Event::Refused { attempt, message: "нет".to_owned() },
            2 | 3 => Event::NotSent { attempt, retry_at },
            4 => Event::InFlight { attempt, retry_at },
            5 => Event::Exists { attempt },
            6 => Event::Unfit { attempt, detail: "{{ subject + 1 }}".to_owned() },
            _ => Event::Lost { attempt },
        }
    }

    fn look(&self, now: Timestamp) -> Event {
        let asked_at = if self.one_in(4) { now.minus(Duration::from_secs(5)) } else { now };
        match self.dice.below(8) {
            0 => Event::Found { tickets: vec![self.ticket()], asked_at },
            1 => Event::Found { tickets: vec![self.ticket(), self.ticket()], asked_at },
            2 => Event::Found { tickets: Vec::new(), asked_at },
            3 | 4 => Event::Unsure { retry_at: now.plus(Duration::from_secs(3)) },
            _ => Event::Missed { asked_at },
        }
    }

    fn decision(&self) -> Decision {
        let by = 9001;
        match self.dice.below(5) {
            0 => Decision::Link { number: "7".to_owned(), by },
            1 => Decision::LinkUnverified { ticket: self.ticket(), by },
            2 => Decision::LookAgain { by },
            3 => Decision::CreateAfterAll { by, reason: "надо".to_owned() },
            _ => Decision::Reject { by, reason: "не надо".to_owned() },
        }
    }

    fn ticket(&self) -> Ticket {
        let number = (1_000 + self.dice.below(3)).to_string();
        Ticket { id: number.clone(), number, url: None }
    }
}
