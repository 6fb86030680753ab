//! The two workers, the wire and the model CRM.

use super::{
    act::Act,
    bugs::Bug,
    machine::{Ev, Kind, Next},
    step::{Broken, Cx, Follow},
    world::{Answer, Call, Made, Seen, Worker, World, flag, put, take},
};
use zayavka::domain::outcome::Promise;

pub(crate) fn follow(cx: &mut Cx<'_>, world: &World, out: &mut Follow) {
    for worker in 0..cx.scene.workers {
        if world.workers[worker as usize] == Worker::Idle {
            idle(cx, world, worker, out);
        } else {
            busy(cx, world, worker, out);
        }
    }
    for (at, call) in world.calls.iter().enumerate().filter(|(_, call)| call.left > 0) {
        carry_out(cx, world, at, *call, out);
    }
}

fn idle(cx: &mut Cx<'_>, world: &World, worker: u8, out: &mut Follow) {
    let clock = world.clock(worker as usize);
    for op in 0..world.ops.len() as u8 {
        let slot = world.ops[op as usize];
        if slot.id == 0 {
            continue;
        }
        match cx.machine.next(slot.id - 1, clock) {
            Next::Send => {
                let mut after = *world;
                let act = Act::Claims { worker, op };
                match cx.advance(&mut after, op, Ev::Claimed, clock) {
                    Ok(_) => {
                        claimed(cx, &mut after, worker, op);
                        out.push((act, check_ground(cx, &after, op).map(|()| after)));
                    }
                    Err(broken) => out.push((act, Err(broken))),
                }
            }
            Next::Look | Next::Watch => looks(cx, world, worker, op, out),
            Next::Check(number) => checks(world, worker, op, number, out),
            Next::Tell(what) => {
                let mut after = *world;
                let act = Act::Tells { worker, op, what };
                match cx.advance(&mut after, op, what, clock) {
                    Ok(true) => out.push((act, Ok(after))),
                    Ok(false) => out.push((act, Err("the machine refuses what it asked for"))),
                    Err(broken) => out.push((act, Err(broken))),
                }
            }
            Next::Wait | Next::Nothing => {}
        }
        let other = world.workers[1 - worker as usize];
        if cx.has(Bug::ClaimWithoutCompare) && matches!(other, Worker::Claimed { op: theirs, .. } if theirs == op) {
            let mut after = *world;
            claimed(cx, &mut after, worker, op);
            out.push((Act::Claims { worker, op }, Ok(after)));
        }
    }
}

fn claimed(cx: &Cx<'_>, world: &mut World, worker: u8, op: u8) {
    let attempt = cx.machine.facts(world.ops[op as usize].id - 1).attempts;
    let lease = world.clock(worker as usize) + cx.scene.lease;
    world.workers[worker as usize] = Worker::Claimed { op, attempt, lease };
}

/// An attempt that counts as the first is the first.
fn check_ground(cx: &Cx<'_>, world: &World, op: u8) -> Result<(), Broken> {
    use zayavka::domain::operation::Ground;
    let slot = world.ops[op as usize];
    let first = cx.machine.facts(slot.id - 1).ground == Some(Ground::First);
    if first && (world.on_wire(op) || world.tickets_of(slot.label, true) != 0) && slot.flags & flag::EXCUSED == 0 {
        return Err("something that had been sent was sent again as if it never had");
    }
    Ok(())
}

fn looks(cx: &Cx<'_>, world: &World, worker: u8, op: u8, out: &mut Follow) {
    let label = world.ops[op as usize].label;
    let all = world.tickets_of(label, true);
    let lag = cx.scene.lag;
    let must = world
        .tickets
        .iter()
        .enumerate()
        .filter(|(i, made)| all & (1 << i) != 0 && made.age >= lag)
        .fold(0_u8, |bits, (i, _)| bits | 1 << i);
    let mut show = |seen: Seen, mut after: World| {
        after.workers[worker as usize] = Worker::Looked { op, asked: world.clock(worker as usize), seen };
        out.push((Act::Looks { worker, op, seen }, Ok(after)));
    };
    for bits in [must, all] {
        show(if bits == 0 { Seen::Missed } else { Seen::Found(bits) }, *world);
        if must == all {
            break;
        }
    }
    let mut after = *world;
    if after.left.bad(|left| &mut left.unsure) {
        show(Seen::Unsure, after);
    }
}

