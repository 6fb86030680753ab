//! What nobody can be sure of: a refusal of a repeat, a CRM that does not answer a search, a clock that ran away. None of
//! them is taken for more than it proves.

use serde_json::json;

use crate::{
    crm_faults::{MINUTE, created_once, told_nothing_false},
    databases::on_both,
    world::{ANNA, Options, World},
};

async fn searches_fail(world: &World) {
    world.fault(json!({ "on": "GET /tickets", "do": "error_before", "status": 500, "times": 0 })).await;
}

on_both! {
    async fn a_refused_repeat_is_no_refusal_while_nobody_could_look(db: Database) {
        let mut world = World::with(db, Options::keyed()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.fault(json!({ "on": "POST /tickets", "do": "refuse", "from": 2, "times": 0 })).await;
        searches_fail(&world).await;
        world.submit(ANNA).await;
        world.pass(20 * MINUTE).await;
        assert!(world.calls("crm", "POST /tickets").await.len() > 1, "a repeat was refused");
        assert_eq!((world.state(ANNA).await, world.count().await), ("unknown", 1));
        told_nothing_false(&world).await;
        world.mend().await;
        world.pass(5 * MINUTE).await;
        created_once(world).await;
    }

    async fn a_refused_repeat_is_a_refusal_once_the_crm_shows_nothing(db: Database) {
        let mut world = World::with(db, Options::keyed()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
        world.fault(json!({ "on": "POST /tickets", "do": "refuse", "from": 2, "times": 0 })).await;
        world.submit(ANNA).await;
        assert_ne!(world.state(ANNA).await, "rejected");
        world.pass(10 * MINUTE).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("rejected", 0));
        world.finish().await;
    }

    async fn a_night_away_and_one_search_that_failed_trouble_nobody(db: Database) {
        let mut world = World::with(db, Options::searchable()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        searches_fail(&world).await;
        world.submit(ANNA).await;
        assert_eq!(world.state(ANNA).await, "unknown");
        world.stop();
        world.clock.advance(600 * MINUTE);
        world.start().await;
        world.settle().await;
        assert_eq!(world.state(ANNA).await, "unknown", "a human was asked after a single search");
        world.mend().await;
        world.pass(5 * MINUTE).await;
        created_once(world).await;
    }

    async fn a_crm_that_cannot_be_searched_for_long_ends_with_a_human_all_the_same(db: Database) {
        let mut world = World::with(db, Options::searchable()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        searches_fail(&world).await;
        world.submit(ANNA).await;
        world.pass(50 * MINUTE).await;
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn a_clock_set_forward_makes_no_second_ticket(db: Database) {
        let world = World::with(db, Options::searchable().set("crm.reconcile.on_absent", "resend")).await;
        a_clock_set_forward_shortens_no_wait(world).await;
    }

    async fn a_clock_set_forward_brings_no_case(db: Database) {
        let world = World::with(db, Options::searchable()).await;
        a_clock_set_forward_shortens_no_wait(world).await;
    }
}

/// The request is carried out later than anybody thinks who believes the clock, though within the settle window.
async fn a_clock_set_forward_shortens_no_wait(mut world: World) {
    world.fill_in(ANNA).await;
    world.fault(json!({ "on": "POST /tickets", "do": "late" })).await;
    world.submit(ANNA).await;
    assert_eq!(world.state(ANNA).await, "unknown");
    world.clock.jump(10 * MINUTE);
    world.pass(MINUTE).await;
    assert_eq!((world.state(ANNA).await, world.calls("crm", "POST /tickets").await.len()), ("unknown", 1));
    world.post("/crm/release", json!({})).await;
    world.until("the ticket", async |world| world.count().await == 1).await;
    world.pass(5 * MINUTE).await;
    created_once(world).await;
}
