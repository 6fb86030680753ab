//! The proof: an exhaustive walk of both machines with a model CRM and a model Telegram.

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

#[test]
fn every_walk_closes_without_a_broken_promise() {
    let only = std::env::var("ZAYAVKA_SCENE").ok();
    let mut failed = false;
    for scene in scene::all(false).iter().filter(|scene| only.as_deref().is_none_or(|only| scene.name == only)) {
        assert_eq!(scene.policy.problems(), []);
        let walked = walk::walk(scene, None);
        println!(
            "{:24} states {:>9} steps {:>9} depth {:>4} excused {:>7} ops {:>6} rows {:>5} {:?}",
            scene.name,
            walked.states,
            walked.steps,
            walked.depth,
            walked.excused,
            walked.operations,
            walked.deliveries,
            walked.took
        );
        if let Some(bad) = walked.bad {
            failed = true;
            println!("  BROKEN: {}", bad.broken);
            for (i, act) in bad.path.iter().enumerate() {
                println!("   {:>2}. {act}", i + 1);
            }
        }
    }
    assert!(!failed);
}
