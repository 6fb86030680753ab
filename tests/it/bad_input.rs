//! What people send instead of an answer: a short helpful answer, the draft unharmed, the characters as typed in the CRM.

use sea_orm::EntityTrait as _;
use serde_json::json;
use zayavka::store::entity::people;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, Options, STAFF, SUBMIT, World},
};

/// The question that is open.
const NAME: &str = "Как к вам обращаться?";

/// What the bot says to a reply, and that the draft still waits where it waited.
async fn hint(world: &mut World, text: &str) -> String {
    let before = world.messages(ANNA).await.len();
    world.type_text(ANNA, text).await;
    let said: Vec<_> = world.messages(ANNA).await.into_iter().skip(before).filter(|message| message.by_bot).collect();
    assert_eq!(said.len(), 1, "one answer to {text:?}: {said:?}");
    said[0].text.clone()
}

on_both! {
    async fn every_character_arrives_in_the_crm_as_it_was_typed(db: Database) {
        let names = [
            "👩‍👩‍👧‍👦 Ёлка 🏳️‍🌈", "שלום עולם", "\u{202e}перевёрнуто\u{202c}", "*жирно* _косо_ `код` <b>тег</b> &amp; [a](b)",
            "{{ answers.phone }} {name} {auth} %s \\n", "\"кавычки\" 'и' \\ обратные \\\\", "a\u{0301}é한국어𝕏", "Ім'я\tз табом\nі рядком",
        ];
        let mut world = World::with(db, Options::searchable().places(100).set("limits.submissions_per_client_per_hour", "100")).await;
        for (n, name) in names.iter().enumerate() {
            world.type_text(ANNA, "/start").await;
            world.fill_in_from_the_name(ANNA, name).await;
            assert!(world.last_text(ANNA).await.contains(&format!("\n{name}\n")), "{name}: {}", world.last_text(ANNA).await);
            world.submit(ANNA).await;
            let ticket = &world.tickets().await[n];
            assert_eq!(ticket["contact"]["name"], *name);
            assert!(ticket["body"].as_str().is_some_and(|body| body.contains(name)), "{ticket}");
        }
        world.finish().await;
    }

    async fn what_is_no_answer_gets_a_hint_and_changes_nothing(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        assert_eq!(hint(&mut world, "  \n ").await, "Ответ пустой. Напишите, пожалуйста, хотя бы слово.");
        for invisible in ["\u{200b}\u{2060}", "\u{feff}", "\u{3164}\u{3164}", "\u{202e}\u{200f}"] {
            assert_eq!(hint(&mut world, invisible).await, "В этом сообщении нет видимых знаков. Напишите ответ словами.");
        }
        assert_eq!(hint(&mut world, "А").await, "Слишком коротко. Нужно знаков не меньше, чем 2.");
        assert_eq!(hint(&mut world, &"я".repeat(4_096)).await, "Слишком длинно: знаков 4096, а помещается 100. Сократите, пожалуйста.");
        assert_eq!(hint(&mut world, &"👨‍👩‍👧".repeat(30)).await, "Слишком длинно: знаков 150, а помещается 100. Сократите, пожалуйста.");
        world.type_text(ANNA, "Анна").await;
        for wrong in ["позвоните мне", "12", "+7 999", "😀"] {
            assert!(hint(&mut world, wrong).await.starts_with("Не похоже на номер телефона."), "{wrong}");
        }
        world.type_text(ANNA, "8 (900) 000-01-01").await;
        for wrong in ["почта", "a@b", "@", "a b@c.ru", "a@b.c\u{202e}om"] {
            assert!(hint(&mut world, wrong).await.starts_with("Не похоже на адрес почты."), "{wrong}");
        }
        world.tap(ANNA, "Пропустить").await;
        assert!(hint(&mut world, "Алименты").await.starts_with("Такого варианта нет."));
        world.type_text(ANNA, "налоги").await;
        world.type_text(ANNA, "2").await;
        assert_eq!(hint(&mut world, "да, согласна").await, "На этот вопрос отвечают кнопкой под сообщением.");
        world.tap(ANNA, "Даю согласие").await;
        assert!(hint(&mut world, "отправляйте").await.starts_with("Все ответы на месте."));
        assert_eq!(world.submit(ANNA).await, "Принято, отправляем заявку.");
        assert_eq!(world.tickets().await[0]["contact"]["phone"], "+79000000101");
        world.finish().await;
    }

    async fn pictures_and_sounds_are_no_answer(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        for (verb, details, said) in [
            ("photo", json!({ "caption": "Анна" }), "Фото и файлы сюда приложить нельзя. Ответьте, пожалуйста, словами."),
            ("sticker", json!({}), "Фото и файлы сюда приложить нельзя. Ответьте, пожалуйста, словами."),
            ("voice", json!({}), "Здесь нужен ответ словами."),
            ("contact", json!({ "phone": "+79001234567" }), "Здесь нужен ответ словами."),
        ] {
            world.act(ANNA, verb, details).await;
            world.settle().await;
            assert_eq!(world.last_text(ANNA).await, said, "{verb}");
        }
        world.type_text(ANNA, "Анна").await;
        assert!(world.last_text(ANNA).await.starts_with("Телефон для связи"));
        world.finish().await;
    }

    async fn an_album_gets_one_answer(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        let before = world.said(ANNA).await.len();
        world.act(ANNA, "photo", json!({ "count": 7 })).await;
        world.settle().await;
        assert_eq!(world.said(ANNA).await.len(), before + 1, "{:?}", world.said(ANNA).await);
        world.act(ANNA, "photo", json!({ "count": 2, "media_group_id": "another" })).await;
        world.settle().await;
        assert_eq!(world.said(ANNA).await.len(), before + 2, "the next album is another one");
        world.finish().await;
    }

    async fn somebody_elses_contact_is_not_taken_for_ones_own(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Анна").await;
        for details in [
            json!({ "phone": "+79001234567", "user_id": BORIS }),
            json!({ "phone": "+79001234567", "user_id": null }),
            json!({ "phone": "+79001234567", "forwarded": true }),
        ] {
            world.act(ANNA, "contact", details.clone()).await;
            world.settle().await;
            assert!(world.last_text(ANNA).await.starts_with("Это чужой контакт."), "{details}");
        }
        world.share_contact(ANNA, "79001234567").await;
        assert!(world.said(ANNA).await.contains(&"Записали: +79001234567".to_owned()));
        world.finish().await;
    }

    async fn an_edited_message_changes_no_answer(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/start").await;
        let typed = world.act(ANNA, "text", json!({ "text": "Анна" })).await;
        world.settle().await;
        world.act(ANNA, "edit", json!({ "message_id": typed["message_id"], "text": "Яна" })).await;
        world.settle().await;
        assert!(world.last_text(ANNA).await.starts_with("Вы исправили своё сообщение"));
        world.share_contact(ANNA, "+79001234567").await;
        world.tap(ANNA, "Пропустить").await;
        world.tap(ANNA, "Налоги").await;
        world.tap(ANNA, "7 декабря, 11:00").await;
        world.tap(ANNA, "Даю согласие").await;
        world.submit(ANNA).await;
        assert_eq!(world.tickets().await[0]["contact"]["name"], "Анна");
        world.act(ANNA, "edit", json!({ "message_id": typed["message_id"], "text": "/cancel" })).await;
        world.settle().await;
        assert_eq!(world.state(ANNA).await, "created");
        world.finish().await;
    }

    async fn forwarded_commands_are_not_obeyed(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        for command in ["/cancel", "/forget", "/start", "/new"] {
            world.act(ANNA, "text", json!({ "text": command, "forwarded": true })).await;
            world.settle().await;
            assert!(world.last_text(ANNA).await.starts_with("Пересланные команды я не выполняю."), "{command}");
        }
        world.act(OWNER, "text", json!({ "text": "/pause", "chat": STAFF, "forwarded": true })).await;
        assert_eq!(world.submit(ANNA).await, "Принято, отправляем заявку.");
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn groups_hear_nothing_but_the_way_to_the_private_chat(db: Database) {
        let mut world = World::new(db).await;
        for text in ["привет", "/help", "/start", "/cancel@zayavka_sandbox_bot", "/start@another_bot", "/status@zayavka_sandbox_bot"] {
            assert_eq!(world.staff_as(BORIS, text).await, "", "{text}");
        }
        let said = world.staff_as(BORIS, "/start@zayavka_sandbox_bot").await;
        assert_eq!(said, "Анкету удобнее и безопаснее заполнить в личном чате: https://t.me/zayavka_sandbox_bot?start");
        assert!(world.said(BORIS).await.is_empty());
        world.finish().await;
    }

    async fn what_happens_in_groups_is_not_kept_about_people(db: Database) {
        let mut world = World::new(db).await;
        world.type_text(ANNA, "/help").await;
        let group = json!({ "id": STAFF, "type": "supergroup", "title": "Сотрудники" });
        let anna = json!({ "id": ANNA, "is_bot": false, "first_name": "Анна" });
        let bot = json!({ "id": 1_000_000_001, "is_bot": true, "first_name": "Заявка" });
        let member = |status: &str| json!({ "user": bot, "status": status });
        world.raw(json!({ "my_chat_member": { "chat": group, "from": anna, "date": 1,
            "old_chat_member": member("member"), "new_chat_member": member("kicked") } })).await;
        world.staff_as(BORIS, "/start").await;
        let known = people::Entity::find().all(world.app().store.reader()).await;
        let known: Vec<_> = known.unwrap_or_default().into_iter().map(|person| (person.user_id, person.reachable)).collect();
        assert_eq!(known, [(ANNA, true)], "she can still be written to, and he never wrote to the bot");
        world.finish().await;
    }

    async fn a_text_longer_than_a_message_is_shown_whole_and_sent_whole(db: Database) {
        let mut world = World::with(db, Options::searchable().form(|form| form.replace("max = 2000", "max = 4000"))).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Анна").await;
        world.share_contact(ANNA, "+79001234567").await;
        world.tap(ANNA, "Пропустить").await;
        world.tap(ANNA, "Другое").await;
        let long: String = (0..3_990).map(|n| if n % 50 == 49 { '\n' } else { 'ж' }).collect();
        world.type_text(ANNA, &long).await;
        world.tap(ANNA, "7 декабря, 11:00").await;
        world.tap(ANNA, "Даю согласие").await;
        let said = world.said(ANNA).await;
        assert!(said[said.len() - 2..].concat().contains(long.trim()), "in two messages");
        assert_eq!(world.tap(ANNA, SUBMIT).await, "Принято, отправляем заявку.");
        assert!(world.tickets().await[0]["body"].as_str().is_some_and(|body| body.contains(long.trim())));
        assert!(!world.last_text(ANNA).await.contains(NAME));
        world.finish().await;
    }
}
