//! Questions asked anew: which message of them counts, and what it counts for.

use serde_json::json;

use super::absent;
use crate::{
    databases::on_both,
    world::{ANNA, OWNER, Options, REVIEWER, STAFF, World},
};

/// Where an older message of a question points to.
const BELOW: &str = "Этот вопрос ответа уже не ждёт: смотрите сообщение ниже.";

impl World {
    /// A message of the staff chat: what it says now, and how many rows of buttons it has.
    async fn shown(&self, message: i64) -> (String, usize) {
        let all = self.messages(STAFF).await;
        let found = all.into_iter().find(|known| known.id == message);
        found.map(|known| (known.text, known.rows.len())).unwrap_or_default()
    }

    /// The data behind a button of a message, as it is now.
    async fn data_of(&self, message: i64, label: &str) -> String {
        let all = self.messages(STAFF).await;
        let found = all.iter().find(|known| known.id == message).map(|known| known.data(label));
        found.unwrap_or_else(|| panic!("no message {message}"))
    }

    /// A tap that was on its way when the message changed.
    async fn late_tap(&mut self, user: i64, message: i64, data: &str) -> String {
        self.tap_as(user, json!({ "message_id": message, "button": data, "chat": STAFF, "raw": true })).await
    }
}

on_both! {
    async fn a_tap_agrees_to_the_reason_it_was_shown_with(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        world.staff_as(REVIEWER, &format!("/create {marker} звонил")).await;
        let first = world.desk_message("Пётр (сотрудник), точно создать").await;
        let data = world.data_of(first, "Да, создать").await;
        world.staff_as(REVIEWER, &format!("/create {marker} ещё")).await;
        let second = world.desk_message("Пётр (сотрудник), точно создать").await;
        assert_ne!(first, second);
        assert_eq!(world.shown(first).await, (BELOW.to_owned(), 0), "it points to the newer one, without buttons");
        // Whether the bot knows where the tapped message is or has never learnt it.
        for message in [first, 4_000_000] {
            assert_eq!(world.late_tap(REVIEWER, message, &data).await, BELOW);
            assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0));
        }
        world.desk_tap_on(REVIEWER, second, "Да, создать").await;
        let told = world.staff(&format!("/why {marker}")).await;
        assert!(told.contains("ещё") && !told.contains("звонил"), "{told}");
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn a_reason_to_create_rejects_nothing(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Создать всё же").await;
        let create = world.desk_message("Пётр (сотрудник), создать").await;
        let data = world.data_of(create, "В CRM её нет").await;
        world.desk_tap(REVIEWER, "Отклонить").await;
        for message in [create, 4_000_000] {
            assert_eq!(world.late_tap(REVIEWER, message, &data).await, BELOW);
            assert_eq!(world.state(ANNA).await, "review");
        }
        world.finish().await;
    }

    async fn a_number_is_linked_unchecked_only_as_it_was_read(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        let mut asked = Vec::new();
        for number in ["1002", "1001"] {
            world.desk_tap(OWNER, "Указать номер").await;
            let question = world.desk_message("Ольга (сотрудник), какой номер").await;
            world.desk_reply(OWNER, question, number).await;
            let sure = world.desk_message("Ольга (сотрудник), CRM о номере").await;
            asked.push((sure, world.data_of(sure, "Связать без проверки").await));
        }
        let (first, data) = asked.swap_remove(0);
        assert_eq!(world.late_tap(OWNER, first, &data).await, BELOW);
        assert_eq!(world.state(ANNA).await, "review");
        world.desk_tap(OWNER, "Связать без проверки").await;
        let said = world.staff("/find 1001").await;
        assert!(said.contains(&world.marker(ANNA).await), "{said}");
        assert_eq!(world.state(ANNA).await, "created");
        world.finish().await;
    }

    async fn a_word_is_no_number_and_thousands_may_stand_apart(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Указать номер").await;
        let question = world.desk_message("Пётр (сотрудник), какой номер").await;
        let said = world.desk_reply(REVIEWER, question, "привет").await;
        assert!(said.starts_with("Пётр (сотрудник), это не похоже на номер"), "{said}");
        let question = world.desk_message("Пётр (сотрудник), это не похоже").await;
        let said = world.desk_reply(REVIEWER, question, "№ 9 998").await;
        assert!(said.contains("проверяем в CRM номер 9998"), "{said}");
        world.finish().await;
    }

    async fn an_answer_to_an_older_question_is_told_where_to_look(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Указать номер").await;
        let first = world.desk_message("Пётр (сотрудник), какой номер").await;
        let again = world.desk_reply(REVIEWER, first, "нет номера").await;
        assert!(again.contains("это не похоже на номер"), "{again}");
        let second = world.desk_message("Пётр (сотрудник), это не похоже").await;
        assert_eq!(world.desk_reply(REVIEWER, first, "9998").await, BELOW);
        assert_eq!(world.state(ANNA).await, "review");
        let said = world.desk_reply(REVIEWER, second, "9998").await;
        assert!(said.contains("проверяем в CRM номер 9998"), "{said}");
        assert_eq!(world.desk_reply(REVIEWER, first, "9999").await, "Этот вопрос ответа уже не ждёт. Начните с карточки ещё раз.");
        world.finish().await;
    }

    async fn an_older_question_that_was_deleted_makes_no_message(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        world.staff_as(REVIEWER, &format!("/create {marker} звонил")).await;
        let first = world.desk_message("Пётр (сотрудник), точно создать").await;
        let gone = json!({ "chat_id": STAFF, "message_id": first });
        let path = format!("/bot{}/deleteMessage", world.token());
        assert_eq!(world.call(reqwest::Method::POST, &path, gone).await.0, 200);
        world.staff_as(REVIEWER, &format!("/create {marker} ещё")).await;
        let all = world.messages(STAFF).await;
        assert!(!all.iter().any(|message| message.text == BELOW), "{all:#?}");
        world.finish().await;
    }
}
