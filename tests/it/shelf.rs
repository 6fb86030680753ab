//! An update that cannot be handled is tried three times and put on the shelf, while everybody else is served.

#![expect(clippy::unwrap_used, reason = "a test stops at its first surprise")]

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sea_orm::{ColumnTrait as _, EntityTrait as _, QueryFilter as _, sea_query::Expr};
use serde_json::json;
use zayavka::{
    clock::{Clock, ManualClock, Timestamp},
    inbox::{Ended, Inbox},
    store::{entity::drafts, inbox::Claimed},
};

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, STAFF, SUBMIT, World},
};

/// A clock that panics at every other look, beginning with the first.
#[derive(Debug)]
struct Stumbling(ManualClock, AtomicBool);

impl Clock for Stumbling {
    fn now(&self) -> Timestamp {
        assert!(self.1.fetch_xor(true, Ordering::SeqCst), "stumbled");
        self.0.now()
    }

    fn steady(&self) -> Duration {
        self.0.steady()
    }
}

/// An intake that panics where no transaction is open.
fn stumbling(world: &World) -> Inbox {
    let clock = Arc::new(Stumbling(world.clock.clone(), AtomicBool::new(false)));
    Inbox { clock, ..world.app().inbox.clone() }
}

/// Spoils what is stored of a person's drafts; what it was.
async fn spoil(world: &World, user: i64) -> String {
    let before = drafts::Entity::find().filter(drafts::Column::UserId.eq(user)).all(world.app().store.reader()).await;
    let before = before.unwrap_or_else(|error| panic!("{error}")).remove(0).answers;
    write(world, user, "{\"name\":{\"kind\":\"telepathy\"}}").await;
    before
}

async fn write(world: &World, user: i64, answers: &'static str) {
    let written = world.app().store.write(move |tx| async move {
        let change = drafts::Entity::update_many().col_expr(drafts::Column::Answers, Expr::value(answers));
        change.filter(drafts::Column::UserId.eq(user)).exec(tx.as_ref()).await?;
        Ok(())
    });
    written.await.unwrap_or_else(|error| panic!("{error}"));
}

on_both! {
    async fn a_poison_update_is_shelved_after_three_tries_and_stops_nobody(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let answers: &'static str = String::leak(spoil(&world, ANNA).await);
        let summary = world.message_with(ANNA, SUBMIT).await;
        let tap = world.press(ANNA, summary, SUBMIT).await;
        world.settle().await;
        world.apply(BORIS).await;
        assert_eq!(world.state(BORIS).await, "created", "others are served at once");
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(world.count().await, 1);
        let told = world.last_text(STAFF).await;
        assert!(told.contains("не удалось обработать трижды") && told.contains("/replay"), "{told}");
        assert!(!told.contains("telepathy") || !told.contains("Анна"), "no answers in it: {told}");
        // A person is not left in front of a dead button for ever.
        world.type_text(ANNA, "/help").await;
        assert!(world.last_text(ANNA).await.contains("/forget"), "her next updates are handled");
        let shelf = world.staff("/shelf").await;
        assert!(shelf.contains("drafts"), "{shelf}");
        let row: String = shelf.chars().take_while(char::is_ascii_digit).collect();
        assert_eq!(world.staff("/replay 999999").await, "На полке нет 999999.");
        assert_eq!(world.staff("/replay абв").await, "На полке нет абв.");
        write(&world, ANNA, answers).await;
        assert_eq!(world.staff(&format!("/replay {row}")).await, format!("{row}: разбираем ещё раз."));
        world.pass(Duration::from_secs(60)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 2));
        assert_eq!(world.staff("/shelf").await, "Полка пуста.");
        assert_eq!(world.staff(&format!("/replay {row}")).await, format!("На полке нет {row}."));
        assert_ne!(world.toast(&tap).await, "(open)");
        world.finish().await;
    }

    async fn an_update_that_is_no_json_we_can_read_is_shelved_and_stops_nobody(db: Database) {
        let mut world = World::new(db).await;
        // What the reader of answers makes of one that nests too deep.
        world.raw(serde_json::json!({ "unreadable": "{\"update_id\":1,\"message\":[[[[" })).await;
        world.apply(BORIS).await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(world.state(BORIS).await, "created");
        let shelf = world.staff("/shelf").await;
        assert!(shelf.contains("no JSON we can read"), "{shelf}");
        world.finish().await;
    }

    async fn characters_that_mean_nothing_are_left_out(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Ан\0на").await;
        world.share_contact(ANNA, "+79000000101").await;
        for label in ["Пропустить", "Налоги", "7 декабря, 11:00", "Даю согласие"] {
            world.tap(ANNA, label).await;
        }
        world.submit(ANNA).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        assert_eq!(world.operations(ANNA).await[0].client_name.as_deref(), Some("Анна"));
        assert_eq!(world.staff("/shelf").await, "Полка пуста.");
        world.finish().await;
    }

    async fn a_panic_where_no_transaction_is_open_is_the_failure_of_its_row_alone(db: Database) {
        let mut world = World::new(db).await;
        world.act(ANNA, "text", json!({ "text": "/start" })).await;
        let mut row = world.take_in().await.remove(0);
        let inbox = stumbling(&world);
        for ended in [Ended::Later, Ended::Later, Ended::Shelved] {
            assert_eq!(inbox.settle(&row).await.0, ended);
            if ended == Ended::Later {
                world.clock.advance(Duration::from_secs(20));
                row = world.app().inbox.claim_left_over(HashSet::new(), 10).await.unwrap().remove(0);
            }
        }
        world.settle().await;
        let shelf = world.staff("/shelf").await;
        assert!(shelf.contains("the work panicked: stumbled"), "{shelf}");
        world.finish().await;
    }

    async fn a_panic_while_a_tap_is_answered_ends_nothing_else(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.press(ANNA, summary, SUBMIT).await;
        let row = world.take_in().await.remove(0);
        let (ended, tap) = world.app().inbox.settle(&row).await;
        assert!(matches!(ended, Ended::Done(_)), "{ended:?}");
        stumbling(&world).answer(&row, tap.unwrap()).await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }

    async fn what_never_came_to_an_end_is_shelved_before_it_is_begun_again(db: Database) {
        let mut world = World::new(db).await;
        world.act(ANNA, "text", json!({ "text": "/start" })).await;
        let row = world.take_in().await.remove(0);
        let inbox = world.app().inbox.clone();
        assert_eq!(inbox.settle(&Claimed { attempts: 31, ..row }).await.0, Ended::Shelved);
        world.settle().await;
        assert!(world.said(ANNA).await.is_empty(), "it was not handled");
        let shelf = world.staff("/shelf").await;
        assert!(shelf.contains("30 times its handling began"), "{shelf}");
        world.finish().await;
    }

    async fn what_stays_broken_comes_back_to_the_shelf(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        spoil(&world, ANNA).await;
        world.type_text(ANNA, "Анна").await;
        world.pass(Duration::from_secs(60)).await;
        let shelf = world.staff("/shelf").await;
        let row: String = shelf.chars().take_while(char::is_ascii_digit).collect();
        world.staff(&format!("/replay {row}")).await;
        world.pass(Duration::from_secs(60)).await;
        assert!(world.staff("/shelf").await.starts_with(&row));
        world.restart().await;
        world.apply(BORIS).await;
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }
}
