//! The outbox: the delivery machine's memory, the two senders, the wire to Telegram and a model chat.

use zayavka::{
    clock::Timestamp,
    domain::delivery::{self, Delivery, Effect, Event, NextAction, OnUnknown, Policy, State},
    ids::MessageId,
};

use super::{
    act::Act,
    bugs::Bug,
    machine::{Kind, Map},
    step::{Broken, Cx, Follow},
    world::{Post, Row, Said, Sender, World, flag, put, spend, take},
};

/// One event, small enough to be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ev {
    /// As an edit, or as a new message: known only now.
    Claimed(bool),
    Said(u8, Said),
    LeaseEnded,
    PauseOver,
    Overtaken,
    SendAgain,
    LetGo,
}

/// What the walk asks of a delivery, read once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) edit: bool,
    pub(crate) attempts: u8,
    pub(crate) repeats: u8,
    pub(crate) holds_back: bool,
    pub(crate) settled: bool,
    pub(crate) sent: bool,
    pub(crate) pending: bool,
    pub(crate) before_human: bool,
    pub(crate) overtaken: bool,
    pub(crate) gone: bool,
}

#[derive(Debug, Clone, Copy)]
struct Stepped {
    id: u32,
    instead: bool,
}

/// The delivery machine with its memory.
pub(crate) struct Outbox {
    policy: Option<Policy>,
    on_unknown: OnUnknown,
    bug: Option<Bug>,
    deliveries: Vec<Delivery>,
    facts: Vec<Facts>,
    index: Map<Delivery, u32>,
    steps: Map<(u32, Ev, i8), Option<Stepped>>,
    ticks: Map<u32, u32>,
}

impl Outbox {
    pub(crate) fn new(policy: Option<Policy>, on_unknown: OnUnknown, bug: Option<Bug>) -> Self {
        Self {
            policy,
            on_unknown,
            bug,
            deliveries: Vec::new(),
            facts: Vec::new(),
            index: Map::default(),
            steps: Map::default(),
            ticks: Map::default(),
        }
    }

    pub(crate) fn facts(&self, id: u32) -> Facts {
        self.facts[id as usize]
    }

    pub(crate) fn known(&self) -> usize {
        self.deliveries.len()
    }

    fn number(&mut self, mut delivery: Delivery) -> u32 {
        let pause = self.policy.as_ref().map_or(0, |policy| policy.pause_most.as_millis() as i64);
        let floor = |moment: &mut Timestamp, to: i64| moment.0 = moment.0.max(to);
        match &mut delivery.state {
            State::Pending { due_at } => floor(due_at, -2),
            State::Sending { lease_end, .. } => floor(lease_end, -3 - pause),
            State::Unknown { since, due_at } => {
                *since = Timestamp(0);
                if let Some(due_at) = due_at {
                    floor(due_at, -2);
                }
            }
            State::Sent { .. } | State::Dropped { .. } => {}
        }
        if let Some(&id) = self.index.get(&delivery) {
            return id;
        }
        let id = self.deliveries.len() as u32;
        self.facts.push(Facts {
            edit: delivery.kind == delivery::Kind::Edit,
            attempts: delivery.attempts as u8,
            repeats: delivery.repeats as u8,
            holds_back: delivery.holds_back(),
            settled: delivery.state.is_final(),
            sent: matches!(delivery.state, State::Sent { .. }),
            pending: matches!(delivery.state, State::Pending { .. }),
            before_human: matches!(delivery.state, State::Unknown { due_at: None, .. }),
            overtaken: delivery.state == State::Dropped { why: delivery::DropReason::Overtaken },
            gone: delivery.state == State::Dropped { why: delivery::DropReason::Gone },
        });
        self.deliveries.push(delivery.clone());
        self.index.insert(delivery, id);
        id
    }

    /// The same delivery one tick later.
    pub(crate) fn tick(&mut self, id: u32) -> u32 {
        if let Some(&aged) = self.ticks.get(&id) {
            return aged;
        }
        let mut delivery = self.deliveries[id as usize].clone();
        match &mut delivery.state {
            State::Pending { due_at } => due_at.0 -= 1,
            State::Sending { lease_end, .. } => lease_end.0 -= 1,
            State::Unknown { due_at: Some(due_at), .. } => due_at.0 -= 1,
            State::Unknown { .. } | State::Sent { .. } | State::Dropped { .. } => {}
        }
        let aged = self.number(delivery);
        self.ticks.insert(id, aged);
        aged
    }

