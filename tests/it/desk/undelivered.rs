//! Messages nobody received and updates nobody could handle: cases of the same queue, with their own buttons.

use sea_orm::{ConnectionTrait as _, Database as Connection};
use serde_json::json;

use super::{MINUTE, absent};
use crate::{
    databases::on_both,
    world::{ANNA, OWNER, Options, REVIEWER, STAFF, World},
};

/// Number told by a message whose fate nobody knows, as its policy wants.
pub(super) async fn unconfirmed(db: crate::databases::Database) -> World {
    let options = Options::searchable().set("notices.created", "review").set("notices.tell_after", "0s");
    let mut world = World::with(db, options).await;
    world.fill_in(ANNA).await;
    // The first message after the tap is the card, the second tells the number.
    world.fault(json!({ "on": "sendMessage", "from": 2, "do": "lose_request" })).await;
    world.submit(ANNA).await;
    world.pass(5 * MINUTE).await;
    assert_eq!(world.state(ANNA).await, "created");
    world
}

/// A client who stopped the bot before the outcome came.
pub(super) async fn blocked(db: crate::databases::Database) -> World {
    let mut world = absent(db).await;
    world.act(ANNA, "block", json!({})).await;
    world.settle().await;
    world.staff(&format!("/reject {} услуги нет", world.marker(ANNA).await)).await;
    world.pass(MINUTE).await;
    world
}

/// A draft that no release of ours wrote: whatever its person says cannot be handled.
pub(super) async fn poisoned(db: crate::databases::Database) -> World {
    let mut world = World::new(db).await;
    poison(&mut world).await;
    world
}

/// The same in a world that stands.
pub(super) async fn poison(world: &mut World) {
    world.type_text(ANNA, "/start").await;
    let database = Connection::connect(&world.database.url).await.unwrap_or_else(|error| panic!("{error}"));
    let broken = database.execute_unprepared("UPDATE drafts SET answers = '{broken'").await;
    broken.unwrap_or_else(|error| panic!("{error}"));
    world.type_text(ANNA, "Анна").await;
    world.pass(MINUTE).await;
}

/// The card of a message that Telegram refused, about no request of anybody's.
const REFUSED: &str = "Случай #1: сообщение не доставлено
Не доставлено: сообщение анкеты — Telegram не принял такое сообщение (400 Bad Request: message is too long)

Кому: Анна Смирнова
Ждёт с 30.11 12:29 (0 с)";

