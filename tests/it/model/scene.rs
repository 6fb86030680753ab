//! What is walked: for each promise one scene with everything that can go wrong between us and the CRM, scenes of people
//! and their taps, and scenes of the outbox. Figures are a few ticks long and stand in the same order as real ones.

use zayavka::domain::{
    delivery::{self, GiveUp, OnUnknown},
    operation::{OnAbsent, Policy},
    outcome::Promise,
};

use super::{machine::ticks, world::Left};

const ANY: u8 = u8::MAX;

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

fn core(name: &'static str, policy: Policy) -> Scene {
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
            trouble: 3,
            crash: 2,
            lost: 3,
            refuse: 1,
            not_sent: 1,
            in_flight: 1,
            exists: 1,
            unsure: 1,
            doubled: 1,
            jump: 0,
            beyond: 0,
            staff: 1,
            cancel: 1,
            ..Left::default()
        },
    }
}

/// All scenes, the quick ones first.
pub(crate) fn all(long: bool) -> Vec<Scene> {
    let searchable = || policy(Promise::Searchable);
    let resend = || Policy { on_absent: OnAbsent::Resend, ..searchable() };
    let forgetful = || Policy { key_life: Some(ticks(14)), ..policy(Promise::Keyed) };
    let sightless = || Policy { can_look: false, ..policy(Promise::Keyed) };
    let mut scenes = vec![
        core("blind", policy(Promise::Blind)),
        core("keyed, no lookup", sightless()),
        core("keyed", policy(Promise::Keyed)),
        Scene { key_life: Some(14), ..core("keyed, forgets keys", forgetful()) },
        core("searchable", searchable()),
        core("searchable, resends", resend()),
    ];
    let _ = long;
    scenes.extend([
        taps("taps, searchable", searchable()),
        taps("taps, keyed", policy(Promise::Keyed)),
        taps("taps, blind", policy(Promise::Blind)),
    ]);
    scenes.extend([
        outbox("outbox, repeat", searchable(), OnUnknown::Repeat),
        outbox("outbox, review", policy(Promise::Blind), OnUnknown::Review),
        outbox("outbox, drop", policy(Promise::Keyed), OnUnknown::Drop),
    ]);
    scenes
}

fn taps(name: &'static str, policy: Policy) -> Scene {
    Scene {
        workers: 1,
        from_taps: true,
        people: 2,
        by_hand: false,
        skews: &[0],
        late: 1,
        left: Left {
            crash: 2,
            lost: 1,
            refuse: 1,
            staff: 1,
            tap: 3,
            foreign: 1,
            redeliver: 1,
            edit: 1,
            cancel: 1,
            ..Left::default()
        },
        ..core(name, policy)
    }
}

fn outbox(name: &'static str, policy: Policy, on_unknown: OnUnknown) -> Scene {
    Scene {
        outbox_policy: Some(outbox_policy()),
        on_unknown,
        workers: 1,
        senders: 2,
        by_hand: false,
        skews: &[0, 1],
        late: 1,
        left: Left {
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
        ..core(name, policy)
    }
}
