//! Real SIGKILL under load: the real binary, a real disk, clients that go on tapping, and a checker that only reads what
//! the CRM and the Bot API emulator saw.
//!
//! CI kills 200 times, at random moments; `ZAYAVKA_KILLS=2000` goes on longer. The moments come from a seed that is
//! printed, `ZAYAVKA_SEED` repeats it.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod client;
mod service;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use client::{Client, Outside};
use service::Service;
use tokio::{
    task::{JoinSet, LocalSet},
    time::timeout,
};
use zayavka::{
    clock::{Dice, SeededDice, SystemDice},
    sandbox::{Listen, World, WorldOptions},
};

/// People who tap at the same time.
const CLIENTS: i64 = 6;

/// The longest anything may take once nobody kills any more.
const CALM: Duration = Duration::from_secs(240);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_searchable_crm() {
    LocalSet::new().run_until(kill_often("generic-searchable")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keyed_crm() {
    LocalSet::new().run_until(kill_often("generic-keyed")).await;
}

async fn kill_often(profile: &str) {
    let kills: u32 = std::env::var("ZAYAVKA_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(200) / 2;
    let seed = std::env::var("ZAYAVKA_SEED").ok().and_then(|n| n.parse().ok());
    let seed = seed.unwrap_or_else(|| SystemDice.below(u64::MAX));
    println!("{profile}: {kills} kills, ZAYAVKA_SEED={seed}");
    let dice = Arc::new(SeededDice::new(seed));
    let world = World::start(WorldOptions { listen: Listen::Free, ..WorldOptions::default() }).await.unwrap();
    let outside = Outside::of(&world);
    let mut service = Service::new(&world, profile);
    service.start();

    let enough = Arc::new(AtomicBool::new(false));
    let mut people = JoinSet::new();
    for user in 1..=CLIENTS {
        let client = Client::new(outside.clone(), 5_000 + user, Arc::clone(&dice));
        people.spawn_local(client.apply_again_and_again(Arc::clone(&enough)));
    }
    let mut desk = JoinSet::new();
    desk.spawn_local(client::settle_cases(outside.clone(), world.staff_chat()));

    let mut killed_while_ready = 0;
    for kill in 0..kills {
        if kill % 5 == 0 {
            outside.trouble(&dice).await;
        }
        if outside.hears_from_the_service(Duration::from_secs(30)).await {
            killed_while_ready += 1;
        }
        // A random moment: often within the first steps after the start, sometimes in the middle of the work.
        let moment = Duration::from_millis(dice.below(400));
        drop(timeout(moment, std::future::pending::<()>()).await);
        service.kill().await;
        service.start();
    }
    enough.store(true, Ordering::SeqCst);
    outside.calm_down().await;
    let mut confirmed = 0;
    let done = timeout(CALM, async {
        while let Some(person) = people.join_next().await {
            confirmed += person.unwrap();
        }
    });
    if done.await.is_err() {
        for user in 1..=CLIENTS {
            println!("{}", outside.last_words(5_000 + user).await);
        }
        println!("{:#}", outside.state().await["log"]);
        println!("database: {}", service.keep().display());
        panic!("{profile}, seed {seed}: somebody still waits for an outcome");
    }
    desk.abort_all();
    service.stop().await;

    // What counts is what the CRM holds.
    let tickets = outside.tickets().await;
    let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
    for ticket in &tickets {
        *by_key.entry(ticket["external_id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let doubles: Vec<_> = by_key.iter().filter(|(_, n)| **n > 1).collect();
    println!(
        "{profile}: {kills} kills ({killed_while_ready} of a service that was up), {confirmed} confirmed, {} tickets, {} doubled",
        tickets.len(),
        doubles.len()
    );
    assert!(doubles.is_empty(), "seed {seed}: doubled: {doubles:?}");
    assert_eq!(tickets.len(), confirmed, "seed {seed}: every confirmed form has one ticket");
    assert!(confirmed * 10 > kills as usize, "seed {seed}: too little happened to prove anything");
    assert!(killed_while_ready * 2 > kills, "seed {seed}: most kills must meet a service that was up");
    assert_eq!(outside.false_claims().await, Vec::<String>::new(), "seed {seed}");
    world.stop().await;
}
