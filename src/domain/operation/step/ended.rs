//! `created`, `rejected`, `cancelled`: the end. What still comes in is recorded, and a second ticket is reported.

use super::{AttemptEnd, Effect, Event, State, Ticket, Turn, Watch};

pub(super) fn step(turn: &mut Turn<'_>, event: &Event) -> Option<()> {
    let ours = match &turn.before.state {
        State::Created { ticket } => Some(ticket.clone()),
        State::Rejected { .. } => None,
        _ => return None,
    };
    match event {
        Event::Created { attempt, ticket } => {
            turn.end_attempt(*attempt, AttemptEnd::Created);
            report(turn, ours, std::slice::from_ref(ticket));
        }
        Event::Refused { attempt, .. } => turn.end_attempt(*attempt, AttemptEnd::Refused),
        Event::NotSent { attempt, .. } => turn.end_attempt(*attempt, AttemptEnd::NotSent),
        Event::Unfit { attempt, .. } => turn.end_attempt(*attempt, AttemptEnd::Unfit),
        Event::InFlight { attempt, .. } => turn.end_attempt(*attempt, AttemptEnd::InFlight),
        Event::Exists { attempt } => turn.end_attempt(*attempt, AttemptEnd::Exists),
        Event::Lost { attempt } => turn.end_attempt(*attempt, AttemptEnd::Lost),
        // A look may have begun before the end, when nothing was watched yet.
        Event::Found { tickets, asked_at } if !tickets.is_empty() => {
            match (report(turn, ours, tickets), turn.before.watch) {
                (true, _) => {}
                (false, Some(watch)) => go_on_watching(turn, watch, *asked_at >= watch.until),
                (false, None) => return None,
            }
        }
        Event::Missed { asked_at } => {
            let watch = turn.before.watch?;
            go_on_watching(turn, watch, *asked_at >= watch.until);
        }
        // A look that was not answered is no last look, but a CRM that has gone away is not asked for ever.
        Event::Unsure { .. } => {
            let watch = turn.before.watch?;
            go_on_watching(turn, watch, turn.at >= watch.until.plus(turn.policy.watch));
        }
        _ => return None,
    }
    Some(())
}

/// Reports the tickets if one of them is not ours, and then stops watching: staff have it now.
fn report(turn: &mut Turn<'_>, ours: Option<Ticket>, seen: &[Ticket]) -> bool {
    let is_ours =
        |ticket: &Ticket| ours.as_ref().is_some_and(|ours| ours.id == ticket.id || ours.number == ticket.number);
    if seen.iter().all(is_ours) {
        return false;
    }
    let mut tickets: Vec<_> = ours.clone().into_iter().collect();
    tickets.extend(seen.iter().filter(|ticket| !is_ours(ticket)).cloned());
    let numbers: Vec<_> = tickets.iter().map(|ticket| ticket.number.as_str()).collect();
    turn.note(format!("tickets {}", numbers.join(", ")));
    turn.after.watch = None;
    turn.effects.push(Effect::ReportTwin { tickets });
    true
}

fn go_on_watching(turn: &mut Turn<'_>, watch: Watch, that_was_the_last: bool) {
    let next = turn.next_watch(watch.until);
    // The last look is made at the end, or as soon after it as may be.
    let due_at = if turn.at < watch.until { next.min(watch.until) } else { next };
    turn.after.watch = (!that_was_the_last).then_some(Watch { due_at, until: watch.until });
}
