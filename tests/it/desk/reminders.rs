//! What time asks for: reminders in working hours, and one honest word to a person who waits long.

use std::time::Duration;

use super::{MINUTE, absent, absent_with, lose};
use crate::{
    databases::on_both,
    world::{ANNA, BORIS, OWNER, Options, REVIEWER, STAFF, World},
};

const HOUR: Duration = Duration::from_secs(3_600);

/// How many messages of a chat hold these words.
async fn told(world: &World, chat: i64, words: &str) -> usize {
    world.said(chat).await.iter().filter(|text| text.contains(words)).count()
}

on_both! {
    async fn reviewers_are_reminded_and_owners_after_them(db: Database) {
        let mut world = absent(db).await;
        world.type_text(OWNER, "/queue").await;
        let marker = world.marker(ANNA).await;
        world.pass(10 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 0);
        world.pass(5 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "ждут решения и никем не взяты: 1").await, 1);
        assert_eq!(told(&world, OWNER, "Давно ждут решения").await, 0);
        world.pass(30 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 1, "once is enough");
        world.pass(20 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 2);
        assert_eq!(told(&world, OWNER, "Давно ждут решения").await, 1);
        world.pass(3 * HOUR).await;
        assert_eq!(told(&world, OWNER, "Давно ждут решения").await, 1);
        let why = world.staff(&format!("/why {marker}")).await;
        assert!(why.contains("напомнили проверяющим") && why.contains("напомнили владельцам"), "{why}");
        world.finish().await;
    }

    async fn a_reminder_shows_the_case_as_old_as_it_is(db: Database) {
        let mut world = absent(db).await;
        let card = world.desk_message("Случай").await;
        // Posted at once, so nothing is old yet; the moments beside the ages stay true without another showing.
        let (client, case) = ("Ждёт с 30.11 12:29 (", "Случай открыт 30.11 12:32 (");
        let before = world.desk_text(card).await;
        assert!(before.contains(&format!("{client}2 мин)")) && before.contains(&format!("{case}0 с)")), "{before}");
        world.pass(15 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 1);
        let after = world.desk_text(card).await;
        assert!(after.contains(client) && after.contains(case), "{after}");
        assert!(!after.contains("(2 мин)") && !after.contains("(0 с)"), "{after}");
        world.finish().await;
    }

    async fn nobody_is_reminded_of_what_is_taken(db: Database) {
        let mut world = absent_with(db, Options::searchable().set("staff.take_for", "2h")).await;
        world.desk_tap(REVIEWER, "Взять").await;
        world.pass(HOUR + 30 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 0);
        world.pass(HOUR).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 1);
        world.finish().await;
    }

    async fn nights_are_quiet_and_do_not_count(db: Database) {
        let options = Options::searchable().set("staff.working_hours", "09:00-12:40");
        let mut world = absent_with(db, options).await;
        // It is 12:34: six working minutes are left today.
        world.pass(12 * HOUR).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 0);
        world.pass(8 * HOUR + 20 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 0, "08:55");
        world.pass(20 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 1, "09:15");
        world.finish().await;
    }

    async fn a_day_off_is_quiet_and_does_not_count(db: Database) {
        // It is Monday.
        let options = Options::searchable().set("staff.working_days", "tue, wed");
        let mut world = absent_with(db, options).await;
        world.pass(20 * HOUR).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 0);
        world.pass(20 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 0, "Tuesday 08:55");
        world.pass(HOUR / 2).await;
        assert_eq!(told(&world, STAFF, "никем не взяты").await, 1, "Tuesday 09:25");
        world.finish().await;
    }

    async fn several_cases_are_one_reminder(db: Database) {
        let mut world = absent(db).await;
        lose(&mut world, BORIS).await;
        world.pass(20 * MINUTE).await;
        assert_eq!(told(&world, STAFF, "никем не взяты: 2").await + told(&world, STAFF, "никем не взяты: 1").await, 1);
        world.finish().await;
    }

    async fn a_person_who_waits_long_is_told_so_once(db: Database) {
        let mut world = absent(db).await;
        assert_eq!(told(&world, ANNA, "на проверке у сотрудника").await, 1);
        world.pass(20 * MINUTE).await;
        assert_eq!(told(&world, ANNA, "дольше обычного").await, 0);
        world.pass(10 * MINUTE).await;
        assert_eq!(told(&world, ANNA, "дольше обычного").await, 1);
        world.pass(5 * HOUR).await;
        assert_eq!(told(&world, ANNA, "дольше обычного").await, 1);
        world.staff(&format!("/reject {} услуги нет", world.marker(ANNA).await)).await;
        let said = world.transcript(ANNA).await;
        assert!(said.contains("Сотрудник отклонил заявку") && said.contains("Заявку не приняли: услуги нет"), "{said}");
        world.finish().await;
    }

    async fn whoever_waits_for_the_crm_hears_that_and_not_more(db: Database) {
        let mut world = World::new(db).await;
        world.crm_down(true).await;
        world.apply(ANNA).await;
        world.pass(31 * MINUTE).await;
        assert_eq!(told(&world, ANNA, "она не отвечает дольше обычного").await, 1);
        world.crm_down(false).await;
        world.pass(10 * MINUTE).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        world.finish().await;
    }
}
