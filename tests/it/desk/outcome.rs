//! The client hears the outcome: in the same status card, and in one message.

use serde_json::json;

use crate::{
    databases::on_both,
    world::{ANNA, OWNER, Options, World},
};

/// A request in front of staff within the second of its tap.
async fn at_once(db: crate::databases::Database) -> (World, String, usize) {
    let mut world = World::with(db, Options::blind()).await;
    world.fill_in(ANNA).await;
    world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
    world.submit(ANNA).await;
    assert!(world.last_text(ANNA).await.contains("на проверке у сотрудника"));
    let (marker, said) = (world.marker(ANNA).await, world.said(ANNA).await.len());
    (world, marker, said)
}

on_both! {
    async fn a_link_at_once_is_told_in_a_message_too(db: Database) {
        let (mut world, marker, before) = at_once(db).await;
        world.staff_as(OWNER, &format!("/link {marker} 1001 без проверки")).await;
        let said = world.said(ANNA).await;
        assert!(said[before - 1].contains("№ 1001 создана"), "the card: {said:?}");
        assert_eq!(said.len(), before + 1, "{said:?}");
        assert!(said[before].contains("№ 1001 создана"), "the message: {said:?}");
        world.finish().await;
    }

    async fn a_rejection_at_once_is_told_in_a_message_too(db: Database) {
        let (mut world, marker, before) = at_once(db).await;
        world.staff_as(OWNER, &format!("/reject {marker} такой услуги нет")).await;
        let said = world.said(ANNA).await;
        assert_eq!(said.len(), before + 1, "{said:?}");
        assert!(said[before].contains("Заявку не приняли: такой услуги нет"), "{said:?}");
        world.finish().await;
    }

    async fn what_was_created_after_all_at_once_is_told_in_a_message_too(db: Database) {
        let (mut world, marker, before) = at_once(db).await;
        world.may_have_twins();
        world.create_after_all(OWNER, &marker, "её нет").await;
        assert_eq!(world.state(ANNA).await, "created");
        let said = world.said(ANNA).await;
        assert_eq!(said.len(), before + 1, "{said:?}");
        assert!(said[before].contains("№ 1002 создана"), "{said:?}");
        world.finish().await;
    }

    async fn what_no_human_saw_is_told_in_the_card_alone(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let before = world.said(ANNA).await.len();
        world.submit(ANNA).await;
        assert_eq!(world.state(ANNA).await, "created");
        let said = world.said(ANNA).await;
        assert_eq!(said.iter().filter(|text| text.contains("№ 1001")).count(), 1, "{said:?}");
        assert!(said.len() <= before + 1, "{said:?}");
        world.finish().await;
    }
}
