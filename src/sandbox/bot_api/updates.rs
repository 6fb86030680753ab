//! The queue of updates: numbering, life time, confirmation by offset, repeats. Pure bookkeeping.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;

use crate::clock::Timestamp;

/// The number of the first update.
const FIRST_ID: i64 = 700_000_001;
/// How long messages and everything else stay in the queue.
pub(super) const LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long taps stay in the queue.
pub(super) const TAP_LIFE: Duration = Duration::from_secs(150);
/// How many updates of the past can be delivered again.
const REMEMBERED: usize = 20_000;
/// An offset further than this ahead of the next number is out of range.
const OFFSET_SLACK: i64 = 10;
/// The end of time.
const NEVER: Timestamp = Timestamp(i64::MAX);
/// Kinds that a bot gets only if it asks for them by name.
const ON_REQUEST: [&str; 3] = ["chat_member", "message_reaction", "message_reaction_count"];

/// Within one lane a webhook gets its updates in order: a chat's messages, or a person's taps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// Messages and edits of a chat, and the bot's membership in it.
    Chat(i64),
    /// Taps and whatever else belongs to a person.
    Person(i64),
}

/// One update in the queue.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    pub(super) id: i64,
    pub(super) lane: Lane,
    /// The JSON, repeated to the letter whenever it is delivered again.
    pub(super) text: Arc<str>,
    life: Duration,
    expires_at: Timestamp,
    /// To be delivered once more after it was confirmed.
    twice: bool,
    /// A repeat: delivered whatever the offset says, then gone.
    again: bool,
    /// A repeat that has been delivered.
    handed: bool,
}

/// The queue of one bot.
#[derive(Debug)]
pub(in crate::sandbox) struct Queue {
    next_id: i64,
    /// By number; a repeat stands where its number belongs.
    waiting: VecDeque<Queued>,
    /// Nothing in the queue ends before this; a long queue is not searched in vain at every look.
    ends_from: Timestamp,
    past: VecDeque<Queued>,
    allowed: Option<Vec<String>>,
    /// Every new update is delivered twice.
    pub(in crate::sandbox) twice: bool,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            next_id: FIRST_ID,
            waiting: VecDeque::new(),
            ends_from: NEVER,
            past: VecDeque::new(),
            allowed: None,
            twice: false,
        }
    }
}

impl Queue {
    /// Remembers which kinds are wanted: an unreadable list is ignored, an empty one means the usual kinds.
    pub(super) fn allow(&mut self, list: Option<&Value>) {
        let Some(list) = list.and_then(Value::as_array) else { return };
        let kinds: Option<Vec<_>> = list.iter().map(|kind| kind.as_str().map(str::to_owned)).collect();
        if let Some(kinds) = kinds {
            self.allowed = (!kinds.is_empty()).then_some(kinds);
        }
    }

    pub(super) fn allowed(&self) -> Option<&[String]> {
        self.allowed.as_deref()
    }

    fn wanted(&self, kind: &str) -> bool {
        match &self.allowed {
            Some(kinds) => kinds.iter().any(|wanted| wanted == kind),
            None => !ON_REQUEST.contains(&kind),
        }
    }

    /// Queues an update of a kind; `None` if the bot did not ask for this kind.
    pub(super) fn push(&mut self, kind: &str, lane: Lane, payload: &Value, now: Timestamp) -> Option<i64> {
        if !self.wanted(kind) {
            return None;
        }
        let life = if kind == "callback_query" { TAP_LIFE } else { LIFE };
        Some(self.push_raw(&format!("{}:{payload}", Value::from(kind)), lane, life, now))
    }

