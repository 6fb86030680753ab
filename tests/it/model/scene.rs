//! What is walked: for each promise one scene with everything that can go wrong between us and the CRM, scenes of people
//! and their taps, and scenes of the outbox. Figures are a few ticks long and stand in the same order as real ones.

use zayavka::domain::{
    delivery::{self, GiveUp, OnUnknown},
    operation::{OnAbsent, Policy},
    outcome::Promise,
};

use super::{machine::ticks, world::Left};

/// One walk's bounds.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) policy: Policy,
    /// `None` = what is said is not modelled.
    pub(crate) outbox_policy: Option<delivery::Policy>,
    pub(crate) on_unknown: OnUnknown,
    pub(crate) workers: u8,
    pub(crate) senders: u8,
    /// Whether it starts with summaries to tap, or with one confirmed operation.
    pub(crate) from_taps: bool,
    pub(crate) people: usize,
    /// In how many ticks, from the one in which it is written, a call may be carried out.
    pub(crate) late: u8,
    /// Ticks after which a ticket is surely found by a lookup.
    pub(crate) lag: u8,
    /// Ticks that the CRM remembers a key.
    pub(crate) key_life: Option<u8>,
    /// How much longer a call is held that is held beyond what was declared.
    pub(crate) beyond: u8,
    pub(crate) post_late: u8,
    pub(crate) lease: i8,
    pub(crate) by_hand: bool,
    /// More of them, and it is being sent for ever.
    pub(crate) attempts_at_most: u8,
    /// Where the second replica's clock starts, beside the first one's.
    pub(crate) skews: &'static [i8],
    pub(crate) left: Left,
}

impl Scene {
    /// The age at which a ticket stops growing older.
    pub(crate) fn oldest_ticket(&self) -> u8 {
        self.lag.max(self.key_life.unwrap_or(0))
    }
}

/// The smallest figures that still tell every duration from every other.
fn policy(promise: Promise) -> Policy {
    Policy {
        promise,
        can_look: promise != Promise::Blind,
        key_life: None,
        request_timeout: ticks(1),
        lease: ticks(2),
        // Carried out up to 1 tick after it was written, found 1 tick after that, clocks apart by 1: nothing to spare.
        settle: ticks(3),
        looks: 2,
        spacing: ticks(1),
        on_absent: OnAbsent::Review,
        patience: ticks(4),
        look_patience: ticks(6),
        backoff_first: ticks(1),
        backoff_most: ticks(2),
        watch: ticks(6),
        tell_after: ticks(3),
    }
}

/// Shorter still, for scenes that are about people: clocks agree, calls land or do not within a tick.
fn brisk(promise: Promise) -> Policy {
    Policy {
        settle: ticks(1),
        looks: 1,
        patience: ticks(2),
        look_patience: ticks(2),
        backoff_most: ticks(1),
        watch: ticks(1),
        tell_after: ticks(1),
        ..policy(promise)
    }
}

fn outbox_policy() -> delivery::Policy {
    delivery::Policy {
        request_timeout: ticks(1),
        lease: ticks(2),
        // Longer than: carried out up to 1 tick after it was written, clocks apart by 1.
        pause: ticks(3),
        pause_most: ticks(4),
        repeats: 1,
        second_unknown: GiveUp::Review,
    }
}

fn core(name: &'static str, policy: Policy, trouble: u8) -> Scene {
    Scene {
        name,
        policy,
        outbox_policy: None,
        on_unknown: OnUnknown::Repeat,
        workers: 2,
        senders: 0,
        from_taps: false,
        people: 1,
        late: 2,
        lag: 1,
        key_life: None,
        beyond: 7,
        post_late: 2,
        lease: 2,
        by_hand: true,
        attempts_at_most: 9,
        skews: &[0, 1],
        left: Left {
            trouble,
            slow: 2,
            crash: 2,
            lost: 3,
            refuse: 1,
            not_sent: 1,
            in_flight: 1,
            exists: 1,
            unsure: 1,
            doubled: 1,
            staff: 1,
            cancel: 1,
            ..Left::default()
        },
    }
}

fn searchable() -> Policy {
    policy(Promise::Searchable)
}

fn resending() -> Policy {
    Policy { on_absent: OnAbsent::Resend, looks: 1, patience: ticks(8), ..searchable() }
}

fn forgetful() -> Policy {
    Policy { key_life: Some(ticks(14)), ..policy(Promise::Keyed) }
}

fn sightless() -> Policy {
    Policy { can_look: false, ..policy(Promise::Keyed) }
}

