//! A create in several steps, by the whole product: each record is made once, whatever is lost and wherever it dies.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    routing::post,
};
use serde_json::{Value, json};
use zayavka::{
    ids::UserId,
    store::{crm_steps, operations},
};

use super::peer::{Act, Peer, http};
use crate::{
    databases::{Database, on_both},
    world::{ANNA, BOT, Options, SUBMIT, World},
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
async fn world(db: Database, acts: Vec<Act>) -> (World, Peer, tempfile::TempDir) {
    let peer = Peer::new(acts).await;
    let (world, folder) = at(db, peer.address).await;
    (world, peer, folder)
}

/// The product with this profile, its CRM at an address.
async fn at(db: Database, address: SocketAddr) -> (World, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stepped.toml");
    std::fs::write(&file, PROFILE).expect("a file");
    let section = format!("[crm]\nprofile = \"{}\"\n[crm.vars]\nbase_url = \"http://{address}\"\n", file.display());
    (World::with(db, Options::searchable().with_crm(section)).await, folder)
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
        let operation = world.operations(ANNA).await[0].operation.id;
        let store = world.app().store.clone();
        assert_eq!(crm_steps::load(store.reader(), operation).await.expect("rows").len(), 2);
        let erased = store.write(|tx| async move { operations::erase(tx.as_ref(), BOT, UserId(ANNA)).await }).await;
        assert_eq!(erased.expect("erased"), 1);
        assert!(crm_steps::load(store.reader(), operation).await.expect("rows").is_empty(), "answers go with their steps");
        drop(store);
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

/// A CRM that keeps contacts and tickets by their keys.
#[derive(Default)]
struct Kept {
    contacts: Vec<String>,
    tickets: Vec<String>,
}

type Shared = Arc<Mutex<Kept>>;

fn kept(shared: &Shared, what: &str, change: impl FnOnce(&mut Vec<String>) -> Value) -> Json<Value> {
    let mut all = shared.lock().expect("no panic holds it");
    let list = if what == "contacts" { &mut all.contacts } else { &mut all.tickets };
    Json(change(list))
}

async fn make(
    State(shared): State<Shared>,
    Path(what): Path<String>,
    Json(body): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let made = kept(&shared, &what, |list| {
        list.push(body["ref"].as_str().unwrap_or_default().to_owned());
        json!({"id": list.len()})
    });
    (StatusCode::CREATED, made)
}

async fn find(State(shared): State<Shared>, Path(what): Path<String>, Query(query): Query<Value>) -> Json<Value> {
    kept(&shared, &what, |list| {
        let ours = list.iter().enumerate().filter(|(_, known)| query["ref"] == known.as_str());
        json!({"items": ours.map(|(at, known)| json!({"id": at + 1, "ref": known})).collect::<Vec<_>>()})
    })
}

#[tokio::test]
async fn wherever_it_dies_between_two_steps_nothing_is_made_twice() {
    // Stored and not sent; the contact answered and stored; the ticket stored and not sent; the ticket answered and stored.
    for point in 1..=4 {
        crate::databases::run(crate::databases::Kind::Sqlite, async move |db| {
            let shared = Shared::default();
            let app = Router::new().route("/{what}", post(make).get(find)).with_state(Arc::clone(&shared));
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            let address = listener.local_addr().expect("an address");
            let mut serving = tokio::task::JoinSet::new();
            serving.spawn(async move { axum::serve(listener, app).await });
            let (mut world, _folder) = at(db, address).await;
            world.fill_in(ANNA).await;
            world.kill_at("crm.step", point);
            let summary = world.message_with(ANNA, SUBMIT).await;
            world.press(ANNA, summary, SUBMIT).await;
            world.settle().await;
            assert!(!world.is_alive(), "it did not die at step {point}");
            world.start().await;
            world.pass(MINUTE * 20).await;
            let made = || shared.lock().map(|all| (all.contacts.len(), all.tickets.len())).expect("no panic holds it");
            if point == 4 {
                assert_eq!((world.state(ANNA).await, made()), ("created", (1, 1)));
            } else {
                // A process that died while sending has proved nothing: the ticket was looked for, now a person decides.
                assert_eq!(
                    (world.state(ANNA).await, made()),
                    ("review", (usize::from(point > 1), 0)),
                    "died at {point}"
                );
                let marker = world.marker(ANNA).await;
                world.create_after_all(crate::world::OWNER, &marker, "её нет").await;
                world.pass(MINUTE * 20).await;
                assert_eq!((world.state(ANNA).await, made()), ("created", (1, 1)), "died at {point}");
            }
            world.finish_elsewhere().await;
        })
        .await;
    }
}
