//! Answers that say what was not done, and requests that land late or never: what is sent again, when, and by whose word.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    crm_faults::{DAY, MINUTE, created_once, submitted, told_nothing_false},
    databases::{on_all, on_both},
    world::{ANNA, OWNER, Options, Promise, STAFF, World},
};

/// Nobody knows, and it was not made: a keyed CRM is asked again, else people decide to create it.
async fn settles_though_not_made(mut world: World, promise: Promise) {
    if world.state(ANNA).await != "created" {
        told_nothing_false(&world).await;
    }
    world.pass(DAY).await;
    if promise != Promise::Keyed {
        assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0));
        told_nothing_false(&world).await;
        let marker = world.marker(ANNA).await;
        let said = world.create_after_all(OWNER, &marker, "проверили, в CRM её нет").await;
        assert!(said.starts_with(&format!("{marker}: отправляем")), "{said}");
        world.pass(DAY).await;
    }
    created_once(world).await;
}

on_all! {
    async fn it_answers_500_before_creating(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "error_before", "status": 500 });
        settles_though_not_made(submitted(db, options, fault).await, promise).await;
    }

    async fn the_request_is_lost_on_its_way(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "lose_request" });
        settles_though_not_made(submitted(db, options, fault).await, promise).await;
    }

    async fn it_is_unavailable_and_does_not_say_for_how_long(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "error_before", "status": 503 });
        settles_though_not_made(submitted(db, options, fault).await, promise).await;
    }

    async fn it_says_too_many_and_when_to_come_back(db: Database, options: Options) {
        let fault = json!({ "on": "POST /tickets", "do": "error_before", "status": 429, "retry_after": 90 });
        comes_back_as_told(submitted(db, options, fault).await).await;
    }

    async fn it_is_unavailable_and_says_until_when(db: Database, options: Options) {
        let fault = json!({ "on": "POST /tickets", "do": "error_before", "status": 503, "retry_after": 90 });
        comes_back_as_told(submitted(db, options, fault).await).await;
    }

    async fn it_is_still_working_on_an_earlier_request(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "error_before", "status": 409 });
        settles_though_not_made(submitted(db, options, fault).await, promise).await;
    }

    async fn it_refuses_and_the_person_edits_and_sends_the_next_version(db: Database, options: Options) {
        let fault = json!({ "on": "POST /tickets", "do": "refuse", "body": { "message": "телефон в чёрном списке" } });
        let mut world = submitted(db, options, fault).await;
        let words = world.last_text(ANNA).await;
        assert!(words.contains("Заявку не приняли") && words.contains("телефон в чёрном списке"), "{words}");
        let first = world.message_with(ANNA, "Отправить заявку").await;
        let again = "Эту заявку не приняли. Ответы можно изменить и отправить.";
        assert_eq!(world.tap_on(ANNA, first, "Отправить заявку").await, again);
        assert_eq!((world.state(ANNA).await, world.count().await), ("rejected", 0));
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Телефон").await;
        world.type_text(ANNA, "+7 912 345-67-89").await;
        assert_eq!(world.submit(ANNA).await, "Принято, отправляем заявку.");
        assert_eq!(world.tickets().await[0]["contact"]["phone"], "+79123456789");
        assert_eq!(world.operations(ANNA).await.len(), 2);
        let now = world.tap_on(ANNA, first, "Отправить заявку").await;
        assert!(now.contains("№ 1001"), "the old button speaks of what followed: {now}");
        created_once(world).await;
    }

    async fn it_holds_the_request_longer_than_we_wait(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "hold" });
        let mut world = submitted(db, options.set("crm.request_timeout", "1s"), fault).await;
        told_nothing_false(&world).await;
        world.pass(MINUTE).await;
        told_nothing_false(&world).await;
        assert_eq!(world.count().await, 0);
        world.post("/crm/release", json!({})).await;
        world.until("the ticket", async |world| world.count().await == 1).await;
        world.pass(DAY).await;
        settled_by_people_where_blind(world, promise).await;
    }

    async fn the_request_lands_within_the_settle_window(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "late" });
        let mut world = submitted(db, options, fault).await;
        world.pass(MINUTE).await;
        world.post("/crm/release", json!({})).await;
        world.until("the ticket", async |world| world.count().await == 1).await;
        world.pass(DAY).await;
        settled_by_people_where_blind(world, promise).await;
    }

    async fn the_request_lands_long_after_everybody_gave_up(db: Database, options: Options) {
        let promise = options.promise();
        let fault = json!({ "on": "POST /tickets", "do": "late" });
        let mut world = submitted(db, options, fault).await;
        world.pass(DAY).await;
        let before = world.count().await;
        assert_eq!(before, usize::from(promise == Promise::Keyed));
        world.post("/crm/release", json!({})).await;
        world.until("the late call", async |world| !world.calls("crm", "POST /tickets").await.is_empty() && world.count().await == 1).await;
        if promise == Promise::Searchable {
            assert_eq!(world.state(ANNA).await, "review");
            let marker = world.marker(ANNA).await;
            assert_eq!(world.staff(&format!("/look {marker}")).await, format!("{marker}: ищем в CRM."));
        }
        settled_by_people_where_blind(world, promise).await;
    }
}

