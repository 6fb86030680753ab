//! What the product does with a state: the machine's step with everything it commits together, and the checks that
//! belong to that moment. The acts of each party are in its own file.

use super::{
    bugs::Bug,
    machine::{Ev, Kind, Machine, effects},
    outbox::Outbox,
    scene::Scene,
    world::{Call, Made, Op, Phase, Sender, Update, Worker, World, flag, put, slow, take},
};

/// A promise that does not hold, in words.
pub(crate) type Broken = &'static str;

/// What the acts need beside the state.
pub(crate) struct Cx<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) bug: Option<Bug>,
    pub(crate) machine: Machine,
    pub(crate) outbox: Outbox,
}

/// Where the acts put what may follow.
pub(crate) type Follow = Vec<(super::act::Act, Result<World, Broken>)>;

impl<'a> Cx<'a> {
    pub(crate) fn new(scene: &'a Scene, bug: Option<Bug>) -> Self {
        Self {
            scene,
            bug,
            machine: Machine::new(scene.policy.clone(), bug),
            outbox: Outbox::new(scene.outbox_policy.clone(), scene.on_unknown, bug),
        }
    }

    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Everything that may follow `world`.
    pub(crate) fn follow(&mut self, world: &World, out: &mut Follow) {
        super::people::follow(self, world, out);
        super::crm::follow(self, world, out);
        super::outbox::follow(self, world, out);
        if { world.left }.bad(|left| &mut left.jump) {
            for to in -1..=1 {
                if to != world.skew {
                    let mut after = *world;
                    after.left.bad(|left| &mut left.jump);
                    after.skew = to;
                    out.push((super::act::Act::ClockJumps(to), Ok(after)));
                }
            }
        }
        if let Some(held) = self.may_wait(world) {
            out.push((super::act::Act::Tick, Ok(self.tick(&held))));
        }
    }

    /// Time passes freely while everybody waits for something. Time that passes while a worker has something in hand, or
    /// while what is due lies untouched, is bad luck and is paid for; who is held up once may be so for any time.
    fn may_wait(&mut self, world: &World) -> Option<World> {
        let mut held = *world;
        let mut idle_and_due = false;
        let mut some_idle_not_due = false;
        for worker in 0..self.scene.workers {
            let in_hand = match world.workers[worker as usize] {
                Worker::Idle => {
                    let due = self.is_due(world, worker);
                    idle_and_due |= due;
                    some_idle_not_due |= !due;
                    false
                }
                Worker::Waiting { op, attempt } => !world.awaits(op, attempt),
                _ => true,
            };
            held.hold_up(in_hand, slow::WORKER << worker)?;
        }
        held.hold_up(idle_and_due && !some_idle_not_due, slow::DOWN)?;
        for replica in 0..2_u8 {
            held.hold_up(world.handlers[replica as usize] != super::world::Handler::Idle, slow::HANDLER << replica)?;
        }
        let stored = world.updates.iter().any(|update| !settled(update));
        held.hold_up(stored && world.handlers.contains(&super::world::Handler::Idle), slow::DOWN)?;
        for sender in 0..self.scene.senders {
            let in_hand = match world.senders[sender as usize] {
                Sender::Idle => false,
                Sender::Waiting { row, attempt } => {
                    !world.posts.iter().any(|post| post.left > 0 && (post.row, post.attempt) == (row, attempt))
                }
                _ => true,
            };
            held.hold_up(in_hand, slow::SENDER << sender)?;
        }
        held.hold_up(super::outbox::all_idle_are_due(self, world), slow::DOWN)?;
        held.lose_the_overdue()?;
        Some(held)
    }

    fn is_due(&mut self, world: &World, worker: u8) -> bool {
        use super::machine::Next;
        let clock = world.clock(worker as usize);
        world
            .ops
            .iter()
            .any(|op| op.id != 0 && !matches!(self.machine.next(op.id - 1, clock), Next::Wait | Next::Nothing))
    }

    /// One event for one operation: state, effects and their rows in one commit. `Ok(false)` = the pair is illegal.
    pub(crate) fn advance(&mut self, world: &mut World, op: u8, ev: Ev, at: i8) -> Result<bool, Broken> {
        let mut slot = world.ops[op as usize];
        let before = self.machine.facts(slot.id - 1);
        let Some(stepped) = self.machine.step(slot.id - 1, ev, at) else { return Ok(false) };
        slot.id = stepped.id + 1;
        let after = self.machine.facts(stepped.id);
        let has = |bit| stepped.effects & bit != 0;

        if has(effects::BROKEN) {
            return Err("an operation's key, name or attempt count changed");
        }
        if before.kind.is_final() && (before.kind, before.ticket) != (after.kind, after.ticket) {
            return Err("the end was not the end");
        }
        if ev == Ev::LeaseEnded && after.kind != Kind::Unknown {
            return Err("a lease decided");
        }
        if ev == Ev::Claimed {
            if !has(effects::BEGIN) {
                return Err("an attempt began without its row");
            }
            slot.rows += 1;
        }
        if matches!(ev, Ev::Found(bits, _) if bits.count_ones() > 1)
            && after.kind == Kind::Created
            && !before.kind.is_final()
        {
            return Err("one of several tickets was chosen without a human");
        }
        if decides(ev) && before.kind != Kind::Review {
            return Err("a decision was carried out on what stood in front of nobody");
        }
        if matches!(ev, Ev::NotSent(_)) && before.kind == Kind::Sending && after.kind == Kind::Pending {
            use zayavka::domain::operation::Ground;
            if before.ground == Some(Ground::Absent) && after.ground == Some(Ground::Absent) {
                return Err("absence that was used once was used again without a look");
            }
        }
        self.effects(world, &mut slot, stepped.effects, before.kind, after.kind)?;
        if let Ev::CreateAfterAll = ev
            && after.ground == Some(zayavka::domain::operation::Ground::Decided)
        {
            slot.flags |= flag::EXCUSED;
        }
        world.ops[op as usize] = slot;
        if has(effects::SHOW_CARD) {
            self.outbox.show_card(world, op);
        }
        if has(effects::TELL) {
            self.outbox.tell(world, op, after.kind.card());
        }
        self.told(world, op, ev)?;
        Ok(true)
    }

