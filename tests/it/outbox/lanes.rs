//! One chat never holds up another, however much waits there; and the chats that are due are found by an index.

use std::time::Duration;

use sea_orm::ConnectionTrait as _;
use zayavka::{
    clock::{Clock as _, SystemClock},
    domain::notice::NoticeKind,
    ids::ChatId,
    store::lanes,
};

use super::{put, rows};
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, BOT, Options, World},
};

/// Rows behind the first one of a chat, as if a flood had come.
async fn flood(world: &World, chat: i64, count: u32) {
    put(world, chat, None, NoticeKind::Dialog, vec!["капля".to_owned()]).await;
    let columns = "bot_id, chat_id, thread_id, kind, card, operation_id, notice, state, body, rev, priority, due_at, \
                   message_id, error, created_at, ended_at";
    let sql = format!(
        "INSERT INTO outbox ({columns}) WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE \
         n < {count}) SELECT {columns} FROM outbox CROSS JOIN series WHERE chat_id = {chat} AND due_at IS NOT NULL"
    );
    let written = world.app().store.write(move |tx| {
        let sql = sql.clone();
        async move { tx.execute_unprepared(&sql).await.map(drop).map_err(Into::into) }
    });
    written.await.unwrap_or_else(|error| panic!("{error}"));
}

/// Takes what is left of the flood away: a test ends with nothing unfinished.
async fn dry(world: &World, chat: i64) {
    let sql = format!("DELETE FROM outbox WHERE chat_id = {chat} AND due_at IS NOT NULL");
    let written = world.app().store.write(move |tx| {
        let sql = sql.clone();
        async move { tx.execute_unprepared(&sql).await.map(drop).map_err(Into::into) }
    });
    written.await.unwrap_or_else(|error| panic!("{error}"));
}

on_both! {
    async fn a_hundred_thousand_rows_of_one_chat_hold_up_nobody(db: Database) {
        let options = Options::searchable().set("pace.per_chat", "1").set("pace.burst", "3");
        let mut world = World::with(db, options).await;
        for person in [ANNA, BORIS] {
            world.type_text(person, "/help").await;
        }
        world.pass(Duration::from_secs(10)).await;
        flood(&world, ANNA, 100_000).await;
        world.settle().await;
        let said = world.said(BORIS).await.len();
        world.type_text(BORIS, "/help").await;
        assert_eq!(world.said(BORIS).await.len(), said + 1);
        let began = SystemClock.now();
        for _ in 0..20 {
            world.app().outbox.due().await.unwrap_or_else(|error| panic!("{error}"));
        }
        let look = SystemClock.now().since(began) / 20;
        println!("a look with 100 000 rows queued: {look:?}");
        assert!(look < Duration::from_millis(100), "{look:?}");
        dry(&world, ANNA).await;
        world.pass(Duration::from_secs(10)).await;
        world.finish().await;
    }

    async fn what_an_older_release_wrote_is_found(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/help").await;
        put(&world, ANNA, None, NoticeKind::Dialog, vec!["забытое".to_owned()]).await;
        let write = world.app().store.write(|tx| async move {
            lanes::set_due(tx.as_ref(), BOT, ChatId(ANNA), None).await
        });
        write.await.unwrap_or_else(|error| panic!("{error}"));
        world.settle().await;
        assert_ne!(world.last_text(ANNA).await, "забытое", "no lane waits for it");
        world.clock.advance(Duration::from_secs(61));
        world.restart().await;
        world.settle().await;
        assert_eq!(world.last_text(ANNA).await, "забытое");
        world.finish().await;
    }

    async fn a_long_text_arrives_in_parts_and_no_character_is_cut(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/help").await;
        let before = world.said(ANNA).await.len();
        // 😀 is two units: an odd limit would cut it.
        let text = format!("я{}", "😀".repeat(5_000));
        put(&world, ANNA, None, NoticeKind::Dialog, vec![text.clone()]).await;
        world.settle().await;
        let said = world.said(ANNA).await;
        let parts = &said[before..];
        assert_eq!((parts.len(), parts.concat()), (3, text));
        assert_eq!(rows(&world, ANNA).await.len() , before + 3, "each its own row");
        world.finish().await;
    }

    async fn two_processes_never_write_to_one_chat_at_once(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/help").await;
        let texts: Vec<_> = (0..3).map(|n| n.to_string()).collect();
        put(&world, ANNA, None, NoticeKind::Dialog, texts.clone()).await;
        world.fault(serde_json::json!({ "on": "sendMessage", "do": "hold" })).await;
        let other = world.replica().await;
        let before = world.calls("telegram", "sendMessage").await.len();
        let one = async { world.app().outbox.tick().await };
        let two = async {
            world.until("the call", async |world| world.calls("telegram", "sendMessage").await.len() > before).await;
            let moved = other.app.outbox.tick().await;
            assert_eq!(world.calls("telegram", "sendMessage").await.len(), before + 1, "one in flight");
            world.post("/telegram/release", serde_json::json!({})).await;
            moved
        };
        let (one, two) = tokio::join!(one, two);
        one.and(two).unwrap_or_else(|error| panic!("{error}"));
        world.settle().await;
        let said = world.said(ANNA).await;
        assert_eq!(said[said.len() - 3..], texts[..]);
        assert!(world.clock.now().0 > 0);
        world.finish().await;
    }
}
