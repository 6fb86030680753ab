//! Both machines as the walk sees them: real `step` and `next_action`, their operations and deliveries numbered, each
//! answer computed once and remembered. Time is relative: "now" is always 0, and a tick makes every moment one older.
//! What is older than any figure of the policy can tell apart is kept at one floor, so that the walk closes.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hash, Hasher},
    time::Duration,
};

use zayavka::{
    clock::Timestamp,
    domain::{
        operation::{self, Decision, Effect, Event, Ground, NextAction, Operation, Policy, RejectedBy, State},
        ticket::Ticket,
    },
    ids::{ConfirmVersion, DraftId, ExternalKey, OperationId},
};

use super::bugs::Bug;

/// Multiply and rotate, a word at a time: the walk's keys are its own, nobody attacks them.
#[derive(Default)]
pub(crate) struct Quick(u64);

impl Quick {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.mix(word);
        }
    }
    fn write_u8(&mut self, n: u8) {
        self.mix(u64::from(n));
    }
    fn write_u32(&mut self, n: u32) {
        self.mix(u64::from(n));
    }
    fn write_u64(&mut self, n: u64) {
        self.mix(n);
    }
    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }
}

/// A map with the quick hash.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// One event, small enough to be a key. Moments are relative to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ev {
    Claimed,
    Created(u8, u8),
    Refused(u8),
    NotSent(u8),
    Unfit(u8),
    InFlight(u8),
    Exists(u8),
    Lost(u8),
    LeaseEnded,
    /// The tickets as bits; when the CRM was asked.
    Found(u8, i8),
    Missed(i8),
    Unsure,
    LookImpossible,
    Stands(u8),
    Falls(bool),
    WaitedTooLong,
    Link(u8),
    LinkUnverified(u8),
    LookAgain,
    CreateAfterAll,
    Reject,
    Cancelled,
}

/// What a loop should do next, small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Send,
    Look,
    /// The candidate's number.
    Check(u8),
    Tell(Ev),
    Watch,
    Wait,
    Nothing,
}

/// Effects as bits.
pub(crate) mod effects {
    pub(crate) const BEGIN: u16 = 1;
    pub(crate) const SHOW_CARD: u16 = 2;
    pub(crate) const TELL: u16 = 4;
    pub(crate) const OPEN_CASE: u16 = 8;
    pub(crate) const CLOSE_CASE: u16 = 16;
    pub(crate) const TWIN: u16 = 32;
    pub(crate) const FREE_SLOT: u16 = 64;
    pub(crate) const REOPEN: u16 = 128;
    /// Not an effect: the step changed what never changes.
    pub(crate) const BROKEN: u16 = 256;
}

/// One step's outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stepped {
    pub(crate) id: u32,
    pub(crate) effects: u16,
}

/// A state's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pending,
    Sending,
    Unknown,
    Review,
    Created,
    RejectedByCrm,
    RejectedByStaff,
    Cancelled,
}

impl Kind {
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Self::Created | Self::RejectedByCrm | Self::RejectedByStaff | Self::Cancelled)
    }

    /// What the person's card says, as a number: accepted, being cleared up, with staff, created, rejected, cancelled.
    pub(crate) fn card(self) -> u8 {
        match self {
            Self::Pending | Self::Sending => 1,
            Self::Unknown => 2,
            Self::Review => 3,
            Self::Created => 4,
            Self::RejectedByCrm | Self::RejectedByStaff => 5,
            Self::Cancelled => 6,
        }
    }
}

/// What the walk asks of an operation, read once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    /// The ticket it names, when it is created; `u8::MAX` for one that is none of ours.
    pub(crate) ticket: Option<u8>,
    pub(crate) watched: bool,
    pub(crate) ground: Option<Ground>,
    pub(crate) attempts: u8,
    pub(crate) candidate: Option<u8>,
}

/// The operation machine with its memory.
pub(crate) struct Machine {
    pub(crate) policy: Policy,
    pub(crate) bug: Option<Bug>,
    ops: Vec<Operation>,
    facts: Vec<Facts>,
    index: Map<Operation, u32>,
    steps: Map<(u32, Ev, i8), Option<Stepped>>,
    nexts: Map<(u32, i8), Next>,
    ticks: Vec<u32>,
}