fn checks(world: &World, worker: u8, op: u8, number: u8, out: &mut Follow) {
    let label = world.ops[op as usize].label;
    let made = world.tickets.get(number as usize).copied().unwrap_or_default();
    let exists = made.label != 0;
    let mut show = |stands: Option<bool>, mut after: World| {
        after.workers[worker as usize] = Worker::Checked { op, number, stands, exists };
        out.push((Act::Checks { worker, op, stands }, Ok(after)));
    };
    show(Some(exists && made.label == label + 1), *world);
    let mut after = *world;
    if after.left.bad(|left| &mut left.unsure) {
        show(None, after);
    }
}

fn busy(cx: &mut Cx<'_>, world: &World, worker: u8, out: &mut Follow) {
    let at = worker as usize;
    let clock = world.clock(at);
    let mut dies = *world;
    dies.workers[at] = Worker::Idle;
    if dies.left.bad(|left| &mut left.crash) {
        out.push((Act::WorkerDies(worker), Ok(dies)));
    }
    match world.workers[at] {
        Worker::Idle => {}
        Worker::Claimed { op, attempt, lease } => {
            let mut after = *world;
            if clock < lease || cx.has(Bug::NoLeaseCheck) {
                let key = if cx.has(Bug::KeyPerAttempt) { attempt } else { 0 };
                put(&mut after.calls, |call| call.left == 0, Call { left: cx.scene.late, op, attempt, key });
                after.workers[at] = Worker::Waiting { op, attempt };
                let known = attempt <= world.ops[op as usize].rows;
                let after = if known { Ok(after) } else { Err("a call was written before its attempt row") };
                out.push((Act::Writes { worker }, after));
            } else {
                after.workers[at] = Worker::Answered { op, attempt, answer: Answer::NotSent };
                out.push((Act::LeaseIsOver { worker }, Ok(after)));
            }
            let mut after = *world;
            if after.left.bad(|left| &mut left.not_sent) {
                after.workers[at] = Worker::Answered { op, attempt, answer: Answer::NotSent };
                out.push((Act::CannotConnect { worker }, Ok(after)));
                after.workers[at] = Worker::Answered { op, attempt, answer: Answer::Unfit };
                out.push((Act::FitsNoRequest { worker }, Ok(after)));
            }
        }
        Worker::Waiting { op, attempt } => {
            let mut after = *world;
            let gone = !world.calls.iter().any(|call| call.left > 0 && (call.op, call.attempt) == (op, attempt));
            if gone || after.left.bad(|left| &mut left.lost) {
                after.workers[at] = Worker::Answered { op, attempt, answer: Answer::Lost };
                out.push((Act::GivesUp { worker }, Ok(after)));
            }
        }
        Worker::Answered { op, attempt, answer } => {
            let ev = match answer {
                Answer::Created(ticket) => Ev::Created(attempt, ticket),
                Answer::Refused => Ev::Refused(attempt),
                Answer::NotSent => Ev::NotSent(attempt),
                Answer::Unfit => Ev::Unfit(attempt),
                Answer::InFlight => Ev::InFlight(attempt),
                Answer::Exists => Ev::Exists(attempt),
                Answer::Lost => Ev::Lost(attempt),
            };
            let mut after = *world;
            after.workers[at] = Worker::Idle;
            let recorded = match cx.advance(&mut after, op, ev, clock) {
                Ok(true) => Ok(after),
                Ok(false) => Err("an answer has no place in the machine"),
                Err(broken) => Err(broken),
            };
            out.push((Act::Records { worker, answer }, recorded));
            if let Ok(mut again) = recorded
                && again.left.bad(|left| &mut left.doubled)
            {
                again.workers[at] = world.workers[at];
                out.push((Act::RecordsTwice { worker, answer }, Ok(again)));
            }
        }
        Worker::Looked { op, asked, seen } => {
            let asked = if cx.has(Bug::MissDatedByItsAnswer) { clock } else { asked };
            let ev = match seen {
                Seen::Found(bits) => Ev::Found(bits, asked),
                Seen::Missed => Ev::Missed(asked),
                Seen::Unsure => Ev::Unsure,
            };
            let mut after = *world;
            after.workers[at] = Worker::Idle;
            let recorded = match cx.advance(&mut after, op, ev, clock) {
                Ok(false) if matches!(seen, Seen::Found(bits) if !stands_before_a_human(cx, world, op, bits)) => {
                    Err("a ticket that we were told of was forgotten")
                }
                Ok(_) => Ok(after),
                Err(broken) => Err(broken),
            };
            out.push((Act::RecordsLook { worker }, recorded));
        }
        Worker::Checked { op, number, stands, exists } => {
            let ev = match stands {
                Some(true) => Ev::Stands(number),
                Some(false) => Ev::Falls(exists),
                None => Ev::Unsure,
            };
            let mut after = *world;
            after.workers[at] = Worker::Idle;
            let recorded = cx.advance(&mut after, op, ev, clock).map(|_| after);
            out.push((Act::RecordsCheck { worker }, recorded));
        }
    }
}

