//! A card that is edited while its answers get lost, its message is deleted, or it is shown anew: what stands on the
//! screen in the end is the newest, and it is there once.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use zayavka::{domain::notice::NoticeKind, store::cards};

use super::{figure, put, rows};
use crate::{
    databases::{Database, on_both},
    world::{ANNA, Options, STAFF, World},
};

const MINUTE: Duration = Duration::from_secs(60);
const CARD: &str = "test:card";

/// A card that stands in a client's chat; its message.
async fn shown(db: Database, text: &str) -> (World, i64) {
    let mut world = World::new(db).await;
    world.type_text(ANNA, "/help").await;
    show(&world, text).await;
    world.settle().await;
    assert_eq!(world.last_text(ANNA).await, text);
    let message = world.messages(ANNA).await.last().map(|message| message.id);
    let message = message.unwrap_or_else(|| panic!("no message"));
    (world, message)
}

async fn show(world: &World, text: &str) {
    put(world, ANNA, Some(CARD), NoticeKind::Dialog, vec![text.to_owned()]).await;
}

/// Shows a text, holds its edit at Telegram, does something meanwhile and lets it go.
async fn edit_and_meanwhile(world: &World, text: &str, meanwhile: impl Future<Output = ()>) {
    let before = world.calls("telegram", "editMessageText").await.len();
    world.fault(json!({ "on": "editMessageText", "do": "hold" })).await;
    show(world, text).await;
    let outbox = Arc::clone(&world.app().outbox);
    let under_way = async {
        let began = async |world: &World| world.calls("telegram", "editMessageText").await.len() > before;
        world.until("the edit", began).await;
        meanwhile.await;
        world.post("/telegram/release", json!({})).await;
    };
    let (ticked, ()) = tokio::join!(outbox.tick(), under_way);
    ticked.unwrap_or_else(|error| panic!("{error}"));
}

async fn delete(world: &World, message: i64) {
    let path = format!("/bot{}/deleteMessage", world.token());
    let (status, answer) =
        world.call(reqwest::Method::POST, &path, json!({ "chat_id": ANNA, "message_id": message })).await;
    assert_eq!(status, 200, "{answer}");
}

/// What the chat shows, from the card on.
async fn from_the_card(world: &World, message: i64) -> Vec<String> {
    let all = world.messages(ANNA).await.into_iter();
    all.filter(|known| known.by_bot && known.id >= message).map(|known| known.text).collect()
}

on_both! {
    async fn the_earlier_words_are_sent_again_after_an_edit_whose_answer_was_lost(db: Database) {
        let (mut world, message) = shown(db, "на проверке").await;
        world.fault(json!({ "on": "editMessageText", "do": "lose_answer" })).await;
        show(&world, "проверяем").await;
        world.settle().await;
        assert_eq!(from_the_card(&world, message).await, ["проверяем"], "it landed, and nobody knows");
        show(&world, "на проверке").await;
        world.pass(10 * MINUTE).await;
        assert_eq!(from_the_card(&world, message).await, ["на проверке"]);
        world.finish().await;
    }

    async fn the_earlier_words_are_sent_again_after_a_death_in_an_edit(db: Database) {
        let (mut world, message) = shown(db, "на проверке").await;
        world.kill_at("telegram.answered", 1);
        show(&world, "проверяем").await;
        world.settle().await;
        assert!(!world.is_alive());
        world.start().await;
        show(&world, "на проверке").await;
        world.pass(10 * MINUTE).await;
        assert_eq!(from_the_card(&world, message).await, ["на проверке"]);
        world.finish().await;
    }

    async fn a_case_whose_card_was_lost_comes_before_staff_whatever_the_policy(db: Database) {
        let options = Options::blind().set("notices.staff_card", "review");
        let mut world = World::with(db, options).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        // The client's card is the first message, the case's the second.
        world.fault(json!({ "on": "sendMessage", "from": 2, "do": "lose_request" })).await;
        world.submit(ANNA).await;
        world.pass(10 * MINUTE).await;
        assert_eq!(world.state(ANNA).await, "review");
        let cases = world.said(STAFF).await.into_iter().filter(|text| text.starts_with("Случай")).count();
        assert_eq!(cases, 1, "{:?}", world.said(STAFF).await);
        world.finish().await;
    }

    async fn a_status_card_is_worth_a_third_message(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "sendMessage", "do": "lose_request", "times": 2 })).await;
        world.submit(ANNA).await;
        world.pass(30 * MINUTE).await;
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"), "{}", world.last_text(ANNA).await);
        world.finish().await;
    }

    async fn a_later_state_makes_no_more_messages_than_the_first_was_allowed(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.fault(json!({ "on": "sendMessage", "do": "lose_answer", "times": 3 })).await;
        world.submit(ANNA).await;
        world.pass(30 * MINUTE).await;
        assert_eq!(world.state(ANNA).await, "created");
        let cards: Vec<_> = rows(&world, ANNA).await.into_iter().filter(|row| row.kind == "card").collect();
        let calls: i64 = cards.iter().map(|row| figure(row, "attempts")).sum();
        assert!(cards.len() > 1, "the state changed while nobody knew whether the first card had arrived");
        assert_eq!(calls, 3, "the first and two repeats, whatever state they showed: {cards:?}");
        world.finish().await;
    }

    async fn what_is_shown_already_is_not_sent_again(db: Database) {
        let (mut world, _) = shown(db, "раз").await;
        for text in ["два", "два"] {
            show(&world, text).await;
            world.settle().await;
        }
        let edits = world.calls("telegram", "editMessageText").await;
        assert_eq!(edits.len(), 1, "{edits:?}");
        world.finish().await;
    }

    async fn an_edit_of_a_deleted_card_is_not_shown_once_a_newer_one_waits(db: Database) {
        let (mut world, message) = shown(db, "страница 1").await;
        edit_and_meanwhile(&world, "страница 2", async {
            delete(&world, message).await;
            show(&world, "страница 3").await;
        })
        .await;
        world.pass(10 * MINUTE).await;
        assert_eq!(from_the_card(&world, message).await, ["страница 3"], "{:?}", rows(&world, ANNA).await);
        world.finish().await;
    }

    async fn a_card_shown_anew_while_its_edit_is_under_way_is_a_new_message(db: Database) {
        let (mut world, message) = shown(db, "раз").await;
        edit_and_meanwhile(&world, "два", async {
            let anew = world.app().store.write(move |tx| async move { cards::forget(tx.as_ref(), CARD).await });
            anew.await.unwrap_or_else(|error| panic!("{error}"));
            show(&world, "два").await;
        })
        .await;
        world.settle().await;
        assert_eq!(from_the_card(&world, message).await, ["два", "два"], "the old one, and one at the end of the chat");
        show(&world, "три").await;
        world.settle().await;
        assert_eq!(from_the_card(&world, message).await, ["два", "три"]);
        world.finish().await;
    }
}
