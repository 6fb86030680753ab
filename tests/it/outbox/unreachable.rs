//! Chats that take nothing: a person who left is not called again and again, a topic that is gone is done without, a group
//! that moved is followed.

use std::time::Duration;

use serde_json::json;
use zayavka::domain::notice::NoticeKind;

use super::{figure, moments, put, rows};
use crate::{
    databases::{Database, on_both},
    world::{ANNA, OWNER, Options, STAFF, World},
};

const MINUTE: Duration = Duration::from_secs(60);

async fn spaced_tries(db: Database, description: &str) {
    let mut world = World::new(db).await;
    world.type_text(ANNA, "/help").await;
    let refusal = json!({ "ok": false, "error_code": 400, "description": description });
    let rule = |times: u32| json!({ "on": "sendMessage", "do": "error_before", "status": 400, "body": refusal, "times": times });
    world.fault(rule(3)).await;
    put(&world, ANNA, None, NoticeKind::Dialog, vec!["дошло".to_owned()]).await;
    let before = moments(&world, Some(ANNA)).await.len();
    world.pass(5 * MINUTE).await;
    assert_eq!(world.last_text(ANNA).await, "дошло", "three refusals may be a server catching up");
    let at = moments(&world, Some(ANNA)).await[before..].to_vec();
    let gaps: Vec<_> = at.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000).collect();
    assert_eq!(gaps, [5, 30, 180], "spaced");
    world.fault(rule(0)).await;
    put(&world, ANNA, None, NoticeKind::Dialog, vec!["нет".to_owned(), "нет".to_owned()]).await;
    world.pass(60 * MINUTE).await;
    let tries = moments(&world, Some(ANNA)).await.len() - before - 4;
    assert_eq!(tries, 4, "then the chat is left alone");
    assert!(rows(&world, ANNA).await.iter().rev().take(2).all(|row| row.state == "dropped"));
    world.mend().await;
    world.type_text(ANNA, "/help").await;
    assert_ne!(world.last_text(ANNA).await, "дошло", "an update brings the person back");
    world.finish().await;
}

async fn catches_up(mut world: World, old: i64) {
    put(&world, old, None, NoticeKind::Dialog, vec!["догнало".to_owned()]).await;
    world.pass(MINUTE).await;
    assert!(world.said(STAFF).await.contains(&"догнало".to_owned()), "{:?}", world.said(STAFF).await);
    world.finish().await;
}

