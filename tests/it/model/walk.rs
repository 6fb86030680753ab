//! The walk: breadth first, so that the first bad state has a shortest path; to its end, so that "never" means never.
//!
//! A state is remembered by a fingerprint of 128 bits. With ten million states the chance that any two share one is
//! below 10^-24.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hash, Hasher},
    time::{Duration, Instant},
};

use super::{
    bugs::Bug,
    machine::Kind,
    scene::Scene,
    step::{Broken, Cx, settled},
    world::{World, flag},
};

/// What a walk found.
pub(crate) struct Walked {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    pub(crate) depth: usize,
    /// States with more than one ticket, each with a human's word or a declared exception behind it.
    pub(crate) excused: usize,
    pub(crate) operations: usize,
    pub(crate) deliveries: usize,
    pub(crate) took: Duration,
    pub(crate) bad: Option<Bad>,
}

/// A promise that broke, and the shortest way there.
pub(crate) struct Bad {
    pub(crate) broken: Broken,
    pub(crate) path: Vec<String>,
}

impl std::fmt::Display for Bad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "  broken: {}", self.broken)?;
        for (i, act) in self.path.iter().enumerate() {
            writeln!(f, "  {:>3}. {act}", i + 1)?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Already(u64);

impl Hasher for Already {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u128(&mut self, n: u128) {
        self.0 = (n >> 64) as u64;
    }
}

fn fingerprint(world: &World) -> u128 {
    /// Two independent lanes over the same words.
    #[derive(Default)]
    struct Lanes(u64, u64);
    impl Lanes {
        fn mix(&mut self, word: u64) {
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
            self.1 = (self.1 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }
    impl Hasher for Lanes {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for chunk in bytes.chunks(8) {
                self.mix(chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
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
    let mut lanes = Lanes::default();
    world.hash(&mut lanes);
    // A last stir, so that words hashed late reach all bits.
    let stir = |mut word: u64| {
        word ^= word >> 33;
        word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
        word ^= word >> 33;
        word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        word ^ word >> 33
    };
    u128::from(stir(lanes.0)) << 64 | u128::from(stir(lanes.1))
}

fn check(cx: &Cx<'_>, world: &World) -> Result<(), Broken> {
    super::people::check(cx, world)?;
    super::crm::check(cx, world)?;
    super::outbox::check(cx, world)
}

/// Whether everything has ended or stands in front of a human.
fn at_rest(cx: &Cx<'_>, world: &World) -> bool {
    world.ops.iter().filter(|op| op.id != 0).all(|op| {
        let kind = cx.machine.facts(op.id - 1).kind;
        kind.is_final() || kind == Kind::Review
    }) && world.updates.iter().all(settled)
        && world.rows.iter().filter(|row| row.id != 0).all(|row| {
            let facts = cx.outbox.facts(row.id - 1);
            facts.settled || facts.before_human
        })
}

fn is_excused(world: &World) -> bool {
    world.ops.iter().any(|op| {
        op.id != 0
            && op.flags & (flag::EXCUSED | flag::BEYOND) != 0
            && world.tickets_of(op.label, false).count_ones() > 1
    })
}

/// Who has put down what was in hand is not held up any more; when anybody acts, the service is not down.
fn rest(before: &World, follow: &mut super::step::Follow) {
    for (act, after) in follow {
        if let Ok(after) = after {
            *after = after.rested();
            let acted =
                (after.workers, after.handlers, after.senders) != (before.workers, before.handlers, before.senders);
            if acted && *act != super::act::Act::Tick {
                after.slow &= !super::world::slow::DOWN;
            }
        }
    }
}

/// Walks one scene to its end, or to the first broken promise.
#[expect(clippy::disallowed_methods, reason = "how long the walk took is printed, nothing depends on it")]
pub(crate) fn walk(scene: &Scene, bug: Option<Bug>) -> Walked {
    let began = Instant::now();
    let mut cx = Cx::new(scene, bug);
    let mut seen: HashMap<u128, u32, BuildHasherDefault<Already>> = HashMap::default();
    let (mut prints, mut parents) = (Vec::new(), Vec::new());
    let (mut calm, mut resting) = (Vec::new(), Vec::new());
    let mut level = Vec::new();
    let mut walked = Walked {
        states: 0,
        steps: 0,
        depth: 0,
        excused: 0,
        operations: 0,
        deliveries: 0,
        took: Duration::ZERO,
        bad: None,
    };
    let mut found = |world: &World, parent: u32, prints: &mut Vec<u128>, parents: &mut Vec<u32>| {
        let print = fingerprint(world);
        let next = prints.len() as u32;
        let index = *seen.entry(print).or_insert(next);
        if index == next {
            prints.push(print);
            parents.push(parent);
        }
        (index, index == next)
    };
    for world in cx.first() {
        let (index, _) = found(&world, u32::MAX, &mut prints, &mut parents);
        level.push((index, world));
    }
    let mut follow = Vec::new();
    let mut failed: Option<(u32, Option<World>, String, Broken)> = None;
    'walk: while !level.is_empty() {
        walked.depth += 1;
        let mut next_level = Vec::new();
        for (index, world) in &level {
            if let Err(broken) = check(&cx, world) {
                failed = Some((*index, None, String::new(), broken));
                break 'walk;
            }
            walked.excused += usize::from(is_excused(world));
            if at_rest(&cx, world) {
                resting.push(*index);
            }
            follow.clear();
            cx.follow(world, &mut follow);
            rest(world, &mut follow);
            for (act, after) in &follow {
                walked.steps += 1;
                match after {
                    Ok(after) => {
                        let (to, new) = found(after, *index, &mut prints, &mut parents);
                        if !act.is_bad_luck() {
                            calm.push((*index, to));
                        }
                        if new {
                            next_level.push((to, *after));
                        }
                    }
                    Err(broken) => {
                        failed = Some((*index, None, act.to_string(), *broken));
                        break 'walk;
                    }
                }
            }
        }
        level = next_level;
    }
    walked.states = prints.len();
    if failed.is_none()
        && let Some(stuck) = cannot_rest(prints.len(), &calm, &resting)
    {
        failed = Some((stuck, None, String::new(), "from here it can never end and no human hears of it"));
    }
    walked.bad = failed.map(|(index, _, last, broken)| {
        let mut path = retrace(&mut cx, &prints, &parents, index);
        if !last.is_empty() {
            path.push(last);
        }
        Bad { broken, path }
    });
    walked.operations = cx.machine.known();
    walked.deliveries = cx.outbox.known();
    walked.took = began.elapsed();
    walked
}

/// The first state from which no calm way leads to rest.
fn cannot_rest(states: usize, calm: &[(u32, u32)], resting: &[u32]) -> Option<u32> {
    let mut first = vec![0_u32; states + 1];
    for (_, to) in calm {
        first[*to as usize + 1] += 1;
    }
    for i in 0..states {
        first[i + 1] += first[i];
    }
    let mut fill = first.clone();
    let mut sources = vec![0_u32; calm.len()];
    for (from, to) in calm {
        let at = &mut fill[*to as usize];
        sources[*at as usize] = *from;
        *at += 1;
    }
    let mut can = vec![false; states];
    let mut queue: Vec<u32> = resting.to_vec();
    while let Some(state) = queue.pop() {
        if !std::mem::replace(&mut can[state as usize], true) {
            let (from, to) = (first[state as usize] as usize, first[state as usize + 1] as usize);
            queue.extend(&sources[from..to]);
        }
    }
    can.iter().position(|can| !can).map(|state| state as u32)
}

/// The acts that lead to state `index`, found again from the first states by their fingerprints.
fn retrace(cx: &mut Cx<'_>, prints: &[u128], parents: &[u32], index: u32) -> Vec<String> {
    let mut chain = vec![index];
    let mut at = index;
    while parents[at as usize] != u32::MAX {
        at = parents[at as usize];
        chain.push(at);
    }
    chain.reverse();
    let mut path = Vec::new();
    let Some(mut world) = cx.first().into_iter().find(|world| fingerprint(world) == prints[at as usize]) else {
        return path;
    };
    path.push(format!("replica 2's clock is ahead by {}", world.skew));
    for step in &chain[1..] {
        let mut follow = Vec::new();
        cx.follow(&world, &mut follow);
        rest(&world, &mut follow);
        for (act, after) in follow {
            if let Ok(after) = after
                && fingerprint(&after) == prints[*step as usize]
            {
                path.push(act.to_string());
                world = after;
                break;
            }
        }
    }
    path
}
