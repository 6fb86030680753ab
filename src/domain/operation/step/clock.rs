//! The clock that dated this operation ran ahead and was put right: what it was going to do in its future is near again.

use std::time::Duration;

use super::{Event, State, Turn};
use crate::clock::Timestamp;

/// Moments that still lie ahead become nearer by as much as the clock had been wrong when the row was last written, so
/// that what was to happen half a minute after happens half a minute from now, and not in a year.
///
/// Nothing may come sooner by it than it could in truth. A window that counts from the last possible writing only grows.
/// The life of a key counts from the first one: how much of it passed while the clock was wrong nobody knows, so the
/// earliest moment that can be true stands for it.
pub(super) fn step(turn: &mut Turn<'_>, event: &Event) -> Option<()> {
    let Event::ClockSetBack { ahead } = event else { return None };
    turn.before.due_at()?;
    if ahead.is_zero() {
        return None;
    }
    let at = turn.at;
    let (past, coming) = (|moment| past(moment, *ahead, at), |moment| coming(moment, *ahead, at));
    let after = &mut turn.after;
    let confirmed_in_truth = after.confirmed_at <= at;
    after.confirmed_at = past(after.confirmed_at);
    after.waiting_since = past(after.waiting_since);
    if let Some(wire) = &mut after.on_wire {
        if wire.first > at {
            wire.first = if confirmed_in_truth { after.confirmed_at } else { Timestamp::default() };
        }
        wire.last = coming(wire.last);
    }
    if let Some(watch) = &mut after.watch {
        watch.due_at = coming(watch.due_at);
        watch.until = coming(watch.until);
    }
    match &mut after.state {
        State::Pending { due_at, .. } => *due_at = coming(*due_at),
        State::Sending { lease_end, began, .. } => {
            *lease_end = coming(*lease_end);
            *began = past(*began);
        }
        State::Unknown { since, due_at, silence, .. } => {
            *since = past(*since);
            *due_at = coming(*due_at);
            if let Some(silence) = silence {
                silence.since = past(silence.since);
            }
        }
        State::Review { .. } | State::Created { .. } | State::Rejected { .. } | State::Cancelled => {}
    }
    turn.note(format!("by {} s", ahead.as_secs()));
    Some(())
}

/// A moment that has been: never ahead of now.
fn past(moment: Timestamp, ahead: Duration, at: Timestamp) -> Timestamp {
    if moment > at { moment.minus(ahead).min(at) } else { moment }
}

/// A moment to come.
fn coming(moment: Timestamp, ahead: Duration, at: Timestamp) -> Timestamp {
    if moment > at { moment.minus(ahead) } else { moment }
}

#[cfg(test)]
mod tests {
    use super::{super::step, *};
    use crate::{
        domain::{
            operation::{Ground, OnWire, Operation, tests::policy},
            outcome::Promise,
        },
        ids::{ConfirmVersion, DraftId, ExternalKey, OperationId},
    };

    const NOW: Timestamp = Timestamp(1_000_000);
    const AHEAD: Duration = Duration::from_secs(3_600);

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Confirmed at `confirmed_at` and lost; the clock showed an hour more than now when that was written.
    fn lost_in_the_future(confirmed_at: Timestamp) -> Operation {
        let (name, then) = (uuid::Uuid::nil(), NOW.plus(AHEAD));
        let ids = (OperationId(name), DraftId(name), ConfirmVersion(1), ExternalKey(name));
        let fresh = Operation::confirmed(ids.0, ids.1, ids.2, ids.3, confirmed_at, confirmed_at);
        let state = State::Unknown {
            since: then,
            misses: 1,
            due_at: then.plus(seconds(20)),
            candidate: None,
            refused: None,
            silence: None,
        };
        let on_wire = Some(OnWire { attempts: 1, first: then.minus(seconds(40)), last: then.plus(seconds(5)) });
        Operation { state, on_wire, attempts: 1, ..fresh }
    }

    fn set_back(operation: &Operation) -> Operation {
        let event = Event::ClockSetBack { ahead: AHEAD };
        step(operation, &event, NOW, &policy(Promise::Keyed)).unwrap().operation
    }

    #[test]
    fn what_was_near_is_near_again() {
        let after = set_back(&lost_in_the_future(NOW.minus(seconds(60))));
        assert_eq!(after.due_at(), Some(NOW.plus(seconds(20))));
        let State::Unknown { since, misses, .. } = after.state else { panic!("{:?}", after.state) };
        assert_eq!((since, misses), (NOW, 1));
        assert_eq!(after.confirmed_at, NOW.minus(seconds(60)), "what was dated well stays");
    }

    #[test]
    fn a_key_never_seems_younger_and_a_window_never_shorter_than_they_are() {
        let known = set_back(&lost_in_the_future(NOW.minus(seconds(60)))).on_wire.unwrap();
        assert_eq!((known.first, known.last), (NOW.minus(seconds(60)), NOW.plus(seconds(5))));
        let unknown = set_back(&lost_in_the_future(NOW.plus(AHEAD).minus(seconds(90)))).on_wire.unwrap();
        assert_eq!(unknown.first, Timestamp(0), "nobody knows how long the key has lived");
    }

    #[test]
    fn what_nothing_waits_for_is_left_alone() {
        let mut ended = lost_in_the_future(NOW);
        ended.state = State::Cancelled;
        assert!(step(&ended, &Event::ClockSetBack { ahead: AHEAD }, NOW, &policy(Promise::Keyed)).is_err());
        let mut pending = lost_in_the_future(NOW);
        pending.state = State::Pending { due_at: NOW.plus(AHEAD), ground: Ground::First };
        assert!(step(&pending, &Event::ClockSetBack { ahead: Duration::ZERO }, NOW, &policy(Promise::Keyed)).is_err());
    }
}