    fn next(&self, id: u32, clock: i8) -> NextAction {
        delivery::next_action(&self.deliveries[id as usize], Timestamp(i64::from(clock)))
    }

    fn step(&mut self, id: u32, ev: Ev, at: i8) -> Option<Stepped> {
        if let Some(known) = self.steps.get(&(id, ev, at)) {
            return *known;
        }
        let policy = self.policy.clone()?;
        let mut before = self.deliveries[id as usize].clone();
        if let Ev::Claimed(edit) = ev {
            before.kind = if edit { delivery::Kind::Edit } else { self.new_kind() };
        }
        let moment = Timestamp(i64::from(at));
        let event = event(ev, moment, &policy);
        let real = delivery::step(&before, &event, moment, &policy).ok();
        let seen = match self.bug {
            Some(bug) => bug.delivery_step(&before, &event, moment, real),
            None => real,
        };
        let stepped = seen.map(|step| Stepped {
            instead: step.effects.contains(&Effect::SendInstead),
            id: self.number(step.delivery),
        });
        self.steps.insert((id, ev, at), stepped);
        stepped
    }

    /// The card says something new. One that waits for its first call is worded when it is sent. (One that waits for a
    /// repeat may yet turn out to have been shown as it was worded before: that is no row for what is new.)
    pub(crate) fn show_card(&mut self, world: &mut World, op: u8) {
        let any = self.bug == Some(Bug::RepeatCountsAsTheNextCard);
        let untouched = |facts: Facts| facts.pending && (facts.attempts == 0 || any);
        let waits = |row: &Row| row.id != 0 && (row.op, row.card) == (op, true) && untouched(self.facts(row.id - 1));
        if self.policy.is_some() && !world.rows.iter().any(waits) {
            self.add(world, op, 0, true);
        }
    }

    /// The outcome gets a message of its own.
    pub(crate) fn tell(&mut self, world: &mut World, op: u8, content: u8) {
        if self.policy.is_some() {
            self.add(world, op, content, false);
        }
    }

    fn new_kind(&self) -> delivery::Kind {
        delivery::Kind::New { on_unknown: self.on_unknown }
    }

    fn add(&mut self, world: &mut World, op: u8, content: u8, card: bool) {
        let id = self.number(Delivery::new(self.new_kind(), Timestamp(0))) + 1;
        put(&mut world.rows, |row| row.id == 0, Row { id, op, content, card, shown: 0 });
    }

    /// Settled rows that nobody holds any more leave.
    pub(crate) fn clear(&self, world: &mut World) {
        let mut at = 0;
        while at < world.rows.len() {
            let row = at as u8;
            let held = world.senders.iter().any(|sender| sender.row() == Some(row))
                || world.posts.iter().any(|post| post.left > 0 && post.row == row);
            if world.rows[at].id == 0 || !self.facts(world.rows[at].id - 1).settled || held {
                at += 1;
                continue;
            }
            take(&mut world.rows, at);
            for sender in &mut world.senders {
                sender.shift(row);
            }
            for post in world.posts.iter_mut().filter(|post| post.left > 0 && post.row > row) {
                post.row -= 1;
            }
        }
    }
}

impl Sender {
    fn row(self) -> Option<u8> {
        match self {
            Self::Idle => None,
            Self::Claimed { row, .. } | Self::Waiting { row, .. } | Self::Answered { row, .. } => Some(row),
        }
    }

    fn shift(&mut self, gone: u8) {
        match self {
            Self::Claimed { row, .. } | Self::Waiting { row, .. } | Self::Answered { row, .. } if *row > gone => {
                *row -= 1
            }
            _ => {}
        }
    }
}

fn event(ev: Ev, at: Timestamp, policy: &Policy) -> Event {
    let soon = Timestamp(at.0 + 1);
    match ev {
        Ev::Claimed(_) => Event::Claimed { lease_end: at.plus(policy.lease) },
        Ev::Said(n, said) => {
            let attempt = u32::from(n);
            match said {
                Said::Done(copy) => Event::Done { attempt, message_id: Some(MessageId(i64::from(copy))) },
                Said::NotSent => Event::NotSent { attempt, retry_at: soon },
                Said::Throttled => Event::Throttled { attempt, until: soon },
                Said::Gone => Event::Gone { attempt },
                Said::ChatRefused => Event::ChatRefused { attempt, detail: String::new() },
                Said::Lost => Event::Lost { attempt },
            }
        }
        Ev::LeaseEnded => Event::LeaseEnded,
        Ev::PauseOver => Event::PauseOver,
        Ev::Overtaken => Event::Overtaken,
        Ev::SendAgain => Event::Decided(delivery::Decision::SendAgain { by: 1 }),
        Ev::LetGo => Event::Decided(delivery::Decision::LetGo { by: 1 }),
    }
}

