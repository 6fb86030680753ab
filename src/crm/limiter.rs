//! The pace of asking one CRM: a token bucket for its rate, a hold for "come back later", a breaker for outages.
//!
//! Beside the rate there may be budgets for any minute, hour and day; a request goes when all of them have room for it.
//!
//! A pure state machine: every method takes the moment, so nothing waits in here. It guards one process; several
//! replicas share a CRM's rate by being given a part of it each. It only ever delays: it decides no outcome.
//!
//! Clocks jump. A jump back must not freeze the queue, so each hold remembers how long it was meant to be and is
//! starts anew once at the most; a jump forwards gives at most one full burst.

mod window;

use std::time::Duration;

use self::window::Window;
use super::figures::Figures;
use crate::{
    catalog::profile::model::Budgets,
    clock::Timestamp,
    domain::outcome::{Look, Outcome},
};

/// How fast a CRM may be asked, and when it counts as down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Requests a second over a long time; above zero.
    pub per_second: f64,
    /// Requests at once after a pause; at least one.
    pub burst: u32,
    /// Requests within any minute, hour and day.
    pub budgets: Budgets,
    /// Troubles in a row after which the CRM counts as down.
    pub trip_after: u32,
    /// The first pause when it is down; each further one is twice as long.
    pub pause: Duration,
    /// The longest such pause.
    pub longest_pause: Duration,
}

impl Pace {
    /// A pace with the usual breaker: five troubles in a row, pauses from 2 s to 1 min.
    #[must_use]
    pub fn new(per_second: f64, burst: u32) -> Self {
        let (pause, longest_pause) = (Duration::from_secs(2), Duration::from_secs(60));
        let (per_second, burst, budgets) = (per_second.max(0.001), burst.max(1), Budgets::default());
        Self { per_second, burst, budgets, trip_after: 5, pause, longest_pause }
    }

    /// The pace a profile asks for, with the usual breaker.
    #[must_use]
    pub fn of(figures: &Figures) -> Self {
        Self { budgets: figures.budgets, ..Self::new(figures.per_second, figures.burst) }
    }
}

/// Whether a request may go now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It may; its token is taken.
    Go,
    /// Not yet: ask again after this long.
    Wait {
        /// How long, at least a millisecond.
        after: Duration,
        /// Why, for the words people read.
        why: Hold,
    },
}

/// Why requests are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hold {
    /// The CRM's rate is used up for the moment.
    Pace,
    /// The CRM asked us to come back later.
    Throttled,
    /// The CRM seems to be down; it is tried with one request at a time.
    Down,
}

/// What one exchange says of the CRM's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It answered as it should.
    Well,
    /// It asked us to come back later.
    Throttled(Option<Duration>),
    /// It could not be reached, or what came was no answer.
    Trouble,
}

impl Sign {
    /// What a create's ending says.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Created { .. } | Outcome::Refused { .. } | Outcome::Exists => Self::Well,
            // A refused credential is an answer; that the queue pauses for it is not the breaker's matter.
            Outcome::InFlight { .. } | Outcome::AuthRefused { .. } => Self::Well,
            // The CRM was not asked: nothing is known of it, and it has no part in this.
            Outcome::Unfit { .. } => Self::Well,
            Outcome::NotSent { wait: wait @ Some(_), .. } => Self::Throttled(*wait),
            Outcome::NotSent { wait: None, .. } | Outcome::Lost { .. } => Self::Trouble,
        }
    }

    /// What a lookup's ending says; nothing where there is no lookup.
    #[must_use]
    pub fn of_look(look: &Look) -> Option<Self> {
        match look {
            Look::Found { .. } | Look::Missed => Some(Self::Well),
            Look::Unsure { wait: wait @ Some(_), .. } => Some(Self::Throttled(*wait)),
            Look::Unsure { wait: None, .. } => Some(Self::Trouble),
            Look::Impossible => None,
        }
    }
}

/// A hold that ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Until {
    end: Timestamp,
    length: Duration,
}

impl Until {
    fn from(now: Timestamp, length: Duration) -> Self {
        Self { end: now.plus(length), length }
    }