/// One confirmed operation between two workers and a CRM of each promise; `trouble` pieces of bad luck in any order.
pub(crate) fn promises(trouble: u8) -> Vec<Scene> {
    // Clocks may come to stand apart by 2.
    let jumping = core("searchable, clock jumps", Policy { settle: ticks(4), ..resending() }, trouble);
    let beyond = core("searchable, held beyond", resending(), trouble);
    vec![
        core("blind", policy(Promise::Blind), trouble),
        core("keyed, no lookup", sightless(), trouble),
        core("keyed", policy(Promise::Keyed), trouble),
        Scene { key_life: Some(14), ..core("keyed, forgets keys", forgetful(), trouble) },
        core("searchable", searchable(), trouble),
        core("searchable, resends", resending(), trouble),
        Scene { left: Left { jump: 1, staff: 0, ..jumping.left }, ..jumping },
        Scene { left: Left { beyond: 1, ..beyond.left }, ..beyond },
    ]
}

/// Few kinds of bad luck, and more of it: what needs a longer chain of it to show.
pub(crate) fn deep(more: u8) -> Vec<Scene> {
    let scene = |name, policy, left: Left| Scene { left, by_hand: false, ..core(name, policy, 0) };
    let patient = Policy { patience: ticks(20), ..forgetful() };
    let left = Left { trouble: 3 + more, lost: 1 + more, slow: 2, ..Left::default() };
    let watching = Left { trouble: 4 + more, slow: 3, unsure: 1, staff: 1, ..left };
    vec![
        scene("keyed, refuses, held up", sightless(), Left { refuse: 1, ..left }),
        Scene { key_life: Some(14), ..scene("keyed, forgets, held up", patient, left) },
        Scene { skews: &[1], ..scene("keyed, watches, held up", policy(Promise::Keyed), watching) },
    ]
}

/// A CRM that goes on being silent: nothing else goes wrong, and that without end.
pub(crate) fn silences() -> Vec<Scene> {
    vec![
        silent("keyed, silent for ever", sightless()),
        silent("keyed, looks, silent for ever", policy(Promise::Keyed)),
        silent("searchable, silent for ever", resending()),
    ]
}

fn silent(name: &'static str, policy: Policy) -> Scene {
    let left = Left {
        trouble: u8::MAX,
        lost: u8::MAX,
        in_flight: u8::MAX,
        not_sent: u8::MAX,
        exists: u8::MAX,
        unsure: u8::MAX,
        ..Left::default()
    };
    Scene { workers: 1, attempts_at_most: 20, skews: &[0], left, ..core(name, policy, 0) }
}

/// People and their taps, handled by two replicas: one person who taps three times, edits after a rejection, cancels, and
/// finds old buttons; two people who tap each other's.
pub(crate) fn taps(trouble: u8) -> Vec<Scene> {
    let one = |name, policy| Scene {
        workers: 1,
        from_taps: true,
        by_hand: false,
        skews: &[0],
        late: 1,
        lag: 0,
        left: Left {
            trouble,
            slow: 1,
            crash: 2,
            lost: 1,
            refuse: 1,
            redeliver: 1,
            staff: 1,
            tap: 3,
            edit: 1,
            cancel: 1,
            ..Left::default()
        },
        ..core(name, policy, trouble)
    };
    let two = one("two people tap", brisk(Promise::Keyed));
    vec![
        one("one person taps, blind", brisk(Promise::Blind)),
        one("one person taps, keyed", brisk(Promise::Keyed)),
        one("one person taps, searchable", brisk(Promise::Searchable)),
        Scene { people: 2, left: Left { foreign: 1, edit: 0, cancel: 0, refuse: 0, staff: 0, ..two.left }, ..two },
    ]
}

/// What is said, in a chat where answers get lost, cards vanish and the bot is blocked.
pub(crate) fn outbox(trouble: u8) -> Vec<Scene> {
    let scene = |name, policy, on_unknown| Scene {
        outbox_policy: Some(outbox_policy()),
        on_unknown,
        workers: 1,
        senders: 2,
        by_hand: false,
        late: 1,
        left: Left {
            trouble,
            slow: 1,
            lost: 1,
            refuse: 1,
            staff: 1,
            vanish: 1,
            blocked: 1,
            post_lost: 2,
            post_crash: 1,
            post_not_sent: 1,
            ..Left::default()
        },
        ..core(name, policy, trouble)
    };
    vec![
        scene("outbox, drop", policy(Promise::Keyed), OnUnknown::Drop),
        scene("outbox, repeat", searchable(), OnUnknown::Repeat),
        scene("outbox, review", policy(Promise::Blind), OnUnknown::Review),
    ]
}
