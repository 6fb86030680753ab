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
    /// Ticks after writing within which a call may be carried out.
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
        // Longest late delivery 2, index lag 1, clocks apart by up to 2.
        settle: ticks(5),
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
        // Longest late delivery 2, clocks apart by up to 1.
        pause: ticks(3),
        pause_most: ticks(4),
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
    Policy { on_absent: OnAbsent::Resend, ..searchable() }
}

fn forgetful() -> Policy {
    Policy { key_life: Some(ticks(14)), ..policy(Promise::Keyed) }
}

fn sightless() -> Policy {
    Policy { can_look: false, ..policy(Promise::Keyed) }
}

/// One confirmed operation between two workers and a CRM of each promise; `trouble` pieces of bad luck in any order.
pub(crate) fn promises(trouble: u8) -> Vec<Scene> {
    let jumping = core("searchable, clock jumps", searchable(), trouble);
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
