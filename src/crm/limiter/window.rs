//! How much went within the last minute, hour or day: the sum over any such time never exceeds its budget.

use std::{collections::VecDeque, time::Duration};

use crate::clock::Timestamp;

/// Into how many slices a window is cut: what goes within one slice is remembered as one entry.
const SLICES: u32 = 60;

/// One budget.
#[derive(Debug, Clone)]
pub(super) struct Window {
    length: Duration,
    most: u32,
    /// What went, oldest first, each entry with the moment of its last request.
    spent: VecDeque<Spent>,
}

#[derive(Debug, Clone, Copy)]
struct Spent {
    began: Timestamp,
    last: Timestamp,
    cost: u32,
}

impl Window {
    pub(super) fn new(length: Duration, most: u32) -> Self {
        Self { length, most: most.max(1), spent: VecDeque::new() }
    }

    /// How long until something that counts for `cost` fits; zero where it fits now. What is dearer than the whole budget
    /// goes when nothing else went.
    pub(super) fn wait(&mut self, now: Timestamp, cost: u32) -> Duration {
        // A clock that was set back starts what went before anew, once.
        for spent in &mut self.spent {
            spent.last = spent.last.min(now);
            spent.began = spent.began.min(now);
        }
        let length = self.length;
        while self.spent.front().is_some_and(|spent| spent.last.plus(length) <= now) {
            self.spent.pop_front();
        }
        let room = u64::from(self.most.saturating_sub(cost.min(self.most)));
        let mut sum: u64 = self.spent.iter().map(|spent| u64::from(spent.cost)).sum();
        let mut wait = Duration::ZERO;
        for spent in &self.spent {
            if sum <= room {
                break;
            }
            sum -= u64::from(spent.cost);
            wait = spent.last.plus(length).since(now);
        }
        wait
    }

    /// Something that counts for `cost` goes now.
    pub(super) fn take(&mut self, now: Timestamp, cost: u32) {
        let slice = self.length / SLICES;
        match self.spent.back_mut().filter(|spent| now.since(spent.began) < slice) {
            Some(spent) => {
                spent.last = spent.last.max(now);
                spent.cost = spent.cost.saturating_add(cost);
            }
            None => self.spent.push_back(Spent { began: now, last: now, cost }),
        }
    }
}
