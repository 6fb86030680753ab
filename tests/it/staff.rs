//! People who decide: the queue, a card a case, decisions checked in the CRM, and who may not.

use std::time::Duration;

use serde_json::json;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, Options, REVIEWER, STAFF, SUBMIT, VIEWER, World},
};

const DAY: Duration = Duration::from_secs(86_400);

/// A case in review: the answer to Anna's request was lost; whether the ticket was made says `made`.
async fn case(db: crate::databases::Database, options: Options, made: bool) -> (World, String) {
    let mut world = World::with(db, options).await;
    world.fill_in(ANNA).await;
    let deed = if made { "lose_answer" } else { "lose_request" };
    world.fault(json!({ "on": "POST /tickets", "do": deed })).await;
    // The index shows nothing while it is looked at.
    world.post("/crm/options", json!({ "index_lag_ms": 3_600_000 })).await;
    world.submit(ANNA).await;
    world.pass(Duration::from_secs(1_200)).await;
    assert_eq!(world.state(ANNA).await, "review");
    let marker = world.marker(ANNA).await;
    (world, marker)
}

/// The newest card of a case.
async fn card(world: &World) -> String {
    let said = world.said(STAFF).await;
    said.into_iter().rev().find(|text| text.starts_with("Случай")).unwrap_or_else(|| panic!("no card"))
}

