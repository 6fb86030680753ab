//! What a stored operation needs next: a pure question, asked again after every restart.

use super::{Candidate, Event, Operation, Policy, State, step::may_send};
use crate::clock::Timestamp;

/// What to do with an operation now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextAction {
    /// Claim it and call the CRM.
    Send,
    /// Look up our key in the CRM.
    Look,
    /// Ask the CRM about the number that staff named.
    Check(Candidate),
    /// Tell the machine what time and policy alone decide.
    Tell(Event),
    /// Look for a late twin.
    Watch,
    /// Nothing before this moment.
    Wait(Timestamp),
    /// Nothing by itself: only a person, or a late answer, moves it.
    Nothing,
}

/// The next action for `operation` at `now`.
#[must_use]
pub fn next_action(operation: &Operation, now: Timestamp, policy: &Policy) -> NextAction {
    let Some(due_at) = operation.due_at() else { return NextAction::Nothing };
    match &operation.state {
        State::Pending { ground, .. } if !may_send(*ground, operation, now, policy) => {
            NextAction::Tell(Event::WaitedTooLong)
        }
        _ if now < due_at => NextAction::Wait(due_at),
        State::Pending { .. } => NextAction::Send,
        State::Sending { .. } => NextAction::Tell(Event::LeaseEnded),
        State::Unknown { candidate: Some(candidate), .. } => NextAction::Check(candidate.clone()),
        State::Unknown { .. } if policy.can_look => NextAction::Look,
        State::Unknown { .. } => NextAction::Tell(Event::LookImpossible),
        State::Created { .. } | State::Rejected { .. } if policy.can_look => NextAction::Watch,
        State::Created { .. } | State::Rejected { .. } | State::Review { .. } | State::Cancelled => NextAction::Nothing,
    }
}
