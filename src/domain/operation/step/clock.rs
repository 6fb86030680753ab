//! The clock jumped. Back: what was dated ahead is near again. Forward: less time has gone by than the clock shows, and
//! what must have been waited out has not been.

use std::time::Duration;

use super::{Event, State, Turn};
use crate::clock::Timestamp;

/// Moments that still lie ahead become nearer by as much as the clock had been wrong when the row was last written, so
/// that what was to happen half a minute after happens half a minute from now, and not in a year.
///
/// Nothing may come sooner by it than it could in truth. A window that counts from the last possible writing only grows.
/// The life of a key counts from the first one: how much of it passed while the clock was wrong nobody knows, so the
/// earliest moment that can be true stands for it.
pub(super) fn set_back(turn: &mut Turn<'_>, event: &Event) -> Option<()> {
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

/// Moments from which a wait is counted become later by as much as the clock jumped, so that the settle window, the
/// patience and the look-out last as long as they were meant to; never later than now, for they may have been written
/// after the jump. Misses before it are not trusted: some may have been counted too early.
///
/// The life of a key is left alone: in a machine that slept the key did grow older.
pub(super) fn set_forward(turn: &mut Turn<'_>, event: &Event) -> Option<()> {
    let Event::ClockSetForward { by } = event else { return None };
    turn.before.due_at()?;
    if by.is_zero() {
        return None;
    }
    let at = turn.at;
    let later = |moment: Timestamp| moment.max(moment.plus(*by).min(at));
    let after = &mut turn.after;
    after.waiting_since = later(after.waiting_since);
    if let Some(wire) = &mut after.on_wire {
        wire.last = later(wire.last);
    }
    if let Some(watch) = &mut after.watch {
        watch.until = watch.until.max(watch.until.plus(*by).min(at.plus(turn.policy.watch)));
    }
    if let State::Unknown { since, misses, silence, .. } = &mut after.state {
        *since = later(*since);
        *misses = 0;
        if let Some(silence) = silence {
            silence.since = later(silence.since);
        }
    }
    turn.note(format!("by {} s", by.as_secs()));
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
            operation::{Ground, OnWire, Operation, RejectedBy, Silence, Watch, tests::policy},
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

    fn set_forward(operation: &Operation, by: Duration) -> Operation {
        step(operation, &Event::ClockSetForward { by }, NOW, &policy(Promise::Searchable)).unwrap().operation
    }

    /// Lost 30 s ago in truth, with two misses; the clock has just been set an hour forward.
    fn lost_before_the_jump() -> Operation {
        let then = NOW.minus(AHEAD).minus(seconds(30));
        let mut operation = lost_in_the_future(then);
        operation.on_wire = Some(OnWire { attempts: 1, first: then, last: then });
        let silence = Some(Silence { since: then, looks: 1 });
        operation.state =
            State::Unknown { since: then, misses: 2, due_at: NOW, candidate: None, refused: None, silence };
        operation
    }

    #[test]
    fn what_must_be_waited_out_is_not_over_because_the_clock_jumped() {
        let policy = policy(Promise::Searchable);
        let after = set_forward(&lost_before_the_jump(), AHEAD);
        assert_eq!(policy.settled_at(after.on_wire), NOW.minus(seconds(30)).plus(policy.settle));
        let State::Unknown { since, misses, silence, .. } = after.state else { panic!("{:?}", after.state) };
        assert_eq!((since, misses), (NOW.minus(seconds(30)), 0));
        assert_eq!(silence.unwrap().since, NOW.minus(seconds(30)));
        assert_eq!(after.on_wire.unwrap().first, NOW.minus(AHEAD).minus(seconds(30)), "a key may have grown older");
    }

    #[test]
    fn a_jump_never_dates_what_has_been_after_now() {
        let after = set_forward(&lost_before_the_jump(), seconds(60 * 365 * 86_400));
        assert_eq!((after.on_wire.unwrap().last, after.waiting_since), (NOW, NOW));
        let ahead = lost_in_the_future(NOW);
        assert_eq!(set_forward(&ahead, AHEAD).on_wire, ahead.on_wire, "nor brings anything nearer");
    }

    #[test]
    fn a_look_out_lasts_as_long_as_it_was_meant_to() {
        let mut operation = lost_before_the_jump();
        operation.state = State::Rejected { reason: "no".to_owned(), by: RejectedBy::Staff };
        let until = NOW.plus(seconds(60));
        operation.watch = Some(Watch { due_at: NOW, until });
        assert_eq!(
            set_forward(&operation, seconds(600)).watch,
            Some(Watch { due_at: NOW, until: until.plus(seconds(600)) })
        );
        let most = NOW.plus(policy(Promise::Searchable).watch);
        assert_eq!(set_forward(&operation, seconds(86_400)).watch, Some(Watch { due_at: NOW, until: most }));
    }

    #[test]
    fn what_nothing_waits_for_is_left_alone() {
        let mut ended = lost_in_the_future(NOW);
        ended.state = State::Cancelled;
        assert!(step(&ended, &Event::ClockSetBack { ahead: AHEAD }, NOW, &policy(Promise::Keyed)).is_err());
        let mut pending = lost_in_the_future(NOW);
        pending.state = State::Pending { due_at: NOW.plus(AHEAD), ground: Ground::First };
        assert!(step(&pending, &Event::ClockSetBack { ahead: Duration::ZERO }, NOW, &policy(Promise::Keyed)).is_err());
        for (operation, by) in [(&ended, AHEAD), (&pending, Duration::ZERO)] {
            assert!(step(operation, &Event::ClockSetForward { by }, NOW, &policy(Promise::Keyed)).is_err());
        }
    }
}
