//! The tap on «Отправить заявку»: however often, whoever, under whatever message, with whatever data.

use std::time::Duration;

use serde_json::json;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, SUBMIT, World},
};

const ACCEPTED: &str = "Принято, отправляем заявку.";
const CREATED: &str = "Заявка № 1001 уже создана.";

on_both! {
    async fn a_double_tap_makes_one_ticket(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let (first, second) = (world.press(ANNA, summary, SUBMIT).await, world.press(ANNA, summary, SUBMIT).await);
        world.settle().await;
        assert_eq!(world.toast(&first).await, ACCEPTED);
        assert_eq!(world.toast(&second).await, CREATED);
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn a_repeat_while_it_waits_says_that_it_is_being_sent(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.staff("/pause").await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        assert!(world.submit(ANNA).await.starts_with("Принято."));
        assert!(world.tap_on(ANNA, summary, SUBMIT).await.starts_with("Уже отправляем"));
        world.staff("/resume").await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(world.tap_on(ANNA, summary, SUBMIT).await, CREATED);
        world.finish().await;
    }

    async fn twenty_taps_at_once_are_all_answered_and_make_one_ticket(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let mut taps = Vec::new();
        for _ in 0..20 {
            taps.push(world.press(ANNA, summary, SUBMIT).await);
        }
        world.settle().await;
        let mut toasts = Vec::new();
        for tap in &taps {
            toasts.push(world.toast(tap).await);
        }
        assert_eq!(toasts.iter().filter(|toast| *toast == ACCEPTED).count(), 1);
        assert_eq!(toasts.iter().filter(|toast| *toast == CREATED).count(), 19);
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn an_old_button_tells_the_same_number_months_later(db: Database) {
        let mut world = World::new(db).await;
        world.apply(ANNA).await;
        world.advance(Duration::from_secs(100 * 86_400)).await;
        world.restart().await;
        assert_eq!(world.submit(ANNA).await, CREATED);
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn somebody_elses_tap_is_answered_and_changes_nothing(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let shown = world.transcript(ANNA).await;
        world.type_text(BORIS, "/help").await;
        let there = json!({ "chat": ANNA, "message_id": summary, "button": SUBMIT });
        assert_eq!(world.tap_as(BORIS, there).await, "Это не ваша заявка.");
        let all = world.messages(ANNA).await;
        let message = all.iter().find(|message| message.id == summary).cloned().into_iter();
        for message in message {
            for label in [SUBMIT, "Изменить", "Отменить"] {
                let forged = json!({ "message_id": 1, "button": message.data(label), "raw": true });
                assert_eq!(world.tap_as(BORIS, forged).await, "Это не ваша заявка.");
            }
        }
        assert_eq!((world.count().await, world.transcript(ANNA).await), (0, shown));
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        let there = json!({ "chat": ANNA, "message_id": summary, "button": SUBMIT });
        assert_eq!(world.tap_as(BORIS, there).await, "Это не ваша заявка.", "nor does it tell the number");
        world.finish().await;
    }

    async fn a_summary_from_before_an_edit_sends_nothing(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let old = world.message_with(ANNA, SUBMIT).await;
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Как к вам обращаться?").await;
        assert_eq!(world.tap_on(ANNA, old, SUBMIT).await, "Анкета изменилась. Сначала ответьте на последний вопрос.");
        world.type_text(ANNA, "Анна Ивановна").await;
        assert_eq!(world.tap_on(ANNA, old, SUBMIT).await, "Анкета изменилась. Проверьте новую сводку.");
        assert_eq!(world.count().await, 0);
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        assert_eq!(world.tickets().await[0]["contact"]["name"], "Анна Ивановна");
        assert_eq!(world.tap_on(ANNA, old, SUBMIT).await, CREATED);
        world.finish().await;
    }

    async fn a_tap_under_a_message_telegram_no_longer_shows_us_counts(db: Database) {
        let mut world = World::new(db).await;
        for (person, carried) in [(ANNA, "inaccessible"), (BORIS, "absent")] {
            world.fill_in(person).await;
            let summary = world.message_with(person, SUBMIT).await;
            let tap = json!({ "message_id": summary, "button": SUBMIT, "message": carried });
            assert_eq!(world.tap_as(person, tap).await, ACCEPTED, "{carried}");
        }
        assert_eq!(world.count().await, 2);
        world.finish().await;
    }

    async fn garbage_behind_a_button_is_answered_and_harms_nobody(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let data = world.messages(ANNA).await.iter().find(|message| message.id == summary).map(|m| m.data(SUBMIT));
        let data = data.unwrap_or_default();
        let (head, version) = data.rsplit_once('.').unwrap_or_default();
        let shown = world.transcript(ANNA).await;
        let forged = [
            "x".to_owned(), "s".to_owned(), "s..".to_owned(), "🦊".to_owned(), "L1.1".to_owned(), "W1.1".to_owned(), "fnone".to_owned(),
            format!("{head}.2"), format!("{head}.0"), format!("{head}.-1"), format!("{head}.99999999999999"),
            format!("{head}.{version}.7"), data.to_uppercase(), format!(" {data}"), format!("s{}.1.1", "0".repeat(32)),
            format!("c{}.1.1", "f".repeat(32)), "\u{202e}s".to_owned(), "' OR 1=1 --".to_owned(), "z".repeat(64),
        ];
        for data in forged {
            let toast = world.tap_as(ANNA, json!({ "message_id": summary, "button": data, "raw": true })).await;
            assert!(!toast.is_empty() && !toast.starts_with('('), "{data}: {toast}");
            assert_ne!(toast, ACCEPTED, "{data}");
        }
        assert_eq!((world.count().await, world.transcript(ANNA).await), (0, shown));
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        world.finish().await;
    }

    async fn updates_of_kinds_nobody_knows_stop_nothing(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let person = json!({ "id": ANNA, "is_bot": false, "first_name": "Анна" });
        let chat = json!({ "id": ANNA, "type": "private", "first_name": "Анна" });
        let kinds = [
            json!({}),
            json!({ "message": null }),
            json!({ "message": [] }),
            json!({ "message": { "message_id": 1 } }),
            json!({ "message": { "message_id": "one", "from": 7, "chat": "here", "text": 5 } }),
            json!({ "callback_query": { "id": 5 } }),
            json!({ "callback_query": { "id": "5", "data": "s" } }),
            json!({ "callback_query": { "id": "5", "from": person, "game_short_name": "g" } }),
            json!({ "hologram": { "from": person, "chat": chat, "sender": { "deep": [[[]]] } } }),
            json!({ "message_reaction": { "chat": chat, "user": person, "date": 1, "old_reaction": [], "new_reaction": [] } }),
            json!({ "inline_query": { "id": "1", "from": person, "query": "x", "offset": "" } }),
            json!({ "my_chat_member": { "chat": chat, "from": person, "new_chat_member": { "status": "levitating" } } }),
            json!({ "channel_post": { "message_id": 1, "chat": { "id": -1, "type": "channel" }, "text": "/start" } }),
        ];
        let shown = world.transcript(ANNA).await;
        for kind in kinds {
            world.raw(kind).await;
        }
        assert_eq!(world.transcript(ANNA).await, shown);
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        world.finish().await;
    }

    async fn every_update_comes_twice_and_nothing_happens_twice(db: Database) {
        let mut world = World::new(db).await;
        world.apply(BORIS).await;
        world.post("/telegram/options", json!({ "deliver_twice": true })).await;
        world.apply(ANNA).await;
        world.settle().await;
        let once = world.transcript(BORIS).await.replace("Борис", "Анна").replace("0102", "0101").replace("1001", "1002");
        let once = once.replace(&world.marker(BORIS).await, &world.marker(ANNA).await);
        assert_eq!(world.transcript(ANNA).await, once);
        assert_eq!((world.count().await, world.operations(ANNA).await.len()), (2, 1));
        world.finish().await;
    }

    async fn an_old_update_comes_again_out_of_the_blue(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let tap = world.act(ANNA, "tap", json!({ "message_id": summary, "button": SUBMIT })).await;
        world.settle().await;
        let shown = world.transcript(ANNA).await;
        world.advance(Duration::from_secs(60)).await;
        world.post("/updates/redeliver", json!({ "update_id": tap["update_ids"][0] })).await;
        world.settle().await;
        assert_eq!((world.count().await, world.transcript(ANNA).await), (1, shown));
        world.type_text(ANNA, "/status").await;
        assert!(world.last_text(ANNA).await.contains("создана, № 1001"), "what comes after is not lost");
        world.finish().await;
    }

    async fn numbers_of_updates_start_elsewhere_after_an_idle_week(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.advance(Duration::from_secs(8 * 86_400)).await;
        world.post("/telegram/options", json!({ "next_update_id": 5 })).await;
        assert_eq!(world.submit(ANNA).await, ACCEPTED);
        world.type_text(ANNA, "/status").await;
        assert!(world.last_text(ANNA).await.contains("создана, № 1001"));
        world.finish().await;
    }

    async fn a_tap_nobody_waits_for_any_more_still_counts(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let tap = world.press(ANNA, summary, SUBMIT).await;
        world.advance(Duration::from_secs(100)).await;
        assert_eq!(world.toast(&tap).await, "(late)");
        assert_eq!(world.count().await, 1);
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"));
        world.finish().await;
    }
}
