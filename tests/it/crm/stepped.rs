//! A create in several steps, by the whole product: each record is made once, whatever is lost and wherever it dies.

use std::time::Duration;

use serde_json::json;

use super::peer::{Act, Peer, http};
use crate::{
    databases::on_both,
    world::{ANNA, Options, World},
};

const MINUTE: Duration = Duration::from_secs(60);

/// A contact that is found by its own key, then the ticket.
const PROFILE: &str = r#"
auth.kind = "none"
number.pattern = "[0-9]{1,9}"
[profile]
name = "stepped"
system = "Two steps"
promise = "searchable"
verified = { date = "2026-11-30", against = "a peer on loopback" }
[vars.base_url]
type = "url"
help = "the address"
[[step]]
name = "contact"
kind = "make"
when = "contact.phone"
request = { url = "{{ vars.base_url }}/contacts", body = { ref = "{{ ext.token }}", phone = "{{ contact.phone }}" } }
read = { id = "id" }
outputs = { group = "group" }
outcome = [{ status = 201, is = "created" }]
[step.lookup]
name = "contact"
request = { url = "{{ vars.base_url }}/contacts", query = { ref = "{{ ext.token }}" } }
results = "items"
match = { path = "ref", equals = "{{ ext.token }}" }
read = { id = "id" }
settle_after = "90s"
[[step]]
name = "create"
request = { url = "{{ vars.base_url }}/tickets", body = { ref = "{{ ext.token }}", contact = "{{ steps.contact.id | int }}", group = "{{ steps.contact.group }}", text = "{{ body }}" } }
read = { id = "id" }
outcome = [{ status = 201, is = "created" }]
[[lookup]]
name = "ticket"
request = { url = "{{ vars.base_url }}/tickets", query = { ref = "{{ ext.token }}" } }
results = "items"
match = { path = "ref", equals = "{{ ext.token }}" }
read = { id = "id" }
"#;

fn say(status: &str, body: &serde_json::Value) -> Act {
    Act::Say(http(status, "", &body.to_string()))
}

fn contact() -> Act {
    say("201 Created", &json!({"id": 7, "group": "vip"}))
}

fn ticket() -> Act {
    say("201 Created", &json!({"id": 41}))
}

/// The product with this profile, its CRM a peer with these acts.
async fn world(db: crate::databases::Database, acts: Vec<Act>) -> (World, Peer, tempfile::TempDir) {
    let peer = Peer::new(acts).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stepped.toml");
    std::fs::write(&file, PROFILE).expect("a file");
    let section =
        format!("[crm]\nprofile = \"{}\"\n[crm.vars]\nbase_url = \"http://{}\"\n", file.display(), peer.address);
    (World::with(db, Options::searchable().with_crm(section)).await, peer, folder)
}

/// What was sent, by its first line.
fn sent(peer: &Peer, line: &str) -> Vec<String> {
    peer.requests().into_iter().filter(|request| request.starts_with(line)).collect()
}

on_both! {
    async fn what_one_step_gives_the_next_one_sends(db: Database) {
        let (mut world, peer, _folder) = world(db, vec![contact(), ticket()]).await;
        world.apply(ANNA).await;
        assert_eq!(world.state(ANNA).await, "created");
        let tickets = sent(&peer, "POST /tickets");
        assert_eq!((tickets.len(), sent(&peer, "POST /contacts").len()), (1, 1));
        assert!(tickets[0].contains("\"contact\":7") && tickets[0].contains("\"group\":\"vip\""), "{}", tickets[0]);
        world.finish_elsewhere().await;
    }

    async fn a_lost_contact_is_looked_for_by_its_own_key_and_the_ticket_waits_for_it(db: Database) {
        let found = json!({"items": []});
        let (mut world, peer, _folder) = world(db, vec![Act::ReadClose, say("200 OK", &found), contact(), ticket()]).await;
        world.apply(ANNA).await;
        assert_eq!(world.state(ANNA).await, "pending", "nothing of the ticket has gone out");
        world.pass(MINUTE).await;
        assert_eq!(peer.requests().len(), 1, "a miss would not count yet");
        world.pass(MINUTE * 5).await;
        assert_eq!(world.state(ANNA).await, "created");
        let contacts = sent(&peer, "POST /contacts");
        assert_eq!(contacts.len(), 2);
        assert_eq!(contacts[0], contacts[1], "the same bytes under the same key");
        assert_eq!((sent(&peer, "GET /contacts").len(), sent(&peer, "POST /tickets").len()), (1, 1));
        world.finish_elsewhere().await;
    }

    async fn a_ticket_lost_after_its_contact_is_looked_for_and_nothing_is_made_again(db: Database) {
        let (mut world, peer, _folder) = world(db, vec![contact(), Act::ReadClose, say("200 OK", &json!({"items": []}))]).await;
        world.apply(ANNA).await;
        assert_eq!(world.state(ANNA).await, "unknown");
        world.pass(MINUTE * 10).await;
        assert_eq!(world.state(ANNA).await, "review");
        assert_eq!((sent(&peer, "POST /contacts").len(), sent(&peer, "POST /tickets").len()), (1, 1));
        world.finish_elsewhere().await;
    }
}

#[tokio::test]
async fn wherever_it_dies_between_two_steps_it_goes_on_from_there() {
    for point in 1..=4 {
        crate::databases::run(crate::databases::Kind::Sqlite, async move |db| {
            // The peer gives the contact whenever it is looked for; otherwise it makes what it is asked to.
            let acts = match point {
                // Stored, not sent: it is looked for first, since nobody knows.
                1 => vec![say("200 OK", &json!({"items": []})), contact(), ticket()],
                // Answered and stored, then stored for the ticket.
                2 | 3 => vec![contact(), say("200 OK", &json!({"items": []}))],
                _ => vec![contact(), ticket(), say("200 OK", &json!({"items": []}))],
            };
            let (mut world, peer, _folder) = world(db, acts).await;
            world.fill_in(ANNA).await;
            world.kill_at("crm.step", point);
            let summary = world.message_with(ANNA, crate::world::SUBMIT).await;
            world.press(ANNA, summary, crate::world::SUBMIT).await;
            world.settle().await;
            assert!(!world.is_alive(), "it did not die at step {point}");
            world.start().await;
            world.pass(MINUTE * 20).await;
            // A process that died while it was sending has proved nothing: the ticket is looked for, and then a person decides.
            assert_eq!(world.state(ANNA).await, "review", "died at {point}");
            let (contacts, tickets) = (sent(&peer, "POST /contacts").len(), sent(&peer, "POST /tickets").len());
            assert_eq!((contacts, tickets), (usize::from(point > 1), usize::from(point > 3)), "died at {point}");
            world.finish_elsewhere().await;
        })
        .await;
    }
}
