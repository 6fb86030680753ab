//! The bot was away: what waited counts, each person gets one answer to all of it, nobody waits for somebody else's backlog,
//! and whoever may have tapped in vain is told so, once.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};
use zayavka::telegram::update::Update;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, SUBMIT, World},
};

const HOUR: Duration = Duration::from_secs(3_600);
const AWAY: &str = "недоступен";

/// How often somebody was told that the bot was away.
async fn nudges(world: &World, user: i64) -> usize {
    world.said(user).await.iter().filter(|text| text.contains(AWAY)).count()
}

fn update(sent: &Value) -> Update {
    Update::try_from(sent).unwrap_or_else(|error| panic!("{error}"))
}

fn message(update: i64, user: i64, text: &str) -> Value {
    json!({ "update_id": update, "message": { "message_id": update, "date": 1_796_030_962, "text": text,
        "chat": { "id": user, "type": "private" }, "from": { "id": user, "is_bot": false, "first_name": "Имя" } } })
}

on_both! {
    async fn ten_messages_of_one_person_get_one_answer_and_all_of_them_count(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(BORIS, "/start").await;
        let (anna, boris) = (world.said(ANNA).await.len(), world.said(BORIS).await.len());
        world.stop();
        for n in 0..10 {
            world.act(ANNA, "text", json!({ "text": if n == 3 { "Анна" } else { "?" } })).await;
        }
        world.act(BORIS, "text", json!({ "text": "Борис" })).await;
        world.clock.advance(3 * HOUR);
        world.start().await;
        world.pass(Duration::from_secs(10)).await;
        let said = world.said(ANNA).await;
        assert_eq!(said.len(), anna + 1, "one answer, not ten: {said:?}");
        assert!(said.last().is_some_and(|last| last.contains("Не похоже на номер телефона")), "to the last: {said:?}");
        let said = world.said(BORIS).await;
        assert_eq!(said.len(), boris + 1, "{said:?}");
        assert!(said.last().is_some_and(|last| last.starts_with("Телефон для связи")), "{said:?}");
        // What was typed counts: the name is taken, the form goes on from there.
        world.share_contact(ANNA, "+79000000101").await;
        for label in ["Пропустить", "Налоги", "7 декабря, 11:00", "Даю согласие"] {
            world.tap(ANNA, label).await;
        }
        assert!(world.last_text(ANNA).await.contains("Анна"));
        world.finish().await;
    }

    async fn answers_to_words_typed_just_now_are_each_given(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        let before = world.said(ANNA).await.len();
        for text in ["?", "/help", "/status"] {
            world.act(ANNA, "text", json!({ "text": text })).await;
        }
        world.settle().await;
        assert_eq!(world.said(ANNA).await.len(), before + 3);
        world.finish().await;
    }

    async fn a_tap_that_waited_counts_and_its_dead_callback_is_not_answered(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.stop();
        world.clock.advance(HOUR);
        let tap = world.press(ANNA, summary, SUBMIT).await;
        world.clock.advance(Duration::from_secs(100));
        world.start().await;
        let before = world.calls("telegram", "answerCallbackQuery").await.len();
        world.pass(Duration::from_secs(10)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        assert_eq!(world.calls("telegram", "answerCallbackQuery").await.len(), before, "nobody waits for it");
        assert_eq!(world.toast(&tap).await, "(expired)");
        assert!(world.last_text(ANNA).await.contains("№ 1001"), "the card tells");
        assert_eq!(nudges(&world, ANNA).await, 0, "her tap came through");
        world.finish().await;
    }

    async fn a_tap_during_a_quick_restart_is_still_answered(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.stop();
        let tap = world.press(ANNA, summary, SUBMIT).await;
        world.clock.advance(Duration::from_secs(8));
        world.start().await;
        world.settle().await;
        assert_eq!(world.toast(&tap).await, "Принято, отправляем заявку.");
        world.finish().await;
    }

    async fn after_a_long_outage_owners_of_summaries_are_told_once(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.type_text(BORIS, "/start").await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.stop();
        let lost = world.press(ANNA, summary, SUBMIT).await;
        world.clock.advance(Duration::from_secs(600));
        world.start().await;
        // Dies while it tells, and starts again.
        world.kill_at("store.commit", 2);
        world.settle().await;
        if !world.is_alive() {
            world.start().await;
        }
        world.pass(Duration::from_secs(60)).await;
        assert_eq!((nudges(&world, ANNA).await, nudges(&world, BORIS).await), (1, 0));
        assert_eq!((world.toast(&lost).await.as_str(), world.count().await), ("(expired)", 0));
        for _ in 0..2 {
            world.stop();
            world.clock.advance(HOUR);
            world.start().await;
            world.settle().await;
        }
        assert_eq!(nudges(&world, ANNA).await, 1, "one summary, one word");
        assert_eq!(world.tap_on(ANNA, summary, SUBMIT).await, "Принято, отправляем заявку.");
        world.stop();
        world.clock.advance(HOUR);
        world.start().await;
        world.settle().await;
        assert_eq!((nudges(&world, ANNA).await, world.count().await), (1, 1), "what is sent needs no word");
        world.finish().await;
    }

    async fn a_short_outage_loses_no_tap_and_tells_nobody(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.stop();
        world.clock.advance(Duration::from_secs(100));
        world.start().await;
        world.settle().await;
        world.advance(HOUR).await;
        assert_eq!(nudges(&world, ANNA).await, 0);
        world.finish().await;
    }

    async fn a_dead_network_is_an_outage_too(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "getUpdates", "do": "lose_request", "times": 0 })).await;
        world.settle().await;
        world.advance(Duration::from_secs(200)).await;
        assert_eq!(nudges(&world, ANNA).await, 0);
        world.mend().await;
        world.settle().await;
        assert_eq!(nudges(&world, ANNA).await, 1);
        world.finish().await;
    }

    async fn nobody_waits_for_somebody_elses_backlog(db: Database) {
        let mut world = World::new(db).await;
        // A process stored all of it and died.
        let mut updates: Vec<_> = (1..=400).map(|n| message(n, ANNA, &format!("слово {n}"))).collect();
        updates.push(message(401, BORIS, "/help"));
        world.app().inbox.accept(updates.iter().map(update).collect()).await.unwrap_or_else(|error| panic!("{error}"));
        world.clock.advance(Duration::from_secs(31));
        let claimed = world.app().inbox.claim_left_over(HashSet::new(), 256).await.unwrap_or_default();
        assert!(claimed.iter().any(|row| row.lane == BORIS), "his first row is among the first taken");
        let hers: Vec<_> = claimed.iter().filter(|row| row.lane == ANNA).map(|row| row.update.0).collect();
        assert_eq!(hers, (1..=256).collect::<Vec<_>>(), "hers are in order");
        let rest = world.app().inbox.claim_left_over(HashSet::new(), 256).await.unwrap_or_default();
        assert!(rest.is_empty(), "what is being handled blocks its lane: {}", rest.len());
        world.clock.advance(Duration::from_secs(31));
        world.pass(Duration::from_secs(10)).await;
        world.finish().await;
    }

    async fn numbers_that_start_again_are_new_updates_and_repeats_are_not(db: Database) {
        let mut world = World::new(db).await;
        let inbox = world.app().inbox.clone();
        let accept =
            async |sent: Value| inbox.accept(vec![update(&sent)]).await.unwrap_or_else(|error| panic!("{error}")).len();
        assert_eq!(accept(message(5_000, ANNA, "/help")).await, 1);
        assert_eq!(accept(message(5_000, ANNA, "/help")).await, 0, "a repeat");
        assert_eq!(accept(message(5_000, ANNA, "/status")).await, 1, "the number came again with other content");
        assert_eq!(accept(message(17, ANNA, "/help")).await, 1, "a lower number");
        let mut turned: serde_json::Map<String, Value> = serde_json::Map::new();
        if let Value::Object(known) = message(17, ANNA, "/help") {
            turned.extend(known.into_iter().rev());
        }
        assert_eq!(accept(Value::Object(turned)).await, 0, "the order of keys says nothing");
        world.clock.advance(Duration::from_secs(31));
        world.settle().await;
        // The offset follows the numbers wherever they go.
        for number in [9_000_000, 3] {
            let batch = json!({ "ok": true, "result": [message(number, BORIS, "/help")] });
            world.fault(json!({ "on": "getUpdates", "do": "error_before", "status": 200, "body": batch })).await;
            let before = world.said(BORIS).await.len();
            world.settle().await;
            assert_eq!(world.said(BORIS).await.len(), before + 1, "{number}");
            let polls = world.calls("telegram", "getUpdates").await;
            let asked = polls.last().map(|call| call["params"]["offset"].clone().to_string()).unwrap_or_default();
            assert!(asked.contains(&(number + 1).to_string()), "{asked}");
        }
        world.finish().await;
    }

    async fn an_album_gets_one_answer_across_a_death(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        let before = world.said(ANNA).await.len();
        world.act(ANNA, "photo", json!({ "count": 7 })).await;
        world.kill_at("store.committed", 4);
        world.settle().await;
        assert!(!world.is_alive(), "it dies in the middle");
        world.start().await;
        // What was claimed when it died waits for its lease.
        world.pass(Duration::from_secs(300)).await;
        assert_eq!(world.said(ANNA).await.len(), before + 1, "{:?}", world.said(ANNA).await);
        world.finish().await;
    }

    async fn fifty_taps_of_one_person_are_answered_and_say_nothing_more(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fill_in(BORIS).await;
        let (anna, boris) = (world.message_with(ANNA, SUBMIT).await, world.message_with(BORIS, SUBMIT).await);
        let before = world.messages(ANNA).await.len();
        let mut taps = Vec::new();
        for _ in 0..50 {
            taps.push(world.press(ANNA, anna, SUBMIT).await);
        }
        let his = world.press(BORIS, boris, SUBMIT).await;
        world.settle().await;
        for tap in taps.iter().chain([&his]) {
            assert!(!world.toast(tap).await.starts_with('('), "each is answered");
        }
        assert_eq!(world.messages(ANNA).await.len(), before + 1, "one card");
        // In the order they were answered, his came among the first of hers: they took turns.
        let acks = world.calls("telegram", "answerCallbackQuery").await;
        let place = acks.iter().rev().take(51).rev().position(|call| call.to_string().contains(&his));
        assert!(place.is_some_and(|place| place <= 2), "{place:?}");
        assert_eq!(world.count().await, 2);
        world.finish().await;
    }
}
