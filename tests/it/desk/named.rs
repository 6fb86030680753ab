//! How staff name what they mean: by an older copy of its card, by a name as people write it, by a second ticket's number,
//! and what tells two of one code apart.

use sea_orm::{ColumnTrait as _, EntityTrait as _, QueryFilter as _, sea_query::Expr};
use zayavka::store::entity::operations;

use super::{absent, lose};
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, REVIEWER, STAFF, World},
};

on_both! {
    async fn a_command_may_answer_an_older_copy_of_a_card(db: Database) {
        let mut world = absent(db).await;
        let old = world.desk_message("Случай").await;
        world.staff(&format!("/show {}", world.marker(ANNA).await)).await;
        assert_ne!(world.desk_message("Случай").await, old);
        assert!(world.desk_reply(REVIEWER, old, "/take").await.contains("взято до"));
        let linked = world.desk_reply(REVIEWER, old, "/link 4711").await;
        assert!(linked.contains("проверяем в CRM номер 4711"), "{linked}");
        // A text with the code and without buttons names it too.
        let why = world.staff(&format!("/why {}", world.marker(ANNA).await)).await;
        let why = world.desk_message(why.lines().next().unwrap_or_default()).await;
        assert!(world.desk_reply(REVIEWER, why, "/hand_back").await.contains("снова в очереди"));
        world.finish().await;
    }

    async fn what_a_person_quotes_names_nothing(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        world.staff_as(OWNER, &format!("посмотрите {marker}")).await;
        let quoted = world.messages(STAFF).await.into_iter().rev().find(|message| !message.by_bot);
        let quoted = quoted.map(|message| message.id).unwrap_or_default();
        assert!(world.desk_reply(REVIEWER, quoted, "/take").await.starts_with("Взять случай"));
        world.finish().await;
    }

    async fn in_private_a_card_is_shown_where_it_was_asked_for(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        world.type_text(REVIEWER, &format!("/show {marker}")).await;
        let shown = world.last_text(REVIEWER).await;
        assert!(shown.starts_with(&format!("Случай {marker}")) && shown.contains("Анна"), "{shown}");
        // Its buttons are the card's.
        assert!(world.tap(REVIEWER, "Взять").await.contains("взято до"));
        let here = world.staff(&format!("/show {marker}")).await;
        assert_eq!(here.matches(&format!("Случай {marker}")).count(), 1, "{here}");
        world.finish().await;
    }

    async fn a_name_is_found_however_it_is_written(db: Database) {
        let mut world = World::new(db).await;
        for (user, name) in [(ANNA, "Анна-Мария Петрова"), (BORIS, "ИВАН СЁМИН")] {
            world.type_text(user, "/start").await;
            world.fill_in_from_the_name(user, name).await;
            world.submit(user).await;
        }
        let (anna, ivan) = (world.marker(ANNA).await, world.marker(BORIS).await);
        for (typed, found) in [
            ("анна-мария петрова", &anna),
            ("ПЕТРОВА анна", &anna),
            ("мария", &anna),
            ("иван", &ivan),
            ("Иван Семин", &ivan),
            ("сёмин", &ivan),
            ("вАн", &ivan),
        ] {
            let said = world.staff(&format!("/find {typed}")).await;
            assert!(said.contains(found.as_str()) && said.lines().count() == 1, "{typed}: {said}");
        }
        for typed in ["иван петрова", "--", "анна_"] {
            let said = world.staff(&format!("/find {typed}")).await;
            assert!(!said.contains(&anna) && !said.contains(&ivan), "{typed}: {said}");
        }
        // Erased with the rest of what is known of them.
        world.type_text(ANNA, "/forget").await;
        assert!(world.staff("/find анна").await.contains("ничего нет"));
        world.finish().await;
    }

    async fn two_of_one_code_are_told_apart_by_what_can_be_typed(db: Database) {
        let mut world = absent(db).await;
        world.apply(BORIS).await;
        let marker = world.marker(ANNA).await;
        let boris = world.operations(BORIS).await.remove(0).operation.id;
        let shared = marker.clone();
        let write = world.app().store.write(move |tx| {
            let shared = shared.clone();
            async move {
                operations::Entity::update_many()
                    .col_expr(operations::Column::Marker, Expr::value(shared))
                    .filter(operations::Column::Id.eq(boris.0))
                    .exec(tx.as_ref())
                    .await?;
                Ok(())
            }
        });
        write.await.unwrap_or_else(|error| panic!("{error}"));
        let said = world.staff(&format!("/why {marker}")).await;
        assert!(said.contains("несколько заявок: 2") && said.contains("#1 · ") && said.contains(&boris.to_string()), "{said}");
        assert!(world.staff("/why #1").await.contains("ответа нет"));
        let why = world.staff(&format!("/why {boris}")).await;
        assert!(why.contains("CRM назвала номер"), "{why}");
        assert!(world.staff(&format!("/why {}", uuid::Uuid::nil())).await.starts_with("Нужен код"));
        world.finish().await;
    }

    async fn a_settled_card_says_who_decided(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        let marker = world.marker(ANNA).await;
        world.staff_as(REVIEWER, &format!("/reject {marker} нет такой услуги")).await;
        assert_eq!(world.desk_text(card).await, format!("Случай {marker} решён: не принята\nПётр (сотрудник): отклонено"));
        lose(&mut world, BORIS).await;
        world.finish().await;
    }
}
