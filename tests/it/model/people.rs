//! What people do: requesters tap, edit and cancel; Telegram delivers their updates; staff decide.

use super::{
    act::Act,
    bugs::Bug,
    machine::{Ev, Kind},
    step::{Broken, Cx, Follow},
    world::{BY_HAND, Handler, Made, Phase, Stage, Update, World, flag, put, spend},
};

/// A number that no ticket has.
pub(crate) const WRONG_NUMBER: u8 = 77;

pub(crate) fn follow(cx: &mut Cx<'_>, world: &World, out: &mut Follow) {
    taps(world, out);
    updates(cx, world, out);
    edits(cx, world, out);
    for op in 0..world.ops.len() as u8 {
        if world.ops[op as usize].id != 0 {
            cancels(cx, world, op, out);
            staff(cx, world, op, out);
        }
    }
}

fn taps(world: &World, out: &mut Follow) {
    for by in 0..2_u8 {
        for owner in 0..2_u8 {
            for version in 1..=world.drafts[owner as usize].version {
                let mut after = *world;
                if world.drafts[by as usize].phase == Phase::Absent
                    || !spend(&mut after.left.tap)
                    || by != owner && !spend(&mut after.left.foreign)
                {
                    continue;
                }
                let label = owner * 2 + version - 1;
                put(&mut after.updates, |update| update.stage == Stage::None, Update { stage: Stage::Sent, by, label });
                if by == owner {
                    after.tapped |= 1 << label;
                }
                out.push((Act::Tap { by, label }, Ok(after)));
            }
        }
    }
}

fn updates(cx: &mut Cx<'_>, world: &World, out: &mut Follow) {
    for (i, update) in world.updates.iter().enumerate() {
        let n = i as u8;
        match update.stage {
            Stage::None => {}
            Stage::Sent => {
                let mut after = *world;
                after.updates[i].stage = Stage::Stored;
                out.push((Act::Arrives(n), Ok(after)));
            }
            Stage::Stored => {}
            Stage::Done => {
                // Even a repeat that the inbox key let through makes nothing: the operation's own key stands behind it.
                let mut after = *world;
                if after.left.bad(|left| &mut left.redeliver) {
                    after.updates[i].stage = Stage::Stored;
                    out.push((Act::ArrivesAgain(n), Ok(after)));
                }
            }
        }
    }
    for replica in 0..2_u8 {
        handler(cx, world, replica, out);
    }
}

fn handler(cx: &mut Cx<'_>, world: &World, replica: u8, out: &mut Follow) {
    let mine = world.handlers[replica as usize];
    let mut dies = *world;
    dies.handlers[replica as usize] = Handler::Idle;
    if mine != Handler::Idle && dies.left.bad(|left| &mut left.crash) {
        out.push((Act::HandlerDies(replica), Ok(dies)));
    }
    match mine {
        // Replicas handle alike: the second is asked only while the first is busy.
        Handler::Idle if replica == 1 && world.handlers[0] == Handler::Idle => {}
        Handler::Idle => {
            for (i, update) in world.updates.iter().enumerate().filter(|(_, update)| update.stage == Stage::Stored) {
                let mut after = *world;
                let saw = world.ops.iter().any(|op| op.id != 0 && op.label == update.label);
                after.handlers[replica as usize] = Handler::Read { update: i as u8, saw };
                out.push((Act::Reads { replica, update: i as u8 }, Ok(after)));
            }
        }
        Handler::Read { update, saw } => {
            let mut after = *world;
            after.handlers[replica as usize] = Handler::Idle;
            let fresh = world.updates[update as usize].stage == Stage::Stored;
            after.updates[update as usize].stage = Stage::Done;
            if fresh && cx.has(Bug::DoneBeforeEffects) {
                after.handlers[replica as usize] = Handler::Marked { update, saw };
            } else if fresh {
                submit(cx, &mut after, update, saw);
            }
            out.push((Act::Applies { replica, update }, Ok(after)));
        }
        Handler::Marked { update, saw } => {
            let mut after = *world;
            after.handlers[replica as usize] = Handler::Idle;
            submit(cx, &mut after, update, saw);
            out.push((Act::Applies { replica, update }, Ok(after)));
        }
    }
}