impl Cx<'_> {
    /// One event for one row, with its effects. `Ok(false)` = the pair is illegal.
    fn advance_row(&mut self, world: &mut World, row: u8, ev: Ev, at: i8) -> Result<bool, Broken> {
        let slot = world.rows[row as usize];
        let before = self.outbox.facts(slot.id - 1);
        let Some(stepped) = self.outbox.step(slot.id - 1, ev, at) else { return Ok(false) };
        let after = self.outbox.facts(stepped.id);
        world.rows[row as usize].id = stepped.id + 1;
        if before.settled && (!after.settled || before.sent != after.sent) {
            return Err("a settled delivery came back");
        }
        if ev == Ev::LeaseEnded && (after.settled || after.pending) {
            return Err("a sender's lease decided");
        }
        if after.sent && !before.sent && slot.shown == 0 {
            return Err("a message counts as sent and was never shown");
        }
        if after.gone && !before.gone && !stepped.instead {
            return Err("a card is gone and nothing is sent instead");
        }
        let op = &mut world.ops[slot.op as usize];
        if let (Ev::Said(_, Said::Done(copy)), true) = (ev, slot.card) {
            op.heard = op.heard.max(copy);
            // Numbers of messages grow within a chat: an older message never replaces a newer one.
            op.known = if self.has(Bug::CardKnownByLastAnswer) { copy } else { op.known.max(copy) };
        }
        if slot.card && after.settled && !before.settled && !after.sent && !after.overtaken && !after.gone {
            op.flags |= flag::CARD_GIVEN_UP;
        }
        if stepped.instead {
            op.known = 0;
            self.outbox.add(world, slot.op, slot.content, true);
        }
        Ok(true)
    }

    fn push_row(&mut self, mut after: World, row: u8, ev: Ev, at: i8, act: Act, out: &mut Follow) {
        match self.advance_row(&mut after, row, ev, at) {
            Ok(true) => {
                self.outbox.clear(&mut after);
                out.push((act, Ok(after)));
            }
            Ok(false) => out.push((act, Err("an answer or a moment has no place in the outbox"))),
            Err(broken) => out.push((act, Err(broken))),
        }
    }
}

pub(crate) fn follow(cx: &mut Cx<'_>, world: &World, out: &mut Follow) {
    if cx.scene.outbox_policy.is_none() {
        return;
    }
    for sender in 0..cx.scene.senders {
        if world.senders[sender as usize] == Sender::Idle {
            idle(cx, world, sender, out);
        } else {
            busy(cx, world, sender, out);
        }
    }
    for (at, post) in world.posts.iter().enumerate().filter(|(_, post)| post.left > 0) {
        carry_out(world, at, *post, out);
    }
    for (op, slot) in world.ops.iter().enumerate().filter(|(_, op)| op.copies > 0) {
        let mut after = *world;
        if slot.flags & flag::CARD_DELETED == 0 && after.left.bad(|left| &mut left.vanish) {
            after.ops[op].flags |= flag::CARD_DELETED;
            out.push((Act::CardVanishes { op: op as u8 }, Ok(after)));
        }
    }
    for (row, slot) in world.rows.iter().enumerate().filter(|(_, row)| row.id != 0) {
        let mut after = *world;
        if cx.outbox.facts(slot.id - 1).before_human && spend(&mut after.left.staff) {
            for again in [true, false] {
                let ev = if again { Ev::SendAgain } else { Ev::LetGo };
                cx.push_row(after, row as u8, ev, 0, Act::RowDecided { row: row as u8, again }, out);
            }
        }
    }
}

