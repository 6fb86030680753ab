//! Decisions: link, look again, create after all, reject; each once, each bound to what was seen.

use serde_json::json;

use super::{MINUTE, absent, absent_with, lose};
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, Options, REVIEWER, STAFF, World},
};

/// A ticket made by hand in the CRM.
async fn ticket(world: &World, key: &str, marker: &str) -> String {
    let body =
        json!({ "external_id": key, "marker": marker, "subject": "Руками", "body": "", "contact": {}, "fields": {} });
    let http = reqwest::Client::builder().no_proxy().build().unwrap_or_else(|error| panic!("{error}"));
    let made = http.post(format!("{}/tickets", world.crm_url())).bearer_auth("sandbox-secret").json(&body).send().await;
    let made: serde_json::Value = match made {
        Ok(made) => made.json().await.unwrap_or_else(|error| panic!("{error}")),
        Err(error) => panic!("{error}"),
    };
    made["number"].as_str().map(str::to_owned).unwrap_or_else(|| panic!("{made}"))
}

async fn key(world: &World, user: i64) -> String {
    world.operations(user).await.first().map(|stored| stored.operation.key.to_string()).unwrap_or_default()
}

on_both! {
    async fn a_number_is_linked_as_people_paste_it(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        let number = ticket(&world, &key(&world, ANNA).await, &marker).await;
        let pasted = format!("/link {} <{}/tickets/{number}?tab=1>", marker.to_lowercase(), world.crm_url());
        let said = world.staff_as(REVIEWER, &pasted).await;
        assert_eq!(said, format!("{marker}: проверяем в CRM номер {number}."));
        assert_eq!(world.state(ANNA).await, "created");
        assert!(world.last_text(ANNA).await.contains(&format!("№ {number} создана")));
        let again = world.staff_as(REVIEWER, &format!("/link {marker} №{number}")).await;
        assert!(again.contains("уже сделано вами"), "{again}");
        let late = world.staff_as(OWNER, &format!("/reject {marker} поздно")).await;
        assert!(late.contains("уже решено. Пётр (сотрудник): указан номер"), "{late}");
        assert!(late.contains(&format!("создана, № {number}")), "{late}");
        world.finish().await;
    }

    async fn a_number_that_is_not_there_or_not_ours_comes_back(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        world.staff(&format!("/link {marker} 4711")).await;
        let card = world.desk_text(world.desk_message("Случай").await).await;
        assert!(card.contains("Номера 4711 в CRM нет."), "{card}");
        let foreign = ticket(&world, "somebody-elses", "Z-0000-0000").await;
        world.staff(&format!("/link {marker} {foreign}")).await;
        let card = world.desk_text(world.desk_message("Случай").await).await;
        assert!(card.contains(&format!("Номер {foreign} в CRM есть, но это другая заявка.")), "{card}");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn a_crm_that_cannot_show_one_ticket_is_asked_by_our_key(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        // As a CRM by the letter of the contract: it has no such route, and its framework says so in words of its own.
        for number in ["1001", "4711"] {
            let page = json!({ "on": format!("GET /tickets/{number}"), "do": "error_before", "status": 404, "times": 0,
                "body": { "message": format!("Cannot GET /tickets/{number}"), "statusCode": 404 } });
            world.fault(page).await;
        }
        world.staff(&format!("/link {marker} 4711")).await;
        let card = world.desk_text(world.desk_message("Случай").await).await;
        assert!(!card.contains("Номера 4711 в CRM нет."), "404 proves nothing here: {card}");
        assert_eq!(world.state(ANNA).await, "review");
        assert_eq!(ticket(&world, &key(&world, ANNA).await, &marker).await, "1001");
        world.staff_as(REVIEWER, &format!("/link {marker} 1001")).await;
        assert_eq!(world.state(ANNA).await, "created");
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"));
        world.finish().await;
    }

    async fn a_number_of_another_request_is_refused_with_both_codes(db: Database) {
        let mut world = World::new(db).await;
        world.apply(BORIS).await;
        lose(&mut world, ANNA).await;
        let (anna, boris) = (world.marker(ANNA).await, world.marker(BORIS).await);
        let said = world.staff(&format!("/link {anna} 1001")).await;
        assert!(said.contains(&boris) && said.contains(&anna) && said.contains("уже принадлежит"), "{said}");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn an_owner_links_unchecked_where_the_crm_cannot_be_asked(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        let marker = world.marker(ANNA).await;
        let hint = world.staff(&format!("/link {marker} 1001")).await;
        assert!(hint.contains("без проверки"), "{hint}");
        assert!(world.staff_as(REVIEWER, &format!("/link {marker} 1001 unverified")).await.contains("недоступно"));
        assert_eq!(world.state(ANNA).await, "review");
        let said = world.staff(&format!("/link {marker} 1001 без проверки")).await;
        assert!(said.contains("без проверки в CRM"), "{said}");
        assert_eq!(world.state(ANNA).await, "created");
        world.finish().await;
    }

    async fn a_number_the_crm_can_show_is_never_linked_unchecked(db: Database) {
        let mut world = absent(db).await;
        let said = world.staff(&format!("/link {} 1001 unverified", world.marker(ANNA).await)).await;
        assert!(said.contains("без проверки его не связываем"), "{said}");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn looking_again_finds_what_came_late(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        ticket(&world, &key(&world, ANNA).await, &marker).await;
        assert!(world.desk_tap(REVIEWER, "Поискать ещё раз").await.contains("ищем в CRM"));
        assert_eq!(world.state(ANNA).await, "created");
        assert!(world.desk_text(world.desk_message("Случай").await).await.contains("решён: создана, № 1001"));
        world.finish().await;
    }

    async fn creating_after_all_takes_a_reason_and_a_second_tap_of_the_same_person(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Создать всё же").await;
        let question = world.desk_message("Пётр").await;
        assert!(world.desk_text(question).await.contains("станет две заявки"));
        assert_eq!(world.desk_tap_on(OWNER, question, "В CRM её нет, проверено вручную").await, "Это начал другой сотрудник.");
        world.desk_tap_on(REVIEWER, question, "В CRM её нет, проверено вручную").await;
        assert!(world.desk_text(question).await.contains("Причина: В CRM её нет"));
        assert_eq!(world.count().await, 0);
        assert_eq!(world.desk_tap_on(OWNER, question, "Да, создать").await, "Это начал другой сотрудник.");
        assert!(world.desk_tap_on(REVIEWER, question, "Да, создать").await.contains("отправляем под тем же ключом"));
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        assert_eq!(world.tickets().await[0]["external_id"], key(&world, ANNA).await.as_str());
        let why = world.staff(&format!("/why {}", world.marker(ANNA).await)).await;
        assert!(why.contains("велено создать всё же · Пётр (сотрудник) · В CRM её нет"), "{why}");
        world.finish().await;
    }

    async fn a_command_to_create_only_asks(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        assert!(world.staff_as(REVIEWER, &format!("/create {marker}")).await.contains("Нужна причина"));
        let asked = world.staff_as(REVIEWER, &format!("/create {marker} звонили, её нет")).await;
        assert!(asked.contains("точно создать") && asked.contains("звонили, её нет"), "{asked}");
        assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0));
        world.desk_tap(REVIEWER, "Отмена").await;
        assert!(world.desk_text(world.desk_message("Пётр").await).await.contains("оставили как было"));
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn questions_about_several_cases_stand_side_by_side(db: Database) {
        let mut world = absent(db).await;
        lose(&mut world, BORIS).await;
        let (anna, boris) = (world.marker(ANNA).await, world.marker(BORIS).await);
        // Telegram takes nothing for a while: both questions wait, and neither takes the other's place.
        world.fault(json!({ "on": "sendMessage", "do": "lose_answer" })).await;
        world.staff_as(REVIEWER, &format!("/create {anna} её нет")).await;
        world.staff_as(REVIEWER, &format!("/create {boris} её нет")).await;
        world.pass(MINUTE).await;
        for marker in [&boris, &anna] {
            let question = world.desk_message(&format!("Пётр (сотрудник), точно создать {marker}?")).await;
            let said = world.desk_tap_on(REVIEWER, question, "Да, создать").await;
            assert!(said.contains("отправляем под тем же ключом"), "{said}");
        }
        assert_eq!((world.state(ANNA).await, world.state(BORIS).await, world.count().await), ("created", "created", 2));
        world.finish().await;
    }

    async fn a_reply_answers_the_question_it_is_under(db: Database) {
        let mut world = absent(db).await;
        lose(&mut world, BORIS).await;
        let (anna, boris) = (world.marker(ANNA).await, world.marker(BORIS).await);
        for marker in [&anna, &boris] {
            let card = world.desk_message(&format!("Случай {marker}")).await;
            world.desk_tap_on(REVIEWER, card, "Отклонить").await;
        }
        let of = |marker: &str| format!("Пётр (сотрудник), почему отклоняем {marker}");
        let (first, second) = (world.desk_message(&of(&anna)).await, world.desk_message(&of(&boris)).await);
        world.desk_reply(REVIEWER, first, "не наш район").await;
        assert_eq!((world.state(ANNA).await, world.state(BORIS).await), ("rejected", "review"));
        world.desk_reply(REVIEWER, second, "дубль").await;
        assert_eq!(world.state(BORIS).await, "rejected");
        world.finish().await;
    }

    async fn a_second_person_consents_and_nobody_to_themselves(db: Database) {
        let mut world = absent_with(db, Options::searchable().set("staff.second_person", "true")).await;
        let card = world.desk_message("Случай").await;
        world.desk_tap(REVIEWER, "Создать всё же").await;
        world.desk_tap(REVIEWER, "Заявитель просит не ждать").await;
        assert!(world.desk_tap(REVIEWER, "Да, создать").await.contains("согласие ещё одного"));
        assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0));
        assert!(world.desk_text(card).await.contains("Пётр (сотрудник) просит согласия создать всё же: Заявитель просит"));
        assert!(world.desk_tap(REVIEWER, "Согласен, создать").await.contains("согласие даёт другой"));
        assert!(world.desk_tap(OWNER, "Согласен, создать").await.contains("отправляем"));
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        let why = world.staff(&format!("/why {}", world.marker(ANNA).await)).await;
        assert!(why.contains("просит согласия создать всё же · Пётр") && why.contains("велено создать всё же · Ольга"), "{why}");
        world.finish().await;
    }

    async fn a_second_person_with_a_reason_of_their_own_consents(db: Database) {
        let mut world = absent_with(db, Options::searchable().set("staff.second_person", "true")).await;
        let marker = world.marker(ANNA).await;
        let mut roster = (*world.app().roster.now()).clone();
        roster.reviewers.push(zayavka::ids::UserId(9004));
        world.app().roster.reload(roster);
        // Whoever has taken it asks; the other need not be its taker to agree.
        world.staff_as(REVIEWER, &format!("/take {marker}")).await;
        assert!(world.create_after_all(REVIEWER, &marker, "звонили, её нет").await.contains("согласие ещё одного"));
        assert!(world.create_after_all(REVIEWER, &marker, "ещё одна причина").await.contains("уже сделано вами"));
        assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0));
        let done = world.create_after_all(9004, &marker, "проверено в CRM").await;
        assert!(done.contains("отправляем под тем же ключом"), "{done}");
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        let why = world.staff(&format!("/why {marker}")).await;
        assert!(why.contains("звонили, её нет; проверено в CRM"), "{why}");
        world.finish().await;
    }

    async fn nobody_is_asked_for_a_number_that_will_not_be_taken(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        let before = world.said(STAFF).await.len();
        let said = world.desk_tap(REVIEWER, "Указать номер").await;
        assert_eq!(said, "CRM об этом номере спросить нельзя. Связать без проверки может только владелец.");
        assert_eq!(world.said(STAFF).await.len(), before);
        assert_eq!(world.desk_tap(OWNER, "Указать номер").await, "Сделано.");
        world.finish().await;
    }

    async fn a_late_twin_raises_a_case_with_both_numbers(db: Database) {
        let mut world = absent(db).await;
        world.may_have_twins();
        let marker = world.marker(ANNA).await;
        world.staff_as(REVIEWER, &format!("/create {marker} её нет")).await;
        world.desk_tap(REVIEWER, "Да, создать").await;
        assert_eq!(world.state(ANNA).await, "created");
        let late = ticket(&world, &key(&world, ANNA).await, &marker).await;
        world.pass(4 * 60 * MINUTE).await;
        let card = world.desk_message(&format!("Случай {marker}: двойник")).await;
        let text = world.desk_text(card).await;
        assert!(text.contains("1001") && text.contains(&late), "{text}");
        assert!(world.staff(&format!("/find {late}")).await.contains(&marker), "its number names the request");
        assert!(world.staff("/queue reason:twin").await.contains(&marker));
        assert!(world.desk_tap_on(OWNER, card, "Разобрались").await.ends_with("закрыто, с двойником разобрались."));
        assert!(world.desk_text(card).await.contains("с двойником разобрались (Ольга (сотрудник))"));
        assert!(world.staff(&format!("/why {marker}")).await.contains("с двойником разобрались · Ольга"));
        assert!(world.desk_tap_on(OWNER, card, "Разобрались").await.contains("уже сделано вами"));
        assert_eq!(world.staff("/queue").await, "Очередь пуста.");
        world.finish().await;
    }

    async fn a_rejection_reaches_the_person_with_its_reason(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Отклонить").await;
        let question = world.desk_message("Пётр").await;
        // Others talk meanwhile: only a reply is an answer.
        assert_eq!(world.staff_as(REVIEWER, "сейчас посмотрю").await, "");
        assert_eq!(world.state(ANNA).await, "review");
        assert_eq!(world.desk_reply(OWNER, question, "не моё дело").await, "");
        let done = world.desk_reply(REVIEWER, question, "Такой услуги у нас нет").await;
        assert!(done.contains("отклонена"), "{done}");
        assert_eq!(world.state(ANNA).await, "rejected");
        assert!(world.transcript(ANNA).await.contains("Причина: Такой услуги у нас нет"));
        world.finish().await;
    }

    async fn of_two_at_once_one_wins_and_the_other_hears_who(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        let data = world.messages(STAFF).await.iter().find(|message| message.id == card).map(|m| m.data("Поискать ещё раз"));
        let data = data.unwrap_or_default();
        let tap = |button: &str| json!({ "message_id": card, "button": button, "chat": STAFF });
        let first = world.press_as(REVIEWER, tap(&data)).await;
        let second = world.press_as(OWNER, tap(&data)).await;
        let third = world.press_as(REVIEWER, tap(&data)).await;
        world.settle().await;
        assert!(world.toast(&first).await.contains("ищем в CRM"));
        let lost = world.toast(&second).await;
        assert!(lost.contains("Пётр (сотрудник): велено искать ещё раз") || lost.contains("изменилась"), "{lost}");
        let repeated = world.toast(&third).await;
        assert!(repeated.contains("уже сделано вами") || repeated.contains("изменилась"), "{repeated}");
        world.pass(5 * MINUTE).await;
        let why = world.staff(&format!("/why {}", world.marker(ANNA).await)).await;
        assert_eq!(why.matches("велено искать ещё раз").count(), 1, "{why}");
        world.finish().await;
    }

    async fn an_old_card_decides_nothing(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        let old = world.messages(STAFF).await.iter().find(|message| message.id == card).map(|m| m.data("Поискать ещё раз"));
        let old = old.unwrap_or_default();
        world.desk_tap(REVIEWER, "Взять").await;
        world.desk_tap(REVIEWER, "Вернуть").await;
        let said = world.tap_as(REVIEWER, json!({ "message_id": card, "button": old, "chat": STAFF, "raw": true })).await;
        assert!(said.contains("карточка с тех пор изменилась") && said.contains("/show Z-"), "{said}");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn a_conversation_forgets_itself(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Отклонить").await;
        let question = world.desk_message("Пётр").await;
        world.pass(11 * MINUTE).await;
        assert_eq!(world.desk_reply(REVIEWER, question, "поздно").await, "");
        let said = world.desk_tap_on(REVIEWER, question, "Не хватает данных").await;
        assert!(said.contains("ответа уже не ждёт"), "{said}");
        assert_eq!(world.state(ANNA).await, "review");
        world.desk_tap(REVIEWER, "Отклонить").await;
        let given_up = world.staff_as(REVIEWER, "/cancel").await;
        assert!(given_up.contains("оставили как было"), "{given_up}");
        world.finish().await;
    }
}