/// Whether what a look showed is known already, or stands in front of a human.
fn stands_before_a_human(cx: &Cx<'_>, world: &World, op: u8, bits: u8) -> bool {
    let slot = world.ops[op as usize];
    let facts = cx.machine.facts(slot.id - 1);
    let own = facts.ticket.map_or(0, |ticket| 1_u8.checked_shl(u32::from(ticket)).unwrap_or(0));
    facts.kind == Kind::Review || facts.candidate.is_some() || bits & !own == 0 || slot.flags & flag::REPORTED != 0
}

/// Everything the CRM may do with one call.
fn carry_out(cx: &Cx<'_>, world: &World, at: usize, call: Call, out: &mut Follow) {
    let label = world.ops[call.op as usize].label;
    let keyed = cx.scene.policy.promise == Promise::Keyed;
    let remembers = |made: &&Made| {
        made.label == label + 1 && made.key == call.key && cx.scene.key_life.is_none_or(|life| made.age < life)
    };
    let mut without = *world;
    take(&mut without.calls, at);
    if keyed && let Some(made) = world.tickets.iter().find(remembers) {
        let number = world.tickets.iter().position(|other| other == made).unwrap_or_default() as u8;
        answers(&without, call, Answer::Created(number), out);
        let mut after = without;
        if after.left.bad(|left| &mut left.exists) {
            answers(&after, call, Answer::Exists, out);
        }
        return;
    }
    let mut after = without;
    let number = put(&mut after.tickets, |made| made.label == 0, Made { label: label + 1, key: call.key, age: 0 });
    answers(&after, call, Answer::Created(number as u8), out);
    let mut after = without;
    if after.left.bad(|left| &mut left.refuse) {
        answers(&after, call, Answer::Refused, out);
    }
    let mut after = without;
    if after.left.bad(|left| &mut left.not_sent) {
        answers(&after, call, Answer::NotSent, out);
    }
    let earlier = world.calls.iter().any(|other| other.left > 0 && other.op == call.op && *other != call);
    let mut after = without;
    if keyed && earlier && after.left.bad(|left| &mut left.in_flight) {
        answers(&after, call, Answer::InFlight, out);
    }
    let mut after = *world;
    if call.left == 1 && after.left.bad(|left| &mut left.beyond) {
        after.calls[at].left = cx.scene.beyond;
        after.ops[call.op as usize].flags |= flag::BEYOND;
        out.push((Act::HeldTooLong { attempt: call.attempt }, Ok(after)));
    }
}

