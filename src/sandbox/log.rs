//! The calls a server received, in order: what a checker outside the service reads.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::clock::Timestamp;

/// How many calls are kept; the oldest go first.
const KEPT: usize = 20_000;

/// What became of a call that has not been answered yet.
const OPEN: &str = "open";

#[derive(Debug)]
struct Entry {
    seq: u64,
    at: Timestamp,
    name: String,
    outcome: &'static str,
    /// What belongs to this server: `method`, `params`, or `path`, `key`, `ticket`.
    more: Value,
}

/// A bounded call log.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    entries: VecDeque<Entry>,
    last_seq: u64,
}

impl CallLog {
    /// Notes an arrived call; `more` is an object of further fields. Answers its number.
    pub(super) fn open(&mut self, at: Timestamp, name: &str, more: Value) -> u64 {
        self.last_seq += 1;
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { seq: self.last_seq, at, name: name.to_owned(), outcome: OPEN, more });
        self.last_seq
    }

    fn entry(&mut self, seq: u64) -> Option<&mut Entry> {
        let first = self.entries.front()?.seq;
        self.entries.get_mut(usize::try_from(seq.checked_sub(first)?).ok()?)
    }

    /// Notes how a call ended.
    pub(super) fn close(&mut self, seq: u64, outcome: &'static str) {
        if let Some(entry) = self.entry(seq) {
            entry.outcome = outcome;
        }
    }

    /// Adds a field to a call.
    pub(super) fn note(&mut self, seq: u64, field: &str, value: Value) {
        if let Some(entry) = self.entry(seq) {
            entry.more[field] = value;
        }
    }

    /// Every kept call, oldest first.
    pub(super) fn json(&self) -> Value {
        let calls: Vec<_> = self
            .entries
            .iter()
            .map(|entry| {
                let mut call = entry.more.clone();
                call["seq"] = json!(entry.seq);
                call["at"] = json!(entry.at);
                call["outcome"] = json!(entry.outcome);
                call
            })
            .collect();
        json!({ "calls": calls })
    }

    /// The last calls for the page, except those of one name (the poll that runs all the time).
    pub(super) fn lines(&self, source: &str, except: &str, count: usize) -> Vec<(Timestamp, Value)> {
        let wanted = self.entries.iter().rev().filter(|entry| !entry.name.eq_ignore_ascii_case(except)).take(count);
        wanted
            .map(|entry| {
                let line = format!("{} → {}", entry.name, entry.outcome);
                (entry.at, json!({ "at": entry.at, "source": source, "line": line }))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_calls_go_first_and_late_outcomes_find_their_call() {
        let mut log = CallLog::default();
        for n in 0..KEPT + 2 {
            log.open(Timestamp(0), "x", json!({ "n": n }));
        }
        log.close(1, "ok");
        log.close(3, "lost");
        log.note(3, "ticket", json!("1001"));
        let calls = log.json();
        assert_eq!(calls["calls"].as_array().unwrap().len(), KEPT);
        let first = &calls["calls"][0];
        assert_eq!((&first["seq"], &first["outcome"], &first["ticket"]), (&json!(3), &json!("lost"), &json!("1001")));
        assert_eq!(calls["calls"][1]["outcome"], "open");
    }
}
