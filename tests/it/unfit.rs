//! A profile that makes no request of an order: its owner's mistake. Nothing was sent, so nobody is refused anything;
//! staff see the case and its reason, and once the profile is mended they have the ticket made, once.

use std::{path::Path, time::Duration};

use zayavka::catalog::profile::built_in;

use crate::{
    databases::on_both,
    world::{ANNA, OWNER, Options, STAFF, World},
};

/// A subject to which no number can be added, whatever anybody answers.
const UNFIT: &str = "subject = \"{{ subject + 1 }}\"";
const FIT: &str = "subject = \"{{ subject }}\"";

/// A step that has to find somebody before the ticket's own request is made.
const FIND: &str = r#"
[[step]]
name = "find_contact"
kind = "find"
results = "items"
match = { path = "subject", equals = "{{ contact.phone }}" }
read = { id = "id" }

[step.request]
method = "GET"
url = "{{ vars.base_url }}/tickets"
query = { external_id = "{{ contact.phone }}" }

[[step.outcome]]
status = 200
is = "answer"

[[step]]
name = "create""#;

fn write(path: &Path, profile: &str) {
    std::fs::write(path, profile).unwrap_or_else(|error| panic!("{error}"));
}

fn named(profile: &str) -> String {
    built_in::text("generic-searchable").unwrap_or_default().replacen("generic-searchable", profile, 1)
}

/// The service goes by a profile that fits no order, somebody applies, and the profile is mended.
async fn goes_out_once_it_is_mended(db: crate::databases::Database, good: &str) {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let path = folder.path().join("pingvin.toml");
    let bad = good.replacen(FIT, UNFIT, 1);
    assert_ne!(bad, good, "the profile is as it was");
    write(&path, &bad);
    let mut world = World::with(db, Options::searchable()).await;
    let section = format!(
        "[crm]\nprofile = \"{}\"\n[crm.vars]\nbase_url = \"{}\"\n[crm.secrets]\ntoken = \"sandbox-secret\"\n",
        path.display(),
        world.crm_url()
    );
    world.options = world.options.clone().with_crm(section);
    world.restart().await;
    world.apply(ANNA).await;
    world.pass(Duration::from_secs(60)).await;
    assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0));
    let told = world.said(ANNA).await.join("\n");
    let card = world.last_text(ANNA).await;
    assert!(card.contains("на проверке у сотрудника"), "{card}");
    for words in ["subject", "Измените", "не приняли", "profile"] {
        assert!(!told.contains(words), "a client hears of our profile: {told}");
    }
    let case = world.desk_text(world.desk_message("Случай").await).await;
    assert!(case.contains("Профиль CRM не складывает") && case.contains("{{ subject + 1 }}"), "{case}");
    let marker = world.marker(ANNA).await;
    let why = world.staff_as(OWNER, &format!("/why {marker}")).await;
    assert!(why.contains("не сложил") && why.contains("{{ subject + 1 }}"), "{why}");
    let listed = world.staff_as(OWNER, "/queue reason:unfit").await;
    assert!(listed.contains(&marker), "{listed}");

    // Decided before it is mended: it comes back, as often as that may be.
    world.create_after_all(OWNER, &marker, "ещё раз").await;
    world.pass(Duration::from_secs(60)).await;
    assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0));
    assert_eq!(
        world.submit(ANNA).await,
        "Заявка на проверке у сотрудника. Мы напишем, чем кончилось.",
        "a tap meanwhile makes nothing"
    );

    write(&path, good);
    world.restart().await;
    world.pass(Duration::from_secs(60)).await;
    assert_eq!((world.state(ANNA).await, world.count().await), ("review", 0), "nothing goes by itself");
    let asked = world.said(STAFF).await.len();
    world.create_after_all(OWNER, &marker, "профиль исправлен").await;
    world.staff_as(OWNER, &format!("/create {marker} ещё")).await;
    world.pass(Duration::from_secs(600)).await;
    assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
    assert!(world.said(STAFF).await.len() > asked);
    assert!(world.said(ANNA).await.iter().any(|text| text.contains("№ 1001")));
    world.finish().await;
}

on_both! {
    async fn an_order_that_fits_no_request_waits_for_a_person_and_goes_out_once_when_the_profile_is_mended(db: Database) {
        goes_out_once_it_is_mended(db, &named("pingvin")).await;
    }

    async fn so_does_one_whose_ticket_is_the_second_of_two_steps(db: Database) {
        let good = named("pingvin").replacen("[[step]]\nname = \"create\"", FIND.trim_start(), 1);
        goes_out_once_it_is_mended(db, &good).await;
    }
}
