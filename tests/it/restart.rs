//! The process dies, wherever it stands, and starts again on what is stored; the clock jumps.

use std::time::Duration;

use serde_json::json;
use zayavka::clock::Clock as _;

use crate::{
    databases::{on_all, on_both},
    world::{ANNA, BORIS, OWNER, Options, Promise, SUBMIT, World},
};

const DAY: Duration = Duration::from_secs(86_400);

/// The end with one ticket, with the help of people where the CRM cannot tell.
async fn one_ticket_in_the_end(mut world: World, promise: Promise) {
    world.pass(DAY).await;
    if world.state(ANNA).await == "review" {
        assert_ne!(promise, Promise::Keyed, "a keyed CRM needs nobody");
        let marker = world.marker(ANNA).await;
        if world.count().await == 0 {
            world.create_after_all(OWNER, &marker, "нет").await;
        } else {
            // Only a blind CRM leaves it to people, and it cannot be asked about a number.
            world.staff_as(OWNER, &format!("/link {marker} 1001 без проверки")).await;
        }
        world.pass(DAY).await;
    }
    assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
    assert_eq!(world.submit(ANNA).await, "Заявка № 1001 уже создана.");
    let told = world.said(ANNA).await;
    assert!(told.iter().any(|text| text.contains("№ 1001 создана")), "{told:?}");
    world.finish().await;
}

/// Dies at a point on the way from the tap to the number, starts again.
async fn dies_at(db: crate::databases::Database, options: Options, point: &'static str, nth: usize) {
    let promise = options.promise();
    let mut world = World::with(db, options).await;
    world.fill_in(ANNA).await;
    let summary = world.message_with(ANNA, SUBMIT).await;
    world.press(ANNA, summary, SUBMIT).await;
    world.kill_at(point, nth);
    world.settle().await;
    assert!(!world.is_alive(), "{point} {nth} is not on the way");
    world.start().await;
    world.settle().await;
    one_ticket_in_the_end(world, promise).await;
}

on_both! {
    async fn a_tap_that_died_unhandled_is_handled_soon(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let tap = world.press(ANNA, summary, SUBMIT).await;
        assert_eq!(world.take_in().await.len(), 1);
        let dead = world.clock.now();
        world.restart().await;
        world.settle().await;
        // Where others may serve the same database, a lease has to end first.
        if world.app().store.has_replicas() {
            world.pass(Duration::from_secs(10)).await;
        } else {
            assert_eq!(world.clock.now(), dead, "at once");
        }
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        assert_ne!(world.toast(&tap).await, "(open)", "its client still waits for an answer, and gets it");
        world.finish().await;
    }
}

on_all! {
    async fn dies_before_the_update_is_stored(db: Database, options: Options) {
        dies_at(db, options, "store.commit", 1).await;
    }

    async fn dies_after_the_update_is_stored(db: Database, options: Options) {
        dies_at(db, options, "store.committed", 1).await;
    }

    async fn dies_before_the_tap_is_answered(db: Database, options: Options) {
        dies_at(db, options, "telegram.toast", 1).await;
    }

    async fn dies_right_before_the_request(db: Database, options: Options) {
        dies_at(db, options, "crm.create", 1).await;
    }

    async fn dies_with_the_answer_in_its_hand(db: Database, options: Options) {
        dies_at(db, options, "crm.answered", 1).await;
    }

    async fn dies_while_the_crm_works_on_the_request(db: Database, options: Options) {
        let promise = options.promise();
        let mut world = World::with(db, options).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "hold" })).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.press(ANNA, summary, SUBMIT).await;
        world.dies_when("the request is under way", async |world| !world.calls("crm", "POST /tickets").await.is_empty()).await;
        world.start().await;
        world.settle().await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("sending", 0), "a lease decides nothing");
        world.post("/crm/release", json!({})).await;
        world.until("the ticket", async |world| world.count().await == 1).await;
        one_ticket_in_the_end(world, promise).await;
    }
}

