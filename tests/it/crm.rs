//! The CRM client against real sockets: what each ending proves, and how many requests arrived.

#![expect(clippy::expect_used, reason = "a test that cannot set itself up should stop there")]

mod dialects;
mod paced;
pub(crate) mod peer;
mod recorded;
mod sandboxed;
mod scanned;
mod sight;
mod stepped;
mod timed;
mod tokens;
mod untrusted;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use secrecy::SecretString;
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;
use zayavka::{
    catalog::profile::{self, built_in},
    crm::{Crm, CrmSettings, steps::Forgetful},
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
        places: zayavka::config::places::Places::new("zayavka.toml", BTreeMap::new()),
        vars: BTreeMap::from([("base_url".to_owned(), base_url.to_owned())]),
        secrets: BTreeMap::from([("token".to_owned(), SecretString::from(TOKEN))]),
        // Generous to a busy machine; tests that run into it do so side by side.
        request_timeout: Duration::from_secs(5),
        // Too long on purpose: the client must not let it reach the whole limit.
        connect_timeout: Duration::from_secs(60),
    }
}

fn crm(name: &str, base_url: &str) -> Crm {
    crm_with(name, settings(base_url))
}

fn crm_with(name: &str, settings: CrmSettings) -> Crm {
    let text = built_in::text(name).expect("it ships");
    let (profile, _) = profile::load(name, text).unwrap_or_else(|problems| panic!("{problems}"));
    Crm::new(Arc::new(profile), settings).unwrap_or_else(|problems| panic!("{problems}"))
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
        files: Vec::new(),
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
    assert_eq!(crm.create(&prepared, &Forgetful::default()).await, Outcome::Created { ticket: ticket("1042") });
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
async fn a_request_is_signed_as_it_goes_out() {
    let text = built_in::text("generic-searchable").expect("it ships");
    let auth = "kind = \"hmac\"\nname = \"X-Hmac-Authorization\"\nsecret = \"token\"\n\
                sign = \"{{ request.method }} {{ request.path | replace('/api/v1', '') }}\"\n\
                value = \"{{ ['key:', signature.hex] | join | base64 }}\"";
    let text = text.replacen("kind = \"bearer\"\nsecret = \"token\"", auth, 1);
    let (profile, _) = profile::load("crm.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    let peer = Peer::new(vec![Act::Say(http("201 Created", "", &made("1")))]).await;
    let settings = settings(&format!("http://{}/api/v1", peer.address));
    let crm = Crm::new(Arc::new(profile), settings).unwrap_or_else(|problems| panic!("{problems}"));
    let outcome = crm.create(&crm.prepare(&order()).expect("it fits"), &Forgetful::default()).await;
    assert!(matches!(outcome, Outcome::Created { .. }), "{outcome:?}");
    // printf 'POST /tickets' | openssl dgst -sha256 -hmac top-secret-token, then base64 of `key:` and that.
    let wanted = "x-hmac-authorization: a2V5OjMyOTA1ZjRlYWI1YTNiYjYyM2M1ZjY2MzQxZTYxM2E5OGM5ODEwNmNhMzk1YmJlYmIxZmRkNjE0ZDBlZGY4MDI=";
    assert!(peer.requests()[0].contains(wanted), "{}", peer.requests()[0]);
    assert!(!peer.requests()[0].contains(TOKEN));
    let shown = crm.dry_run(&order()).text;
    assert!(
        shown.contains("x-hmac-authorization: ")
            && !shown.contains(
                "a2V5OjMyOTA1ZjRlYWI1YTNiYjYyM2M1ZjY2MzQxZTYxM2E5OGM5ODEwNmNhMzk1YmJlYmIxZmRkNjE0ZDBlZGY4MDI="
            ),
        "{shown}"
    );
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
        ("404 Not Found", json!({"message": "no such ticket"}).to_string()),
        // Said by whatever has no such route: not by the CRM of a ticket.
        ("404 Not Found", String::new()),
        ("404 Not Found", json!({"message": "Cannot GET /tickets/77"}).to_string()),
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
    assert!(matches!(said("77").await, Verified::Unsure { .. }));
    assert!(matches!(said("77").await, Verified::Unsure { .. }));
    assert!(matches!(said("77").await, Verified::Unsure { .. }), "another ticket came");
    assert!(matches!(said("77").await, Verified::Unsure { .. }));
    // What cannot be a number is not even asked for.
    assert_eq!(said("../admin").await, Verified::Absent);
    assert_eq!(peer.requests().len(), 8);
}

/// What a create ended in, without its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Created,
    Refused,
    NotSent,
    Lost,
}

impl End {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Created { .. } => Self::Created,
            Outcome::Refused { .. } => Self::Refused,
            Outcome::NotSent { .. } => Self::NotSent,
            Outcome::Lost { .. } => Self::Lost,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn each_way_a_call_can_end_proves_what_it_proves_and_nothing_is_sent_twice() {
    let good = || http("201 Created", "", &made("5"));
    let half_body = good()[..good().len() - 8].to_vec();
    let half_head = b"HTTP/1.1 201 Cre".to_vec();
    let huge = http("201 Created", "", &format!("{{\"id\":1,\"number\":1,\"x\":\"{}\"}}", "x".repeat(2 << 20)));
    let redirect = |status: &str| http(status, "location: /tickets\r\n", &made("5"));
    let html = "<html><body>id number 201 Created</body></html>";
    let cases: Vec<(&str, Act, End, usize)> = vec![
        ("good", Act::Say(good()), End::Created, 1),
        ("closes before reading", Act::Close, End::Lost, 0),
        ("closes after reading", Act::ReadClose, End::Lost, 1),
        ("resets after reading", Act::ReadReset, End::Lost, 1),
        ("stalls after reading", Act::ReadStall, End::Lost, 1),
        ("half a head, then closes", Act::Say(half_head.clone()), End::Lost, 1),
        ("half a head, then stalls", Act::SayStall(half_head), End::Lost, 1),
        ("half a body, then closes", Act::Say(half_body.clone()), End::Lost, 1),
        ("half a body, then stalls", Act::SayStall(half_body), End::Lost, 1),
        (
            "a cut chunk",
            Act::Say(b"HTTP/1.1 201 X\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{\"id\"".to_vec()),
            End::Lost,
            1,
        ),
        ("drips far too slowly", Act::SayDrip(good()), End::Lost, 1),
        ("not HTTP", Act::Say(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()), End::Lost, 1),
        ("a success of HTML", Act::Say(http("200 OK", "content-type: text/html\r\n", html)), End::Lost, 1),
        ("a success of nothing", Act::Say(http("200 OK", "", "")), End::Lost, 1),
        ("204", Act::Say(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_vec()), End::Lost, 1),
        ("a success without a number", Act::Say(http("201 Created", "", r#"{"id": 5}"#)), End::Lost, 1),
        ("a number that is none", Act::Say(http("201 Created", "", &made("5; DROP"))), End::Lost, 1),
        ("another's key", Act::Say(http("201 Created", "", r#"{"id":5,"number":5,"external_id":"x"}"#)), End::Lost, 1),
        ("a huge body", Act::Say(huge), End::Lost, 1),
        ("302", Act::Say(redirect("302 Found")), End::Lost, 1),
        ("307", Act::Say(redirect("307 Temporary Redirect")), End::Lost, 1),
        ("308", Act::Say(redirect("308 Permanent Redirect")), End::Lost, 1),
        ("404", Act::Say(http("404 Not Found", "", "{}")), End::Lost, 1),
        ("500", Act::Say(http("500 Oops", "", &made("5"))), End::Lost, 1),
        ("502 by a proxy", Act::Say(http("502 Bad Gateway", "", html)), End::Lost, 1),
        ("503 that says nothing", Act::Say(http("503 Busy", "", "")), End::Lost, 1),
        ("503 that says when", Act::Say(http("503 Busy", "retry-after: 7\r\n", "")), End::NotSent, 1),
        ("400 by a proxy", Act::Say(http("400 Bad Request", "", html)), End::Lost, 1),
        ("422", Act::Say(http("422 No", "", r#"{"message": "нет темы"}"#)), End::Refused, 1),
        ("413 before the body was read", Act::SayEarly(http("413 Too Large", "", "")), End::Lost, 0),
        ("422 before the body was read", Act::SayEarly(http("422 No", "", r#"{"message": "нет"}"#)), End::Refused, 0),
    ];
    let mut all = JoinSet::new();
    for (name, act, end, arrived) in cases {
        all.spawn(async move {
            let peer = Peer::new(vec![act]).await;
            let crm = crm("generic-keyed", &format!("http://{}", peer.address));
            let outcome = crm.create(&crm.prepare(&order()).expect("it fits"), &Forgetful::default()).await;
            assert_eq!(End::of(&outcome), end, "{name}: {outcome:?}");
            assert_eq!(peer.requests().len(), arrived, "{name}");
            let said = format!("{outcome:?}");
            assert!(!said.contains(TOKEN) && !said.contains("налоги") && !said.contains("http://"), "{name}: {said}");
        });
    }
    all.join_all().await;
}

#[tokio::test]
async fn a_connection_that_never_came_about_proves_that_nothing_was_sent() {
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        listener.local_addr().expect("an address")
    };
    // A listener whose queue is full drops the first packet of every further connection.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let deaf = socket.listen(1).expect("it listens");
    let deaf = (deaf.local_addr().expect("an address"), deaf);
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let connect = tokio::net::TcpStream::connect(deaf.0);
        waiting.push(tokio::time::timeout(Duration::from_millis(50), connect).await);
    }
    let junk = Peer::new(vec![Act::Close]).await;
    let silent = Peer::new(vec![Act::ReadStall]).await;
    let mut all = JoinSet::new();
    for (name, base) in [
        ("nothing listens", format!("http://{closed}")),
        ("no such host", "http://no-such-host.localhost.invalid.test:1".to_owned()),
        ("the host is deaf", format!("http://{}", deaf.0)),
        ("TLS is cut off", format!("https://{}", junk.address)),
        ("TLS is never answered", format!("https://{}", silent.address)),
    ] {
        all.spawn(async move {
            let crm = crm("generic-keyed", &base);
            let outcome = crm.create(&crm.prepare(&order()).expect("it fits"), &Forgetful::default()).await;
            assert!(matches!(outcome, Outcome::NotSent { wait: None, .. }), "{name}: {outcome:?}");
            assert!(matches!(crm.look(key(), &Marker::of(key())).await, Look::Unsure { .. }), "{name}");
        });
    }
    all.join_all().await;
    assert!(silent.requests().is_empty() && junk.requests().is_empty());
}

#[tokio::test]
async fn a_reset_right_at_the_accept_is_never_taken_for_an_answer() {
    // Whether the reset still meets the connect or already the first byte is a race; both proofs are true ones.
    let peer = Peer::new(vec![Act::Reset]).await;
    let crm = crm("generic-keyed", &format!("http://{}", peer.address));
    let outcome = crm.create(&crm.prepare(&order()).expect("it fits"), &Forgetful::default()).await;
    assert!(matches!(End::of(&outcome), End::NotSent | End::Lost), "{outcome:?}");
    assert!(peer.requests().is_empty());
}

#[tokio::test]
async fn a_repeat_is_the_same_bytes_after_storage_and_a_changed_profile() {
    let peer = Peer::new(vec![Act::ReadClose, Act::Say(http("201 Created", "", &made("9")))]).await;
    let base = format!("http://{}", peer.address);
    let first = crm("generic-keyed", &base);
    let prepared = first.prepare(&order()).expect("it fits");
    assert_eq!(prepared, first.prepare(&order()).expect("it fits"));
    let stored = serde_json::to_string(&prepared).expect("it is stored");
    assert!(!stored.contains(TOKEN), "a secret is stored");
    assert!(matches!(first.create(&prepared, &Forgetful::default()).await, Outcome::Lost { .. }));
    let second = crm("generic-blind", &base);
    let loaded = serde_json::from_str(&stored).expect("it is loaded");
    assert_eq!(second.create(&loaded, &Forgetful::default()).await, Outcome::Created { ticket: ticket("9") });
    let requests = peer.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
}

#[tokio::test]
async fn a_request_prepared_for_another_address_goes_nowhere() {
    let peer = Peer::new(vec![Act::Say(http("201 Created", "", &made("9")))]).await;
    let old = crm("generic-keyed", &format!("http://{}", peer.address));
    let prepared = old.prepare(&order()).expect("it fits");
    let new = crm("generic-keyed", "http://127.0.0.1:9");
    assert!(matches!(new.create(&prepared, &Forgetful::default()).await, Outcome::NotSent { .. }));
    assert!(peer.requests().is_empty());
}

#[tokio::test]
async fn a_person_is_told_what_the_crm_said_short_and_clean() {
    let said = json!({"message": format!("Плохой\r\nтокен {TOKEN} \u{202e}!{}", "я".repeat(900))}).to_string();
    let answers = [("422 No", &said), ("401 Who", &said)].map(|(status, body)| Act::Say(http(status, "", body)));
    let peer = Peer::new(answers.to_vec()).await;
    let crm = crm("generic-keyed", &format!("http://{}", peer.address));
    let prepared = crm.prepare(&order()).expect("it fits");
    let Outcome::Refused { message } = crm.create(&prepared, &Forgetful::default()).await else { panic!("a refusal") };
    assert!(message.starts_with("Плохой токен *** !яяя") && message.chars().count() <= 300, "{message}");
    let Outcome::AuthRefused { detail } = crm.create(&prepared, &Forgetful::default()).await else {
        panic!("a refusal")
    };
    assert!(!detail.contains(TOKEN), "{detail}");
}

#[test]
fn a_dry_run_shows_the_request_and_no_secret() {
    let shown = crm("generic-keyed", "http://127.0.0.1:9100").dry_run(&order()).text;
    assert!(shown.starts_with("POST http://127.0.0.1:9100/tickets\n"), "{shown}");
    assert!(
        shown.contains("authorization: Bearer ***") && shown.contains("\"subject\": \"Консультация: Ёлка «Ж»\""),
        "{shown}"
    );
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[test]
fn settings_that_do_not_fit_are_all_named_at_once() {
    let text = built_in::text("generic-keyed").expect("it ships");
    let (profile, _) = profile::load("generic-keyed", text).expect("it loads");
    let profile = Arc::new(profile);
    let mut wrong = settings("ftp://crm");
    wrong.vars.insert("base_ulr".to_owned(), "x".to_owned());
    wrong.secrets = BTreeMap::from([("tokne".to_owned(), SecretString::from("hush"))]);
    let problems = Crm::new(Arc::clone(&profile), wrong).expect_err("it does not fit").to_string();
    insta::assert_snapshot!(problems, @r"
    zayavka.toml: `crm.vars.base_url`: it must be an address that begins with https:// or http:// — the address before /tickets, such as https://crm.example.ru/api
    zayavka.toml: the profile `generic-keyed` has no variable `base_ulr` — did you mean `base_url`?
    zayavka.toml: `crm.secrets.token` is missing — sent as Authorization: Bearer …
    zayavka.toml: the profile `generic-keyed` has no secret `tokne` — did you mean `token`?
    ");
    let open = Crm::new(profile, settings("http://crm.example.ru")).expect_err("plain http").to_string();
    insta::assert_snapshot!(open, @"zayavka.toml: the CRM is asked over plain http across the open network: anyone on the way sees all — an https:// address");
}
