//! Telegram misbehaves: what was said stays true and arrives, at worst twice; the CRM never notices.

use std::time::Duration;

use serde_json::json;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, Options, STAFF, SUBMIT, World},
};

const MINUTE: Duration = Duration::from_secs(60);

/// What the client reads in the end, and that there is one ticket.
async fn told_the_number(world: World) {
    let last = world.last_text(ANNA).await;
    assert!(last.contains("№ 1001 создана"), "{last}");
    assert_eq!(world.count().await, 1);
    world.finish().await;
}

on_both! {
    async fn every_answer_to_a_message_is_lost_once(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "sendMessage", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        world.pass(10 * MINUTE).await;
        told_the_number(world).await;
    }

    async fn a_page_of_a_proxy_comes_instead_of_an_answer(db: Database) {
        let mut world = World::new(db).await;
        world.fault(json!({ "on": "sendMessage", "do": "error_before", "status": 502, "html": true })).await;
        world.type_text(ANNA, "/start").await;
        world.pass(10 * MINUTE).await;
        assert!(world.last_text(ANNA).await.contains("Как к вам обращаться?"));
        world.fill_in_from_the_name(ANNA, "Анна").await;
        world.fault(json!({ "on": "sendMessage", "do": "error_after", "status": 502, "html": true })).await;
        world.submit(ANNA).await;
        world.pass(10 * MINUTE).await;
        told_the_number(world).await;
    }

    async fn telegram_asks_for_silence_and_gets_it(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let before = world.calls("telegram", "sendMessage").await.len();
        world.fault(json!({ "on": "sendMessage", "do": "error_before", "status": 429, "retry_after": 40 })).await;
        world.submit(ANNA).await;
        world.type_text(ANNA, "/status").await;
        world.pass(Duration::from_secs(39)).await;
        assert_eq!(world.calls("telegram", "sendMessage").await.len(), before + 1, "not a word in between");
        world.type_text(BORIS, "/help").await;
        assert!(!world.said(BORIS).await.is_empty(), "others are not held up");
        world.pass(MINUTE).await;
        assert!(world.said(ANNA).await.iter().any(|text| text.contains("№ 1001 создана")));
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn silence_in_the_staff_chat_holds_for_cards_and_answers_alike(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.staff("/pause").await;
        world.submit(ANNA).await;
        world.staff("/resume").await;
        // The next new message is the card of the case.
        let before = world.said(STAFF).await.len();
        world.fault(json!({ "on": "sendMessage", "do": "error_before", "status": 429, "retry_after": 40 })).await;
        world.advance(Duration::from_secs(5)).await;
        assert_eq!(world.state(ANNA).await, "review");
        let to_staff = async |world: &World| {
            let calls = world.calls("telegram", "sendMessage").await;
            calls.iter().filter(|call| call["params"]["chat_id"] == STAFF).count()
        };
        assert_eq!(to_staff(&world).await, before + 1);
        assert_eq!(world.staff("/queue").await, "");
        world.pass(Duration::from_secs(39)).await;
        assert_eq!(to_staff(&world).await, before + 1, "not a word in between");
        world.pass(MINUTE).await;
        let said = world.said(STAFF).await;
        assert!(said.iter().any(|text| text.starts_with("Случай")), "{said:?}");
        assert!(said.iter().any(|text| text.starts_with("Ждут решения: 1")), "{said:?}");
        world.finish().await;
    }

    async fn a_clock_set_back_delays_no_longer_than_it_was_wrong(db: Database) {
        use zayavka::clock::Clock as _;
        let hour = 60 * MINUTE;
        let mut world = World::new(db).await;
        world.clock.advance(hour);
        world.fault(json!({ "on": "sendMessage", "do": "error_before", "status": 429, "retry_after": 40 })).await;
        world.type_text(ANNA, "/help").await;
        world.clock.set(world.clock.now().minus(hour));
        world.pass(hour + MINUTE).await;
        assert_eq!(world.said(ANNA).await.len(), 1);
        world.finish().await;
    }

    async fn whoever_blocked_the_bot_hears_the_number_when_they_come_back(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.staff("/pause").await;
        world.submit(ANNA).await;
        let told = world.said(ANNA).await.len();
        world.act(ANNA, "block", json!({})).await;
        world.staff("/resume").await;
        world.pass(10 * MINUTE).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.act(ANNA, "unblock", json!({})).await;
        world.settle().await;
        let said = world.said(ANNA).await;
        assert!(said[told - 1..].iter().any(|text| text.contains("№ 1001 создана")), "{said:?}");
        world.finish().await;
    }

    async fn whoever_blocked_before_the_first_word_hears_it_later(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        world.press(ANNA, summary, SUBMIT).await;
        world.act(ANNA, "block", json!({})).await;
        world.settle().await;
        world.pass(10 * MINUTE).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.act(ANNA, "unblock", json!({})).await;
        world.settle().await;
        told_the_number(world).await;
    }

    async fn a_deleted_card_is_replaced_by_a_new_message(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.staff("/pause").await;
        world.submit(ANNA).await;
        let card = world.messages(ANNA).await.last().map(|message| message.id);
        let delete = json!({ "chat_id": ANNA, "message_id": card });
        let path = format!("/bot{}/deleteMessage", world.token());
        let (status, answer) = world.call(reqwest::Method::POST, &path, delete).await;
        assert_eq!(status, 200, "{answer}");
        world.staff("/resume").await;
        world.pass(MINUTE).await;
        told_the_number(world).await;
    }

    async fn an_edit_that_changes_nothing_is_a_success(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.staff("/pause").await;
        world.submit(ANNA).await;
        world.fault(json!({ "on": "editMessageText", "do": "lose_answer" })).await;
        world.staff("/resume").await;
        world.pass(10 * MINUTE).await;
        let edits = world.calls("telegram", "editMessageText").await;
        assert!(edits.len() >= 2, "it is edited again");
        told_the_number(world).await;
    }

    async fn answers_to_taps_get_lost_and_nothing_else_does(db: Database) {
        let mut world = World::new(db).await;
        world.fault(json!({ "on": "answerCallbackQuery", "do": "lose_request", "times": 0 })).await;
        world.apply(ANNA).await;
        told_the_number(world).await;
    }

    async fn a_staff_group_that_moved_is_followed_by_what_the_send_is_told(db: Database) {
        // The configured group is gone; Telegram says where it went only in answer to a message.
        let options = Options::blind().set("staff.chat", "-77");
        let mut world = World::with(db, options).await;
        world.fill_in(ANNA).await;
        let moved = json!({ "ok": false, "error_code": 400,
            "description": "Bad Request: group chat was upgraded to a supergroup chat",
            "parameters": { "migrate_to_chat_id": STAFF } });
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        world.fault(json!({ "on": "sendMessage", "do": "error_before", "status": 400, "body": moved })).await;
        world.pass(10 * MINUTE).await;
        assert!(world.last_text(STAFF).await.starts_with("Случай"), "{}", world.last_text(STAFF).await);
        let marker = world.marker(ANNA).await;
        world.staff(&format!("/link {marker} 1001 без проверки")).await;
        told_the_number(world).await;
    }
}
