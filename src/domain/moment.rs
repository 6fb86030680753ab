//! When a slot begins. A form writes its times as people read them, `2026-12-07T10:00`; the form's zone makes a moment
//! of them, so that the same hour is meant in the summary, in the CRM and on a machine that runs elsewhere.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// Local time minus UTC, in minutes, where a form does not say: Moscow, as for staff.
pub const DEFAULT_OFFSET: i16 = 3 * 60;

/// The largest distance from UTC, in minutes. Source: no country is further than UTC+14.
const LARGEST_OFFSET: i16 = 14 * 60;

/// When a slot begins, and the zone it was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begins {
    /// The moment.
    pub at: Timestamp,
    /// Local time minus UTC, in minutes.
    pub utc_offset: i16,
}

impl Begins {
    /// Reads `2026-12-07T10:00` in a zone `utc_offset` minutes from UTC; seconds and a zone of its own (`Z`, `+05:00`)
    /// may follow. `None` for anything else: a slot may be called as its form likes.
    #[must_use]
    pub fn parse(written: &str, utc_offset: i16) -> Option<Self> {
        let (day, time) = written.split_once('T')?;
        let [year, month, day] = numbers(day, '-', [4, 2, 2])?;
        let (clock, utc_offset) = match time.find(['Z', '+', '-']) {
            None => (time, utc_offset),
            Some(at) => match time.split_at(at) {
                (clock, "Z") => (clock, 0),
                (clock, zone) => (clock, offset(zone)?),
            },
        };
        let [hour, minute, second] =
            numbers(clock, ':', [2, 2, 2]).or_else(|| numbers(clock, ':', [2, 2]).map(|[h, m]| [h, m, 0]))?;
        let known = (1..=12).contains(&month) && (1..=last_day(year, month)).contains(&day);
        if !known || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - i64::from(utc_offset);
        Some(Self { at: Timestamp((minutes * 60 + second) * 1_000), utc_offset })
    }

    /// `UTC+3`, `UTC+5:30`, `UTC−4`, `UTC`: as people of any language read it.
    #[must_use]
    pub fn zone(&self) -> String {
        let (hours, minutes) = (self.utc_offset.unsigned_abs() / 60, self.utc_offset.unsigned_abs() % 60);
        let sign = if self.utc_offset < 0 { '−' } else { '+' };
        match (hours, minutes) {
            (0, 0) => "UTC".to_owned(),
            (_, 0) => format!("UTC{sign}{hours}"),
            _ => format!("UTC{sign}{hours}:{minutes:02}"),
        }
    }

    /// Whether nothing but the default zone was ever said of it.
    #[must_use]
    pub fn is_usual(begins: &Option<Self>) -> bool {
        begins.is_none_or(|begins| begins.utc_offset == DEFAULT_OFFSET)
    }
}

/// Minutes of `+03:00`, from −14:00 to +14:00.
#[must_use]
pub fn offset(text: &str) -> Option<i16> {
    let mut letters = text.chars();
    let sign = match letters.next()? {
        '+' => 1,
        '-' | '−' => -1,
        _ => return None,
    };
    let [hours, minutes] = numbers(letters.as_str(), ':', [2, 2])?;
    let total = i16::try_from(hours * 60 + minutes).ok()?;
    (minutes < 60 && total <= LARGEST_OFFSET).then_some(sign * total)
}

/// Numbers of just so many digits each.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut read = [0; N];
    let mut parts = text.split(separator);
    for (number, wanted) in read.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == wanted && part.bytes().all(|c| c.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(read)
}

/// The last day of a month.
fn last_day(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01, counted in years that begin in March (proleptic Gregorian calendar).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_is_a_moment_in_its_zone() {
        for (written, offset, moment, zone) in [
            ("2026-12-07T10:00", 180, "2026-12-07T07:00:00Z", "UTC+3"),
            ("2026-12-07T10:00", 300, "2026-12-07T05:00:00Z", "UTC+5"),
            ("2026-12-07T00:30:15", 330, "2026-12-06T19:00:15Z", "UTC+5:30"),
            ("2028-02-29T23:59", -240, "2028-03-01T03:59:00Z", "UTC−4"),
            ("2026-12-07T10:00Z", 180, "2026-12-07T10:00:00Z", "UTC"),
            ("2026-12-07T10:00+12:00", 180, "2026-12-06T22:00:00Z", "UTC+12"),
            ("2026-12-07T10:00-09:30", 180, "2026-12-07T19:30:00Z", "UTC−9:30"),
        ] {
            let begins = Begins::parse(written, offset).unwrap();
            assert_eq!((begins.at.rfc3339().as_str(), begins.zone().as_str()), (moment, zone), "{written}");
        }
    }

    #[test]
    fn what_is_no_time_is_just_a_name() {
        for written in [
            "",
            "morning",
            "Tuesday",
            "2026-12-07",
            "2026-12-07T",
            "2026-12-07T24:00",
            "2026-12-07T10:60",
            "2026-02-29T10:00",
            "2026-13-01T10:00",
            "2026-1-07T10:00",
            "2026-12-07T10",
            "2026-12-07T10:00+3",
            "2026-12-07T10:00+15:00",
        ] {
            assert_eq!(Begins::parse(written, 180), None, "{written}");
        }
    }

    #[test]
    fn a_zone_is_read_as_people_write_it() {
        for (text, read) in [
            ("+03:00", Some(180)),
            ("-09:30", Some(-570)),
            ("−04:00", Some(-240)),
            ("+00:00", Some(0)),
            ("03:00", None),
            ("+3", None),
            ("+-03:00", None),
            ("+15:00", None),
            ("+03:60", None),
            ("", None),
        ] {
            assert_eq!(offset(text), read, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_moment_written_in_utc_reads_as_itself(at in 0_i64..4_102_444_800) {
            let at = Timestamp(at * 1_000);
            prop_assert_eq!(Begins::parse(&at.rfc3339(), 180).map(|begins| begins.at), Some(at));
        }

        #[test]
        fn any_text_is_read_or_refused_without_harm(text in ".*", offset in any::<i16>()) {
            let _ = Begins::parse(&text, offset);
        }
    }
}
