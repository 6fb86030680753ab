//! `sending`: an attempt has begun and may be on the wire.

use super::{AttemptEnd, Event, Ground, RejectedBy, ReviewReason, State, Turn};
use crate::clock::Timestamp;

pub(super) fn step(turn: &mut Turn<'_>, event: &Event) -> Option<()> {
    let State::Sending { attempt: current, lease_end, ground, began } = turn.before.state else { return None };
    if event.attempt().is_some_and(|attempt| attempt != current) {
        return turn.late_answer(event, true);
    }
    match event {
        Event::Created { attempt, ticket } => {
            turn.end_attempt(*attempt, AttemptEnd::Created);
            turn.create(ticket, turn.on_wire_attempts());
        }
        Event::Refused { attempt, message } => {
            turn.end_attempt(*attempt, AttemptEnd::Refused);
            refused(turn, message, ground, began);
        }
        Event::NotSent { attempt, retry_at } => {
            turn.end_attempt(*attempt, AttemptEnd::NotSent);
            not_sent(turn, ground, *retry_at);
        }
        Event::Unfit { attempt, detail } => {
            // Not on the wire, and no pause helps: whoever mends the profile has it created after all.
            turn.end_attempt(*attempt, AttemptEnd::Unfit);
            turn.note(detail.clone());
            turn.ask_a_human(ReviewReason::Unfit);
        }
        Event::InFlight { attempt, retry_at } => {
            turn.end_attempt(*attempt, AttemptEnd::InFlight);
            turn.add_to_wire(began, turn.at);
            if turn.repeat_under_key(*retry_at).is_none() {
                turn.become_unknown(*retry_at);
            }
        }
        Event::Exists { attempt } => {
            turn.end_attempt(*attempt, AttemptEnd::Exists);
            turn.add_to_wire(began, turn.at);
            if turn.policy.can_look {
                turn.become_unknown(turn.at);
            } else {
                turn.ask_a_human(ReviewReason::ExistsUnseen);
            }
        }
        Event::Lost { attempt } => {
            turn.end_attempt(*attempt, AttemptEnd::Lost);
            turn.add_to_wire(began, turn.at);
            turn.become_unknown(turn.at);
        }
        Event::LeaseEnded if turn.at >= lease_end => {
            turn.end_attempt(current, AttemptEnd::LeaseEnded);
            // The sender may have begun writing until its lease ended, by its own clock or by ours.
            let until = lease_end.max(turn.at).plus(turn.policy.request_timeout);
            turn.add_to_wire(began, until);
            turn.become_unknown(turn.at);
        }
        Event::Found { tickets, .. } => return turn.late_look(tickets),
        _ => return None,
    }
    Some(())
}

/// A refusal is final, unless an earlier attempt of the same content may still be carried out, or was carried out and
/// is what the CRM refuses a repeat of: then only looking can tell. It has told where this attempt rests on absence, found
/// before it began; its answer may be recorded much later.
fn refused(turn: &mut Turn<'_>, message: &str, ground: Ground, began: Timestamp) {
    let absent = ground == Ground::Absent && began >= turn.policy.settled_at(turn.before.on_wire);
    if turn.before.on_wire.is_none() || absent {
        turn.note(message.to_owned());
        turn.reject(message, RejectedBy::Crm);
    } else if turn.policy.can_look {
        turn.note("refused, while an earlier attempt may have made it");
        turn.become_unknown(turn.at);
        if let State::Unknown { refused, .. } = &mut turn.after.state {
            *refused = Some(message.to_owned());
        }
    } else {
        turn.note(message.to_owned());
        turn.ask_a_human(ReviewReason::RefusedRepeat { message: message.to_owned() });
    }
}

/// This attempt made nothing; what entitled us to it may still hold.
fn not_sent(turn: &mut Turn<'_>, ground: Ground, retry_at: Timestamp) {
    if turn.out_of_patience() {
        let never = turn.before.on_wire.is_none();
        turn.ask_a_human(if never { ReviewReason::NeverSent } else { ReviewReason::NotResent });
    } else if ground == Ground::Absent {
        // Absence was found before this attempt; by the next one it may be out of date.
        turn.become_unknown(retry_at);
    } else {
        turn.pend(retry_at, ground);
    }
}
