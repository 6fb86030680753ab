//! Who may, and who is nobody; commands as people mistype them.

use serde_json::{Value, json};
use zayavka::domain::role::Role;

use super::{MINUTE, absent, lose};
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, REVIEWER, STAFF, VIEWER, World},
};

fn written(from: &Value, text: &str) -> Value {
    json!({ "message": { "message_id": 77_001, "date": 1, "from": from, "text": text,
        "chat": { "id": STAFF, "type": "supergroup", "title": "Сотрудники" } } })
}

/// What the bot says in the staff chat to an update made by hand.
async fn said_to(world: &mut World, update: Value) -> String {
    let before = world.said(STAFF).await.len();
    world.raw(update).await;
    world.said(STAFF).await.split_off(before).join("\n")
}

on_both! {
    async fn a_viewer_looks_and_decides_nothing(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        assert!(world.staff_as(VIEWER, "/queue").await.contains(&marker));
        assert!(world.staff_as(VIEWER, &format!("/why {marker}")).await.contains("ответа нет"));
        assert!(world.staff_as(VIEWER, "/stats").await.contains("Нажатий «Отправить»: 1"));
        for command in ["take", "link", "look", "create", "reject", "hand_back", "let_go", "resend"] {
            assert!(world.staff_as(VIEWER, &format!("/{command} {marker} 1")).await.contains("недоступно"), "{command}");
        }
        for command in ["/pause", "/resume", "/replay 1"] {
            assert!(world.staff_as(VIEWER, command).await.contains("недоступно"), "{command}");
        }
        for label in ["Взять", "Поискать ещё раз", "Указать номер", "Создать всё же", "Отклонить"] {
            assert!(world.desk_tap(VIEWER, label).await.contains("недоступно"), "{label}");
        }
        assert_eq!(world.desk_tap(VIEWER, "Почему?").await, "Сделано.");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn strangers_and_nobodies_get_silence(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        assert_eq!(world.staff_as(BORIS, "/queue").await, "");
        world.type_text(BORIS, "/queue").await;
        assert_eq!(world.said(BORIS).await, Vec::<String>::new());
        for (id, bot) in [(1_087_968_824_i64, true), (136_817_688, true), (777_000, false)] {
            let from = json!({ "id": id, "is_bot": bot, "first_name": "Group" });
            assert_eq!(said_to(&mut world, written(&from, "/queue")).await, "", "{id}");
        }
        let mut update = written(&json!({ "id": OWNER, "is_bot": false, "first_name": "Ольга" }), "/queue");
        update["message"]["sender_chat"] = json!({ "id": STAFF, "type": "supergroup" });
        assert_eq!(said_to(&mut world, update).await, "");
        assert_eq!(world.desk_tap(BORIS, "Взять").await, "Это действие вам недоступно.");
        // Staff commands in a group that is not the staff's.
        let mut elsewhere = written(&json!({ "id": OWNER, "is_bot": false, "first_name": "Ольга" }), &format!("/reject {marker} x"));
        elsewhere["message"]["chat"] = json!({ "id": -55, "type": "group" });
        assert_eq!(said_to(&mut world, elsewhere).await, "");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn a_reviewer_removed_a_second_ago_is_nobody(db: Database) {
        let mut world = absent(db).await;
        world.desk_tap(REVIEWER, "Отклонить").await;
        let question = world.desk_message("Пётр").await;
        let mut roster = (*world.app().roster.now()).clone();
        roster.reviewers.clear();
        world.app().roster.reload(roster);
        assert_eq!(world.staff_as(REVIEWER, "/queue").await, "");
        assert_eq!(world.desk_reply(REVIEWER, question, "не успел").await, "");
        assert_eq!(world.desk_tap_on(REVIEWER, question, "Не хватает данных").await, "Это действие вам недоступно.");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn a_forged_button_does_nothing(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        for data in ["L1.0", "L1.99", "L999.1", "Y1.1", "U1.1", "A1.1", "S1.1.0", "K1.1.0", "G1.1", "P1.1", "D1.1", "L-1.1", "Q1", "Q1.x.y.z.q"] {
            world.tap_as(REVIEWER, json!({ "message_id": card, "button": data, "chat": STAFF, "raw": true })).await;
            assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0), "{data}");
        }
        world.finish().await;
    }

    async fn commands_are_checked_and_explained(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        for (typed, answer) in [
            ("/link", "Если заявка в CRM есть: /link"),
            ("/look", "Поискать в CRM ещё раз: /look"),
            ("/create", "Отправить заявку заново: /create"),
            ("/reject", "Отклонить: /reject"),
            ("/take", "Взять случай: /take"),
            ("/why", "Нужен код"),
            ("/find", "Найти заявку"),
            ("/queue reason:moon", "/queue [страница]"),
            ("/look Z-0000-0000", "Заявки с кодом Z-0000-0000 нет"),
            ("/look что-то", "Заявки с кодом что-то нет"),
            ("/link 1001", "Если заявка в CRM есть: /link"),
            ("/take #4711", "Случая #4711 нет"),
        ] {
            let said = world.staff(typed).await;
            assert!(said.starts_with(answer), "{typed}: {said}");
        }
        for typed in ["10 01", "привет", "x/../1001", "1001/../../evil", "a:b", "https://crm.example/tickets", "17/2026"] {
            let said = world.staff(&format!("/link {marker} {typed}")).await;
            let expected = format!("«{typed}» не похоже на номер заявки в CRM.\nЕсли заявка в CRM есть: /link");
            assert!(said.starts_with(&expected), "{typed}: {said}");
        }
        assert_eq!(world.state(ANNA).await, "review");
        assert!(world.staff(&format!("/reject {marker} \u{200b}")).await.contains("Нужна причина"));
        assert_eq!(world.staff(&format!("/reject@OtherBot {marker} чужое")).await, "");
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn staff_are_told_what_they_may_do(db: Database) {
        let mut world = World::new(db).await;
        for (who, role) in [(VIEWER, Role::Viewer), (REVIEWER, Role::Reviewer), (OWNER, Role::Owner)] {
            world.pass(MINUTE).await;
            let desk = world.staff_as(who, "/help").await;
            for (command, needed) in zayavka::staff::COMMANDS {
                assert_eq!(desk.contains(&format!("/{command} — ")), role >= needed, "{command}: {desk}");
            }
        }
        let desk = world.staff_as(OWNER, "/help").await;
        world.type_text(OWNER, "/help").await;
        let both = world.last_text(OWNER).await;
        assert!(both.contains("/forget") && both.starts_with(&desk), "{both}");
        assert_eq!(world.staff_as(ANNA, "/help").await, "", "clients are told in private");
        world.finish().await;
    }

    async fn a_command_that_answers_a_card_needs_no_code(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        assert!(world.desk_reply(REVIEWER, card, "/take").await.contains("взято до"));
        assert!(world.desk_reply(REVIEWER, card, "/link 4711").await.contains("проверяем в CRM номер 4711"));
        assert!(world.desk_reply(REVIEWER, card, "/reject дубль").await.contains("отклонена"));
        assert_eq!(world.state(ANNA).await, "rejected");
        world.finish().await;
    }

    async fn a_command_for_one_case_takes_no_second_one(db: Database) {
        let mut world = absent(db).await;
        lose(&mut world, BORIS).await;
        let (anna, boris) = (world.marker(ANNA).await, world.marker(BORIS).await);
        for command in ["take", "hand_back", "look", "resend", "let_go"] {
            let said = world.staff_as(REVIEWER, &format!("/{command} {anna} {boris}")).await;
            assert!(said.starts_with("Ничего не сделано") && said.contains(&boris), "{command}: {said}");
        }
        let card = world.desk_message(&format!("Случай {anna}")).await;
        assert!(!world.desk_text(card).await.contains("В работе"));
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn a_command_edited_after_sending_is_not_one(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        let sent = world.act(REVIEWER, "text", json!({ "text": "/reject", "chat": STAFF })).await;
        world.settle().await;
        let edit = json!({ "message_id": sent["message_id"], "text": format!("/reject {marker} исправил"), "chat": STAFF });
        let before = world.said(STAFF).await.len();
        world.act(REVIEWER, "edit", edit).await;
        world.settle().await;
        assert_eq!(world.said(STAFF).await.len(), before);
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn a_forwarded_command_is_somebody_elses_words(db: Database) {
        let mut world = absent(db).await;
        let text = format!("/reject {} чужие слова", world.marker(ANNA).await);
        world.act(REVIEWER, "text", json!({ "text": text, "chat": STAFF, "forwarded": true })).await;
        world.settle().await;
        assert_eq!(world.state(ANNA).await, "review");
        world.finish().await;
    }

    async fn pausing_stops_sending_and_resuming_goes_on(db: Database) {
        let mut world = World::new(db).await;
        assert!(world.staff_as(REVIEWER, "/pause").await.contains("остановлена"));
        world.apply(ANNA).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("pending", 0));
        assert!(world.staff_as(REVIEWER, "/resume").await.contains("продолжается"));
        world.pass(MINUTE).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }
}
