//! `unknown`: the CRM may hold it. Looked up, repeated under the CRM's own key, or given to a human; nothing else.

use super::{Event, Promise, ReviewReason, State, Turn};
use crate::clock::Timestamp;

pub(super) fn step(turn: &mut Turn<'_>, event: &Event) -> Option<()> {
    let State::Unknown { since, misses, due_at, candidate } = &turn.before.state else { return None };
    let (since, misses, due_at) = (*since, *misses, *due_at);
    match (event, candidate) {
        (Event::Found { tickets, .. }, None) => found(turn, tickets)?,
        (Event::Missed { asked_at }, None) => missed(turn, since, misses, due_at, *asked_at),
        (Event::Unsure { retry_at }, None) => unsure(turn, since, misses, *retry_at),
        (Event::LookImpossible, None) => look_impossible(turn),
        (Event::CandidateStands { ticket }, Some(_)) => turn.link(ticket),
        (Event::CandidateFalls { exists }, Some(candidate)) => {
            let number = candidate.number.clone();
            turn.ask_a_human(ReviewReason::BadNumber { number, exists: *exists });
        }
        (Event::CandidateKeyless, Some(candidate)) => {
            turn.ask_a_human(ReviewReason::Keyless { number: candidate.number.clone(), by: candidate.by });
        }
        (Event::Unsure { .. } | Event::LookImpossible, Some(candidate)) => {
            let number = candidate.number.clone();
            turn.ask_a_human(ReviewReason::Unchecked { number });
        }
        _ => return turn.late_answer(event, false),
    }
    Some(())
}

fn found(turn: &mut Turn<'_>, tickets: &[super::Ticket]) -> Option<()> {
    match tickets {
        [] => return None,
        [ticket] => turn.create(ticket, turn.on_wire_attempts().saturating_sub(1)),
        several => turn.ask_a_human(ReviewReason::Several { tickets: several.to_vec() }),
    }
    Some(())
}

fn missed(turn: &mut Turn<'_>, since: Timestamp, misses: u32, due_at: Timestamp, asked_at: Timestamp) {
    if turn.repeat_under_key(turn.at).is_some() {
        return;
    }
    if asked_at < due_at {
        // Another replica looked at the same time, or before the last miss: the pause between looks has not passed.
        return;
    }
    let settled_at = turn.policy.settled_at(turn.before.on_wire);
    let misses = if asked_at < settled_at { misses } else { misses + 1 };
    if misses >= turn.policy.looks {
        turn.note(format!("{misses} looks after the settle window found nothing"));
        let keyed = turn.policy.promise == Promise::Keyed;
        turn.absent(if keyed { ReviewReason::KeyExpired } else { ReviewReason::Absent });
    } else {
        let spaced = turn.at.plus(turn.policy.spacing);
        let due_at = if asked_at < settled_at { spaced.min(settled_at.max(turn.at)) } else { spaced };
        turn.after.state = State::Unknown { since, misses, due_at, candidate: None };
    }
}

fn unsure(turn: &mut Turn<'_>, since: Timestamp, misses: u32, retry_at: Timestamp) {
    if turn.repeat_under_key(retry_at).is_some() {
        return;
    }
    if turn.at.since(since) >= turn.policy.look_patience {
        turn.ask_a_human(ReviewReason::CrmSilent);
    } else {
        turn.after.state = State::Unknown { since, misses, due_at: retry_at, candidate: None };
    }
}

fn look_impossible(turn: &mut Turn<'_>) {
    if turn.repeat_under_key(turn.at).is_some() {
        return;
    }
    let keyed = turn.policy.promise == Promise::Keyed;
    turn.ask_a_human(if keyed { ReviewReason::KeyExpired } else { ReviewReason::Blind });
}
