//! `unknown`: the CRM may hold it. Looked up, repeated under the CRM's own key, or given to a human; nothing else.

use super::{Event, Promise, RejectedBy, ReviewReason, Silence, State, Turn};
use crate::clock::Timestamp;

/// What is known of a doubt that is being looked into.
struct Doubt<'a> {
    since: Timestamp,
    misses: u32,
    due_at: Timestamp,
    /// A repeat that was refused once would be refused again: then only looking is left.
    refused: Option<&'a str>,
    silence: Option<Silence>,
}

impl Doubt<'_> {
    /// The same doubt, to be looked into again.
    fn goes_on(&self, misses: u32, due_at: Timestamp, silence: Option<Silence>) -> State {
        let refused = self.refused.map(str::to_owned);
        State::Unknown { since: self.since, misses, due_at, candidate: None, refused, silence }
    }
}

pub(super) fn step(turn: &mut Turn<'_>, event: &Event) -> Option<()> {
    let before = turn.before;
    let State::Unknown { since, misses, due_at, candidate, refused, silence } = &before.state else { return None };
    let (refused, silence) = (refused.as_deref(), *silence);
    let doubt = Doubt { since: *since, misses: *misses, due_at: *due_at, refused, silence };
    match (event, candidate) {
        (Event::Found { tickets, .. }, None) => found(turn, tickets)?,
        (Event::Missed { asked_at }, None) => missed(turn, &doubt, *asked_at),
        (Event::Unsure { retry_at }, None) => unsure(turn, &doubt, *retry_at),
        (Event::LookImpossible, None) => look_impossible(turn, &doubt),
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

fn missed(turn: &mut Turn<'_>, doubt: &Doubt<'_>, asked_at: Timestamp) {
    if doubt.refused.is_none() && turn.repeat_under_key(turn.at).is_some() {
        return;
    }
    if asked_at < doubt.due_at {
        // Another replica looked at the same time, or before the last miss: the pause between looks has not passed.
        return;
    }
    let settled_at = turn.policy.settled_at(turn.before.on_wire);
    let misses = if asked_at < settled_at { doubt.misses } else { doubt.misses + 1 };
    if misses >= turn.policy.looks {
        turn.note(format!("{misses} looks after the settle window found nothing"));
        match doubt.refused {
            Some(message) => turn.reject(message, RejectedBy::Crm),
            None => {
                let keyed = turn.policy.promise == Promise::Keyed;
                turn.absent(if keyed { ReviewReason::KeyExpired } else { ReviewReason::Absent });
            }
        }
    } else {
        let spaced = turn.at.plus(turn.policy.spacing);
        let due_at = if asked_at < settled_at { spaced.min(settled_at.max(turn.at)) } else { spaced };
        turn.after.state = doubt.goes_on(misses, due_at, None);
    }
}

/// A single look in vain says nothing of the time before it, in which nobody may have asked: only several in a row, over
/// the whole patience, are a silence.
fn unsure(turn: &mut Turn<'_>, doubt: &Doubt<'_>, retry_at: Timestamp) {
    if doubt.refused.is_none() && turn.repeat_under_key(retry_at).is_some() {
        return;
    }
    let before = doubt.silence.unwrap_or(Silence { since: turn.at, looks: 0 });
    let silence = Silence { looks: (before.looks + 1).min(turn.policy.looks), ..before };
    if silence.looks >= turn.policy.looks && turn.at.since(silence.since) >= turn.policy.look_patience {
        turn.ask_a_human(ReviewReason::CrmSilent);
    } else {
        turn.after.state = doubt.goes_on(doubt.misses, retry_at, Some(silence));
    }
}

fn look_impossible(turn: &mut Turn<'_>, doubt: &Doubt<'_>) {
    if let Some(message) = doubt.refused {
        turn.ask_a_human(ReviewReason::RefusedRepeat { message: message.to_owned() });
        return;
    }
    if turn.repeat_under_key(turn.at).is_some() {
        return;
    }
    let keyed = turn.policy.promise == Promise::Keyed;
    turn.ask_a_human(if keyed { ReviewReason::KeyExpired } else { ReviewReason::Blind });
}
