//! The pace, read from Telegram's own log with its times.

use std::time::Duration;

use serde_json::json;
use zayavka::domain::notice::NoticeKind;

use super::{moments, most_within, put};
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, Options, STAFF, World},
};

/// As an operator has it who sets nothing.
fn default_pace() -> Options {
    let set = [("pace.per_chat", "1"), ("pace.burst", "3"), ("pace.group", "20"), ("pace.overall", "30")];
    set.into_iter().fold(Options::searchable(), |options, (path, value)| options.set(path, value))
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("сообщение {n}")).collect()
}

/// People the emulator knows, beside the two of every world.
async fn crowd(world: &mut World, count: i64) -> Vec<i64> {
    let people: Vec<i64> = (0..count).map(|n| 5_000 + n).collect();
    for person in &people {
        world.act(*person, "text", json!({ "text": "/help" })).await;
    }
    people
}

on_both! {
    async fn one_a_second_into_a_chat_after_a_small_burst(db: Database) {
        let mut world = World::with(db, default_pace()).await;
        world.type_text(ANNA, "/help").await;
        world.pass(Duration::from_secs(10)).await;
        let before = moments(&world, Some(ANNA)).await.len();
        put(&world, ANNA, None, NoticeKind::Dialog, texts(10)).await;
        world.settle().await;
        assert_eq!(moments(&world, Some(ANNA)).await.len(), before + 3, "a burst of three");
        // What others are told does not wait for it, nor does a restart begin another burst.
        world.type_text(BORIS, "/help").await;
        assert_eq!(world.said(BORIS).await.len(), 1);
        world.restart().await;
        world.settle().await;
        assert_eq!(moments(&world, Some(ANNA)).await.len(), before + 3);
        world.pass(Duration::from_secs(20)).await;
        let at = moments(&world, Some(ANNA)).await;
        assert_eq!(at.len(), before + 10);
        assert_eq!(most_within(&at, 3_000), 3, "{at:?}");
        let said = world.said(ANNA).await;
        assert_eq!(said[said.len() - 10..], texts(10)[..], "in order");
        world.finish().await;
    }

    async fn twenty_a_minute_into_a_group(db: Database) {
        let mut world = World::with(db, default_pace()).await;
        put(&world, STAFF, None, NoticeKind::StaffReply, texts(45)).await;
        world.pass(Duration::from_secs(300)).await;
        let at = moments(&world, Some(STAFF)).await;
        assert_eq!(at.len(), 45);
        assert_eq!(most_within(&at, 60_000), 20, "{at:?}");
        world.finish().await;
    }

    async fn the_pace_over_all_chats_is_shared_by_replicas(db: Database) {
        let mut world = World::with(db, default_pace().set("pace.overall", "5")).await;
        let people = crowd(&mut world, 12).await;
        world.pass(Duration::from_secs(60)).await;
        for person in &people {
            put(&world, *person, None, NoticeKind::Dialog, texts(2)).await;
        }
        let other = world.replica().await;
        for _ in 0..40 {
            let (one, two) = tokio::join!(world.app().outbox.tick(), other.app.outbox.tick());
            one.and(two).unwrap_or_else(|error| panic!("{error}"));
            world.clock.advance(Duration::from_millis(200));
        }
        world.pass(Duration::from_secs(60)).await;
        let at = moments(&world, None).await;
        assert_eq!(at.len(), 36);
        assert_eq!(most_within(&at, 1_000), 5, "{at:?}");
        world.finish().await;
    }

    async fn a_receipt_goes_before_reminders_when_the_pace_is_short(db: Database) {
        let mut world = World::with(db, default_pace().set("pace.overall", "1")).await;
        let people = crowd(&mut world, 8).await;
        world.act(ANNA, "text", json!({ "text": "/help" })).await;
        world.pass(Duration::from_secs(60)).await;
        for person in &people {
            put(&world, *person, None, NoticeKind::StaffCard, texts(1)).await;
        }
        put(&world, ANNA, None, NoticeKind::Created, vec!["№ 7".to_owned()]).await;
        world.pass(Duration::from_secs(60)).await;
        let calls = world.calls("telegram", "sendMessage").await;
        let latest: Vec<_> = calls.iter().rev().take(9).map(|call| call["params"]["chat_id"].as_i64()).collect();
        assert_eq!(latest.last(), Some(&Some(ANNA)), "{latest:?}");
        world.finish().await;
    }

    async fn many_chats_throttled_at_once_mean_the_bot(db: Database) {
        let mut world = World::with(db, default_pace()).await;
        let people = crowd(&mut world, 5).await;
        world.pass(Duration::from_secs(60)).await;
        let throttle = json!({ "on": "sendMessage", "do": "error_before", "status": 429, "retry_after": 30, "times": 3 });
        world.fault(throttle).await;
        for person in &people[..3] {
            put(&world, *person, None, NoticeKind::Dialog, texts(1)).await;
            world.settle().await;
        }
        let before = moments(&world, None).await.len();
        put(&world, people[4], None, NoticeKind::Dialog, texts(1)).await;
        world.pass(Duration::from_secs(29)).await;
        assert_eq!(moments(&world, None).await.len(), before, "not a word to anybody");
        world.pass(Duration::from_secs(30)).await;
        assert_eq!(moments(&world, None).await.len(), before + 4);
        world.finish().await;
    }
}
