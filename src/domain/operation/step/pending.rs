//! `pending`: the next attempt has not begun.

use super::{Effect, Event, Ground, ReviewReason, State, Turn, may_send};

pub(super) fn step(turn: &mut Turn<'_>, event: &Event) -> Option<()> {
    let State::Pending { ground, .. } = turn.before.state else { return None };
    match event {
        Event::Claimed { lease_end } if may_send(ground, turn.before, turn.at, turn.policy) => {
            let attempt = turn.before.attempts + 1;
            turn.after.attempts = attempt;
            turn.after.state = State::Sending { attempt, lease_end: *lease_end, ground, began: turn.at };
            turn.note(format!("attempt {attempt}"));
            turn.effects.push(Effect::BeginAttempt { attempt, lease_end: *lease_end });
        }
        Event::WaitedTooLong if !may_send(ground, turn.before, turn.at, turn.policy) => {
            if turn.policy.can_look {
                turn.become_unknown(turn.at);
            } else {
                turn.ask_a_human(ReviewReason::KeyExpired);
            }
        }
        Event::Cancelled if ground == Ground::First && turn.before.attempts == 0 => {
            turn.after.state = State::Cancelled;
            turn.effects.extend([Effect::ShowCard, Effect::FreeSlot, Effect::ReopenDraft]);
        }
        _ => return turn.late_answer(event, false),
    }
    Some(())
}