on_both! {
    async fn whoever_blocked_the_bot_is_called_once_and_hears_the_state_once(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.staff("/pause").await;
        world.submit(ANNA).await;
        world.act(ANNA, "block", json!({})).await;
        // The news of the block is lost: only the send tells.
        let before = moments(&world, Some(ANNA)).await.len();
        for _ in 0..3 {
            put(&world, ANNA, None, NoticeKind::Dialog, vec!["?".to_owned()]).await;
        }
        world.staff("/resume").await;
        world.pass(10 * MINUTE).await;
        let calls = moments(&world, Some(ANNA)).await.len() - before;
        assert!(calls <= 1, "{calls} calls to somebody who is known to be gone");
        assert_eq!(world.state(ANNA).await, "created");
        let said = world.said(ANNA).await.len();
        world.act(ANNA, "unblock", json!({})).await;
        world.settle().await;
        world.pass(MINUTE).await;
        let now = world.said(ANNA).await;
        assert!(now.len() <= said + 1, "the state is told once: {now:?}");
        assert!(now.iter().any(|text| text.contains("№ 1001 создана")), "{now:?}");
        world.finish().await;
    }

    async fn a_chat_that_is_not_found_gets_spaced_tries_and_then_none(db: Database) {
        spaced_tries(db, "Bad Request: chat not found").await;
    }

    async fn a_peer_that_is_invalid_gets_spaced_tries_and_then_none(db: Database) {
        spaced_tries(db, "Bad Request: PEER_ID_INVALID").await;
    }

    async fn a_topic_that_is_gone_is_done_without_and_flagged_once(db: Database) {
        let mut world = World::with(db, Options::blind().set("staff.thread", "55")).await;
        put(&world, 0, None, NoticeKind::StaffCard, vec!["первое".to_owned(), "второе".to_owned()]).await;
        world.settle().await;
        let said = world.said(STAFF).await;
        assert!(said.contains(&"первое".to_owned()) && said.contains(&"второе".to_owned()), "{said:?}");
        let flags = said.iter().filter(|text| text.contains("Тема 55")).count();
        assert_eq!(flags, 1, "{said:?}");
        // Each call stood on record before it was made.
        for row in rows(&world, STAFF).await {
            assert_eq!(figure(&row, "attempts"), 2, "{row:?}");
        }
        let threads: Vec<_> = world.calls("telegram", "sendMessage").await.iter()
            .filter(|call| call["params"]["text"] == "первое")
            .map(|call| call["params"]["message_thread_id"].as_i64())
            .collect();
        assert_eq!(threads, [Some(55), None]);
        world.finish().await;
    }

    async fn a_message_that_landed_outside_of_its_topic_is_flagged_once_and_not_sent_again(db: Database) {
        let mut world = World::with(db, Options::blind().set("staff.thread", "55")).await;
        let elsewhere = json!({ "ok": true, "result": { "message_id": 777, "date": 1, "text": "x",
            "chat": { "id": STAFF, "type": "supergroup", "title": "x" } } });
        world.fault(json!({ "on": "sendMessage", "do": "error_before", "status": 200, "body": elsewhere, "times": 2 })).await;
        put(&world, 0, None, NoticeKind::StaffCard, vec!["первое".to_owned(), "второе".to_owned()]).await;
        world.settle().await;
        world.pass(MINUTE).await;
        for text in ["первое", "второе"] {
            let calls = world.calls("telegram", "sendMessage").await;
            let sent = calls.iter().filter(|call| call["params"]["text"] == text).count();
            assert_eq!(sent, 1, "{text} arrived, if elsewhere");
        }
        let flags = world.said(STAFF).await.iter().filter(|text| text.contains("Тема 55")).count();
        assert_eq!(flags, 1, "{:?}", world.said(STAFF).await);
        world.finish().await;
    }

    async fn a_group_that_moved_is_followed_by_the_answer_to_a_send(db: Database) {
        let world = World::new(db).await;
        let moved = json!({ "ok": false, "error_code": 400,
            "description": "Bad Request: group chat was upgraded to a supergroup chat",
            "parameters": { "migrate_to_chat_id": STAFF } });
        world.fault(json!({ "on": "sendMessage", "do": "error_before", "status": 400, "body": moved })).await;
        catches_up(world, -71).await;
    }

    async fn a_group_that_moved_is_followed_by_its_last_word(db: Database) {
        let mut world = World::new(db).await;
        world.raw(json!({ "message": { "message_id": 9, "date": 1,
            "chat": { "id": -72, "type": "group", "title": "x" }, "migrate_to_chat_id": STAFF } })).await;
        catches_up(world, -72).await;
    }

    async fn a_group_that_moved_is_followed_by_its_first_word(db: Database) {
        let mut world = World::new(db).await;
        world.raw(json!({ "message": { "message_id": 9, "date": 1,
            "chat": { "id": STAFF, "type": "supergroup", "title": "x" }, "migrate_from_chat_id": -73 } })).await;
        catches_up(world, -73).await;
    }

    async fn staff_who_come_back_are_answered(db: Database) {
        let mut world = World::new(db).await;
        // The owner is a client too, blocks the bot, and comes back with a staff command.
        world.type_text(OWNER, "/start").await;
        world.act(OWNER, "block", json!({})).await;
        world.settle().await;
        world.act(OWNER, "unblock", json!({})).await;
        world.act(OWNER, "text", json!({ "text": "/queue" })).await;
        world.settle().await;
        assert!(world.last_text(OWNER).await.contains("Очередь"), "{}", world.last_text(OWNER).await);
        world.finish().await;
    }
}
