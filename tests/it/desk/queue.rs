//! Looking: the queue with its pages and filters, finding, the history, the day in figures.

use serde_json::json;

use super::{MINUTE, absent, lose};
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, Options, REVIEWER, STAFF, World},
};

on_both! {
    async fn a_long_queue_has_pages_oldest_first(db: Database) {
        let options = Options::blind().places(50).set("limits.submissions_per_client_per_hour", "50");
        let mut world = World::with(db, options).await;
        let mut markers = Vec::new();
        for round in 0..12 {
            let user = if round % 2 == 0 { ANNA } else { BORIS };
            world.type_text(user, "/new").await;
            world.fill_in_from_the_name(user, "Анна").await;
            world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
            world.submit(user).await;
            // After several of these the CRM seems down, and the next one waits until it is tried again.
            world.pass(5 * super::MINUTE).await;
            assert_eq!(world.state(user).await, "review");
            markers.push(world.marker(user).await);
        }
        let first = world.staff("/queue").await;
        assert!(first.starts_with("Ждут решения: 12") && first.contains("и ещё 2"), "{first}");
        let places: Vec<_> = markers[..10].iter().map(|marker| first.find(marker.as_str())).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{first}");
        assert!(!first.contains(&markers[10]));
        let message = world.message_with(STAFF, "Дальше").await;
        world.desk_tap(OWNER, "Дальше").await;
        let second = world.desk_text(message).await;
        assert!(second.contains(&markers[11]) && !second.contains(&markers[0]), "{second}");
        assert!(world.staff("/queue 2").await.contains(&markers[10]));
        assert!(world.staff("/queue 99").await.contains(&markers[11]));
        world.finish().await;
    }

    async fn a_queue_is_filtered_by_reason_form_and_hand(db: Database) {
        let mut world = absent(db).await;
        lose(&mut world, BORIS).await;
        let (anna, boris) = (world.marker(ANNA).await, world.marker(BORIS).await);
        world.staff_as(REVIEWER, &format!("/take {boris}")).await;
        let mine = world.staff_as(REVIEWER, "/queue mine").await;
        assert!(mine.contains(&boris) && !mine.contains(&anna) && mine.contains("у Пётр (сотрудник)"), "{mine}");
        assert!(world.staff_as(OWNER, "/queue mine").await.contains("По этому отбору пусто"));
        let his = world.staff(&format!("/queue owner:{REVIEWER}")).await;
        assert!(his.contains(&boris) && !his.contains(&anna), "{his}");
        let free = world.staff("/queue owner:none").await;
        assert!(free.contains(&anna) && !free.contains(&boris), "{free}");
        assert!(world.staff(&format!("/queue owner:{OWNER}")).await.contains("По этому отбору пусто"));
        assert!(world.staff("/queue reason:absent form:consultation").await.contains("Ждут решения: 2"));
        assert!(world.staff("/queue reason:blind").await.contains("По этому отбору пусто"));
        assert!(world.staff("/queue form:other").await.contains("По этому отбору пусто"));
        world.finish().await;
    }

    async fn a_request_is_found_by_what_people_remember(db: Database) {
        let mut world = World::new(db).await;
        world.apply(ANNA).await;
        let marker = world.marker(ANNA).await;
        for wanted in ["1001", "#1001", &marker.to_lowercase(), "0101", "+7 900 000-01-01", "8 900 000 01 01", "анна", "АННА", "нна"] {
            let found = world.staff(&format!("/find {wanted}")).await;
            assert!(found.contains(&marker), "{wanted}: {found}");
            assert!(!found.contains("9000000101"), "the whole number is nobody's business: {found}");
        }
        for wanted in ["4711", "%", "Зинаида", "_нна"] {
            assert!(world.staff(&format!("/find {wanted}")).await.contains("ничего нет"), "{wanted}");
        }
        world.finish().await;
    }

    async fn a_search_says_that_there_is_more_than_it_shows(db: Database) {
        let mut world = World::with(db, Options::keyed().places(50)).await;
        for user in 301..312 {
            world.apply(user).await;
            let more = world.staff("/find Борис").await.contains("есть ещё");
            assert_eq!(more, user == 311, "{user}");
        }
        assert_eq!(world.staff("/find Борис").await.lines().count(), 11);
        world.finish().await;
    }

    async fn the_day_in_figures(db: Database) {
        let mut world = World::new(db).await;
        world.apply(BORIS).await;
        let summary = world.message_with(BORIS, "Отправить заявку").await;
        world.tap_on(BORIS, summary, "Отправить заявку").await;
        world.tap_on(BORIS, summary, "Отправить заявку").await;
        lose(&mut world, ANNA).await;
        let marker = world.marker(ANNA).await;
        world.staff_as(REVIEWER, &format!("/create {marker} её нет")).await;
        world.desk_tap(REVIEWER, "Да, создать").await;
        world.pass(MINUTE).await;
        let stats = world.staff("/stats").await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(stats, @r"
            Сегодня с 30.11 00:00

            Нажатий «Отправить»: 2
            Заявок создано: 2
            Повторных нажатий: 2
            Ответ терялся: 1
              нашли в CRM: 0
              CRM ответила позже: 0
              решил сотрудник: 1
              без заявки: 0
              ещё открыты: 0
            От нажатия до номера: обычно 0 с, дольше всего 5 мин
            В очереди: 0, самый старый случай: —
            ");
        }
        world.finish().await;
    }

    async fn why_tells_the_whole_story(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Взять").await;
        world.desk_tap(REVIEWER, "Отклонить").await;
        world.desk_tap(REVIEWER, "Повторяет другую заявку").await;
        let why = world.staff(&format!("/why {}", world.marker(ANNA).await)).await;
        let why = why.replace(&world.marker(ANNA).await, "Z-XXXX-XXXX");
        insta::allow_duplicates! {
            insta::assert_snapshot!(why, @r"
            Z-XXXX-XXXX: не принята
            30.11 12:29:22 нажатие, заявка сохранена
            12:29:22 отправляем в CRM
            12:29:22 ответа нет
            12:29:22 искали в CRM, не нашли ×9
            12:34:22 взято в работу · Пётр (сотрудник)
            12:34:22 отклонено · Пётр (сотрудник) · Повторяет другую заявку
            ");
        }
        world.finish().await;
    }
}
