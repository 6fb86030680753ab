//! One case of each kind, as staff read it.

use insta::{allow_duplicates, assert_snapshot};
use serde_json::json;

use super::{
    MINUTE, absent,
    undelivered::{blocked, poisoned, unconfirmed},
};
use crate::{
    databases::on_both,
    world::{ANNA, Options, REVIEWER, World},
};

on_both! {
    async fn not_in_the_crm_and_rejected(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Взять").await;
        world.desk_tap(REVIEWER, "Отклонить").await;
        world.desk_tap(REVIEWER, "Не хватает данных").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @""); }
        world.finish().await;
    }

    async fn a_blind_crm_and_a_number_nobody_can_check(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        world.desk_tap(crate::world::OWNER, "Указать номер").await;
        let question = world.desk_message("Ольга").await;
        world.desk_reply(crate::world::OWNER, question, "№ 1001").await;
        world.desk_tap(crate::world::OWNER, "Связать без проверки").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @""); }
        world.finish().await;
    }

    async fn created_after_all_and_a_late_twin(db: Database) {
        let mut world = absent(db).await;
        world.may_have_twins();
        world.desk_tap(REVIEWER, "Создать всё же").await;
        world.desk_tap(REVIEWER, "В CRM её нет").await;
        world.desk_tap(REVIEWER, "Да, создать").await;
        let stored = world.operations(ANNA).await.remove(0);
        let body = json!({ "external_id": stored.operation.key, "marker": stored.marker, "subject": "Дошла поздно",
            "body": "", "contact": {}, "fields": {} });
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_else(|error| panic!("{error}"));
        let url = format!("{}/tickets", world.crm_url());
        let made = http.post(url).bearer_auth("sandbox-secret").json(&body).send().await;
        made.unwrap_or_else(|error| panic!("{error}"));
        world.pass(4 * 60 * MINUTE).await;
        world.desk_tap(REVIEWER, "Разобрались").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @""); }
        world.finish().await;
    }

    async fn a_message_whose_fate_nobody_knows(db: Database) {
        let mut world = unconfirmed(db).await;
        world.desk_tap(REVIEWER, "Отправить ещё раз").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @""); }
        world.finish().await;
    }

    async fn a_person_who_cannot_be_reached(db: Database) {
        let mut world = blocked(db).await;
        world.desk_tap(REVIEWER, "Оставить так").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @""); }
        world.finish().await;
    }

    async fn an_update_on_the_shelf(db: Database) {
        let mut world = poisoned(db).await;
        world.desk_tap(REVIEWER, "Оставить так").await;
        let told = world.desk_transcript().await;
        // The draft's own id is in the error.
        let told: Vec<_> = told.split_whitespace().map(|word| if word.len() == 36 { "<draft>" } else { word }).collect();
        allow_duplicates! { assert_snapshot!(told.join(" "), @""); }
        world.finish().await;
    }
}