on_both! {
    async fn a_case_is_shown_with_what_is_known_and_stands_in_the_queue(db: Database) {
        let (mut world, marker) = case(db, Options::searchable(), true).await;
        let shown = card(&world).await;
        for part in [marker.as_str(), "Консультация", "Анна", "заявка в ней не нашлась", "Консультация: Анна"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let queue = world.staff("/queue").await;
        assert!(queue.starts_with("Ждут решения: 1") && queue.contains(&marker), "{queue}");
        let why = world.staff(&format!("/why {}", marker.to_lowercase().replace('-', ""))).await;
        for event in ["нажатие, заявка сохранена", "отправляем в CRM", "ответа нет", "искали в CRM, не нашли ×"] {
            assert!(why.contains(event), "{event}: {why}");
        }
        world.finish().await;
    }

    async fn a_number_is_taken_however_it_is_pasted(db: Database) {
        let (mut world, marker) = case(db, Options::searchable(), true).await;
        let url = world.crm_url();
        for (pasted, number) in [("#7001", "7001"), ("№ 7001", "7001"), ("№7001", "7001"), ("«7001»", "7001")] {
            let said = world.staff(&format!("/link {marker} {pasted}")).await;
            assert!(said.contains(&format!("проверяем в CRM номер {number}.")), "{pasted}: {said}");
            assert_eq!(world.state(ANNA).await, "review");
        }
        let said = world.staff(&format!("/link {marker} <{url}/tickets/1001?tab=1#top>")).await;
        assert!(said.contains(&format!("{marker}: проверяем в CRM номер 1001.")), "{said}");
        assert_eq!(world.state(ANNA).await, "created");
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"));
        assert!(card(&world).await.contains(&format!("Случай {marker} решён: создана, № 1001")));
        assert_eq!(world.staff("/queue").await, "Очередь пуста.");
        world.finish().await;
    }

    async fn a_number_that_is_not_there_or_not_ours_opens_the_case_again(db: Database) {
        let (mut world, marker) = case(db, Options::searchable(), true).await;
        world.apply(BORIS).await;
        world.staff(&format!("/link {marker} 7777")).await;
        assert_eq!(world.state(ANNA).await, "review");
        assert!(card(&world).await.contains("Номера 7777 в CRM нет."), "{}", card(&world).await);
        let boris = world.marker(BORIS).await;
        let said = world.staff(&format!("/link {marker} 1002")).await;
        assert!(said.starts_with(&format!("Номер 1002 уже принадлежит заявке {boris}.")) && said.contains(&marker), "{said}");
        // A ticket that somebody made by hand: it is there, and it is not this one.
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_else(|error| panic!("{error}"));
        let foreign = json!({ "external_id": "by-hand", "subject": "Звонок" });
        let made = http.post(format!("{}/tickets", world.crm_url())).bearer_auth("sandbox-secret").json(&foreign).send().await;
        assert_eq!(made.map(|answer| answer.status().as_u16()).unwrap_or_default(), 201);
        world.staff(&format!("/link {marker} 1003")).await;
        assert!(card(&world).await.contains("Номер 1003 в CRM есть, но это другая заявка."), "{}", card(&world).await);
        assert!(world.last_text(ANNA).await.contains("на проверке у сотрудника"));
        world.staff(&format!("/link {marker} 1001")).await;
        assert_eq!(world.state(ANNA).await, "created");
        world.finish().await;
    }

    async fn looking_again_finds_what_the_index_shows_by_now(db: Database) {
        let (mut world, marker) = case(db, Options::searchable(), true).await;
        world.pass(Duration::from_secs(3_600)).await;
        let button = world.message_with(STAFF, "Поискать ещё раз").await;
        let tap = json!({ "chat": STAFF, "message_id": button, "button": "Поискать ещё раз" });
        assert_eq!(world.tap_as(REVIEWER, tap.clone()).await, format!("{marker}: ищем в CRM."));
        assert_eq!(world.state(ANNA).await, "created");
        let late = world.tap_as(OWNER, tap).await;
        assert!(late.contains("уже решено. Пётр (сотрудник): велено искать ещё раз. Сейчас: создана, № 1001"), "{late}");
        world.finish().await;
    }

    async fn created_after_all_it_is_watched_and_a_late_twin_is_reported(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "late" })).await;
        world.submit(ANNA).await;
        world.pass(DAY).await;
        let marker = world.marker(ANNA).await;
        assert_eq!(world.staff(&format!("/create {marker}")).await, "Нужна причина, хотя бы слово.");
        assert_eq!(world.count().await, 0);
        world.create_after_all(OWNER, &marker, "в CRM её нет").await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.post("/crm/release", json!({})).await;
        world.until("the twin", async |world| world.count().await == 2).await;
        world.pass(DAY).await;
        let told = world.said(STAFF).await;
        assert_eq!(told.iter().filter(|text| text.starts_with(&format!("Случай {marker}: двойник"))).count(), 1, "{told:?}");
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"));
        world.may_have_twins();
        world.finish().await;
    }

    async fn rejected_by_staff_the_person_hears_why_and_may_send_again(db: Database) {
        let (mut world, marker) = case(db, Options::searchable(), false).await;
        let said = world.staff(&format!("/reject {marker} просим позвонить нам")).await;
        assert_eq!(said, format!("{marker}: отклонена, заявитель узнает причину."));
        let told = world.said(ANNA).await.join("\n");
        assert!(told.contains("Сотрудник отклонил заявку") && told.contains("просим позвонить нам"), "{told}");
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Назад").await;
        assert_eq!(world.submit(ANNA).await, "Принято, отправляем заявку.");
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }

    async fn a_second_decision_loses_and_is_told_so(db: Database) {
        let (mut world, marker) = case(db, Options::searchable(), false).await;
        for (user, command) in [(OWNER, format!("/reject {marker} раз")), (REVIEWER, format!("/create {marker} два"))] {
            world.act(user, "text", json!({ "chat": STAFF, "text": command })).await;
        }
        world.settle().await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("rejected", 0));
        let told = world.last_text(STAFF).await;
        assert!(told.contains("уже решено. Ольга (сотрудник): отклонено. Сейчас: не принята"), "{told}");
        world.finish().await;
    }

    async fn whoever_may_only_look_decides_nothing(db: Database) {
        let (mut world, marker) = case(db, Options::searchable(), true).await;
        assert!(world.staff_as(VIEWER, "/queue").await.contains(&marker));
        for command in ["/link {} 1001", "/look {}", "/create {} так надо", "/reject {} так надо", "/pause", "/resume", "/replay 1"] {
            let said = world.staff_as(VIEWER, &command.replace("{}", &marker)).await;
            assert_eq!(said, "Это действие вам недоступно.", "{command}");
        }
        let button = world.message_with(STAFF, "Поискать ещё раз").await;
        let tap = json!({ "chat": STAFF, "message_id": button, "button": "Поискать ещё раз" });
        assert_eq!(world.tap_as(VIEWER, tap).await, "Это действие вам недоступно.");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn strangers_get_silence_wherever_they_ask(db: Database) {
        let (mut world, marker) = case(db, Options::searchable(), true).await;
        let said = world.transcript(BORIS).await;
        for command in ["/queue", "/link {} 1001", "/look {}", "/create {} я", "/reject {} я", "/show {}", "/why {}", "/pause", "/shelf", "/replay 1"] {
            let command = command.replace("{}", &marker);
            assert_eq!(world.staff_as(BORIS, &command).await, "", "{command}");
            world.type_text(BORIS, &command).await;
        }
        let heard = world.said(BORIS).await;
        assert!(heard.is_empty(), "{said} {heard:?}");
        let button = world.message_with(STAFF, "Поискать ещё раз").await;
        let tap = json!({ "chat": STAFF, "message_id": button, "button": "Поискать ещё раз" });
        assert_eq!(world.tap_as(BORIS, tap).await, "Это действие вам недоступно.");
        // An administrator who writes as the group itself is nobody, whoever they may be.
        world.act(OWNER, "text", json!({ "chat": STAFF, "text": format!("/reject {marker} я"), "sender_chat": STAFF })).await;
        world.settle().await;
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn codes_nobody_knows_and_commands_without_their_half_are_explained(db: Database) {
        let (mut world, marker) = case(db, Options::searchable(), true).await;
        for unknown in ["Z-0000-0000", "Z-1", "заявка", "' OR 1=1"] {
            let said = world.staff(&format!("/why {unknown}")).await;
            assert!(said.starts_with("Заявки с кодом") && said.contains("нет"), "{unknown}: {said}");
        }
        for (command, usage) in [("/link", "/link КОД НОМЕР"), ("/look", "/look КОД"), ("/create", "/create КОД"), ("/reject", "/reject КОД")] {
            let said = world.staff(command).await;
            assert!(said.contains(usage), "{command}: {said}");
        }
        assert!(world.staff(&format!("/link {marker}")).await.contains("/link КОД НОМЕР"));
        assert!(world.staff(&format!("/link {marker} №")).await.contains("/link КОД НОМЕР"));
        assert_eq!(world.staff(&format!("/reject {marker} \u{200b}\u{2060}")).await, "Нужна причина, хотя бы слово.");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn without_a_check_only_an_owner_may_link(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        let marker = world.marker(ANNA).await;
        assert_eq!(world.state(ANNA).await, "review");
        assert_eq!(world.staff(&format!("/look {marker}")).await, "В этой CRM искать нельзя. Посмотрите в ней сами и укажите номер: /link");
        let said = world.staff_as(REVIEWER, &format!("/link {marker} 1001")).await;
        assert!(said.starts_with("CRM о номере спросить нельзя. Владелец может связать без проверки"), "{said}");
        let said = world.staff_as(REVIEWER, &format!("/link {marker} 1001 без проверки")).await;
        assert_eq!(said, "Это действие вам недоступно.");
        world.staff_as(OWNER, &format!("/link {marker} 1001 без проверки")).await;
        assert_eq!(world.state(ANNA).await, "created");
        assert_eq!(world.submit(ANNA).await, "Заявка № 1001 уже создана.");
        let summary = world.message_with(ANNA, SUBMIT).await;
        assert_eq!(world.tap_on(ANNA, summary, SUBMIT).await, "Заявка № 1001 уже создана.");
        world.finish().await;
    }

    async fn paused_sending_loses_nothing(db: Database) {
        let mut world = World::new(db).await;
        assert!(world.staff_as(REVIEWER, "/pause").await.starts_with("Отправка в CRM остановлена"));
        world.apply(ANNA).await;
        world.pass(Duration::from_secs(1_800)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("pending", 0));
        world.restart().await;
        world.pass(Duration::from_secs(600)).await;
        assert_eq!(world.count().await, 0, "a pause by staff outlives a start");
        world.staff("/resume").await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }
}
