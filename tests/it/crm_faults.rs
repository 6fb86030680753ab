//! The CRM misbehaves: the count in it stays right, and the person is told the truth at every stage.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    databases::{Database, on_all},
    world::{ANNA, OWNER, Options, Promise, STAFF, World},
};

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// What nobody may read while the ticket may exist.
const LIES: [&str; 6] = ["создана", "ошибк", "не приняли", "ещё раз", "повторите", "не удалось"];

/// Fills in, orders the fault for the first create, submits.
pub(crate) async fn submitted(db: Database, options: Options, fault: Value) -> World {
    let mut world = World::with(db, options).await;
    world.fill_in(ANNA).await;
    world.fault(fault).await;
    assert_eq!(world.submit(ANNA).await, "Принято, отправляем заявку.");
    world
}

/// Nothing told so far claims more than is known: no ticket, no failure, no wish for another tap.
pub(crate) async fn told_nothing_false(world: &World) {
    let summary = world.message_with(ANNA, "Отправить заявку").await;
    for message in world.messages(ANNA).await.into_iter().filter(|message| message.by_bot && message.id > summary) {
        for text in message.earlier.iter().chain([&message.text]) {
            assert!(LIES.iter().all(|lie| !text.contains(lie)), "told while nothing is known: {text}");
        }
    }
}

/// The end with one ticket: the number is told, and every further tap tells the same.
pub(crate) async fn created_once(mut world: World) {
    assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
    let number = world.tickets().await[0]["number"].as_str().map(str::to_owned).unwrap_or_default();
    let last = world.last_text(ANNA).await;
    assert!(last.contains(&format!("№ {number} создана")), "{last}");
    let summary = world.message_with(ANNA, "Отправить заявку").await;
    let toast = world.tap_on(ANNA, summary, "Отправить заявку").await;
    assert_eq!(toast, format!("Заявка № {number} уже создана."));
    assert_eq!(world.count().await, 1);
    world.finish().await;
}

/// Whatever made the answer unknown while the ticket was made: keyed and searchable find it, blind asks people.
async fn settles_though_made(mut world: World, promise: Promise) {
    if world.state(ANNA).await != "created" {
        told_nothing_false(&world).await;
    }
    world.pass(DAY).await;
    if promise == Promise::Blind {
        assert_eq!((world.state(ANNA).await, world.count().await), ("review", 1));
        told_nothing_false(&world).await;
        assert!(world.last_text(ANNA).await.contains("на проверке у сотрудника"));
        let number = world.tickets().await[0]["number"].as_str().map(str::to_owned).unwrap_or_default();
        let marker = world.marker(ANNA).await;
        world.staff_as(OWNER, &format!("/link {marker} {number} без проверки")).await;
    }
    created_once(world).await;
}

on_all! {
    async fn the_answer_is_lost(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "lose_answer" });
        settles_though_made(submitted(db, options, fault).await, promise).await;
    }

    async fn half_an_answer_comes(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "half_answer" });
        settles_though_made(submitted(db, options, fault).await, promise).await;
    }

    async fn it_answers_500_after_creating(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "error_after", "status": 500 });
        settles_though_made(submitted(db, options, fault).await, promise).await;
    }

    async fn it_answers_200_with_a_page(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "junk" });
        settles_though_made(submitted(db, options, fault).await, promise).await;
    }

    async fn it_is_down_for_an_hour(db: Database, options: Options) {
        let mut world = World::with(db, options).await;
        world.fill_in(ANNA).await;
        world.crm_down(true).await;
        world.submit(ANNA).await;
        world.pass(60 * MINUTE).await;
        told_nothing_false(&world).await;
        assert!(world.last_text(ANNA).await.contains("ждём CRM"), "{}", world.last_text(ANNA).await);
        assert_eq!(world.state(ANNA).await, "pending");
        world.crm_down(false).await;
        world.pass(5 * MINUTE).await;
        created_once(world).await;
    }

    async fn it_refuses_our_credentials_until_an_owner_resumes(db: Database, options: Options) {
        let fault = json!({ "on": "POST /tickets", "do": "error_before", "status": 401, "times": 1 });
        let mut world = submitted(db, options, fault).await;
        assert!(world.last_text(STAFF).await.contains("CRM не принимает наши учётные данные"));
        world.pass(60 * MINUTE).await;
        told_nothing_false(&world).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("pending", 0));
        assert_eq!(world.calls("crm", "POST /tickets").await.len(), 1, "a pause sends nothing");
        assert_eq!(world.staff("/resume").await, "Отправка в CRM продолжается.");
        world.pass(5 * MINUTE).await;
        created_once(world).await;
    }
}