    /// Queues any update: the inside of its JSON object, to which its number is added in front.
    pub(super) fn push_raw(&mut self, inside: &str, lane: Lane, life: Duration, now: Timestamp) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        let comma = if inside.trim().is_empty() { "" } else { "," };
        let text = Arc::from(format!("{{\"update_id\":{id}{comma}{inside}}}"));
        let expires_at = now.plus(life);
        let update = Queued { id, lane, text, life, expires_at, twice: self.twice, again: false, handed: false };
        if self.past.len() == REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back(update.clone());
        self.ends_from = self.ends_from.min(expires_at);
        self.waiting.push_back(update);
        id
    }

    /// Delivers an old update again; false if it is not known.
    pub(in crate::sandbox) fn redeliver(&mut self, id: i64, now: Timestamp) -> bool {
        if let Some(waiting) = self.waiting.iter_mut().find(|update| update.id == id && !update.again) {
            waiting.twice = true;
            return true;
        }
        let Some(past) = self.past.iter().rev().find(|update| update.id == id) else { return false };
        let again =
            Queued { expires_at: now.plus(past.life), twice: false, again: true, handed: false, ..past.clone() };
        self.ends_from = self.ends_from.min(again.expires_at);
        let place = self.waiting.partition_point(|update| update.id <= id);
        self.waiting.insert(place, again);
        true
    }

    /// Lets numbers go on from `next`, as after an idle week; false while updates wait.
    pub(in crate::sandbox) fn renumber(&mut self, next: i64) -> bool {
        let empty = self.waiting.is_empty();
        if empty {
            self.next_id = next;
        }
        empty
    }

    fn expire(&mut self, now: Timestamp) {
        if self.ends_from > now {
            return;
        }
        self.waiting.retain(|update| update.expires_at > now);
        self.ends_from = self.waiting.iter().map(|update| update.expires_at).min().unwrap_or(NEVER);
    }

    /// How many updates wait.
    pub(in crate::sandbox) fn len(&mut self, now: Timestamp) -> usize {
        self.expire(now);
        self.waiting.len()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Confirms everything below the offset and hands out what is next, by number.
    pub(super) fn take(&mut self, offset: i64, limit: usize, now: Timestamp) -> Vec<Arc<str>> {
        self.expire(now);
        if offset < 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            self.waiting.drain(..self.waiting.len().saturating_sub(keep));
        } else if offset <= self.next_id + OFFSET_SLACK {
            self.waiting.retain_mut(|update| update.id >= offset || !update.confirm());
        }
        let mut handed = Vec::new();
        for update in self.waiting.iter_mut().take(limit) {
            update.handed = true;
            handed.push(Arc::clone(&update.text));
        }
        handed
    }

    /// The first updates of up to `count` lanes that are free.
    pub(super) fn heads(&mut self, now: Timestamp, count: usize, free: impl Fn(Lane) -> bool) -> Vec<Queued> {
        self.expire(now);
        let mut seen = HashSet::new();
        let heads = self.waiting.iter().filter(|update| free(update.lane) && seen.insert(update.lane));
        heads.take(count).cloned().collect()
    }

    /// A webhook took this update.
    pub(super) fn delivered(&mut self, update: &Queued) {
        let same = |other: &Queued| other.id == update.id && other.again == update.again;
        if let Some(place) = self.waiting.iter().position(same) {
            self.waiting[place].handed = true;
            if self.waiting[place].confirm() {
                self.waiting.remove(place);
            }
        }
    }
}

