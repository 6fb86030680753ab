//! Places, limits, and a form that changes between summary and tap: what the button cannot promise is checked again.

use std::time::Duration;

use serde_json::json;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, Options, SUBMIT, World},
};

const ACCEPTED: &str = "Принято, отправляем заявку.";
const TAKEN: &str = "Это время только что заняли. Выберите, пожалуйста, другое.";
const ONLY: &str = "7 декабря, 10:00";
const OTHER: &str = "7 декабря, 11:00";

/// Up to the question for the time.
async fn up_to_the_time(world: &mut World, user: i64) {
    world.type_text(user, "/start").await;
    world.type_text(user, "Имя").await;
    world.share_contact(user, "+79001234567").await;
    world.tap(user, "Пропустить").await;
    world.tap(user, "Налоги").await;
}

/// Up to the summary, with the one place of that time.
async fn wants_the_only_place(world: &mut World, user: i64) {
    up_to_the_time(world, user).await;
    world.tap(user, ONLY).await;
    world.tap(user, "Даю согласие").await;
}

/// The times offered now.
async fn offered(world: &mut World, user: i64) -> Vec<String> {
    let question = world.messages(user).await.into_iter().rev().find(|message| message.text.ends_with("Когда удобно?"));
    question
        .map(|message| message.rows.into_iter().flatten().filter(|label| label.contains(':')).collect())
        .unwrap_or_default()
}

