//! The proof: an exhaustive walk of both machines with a model CRM and a model Telegram.
//!
//! What is walked is the real [`step`](zayavka::domain::operation::step) and
//! [`next_action`](zayavka::domain::operation::next_action) and their twins in the outbox; around them stands a model of
//! everything that can go wrong between two replicas, two people, the CRM and the chat. A walk ends only when there is no
//! state left to visit, or prints the shortest way to a broken promise. `ZAYAVKA_WALK=long` allows one more piece of bad
//! luck in every scene.
//!
//! Read [`world`] for what a state is, [`scene`] for what is walked, [`step`](self::step) for what is checked at each
//! step, [`crm`], [`people`] and [`outbox`] for what each party may do and what must hold, [`bugs`] for the mistakes that
//! the walk is known to catch.

mod act;
mod bugs;
mod crm;
mod machine;
mod outbox;
mod people;
mod scene;
mod step;
mod walk;
mod world;

use scene::Scene;

/// One more piece of bad luck on a long walk.
fn more() -> u8 {
    u8::from(std::env::var("ZAYAVKA_WALK").is_ok_and(|walk| walk == "long"))
}

/// Walks each scene to its end, prints what it was, and fails with the shortest bad path.
fn walk_all(scenes: &[Scene]) -> usize {
    let only = std::env::var("ZAYAVKA_SCENE").unwrap_or_default();
    let (mut states, mut broken) = (0, false);
    println!("{:28} {:>9} {:>10} {:>6} {:>8} {:>7}  time", "scene", "states", "steps", "depth", "excused", "ops");
    for scene in scenes.iter().filter(|scene| scene.name.contains(&only)) {
        assert_eq!(scene.policy.problems(), [], "the figures of {} do not fit together", scene.name);
        let walked = walk::walk(scene, None);
        println!(
            "{:28} {:>9} {:>10} {:>6} {:>8} {:>7}  {:.1?}",
            scene.name, walked.states, walked.steps, walked.depth, walked.excused, walked.operations, walked.took
        );
        if let Some(bad) = walked.bad {
            broken = true;
            println!("{bad}");
        }
        states += walked.states;
    }
    assert!(!broken, "a promise is broken: the shortest way to it is printed above");
    states
}

#[test]
fn one_tap_makes_one_ticket_with_a_crm_of_every_promise() {
    let states = walk_all(&scene::promises(2 + more()));
    assert!(states >= 1_000_000 || std::env::var("ZAYAVKA_SCENE").is_ok(), "only {states} states were walked");
}

#[test]
fn a_longer_chain_of_bad_luck_breaks_nothing() {
    walk_all(&scene::deep(more()));
}

#[test]
fn a_crm_that_stays_silent_ends_with_a_human() {
    walk_all(&scene::silences());
}

#[test]
fn taps_edits_and_cancels_of_two_people_stay_apart() {
    walk_all(&scene::taps(1 + more()));
}

#[test]
fn what_is_said_is_true_in_order_and_said_as_often_as_its_kind_allows() {
    walk_all(&scene::outbox(2 + more()));
}

#[test]
fn every_seeded_bug_is_caught() {
    let only = std::env::var("ZAYAVKA_BUG").unwrap_or_default();
    let mut survivors = Vec::new();
    println!("{:28} {:>5}  {:28} broken promise", "bug", "acts", "scene");
    for bug in bugs::ALL.iter().filter(|bug| format!("{bug:?}").contains(&only)) {
        let caught = [1, 2].into_iter().flat_map(|trouble| bug.scenes(trouble)).find_map(|scene| {
            let bad = walk::walk(&scene, Some(*bug)).bad?;
            Some((scene.name, bad))
        });
        match caught {
            Some((scene, bad)) => {
                println!("{:28} {:>5}  {scene:28} {}", format!("{bug:?}"), bad.path.len(), bad.broken);
                if !only.is_empty() {
                    println!("{bad}");
                }
            }
            None => {
                println!("{:28}     -  SURVIVED", format!("{bug:?}"));
                survivors.push(bug);
            }
        }
    }
    assert!(survivors.is_empty(), "the walk does not see {survivors:?}");
}
