//! A CRM that drops our key: nothing a search shows means anything there, and nothing is sent again by itself, even where
//! the profile says that a repeat under the key is harmless.

use std::time::Duration;

use serde_json::json;
use zayavka::catalog::profile::built_in;

use crate::{
    databases::{Database, on_both},
    world::{ANNA, OWNER, Options, STAFF, World},
};

/// A profile that trusts a unique field, with that field's name mistyped: the sandbox's CRM takes no notice of it.
fn mistyped(folder: &std::path::Path) -> String {
    let text = built_in::text("generic-searchable").unwrap_or_default();
    let text = text
        .replacen("name = \"generic-searchable\"", "name = \"mistyped\"", 1)
        .replacen("promise = \"searchable\"", "promise = \"keyed\"", 1)
        .replacen("repeat = \"duplicates\"", "repeat = \"updates\"", 1)
        .replacen("external_id = \"{{ ext.uuid }}\"", "external_idd = \"{{ ext.uuid }}\"", 1);
    let evidence =
        "\n[[profile.evidence]]\nclaim = \"as this test has it\"\nsource = \"this test\"\ndate = \"2026-11-30\"\n";
    let text = text.replacen("\n[vars.base_url]", &format!("{evidence}\n[vars.base_url]"), 1);
    let path = folder.join("mistyped.toml");
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{error}"));
    path.display().to_string()
}

const MINUTE: Duration = Duration::from_secs(60);

/// A CRM that neither shows our key in the answer to a create nor shows single tickets; it keeps the key in this field.
async fn mute(db: Database, folder: &std::path::Path, field: &str) -> World {
    let text = built_in::text("generic-searchable").unwrap_or_default();
    let (from, to) = text.find("[verify]\n").zip(text.find("[dedupe]\n")).unwrap_or_else(|| panic!("no [verify]"));
    let text = format!("{}{}", &text[..from], &text[to..])
        .replacen("name = \"generic-searchable\"", "name = \"mute\"", 1)
        .replacen("echo = \"external_id\"\n", "", 1)
        .replacen("external_id = \"{{ ext.uuid }}\"", &format!("{field} = \"{{{{ ext.uuid }}}}\""), 1);
    let path = folder.join("mute.toml");
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::with(db, Options::searchable()).await;
    let section = format!(
        "[crm]\nprofile = \"{}\"\n[crm.vars]\nbase_url = \"{}\"\n[crm.secrets]\ntoken = \"sandbox-secret\"\n",
        path.display(),
        world.crm_url()
    );
    world.options = world.options.clone().with_crm(section);
    world.restart().await;
    world
}

on_both! {
    async fn where_the_key_is_dropped_a_lost_answer_goes_to_a_person_and_is_not_repeated(db: Database) {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = mistyped(folder.path());
        let mut world = World::with(db, Options::searchable()).await;
        let section = format!(
            "[crm]\nprofile = \"{path}\"\n[crm.vars]\nbase_url = \"{}\"\n[crm.secrets]\ntoken = \"sandbox-secret\"\n",
            world.crm_url()
        );
        world.options = world.options.clone().with_crm(section);
        world.restart().await;
        world.apply(ANNA).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        let said = world.said(STAFF).await.join("\n");
        assert!(said.contains("без нашего ключа"), "{said}");
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("review", 2), "nobody asked for it twice");
        let marker = world.marker(ANNA).await;
        world.staff_as(OWNER, &format!("/link {marker} 1002")).await;
        assert_eq!(world.state(ANNA).await, "review", "the CRM shows no key of ours in it");
        world.staff_as(OWNER, &format!("/link {marker} 1002 без ключа")).await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 2));
        // Both tickets carry no key at all: nothing to count by.
        world.finish_elsewhere().await;
    }

    async fn a_crm_that_shows_no_single_ticket_and_drops_the_key_is_found_out_by_looking(db: Database) {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let mut world = mute(db, folder.path(), "external_idd").await;
        world.apply(ANNA).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
        let looks = world.calls("crm", "GET /tickets").await.len();
        world.pass(MINUTE).await;
        assert!(!world.said(STAFF).await.join("\n").contains("не находится"), "too early to say");
        assert_eq!(world.calls("crm", "GET /tickets").await.len(), looks, "nobody looks before the settle window ends");
        world.restart().await;
        world.pass(MINUTE * 5).await;
        let said = world.said(STAFF).await.join("\n");
        assert_eq!(said.matches("Заявка 1001 создана, но по нашему ключу в CRM не находится").count(), 1, "{said}");
        assert_eq!(world.calls("crm", "GET /tickets").await.len(), looks + 3, "as often as a miss must be repeated");
        // From then on a miss proves nothing: a person decides.
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        world.pass(MINUTE * 2).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("review", 2));
        let said = world.said(STAFF).await.join("\n");
        assert_eq!(said.matches("по нашему ключу в CRM не находится").count(), 1, "told once: {said}");
        world.finish_elsewhere().await;
    }

    async fn a_crm_whose_index_lags_is_not_taken_for_one_that_drops_the_key(db: Database) {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let mut world = mute(db, folder.path(), "external_id").await;
        world.post("/crm/options", json!({ "keyed": false, "lookup": true, "index_lag_ms": 60_000 })).await;
        world.apply(ANNA).await;
        world.pass(MINUTE * 10).await;
        let said = world.said(STAFF).await.join("\n");
        assert!(!said.contains("не находится"), "{said}");
        let looks = world.calls("crm", "GET /tickets").await.len();
        world.fill_in(ANNA).await;
        world.submit(ANNA).await;
        world.pass(MINUTE * 10).await;
        assert_eq!(world.calls("crm", "GET /tickets").await.len(), looks, "it is known, nobody looks again");
        world.finish().await;
    }
}
