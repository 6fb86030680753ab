//! Rows that cannot be worked on: one that cannot be read, or that the database refuses to change, must neither turn the
//! worker in circles nor stand before those behind it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{clock::Timestamp, ids::OperationId};

/// The first rest; each further one is twice as long.
const SHORTEST: Duration = Duration::from_secs(1);

/// The longest rest: an operator who has mended a row need not restart.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
struct Rest {
    until: Timestamp,
    length: Duration,
}

/// What rests in this process, and until when.
#[derive(Debug, Default)]
pub struct Resting(Mutex<HashMap<OperationId, Rest>>);

impl Resting {
    /// Lets an operation rest, longer each time. Returns how long.
    pub fn rest(&self, id: OperationId, now: Timestamp) -> Duration {
        let mut all = self.lock();
        let length = all.get(&id).map_or(SHORTEST, |before| (before.length * 2).min(LONGEST));
        all.insert(id, Rest { until: now.plus(length), length });
        length
    }

    /// It went well.
    pub fn wake(&self, id: OperationId) {
        self.lock().remove(&id);
    }

    /// Whether it rests still. A clock that was set back ends every rest.
    pub fn holds(&self, id: OperationId, now: Timestamp) -> bool {
        self.lock().get(&id).is_some_and(|rest| now < rest.until && rest.until.since(now) <= rest.length)
    }

    /// How many have rested and not gone well since.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// When the first rest ends.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.lock().values().map(|rest| rest.until).filter(|until| *until > now).min()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OperationId, Rest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn each_rest_is_longer_up_to_a_minute_and_good_work_ends_it() {
        let (resting, id) = (Resting::default(), OperationId(Uuid::from_u128(1)));
        let mut now = Timestamp(1_000_000);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(resting.rest(id, now), Duration::from_secs(seconds));
            assert!(resting.holds(id, now));
            let until = now.plus(Duration::from_secs(seconds));
            assert_eq!(resting.next(now), Some(until));
            assert!(!resting.holds(id, until), "over");
            assert!(!resting.holds(id, Timestamp(0)), "a clock set back by far does not prolong it");
            now = until;
        }
        assert_eq!(resting.count(), 1);
        resting.wake(id);
        assert_eq!((resting.count(), resting.next(now)), (0, None));
        assert_eq!(resting.rest(id, now), Duration::from_secs(1), "from the start again");
    }
}
