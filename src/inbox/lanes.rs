//! Turns: rows of one person are handled one after another, all people in parallel, within a bound.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::store::inbox::Claimed;

/// Rows waiting for their turn in this process.
#[derive(Debug, Default)]
pub struct Lanes {
    waiting: HashMap<i64, VecDeque<Claimed>>,
    ready: VecDeque<i64>,
    held: HashSet<i64>,
    running: usize,
}

impl Lanes {
    /// Adds rows. Within a lane they go in the order they were stored, whichever is brought here first: of two that came at
    /// the same moment the younger one would only find out that it has to wait.
    pub fn add(&mut self, rows: impl IntoIterator<Item = Claimed>) {
        for row in rows {
            let lane = row.lane;
            let queue = self.waiting.entry(lane).or_insert_with(|| {
                self.ready.push_back(lane);
                VecDeque::new()
            });
            if self.held.insert(row.row) {
                let place = queue.partition_point(|waiting| waiting.row < row.row);
                queue.insert(place, row);
            }
        }
    }

    /// The next row whose turn it is; its lane rests until [`Lanes::done`].
    pub fn take(&mut self) -> Option<Claimed> {
        while let Some(lane) = self.ready.pop_front() {
            match self.waiting.get_mut(&lane).and_then(VecDeque::pop_front) {
                Some(row) => {
                    self.running += 1;
                    return Some(row);
                }
                None => drop(self.waiting.remove(&lane)),
            }
        }
        None
    }

    /// A lane's row has ended: its next one may go, after the lanes that waited longer.
    pub fn done(&mut self, lane: i64, row: i64) {
        self.held.remove(&row);
        self.running = self.running.saturating_sub(1);
        match self.waiting.get(&lane) {
            Some(queue) if queue.is_empty() => drop(self.waiting.remove(&lane)),
            Some(_) => self.ready.push_back(lane),
            None => {}
        }
    }

    /// The rows that wait or run here.
    #[must_use]
    pub fn held(&self) -> &HashSet<i64> {
        &self.held
    }

    /// How many rows are being handled.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running
    }

    /// Whether nothing waits and nothing runs.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.running == 0 && self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::Timestamp, ids::UpdateId};

    fn row(row: i64, lane: i64) -> Claimed {
        Claimed { row, update: UpdateId(row), payload: String::new(), lane, attempts: 1, received_at: Timestamp(0) }
    }

    #[test]
    fn a_person_s_rows_go_in_the_order_they_were_stored() {
        let mut lanes = Lanes::default();
        lanes.add([row(3, 7), row(1, 7)]);
        lanes.add([row(2, 7)]);
        for expected in 1..=3 {
            assert_eq!(lanes.take().map(|row| row.row), Some(expected));
            lanes.done(7, expected);
        }
    }

    #[test]
    fn one_person_takes_turns_and_holds_nobody_up() {
        let mut lanes = Lanes::default();
        lanes.add([row(1, 7), row(2, 7), row(3, 8), row(2, 7)]);
        assert_eq!(lanes.take().map(|row| row.row), Some(1));
        assert_eq!(lanes.take().map(|row| row.row), Some(3));
        assert_eq!(lanes.take(), None, "lane 7 is still busy");
        lanes.done(7, 1);
        assert_eq!(lanes.take().map(|row| row.row), Some(2));
        lanes.add([row(4, 7)]);
        assert_eq!(lanes.take(), None);
        lanes.done(7, 0);
        lanes.done(8, 3);
        assert_eq!(lanes.take().map(|row| row.row), Some(4));
        lanes.done(7, 0);
        assert!(lanes.is_idle() && lanes.running() == 0);
    }
}