on_both! {
    async fn two_people_want_one_place_and_one_gets_it(db: Database) {
        let mut world = World::new(db).await;
        wants_the_only_place(&mut world, ANNA).await;
        wants_the_only_place(&mut world, BORIS).await;
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        assert_eq!(world.submit(BORIS).await, TAKEN);
        assert_eq!(world.count().await, 1);
        assert_eq!(offered(&mut world, BORIS).await, [OTHER]);
        world.tap(BORIS, OTHER).await;
        assert_eq!(world.submit(BORIS).await, ACCEPTED);
        assert!(world.tickets().await[1]["body"].as_str().is_some_and(|body| body.contains(OTHER)));
        world.finish().await;
    }

    async fn the_place_comes_back_when_the_crm_refuses(db: Database) {
        let mut world = World::new(db).await;
        wants_the_only_place(&mut world, ANNA).await;
        wants_the_only_place(&mut world, BORIS).await;
        world.fault(json!({ "on": "POST /tickets", "do": "refuse" })).await;
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        assert_eq!(world.state(ANNA).await, "rejected");
        assert_eq!(world.submit(BORIS).await, ACCEPTED);
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Назад").await;
        assert_eq!(world.submit(ANNA).await, TAKEN, "it is not hers any more");
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn the_place_comes_back_when_the_person_withdraws_in_time(db: Database) {
        let mut world = World::new(db).await;
        wants_the_only_place(&mut world, ANNA).await;
        wants_the_only_place(&mut world, BORIS).await;
        world.staff("/pause").await;
        assert!(world.submit(ANNA).await.starts_with("Принято."));
        assert_eq!(world.submit(BORIS).await, TAKEN);
        world.type_text(ANNA, "/cancel").await;
        assert_eq!(world.state(ANNA).await, "cancelled");
        assert!(world.last_text(ANNA).await.contains("Заявка отменена, ничего не отправлено"));
        assert_eq!(offered(&mut world, BORIS).await, [OTHER], "as it was when he was asked");
        world.type_text(BORIS, "/start").await;
        assert_eq!(offered(&mut world, BORIS).await, [ONLY, OTHER]);
        world.tap(BORIS, ONLY).await;
        assert!(world.submit(BORIS).await.starts_with("Принято."));
        world.staff("/resume").await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn a_place_in_front_of_people_stays_taken_until_they_decide(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        wants_the_only_place(&mut world, ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
        world.submit(ANNA).await;
        assert_eq!(world.state(ANNA).await, "review");
        up_to_the_time(&mut world, BORIS).await;
        assert_eq!(offered(&mut world, BORIS).await, [OTHER]);
        let marker = world.marker(ANNA).await;
        world.staff(&format!("/reject {marker} занято")).await;
        world.type_text(BORIS, "/start").await;
        assert_eq!(offered(&mut world, BORIS).await, [ONLY, OTHER]);
        world.finish().await;
    }

    async fn a_price_that_changed_is_shown_before_anything_is_sent(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.change_form(|form| form.replace("price = 3000", "price = 3500"));
        world.restart().await;
        assert_eq!(world.submit(ANNA).await, "Анкета изменилась. Проверьте новую сводку.");
        assert_eq!(world.count().await, 0);
        let shown = world.last_text(ANNA).await;
        assert!(shown.contains("3\u{a0}500") && shown.contains("анкета изменилась"), "{shown}");
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        assert!(world.tickets().await[0]["body"].as_str().is_some_and(|body| body.contains("3\u{a0}500")));
        world.finish().await;
    }

    async fn a_question_worded_anew_is_shown_before_anything_is_sent(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.change_form(|form| form.replace("Когда удобно?", "Когда удобно? Неявка оплачивается."));
        world.restart().await;
        assert_eq!(world.submit(ANNA).await, "Анкета изменилась. Проверьте новую сводку.");
        assert_eq!(world.count().await, 0);
        assert!(world.last_text(ANNA).await.contains("Неявка оплачивается."));
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        world.finish().await;
    }

    async fn a_consent_worded_anew_is_asked_anew(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.change_form(|form| form.replace("редакция 2026-01", "редакция 2026-12"));
        world.restart().await;
        assert_eq!(world.submit(ANNA).await, "Анкета изменилась. Проверьте новую сводку.");
        assert_eq!(world.count().await, 0);
        assert!(world.last_text(ANNA).await.contains("редакция 2026-12"));
        world.tap(ANNA, "Даю согласие").await;
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        world.finish().await;
    }

    async fn a_time_that_is_no_longer_offered_is_asked_anew(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.change_form(|form| form.replace("2026-12-07T11:00\", label = \"7 декабря, 11:00", "2026-12-08T11:00\", label = \"8 декабря, 11:00"));
        world.restart().await;
        assert_eq!(world.submit(ANNA).await, "Анкета изменилась. Проверьте новую сводку.");
        world.tap(ANNA, "8 декабря").await;
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn unfinished_forms_are_limited(db: Database) {
        let mut world = World::with(db, Options::searchable().set("limits.open_drafts_per_client", "2")).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "/new").await;
        world.type_text(ANNA, "/new").await;
        assert!(world.last_text(ANNA).await.starts_with("У вас уже открыто несколько анкет"));
        world.type_text(ANNA, "/cancel").await;
        world.type_text(ANNA, "/new").await;
        assert!(world.last_text(ANNA).await.contains("Как к вам обращаться?"));
        world.type_text(BORIS, "/start").await;
        assert!(world.last_text(BORIS).await.contains("Как к вам обращаться?"));
        world.finish().await;
    }

    async fn sendings_of_an_hour_are_limited_and_nothing_is_lost(db: Database) {
        let options = Options::searchable().places(100).set("limits.submissions_per_client_per_hour", "2");
        let mut world = World::with(db, options).await;
        world.apply(ANNA).await;
        world.advance(Duration::from_secs(1_800)).await;
        world.apply(ANNA).await;
        world.fill_in(ANNA).await;
        assert!(world.submit(ANNA).await.starts_with("За последний час"));
        assert_eq!(world.count().await, 2);
        world.apply(BORIS).await;
        assert_eq!(world.count().await, 3, "a limit is a person's own");
        world.advance(Duration::from_secs(1_801)).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        assert_eq!(world.tap_on(ANNA, summary, SUBMIT).await, ACCEPTED);
        assert_eq!(world.count().await, 4);
        world.finish().await;
    }
}
