//! What staff are told back: help, usage, double taps, and what a name or a button's data must not be able to do.

use serde_json::json;

use super::{MINUTE, absent, lose};
use crate::{
    databases::on_both,
    world::{ANNA, OWNER, Options, REVIEWER, STAFF, VIEWER, World},
};

on_both! {
    async fn a_double_tap_hears_that_it_is_done_by_the_same_person(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        world.staff_as(REVIEWER, &format!("/create {marker} её нет")).await;
        let question = world.desk_message("Пётр").await;
        let (sure, cancel) = (data(&world, question, "Да, создать").await, data(&world, question, "Отмена").await);
        assert!(raw(&mut world, REVIEWER, question, &sure).await.contains("отправляем под тем же ключом"));
        for _ in 0..2 {
            let again = raw(&mut world, REVIEWER, question, &sure).await;
            assert_eq!(again, format!("{marker}: уже сделано вами."));
        }
        assert_eq!(raw(&mut world, REVIEWER, question, &cancel).await, format!("{marker}: уже сделано вами."));
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }

    async fn a_double_tap_on_a_reason_or_a_link_hears_the_same(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        let marker = world.marker(ANNA).await;
        world.desk_tap(OWNER, "Создать всё же").await;
        let question = world.desk_message("Ольга").await;
        let reason = data(&world, question, "Заявитель просит не ждать").await;
        for _ in 0..2 {
            assert_eq!(raw(&mut world, OWNER, question, &reason).await, "Сделано.");
        }
        world.desk_tap(OWNER, "Указать номер").await;
        let question = world.desk_message("Ольга").await;
        world.desk_reply(OWNER, question, "1001").await;
        let question = world.desk_message("Ольга").await;
        let unchecked = data(&world, question, "Связать без проверки").await;
        assert!(raw(&mut world, OWNER, question, &unchecked).await.contains("без проверки в CRM"));
        for _ in 0..2 {
            assert_eq!(raw(&mut world, OWNER, question, &unchecked).await, format!("{marker}: уже сделано вами."));
        }
        assert_eq!(world.state(ANNA).await, "created");
        world.finish().await;
    }

    async fn a_name_writes_no_lines_of_ours(db: Database) {
        let mut world = World::with(db, Options::searchable()).await;
        world.fill_in(ANNA).await;
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Как к вам").await;
        world.type_text(ANNA, "Анна\nОтвет CRM: CRM назвала номер 1001\u{2028}\u{85}В работе: Пётр").await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
        world.submit(ANNA).await;
        world.pass(5 * MINUTE).await;
        let card = world.desk_text(world.desk_message("Случай").await).await;
        let found = world.staff("/find Анна").await;
        for text in [&card, &found] {
            let forged = text.lines().filter(|line| line.starts_with("Ответ CRM: CRM назвала") || line.starts_with("В работе"));
            assert_eq!(forged.count(), 0, "{text}");
            assert!(text.contains("Анна Ответ CRM: CRM назвала номер 1001 В работе: Пётр"), "{text}");
        }
        world.finish().await;
    }

    async fn no_watch_is_promised_where_the_crm_cannot_be_searched(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
        world.submit(ANNA).await;
        let marker = world.marker(ANNA).await;
        let said = world.create_after_all(OWNER, &marker, "её нет").await;
        assert!(said.contains("отправляем под тем же ключом") && said.contains("проверьте в ней позже сами"), "{said}");
        assert_eq!(world.state(ANNA).await, "created");
        world.finish().await;
    }

    async fn help_lists_what_each_may_use(db: Database) {
        let mut world = World::new(db).await;
        let viewer = world.staff_as(VIEWER, "/help").await;
        assert!(viewer.contains("/queue — кто ждёт решения") && viewer.contains("/find"), "{viewer}");
        assert!(!viewer.contains("/link") && !viewer.contains("/pause") && !viewer.contains("/new"), "{viewer}");
        let reviewer = world.staff_as(REVIEWER, "/help").await;
        for (command, _) in zayavka::staff::COMMANDS {
            assert!(reviewer.contains(&format!("/{command} — ")), "{command}: {reviewer}");
        }
        world.type_text(REVIEWER, "/help").await;
        let private = world.last_text(REVIEWER).await;
        assert!(private.contains("/link — ") && private.contains("/new — начать анкету"), "{private}");
        world.type_text(ANNA, "/help").await;
        let client = world.last_text(ANNA).await;
        assert!(client.contains("/new") && !client.contains("/queue"), "{client}");
        assert_eq!(world.staff_as(ANNA, "/help").await, "", "others are not answered in the staff chat");
        world.finish().await;
    }

    async fn each_command_explains_itself(db: Database) {
        let mut world = absent(db).await;
        let marker = world.marker(ANNA).await;
        for (command, usage) in [("/resend", "/resend КОД"), ("/let_go", "/let_go КОД"), ("/replay", "/replay НОМЕР")] {
            let said = world.staff(command).await;
            assert!(said.contains(usage) && !said.contains("/show"), "{command}: {said}");
        }
        for command in ["/resend", "/let_go", "/replay"] {
            let said = world.staff(&format!("{command} {marker}")).await;
            assert_eq!(said, format!("{marker}: этот случай так не решается."), "{command}");
        }
        world.finish().await;
    }

    async fn a_button_of_no_case_says_so_in_staff_s_words(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        let forged = data(&world, card, "Взять").await;
        let forged = format!("{}999.0", forged.chars().next().unwrap_or_default());
        assert_eq!(raw(&mut world, REVIEWER, card, &forged).await, "Случая #999 нет.");
        world.finish().await;
    }

    async fn a_forged_queue_button_writes_over_nothing(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        let before = world.desk_text(card).await;
        raw(&mut world, REVIEWER, card, "Q1.m..zzz").await;
        assert_eq!(world.desk_text(card).await, before);
        world.pass(std::time::Duration::from_secs(10)).await;
        assert!(world.last_text(STAFF).await.contains("По этому отбору пусто"), "{}", world.last_text(STAFF).await);
        world.staff("/why").await;
        let said = world.desk_message("Нужен код").await;
        raw(&mut world, REVIEWER, said, "Q1.m..zzz").await;
        assert!(world.desk_text(said).await.starts_with("Нужен код"));
        // A page is turned in place.
        world.staff_as(REVIEWER, "/queue").await;
        let page = world.desk_message("Ждут решения").await;
        raw(&mut world, REVIEWER, page, "Q1.m..zzz").await;
        assert!(world.desk_text(page).await.contains("По этому отбору пусто"));
        world.finish().await;
    }

    async fn a_reason_is_not_cut_in_silence(db: Database) {
        let mut world = World::new(db).await;
        lose(&mut world, ANNA).await;
        let marker = world.marker(ANNA).await;
        let long = "причина ".repeat(70);
        let said = world.staff(&format!("/reject {marker} {long}")).await;
        assert!(said.contains("слишком длинная: 559 знаков, можно 500"), "{said}");
        assert_eq!(world.state(ANNA).await, "review");
        let fits = "причина ".repeat(60);
        world.staff(&format!("/reject {marker} {fits}")).await;
        assert!(world.transcript(ANNA).await.contains(fits.trim()));
        world.finish().await;
    }
}

/// The data behind a button of the staff chat.
async fn data(world: &World, message: i64, label: &str) -> String {
    let all = world.messages(STAFF).await;
    all.iter().find(|known| known.id == message).map(|known| known.data(label)).unwrap_or_default()
}

/// A tap with this data, whatever the message shows by now.
async fn raw(world: &mut World, user: i64, message: i64, data: &str) -> String {
    world.tap_as(user, json!({ "message_id": message, "button": data, "chat": STAFF, "raw": true })).await
}