on_both! {
    async fn a_test_that_leaves_work_open_would_be_told_so(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        assert!(world.unfinished().await.is_empty());
        world.staff("/pause").await;
        world.submit(ANNA).await;
        assert_eq!(world.unfinished().await, ["1 operations pending"]);
        world.may_stay_unfinished();
        world.finish().await;
    }

    async fn restarts_at_every_stage_and_the_talk_goes_on(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        world.restart().await;
        world.type_text(ANNA, "Анна").await;
        world.restart().await;
        world.share_contact(ANNA, "+79001234567").await;
        world.restart().await;
        world.tap(ANNA, "Пропустить").await;
        world.restart().await;
        world.tap(ANNA, "Налоги").await;
        world.tap(ANNA, "7 декабря, 11:00").await;
        world.restart().await;
        world.tap(ANNA, "Даю согласие").await;
        world.restart().await;
        assert_eq!(world.submit(ANNA).await, "Принято, отправляем заявку.");
        world.restart().await;
        one_ticket_in_the_end(world, Promise::Searchable).await;
    }

    async fn restarts_at_every_stage_of_an_unknown_request(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.post("/crm/options", json!({ "index_lag_ms": 3_600_000 })).await;
        world.submit(ANNA).await;
        for _ in 0..20 {
            world.restart().await;
            world.pass(Duration::from_secs(20)).await;
        }
        assert_eq!(world.state(ANNA).await, "review");
        world.restart().await;
        world.pass(Duration::from_secs(3_600)).await;
        let marker = world.marker(ANNA).await;
        world.staff(&format!("/look {marker}")).await;
        one_ticket_in_the_end(world, Promise::Searchable).await;
    }

    async fn dies_again_and_again_at_each_next_point(db: Database) {
        let mut world = World::with(db, Options::keyed()).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.press(ANNA, summary, SUBMIT).await;
        let mut deaths = 0;
        for nth in 1..=60 {
            world.kill_at("*", nth);
            world.pass(Duration::from_secs(45)).await;
            if world.is_alive() {
                world.lives_on();
                break;
            }
            deaths += 1;
            world.start().await;
        }
        assert!(deaths >= 5, "{deaths}");
        one_ticket_in_the_end(world, Promise::Keyed).await;
    }

    async fn a_sender_that_wakes_after_its_lease_does_not_write(db: Database) {
        let mut world = World::with(db, Options::searchable()).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.press(ANNA, summary, SUBMIT).await;
        world.kill_at("crm.create", 1);
        world.settle().await;
        world.start().await;
        world.advance(Duration::from_secs(31)).await;
        assert_eq!(world.state(ANNA).await, "unknown");
        assert_eq!(world.calls("crm", "POST /tickets").await.len(), 0);
        one_ticket_in_the_end(world, Promise::Searchable).await;
    }

    async fn the_clock_jumps_forwards_while_the_crm_works(db: Database) {
        let mut world = World::with(db, Options::searchable()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.post("/crm/options", json!({ "index_lag_ms": 30_000 })).await;
        world.submit(ANNA).await;
        world.advance(Duration::from_secs(10 * 86_400)).await;
        one_ticket_in_the_end(world, Promise::Searchable).await;
    }

    async fn a_clock_that_ran_ahead_and_was_put_right_holds_nothing_up(db: Database) {
        let mut world = World::with(db, Options::searchable().places(9)).await;
        let ahead = Duration::from_secs(6 * 3_600);
        // One waits for the next look (its request never arrived), one for a CRM that is down.
        world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
        world.fault(json!({ "on": "GET /tickets", "do": "error_before", "times": 0 })).await;
        world.fill_in(ANNA).await;
        world.fill_in(BORIS).await;
        world.clock.advance(ahead);
        world.submit(ANNA).await;
        assert_eq!(world.state(ANNA).await, "unknown");
        world.crm_down(true).await;
        // And Telegram wants silence.
        world.fault(json!({ "on": "sendMessage", "do": "error_before", "status": 429, "retry_after": 900 })).await;
        world.submit(BORIS).await;
        assert_eq!(world.state(BORIS).await, "pending");
        world.clock.set(world.clock.now().minus(ahead));
        world.crm_down(false).await;
        world.mend().await;
        world.pass(Duration::from_secs(600)).await;
        assert_eq!((world.state(ANNA).await, world.state(BORIS).await), ("review", "created"));
        assert!(world.last_text(BORIS).await.contains("№ 1001"), "{}", world.last_text(BORIS).await);
        // And once more over a restart: nobody saw the clock go back.
        world.clock.advance(ahead);
        world.crm_down(true).await;
        world.apply(BORIS).await;
        assert_eq!(world.state(BORIS).await, "pending");
        world.clock.set(world.clock.now().minus(ahead));
        world.crm_down(false).await;
        world.restart().await;
        world.pass(Duration::from_secs(600)).await;
        assert_eq!((world.operations(BORIS).await.len(), world.count().await), (2, 2));
        let marker = world.marker(ANNA).await;
        world.create_after_all(OWNER, &marker, "её нет в CRM").await;
        world.pass(Duration::from_secs(600)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 3));
        world.finish().await;
    }

    async fn the_clock_jumps_back_at_every_stage(db: Database) {
        let mut world = World::with(db, Options::keyed()).await;
        let back = |world: &World| {
            world.clock.set(world.clock.now().minus(Duration::from_secs(3_600)));
        };
        world.type_text(ANNA, "/start").await;
        back(&world);
        world.fill_in_from_the_name(ANNA, "Анна").await;
        back(&world);
        world.crm_down(true).await;
        world.submit(ANNA).await;
        back(&world);
        world.pass(Duration::from_secs(60)).await;
        world.crm_down(false).await;
        back(&world);
        one_ticket_in_the_end(world, Promise::Keyed).await;
    }
}