/// A duration of so many ticks.
pub(crate) fn ticks(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn whole(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn ticket(n: u8) -> Ticket {
    Ticket { id: n.to_string(), number: n.to_string(), url: None }
}

impl Machine {
    pub(crate) fn new(policy: Policy, bug: Option<Bug>) -> Self {
        let policy = bug.map_or_else(|| policy.clone(), |bug| bug.policy(policy.clone()));
        Self {
            policy,
            bug,
            ops: Vec::new(),
            facts: Vec::new(),
            index: Map::default(),
            steps: Map::default(),
            nexts: Map::default(),
            ticks: Vec::new(),
        }
    }

    pub(crate) fn known(&self) -> usize {
        self.ops.len()
    }

    /// A freshly confirmed one.
    pub(crate) fn confirmed(&mut self) -> u32 {
        let name = uuid::Uuid::nil();
        self.number(Operation::confirmed(
            OperationId(name),
            DraftId(name),
            ConfirmVersion(1),
            ExternalKey(name),
            Timestamp(0),
            Timestamp(0),
        ))
    }

    pub(crate) fn facts(&self, id: u32) -> Facts {
        self.facts[id as usize]
    }

    pub(crate) fn next(&mut self, id: u32, clock: i8) -> Next {
        if let Some(next) = self.nexts.get(&(id, clock)) {
            return *next;
        }
        let op = &self.ops[id as usize];
        let next = match operation::next_action(op, Timestamp(i64::from(clock)), &self.policy) {
            NextAction::Send => Next::Send,
            NextAction::Look => Next::Look,
            NextAction::Check(candidate) => Next::Check(candidate.number.parse().unwrap_or(u8::MAX)),
            NextAction::Tell(Event::LeaseEnded) => Next::Tell(Ev::LeaseEnded),
            NextAction::Tell(Event::LookImpossible) => Next::Tell(Ev::LookImpossible),
            NextAction::Tell(Event::WaitedTooLong) => Next::Tell(Ev::WaitedTooLong),
            NextAction::Tell(other) => panic!("the machine tells itself {other:?}"),
            NextAction::Watch => Next::Watch,
            NextAction::Wait(_) => Next::Wait,
            NextAction::Nothing => Next::Nothing,
        };
        self.nexts.insert((id, clock), next);
        next
    }

    /// The real step, or the bug's.
    pub(crate) fn step(&mut self, id: u32, ev: Ev, at: i8) -> Option<Stepped> {
        if let Some(known) = self.steps.get(&(id, ev, at)) {
            return *known;
        }
        let before = self.ops[id as usize].clone();
        let moment = Timestamp(i64::from(at));
        let event = self.event(ev, moment);
        let real = operation::step(&before, &event, moment, &self.policy).ok();
        let seen = match self.bug {
            Some(bug) => bug.step(&before, &event, moment, &self.policy, real),
            None => real,
        };
        let stepped = seen.map(|step| {
            let mut bits = step.effects.iter().fold(0, |bits, effect| bits | bit(effect));
            let after = &step.operation;
            let named = |op: &Operation| (op.id, op.draft, op.version, op.key, op.confirmed_at);
            let counted = before.attempts + u32::from(ev == Ev::Claimed);
            if named(after) != named(&before) || after.attempts != counted {
                bits |= effects::BROKEN;
            }
            Stepped { id: self.number(step.operation), effects: bits }
        });
        self.steps.insert((id, ev, at), stepped);
        stepped
    }

    fn event(&self, ev: Ev, at: Timestamp) -> Event {
        let soon = at.plus(self.policy.backoff_first);
        let n = u32::from;
        match ev {
            Ev::Claimed => Event::Claimed { lease_end: at.plus(self.policy.lease) },
            Ev::Created(attempt, number) => Event::Created { attempt: n(attempt), ticket: ticket(number) },
            Ev::Refused(attempt) => Event::Refused { attempt: n(attempt), message: "no".to_owned() },
            Ev::NotSent(attempt) => Event::NotSent { attempt: n(attempt), retry_at: soon },
            Ev::Unfit(attempt) => Event::Unfit { attempt: n(attempt), detail: String::new() },
            Ev::InFlight(attempt) => Event::InFlight { attempt: n(attempt), retry_at: soon },
            Ev::Exists(attempt) => Event::Exists { attempt: n(attempt) },
            Ev::Lost(attempt) => Event::Lost { attempt: n(attempt) },
            Ev::LeaseEnded => Event::LeaseEnded,
            Ev::Found(bits, asked) => Event::Found {
                tickets: (0..8).filter(|i| bits & (1 << i) != 0).map(ticket).collect(),
                asked_at: Timestamp(i64::from(asked)),
            },
            Ev::Missed(asked) => Event::Missed { asked_at: Timestamp(i64::from(asked)) },
            Ev::Unsure => Event::Unsure { retry_at: soon },
            Ev::LookImpossible => Event::LookImpossible,
            Ev::Stands(number) => Event::CandidateStands { ticket: ticket(number) },
            Ev::Falls(exists) => Event::CandidateFalls { exists },
            Ev::WaitedTooLong => Event::WaitedTooLong,
            Ev::Link(number) => Event::Decided(Decision::Link { number: number.to_string(), by: 1 }),
            Ev::LinkUnverified(number) => Event::Decided(Decision::LinkUnverified { ticket: ticket(number), by: 1 }),
            Ev::LookAgain => Event::Decided(Decision::LookAgain { by: 1 }),
            Ev::CreateAfterAll => Event::Decided(Decision::CreateAfterAll { by: 1, reason: String::new() }),
            Ev::Reject => Event::Decided(Decision::Reject { by: 1, reason: String::new() }),
            Ev::Cancelled => Event::Cancelled,
        }
    }

    /// The same operation one tick later.
    pub(crate) fn tick(&mut self, id: u32) -> u32 {
        if let Some(&known) = self.ticks.get(id as usize)
            && known != u32::MAX
        {
            return known;
        }
        let mut op = self.ops[id as usize].clone();
        each_moment(&mut op, |moment, _| moment.0 -= 1);
        let aged = self.number(op);
        if self.ticks.len() <= id as usize {
            self.ticks.resize(id as usize + 1, u32::MAX);
        }
        self.ticks[id as usize] = aged;
        aged
    }

    fn number(&mut self, mut op: Operation) -> u32 {
        let policy = &self.policy;
        let still = op.state.is_final() && op.watch.is_none();
        let floor = |field: Field| {
            let margin = 3;
            -(margin
                + match field {
                    Field::Confirmed => whole(policy.tell_after),
                    Field::Waiting => whole(policy.patience.max(policy.settle).max(policy.spacing)),
                    Field::First => whole(policy.patience.max(policy.key_life.unwrap_or_default())),
                    Field::Last => whole(policy.settle) + 2,
                    Field::Since => whole(policy.look_patience),
                    Field::Due => 1,
                })
        };
        each_moment(&mut op, |moment, field| {
            let floor = floor(field);
            moment.0 = if still { floor } else { moment.0.max(floor) };
        });
        if let Some(&id) = self.index.get(&op) {
            return id;
        }
        let id = u32::try_from(self.ops.len()).unwrap_or(u32::MAX);
        self.facts.push(facts(&op));
        self.ops.push(op.clone());
        self.index.insert(op, id);
        id
    }
}

#[derive(Clone, Copy)]
enum Field {
    Confirmed,
    Waiting,
    First,
    Last,
    Since,
    Due,
}

fn each_moment(op: &mut Operation, mut on: impl FnMut(&mut Timestamp, Field)) {
    on(&mut op.confirmed_at, Field::Confirmed);
    on(&mut op.waiting_since, Field::Waiting);
    if let Some(wire) = &mut op.on_wire {
        on(&mut wire.first, Field::First);
        on(&mut wire.last, Field::Last);
    }
    if let Some(watch) = &mut op.watch {
        on(&mut watch.due_at, Field::Due);
        on(&mut watch.until, Field::Due);
    }
    match &mut op.state {
        State::Pending { due_at, .. } => on(due_at, Field::Due),
        State::Sending { lease_end, began, .. } => {
            on(lease_end, Field::Due);
            on(began, Field::First);
        }
        State::Unknown { since, due_at, silence, .. } => {
            on(since, Field::Since);
            on(due_at, Field::Due);
            if let Some(silence) = silence {
                on(&mut silence.since, Field::Since);
            }
        }
        State::Review { since, .. } => on(since, Field::Due),
        State::Created { .. } | State::Rejected { .. } | State::Cancelled => {}
    }
}

fn facts(op: &Operation) -> Facts {
    let mut facts = Facts {
        kind: Kind::Cancelled,
        ticket: None,
        watched: op.watch.is_some(),
        ground: None,
        attempts: u8::try_from(op.attempts).unwrap_or(u8::MAX),
        candidate: None,
    };
    facts.kind = match &op.state {
        State::Pending { ground, .. } => {
            facts.ground = Some(*ground);
            Kind::Pending
        }
        State::Sending { ground, .. } => {
            facts.ground = Some(*ground);
            Kind::Sending
        }
        State::Unknown { candidate, .. } => {
            facts.candidate = candidate.as_ref().map(|candidate| candidate.number.parse().unwrap_or(u8::MAX));
            Kind::Unknown
        }
        State::Review { .. } => Kind::Review,
        State::Created { ticket } => {
            facts.ticket = Some(ticket.number.parse().unwrap_or(u8::MAX));
            Kind::Created
        }
        State::Rejected { by: RejectedBy::Crm, .. } => Kind::RejectedByCrm,
        State::Rejected { by: RejectedBy::Staff, .. } => Kind::RejectedByStaff,
        State::Cancelled => Kind::Cancelled,
    };
    facts
}

fn bit(effect: &Effect) -> u16 {
    match effect {
        Effect::BeginAttempt { .. } => effects::BEGIN,
        Effect::ShowCard => effects::SHOW_CARD,
        Effect::TellOutcome => effects::TELL,
        Effect::OpenCase { .. } => effects::OPEN_CASE,
        Effect::CloseCase => effects::CLOSE_CASE,
        Effect::ReportTwin { .. } => effects::TWIN,
        Effect::FreeSlot => effects::FREE_SLOT,
        Effect::ReopenDraft => effects::REOPEN,
        Effect::Record(_) | Effect::EndAttempt { .. } | Effect::ShowCase => 0,
    }
}