/// What the tap's commit does: the operation is inserted once, under its draft and version.
fn submit(cx: &mut Cx<'_>, world: &mut World, update: u8, saw: bool) {
    let Update { by, label, .. } = world.updates[update as usize];
    let owner = label / 2;
    if by != owner && !cx.has(Bug::ForeignTap) {
        return;
    }
    let draft = world.drafts[owner as usize];
    let label = if cx.has(Bug::StaleTapConfirms) { owner * 2 + draft.version - 1 } else { label };
    let there = world.ops.iter().any(|op| op.id != 0 && op.label == label);
    if cx.has(Bug::SecondTapSecondOperation) {
        if saw {
            return;
        }
    } else if there || draft.version != label % 2 + 1 || draft.phase != Phase::Summary {
        return;
    }
    cx.insert(world, label);
    world.drafts[owner as usize].phase = Phase::Frozen;
}

fn edits(cx: &mut Cx<'_>, world: &World, out: &mut Follow) {
    for person in 0..2_u8 {
        let draft = world.drafts[person as usize];
        let undecided = || {
            world
                .ops
                .iter()
                .any(|op| op.id != 0 && op.label / 2 == person && cx.machine.facts(op.id - 1).kind == Kind::Unknown)
        };
        let open = draft.phase == Phase::Reopened || cx.has(Bug::EditWhileUnknown) && undecided();
        let mut after = *world;
        if open && draft.version < 2 && spend(&mut after.left.edit) {
            after.drafts[person as usize].version += 1;
            after.drafts[person as usize].phase = Phase::Summary;
            out.push((Act::Edits(person), Ok(after)));
        }
    }
}

fn push_event(cx: &mut Cx<'_>, mut after: World, op: u8, ev: Ev, act: Act, out: &mut Follow) {
    match cx.advance(&mut after, op, ev, 0) {
        Ok(true) => out.push((act, Ok(after))),
        Ok(false) => {}
        Err(broken) => out.push((act, Err(broken))),
    }
}

fn cancels(cx: &mut Cx<'_>, world: &World, op: u8, out: &mut Follow) {
    let mut after = *world;
    if spend(&mut after.left.cancel) {
        push_event(cx, after, op, Ev::Cancelled, Act::Cancels(op), out);
    }
}

fn staff(cx: &mut Cx<'_>, world: &World, op: u8, out: &mut Follow) {
    let slot = world.ops[op as usize];
    // Outside review a decision is refused; it is tried all the same, since a button may be pressed late.
    let kind = cx.machine.facts(slot.id - 1).kind;
    if kind == Kind::Pending || kind.is_final() && cx.bug.is_none() {
        return;
    }
    let mut after = *world;
    if !spend(&mut after.left.staff) {
        return;
    }
    let real = world.tickets_of(slot.label, true);
    let mut decisions = vec![Ev::LookAgain, Ev::CreateAfterAll, Ev::Reject, Ev::Link(WRONG_NUMBER)];
    for number in (0..8).filter(|number| real & (1 << number) != 0) {
        decisions.extend([Ev::Link(number), Ev::LinkUnverified(number)]);
    }
    for what in decisions {
        push_event(cx, after, op, what, Act::Decides { op, what }, out);
    }
    if kind == Kind::Review && cx.scene.by_hand && real == 0 {
        let label = slot.label + 1;
        let number = put(&mut after.tickets, |made| made.label == 0, Made { label, key: BY_HAND, age: 0 });
        after.ops[op as usize].flags |= flag::EXCUSED;
        push_event(cx, after, op, Ev::Link(number as u8), Act::MakesByHand { op }, out);
    }
}

/// What must hold of drafts and taps in every state.
pub(crate) fn check(cx: &Cx<'_>, world: &World) -> Result<(), Broken> {
    for op in world.ops.iter().filter(|op| op.id != 0) {
        let kind = cx.machine.facts(op.id - 1).kind;
        if world.tapped & (1 << op.label) == 0 {
            return Err("something was submitted that its person never tapped");
        }
        let draft = world.drafts[op.label as usize / 2];
        let passed = draft.version > op.label % 2 + 1;
        if passed && !matches!(kind, Kind::RejectedByCrm | Kind::RejectedByStaff | Kind::Cancelled) {
            return Err("a draft went on to its next version while this one was not settled");
        }
    }
    for update in world.updates.iter().filter(|update| update.stage == Stage::Done && update.by == update.label / 2) {
        let draft = world.drafts[update.label as usize / 2];
        let current = draft.version == update.label % 2 + 1 && draft.phase == Phase::Summary;
        let handled = world.handlers.iter().any(|handler| *handler != Handler::Idle);
        if current && !handled && !world.ops.iter().any(|op| op.id != 0 && op.label == update.label) {
            return Err("a tap was done with and nothing was stored");
        }
    }
    Ok(())
}