impl Queued {
    /// Whether the update is done with; one that is to come twice becomes its own repeat instead.
    fn confirm(&mut self) -> bool {
        if self.twice {
            (self.twice, self.again, self.handed) = (false, true, false);
            return false;
        }
        !self.again || self.handed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn queue(count: usize) -> Queue {
        let mut queue = Queue::default();
        for n in 0..count {
            queue.push("message", Lane::Chat(1), &json!({ "n": n }), NOW);
        }
        queue
    }

    fn ids(texts: &[Arc<str>]) -> Vec<i64> {
        texts.iter().map(|text| serde_json::from_str::<Value>(text).unwrap()["update_id"].as_i64().unwrap()).collect()
    }

    fn after(first: i64) -> Vec<i64> {
        (first..FIRST_ID + 3).collect()
    }

    #[test]
    fn an_offset_confirms_everything_below_it_for_good() {
        let mut queue = queue(3);
        assert_eq!(ids(&queue.take(0, 100, NOW)), after(FIRST_ID));
        assert_eq!(ids(&queue.take(FIRST_ID + 1, 100, NOW)), after(FIRST_ID + 1));
        assert_eq!(ids(&queue.take(0, 100, NOW)), after(FIRST_ID + 1));
        assert_eq!(ids(&queue.take(0, 1, NOW)), [FIRST_ID + 1]);
    }

    #[test]
    fn a_negative_offset_keeps_the_last_and_forgets_the_rest() {
        let mut queue = queue(3);
        assert_eq!(ids(&queue.take(-1, 100, NOW)), [FIRST_ID + 2]);
        assert_eq!(ids(&queue.take(0, 100, NOW)), [FIRST_ID + 2]);
    }

    #[test]
    fn an_offset_out_of_range_is_answered_from_the_head() {
        let mut queue = queue(3);
        assert_eq!(ids(&queue.take(FIRST_ID + 1_000, 100, NOW)), after(FIRST_ID));
        assert_eq!(ids(&queue.take(FIRST_ID + 3, 100, NOW)), [0_i64; 0]);
    }

    #[test]
    fn taps_die_after_150_seconds_and_messages_after_a_day() {
        let mut queue = queue(1);
        queue.push("callback_query", Lane::Person(1), &json!({}), NOW);
        assert_eq!(queue.len(NOW.plus(Duration::from_secs(149))), 2);
        assert_eq!(queue.len(NOW.plus(Duration::from_secs(150))), 1);
        assert_eq!(queue.len(NOW.plus(LIFE)), 0);
    }

    #[test]
    fn a_repeat_comes_after_its_confirmation_and_once() {
        let mut queue = queue(0);
        queue.twice = true;
        queue.push("message", Lane::Chat(1), &json!({}), NOW);
        let first = queue.take(0, 100, NOW);
        let second = queue.take(FIRST_ID + 1, 100, NOW);
        assert_eq!(first, second);
        assert!(queue.take(FIRST_ID + 1, 100, NOW).is_empty());
        assert!(queue.redeliver(FIRST_ID, NOW));
        assert_eq!(queue.take(FIRST_ID + 1, 100, NOW), first);
        assert!(queue.take(FIRST_ID + 1, 100, NOW).is_empty());
        assert!(!queue.redeliver(FIRST_ID + 9, NOW));
    }

    #[test]
    fn kinds_nobody_asked_for_are_not_queued() {
        let mut queue = Queue::default();
        let push = |queue: &mut Queue, kind| queue.push(kind, Lane::Chat(1), &json!({}), NOW).is_some();
        assert!(push(&mut queue, "message") && !push(&mut queue, "message_reaction"));
        queue.allow(Some(&json!(["callback_query"])));
        assert!(!push(&mut queue, "message") && push(&mut queue, "callback_query"));
        queue.allow(Some(&json!("nonsense")));
        assert!(!push(&mut queue, "message"), "an unreadable list is ignored");
        queue.allow(Some(&json!([])));
        assert!(push(&mut queue, "message"));
    }

    #[test]
    fn numbers_start_elsewhere_only_when_nothing_waits() {
        let mut queue = queue(1);
        assert!(!queue.renumber(5));
        queue.take(FIRST_ID + 1, 100, NOW);
        assert!(queue.renumber(5));
        assert_eq!(queue.push("message", Lane::Chat(1), &json!({}), NOW), Some(5));
        // The poller still sends its old offset: far ahead, so the answer comes from the head.
        assert_eq!(ids(&queue.take(FIRST_ID + 1, 100, NOW)), [5]);
    }
}
