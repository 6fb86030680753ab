//! Time and chance as arguments. The one place that reads the wall clock and the system's randomness.

use std::{
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

/// A moment: whole milliseconds since 1970-01-01T00:00:00Z, as the database keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The moment `by` later; stops at the end of time instead of wrapping.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The moment `by` earlier.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long ago `earlier` was; zero if it lies ahead (clocks jump back).
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// `2026-11-30T09:29:22Z`, for journals and people.
    #[must_use]
    pub fn rfc3339(self) -> String {
        let (days, rest) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        // Civil date from a day count, by eras of 400 years starting in March (proleptic Gregorian calendar).
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let seconds = rest / 1_000;
        format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as Unix time in seconds: the one way HTTP servers write a date (RFC 9110, IMF-fixdate).
#[must_use]
pub fn http_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = text.trim().split_once(", ")?.1.split(' ');
    let day: i64 = parts.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let name = parts.next()?;
    let month = i64::try_from(MONTHS.iter().position(|month| *month == name)?).ok()? + 1;
    let year: i64 = parts.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = parts.next()?.split(':').map(|part| part.parse::<i64>().ok().filter(|n| (0..=60).contains(n)));
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    // Days of the civil calendar, counted in years that begin in March so that the leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(days * 86_400 + hours * 3_600 + minutes * 60 + seconds)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

/// Where the time comes from.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The current moment.
    fn now(&self) -> Timestamp;

    /// How long a clock has run that nobody can set: only differences mean something. It may stand still while the
    /// machine sleeps.
    fn steady(&self) -> Duration;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one reading of the wall clock")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp(since.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX)))
    }

    #[expect(clippy::disallowed_methods, reason = "the one reading of the steady clock")]
    fn steady(&self) -> Duration {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        BEGAN.get_or_init(Instant::now).elapsed()
    }
}

/// A clock that stands still until it is moved: time in a test's hand.
#[derive(Debug, Clone)]
pub struct ManualClock {
    now: Arc<AtomicI64>,
    /// Milliseconds by which the clock shows more than has gone by.
    jumped: Arc<AtomicI64>,
    began: i64,
}

impl ManualClock {
    /// A clock standing at `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self { now: Arc::new(AtomicI64::new(start.0)), jumped: Arc::default(), began: start.0 }
    }

    /// Moves the clock forwards.
    pub fn advance(&self, by: Duration) {
        self.set(self.now().plus(by));
    }

    /// Lets time pass until `to`; one that lies back is a clock that was set back.
    pub fn set(&self, to: Timestamp) {
        let was = self.now.swap(to.0, Ordering::SeqCst);
        if to.0 < was {
            self.jumped.fetch_add(to.0 - was, Ordering::SeqCst);
        }
    }

    /// Sets the clock forward without time passing.
    pub fn jump(&self, by: Duration) {
        let was = self.now();
        self.set(was.plus(by));
        self.jumped.fetch_add(self.now().0 - was.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        let passed = self.now().0 - self.began - self.jumped.load(Ordering::SeqCst);
        Duration::from_millis(u64::try_from(passed).unwrap_or(0))
    }
}

/// Notices a clock that was set between two looks at it: what it shows then and how long a steady clock had run.
#[derive(Debug, Default)]
pub struct Hindsight(Mutex<Option<(Timestamp, Duration)>>);

/// What a look at the clock showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// There was none before.
    First,
    /// It goes on as clocks do.
    Well,
    /// It shows less than at the look before.
    Back,
    /// It shows so much more than at the look before, beyond what has gone by.
    Forward(Duration),
}

impl Hindsight {
    /// Looks at `now`, when a steady clock has run for `steady`. Less than `nudge` either way is no jump.
    pub fn look(&self, now: Timestamp, steady: Duration, nudge: Duration) -> Looked {
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace((now, steady));
        let Some((seen, ran)) = before else { return Looked::First };
        let beyond = now.since(seen.plus(steady.saturating_sub(ran)));
        if now.plus(nudge) < seen {
            Looked::Back
        } else if beyond > nudge {
            Looked::Forward(beyond)
        } else {
            Looked::Well
        }
    }

    /// The next look is the first again.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The next look shows once more that the clock was set forward by so much.
    pub fn owe(&self, by: Duration) {
        if let Some((seen, _)) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            *seen = seen.minus(by);
        }
    }
}

/// Where chance comes from: key tails and jitter.
pub trait Dice: Send + Sync + fmt::Debug {
    /// Fills `to` with random bytes.
    fn fill(&self, to: &mut [u8]);

    /// A number in `0..bound`; 0 for a bound of 0. The bias is below `bound / 2^64`, harmless for jitter.
    fn below(&self, bound: u64) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        if bound == 0 { 0 } else { u64::from_le_bytes(bytes) % bound }
    }
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDice;

impl Dice for SystemDice {
    #[expect(clippy::disallowed_methods, reason = "the one reading of the system's randomness")]
    #[expect(
        clippy::expect_used,
        reason = "a machine without randomness cannot make keys; stopping is the only honest thing"
    )]
    fn fill(&self, to: &mut [u8]) {
        getrandom::fill(to).expect("the operating system gives random bytes");
    }
}

/// Repeatable dice: the same seed throws the same numbers.
#[derive(Debug)]
pub struct SeededDice(Mutex<u64>);

impl SeededDice {
    /// Dice that start from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }
}

impl Dice for SeededDice {
    fn fill(&self, to: &mut [u8]) {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for chunk in to.chunks_mut(8) {
            // SplitMix64 (Steele, Lea, Flood 2014): one addition and three mixing steps.
            *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = *state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
            chunk.copy_from_slice(&z.to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_as_the_calendar_says() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_796_030_962_000, "2026-11-30T09:29:22Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(Timestamp(ms).rfc3339(), text);
        }
    }

    #[test]
    fn a_jump_is_told_from_time_that_passes() {
        let (clock, hindsight, nudge) =
            (ManualClock::at(Timestamp(1_000_000)), Hindsight::default(), Duration::from_secs(5));
        let look = || hindsight.look(clock.now(), clock.steady(), nudge);
        let hour = Duration::from_secs(3_600);
        assert_eq!((look(), look()), (Looked::First, Looked::Well));
        clock.advance(hour);
        assert_eq!(look(), Looked::Well, "an hour went by");
        clock.jump(nudge);
        assert_eq!(look(), Looked::Well, "a nudge");
        clock.advance(Duration::from_secs(1));
        clock.jump(hour);
        assert_eq!((look(), look()), (Looked::Forward(hour), Looked::Well));
        hindsight.owe(hour);
        assert_eq!((look(), look()), (Looked::Forward(hour), Looked::Well), "what could not be done is told again");
        clock.set(clock.now().minus(hour));
        assert_eq!((look(), look()), (Looked::Back, Looked::Well));
        hindsight.forget();
        clock.jump(hour);
        assert_eq!(look(), Looked::First);
    }

    #[test]
    fn a_clock_that_jumped_back_measures_nothing() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
    }
}