    /// What is left of it. A clock that was set back since starts it anew, once.
    fn left(&mut self, now: Timestamp) -> Duration {
        self.end = self.end.min(now.plus(self.length));
        self.end.since(now)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breaker {
    Closed {
        troubles: u32,
    },
    Open {
        until: Until,
    },
    /// One request is on its way to see whether the CRM is back; if nothing is heard of it, another may follow.
    Probing {
        patience: Until,
    },
}

/// The state of asking one CRM.
#[derive(Debug, Clone)]
pub struct Limiter {
    pace: Pace,
    tokens: f64,
    filled: Timestamp,
    /// What went within the last minute, hour, day, where there are budgets for them.
    windows: Vec<Window>,
    throttled: Option<Until>,
    breaker: Breaker,
    /// The pause the breaker takes next.
    pause: Duration,
}

/// How long the CRM is left alone when it throttles without saying how long.
const USUAL_THROTTLE: Duration = Duration::from_secs(5);

impl Limiter {
    /// A full bucket and a closed breaker.
    #[must_use]
    pub fn new(pace: Pace, now: Timestamp) -> Self {
        let (tokens, breaker) = (f64::from(pace.burst), Breaker::Closed { troubles: 0 });
        let windows = pace.budgets.all().map(|(_, length, most)| Window::new(length, most)).collect();
        Self { pace, tokens, filled: now, windows, throttled: None, breaker, pause: pace.pause }
    }

    /// Asks to do something now that counts for `cost` requests. What costs more than a whole burst waits for a full
    /// bucket and leaves a debt.
    #[must_use]
    pub fn admit(&mut self, now: Timestamp, cost: u32) -> Admission {
        self.fill(now);
        if let Some(left) = self.throttle_left(now) {
            return wait(left, Hold::Throttled);
        }
        if let Breaker::Open { until } | Breaker::Probing { patience: until } = &mut self.breaker {
            let left = until.left(now);
            if !left.is_zero() {
                return wait(left, Hold::Down);
            }
        }
        let needed = f64::from(cost.clamp(1, self.pace.burst));
        // Fractions of a token are lost in sums of floats; a millionth of one holds nobody up.
        if self.tokens + 1e-6 < needed {
            return wait(Duration::from_secs_f64((needed - self.tokens) / self.pace.per_second), Hold::Pace);
        }
        // All hold at once: nothing is taken from one of them while another has no room.
        if let held @ Admission::Wait { .. } = self.spend(now, cost) {
            return held;
        }
        self.tokens -= f64::from(cost.max(1));
        if !matches!(self.breaker, Breaker::Closed { .. }) {
            self.breaker = Breaker::Probing { patience: Until::from(now, self.pace.longest_pause) };
        }
        Admission::Go
    }

    /// The same for what somebody has just decided and waits for: neither the rate nor an outage holds it up; a CRM that
    /// asked us to come back later does, and a budget that is spent. What it takes beyond the rate is a debt that the others
    /// wait for.
    #[must_use]
    pub fn admit_urgent(&mut self, now: Timestamp, cost: u32) -> Admission {
        self.fill(now);
        if let Some(left) = self.throttle_left(now) {
            return wait(left, Hold::Throttled);
        }
        if let held @ Admission::Wait { .. } = self.spend(now, cost) {
            return held;
        }
        self.tokens -= f64::from(cost.max(1));
        Admission::Go
    }

    /// What is left of "come back later"; `None` when it is over.
    fn throttle_left(&mut self, now: Timestamp) -> Option<Duration> {
        let left = self.throttled.as_mut().map(|until| until.left(now)).filter(|left| !left.is_zero());
        if left.is_none() {
            self.throttled = None;
        }
        left
    }

    /// Takes from the budgets of a minute, an hour, a day: from all of them or from none.
    fn spend(&mut self, now: Timestamp, cost: u32) -> Admission {
        let cost = cost.max(1);
        let full = self.windows.iter_mut().map(|window| window.wait(now, cost)).max().unwrap_or_default();
        if !full.is_zero() {
            return Admission::Wait { after: full, why: Hold::Pace };
        }
        self.windows.iter_mut().for_each(|window| window.take(now, cost));
        Admission::Go
    }

    /// Learns from how an exchange ended.
    pub fn note(&mut self, now: Timestamp, sign: Sign) {
        self.fill(now);
        match sign {
            Sign::Well => self.is_well(),
            Sign::Throttled(wait) => {
                self.is_well();
                let until = Until::from(now, wait.unwrap_or(USUAL_THROTTLE));
                // Of several holds the longest stands.
                let longer = self.throttled.as_mut().is_none_or(|held| held.left(now) < until.length);
                if longer {
                    self.throttled = Some(until);
                }
            }
            Sign::Trouble => self.is_in_trouble(now),
        }
    }

    /// Whether the CRM counts as down.
    #[must_use]
    pub fn is_down(&self) -> bool {
        !matches!(self.breaker, Breaker::Closed { .. })
    }

    /// Whether the CRM is left alone for a reason people are told of: it is down, or asked us to come back later.
    pub fn is_held(&mut self, now: Timestamp) -> bool {
        self.is_down() || self.throttle_left(now).is_some()
    }

    fn is_well(&mut self) {
        if self.is_down() {
            // It has just come back: no burst into its face.
            self.tokens = self.tokens.min(1.0);
        }
        self.breaker = Breaker::Closed { troubles: 0 };
        self.pause = self.pace.pause;
    }

    fn is_in_trouble(&mut self, now: Timestamp) {
        let trip = match self.breaker {
            Breaker::Closed { troubles } => {
                self.breaker = Breaker::Closed { troubles: troubles.saturating_add(1) };
                troubles.saturating_add(1) >= self.pace.trip_after
            }
            Breaker::Probing { .. } => true,
            // A straggler sent before the breaker opened: it says nothing new.
            Breaker::Open { .. } => false,
        };
        if trip {
            self.breaker = Breaker::Open { until: Until::from(now, self.pause) };
            self.pause = self.pause.saturating_mul(2).min(self.pace.longest_pause);
        }
    }

    fn fill(&mut self, now: Timestamp) {
        let gained = now.since(self.filled).as_secs_f64() * self.pace.per_second;
        self.tokens = (self.tokens + gained).min(f64::from(self.pace.burst));
        self.filled = now;
    }
}

fn wait(left: Duration, why: Hold) -> Admission {
    Admission::Wait { after: left.max(Duration::from_millis(1)), why }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp(ms)
    }

    fn wait(ms: u64, why: Hold) -> Admission {
        super::wait(Duration::from_millis(ms), why)
    }

    #[test]
    fn a_burst_goes_at_once_and_then_the_rate_counts() {
        let mut limiter = Limiter::new(Pace::new(2.0, 3), at(0));
        for _ in 0..3 {
            assert_eq!(limiter.admit(at(0), 1), Admission::Go);
        }
        assert_eq!(limiter.admit(at(0), 1), wait(500, Hold::Pace));
        assert_eq!(limiter.admit(at(499), 1), wait(1, Hold::Pace));
        assert_eq!(limiter.admit(at(500), 1), Admission::Go);
        assert_eq!(limiter.admit(at(500), 1), wait(500, Hold::Pace));
    }

    #[test]
    fn what_costs_more_waits_longer_and_even_the_dearest_gets_its_turn() {
        let mut limiter = Limiter::new(Pace::new(2.0, 3), at(0));
        assert_eq!(limiter.admit(at(0), 2), Admission::Go);
        assert_eq!(limiter.admit(at(0), 2), wait(500, Hold::Pace));
        assert_eq!(limiter.admit(at(500), 2), Admission::Go);
        assert_eq!(limiter.admit(at(2_000), 40), Admission::Go, "dearer than a burst: a full bucket will do");
        assert_eq!(limiter.admit(at(2_000), 1), wait(19_000, Hold::Pace), "and its debt is paid off");
    }

    #[test]
    fn all_budgets_hold_at_once_and_none_is_charged_for_what_another_holds_back() {
        let budgets = Budgets { per_minute: Some(3), per_hour: Some(5), per_day: None };
        let mut limiter = Limiter::new(Pace { budgets, ..Pace::new(100.0, 100) }, at(0));
        assert_eq!(limiter.admit(at(0), 2), Admission::Go);
        assert_eq!(limiter.admit(at(10_000), 2), wait(50_000, Hold::Pace), "the minute");
        assert_eq!(limiter.admit(at(10_000), 1), Admission::Go);
        assert_eq!(limiter.admit(at(60_000), 2), Admission::Go, "what was held back was not charged");
        assert_eq!(limiter.admit(at(130_000), 1), wait(3_480_000, Hold::Pace), "the hour");
        assert_eq!(limiter.admit(at(3_610_000), 2), Admission::Go);
        assert_eq!(limiter.admit(at(3_610_000), 9), wait(3_600_000, Hold::Pace), "dearer than all: once nothing went");
        assert_eq!(limiter.admit(at(7_210_000), 9), Admission::Go);
    }

    #[test]
    fn a_clock_set_back_starts_a_budget_anew_once() {
        let budgets = Budgets { per_day: Some(1), ..Budgets::default() };
        let mut limiter = Limiter::new(Pace { budgets, ..Pace::new(100.0, 100) }, at(500_000_000));
        assert_eq!(limiter.admit(at(500_000_000), 1), Admission::Go);
        assert_eq!(limiter.admit(at(0), 1), wait(86_400_000, Hold::Pace));
        assert_eq!(limiter.admit(at(86_400_000), 1), Admission::Go);
    }

    #[test]
    fn a_throttling_crm_is_left_alone_as_long_as_it_says() {
        let mut limiter = Limiter::new(Pace::new(100.0, 10), at(0));
        limiter.note(at(0), Sign::Throttled(Some(Duration::from_secs(30))));
        limiter.note(at(0), Sign::Throttled(None));
        assert_eq!(limiter.admit(at(1_000), 1), wait(29_000, Hold::Throttled));
        assert_eq!(limiter.admit(at(30_000), 1), Admission::Go);
        assert!(!limiter.is_down());
    }

    #[test]
    fn what_was_decided_goes_before_its_turn_pays_for_it_and_keeps_to_come_back_later() {
        let mut limiter = Limiter::new(Pace { trip_after: 1, ..Pace::new(1.0, 1) }, at(0));
        assert_eq!(limiter.admit(at(0), 1), Admission::Go);
        assert_eq!(limiter.admit_urgent(at(0), 2), Admission::Go, "before its turn");
        assert_eq!(limiter.admit(at(0), 1), wait(3_000, Hold::Pace), "and the others wait for it");
        limiter.note(at(3_000), Sign::Trouble);
        assert_eq!(limiter.admit(at(3_000), 1), wait(2_000, Hold::Down));
        assert_eq!(limiter.admit_urgent(at(3_000), 1), Admission::Go, "a human may try");
        limiter.note(at(3_000), Sign::Throttled(Some(Duration::from_secs(30))));
        assert_eq!(limiter.admit_urgent(at(4_000), 1), wait(29_000, Hold::Throttled));
        assert_eq!(limiter.admit_urgent(at(33_000), 1), Admission::Go);
    }

    #[test]
    fn an_outage_opens_the_breaker_and_one_probe_at_a_time_asks_whether_it_is_over() {
        let mut limiter = Limiter::new(Pace::new(100.0, 100), at(0));
        for _ in 0..5 {
            assert_eq!(limiter.admit(at(0), 1), Admission::Go);
            limiter.note(at(0), Sign::Trouble);
        }
        limiter.note(at(10), Sign::Trouble); // a straggler makes the pause no longer
        assert_eq!(limiter.admit(at(500), 1), wait(1_500, Hold::Down));
        assert_eq!(limiter.admit(at(2_000), 1), Admission::Go);
        assert_eq!(limiter.admit(at(2_000), 1), wait(60_000, Hold::Down), "only one probe");
        limiter.note(at(2_100), Sign::Trouble);
        assert_eq!(limiter.admit(at(2_100), 1), wait(4_000, Hold::Down), "twice as long");
        assert_eq!(limiter.admit(at(6_100), 1), Admission::Go);
        limiter.note(at(6_200), Sign::Well);
        assert_eq!(limiter.admit(at(6_200), 1), Admission::Go);
        assert_eq!(limiter.admit(at(6_200), 1), wait(10, Hold::Pace), "it comes back gently");
    }

    #[test]
    fn a_probe_nothing_is_heard_of_does_not_hold_the_queue_for_ever() {
        let mut limiter = Limiter::new(Pace { trip_after: 1, ..Pace::new(100.0, 100) }, at(0));
        limiter.note(at(0), Sign::Trouble);
        assert_eq!(limiter.admit(at(2_000), 1), Admission::Go);
        assert_eq!(limiter.admit(at(62_000), 1), Admission::Go);
    }

    #[test]
    fn a_clock_that_jumps_back_freezes_nothing() {
        let mut limiter = Limiter::new(Pace { trip_after: 1, ..Pace::new(1.0, 1) }, at(10_000_000));
        limiter.note(at(10_000_000), Sign::Trouble);
        assert_eq!(limiter.admit(at(0), 1), wait(2_000, Hold::Down));
        assert_eq!(limiter.admit(at(500), 1), wait(1_500, Hold::Down), "it goes by");
        assert_eq!(limiter.admit(at(2_000), 1), Admission::Go);
        limiter.note(at(2_000), Sign::Well);
        assert_eq!(limiter.admit(at(2_000), 1), wait(1_000, Hold::Pace));
        limiter.note(at(2_500), Sign::Throttled(Some(Duration::from_secs(30))));
        assert_eq!(limiter.admit(at(1_000), 1), wait(30_000, Hold::Throttled));
        assert_eq!(limiter.admit(at(31_000), 1), Admission::Go);
    }

    proptest! {
        #[test]
        fn the_rate_is_kept_whatever_comes(steps in prop::collection::vec((0_i64..400, 0_u8..4), 1..300)) {
            let (rate, burst) = (5.0, 4_u32);
            let mut limiter = Limiter::new(Pace::new(rate, burst), at(0));
            let (mut now, mut sent) = (0_i64, 0_u32);
            for (pause, what) in steps {
                now += pause;
                match limiter.admit(at(now), 1) {
                    Admission::Go => {
                        sent += 1;
                        let sign = match what {
                            0 => Sign::Trouble,
                            1 => Sign::Throttled(Some(Duration::from_millis(50))),
                            _ => Sign::Well,
                        };
                        limiter.note(at(now), sign);
                    }
                    Admission::Wait { after, .. } => prop_assert!(!after.is_zero()),
                }
            }
            let most = f64::from(burst) + rate * f64::from(i32::try_from(now).unwrap_or(i32::MAX)) / 1_000.0;
            prop_assert!(f64::from(sent) <= most + 1e-6, "{sent} sent in {now} ms");
        }

        #[test]
        fn no_minute_holds_more_than_its_budget(steps in prop::collection::vec((0_i64..8_000, 1_u32..4), 1..200)) {
            let budgets = Budgets { per_minute: Some(7), ..Budgets::default() };
            let mut limiter = Limiter::new(Pace { budgets, ..Pace::new(1_000.0, 1_000) }, at(0));
            let (mut now, mut sent) = (0_i64, Vec::new());
            for (pause, cost) in steps {
                now += pause;
                match limiter.admit(at(now), cost) {
                    Admission::Go => sent.push((now, cost)),
                    Admission::Wait { after, .. } => {
                        let then = at(now).plus(after);
                        prop_assert_eq!(limiter.clone().admit(then, cost), Admission::Go, "it waits no longer than told");
                    }
                }
                let within: u32 = sent.iter().filter(|(at, _)| *at > now - 60_000).map(|(_, cost)| cost).sum();
                prop_assert!(within <= 7, "{} within a minute", within);
            }
        }

        #[test]
        fn waiting_as_told_always_leads_on(troubles in 1_u32..40) {
            let mut limiter = Limiter::new(Pace::new(3.0, 2), at(0));
            let mut now = at(0);
            for _ in 0..troubles {
                let mut asked = 0;
                while let Admission::Wait { after, .. } = limiter.admit(now, 1) {
                    now = now.plus(after).plus(Duration::from_millis(1));
                    asked += 1;
                    prop_assert!(asked < 4);
                }
                limiter.note(now, Sign::Trouble);
            }
        }
    }
}
