//! What a person does and what they see must mean the same: an old button, a number typed, a word of a keyboard that is
//! still there, a second form.

use std::time::Duration;

use serde_json::json;
use zayavka::store::entity::outbox;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, Options, SUBMIT, World},
};

const MINUTE: Duration = Duration::from_secs(60);

on_both! {
    async fn the_button_of_a_refused_version_speaks_of_the_one_that_followed(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let first = world.message_with(ANNA, SUBMIT).await;
        world.fault(json!({ "on": "POST /tickets", "do": "refuse" })).await;
        world.submit(ANNA).await;
        assert!(world.tap_on(ANNA, first, SUBMIT).await.starts_with("Эту заявку не приняли."));
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Как к вам обращаться?").await;
        world.type_text(ANNA, "Анна Сергеевна").await;
        assert!(world.tap_on(ANNA, first, SUBMIT).await.starts_with("Эту заявку не приняли."), "the next is not sent yet");
        world.submit(ANNA).await;
        assert_eq!(world.state(ANNA).await, "created");
        assert_eq!(world.tap_on(ANNA, first, SUBMIT).await, "Заявка № 1001 уже создана.");
        world.finish().await;
    }

    async fn while_sending_is_paused_nobody_is_told_that_it_goes_on(db: Database) {
        let mut world = World::new(db).await;
        world.staff("/pause").await;
        world.fill_in(ANNA).await;
        assert!(world.submit(ANNA).await.contains("приостановлена"));
        assert!(world.submit(ANNA).await.contains("приостановлена"));
        let card = world.last_text(ANNA).await;
        assert!(card.contains("Заявка принята.") && card.contains("приостановлена"), "{card}");
        assert!(world.staff("/queue").await.contains("Отправка в CRM остановлена"));
        assert!(world.staff("/stats").await.contains("Отправка в CRM остановлена"));
        world.staff("/resume").await;
        world.pass(MINUTE).await;
        assert!(world.last_text(ANNA).await.contains("№ 1001"));
        assert!(!world.staff("/queue").await.contains("остановлена"));
        world.finish().await;
    }

    async fn a_number_typed_means_what_is_shown(db: Database) {
        let mut world = World::with(db, Options::searchable().places(1)).await;
        world.apply(ANNA).await;
        let taken = "7 декабря, 11:00";
        world.type_text(BORIS, "/start").await;
        world.type_text(BORIS, "Борис").await;
        world.share_contact(BORIS, "+79001234567").await;
        world.tap(BORIS, "Пропустить").await;
        world.tap(BORIS, "Налоги").await;
        world.type_text(BORIS, taken).await;
        assert!(world.last_text(BORIS).await.starts_with("Это время только что заняли."), "{}", world.last_text(BORIS).await);
        world.type_text(BORIS, "1").await;
        world.tap(BORIS, "Даю согласие").await;
        let summary = world.last_text(BORIS).await;
        assert!(summary.contains("7 декабря") && !summary.contains(taken), "{summary}");
        world.submit(BORIS).await;
        assert_eq!((world.state(BORIS).await, world.count().await), ("created", 2));
        world.finish().await;
    }

    async fn the_word_of_a_keyboard_never_becomes_an_answer(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Телефон для связи").await;
        world.type_text(ANNA, "Назад").await;
        assert!(world.last_text(ANNA).await.contains("Если всё так"), "back to the summary: {}", world.last_text(ANNA).await);
        world.type_text(ANNA, "/new").await;
        world.type_text(ANNA, "Назад").await;
        assert!(world.last_text(ANNA).await.contains("Как к вам обращаться?"), "{}", world.last_text(ANNA).await);
        world.type_text(ANNA, "Анна").await;
        world.type_text(ANNA, "Назад").await;
        let said = world.messages(ANNA).await;
        assert!(said.iter().rev().take(3).any(|message| message.text == "Вернёмся назад."), "its keyboard goes with it");
        world.finish().await;
    }

    async fn a_form_that_is_withdrawn_uncovers_the_one_before_it(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/new").await;
        world.type_text(ANNA, "Анна").await;
        world.type_text(ANNA, "/new").await;
        world.type_text(ANNA, "/cancel").await;
        let said = world.said(ANNA).await;
        assert!(said.iter().any(|text| text == "Эта анкета отменена. Открыта ещё одна, продолжим её."), "{said:?}");
        assert!(world.last_text(ANNA).await.contains("Телефон для связи"), "{}", world.last_text(ANNA).await);
        world.type_text(ANNA, "/cancel").await;
        assert!(world.last_text(ANNA).await.contains("Анкета отменена"), "{}", world.last_text(ANNA).await);
        world.finish().await;
    }

    async fn a_link_with_any_payload_keeps_what_is_open(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Анна").await;
        for payload in ["promo_2026", "consultation", ""] {
            world.act(ANNA, "start", json!({ "payload": payload })).await;
            world.settle().await;
            let shown = world.last_text(ANNA).await;
            assert!(shown.starts_with("Продолжим") && shown.contains("Телефон для связи"), "{payload}: {shown}");
        }
        world.finish().await;
    }

    async fn a_button_is_not_answered_with_a_summary_that_is_not_there(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Тема").await;
        let said = world.tap_on(ANNA, summary, SUBMIT).await;
        assert!(said.contains("Анкета изменилась") && said.contains("ответьте на последний вопрос"), "{said}");
        assert_eq!(world.count().await, 0);
        world.finish().await;
    }

    async fn what_was_said_to_a_forgotten_person_is_forgotten_too(db: Database) {
        use sea_orm::EntityTrait as _;
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Редкостнослов").await;
        world.share_contact(ANNA, "+79001234567").await;
        world.tap(ANNA, "Пропустить").await;
        world.tap(ANNA, "Налоги").await;
        world.tap(ANNA, "7 декабря, 11:00").await;
        world.tap(ANNA, "Даю согласие").await;
        world.submit(ANNA).await;
        world.type_text(ANNA, "/forget").await;
        let rows = outbox::Entity::find().all(world.app().store.reader()).await;
        let rows = rows.unwrap_or_else(|error| panic!("{error}"));
        let telling = rows.iter().filter(|row| row.notice.contains("Редкостнослов") || row.notice.contains("9001234567"));
        assert_eq!(telling.count(), 0);
        let inbox = zayavka::store::entity::inbox::Entity::find().all(world.app().store.reader()).await;
        let inbox = inbox.unwrap_or_else(|error| panic!("{error}"));
        assert!(inbox.iter().all(|row| row.payload.as_ref().is_none_or(|text| !text.contains("Редкостнослов"))));
        world.finish().await;
    }
}