fn idle(cx: &mut Cx<'_>, world: &World, sender: u8, out: &mut Follow) {
    let clock = world.clock(sender as usize);
    let lease = clock + cx.scene.lease;
    for row in 0..world.rows.len() as u8 {
        let slot = world.rows[row as usize];
        if slot.id == 0 {
            continue;
        }
        let attempts = cx.outbox.facts(slot.id - 1).attempts;
        let act = Act::ClaimsRow { sender, row };
        match cx.outbox.next(slot.id - 1, clock) {
            NextAction::Send => {
                let held = world.rows[..row as usize]
                    .iter()
                    .any(|earlier| earlier.op == slot.op && cx.outbox.facts(earlier.id - 1).holds_back);
                if held && cx.has(Bug::OutboxOvertakesOnTheWire) {
                    for earlier in (0..row).filter(|earlier| world.rows[*earlier as usize].op == slot.op) {
                        let act = Act::IsOvertaken { sender, row: earlier };
                        let mut after = *world;
                        if let Ok(true) = cx.advance_row(&mut after, earlier, Ev::Overtaken, clock) {
                            cx.outbox.clear(&mut after);
                            out.push((act, Ok(after)));
                        }
                    }
                }
                if held && !cx.has(Bug::OutboxWithoutOrder) {
                    continue;
                }
                let overtaken = world.rows[row as usize + 1..]
                    .iter()
                    .any(|later| later.id != 0 && slot.card && (later.op, later.card) == (slot.op, true));
                if overtaken {
                    cx.push_row(*world, row, Ev::Overtaken, clock, Act::IsOvertaken { sender, row }, out);
                    continue;
                }
                let mut after = *world;
                let op = &mut after.ops[slot.op as usize];
                let edits = if slot.card { op.known } else { 0 };
                if slot.card {
                    // Worded only now.
                    let content = cx.machine.facts(op.id - 1).kind.card();
                    op.said = content;
                    after.rows[row as usize].content = content;
                }
                after.senders[sender as usize] = Sender::Claimed { row, attempt: attempts + 1, lease, edits };
                cx.push_row(after, row, Ev::Claimed(edits != 0), clock, act, out);
            }
            NextAction::Tell(event) => {
                let ev = if event == Event::LeaseEnded { Ev::LeaseEnded } else { Ev::PauseOver };
                cx.push_row(*world, row, ev, clock, Act::RowTime { sender, row }, out);
            }
            NextAction::Wait(_) | NextAction::Nothing => {}
        }
        let other = world.senders[1 - sender as usize];
        if cx.has(Bug::OutboxClaimWithoutCompare)
            && matches!(other, Sender::Claimed { row: theirs, .. } if theirs == row)
        {
            let mut after = *world;
            after.senders[sender as usize] = Sender::Claimed { row, attempt: attempts, lease, edits: 0 };
            out.push((act, Ok(after)));
        }
    }
}

fn busy(cx: &mut Cx<'_>, world: &World, sender: u8, out: &mut Follow) {
    let at = sender as usize;
    let clock = world.clock(at);
    let mut dies = *world;
    dies.senders[at] = Sender::Idle;
    if dies.left.bad(|left| &mut left.post_crash) {
        cx.outbox.clear(&mut dies);
        out.push((Act::SenderDies(sender), Ok(dies)));
    }
    match world.senders[at] {
        Sender::Idle => {}
        Sender::Claimed { row, attempt, lease, edits } => {
            let mut after = *world;
            if clock < lease {
                put(&mut after.posts, |post| post.left == 0, Post { left: cx.scene.post_late, row, attempt, edits });
                after.senders[at] = Sender::Waiting { row, attempt };
                out.push((Act::WritesRow { sender }, Ok(after)));
            } else {
                after.senders[at] = Sender::Answered { row, attempt, said: Said::NotSent };
                out.push((Act::RowLeaseIsOver { sender }, Ok(after)));
            }
            let mut after = *world;
            if after.left.bad(|left| &mut left.post_not_sent) {
                after.senders[at] = Sender::Answered { row, attempt, said: Said::NotSent };
                out.push((Act::RowCannotConnect { sender }, Ok(after)));
            }
        }
        Sender::Waiting { row, attempt } => {
            let mut after = *world;
            let gone = !world.posts.iter().any(|post| post.left > 0 && (post.row, post.attempt) == (row, attempt));
            if gone || after.left.bad(|left| &mut left.post_lost) {
                after.senders[at] = Sender::Answered { row, attempt, said: Said::Lost };
                out.push((Act::RowGivesUp { sender }, Ok(after)));
            }
        }
        Sender::Answered { row, attempt, said } => {
            let mut after = *world;
            after.senders[at] = Sender::Idle;
            cx.push_row(after, row, Ev::Said(attempt, said), clock, Act::RecordsRow { sender, said }, out);
        }
    }
}

