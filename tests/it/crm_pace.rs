//! How fast and how often at once the CRM is asked: fresh taps and staff's decisions keep to it as everything else does.

use std::{sync::PoisonError, time::Duration};

use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;
use zayavka::{
    app::lifecycle::{self, Ending},
    clock::Clock as _,
    crm::limiter::{Limiter, Pace, Sign},
};

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, Options, SUBMIT, World},
};

const SECOND: Duration = Duration::from_secs(1);

/// People beside Anna and Boris.
fn people(count: i64) -> impl Iterator<Item = i64> + Clone {
    201..201 + count
}

/// As many people as asked for stand before their summaries.
async fn ready_to_tap(world: &mut World, count: i64) {
    for user in people(count) {
        world.fill_in(user).await;
    }
}

/// All of them tap at one moment.
async fn all_tap(world: &mut World, count: i64) {
    for user in people(count) {
        let summary = world.message_with(user, SUBMIT).await;
        world.press(user, summary, SUBMIT).await;
    }
    world.settle().await;
}

/// The CRM may be asked so often from now on.
fn keep_to(world: &World, per_second: f64, burst: u32) {
    let limiter = Limiter::new(Pace::new(per_second, burst), world.clock.now());
    *world.app().worker.limiter.lock().unwrap_or_else(PoisonError::into_inner) = limiter;
}

async fn creates(world: &World) -> usize {
    world.calls("crm", "POST /tickets").await.len()
}

on_both! {
    async fn taps_beyond_the_rate_wait_for_their_turn(db: Database) {
        let mut world = World::with(db, Options::searchable().places(50)).await;
        ready_to_tap(&mut world, 5).await;
        keep_to(&world, 1.0, 1);
        all_tap(&mut world, 5).await;
        assert_eq!(creates(&world).await, 1, "all but the first wait");
        for second in 2..=5 {
            world.advance(Duration::from_millis(400)).await;
            assert!(creates(&world).await < second, "before its turn");
            world.advance(Duration::from_millis(600)).await;
            assert!(creates(&world).await <= second, "more than the rate");
        }
        for _ in 0..5 {
            world.advance(SECOND).await;
        }
        assert_eq!((creates(&world).await, world.count().await), (5, 5), "and each has had its turn");
        world.finish().await;
    }

    async fn a_tap_goes_at_once_when_the_pace_allows(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        keep_to(&world, 1.0, 1);
        world.submit(ANNA).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1), "no moment passed");
        world.finish().await;
    }

    async fn taps_leave_a_crm_alone_that_asked_to_come_back_later(db: Database) {
        let mut world = World::with(db, Options::keyed().places(50)).await;
        ready_to_tap(&mut world, 4).await;
        world.fault(json!({ "on": "POST /tickets", "do": "error_before", "status": 429, "retry_after": 30, "times": 0 })).await;
        for user in people(4) {
            world.submit(user).await;
            world.advance(Duration::from_millis(400)).await;
        }
        assert_eq!(creates(&world).await, 1, "one was told so, the others keep to it");
        world.mend().await;
        world.pass(20 * SECOND).await;
        assert_eq!(creates(&world).await, 1);
        world.pass(120 * SECOND).await;
        assert_eq!(world.count().await, 4);
        world.finish().await;
    }

    async fn taps_during_an_outage_wait_as_accepted(db: Database) {
        let mut world = World::with(db, Options::keyed().places(50)).await;
        ready_to_tap(&mut world, 8).await;
        for on in ["POST /tickets", "GET /tickets"] {
            world.fault(json!({ "on": on, "do": "error_before", "status": 500, "times": 0 })).await;
        }
        let mut states = Vec::new();
        for user in people(8) {
            world.submit(user).await;
            states.push(world.state(user).await);
        }
        assert!(creates(&world).await <= 5, "the breaker opens after five troubles");
        assert_eq!(states[5..], ["pending"; 3], "what was not sent is not unknown");
        let last = world.last_text(208).await;
        assert!(last.contains("ждём CRM"), "{last}");
        world.mend().await;
        world.pass(600 * SECOND).await;
        assert_eq!(world.count().await, 8);
        world.finish().await;
    }

    async fn a_decision_waits_for_a_throttling_crm_and_is_paid_for(db: Database) {
        let mut world = World::with(db, Options::blind().places(50)).await;
        world.fill_in(ANNA).await;
        world.fill_in(BORIS).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
        world.submit(ANNA).await;
        assert_eq!(world.state(ANNA).await, "review");
        let marker = world.marker(ANNA).await;
        keep_to(&world, 1.0, 1);
        let now = world.clock.now();
        let told = Sign::Throttled(Some(30 * SECOND));
        world.app().worker.limiter.lock().unwrap_or_else(PoisonError::into_inner).note(now, told);
        world.create_after_all(OWNER, &marker, "её нет в CRM").await;
        assert_eq!((creates(&world).await, world.state(ANNA).await), (1, "pending"), "decided, and yet the CRM is left alone");
        world.pass(31 * SECOND).await;
        assert_eq!((creates(&world).await, world.state(ANNA).await), (2, "created"));
        world.submit(BORIS).await;
        assert!(creates(&world).await <= 3);
        world.pass(60 * SECOND).await;
        assert_eq!(world.count().await, 2);
        world.finish().await;
    }

    async fn a_tap_while_all_hands_are_full_waits_for_one(db: Database) {
        let mut world = World::with(db, Options::searchable().places(50).set("worker.concurrency", "1")).await;
        world.fill_in(ANNA).await;
        world.fill_in(BORIS).await;
        // One that could not be sent is due when the loops begin.
        world.crm_down(true).await;
        world.submit(ANNA).await;
        assert_eq!(world.state(ANNA).await, "pending");
        world.crm_down(false).await;
        world.clock.advance(60 * SECOND);
        world.fault(json!({ "on": "POST /tickets", "do": "hold", "times": 0 })).await;
        let before = world.calls("crm", "POST /tickets").await.len();
        let summary = world.message_with(BORIS, SUBMIT).await;
        let (app, stop) = (world.take_app(), CancellationToken::new());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|error| panic!("{error}"));
        let mut ending = JoinSet::new();
        ending.spawn(lifecycle::run_at(app, listener, stop.clone()));
        world.until("the first request", async |world| creates(world).await == before + 1).await;
        let tap = world.press(BORIS, summary, SUBMIT).await;
        world.until("an answer to the tap", async |world| world.toast(&tap).await != "(open)").await;
        // Whatever would have followed the answer at once has followed it by the time others were served.
        for other in people(5) {
            world.act(other, "text", json!({ "text": "/start" })).await;
            world.until("a word to somebody else", async |world| !world.said(other).await.is_empty()).await;
        }
        assert_eq!(creates(&world).await, before + 1, "two requests at once");
        world.mend().await;
        world.post("/crm/release", Value::Null).await;
        world.until("both tickets", async |world| world.count().await == 2).await;
        stop.cancel();
        assert!(matches!(ending.join_next().await, Some(Ok(Ending::Drained))));
        world.start().await;
        world.pass(60 * SECOND).await;
        assert_eq!((world.state(ANNA).await, world.state(BORIS).await), ("created", "created"));
        world.finish().await;
    }
}
