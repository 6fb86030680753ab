//! Linking a ticket in which the CRM shows no key of ours: it may have been made by hand, so a second word is needed.

use serde_json::json;

use super::absent;
use crate::{
    databases::on_both,
    world::{ANNA, OWNER, REVIEWER, STAFF, World},
};

/// A ticket that a person entered in the CRM: the place of our key is empty.
async fn by_hand(world: &World) -> String {
    let http = reqwest::Client::builder().no_proxy().build().unwrap_or_else(|error| panic!("{error}"));
    let body = json!({ "external_id": null, "subject": "Звонок", "body": "", "contact": {}, "fields": {} });
    let made = http.post(format!("{}/tickets", world.crm_url())).bearer_auth("sandbox-secret").json(&body).send().await;
    let made: serde_json::Value = match made {
        Ok(made) => made.json().await.unwrap_or_else(|error| panic!("{error}")),
        Err(error) => panic!("{error}"),
    };
    made["number"].as_str().map(str::to_owned).unwrap_or_else(|| panic!("{made}"))
}

async fn card(world: &World) -> String {
    world.desk_text(world.desk_message("Случай").await).await
}

on_both! {
    async fn a_ticket_without_a_key_is_linked_only_by_a_second_word_of_the_same_person(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        let number = by_hand(&world).await;
        // Nobody says it of a number that the CRM has not shown them.
        world.staff_as(REVIEWER, &format!("/link {marker} {number} без ключа")).await;
        assert_eq!(world.state(ANNA).await, "review");
        let shown = card(&world).await;
        assert!(shown.contains(&format!("Карточка № {number} стоит в CRM без нашего ключа")), "{shown}");
        // The same command again proves no more than before.
        world.staff_as(REVIEWER, &format!("/link {marker} {number}")).await;
        assert_eq!(world.state(ANNA).await, "review");
        assert!(world.staff("/queue reason:keyless").await.contains(&marker));
        let said = world.desk_tap(REVIEWER, "Это она").await;
        assert!(said.contains("нашего ключа"), "{said}");
        assert_eq!(world.state(ANNA).await, "created");
        assert!(world.last_text(ANNA).await.contains(&format!("№ {number} создана")));
        let why = world.staff(&format!("/why {marker}")).await;
        assert!(why.contains("номер в CRM есть, но без нашего ключа"), "{why}");
        assert!(why.contains("связать, хотя в ней нет нашего ключа · Пётр"), "{why}");
        world.finish().await;
    }

    async fn an_owner_answers_for_a_ticket_without_a_key(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        let number = by_hand(&world).await;
        world.staff_as(REVIEWER, &format!("/link {marker} {number}")).await;
        let said = world.staff_as(OWNER, &format!("/link {marker} {number} без проверки")).await;
        assert!(said.contains("без проверки в CRM"), "{said}");
        assert_eq!(world.state(ANNA).await, "created");
        world.finish().await;
    }

    async fn what_somebody_else_named_is_shown_to_whoever_confirms_it_first(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        let number = by_hand(&world).await;
        let mut roster = (*world.app().roster.now()).clone();
        roster.reviewers.push(zayavka::ids::UserId(9004));
        world.app().roster.reload(roster);
        world.staff_as(REVIEWER, &format!("/link {marker} {number}")).await;
        let card = world.desk_message("Случай").await;
        world.desk_tap_on(9004, card, "Это она, хоть и без ключа").await;
        assert_eq!(world.state(ANNA).await, "review", "they had not named it");
        world.desk_tap(9004, "Это она").await;
        assert_eq!(world.state(ANNA).await, "created");
        world.finish().await;
    }

    async fn a_number_given_in_a_conversation_may_say_so_too(db: Database) {
        let mut world = absent(db).await;
        let number = by_hand(&world).await;
        for typed in [number.clone(), format!("№ {number} без ключа")] {
            assert_eq!(world.state(ANNA).await, "review");
            world.desk_tap(REVIEWER, "Указать номер").await;
            let question = world.desk_message("Пётр").await;
            world.desk_reply(REVIEWER, question, &typed).await;
        }
        assert_eq!(world.state(ANNA).await, "created");
        assert!(!world.said(STAFF).await.is_empty());
        world.finish().await;
    }
}
