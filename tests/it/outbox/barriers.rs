//! How many commits stand between the tap and the message with the number: each is a flush of the disk that the person
//! waits for.

use super::put;
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, Options, SUBMIT, World},
};

/// Commits before the n-th call of Telegram, counted from the last time the points were forgotten.
fn commits_before_call(points: &[&str], nth: usize) -> usize {
    let call = points.iter().enumerate().filter(|(_, point)| **point == "telegram.call").nth(nth - 1);
    let (at, _) = call.unwrap_or_else(|| panic!("no call number {nth}: {points:?}"));
    points[..at].iter().filter(|point| **point == "store.committed").count()
}

on_both! {
    async fn three_between_the_tap_and_the_number(db: Database) {
        let mut world = World::with(db, Options::keyed()).await;
        // The first ticket of a CRM is read back; that is not on every way.
        world.apply(BORIS).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let before = world.said(ANNA).await.len();
        world.forget_points();
        world.press(ANNA, summary, SUBMIT).await;
        world.settle().await;
        let said = world.said(ANNA).await;
        assert_eq!(said.len(), before + 1, "one message tells the number: {said:?}");
        assert!(world.last_text(ANNA).await.contains("№ 1002 создана"), "{said:?}");
        let commits = commits_before_call(&world.points(), 1);
        println!("between the tap and the number: {commits} commits (stored; confirmed and begun; created and claimed)");
        assert_eq!(commits, 3, "{:?}", world.points());
        world.finish().await;
    }

    async fn two_between_a_word_and_its_answer(db: Database) {
        let mut world = World::new(db).await;
        // The first poll after a start notes that updates come in.
        world.type_text(ANNA, "/help").await;
        world.forget_points();
        world.type_text(ANNA, "/help").await;
        assert_eq!(commits_before_call(&world.points(), 1), 2, "{:?}", world.points());
        world.finish().await;
    }

    async fn what_waits_in_a_chat_follows_without_a_commit_of_its_own(db: Database) {
        use zayavka::domain::notice::NoticeKind;
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/help").await;
        put(&world, ANNA, None, NoticeKind::Dialog, ["a", "b", "c"].map(str::to_owned).to_vec()).await;
        world.forget_points();
        world.settle().await;
        let points = world.points();
        // One claims the first; each end claims the next.
        assert_eq!([1, 2, 3].map(|nth| commits_before_call(&points, nth)), [1, 2, 3], "{points:?}");
        world.finish().await;
    }

    async fn a_crm_that_takes_its_time_leaves_the_person_with_a_card(db: Database) {
        use std::{sync::Arc, time::Duration};
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(serde_json::json!({ "on": "POST /tickets", "do": "hold" })).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let before = world.said(ANNA).await.len();
        world.press(ANNA, summary, SUBMIT).await;
        let rows = world.take_in().await;
        let outbox = Arc::clone(&world.app().outbox);
        let handling = async { world.app().handle(rows).await };
        let watching = async {
            world.until("the request", async |world| !world.calls("crm", "POST /tickets").await.is_empty()).await;
            outbox.tick().await.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(world.said(ANNA).await.len(), before, "an outcome may come any moment");
            world.clock.advance(Duration::from_secs(2));
            outbox.tick().await.unwrap_or_else(|error| panic!("{error}"));
            assert!(!world.last_text(ANNA).await.contains("создана"));
            assert_eq!(world.said(ANNA).await.len(), before + 1, "{}", world.last_text(ANNA).await);
            world.post("/crm/release", serde_json::json!({})).await;
        };
        let (handled, ()) = tokio::join!(handling, watching);
        handled.unwrap_or_else(|error| panic!("{error}"));
        world.settle().await;
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"));
        assert_eq!(world.said(ANNA).await.len(), before + 1, "the card was edited");
        world.finish().await;
    }
}