/// The answer reaches whoever still waits for it, or is lost.
fn answers(world: &World, call: Call, answer: Answer, out: &mut Follow) {
    let Call { op, attempt, .. } = call;
    let waiting = world.workers.iter().position(|worker| *worker == Worker::Waiting { op, attempt });
    if let Some(worker) = waiting {
        let mut after = *world;
        after.workers[worker] = Worker::Answered { op, attempt, answer };
        out.push((Act::CarriesOut { attempt, answer, heard: true }, Ok(after)));
    }
    let mut after = *world;
    if waiting.is_none() || after.left.bad(|left| &mut left.lost) {
        out.push((Act::CarriesOut { attempt, answer, heard: false }, Ok(after)));
    }
}

/// What must hold of operations and tickets in every state.
pub(crate) fn check(cx: &Cx<'_>, world: &World) -> Result<(), Broken> {
    for (i, op) in world.ops.iter().enumerate().filter(|(_, op)| op.id != 0) {
        let facts = cx.machine.facts(op.id - 1);
        let excused = op.flags & (flag::EXCUSED | flag::BEYOND) != 0;
        let tickets = world.tickets_of(op.label, false).count_ones();
        if tickets > 1 && !excused {
            return Err("two tickets for one confirmed version");
        }
        if facts.kind == Kind::Created {
            let made = facts.ticket.and_then(|ticket| world.tickets.get(ticket as usize));
            if made.is_none_or(|made| made.label != op.label + 1) {
                return Err("«created» is said and there is no such ticket");
            }
        }
        if facts.kind == Kind::RejectedByCrm && tickets > 0 && !excused {
            return Err("«the CRM refused it» is said and the ticket exists");
        }
        if facts.kind == Kind::Cancelled && op.rows > 0 {
            return Err("cancelled after an attempt had begun");
        }
        check_case(facts.kind, op.flags)?;
        if facts.attempts > cx.scene.attempts_at_most {
            return Err("it is sent again and again and no human hears of it");
        }
        check_twin(cx, world, i as u8)?;
    }
    Ok(())
}

fn check_case(kind: Kind, flags: u8) -> Result<(), Broken> {
    if kind == Kind::Review && flags & flag::CASE == 0 {
        return Err("in review, and no case is open");
    }
    if kind.is_final() && flags & flag::CASE != 0 {
        return Err("at its end, and its case is still open");
    }
    let free = matches!(kind, Kind::RejectedByCrm | Kind::RejectedByStaff | Kind::Cancelled);
    if free == (flags & flag::SLOT != 0) {
        return Err("the place is not held exactly while the operation may have its ticket");
    }
    Ok(())
}

/// A ticket beside the operation's own, after its end, is known to staff or will be, where the CRM can be searched.
fn check_twin(cx: &Cx<'_>, world: &World, op: u8) -> Result<(), Broken> {
    let slot = world.ops[op as usize];
    let facts = cx.machine.facts(slot.id - 1);
    if !cx.scene.policy.can_look || !facts.kind.is_final() || slot.flags & (flag::REPORTED | flag::BEYOND) != 0 {
        return Ok(());
    }
    let own = facts.ticket.map_or(0, |ticket| 1_u8.checked_shl(u32::from(ticket)).unwrap_or(0));
    let others = world.tickets_of(slot.label, true) & !own;
    let underway =
        world.workers.iter().any(|worker| worker.op() == Some(op) && !matches!(worker, Worker::Claimed { .. }));
    if others != 0 && !facts.watched && !underway {
        return Err("a second ticket that nobody will hear of");
    }
    Ok(())
}