/// Everything Telegram may do with one call.
fn carry_out(world: &World, at: usize, post: Post, out: &mut Follow) {
    let slot = world.rows[post.row as usize];
    let mut without = *world;
    take(&mut without.posts, at);
    let mut after = without;
    let op = &mut after.ops[slot.op as usize];
    let newest = post.edits == op.copies;
    if post.edits != 0 && newest && op.flags & flag::CARD_DELETED != 0 {
        answers(&after, post, Said::Gone, out);
    } else {
        let mut copy = post.edits;
        if slot.card && copy == 0 {
            op.copies += 1;
            op.flags &= !flag::CARD_DELETED;
            copy = op.copies;
        }
        if slot.card && copy == op.copies {
            op.visible = slot.content;
        }
        let row = &mut after.rows[post.row as usize];
        row.shown = row.shown.saturating_add(1).min(5);
        answers(&after, post, Said::Done(copy), out);
    }
    let mut after = without;
    if after.left.bad(|left| &mut left.blocked) {
        answers(&after, post, Said::ChatRefused, out);
    }
    let mut after = without;
    if after.left.bad(|left| &mut left.post_not_sent) {
        answers(&after, post, Said::Throttled, out);
    }
}

fn answers(world: &World, post: Post, said: Said, out: &mut Follow) {
    let Post { row, attempt, .. } = post;
    let waiting = world.senders.iter().position(|sender| *sender == Sender::Waiting { row, attempt });
    if let Some(sender) = waiting {
        let mut after = *world;
        after.senders[sender] = Sender::Answered { row, attempt, said };
        out.push((Act::Shows { row, said, heard: true }, Ok(after)));
    }
    let mut after = *world;
    if waiting.is_none() || after.left.bad(|left| &mut left.post_lost) {
        out.push((Act::Shows { row, said, heard: false }, Ok(after)));
    }
}

/// What must hold of rows and cards in every state.
pub(crate) fn check(cx: &Cx<'_>, world: &World) -> Result<(), Broken> {
    if cx.scene.outbox_policy.is_none() {
        return Ok(());
    }
    for row in world.rows.iter().filter(|row| row.id != 0) {
        let facts = cx.outbox.facts(row.id - 1);
        if !facts.edit && row.shown > 1 + facts.repeats {
            return Err("a message was shown twice and no repeat is on record");
        }
        let automatic = if cx.scene.on_unknown == OnUnknown::Repeat { 1 } else { 0 };
        if !facts.edit && facts.repeats > automatic + (cx.scene.left.staff - world.left.staff) {
            return Err("a message was repeated more often than its kind allows");
        }
    }
    for (i, op) in world.ops.iter().enumerate().filter(|(_, op)| op.id != 0) {
        let silent = !world.rows.iter().any(|row| row.id != 0 && row.card && row.op as usize == i);
        // A copy whose sending was never answered cannot be edited: Telegram has no key to find it by.
        let there = op.copies > 0 && op.heard == op.copies && op.flags & flag::CARD_DELETED == 0;
        if silent && there && op.flags & flag::CARD_GIVEN_UP == 0 && op.visible != op.said {
            return Err("everything is said and the card still shows something older");
        }
        let truth = cx.machine.facts(op.id - 1).kind;
        if silent && op.flags & flag::CARD_GIVEN_UP == 0 && op.said != truth.card() {
            return Err("everything is said and the card was not told of the last change");
        }
        if op.visible == Kind::Created.card() && truth != Kind::Created {
            return Err("a card says «created» and nothing is");
        }
    }
    Ok(())
}

/// Whether every idle sender sees a row that is due and that no earlier one holds back.
pub(crate) fn all_idle_are_due(cx: &Cx<'_>, world: &World) -> bool {
    let open = |row: &&Row| row.id != 0 && cx.outbox.facts(row.id - 1).holds_back;
    let first_of = |op: u8| world.rows.iter().filter(open).find(|row| row.op == op);
    let mut idle = (0..cx.scene.senders).filter(|sender| world.senders[*sender as usize] == Sender::Idle).peekable();
    idle.peek().is_some()
        && idle.all(|sender| {
            let clock = world.clock(sender as usize);
            let due =
                |row: &Row| !matches!(cx.outbox.next(row.id - 1, clock), NextAction::Wait(_) | NextAction::Nothing);
            (0..world.ops.len() as u8).filter_map(first_of).any(due)
        })
}