    fn effects(
        &mut self,
        world: &mut World,
        slot: &mut Op,
        bits: u16,
        before: Kind,
        after: Kind,
    ) -> Result<(), Broken> {
        let has = |bit| bits & bit != 0;
        if has(effects::OPEN_CASE) {
            slot.flags |= flag::CASE;
        }
        if has(effects::CLOSE_CASE) {
            slot.flags &= !flag::CASE;
        }
        if has(effects::TWIN) {
            slot.flags |= flag::REPORTED;
        }
        if has(effects::FREE_SLOT) {
            if slot.flags & flag::SLOT == 0 {
                return Err("a place was given back twice");
            }
            slot.flags &= !flag::SLOT;
        }
        if has(effects::REOPEN) {
            let draft = &mut world.drafts[slot.label as usize / 2];
            if draft.version != slot.label % 2 + 1 || draft.phase != Phase::Frozen {
                return Err("a draft was opened that was not frozen by this operation");
            }
            draft.phase = Phase::Reopened;
        }
        if before.card() != after.card() && !has(effects::SHOW_CARD) {
            return Err("the person's card was not told of a change");
        }
        Ok(())
    }

    /// A ticket that the product was told of is either the operation's own, or in front of a human.
    fn told(&self, world: &World, op: u8, ev: Ev) -> Result<(), Broken> {
        let bits = match ev {
            Ev::Created(_, ticket) => 1 << ticket,
            Ev::Found(bits, _) => bits,
            _ => return Ok(()),
        };
        let slot = world.ops[op as usize];
        let facts = self.machine.facts(slot.id - 1);
        let own = facts.ticket.map_or(0, |ticket| 1_u8.checked_shl(u32::from(ticket)).unwrap_or(0));
        let known = match facts.kind {
            Kind::Review => true,
            kind if kind.is_final() => bits & !own == 0 || slot.flags & flag::REPORTED != 0,
            _ => false,
        };
        if known { Ok(()) } else { Err("a ticket that we were told of was forgotten") }
    }

    /// One tick later.
    fn tick(&mut self, world: &World) -> World {
        let mut after = *world;
        for op in after.ops.iter_mut().filter(|op| op.id != 0) {
            op.id = self.machine.tick(op.id - 1) + 1;
        }
        for worker in &mut after.workers {
            match worker {
                Worker::Claimed { lease, .. } => *lease = (*lease - 1).max(-2),
                // A lookup that takes longer counts as unanswered.
                Worker::Looked { asked, .. } if *asked <= -2 => *worker = Worker::Idle,
                Worker::Looked { asked, .. } => *asked -= 1,
                _ => {}
            }
        }
        let mut at = 0;
        while at < after.calls.len() {
            let call = &mut after.calls[at];
            call.left = call.left.saturating_sub(1);
            if call.left == 0 && *call != Call::default() {
                take(&mut after.calls, at);
            } else {
                at += 1;
            }
        }
        let oldest = self.scene.oldest_ticket();
        for made in after.tickets.iter_mut().filter(|made| **made != Made::default()) {
            made.age = (made.age + 1).min(oldest);
        }
        for row in after.rows.iter_mut().filter(|row| row.id != 0) {
            row.id = self.outbox.tick(row.id - 1) + 1;
        }
        for sender in &mut after.senders {
            if let Sender::Claimed { lease, .. } = sender {
                *lease = (*lease - 1).max(-2);
            }
        }
        let mut at = 0;
        while at < after.posts.len() {
            let post = &mut after.posts[at];
            if post.left == 1 {
                take(&mut after.posts, at);
            } else {
                post.left = post.left.saturating_sub(1);
                at += 1;
            }
        }
        self.outbox.clear(&mut after);
        after
    }

    /// The first state: one confirmed operation, or nothing but the drafts.
    pub(crate) fn first(&mut self) -> Vec<World> {
        let mut world = World { left: self.scene.left, ..World::default() };
        if self.scene.from_taps {
            for draft in &mut world.drafts[..self.scene.people] {
                *draft = super::world::Draft { version: 1, phase: Phase::Summary };
            }
        } else {
            world.drafts[0] = super::world::Draft { version: 1, phase: Phase::Frozen };
            world.tapped = 1;
            self.insert(&mut world, 0);
        }
        let mut worlds = Vec::new();
        for skew in self.scene.skews {
            world.skew = *skew;
            worlds.push(world);
        }
        worlds
    }

    /// A new operation with its place and its card.
    pub(crate) fn insert(&mut self, world: &mut World, label: u8) {
        let id = self.machine.confirmed() + 1;
        let op = Op { id, label, flags: flag::SLOT, ..Op::default() };
        let at = put(&mut world.ops, |op| op.id == 0, op);
        self.outbox.show_card(world, at as u8);
    }
}

fn decides(ev: Ev) -> bool {
    matches!(ev, Ev::Link(_) | Ev::LinkUnverified(_) | Ev::LookAgain | Ev::CreateAfterAll | Ev::Reject)
}

/// Whether nothing of this update is still to be done.
pub(crate) fn settled(update: &Update) -> bool {
    matches!(update.stage, super::world::Stage::None | super::world::Stage::Done)
}
