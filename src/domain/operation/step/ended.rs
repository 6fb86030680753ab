//! `created`, `rejected`, `cancelled`: the end. What still comes in is recorded, and a second ticket is reported.

use super::{AttemptEnd, Effect, Event, State, Ticket, Turn};

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
        Event::InFlight { attempt, .. } => turn.end_attempt(*attempt, AttemptEnd::InFlight),
        Event::Exists { attempt } => turn.end_attempt(*attempt, AttemptEnd::Exists),
        Event::Lost { attempt } => turn.end_attempt(*attempt, AttemptEnd::Lost),
        Event::Found { tickets } if turn.before.watch.is_some() => {
            if !report(turn, ours, tickets) {
                go_on_watching(turn);
            }
        }
        Event::Missed { .. } if turn.before.watch.is_some() => go_on_watching(turn),
        Event::Unsure { .. } if turn.before.watch.is_some() => go_on_watching(turn),
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

fn go_on_watching(turn: &mut Turn<'_>) {
    let next = turn.next_watch();
    turn.after.watch = turn.before.watch.and_then(|mut watch| {
        (turn.at < watch.until).then(|| {
            watch.due_at = next.min(watch.until);
            watch
        })
    });
}
