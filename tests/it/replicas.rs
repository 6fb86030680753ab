//! Several processes on one database: they race for the same rows, and the CRM sees one of them. And what one process
//! does at the same moment: the tap is answered before the CRM is asked.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use zayavka::{
    domain::operation::State,
    inbox::Ended,
    metrics::{Counter, counted},
    telegram::update::Update,
};

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, Options, REVIEWER, STAFF, SUBMIT, World},
};

/// The updates that wait, as Telegram would hand them out; they stay there.
async fn waiting(world: &World) -> Vec<Update> {
    let path = format!("/bot{}/getUpdates", world.token());
    let (_, answer) = world.call(reqwest::Method::POST, &path, json!({})).await;
    let updates = answer["result"].as_array().into_iter().flatten();
    updates.map(|update| Update::try_from(update).unwrap_or_else(|error| panic!("{error}"))).collect()
}

on_both! {
    async fn the_same_updates_reach_two_processes_at_once(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        for _ in 0..5 {
            world.press(ANNA, summary, SUBMIT).await;
        }
        let other = world.replica().await;
        let updates = waiting(&world).await;
        let (one, two) = tokio::join!(world.app().inbox.accept(updates.clone()), other.app.inbox.accept(updates));
        let (one, two) = (one.unwrap_or_default(), two.unwrap_or_default());
        assert!(one.len() + two.len() >= 5, "each is stored and claimed by one: {} {}", one.len(), two.len());
        assert!(one.iter().all(|row| two.iter().all(|twin| twin.row != row.row)));
        let (a, b) = tokio::join!(world.app().handle(one), other.app.handle(two));
        a.and(b).unwrap_or_else(|error| panic!("{error}"));
        // Whichever of them claimed a message says it.
        other.app.outbox.tick().await.unwrap_or_else(|error| panic!("{error}"));
        world.settle().await;
        assert_eq!((world.count().await, world.operations(ANNA).await.len()), (1, 1));
        world.finish().await;
    }

    async fn one_number_named_for_two_requests_at_once_belongs_to_one(db: Database) {
        let mut world = World::with(db, Options::searchable().places(9)).await;
        for user in [ANNA, BORIS] {
            world.fill_in(user).await;
            world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
            world.submit(user).await;
        }
        world.pass(Duration::from_secs(600)).await;
        let marks = [world.marker(ANNA).await, world.marker(BORIS).await];
        // A ticket somebody made by hand, that shows no key of ours.
        let body = json!({ "marker": "", "subject": "Руками", "body": "", "contact": {}, "fields": {} });
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_else(|error| panic!("{error}"));
        let made = http.post(format!("{}/tickets", world.crm_url())).bearer_auth("sandbox-secret").json(&body).send().await;
        assert!(made.is_ok_and(|made| made.status().is_success()));
        let number = world.count().await + 1_000;
        // The CRM shows no key of ours in it: each is asked for a second word.
        for mark in &marks {
            world.staff(&format!("/link {mark} {number}")).await;
        }
        let other = world.replica().await;
        // Both are decided before either is carried out.
        for mark in &marks {
            world.act(OWNER, "text", json!({ "text": format!("/link {mark} {number} без ключа"), "chat": STAFF })).await;
        }
        let rows = world.app().inbox.accept(waiting(&world).await).await.unwrap_or_default();
        for row in &rows {
            world.app().inbox.handle(row).await;
        }
        let (one, two) = tokio::join!(world.app().worker.tick(), other.app.worker.tick());
        one.and(two).unwrap_or_else(|error| panic!("{error}"));
        world.pass(Duration::from_secs(60)).await;
        let mut states = [world.state(ANNA).await, world.state(BORIS).await];
        states.sort_unstable();
        assert_eq!(states, ["created", "review"]);
        // At least: other tests may share the process.
        assert!(counted(Counter::UnknownBegan) >= 2 && counted(Counter::UnknownByStaff) >= 1);
        world.finish_elsewhere().await;
    }

    async fn two_processes_handle_the_same_row(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.press(ANNA, summary, SUBMIT).await;
        let other = world.replica().await;
        let rows = world.app().inbox.accept(waiting(&world).await).await.unwrap_or_default();
        for row in &rows {
            // As after a lease that ended too early: both hold the same claim.
            let (one, two) = tokio::join!(world.app().inbox.handle(row), other.app.inbox.handle(row));
            let done = [&one, &two].iter().filter(|ended| matches!(ended, Ended::Done(_))).count();
            assert!(done <= 1, "{one:?} {two:?}");
        }
        // Nobody named the operation: whoever began it goes on when the tap has had its time.
        world.clock.advance(Duration::from_secs(4));
        for app in [world.app(), &other.app] {
            app.worker.tick().await.unwrap_or_else(|error| panic!("{error}"));
            app.outbox.tick().await.unwrap_or_else(|error| panic!("{error}"));
        }
        world.pass(Duration::from_secs(60)).await;
        assert_eq!((world.count().await, world.operations(ANNA).await.len()), (1, 1));
        world.finish().await;
    }

    async fn two_processes_want_the_same_operation(db: Database) {
        let mut world = World::new(db).await;
        let other = world.replica().await;
        for person in [ANNA, BORIS] {
            world.fill_in(person).await;
            world.staff("/pause").await;
            world.submit(person).await;
            world.staff("/resume").await;
            world.clock.advance(Duration::from_secs(10));
            let before = world.calls("crm", "POST /tickets").await.len();
            let racers = [world.app(), &other.app, world.app(), &other.app].map(|app| app.worker.tick());
            for ended in futures_util::future::join_all(racers).await {
                ended.unwrap_or_else(|error| panic!("{error}"));
            }
            assert_eq!(world.calls("crm", "POST /tickets").await.len(), before + 1);
            let (one, two) = tokio::join!(world.app().outbox.tick(), other.app.outbox.tick());
            one.and(two).unwrap_or_else(|error| panic!("{error}"));
            world.settle().await;
            let said = world.said(person).await;
            assert_eq!(said.iter().filter(|text| text.contains("создана")).count(), 1, "{said:?}");
        }
        assert_eq!(world.count().await, 2);
        world.finish().await;
    }

    async fn taps_of_one_person_are_handled_by_different_processes(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let first = world.press(ANNA, summary, SUBMIT).await;
        let second = world.press(ANNA, summary, SUBMIT).await;
        let other = world.replica().await;
        let rows = world.app().inbox.accept(waiting(&world).await).await.unwrap_or_default();
        let taps: Vec<_> = rows.iter().filter(|row| row.payload.contains("callback_query")).collect();
        assert_eq!(taps.len(), 2);
        let (one, two) = tokio::join!(world.app().inbox.handle(taps[0]), other.app.inbox.handle(taps[1]));
        assert!(matches!(one, Ended::Done(_)), "{one:?}");
        assert!(matches!(two, Ended::Done(_) | Ended::Left | Ended::Later), "{two:?}");
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(world.toast(&first).await, "Принято, отправляем заявку.");
        assert_ne!(world.toast(&second).await, "Принято, отправляем заявку.");
        assert_eq!((world.count().await, world.operations(ANNA).await.len()), (1, 1));
        world.finish().await;
    }

    async fn two_decisions_in_two_processes_and_one_counts(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
        world.submit(ANNA).await;
        world.pass(Duration::from_secs(1_200)).await;
        let marker = world.marker(ANNA).await;
        for (user, command) in [(OWNER, format!("/reject {marker} раз")), (REVIEWER, format!("/reject {marker} два"))] {
            world.act(user, "text", json!({ "chat": STAFF, "text": command })).await;
        }
        let other = world.replica().await;
        let rows = world.app().inbox.accept(waiting(&world).await).await.unwrap_or_default();
        let words: Vec<_> = rows.iter().filter(|row| row.payload.contains(&marker)).collect();
        assert_eq!(words.len(), 2);
        let (one, two) = tokio::join!(world.app().inbox.handle(words[0]), other.app.inbox.handle(words[1]));
        let done = [&one, &two].iter().filter(|ended| matches!(ended, Ended::Done(now) if !now.is_empty())).count();
        assert!(done <= 1, "{one:?} {two:?}");
        world.pass(Duration::from_secs(600)).await;
        let state = world.operations(ANNA).await.remove(0).operation.state;
        match state {
            State::Rejected { .. } => assert_eq!(world.count().await, 0),
            other => panic!("{other:?}"),
        }
        assert!(world.said(STAFF).await.iter().any(|text| text.contains("решения не ждёт") || text.contains("уже решено")));
        world.finish().await;
    }

    async fn a_process_that_was_held_up_answers_after_another_took_over(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.staff("/pause").await;
        world.submit(ANNA).await;
        world.staff("/resume").await;
        world.clock.advance(Duration::from_secs(60));
        world.fault(json!({ "on": "POST /tickets", "do": "hold" })).await;
        let slow = world.replica().await;
        let worker = Arc::clone(&slow.app.worker);
        let late = async { worker.tick().await };
        let meanwhile = async {
            world.until("the request", async |world| world.calls("crm", "POST /tickets").await.len() == 1).await;
            // Its lease ends while the CRM has the request in hand; another process looks after it.
            world.clock.advance(Duration::from_secs(31));
            world.app().worker.tick().await.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(world.state(ANNA).await, "unknown");
            world.post("/crm/release", json!({})).await;
        };
        let (ended, ()) = tokio::join!(late, meanwhile);
        ended.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1), "the late answer counts");
        world.pass(Duration::from_secs(86_400)).await;
        assert!(!world.said(STAFF).await.iter().any(|text| text.contains("Двойник")));
        assert!(world.said(ANNA).await.iter().any(|text| text.contains("№ 1001 создана")));
        world.finish().await;
    }

    async fn the_tap_is_answered_before_the_crm_is_asked(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "answerCallbackQuery", "do": "hold" })).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let tap = world.press(ANNA, summary, SUBMIT).await;
        let rows = world.app().inbox.accept(waiting(&world).await).await.unwrap_or_default();
        let handling = async { world.app().handle(rows).await };
        let watching = async {
            world.until("the answer to the tap", async |world| {
                world.calls("telegram", "answerCallbackQuery").await.iter().any(|call| call["outcome"] == "open")
            }).await;
            assert_eq!(world.operations(ANNA).await.len(), 1, "it is stored");
            world.app().worker.tick().await.unwrap_or_else(|error| panic!("{error}"));
            assert!(world.calls("crm", "POST").await.is_empty(), "and not sent yet");
            world.post("/telegram/release", json!({})).await;
        };
        let (handled, ()) = tokio::join!(handling, watching);
        handled.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((world.toast(&tap).await.as_str(), world.count().await), ("Принято, отправляем заявку.", 1));
        world.settle().await;
        world.finish().await;
    }

    async fn the_tap_is_answered_while_the_crm_hangs(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "hold" })).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let tap = world.press(ANNA, summary, SUBMIT).await;
        let rows = world.app().inbox.accept(waiting(&world).await).await.unwrap_or_default();
        let handling = async { world.app().handle(rows).await };
        let watching = async {
            world.until("the request", async |world| !world.calls("crm", "POST /tickets").await.is_empty()).await;
            assert_eq!(world.toast(&tap).await, "Принято, отправляем заявку.");
            world.post("/crm/release", json!({})).await;
        };
        let (handled, ()) = tokio::join!(handling, watching);
        handled.unwrap_or_else(|error| panic!("{error}"));
        world.settle().await;
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }
}
