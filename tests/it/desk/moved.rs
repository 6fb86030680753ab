//! The staff's group that became a supergroup: its open cases go on there.

use serde_json::{Value, json};

use super::{absent, lose, moved_to};
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, REVIEWER, STAFF, World},
};

/// Where it goes on.
const NEW: i64 = -1_002_000_000_002;

/// What was said, or tried to be said, in the new group.
async fn told(world: &World) -> Vec<String> {
    let calls = world.calls("telegram", "sendMessage").await;
    let there = calls.iter().filter(|call| call["params"]["chat_id"].to_string().contains(&NEW.to_string()));
    there.map(|call| call["params"]["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A tap on a message from before: Telegram brings it under the old number.
fn old_tap(card: i64, data: &str) -> Value {
    json!({ "callback_query": {
        "id": "77001", "chat_instance": "1", "data": data,
        "from": { "id": REVIEWER, "is_bot": false, "first_name": "Пётр" },
        "message": { "message_id": card, "date": 1, "chat": { "id": STAFF, "type": "group", "title": "Сотрудники" } },
    } })
}

on_both! {
    async fn open_cases_are_shown_anew_and_settled_ones_are_not(db: Database) {
        let mut world = absent(db).await;
        lose(&mut world, BORIS).await;
        let (anna, boris) = (world.marker(ANNA).await, world.marker(BORIS).await);
        world.staff_as(OWNER, &format!("/reject {boris} нет такой услуги")).await;
        world.raw(moved_to(NEW)).await;
        let shown = told(&world).await;
        let cards: Vec<_> = shown.iter().filter(|text| text.starts_with("Случай")).collect();
        assert!(cards.len() == 1 && cards[0].contains(&anna), "{shown:?}");
        // The same news from the new group changes nothing more.
        let again = json!({ "message": {
            "message_id": 1, "date": 1, "chat": { "id": NEW, "type": "supergroup" }, "migrate_from_chat_id": STAFF,
        } });
        world.raw(again).await;
        assert_eq!(told(&world).await.iter().filter(|text| text.starts_with("Случай")).count(), 1);
        world.may_stay_unfinished();
        world.finish().await;
    }

    async fn a_card_from_before_is_still_a_card(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        let all = world.messages(STAFF).await;
        let take = all.iter().find(|message| message.id == card).map(|message| message.data("Взять")).unwrap_or_default();
        world.raw(moved_to(NEW)).await;
        world.raw(old_tap(card, &take)).await;
        let answers = world.calls("telegram", "answerCallbackQuery").await;
        let last = answers.last().map(|call| call["params"].to_string()).unwrap_or_default();
        assert!(last.contains("взято до"), "{last}");
        let why = zayavka::store::journal::of_operation(
            world.app().store.reader(),
            world.operations(ANNA).await[0].operation.id,
        );
        let history = why.await.unwrap_or_else(|error| panic!("{error}"));
        assert!(history.iter().any(|line| line.entry.event == "taken" && line.entry.by == Some(REVIEWER)));
        // Another group's number opens nothing.
        let mut foreign = old_tap(card, &take);
        foreign["callback_query"]["message"]["chat"]["id"] = json!(-55);
        foreign["callback_query"]["id"] = json!("77002");
        world.raw(foreign).await;
        let answers = world.calls("telegram", "answerCallbackQuery").await;
        let last = answers.last().map(|call| call["params"].to_string()).unwrap_or_default();
        assert!(last.contains("недоступно"), "{last}");
        world.may_stay_unfinished();
        world.finish().await;
    }
}
