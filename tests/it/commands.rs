//! What a person may ask besides filling in: go on, begin anew, see, withdraw, have forgotten, in their language.

use std::time::Duration;

use serde_json::json;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, SUBMIT, World},
};

on_both! {
    async fn start_goes_on_where_the_person_stopped(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Анна").await;
        world.restart().await;
        world.type_text(ANNA, "/start").await;
        assert!(world.last_text(ANNA).await.starts_with("Продолжим с того места, где остановились.\n\nТелефон для связи"));
        world.type_text(ANNA, "/start consultation").await;
        assert!(world.last_text(ANNA).await.contains("Телефон для связи"));
        world.finish().await;
    }

    async fn a_link_to_a_form_that_does_not_exist_is_met_with_what_there_is(db: Database) {
        let mut world = World::new(db).await;
        for payload in ["nothing", "' OR 1=1", "../../etc/passwd", "\u{202e}"] {
            world.act(BORIS, "start", json!({ "payload": payload })).await;
            world.settle().await;
            assert!(world.last_text(BORIS).await.contains("Как к вам обращаться?"), "{payload}");
            world.type_text(BORIS, "/cancel").await;
        }
        world.finish().await;
    }

    async fn status_lists_what_was_sent_and_how_it_stands(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/status").await;
        assert_eq!(world.last_text(ANNA).await, "Заявок пока нет. Начать анкету: /new");
        world.apply(ANNA).await;
        let first = world.marker(ANNA).await;
        world.staff("/pause").await;
        world.advance(Duration::from_secs(1)).await;
        world.apply(ANNA).await;
        let second = world.marker(ANNA).await;
        world.type_text(ANNA, "/status").await;
        let expected = format!("Ваши заявки:\n{second} · Консультация · принята\n{first} · Консультация · создана, № 1001");
        assert_eq!(world.last_text(ANNA).await, expected);
        world.type_text(BORIS, "/status").await;
        assert_eq!(world.last_text(BORIS).await, "Заявок пока нет. Начать анкету: /new");
        world.staff("/resume").await;
        world.pass(Duration::from_secs(60)).await;
        world.finish().await;
    }

    async fn cancel_takes_the_draft_and_after_the_sending_nothing(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/cancel").await;
        assert!(world.last_text(ANNA).await.starts_with("Сейчас открытой анкеты нет."));
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.type_text(ANNA, "/cancel").await;
        assert!(world.last_text(ANNA).await.starts_with("Анкета отменена, ничего не отправлено."));
        assert_eq!(world.tap_on(ANNA, summary, SUBMIT).await, "Эта анкета закрылась. Начать новую: /new");
        assert_eq!(world.count().await, 0);
        world.apply(ANNA).await;
        world.type_text(ANNA, "/cancel").await;
        assert!(world.last_text(ANNA).await.starts_with("Сейчас открытой анкеты нет."));
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }

    async fn the_other_buttons_of_a_sent_summary_do_what_they_say(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.staff("/pause").await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.submit(ANNA).await;
        let frozen = format!("Заявка {} уже принята", world.marker(ANNA).await);
        assert!(world.tap_on(ANNA, summary, "Изменить").await.starts_with(&frozen));
        assert_eq!(world.state(ANNA).await, "pending");
        assert_eq!(world.tap_on(ANNA, summary, "Отменить").await, "Эта заявка отменена.");
        assert_eq!((world.state(ANNA).await, world.count().await), ("cancelled", 0));
        world.staff("/resume").await;
        world.type_text(ANNA, "/start").await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.post("/crm/options", json!({ "index_lag_ms": 60_000 })).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        let frozen = format!("Заявка {} уже принята", world.marker(ANNA).await);
        for label in ["Изменить", "Отменить"] {
            let said = world.tap_on(ANNA, summary, label).await;
            assert!(said.starts_with(&frozen), "{label}: {said}");
        }
        assert_eq!(world.state(ANNA).await, "unknown");
        world.pass(Duration::from_secs(600)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        assert_eq!(world.tap_on(ANNA, summary, "Отменить").await, "Заявка № 1001 уже создана.");
        world.finish().await;
    }

    async fn what_may_be_on_its_way_cannot_be_withdrawn(db: Database) {
        let mut world = World::new(db).await;
        world.post("/crm/options", json!({ "index_lag_ms": 60_000 })).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        let marker = world.marker(ANNA).await;
        for text in ["/cancel", "и ещё хочу добавить"] {
            world.type_text(ANNA, text).await;
            assert!(world.last_text(ANNA).await.starts_with(&format!("Заявка {marker} уже принята")), "{text}");
        }
        assert_eq!(world.state(ANNA).await, "unknown");
        world.pass(Duration::from_secs(600)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }

    async fn a_person_who_withdrew_in_time_can_send_after_all(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.staff("/pause").await;
        let old = world.message_with(ANNA, SUBMIT).await;
        world.submit(ANNA).await;
        world.type_text(ANNA, "/cancel").await;
        world.staff("/resume").await;
        world.pass(Duration::from_secs(600)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("cancelled", 0));
        assert_eq!(world.tap_on(ANNA, old, SUBMIT).await, "Эта заявка отменена.");
        let card = world.message_with(ANNA, "Изменить").await;
        assert!(world.messages(ANNA).await.iter().any(|message| message.id == card && message.text.contains("отмен")));
        world.type_text(ANNA, "/start").await;
        assert_eq!(world.submit(ANNA).await, "Принято, отправляем заявку.");
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }

    async fn a_word_under_a_summary_shows_the_one_that_counts(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.staff("/pause").await;
        world.submit(ANNA).await;
        world.type_text(ANNA, "/cancel").await;
        world.type_text(ANNA, "а как теперь отправить?").await;
        assert!(world.last_text(ANNA).await.starts_with("Все ответы на месте."));
        assert!(world.submit(ANNA).await.starts_with("Принято."), "not the button of what was withdrawn");
        world.staff("/resume").await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }

    async fn a_refusal_meanwhile_does_not_take_the_next_form_over(db: Database) {
        let mut world = World::new(db).await;
        world.staff("/pause").await;
        world.apply(ANNA).await;
        world.advance(Duration::from_secs(5)).await;
        world.type_text(ANNA, "/new").await;
        world.type_text(ANNA, "Вторая").await;
        world.advance(Duration::from_secs(5)).await;
        world.fault(json!({ "on": "POST /tickets", "do": "refuse" })).await;
        world.staff("/resume").await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(world.state(ANNA).await, "rejected");
        world.type_text(ANNA, "+7 912 345-67-89").await;
        assert!(world.last_text(ANNA).await.starts_with("Электронная почта"), "{}", world.last_text(ANNA).await);
        world.type_text(ANNA, "/cancel").await;
        world.type_text(ANNA, "/start").await;
        assert_eq!(world.submit(ANNA).await, "Принято, отправляем заявку.", "the refused one waits behind it");
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn forgotten_answers_are_gone_and_the_number_stays(db: Database) {
        let mut world = World::new(db).await;
        world.apply(ANNA).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Тайное имя").await;
        world.type_text(ANNA, "/forget").await;
        assert!(world.last_text(ANNA).await.starts_with("Ваши ответы удалены у нас."));
        let kept = &world.operations(ANNA).await[0];
        assert_eq!((&kept.order, &kept.prepared, &kept.client_name, &kept.client_phone), (&None, &None, &None, &None));
        let summary = world.message_with(ANNA, SUBMIT).await;
        assert_eq!(world.tap_on(ANNA, summary, SUBMIT).await, "Заявка № 1001 уже создана.");
        world.type_text(ANNA, "ещё").await;
        assert!(world.last_text(ANNA).await.starts_with("Сейчас открытой анкеты нет."));
        world.finish().await;
    }

    async fn what_is_under_way_is_finished_before_it_is_forgotten(db: Database) {
        let mut world = World::new(db).await;
        world.post("/crm/options", json!({ "index_lag_ms": 60_000 })).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        world.type_text(ANNA, "/forget").await;
        assert!(world.last_text(ANNA).await.contains("кроме заявки, которая ещё в работе"));
        world.pass(Duration::from_secs(600)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"));
        world.finish().await;
    }

    async fn refused_consent_ends_the_form_and_keeps_nothing(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(BORIS).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Анна").await;
        world.share_contact(ANNA, "+79001234567").await;
        world.tap(ANNA, "Пропустить").await;
        world.tap(ANNA, "Налоги").await;
        world.tap(ANNA, "7 декабря, 11:00").await;
        world.tap(ANNA, "Не даю согласия").await;
        assert!(world.last_text(ANNA).await.contains("Ваши ответы никуда не отправлены."));
        let yes = world.message_with(ANNA, "Даю согласие").await;
        assert_eq!(world.tap_on(ANNA, yes, "Даю согласие").await, "Эта анкета закрылась. Начать новую: /new");
        assert_eq!(world.count().await, 0);
        world.finish().await;
    }

    async fn help_and_unknown_commands_are_answered(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/help").await;
        assert!(world.last_text(ANNA).await.contains("/forget — удалить мои ответы"));
        world.type_text(ANNA, "/fly").await;
        assert_eq!(world.last_text(ANNA).await, "Такой команды нет. Что я умею: /help");
        world.type_text(ANNA, "/HELP@Zayavka_Sandbox_Bot").await;
        assert!(world.last_text(ANNA).await.contains("/forget — удалить мои ответы"));
        world.finish().await;
    }

    async fn a_person_is_spoken_to_in_their_language(db: Database) {
        let mut world = World::new(db).await;
        world.act(BORIS, "text", json!({ "text": "/help", "lang": "en-GB" })).await;
        world.settle().await;
        assert!(world.last_text(BORIS).await.contains("/cancel — "), "{}", world.last_text(BORIS).await);
        assert!(!world.last_text(BORIS).await.contains("анкету"));
        world.act(BORIS, "text", json!({ "text": "/help", "lang": "tlh" })).await;
        world.settle().await;
        assert!(world.last_text(BORIS).await.contains("анкету"));
        world.finish().await;
    }

    async fn answers_change_by_going_back_and_by_the_summary(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Аня").await;
        world.type_text(ANNA, "Назад").await;
        world.type_text(ANNA, "Анна").await;
        world.share_contact(ANNA, "+79001234567").await;
        world.type_text(ANNA, "anna@example.ru").await;
        world.tap(ANNA, "Другое").await;
        world.type_text(ANNA, "Наследство").await;
        world.tap(ANNA, "7 декабря, 11:00").await;
        world.tap(ANNA, "Даю согласие").await;
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Тема").await;
        world.tap(ANNA, "Налоги").await;
        world.submit(ANNA).await;
        let ticket = &world.tickets().await[0];
        assert_eq!((&ticket["contact"]["name"], &ticket["contact"]["email"]), (&json!("Анна"), &json!("anna@example.ru")));
        assert_eq!(ticket["fields"]["topic"], "Налоги");
        assert!(!ticket["body"].as_str().is_some_and(|body| body.contains("Наследство")), "asked only then: {ticket}");
        world.finish().await;
    }
}
