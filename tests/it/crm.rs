//! The CRM client against real sockets: what each ending proves, and how many requests arrived.

mod peer;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use secrecy::SecretString;
use serde_json::json;
use uuid::Uuid;
use zayavka::{
    catalog::profile::{self, built_in},
    crm::{Crm, CrmSettings},
    domain::{
        outcome::{Look, Outcome, Promise, Verified},
        ticket::{Contact, Ticket, TicketOrder},
    },
    ids::{ExternalKey, Marker},
};

use self::peer::{Act, Peer, http};

const TOKEN: &str = "top-secret-token";

fn settings(base_url: &str) -> CrmSettings {
    CrmSettings {
        file: "zayavka.toml".to_owned(),
        vars: BTreeMap::from([("base_url".to_owned(), base_url.to_owned())]),
        secrets: BTreeMap::from([("token".to_owned(), SecretString::from(TOKEN))]),
        request_timeout: Duration::from_millis(400),
        connect_timeout: Duration::from_millis(200),
    }
}

fn crm(name: &str, base_url: &str) -> Crm {
    let text = built_in::text(name).expect("it ships");
    let (profile, _) = profile::load(name, text).unwrap_or_else(|problems| panic!("{problems}"));
    Crm::new(Arc::new(profile), settings(base_url)).unwrap_or_else(|problems| panic!("{problems}"))
}

fn key() -> ExternalKey {
    ExternalKey(Uuid::from_u128(0x5a5a_1234_5678_9abc_def0_1122_3344_5566))
}

fn order() -> TicketOrder {
    TicketOrder {
        key: key(),
        marker: Marker::of(key()),
        subject: "Консультация: Ёлка «Ж»".to_owned(),
        body: "Тема: налоги\n\u{202e}обратно\u{202c} 👩‍👩‍👧 \"кавычки\" \\ {{ no }} {auth}".to_owned(),
        contact: Contact { name: Some("Анна".to_owned()), phone: Some("+79991234567".to_owned()), email: None },
        fields: BTreeMap::from([("topic".to_owned(), "tax".to_owned())]),
    }
}

fn ticket(number: &str) -> Ticket {
    Ticket { id: number.to_owned(), number: number.to_owned(), url: None }
}

fn made(number: &str) -> String {
    json!({"id": number, "number": number, "external_id": key()}).to_string()
}

#[tokio::test]
async fn a_create_carries_the_order_unchanged_and_reads_the_ticket() {
    let peer = Peer::new(vec![Act::Say(http("201 Created", "", &made("1042")))]).await;
    let crm = crm("generic-keyed", &format!("http://{}/", peer.address));
    let prepared = crm.prepare(&order()).expect("it fits");
    assert_eq!(crm.create(&prepared).await, Outcome::Created { ticket: ticket("1042") });
    let requests = peer.requests();
    let [request] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    let (head, body) = request.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("POST /tickets HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("idempotency-key: \"{}\"", key())), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {TOKEN}")), "{head}");
    let order = order();
    let wanted = json!({
        "external_id": key(), "marker": order.marker, "subject": order.subject, "body": order.body,
        "contact": {"name": "Анна", "phone": "+79991234567"}, "fields": {"topic": "tax"},
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(body).expect("JSON"), wanted);
    assert_eq!(crm.promise(), Promise::Keyed);
}

#[tokio::test]
async fn a_look_finds_only_records_with_our_key() {
    let found = json!({"items": [{"id": 12, "number": "12", "external_id": key()}, {"id": 7, "number": "7", "external_id": key()}]});
    let missed = json!({"items": []});
    let others = json!({"items": [{"id": 1, "number": "1", "external_id": Uuid::nil()}]});
    let answers = [&found, &missed, &others].map(|body| Act::Say(http("200 OK", "", &body.to_string())));
    let peer = Peer::new(answers.to_vec()).await;
    let crm = crm("generic-searchable", &format!("http://{}", peer.address));
    let marker = Marker::of(key());
    assert_eq!(crm.look(key(), &marker).await, Look::Found { tickets: vec![ticket("7"), ticket("12")] });
    assert_eq!(crm.look(key(), &marker).await, Look::Missed);
    assert!(matches!(crm.look(key(), &marker).await, Look::Unsure { .. }));
    assert!(peer.requests()[0].starts_with(&format!("GET /tickets?external_id={} HTTP/1.1", key())));
    assert_eq!(peer.requests().len(), 3);
    assert_eq!(self::crm("generic-blind", "http://127.0.0.1:9").look(key(), &marker).await, Look::Impossible);
}

#[tokio::test]
async fn a_number_a_person_gave_is_read_back() {
    let answers = [
        ("200 OK", made("77")),
        ("200 OK", json!({"id": 77, "number": "77", "external_id": Uuid::nil()}).to_string()),
        ("200 OK", json!({"id": 77, "number": "77"}).to_string()),
        ("404 Not Found", String::new()),
        ("200 OK", made("78")),
        ("500 Oops", String::new()),
    ];
    let acts = answers.iter().map(|(status, body)| Act::Say(http(status, "", body))).collect();
    let peer = Peer::new(acts).await;
    let crm = crm("generic-keyed", &format!("http://{}", peer.address));
    let marker = Marker::of(key());
    let said = |number: &'static str| crm.verify(number, key(), &marker);
    assert_eq!(said("77").await, Verified::Ours { ticket: ticket("77") });
    assert_eq!(said("77").await, Verified::Foreign);
    assert_eq!(said("77").await, Verified::Exists { ticket: ticket("77") });
    assert_eq!(said("77").await, Verified::Absent);
    assert!(matches!(said("77").await, Verified::Unsure { .. }), "another ticket came");
    assert!(matches!(said("77").await, Verified::Unsure { .. }));
    // What cannot be a number is not even asked for.
    assert_eq!(said("../admin").await, Verified::Absent);
    assert_eq!(peer.requests().len(), 6);
}
