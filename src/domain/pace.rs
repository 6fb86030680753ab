//! The pace: how many messages may leave within how long. Exact: the moments of the latest ones are kept, so that no
//! window of that length, wherever it begins, holds more.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

/// At most `most` messages in any window of `within`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// How many; at least 1.
    pub most: u32,
    /// Within how long.
    pub within: Duration,
}

/// Every rule messages leave by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// For each chat.
    pub chat: Rule,
    /// For each group, besides.
    pub group: Rule,
    /// Over all chats together.
    pub overall: Rule,
}

/// When the latest messages left, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recent(Vec<Timestamp>);

impl Pace {
    /// The rules of one chat: a group has a negative number and one more rule.
    pub fn of_chat(&self, is_group: bool) -> impl Iterator<Item = Rule> {
        [Some(self.chat), is_group.then_some(self.group)].into_iter().flatten()
    }
}

impl Rule {
    /// When the next message may leave: `None` when it may at `now`.
    #[must_use]
    pub fn again_at(&self, recent: &Recent, now: Timestamp) -> Option<Timestamp> {
        let most = self.most.max(1) as usize;
        let known: Vec<Timestamp> = self.known(recent, now).collect();
        let nth = known.len().checked_sub(most)?;
        let free_at = known[nth].plus(self.within);
        (free_at > now).then_some(free_at)
    }

    /// How many messages may leave at `now`.
    #[must_use]
    pub fn room(&self, recent: &Recent, now: Timestamp) -> usize {
        let taken = self.known(recent, now).filter(|at| at.plus(self.within) > now).count();
        (self.most.max(1) as usize).saturating_sub(taken)
    }

    /// The moments that count. One far ahead of now was dated by a clock that was set back since: nothing may wait for
    /// time to catch up with it.
    fn known(self, recent: &Recent, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        let most = now.plus(self.within);
        recent.0.iter().copied().filter(move |at| *at <= most)
    }
}

impl Recent {
    /// The same with one more message at `now`, no longer than the rules can tell apart.
    #[must_use]
    pub fn with(&self, now: Timestamp, rules: impl Iterator<Item = Rule>) -> Self {
        let most = rules.map(|rule| rule.most.max(1) as usize).max().unwrap_or(1);
        let skip = (self.0.len() + 1).saturating_sub(most);
        Self(self.0.iter().skip(skip).map(|at| (*at).min(now)).chain([now]).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULE: Rule = Rule { most: 3, within: Duration::from_secs(3) };

    #[test]
    fn a_small_burst_and_then_one_a_second() {
        let (mut recent, mut now) = (Recent::default(), Timestamp(0));
        let mut left = Vec::new();
        while left.len() < 7 {
            match RULE.again_at(&recent, now) {
                Some(at) => now = at,
                None => {
                    recent = recent.with(now, [RULE].into_iter());
                    left.push(now.0);
                }
            }
        }
        assert_eq!(left, [0, 0, 0, 3_000, 3_000, 3_000, 6_000]);
    }

    #[test]
    fn a_clock_set_back_holds_nothing_up() {
        let later = Timestamp(1_000_000);
        let recent = (0..3).fold(Recent::default(), |recent, _| recent.with(later, [RULE].into_iter()));
        assert_eq!((RULE.again_at(&recent, Timestamp(0)), RULE.room(&recent, Timestamp(0))), (None, 3));
        // The clock of another replica may well be a little ahead.
        let near = Timestamp(later.0 - 1_000);
        assert_eq!((RULE.again_at(&recent, near), RULE.room(&recent, near)), (Some(Timestamp(1_003_000)), 0));
    }

    proptest! {
        #[test]
        fn no_window_holds_more_than_the_rule_says(steps in prop::collection::vec(0_i64..2_000, 1..200), most in 1_u32..6) {
            let rule = Rule { most, within: Duration::from_millis(2_500) };
            let (mut recent, mut now, mut left) = (Recent::default(), 0, Vec::new());
            for step in steps {
                now += step;
                let open = rule.again_at(&recent, Timestamp(now)).is_none();
                prop_assert_eq!(open, rule.room(&recent, Timestamp(now)) > 0);
                if open {
                    recent = recent.with(Timestamp(now), [rule].into_iter());
                    left.push(now);
                }
            }
            for start in &left {
                let within = left.iter().filter(|at| (*start..*start + 2_500).contains(*at)).count();
                prop_assert!(within <= most as usize);
            }
        }
    }
}
