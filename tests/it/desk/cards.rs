//! The card of a case: in place, anew when it is gone, and whoever works on it.

use serde_json::json;

use super::{MINUTE, absent, absent_with, lose};
use crate::{
    databases::on_both,
    world::{ANNA, OWNER, Options, REVIEWER, STAFF, World},
};

/// The emulator's own token.
const TOKEN: &str = "1000000001:SANDBOX-token-that-opens-nothing-00";

on_both! {
    async fn a_card_is_edited_in_place_and_made_anew_when_it_is_deleted(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        assert!(world.desk_tap(REVIEWER, "Взять").await.contains("взято до"));
        assert!(world.desk_text(card).await.contains("В работе: Пётр (сотрудник), до 30.11"));
        let gone = json!({ "chat_id": STAFF, "message_id": card });
        world.call(reqwest::Method::POST, &format!("/bot{TOKEN}/deleteMessage"), gone).await;
        assert!(world.desk_tap_on(REVIEWER, card, "Вернуть").await.contains("снова в очереди"));
        let fresh = world.desk_message("Случай").await;
        assert_ne!(fresh, card);
        assert!(!world.desk_text(fresh).await.contains("В работе"));
        world.finish().await;
    }

    async fn a_take_keeps_others_off_and_ends_by_itself(db: Database) {
        let mut world = absent_with(db, Options::searchable().set("staff.take_for", "10m")).await;
        let marker = world.marker(ANNA).await;
        assert!(world.staff_as(REVIEWER, &format!("/take {marker}")).await.contains("взято до"));
        assert!(world.staff_as(REVIEWER, &format!("/take {marker}")).await.contains("уже сделано вами"));
        world.app().roster.reload(zayavka::domain::role::Roster {
            reviewers: vec![zayavka::ids::UserId(REVIEWER), zayavka::ids::UserId(9004)],
            ..(*world.app().roster.now()).clone()
        });
        let held = world.staff_as(9004, &format!("/look {marker}")).await;
        assert!(held.contains("в работе у Пётр (сотрудник)"), "{held}");
        world.pass(11 * MINUTE).await;
        assert!(!world.desk_text(world.desk_message("Случай").await).await.contains("В работе"));
        let why = world.staff(&format!("/why {marker}")).await;
        assert!(why.contains("взято в работу · Пётр") && why.contains("время вышло, снова в очереди"), "{why}");
        assert!(world.staff_as(9004, &format!("/look {marker}")).await.contains("ищем в CRM"));
        world.pass(5 * MINUTE).await;
        world.finish().await;
    }

    async fn an_owner_may_step_in(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Взять").await;
        let rejected = world.staff_as(OWNER, &format!("/reject {} не по адресу", world.marker(ANNA).await)).await;
        assert!(rejected.contains("отклонена"), "{rejected}");
        assert_eq!(world.state(ANNA).await, "rejected");
        world.finish().await;
    }

    async fn only_the_holder_hands_back(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        assert!(world.staff_as(REVIEWER, &format!("/hand_back {marker}")).await.contains("у вас его нет"));
        world.staff_as(REVIEWER, &format!("/take {marker}")).await;
        assert!(world.staff_as(OWNER, &format!("/hand_back {marker}")).await.contains("снова в очереди"));
        world.finish().await;
    }

    async fn a_card_is_shown_again_at_the_end_of_the_chat(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        let shown = world.staff(&format!("/show {}", world.marker(ANNA).await)).await;
        assert!(shown.starts_with("Случай"), "{shown}");
        assert_ne!(world.desk_message("Случай").await, card);
        world.finish().await;
    }

    async fn commands_follow_the_group_that_became_a_supergroup(db: Database) {
        let mut world = World::new(db).await;
        let to = -1_002_000_000_002_i64;
        let update = json!({ "message": {
            "message_id": 9_999, "date": 1, "chat": { "id": STAFF, "type": "group" }, "migrate_to_chat_id": to,
            "from": { "id": OWNER, "is_bot": false, "first_name": "Ольга" },
        } });
        world.raw(update).await;
        // Commands are heard in the new group, and no longer in the old one.
        let heard = json!({ "message": {
            "message_id": 5, "date": 1, "chat": { "id": to, "type": "supergroup" }, "text": "/queue",
            "from": { "id": OWNER, "is_bot": false, "first_name": "Ольга" },
        } });
        world.fault(json!({ "on": "sendMessage", "do": "lose_request" })).await;
        world.raw(heard).await;
        let calls = world.calls("telegram", "sendMessage").await;
        let said = calls.iter().map(|call| call["params"].to_string());
        assert!(said.into_iter().any(|said| said.contains(&to.to_string()) && said.contains("Очередь пуста")), "{calls:?}");
        assert_eq!(world.staff("/queue").await, "");
        world.may_stay_unfinished();
        world.finish().await;
    }

    async fn a_topic_is_answered_in_the_topic(db: Database) {
        let mut world = World::with(db, Options::searchable()).await;
        world.act(OWNER, "text", json!({ "text": "/queue", "chat": STAFF, "thread": 12 })).await;
        world.settle().await;
        let calls = world.calls("telegram", "sendMessage").await;
        let last = calls.last().map(|call| call["params"].clone()).unwrap_or_default();
        assert_eq!(last["message_thread_id"].to_string().trim_matches('"'), "12", "{last}");
        world.finish().await;
    }

    async fn the_staff_chat_may_be_a_private_one(db: Database) {
        let options = Options::searchable().set("staff.chat", &OWNER.to_string());
        let mut world = World::with(db, options).await;
        world.type_text(OWNER, "/queue").await;
        lose(&mut world, ANNA).await;
        let toast = world.tap(OWNER, "Указать номер").await;
        assert_eq!(toast, "Сделано.");
        world.type_text(OWNER, "это не номер").await;
        assert!(world.last_text(OWNER).await.contains("не похоже на номер"));
        world.type_text(OWNER, "#4711").await;
        assert!(world.last_text(OWNER).await.contains("проверяем в CRM номер 4711"));
        world.pass(MINUTE).await;
        let card = world.transcript(OWNER).await;
        assert!(card.contains("Номера 4711 в CRM нет."), "{card}");
        world.finish().await;
    }
}