on_both! {
    async fn what_may_not_have_arrived_is_sent_again_by_a_human(db: Database) {
        let mut world = unconfirmed(db).await;
        let marker = world.marker(ANNA).await;
        assert!(world.staff("/queue reason:undelivered").await.contains(&marker));
        assert!(world.desk_tap(REVIEWER, "Отправить ещё раз").await.contains("отправляем сообщение ещё раз"));
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"));
        assert_eq!(world.staff("/queue").await, "Очередь пуста.");
        world.finish().await;
    }

    async fn what_may_not_have_arrived_is_let_go_by_a_human(db: Database) {
        let mut world = unconfirmed(db).await;
        let marker = world.marker(ANNA).await;
        let before = world.said(ANNA).await.len();
        assert!(world.staff_as(REVIEWER, &format!("/let_go {marker}")).await.contains("закрыто"));
        world.pass(10 * MINUTE).await;
        assert_eq!(world.said(ANNA).await.len(), before);
        assert!(world.staff_as(REVIEWER, &format!("/let_go {marker}")).await.contains("уже сделано вами"));
        assert!(world.staff_as(OWNER, &format!("/resend {marker}")).await.contains("оставлено как есть"));
        world.finish().await;
    }

    async fn whoever_blocked_the_bot_is_a_case_until_they_come_back(db: Database) {
        let mut world = blocked(db).await;
        let marker = world.marker(ANNA).await;
        let queue = world.staff("/queue").await;
        assert_eq!(queue.matches(&marker).count(), 1, "one case, however many messages: {queue}");
        assert!(queue.contains("Не доставлено"), "{queue}");
        world.act(ANNA, "unblock", json!({})).await;
        world.type_text(ANNA, "/status").await;
        assert_eq!(world.staff("/queue").await, "Очередь пуста.");
        let card = world.desk_text(world.desk_message(&format!("Случай {marker} закрыт")).await).await;
        assert!(card.contains("разрешился сам"), "{card}");
        world.finish().await;
    }

    async fn nothing_is_sent_again_to_a_person_who_cannot_be_reached(db: Database) {
        let mut world = blocked(db).await;
        let (marker, calls) = (world.marker(ANNA).await, world.calls("telegram", "sendMessage").await.len());
        let toast = world.desk_tap(REVIEWER, "Отправить ещё раз").await;
        assert!(toast.contains("когда он напишет первым"), "{toast}");
        let typed = world.staff_as(OWNER, &format!("/resend {marker}")).await;
        assert!(typed.contains("Случай остаётся в очереди"), "{typed}");
        let cards = world.said(STAFF).await.into_iter().filter(|text| text.contains("сообщение не доставлено")).count();
        assert_eq!(cards, 1, "the case stands as it stood");
        let queue = world.staff("/queue").await;
        assert_eq!(queue.matches(&marker).count(), 1, "{queue}");
        assert_eq!(world.calls("telegram", "sendMessage").await.len(), calls + 2, "nobody was called but staff");
        world.act(ANNA, "unblock", json!({})).await;
        world.type_text(ANNA, "/status").await;
        assert_eq!(world.staff("/queue").await, "Очередь пуста.");
        world.finish().await;
    }

    async fn a_message_about_no_request_is_a_case_of_its_own_words(db: Database) {
        let mut world = World::new(db).await;
        let body = json!({ "ok": false, "error_code": 400, "description": "Bad Request: message is too long" });
        world.fault(json!({ "on": "sendMessage", "do": "error_before", "status": 400, "body": body })).await;
        world.type_text(ANNA, "/start").await;
        let card = world.desk_text(world.desk_message("Случай").await).await;
        assert_eq!(card, REFUSED);
        assert!(world.desk_tap(REVIEWER, "Отправить ещё раз").await.contains("отправляем сообщение ещё раз"));
        assert!(world.last_text(ANNA).await.contains("Как к вам обращаться?"));
        assert_eq!(world.staff("/queue").await, "Очередь пуста.");
        world.finish().await;
    }

    async fn an_update_from_the_shelf_is_replayed_once_it_can_be(db: Database) {
        let mut world = poisoned(db).await;
        assert!(world.staff("/shelf").await.contains("drafts"));
        assert!(world.staff("/queue reason:shelved").await.contains("не удалось обработать трижды"));
        let database = Connection::connect(&world.database.url).await.unwrap_or_else(|error| panic!("{error}"));
        let mended = database.execute_unprepared("UPDATE drafts SET answers = '{}'").await;
        mended.unwrap_or_else(|error| panic!("{error}"));
        assert!(world.desk_tap(REVIEWER, "Разобрать ещё раз").await.contains("разбираем обновление ещё раз"));
        world.pass(MINUTE).await;
        assert!(world.last_text(ANNA).await.contains("Телефон"));
        assert_eq!((world.staff("/shelf").await, world.staff("/queue").await), ("Полка пуста.".into(), "Очередь пуста.".into()));
        world.finish().await;
    }

    async fn an_update_from_the_shelf_is_let_go(db: Database) {
        let mut world = poisoned(db).await;
        assert!(world.desk_tap(REVIEWER, "Оставить так").await.contains("закрыто"));
        assert_eq!((world.staff("/shelf").await, world.staff("/queue").await), ("Полка пуста.".into(), "Очередь пуста.".into()));
        world.finish().await;
    }

    async fn an_update_that_fails_again_is_a_case_again(db: Database) {
        let mut world = poisoned(db).await;
        world.desk_tap(REVIEWER, "Разобрать ещё раз").await;
        world.pass(MINUTE).await;
        assert!(world.staff("/queue").await.contains("Ждут решения: 1"));
        world.finish().await;
    }
}