async fn settled_by_people_where_blind(mut world: World, promise: Promise) {
    if promise == Promise::Blind {
        assert_eq!(world.state(ANNA).await, "review");
        let marker = world.marker(ANNA).await;
        let said = world.staff(&format!("/link {marker} 1001 без проверки")).await;
        assert!(said.contains("без проверки в CRM"), "{said}");
    }
    created_once(world).await;
}

/// Nothing was done, and the CRM said when to come back: not before, and then once.
async fn comes_back_as_told(mut world: World) {
    assert!(world.last_text(ANNA).await.contains("ждём CRM"), "{}", world.last_text(ANNA).await);
    told_nothing_false(&world).await;
    world.pass(Duration::from_secs(89)).await;
    assert_eq!(world.calls("crm", "POST /tickets").await.len(), 1);
    world.pass(2 * MINUTE).await;
    assert_eq!(world.calls("crm", "POST /tickets").await.len(), 2);
    created_once(world).await;
}

fn resending() -> Options {
    Options::searchable().set("crm.reconcile.on_absent", "resend")
}

on_both! {
    async fn a_refusal_of_any_length_and_look_is_shown_to_the_person(db: Database) {
        let words = format!("<b>Нельзя</b>\u{0}\u{202e}\n\r\t{}", "длинно ".repeat(2_000));
        let fault = json!({ "on": "POST /tickets", "do": "refuse", "body": { "message": words } });
        let world = submitted(db, Options::searchable(), fault).await;
        let shown = world.last_text(ANNA).await;
        assert!(shown.starts_with("Заявку не приняли.") && shown.contains("Нельзя"), "{shown}");
        assert!(!shown.contains(['\u{0}', '\u{202e}']), "{shown}");
        assert!(shown.contains("Измените ответы и отправьте её"), "{shown}");
        assert!(world.said(STAFF).await.is_empty());
        world.finish().await;
    }

    async fn a_success_without_a_believable_number_is_none(db: Database) {
        let options = Options::searchable().places(100).set("limits.submissions_per_client_per_hour", "100");
        let mut world = World::with(db, options).await;
        let answers = [
            json!({}),
            json!([]),
            json!(null),
            json!("created"),
            json!({ "id": null, "number": null }),
            json!({ "id": "t-9", "number": "" }),
            json!({ "id": "t-9", "number": "9\nЗаявка № 1 создана" }),
            json!({ "id": "t-9", "number": "9".repeat(500) }),
            json!({ "id": "t-9", "number": { "value": 9 } }),
            json!({ "id": "t-9", "number": "9", "external_id": "of-somebody-else" }),
        ];
        for (n, body) in answers.iter().enumerate() {
            world.fault(json!({ "on": "POST /tickets", "do": "error_before", "status": 201, "body": body })).await;
            world.apply(ANNA).await;
            assert_eq!(world.state(ANNA).await, "unknown", "{body}");
            assert!(world.last_text(ANNA).await.starts_with("Проверяем, дошла ли заявка."), "{body}");
            world.pass(20 * MINUTE).await;
            assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0), "{body}");
            assert_eq!(world.operations(ANNA).await.len(), n + 1);
        }
        assert!(world.said(ANNA).await.iter().all(|text| !text.contains("создана")));
        world.finish().await;
    }

    async fn what_the_crm_repeats_of_our_secrets_is_told_to_nobody(db: Database) {
        let body = json!({ "message": "token sandbox-secret is wrong: Authorization: Bearer sandbox-secret" });
        let fault = json!({ "on": "POST /tickets", "do": "error_before", "status": 401, "body": body });
        let mut world = submitted(db, Options::searchable(), fault).await;
        let marker = world.marker(ANNA).await;
        world.staff(&format!("/why {marker}")).await;
        let told = world.said(STAFF).await.join("\n");
        assert!(told.contains("учётные данные") && !told.contains("sandbox-secret"), "{told}");
        world.staff("/resume").await;
        world.pass(MINUTE).await;
        let fault = json!({ "on": "POST /tickets", "do": "refuse", "body": { "message": "Bearer sandbox-secret" } });
        world.fault(fault).await;
        world.apply(ANNA).await;
        assert!(!world.said(ANNA).await.join("\n").contains("sandbox-secret"));
        world.finish().await;
    }

    async fn where_the_operator_says_so_absence_is_sent_again(db: Database) {
        let fault = json!({ "on": "POST /tickets", "do": "error_before", "status": 500 });
        let mut world = submitted(db, resending(), fault).await;
        world.pass(MINUTE).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("unknown", 0));
        told_nothing_false(&world).await;
        world.pass(DAY).await;
        assert_eq!(world.calls("crm", "POST /tickets").await.len(), 2);
        created_once(world).await;
    }

    async fn a_request_that_lands_after_that_is_reported_as_a_late_twin(db: Database) {
        let fault = json!({ "on": "POST /tickets", "do": "late" });
        let mut world = submitted(db, resending(), fault).await;
        world.pass(10 * MINUTE).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.post("/crm/release", json!({})).await;
        world.until("the twin", async |world| world.count().await == 2).await;
        world.pass(DAY).await;
        let told = world.said(STAFF).await;
        assert!(told.iter().any(|text| text.contains("двойник") && text.contains("1001, 1002")), "{told:?}");
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"));
        world.may_have_twins();
        world.finish().await;
    }

    async fn the_index_lags_and_the_ticket_is_found_in_the_end(db: Database) {
        let mut world = World::new(db).await;
        world.post("/crm/options", json!({ "index_lag_ms": 90_000 })).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        assert!(world.last_text(ANNA).await.contains("Проверяем, дошла ли заявка"));
        let summary = world.message_with(ANNA, "Отправить заявку").await;
        let toast = world.tap_on(ANNA, summary, "Отправить заявку").await;
        assert_eq!(toast, "Проверяем, дошла ли заявка. Отправлять её заново не нужно.");
        told_nothing_false(&world).await;
        world.pass(3 * MINUTE).await;
        created_once(world).await;
    }

    async fn a_crm_that_cannot_be_searched_for_too_long_is_left_to_people(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.fault(json!({ "on": "GET /tickets", "do": "error_before", "times": 0 })).await;
        world.submit(ANNA).await;
        world.pass(20 * MINUTE).await;
        assert_eq!(world.state(ANNA).await, "unknown");
        world.pass(20 * MINUTE).await;
        assert_eq!(world.state(ANNA).await, "review");
        told_nothing_false(&world).await;
        world.mend().await;
        let marker = world.marker(ANNA).await;
        world.staff(&format!("/look {marker}")).await;
        created_once(world).await;
    }

    async fn after_an_outage_everybody_is_served_once_and_in_the_crms_pace(db: Database) {
        let mut world = World::with(db, Options::searchable().places(1_000)).await;
        let people: Vec<i64> = (201..213).collect();
        for person in &people {
            world.fill_in(*person).await;
        }
        world.crm_down(true).await;
        for person in &people {
            assert_eq!(world.submit(*person).await, "Принято, отправляем заявку.");
        }
        world.pass(10 * MINUTE).await;
        for person in &people {
            assert!(world.last_text(*person).await.contains("ждём CRM"));
        }
        world.crm_down(false).await;
        world.pass(5 * MINUTE).await;
        assert_eq!(world.count().await, people.len());
        let keys: std::collections::HashSet<Value> = world.tickets().await.into_iter().map(|ticket| ticket["external_id"].clone()).map(|key| json!(key)).collect();
        assert_eq!(keys.len(), people.len());
        for person in &people {
            assert!(world.last_text(*person).await.contains("создана"));
        }
        world.finish().await;
    }
}
