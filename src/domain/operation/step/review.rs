//! `review`: a human must choose. A late answer may still choose for them.

use super::{Effect, Event, Ground, RejectedBy, State, Turn};
use crate::domain::operation::{Candidate, Decision};

pub(super) fn step(turn: &mut Turn<'_>, event: &Event) -> Option<()> {
    let Event::Decided(decision) = event else { return turn.late_answer(event, false) };
    match decision {
        Decision::Link { number, by } => {
            turn.note(format!("ticket {number}, to be checked"));
            check(turn, Candidate { number: number.clone(), by: *by, keyless: false });
        }
        Decision::LinkKeyless { number, by } => {
            turn.note(format!("ticket {number}, though it carries no key of ours"));
            check(turn, Candidate { number: number.clone(), by: *by, keyless: true });
        }
        Decision::LinkUnverified { ticket, .. } => {
            turn.link(ticket);
            turn.note(format!("ticket {}, not checked in the CRM", ticket.number));
        }
        Decision::LookAgain { .. } => {
            if !turn.policy.can_look {
                return None;
            }
            turn.become_unknown(turn.at);
            turn.effects.push(Effect::ShowCase);
        }
        Decision::CreateAfterAll { reason, .. } => {
            turn.note(reason.clone());
            // A version that never reached the CRM stays what it was: a first attempt.
            let ground = if turn.before.on_wire.is_some() { Ground::Decided } else { Ground::First };
            turn.pend_anew(turn.at, ground);
            turn.effects.push(Effect::ShowCase);
        }
        Decision::Reject { reason, .. } => {
            turn.note(reason.clone());
            turn.reject(reason, RejectedBy::Staff);
        }
    }
    Some(())
}

/// The CRM is asked about a number that staff named.
fn check(turn: &mut Turn<'_>, named: Candidate) {
    turn.become_unknown(turn.at);
    if let State::Unknown { candidate, .. } = &mut turn.after.state {
        *candidate = Some(named);
    }
    turn.effects.push(Effect::ShowCase);
}
