//! Working hours: when staff are reminded, and how long a case has waited while somebody could have looked at it.

use std::time::Duration;

use crate::clock::Timestamp;

/// A day, in milliseconds.
const DAY: i64 = 86_400_000;

/// The day of the week on which 1970 began, Monday being 0.
const THURSDAY: i64 = 3;

/// The days and hours in which staff work, in a zone without daylight saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkingHours {
    /// Minutes after local midnight at which work begins, 0 to 1439.
    pub begin: u16,
    /// Minutes after local midnight at which it ends, above `begin`, up to 1440.
    pub end: u16,
    /// Local time minus UTC, in minutes.
    pub offset: i16,
    /// On which days of the week, Monday first; at least one.
    pub days: [bool; 7],
}

impl Default for WorkingHours {
    fn default() -> Self {
        Self { begin: 9 * 60, end: 18 * 60, offset: 3 * 60, days: [true; 7] }
    }
}

impl WorkingHours {
    /// Whether somebody works at this moment.
    #[must_use]
    pub fn holds(&self, at: Timestamp) -> bool {
        let local = self.local(at);
        let minute = local.rem_euclid(DAY) / 60_000;
        self.works_on(local.div_euclid(DAY)) && (i64::from(self.begin)..i64::from(self.end)).contains(&minute)
    }

    /// How much working time lies between two moments; nothing if they are the wrong way round.
    #[must_use]
    pub fn between(&self, from: Timestamp, to: Timestamp) -> Duration {
        let worked = self.worked_until(to) - self.worked_until(from);
        Duration::from_millis(u64::try_from(worked).unwrap_or(0))
    }

    /// Midnight of the local day a moment is in.
    #[must_use]
    pub fn day_of(&self, at: Timestamp) -> Timestamp {
        Timestamp(at.0 - self.local(at).rem_euclid(DAY))
    }

    /// `30.11 12:29`, local time, for people.
    #[must_use]
    pub fn short(&self, at: Timestamp) -> String {
        let text = Timestamp(self.local(at)).rfc3339();
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or("??").to_owned();
        // Counted from the end: years beyond 9999 are longer.
        let end = text.len();
        if end < 20 {
            return text;
        }
        let (day, month) = (part(end - 12, end - 10), part(end - 15, end - 13));
        format!("{day}.{month} {}", part(end - 9, end - 4))
    }

    /// `12:29:22`, local time, for people.
    #[must_use]
    pub fn clock(&self, at: Timestamp) -> String {
        let text = Timestamp(self.local(at)).rfc3339();
        text.get(text.len().saturating_sub(9)..text.len().saturating_sub(1)).unwrap_or("??").to_owned()
    }

    fn local(&self, at: Timestamp) -> i64 {
        at.0.saturating_add(i64::from(self.offset) * 60_000)
    }

    /// Whether somebody works on a day, counted from 1 January 1970, a Thursday.
    fn works_on(&self, day: i64) -> bool {
        let of_week = usize::try_from((day + THURSDAY).rem_euclid(7)).unwrap_or_default();
        self.days.get(of_week).copied().unwrap_or(true)
    }

    /// Working milliseconds since the Monday before 1970 up to a moment.
    fn worked_until(&self, at: Timestamp) -> i64 {
        let (begin, end) = (i64::from(self.begin) * 60_000, i64::from(self.end) * 60_000);
        let local = self.local(at);
        let (day, now) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let since_monday = day + THURSDAY;
        let (weeks, of_week) = (since_monday.div_euclid(7), since_monday.rem_euclid(7));
        let count = |days: &[bool]| i64::try_from(days.iter().filter(|works| **works).count()).unwrap_or_default();
        let this_week = self.days.get(..usize::try_from(of_week).unwrap_or_default()).unwrap_or_default();
        let days = weeks.saturating_mul(count(&self.days)) + count(this_week);
        let today = if self.works_on(day) { now.clamp(begin, end) - begin } else { 0 };
        days.saturating_mul(end - begin) + today
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30, 12:29:22 in Moscow.
    const NOON: Timestamp = Timestamp(1_796_030_962_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn nights_do_not_count() {
        let hours = WorkingHours::default();
        assert!(hours.holds(NOON));
        let evening = NOON.plus(6 * HOUR);
        assert!(!hours.holds(evening), "18:29");
        assert_eq!(hours.between(NOON, evening), Duration::from_secs(5 * 3_600 + 30 * 60 + 38));
        assert_eq!(hours.between(evening, evening.plus(2 * HOUR)), Duration::ZERO);
        assert_eq!(hours.between(NOON, NOON.plus(24 * HOUR)), 9 * HOUR);
        assert_eq!(hours.between(NOON.plus(HOUR), NOON), Duration::ZERO);
    }

    #[test]
    fn days_off_do_not_count() {
        let weekdays = WorkingHours { days: [true, true, true, true, true, false, false], ..WorkingHours::default() };
        let day = 24 * HOUR;
        // A Monday.
        for (ahead, works) in [(0, true), (4, true), (5, false), (6, false), (7, true)] {
            assert_eq!(weekdays.holds(NOON.plus(ahead * day)), works, "{ahead}");
        }
        let friday = NOON.plus(4 * day);
        assert_eq!(weekdays.between(friday, friday.plus(2 * day)), Duration::from_secs(5 * 3_600 + 30 * 60 + 38));
        assert_eq!(weekdays.between(friday, friday.plus(3 * day)), 9 * HOUR);
        assert_eq!(weekdays.between(NOON, NOON.plus(7 * day)), 45 * HOUR);
        assert_eq!(weekdays.between(NOON.plus(5 * day), NOON.plus(6 * day)), Duration::ZERO);
        let before_1970 = Timestamp(-3 * DAY);
        assert_eq!(weekdays.between(before_1970, before_1970.plus(7 * day)), 45 * HOUR);
    }

    #[test]
    fn people_read_their_own_time() {
        let hours = WorkingHours::default();
        assert_eq!(hours.short(NOON), "30.11 12:29");
        assert_eq!(hours.clock(NOON), "12:29:22");
        assert_eq!(hours.short(hours.day_of(NOON)), "30.11 00:00");
        let east = WorkingHours { offset: 12 * 60, ..hours };
        assert_eq!(east.short(NOON), "30.11 21:29");
        assert_eq!(east.short(NOON.plus(3 * HOUR)), "01.12 00:29");
    }
}
