//! Whether what comes now may have waited long at Telegram: then nobody can tell how old a tap among it is, and its client
//! no longer waits for an answer.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{clock::Timestamp, store::inbox::Claimed, worker::outage::TAPS_LIVE};

/// Nothing could come in for longer than this: a tap Telegram still has may be dead, so it counts as old. The mark that
/// polling leaves on the disk may be half a minute older than the last poll.
pub const DOUBTFUL: Duration = Duration::from_secs(45);

/// How old the last proof may be while a webhook is well: it is compared once a minute.
const COMPARED: Duration = Duration::from_secs(60);

/// Dates rows back that came to a question, or with a request, of `began`.
pub fn date_back(rows: &mut [Claimed], began: Timestamp) {
    rows.iter_mut().for_each(|row| row.received_at = row.received_at.min(began.minus(DOUBTFUL)));
}

/// The doubt of a process that receives by webhook. It ends when Telegram says that nothing waits, or when no tap of before
/// can be alive any more.
#[derive(Debug)]
pub struct Doubt(Mutex<Known>);

#[derive(Debug, Clone, Copy)]
struct Known {
    /// When updates last could come in.
    proven_at: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Doubt {
    /// Nobody has said yet when updates last could come in.
    #[must_use]
    pub fn unknown() -> Self {
        Self(Mutex::new(Known { proven_at: None, until: Some(Timestamp(i64::MAX)) }))
    }

    /// At a start: when updates last could come in, in whatever process; never, where `last` is `None`.
    pub fn starts(&self, last: Option<Timestamp>, now: Timestamp) {
        let mut known = self.known();
        *known = Known { proven_at: last, until: None };
        known.look(now);
    }

    /// Updates can come in now, and Telegram has said whether any wait.
    pub fn proven(&self, now: Timestamp, nothing_waits: bool) {
        let mut known = self.known();
        known.look(now);
        if nothing_waits {
            known.until = None;
        }
    }

    /// Whether an update that comes now may have waited long. Its coming is a proof too.
    pub fn is_on(&self, now: Timestamp) -> bool {
        let mut known = self.known();
        known.look(now);
        known.until.is_some_and(|until| now < until)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// A gap begins the doubt, whatever it was: a dead process or a frozen one.
    fn look(&mut self, now: Timestamp) {
        if self.proven_at.is_some_and(|at| now.since(at) > COMPARED + DOUBTFUL) {
            self.until = Some(now.plus(TAPS_LIVE));
        }
        self.proven_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_796_030_962_000);

    fn after(seconds: u64) -> Timestamp {
        START.plus(Duration::from_secs(seconds))
    }

    fn started(last: Option<Timestamp>) -> Doubt {
        let doubt = Doubt::unknown();
        assert!(doubt.is_on(START), "before anybody has said");
        doubt.starts(last, START);
        doubt
    }

    #[test]
    fn a_first_start_and_a_quick_restart_leave_no_doubt() {
        for last in [None, Some(START), Some(START.minus(COMPARED + DOUBTFUL)), Some(after(3_600))] {
            assert!(!started(last).is_on(START), "{last:?}");
        }
    }

    #[test]
    fn after_an_outage_it_lasts_until_nothing_waits_or_no_tap_can_live() {
        let long_ago = Some(START.minus(Duration::from_secs(3_600)));
        let doubt = started(long_ago);
        for second in [1, 60, 120] {
            doubt.proven(after(second), false);
        }
        assert!(doubt.is_on(after(149)));
        assert!(!doubt.is_on(after(150)));
        let doubt = started(long_ago);
        doubt.proven(after(1), true);
        assert!(!doubt.is_on(after(1)));
    }

    #[test]
    fn a_frozen_process_doubts_what_comes_first() {
        let doubt = started(Some(START));
        doubt.proven(after(60), true);
        // It was frozen for ten minutes; whichever comes first, an update or the comparison.
        assert!(doubt.is_on(after(660)));
        let doubt = started(Some(START));
        doubt.proven(after(660), false);
        assert!(doubt.is_on(after(661)));
    }

    #[test]
    fn while_updates_come_the_silence_of_telegrams_api_is_no_outage() {
        let doubt = started(Some(START));
        for minute in 1..10 {
            assert!(!doubt.is_on(after(60 * minute)), "{minute}");
        }
    }
}
