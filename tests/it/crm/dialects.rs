//! Habits of single systems that cost tickets or get an address banned: each shipped profile against answers as its system
//! gives them, and against pages of whatever stands in between.

use std::{
    collections::BTreeSet,
    fs,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, net::TcpListener, task::JoinSet};
use zayavka::{
    catalog::profile::built_in,
    clock::Timestamp,
    crm::{
        limiter::{Admission, Limiter, Pace},
        steps::Forgetful,
    },
    domain::{
        attachment::Attachment,
        outcome::{Look, Outcome, Verified},
        ticket::TicketOrder,
    },
    ids::Marker,
};

use super::{
    key, order,
    peer::{self, Act, Peer, http},
    recorded,
};

const BITRIX: [&str; 3] = ["bitrix24-lead", "bitrix24-deal", "bitrix24-item"];
const AMO: [&str; 2] = ["amocrm", "amocrm-oauth"];

/// The most requests that a profile's pace lets through within any second of ten minutes.
fn most_in_a_second(name: &str) -> usize {
    let figures = recorded::crm(name, "127.0.0.1:9".parse().expect("an address")).figures();
    let mut limiter = Limiter::new(Pace::new(figures.per_second, figures.burst), Timestamp(0));
    let mut sent: Vec<i64> = Vec::new();
    for ms in (0..600_000).step_by(10) {
        // Everything at once, then nothing for a while, so that the bucket is full when the next crowd comes.
        if ms % 120_000 < 60_000 {
            while limiter.admit(Timestamp(ms), 1) == Admission::Go {
                sent.push(ms);
            }
        }
    }
    let within = |from: &i64| sent.iter().filter(|at| (*from..from + 1_000).contains(*at)).count();
    sent.iter().map(within).max().unwrap_or(0)
}

/// What the first create against these answers ends in; the last one is repeated.
async fn create(name: &str, answers: Vec<Vec<u8>>) -> (Outcome, Vec<String>) {
    let peer = Peer::new(answers.into_iter().map(Act::Say).collect()).await;
    let crm = recorded::crm(name, peer.address);
    let outcome = crm.create(&crm.prepare(&order()).expect("it fits"), &Forgetful::default()).await;
    (outcome, peer.requests())
}

async fn look(name: &str, answer: Vec<u8>) -> Look {
    let peer = Peer::new(vec![Act::Say(answer)]).await;
    recorded::crm(name, peer.address).look(key(), &Marker::of(key())).await
}

/// A peer that gives every request the page it holds at the moment.
async fn one_page() -> (SocketAddr, Arc<Mutex<Vec<u8>>>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let page = Arc::new(Mutex::new(Vec::new()));
    let shown = Arc::clone(&page);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // All of a request is there before its answer: what is unread at the close would become a reset.
            drop(peer::read(&mut stream, false).await);
            let page = shown.lock().expect("no panic holds it").clone();
            drop(stream.write_all(&page).await);
        }
    });
    (address, page, tasks)
}

fn bitrix_error(status: &str, error: &str, words: &str) -> Vec<u8> {
    http(status, "", &json!({"error": error, "error_description": words}).to_string())
}

fn wait_of(outcome: &Outcome) -> Option<Duration> {
    match outcome {
        Outcome::NotSent { wait, .. } => *wait,
        other => panic!("not sent, but {other:?}"),
    }
}

#[test]
fn bitrix24_is_asked_twice_a_second_at_most() {
    for name in BITRIX {
        // Two at once and one and a half more within the second: the bucket of two a second lets that through.
        assert!(most_in_a_second(name) <= 3, "{name}: {}", most_in_a_second(name));
        let figures = recorded::crm(name, "127.0.0.1:9".parse().expect("an address")).figures();
        assert!(figures.per_second <= 2.0 && figures.burst <= 2 && figures.concurrency == 1, "{name}: {figures:?}");
    }
}

#[tokio::test]
async fn bitrix24_over_its_rate_has_done_nothing_and_a_plain_503_proves_nothing() {
    for name in BITRIX {
        let (outcome, _) = create(name, vec![bitrix_error("503 X", "QUERY_LIMIT_EXCEEDED", "Too many requests")]).await;
        assert_eq!(wait_of(&outcome), Some(Duration::from_secs(2)), "{name}");
        let look = look(name, bitrix_error("503 X", "QUERY_LIMIT_EXCEEDED", "Too many requests")).await;
        assert!(matches!(look, Look::Unsure { wait: Some(_), .. }), "{name}: {look:?}");
    }
    for (name, busy) in
        [("bitrix24-lead", http("503 Service Unavailable", "", "<html>")), ("bitrix24-item", http("503 X", "", ""))]
    {
        let (outcome, _) = create(name, vec![busy]).await;
        assert!(matches!(outcome, Outcome::Lost { .. }), "{name}: {outcome:?}");
    }
}

#[tokio::test]
async fn bitrix24_waits_until_a_methods_budget_is_filled_again() {
    let date = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    let body =
        |time: Value| json!({"error": "OPERATION_TIME_LIMIT", "error_description": "", "time": time}).to_string();
    let until = json!({"operating": 480.1, "operating_reset_at": 784_111_777 + 90});
    for name in BITRIX {
        let (told, _) = create(name, vec![http("429 X", date, &body(until.clone()))]).await;
        assert_eq!(wait_of(&told), Some(Duration::from_secs(90)), "{name}");
        let (untold, _) = create(name, vec![http("429 X", date, &body(Value::Null))]).await;
        assert_eq!(wait_of(&untold), Some(Duration::from_secs(600)), "{name}: the whole window of the budget");
        let look = look(name, http("429 X", date, &body(until.clone()))).await;
        assert!(matches!(look, Look::Unsure { wait: Some(wait), .. } if wait.as_secs() == 90), "{name}: {look:?}");
    }
}

#[tokio::test]
async fn bitrix24_an_error_counts_with_any_status_and_with_an_empty_code() {
    for name in BITRIX {
        for (answer, wanted) in [
            (bitrix_error("200 OK", "ERROR_CORE", "Internal"), "Lost"),
            (bitrix_error("200 OK", "", ""), "Lost"),
            (bitrix_error("200 OK", "", "Access denied."), "AuthRefused"),
            (bitrix_error("400 Bad Request", "", "Access denied."), "AuthRefused"),
            (bitrix_error("400 Bad Request", "", "Поле обязательно"), "Refused"),
            (bitrix_error("400 Bad Request", "INTERNAL_SERVER_ERROR", "Internal server error"), "Lost"),
            (bitrix_error("500 X", "ERROR_UNEXPECTED_ANSWER", "Server returned an unexpected response"), "Lost"),
            (bitrix_error("401 X", "expired_token", "The access token has expired"), "AuthRefused"),
            (bitrix_error("503 X", "OVERLOAD_LIMIT", "REST API is blocked due to overload"), "AuthRefused"),
        ] {
            let crm = recorded::crm(name, "127.0.0.1:9".parse().expect("an address"));
            // Where a contact is found first, its step is answered well; then comes the ticket's own.
            let steps = crm.profile().steps.len() - 1;
            let well = http("200 OK", "", &json!({"result": {"CONTACT": [7], "item": {"id": 7}}}).to_string());
            let mut answers = vec![well; steps.min(1)];
            answers.push(answer.clone());
            let (outcome, _) = create(name, answers).await;
            let said = format!("{outcome:?}");
            assert!(said.starts_with(wanted), "{name}: {}: {said}", String::from_utf8_lossy(&answer));
        }
    }
}

#[test]
fn amocrm_is_asked_seven_times_a_second_at_most() {
    for name in AMO {
        assert!(most_in_a_second(name) <= 7, "{name}: {}", most_in_a_second(name));
    }
}

#[tokio::test]
async fn amocrm_never_uses_the_create_that_merges() {
    let lead = json!({"_embedded": {"leads": [{"id": 9}], "contacts": [{"id": 8}]}}).to_string();
    let none = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_vec();
    let (outcome, requests) = create("amocrm", vec![none, http("200 OK", "", &lead)]).await;
    assert!(matches!(outcome, Outcome::Created { .. }), "{outcome:?}");
    let lines: Vec<&str> = requests.iter().filter_map(|request| request.lines().next()).collect();
    let made: Vec<&&str> = lines.iter().filter(|line| line.starts_with("POST ")).collect();
    assert_eq!(made, [&"POST /api/v4/contacts HTTP/1.1", &"POST /api/v4/leads HTTP/1.1"]);
    for name in AMO {
        let profile = recorded::crm(name, "127.0.0.1:9".parse().expect("an address"));
        for step in &profile.profile().steps {
            let path = step.request.url.path.source();
            assert!(!path.contains("complex") && !path.contains("unsorted"), "{name}: {path}");
        }
    }
}

/// Whoever sends the same thing over and over is taken for a program gone wild: amoCRM blocks its address.
#[tokio::test]
async fn amocrm_the_same_request_comes_again_only_after_a_pause() {
    for name in AMO {
        let crm = recorded::crm(name, "127.0.0.1:9".parse().expect("an address"));
        for lookup in &crm.profile().lookups {
            assert!(lookup.spacing >= Duration::from_secs(30) && lookup.misses <= 3, "{name}: {lookup:?}");
        }
        let throttled =
            crm.profile().steps.iter().flat_map(|step| &step.outcome).filter(|rule| rule.status.contains(429));
        assert!(throttled.clone().count() >= 3, "{name}: every step knows 429");
        assert!(throttled.clone().all(|rule| rule.wait >= Some(Duration::from_secs(10))), "{name}");
    }
    // 429 with a page, and the block that follows: nothing is sent again at once.
    let (slow, requests) = create("amocrm", vec![http("429 Too Many Requests", "", "<html>429</html>")]).await;
    assert_eq!((wait_of(&slow), requests.len()), (Some(Duration::from_secs(10)), 1));
    let (blocked, requests) = create("amocrm", vec![http("403 Forbidden", "", "<html>blocked</html>")]).await;
    assert!(matches!(blocked, Outcome::AuthRefused { .. }) && requests.len() == 1, "{blocked:?}");
}

#[tokio::test]
async fn a_contacts_id_beyond_2_to_the_53_reaches_the_ticket_with_all_its_digits() {
    let contact = json!({"_embedded": {"contacts": [{"id": 9_007_199_254_740_993_u64,
        "custom_fields_values": [{"field_code": "PHONE", "values": [{"value": "+7 999 123-45-67"}]}]}]}});
    let lead = json!({"_embedded": {"leads": [{"id": 9_007_199_254_740_995_u64}]}});
    let answers = vec![http("200 OK", "", &contact.to_string()), http("200 OK", "", &lead.to_string())];
    let (outcome, requests) = create("amocrm", answers).await;
    let Outcome::Created { ticket } = outcome else { panic!("{outcome:?}") };
    assert_eq!(ticket.number, "9007199254740995");
    assert!(requests.last().is_some_and(|sent| sent.contains("{\"id\":9007199254740993}")), "{requests:?}");
}

/// `check` shows what each shipped profile would send: what only the CRM can say has a stand-in that fits every template.
#[test]
fn the_requests_of_every_shipped_profile_can_be_shown() {
    let file = Attachment {
        file_id: "f".into(),
        unique_id: "u".into(),
        name: Some("счёт.pdf".into()),
        size: Some(7),
        mime: "application/pdf".into(),
    };
    let order = TicketOrder { files: vec![file], ..order() };
    for (name, _) in built_in::ALL {
        let address = "127.0.0.1:9".parse().expect("an address");
        let crm = recorded::crm(name, address);
        let run = crm.dry_run(&order);
        assert_eq!(run.unfit, [], "{name}");
        let steps = crm.profile().steps.len();
        let shown = run.text.lines().filter(|line| line.contains("http://127.0.0.1:9/")).count();
        assert!(shown >= steps, "{name}: {}", run.text);
        for odd in ["invalid operation", "does not fit", "%2A%2A%2A", "900000000", "%3C"] {
            assert!(!run.text.contains(odd), "{name}: {odd} in {}", run.text);
        }
    }
    let deal = recorded::crm("bitrix24-deal", "127.0.0.1:9".parse().expect("an address")).dry_run(&order).text;
    assert!(deal.contains("/rest/17/***/") && deal.contains("<find_contact.id>"), "{deal}");
}

/// A page of HTML comes from a gateway, a firewall, a sign-in, a stopped tariff: whatever its status, it says nothing of a
/// ticket. Only of credentials and of a limit may a status speak alone.
#[tokio::test]
async fn a_page_of_html_proves_nothing_in_any_dialect() {
    const PAGE: &str =
        "<!doctype html><html><head><title>Error</title></head><body>id 17 number 17 not found</body></html>";
    let statuses = [
        "200 OK",
        "201 Created",
        "202 Accepted",
        "400 Bad Request",
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "409 Conflict",
        "422 Unprocessable",
        "429 Too Many",
        "500 Oops",
        "502 Bad Gateway",
        "503 Unavailable",
        "504 Timeout",
    ];
    let known: BTreeSet<&str> = built_in::ALL.iter().map(|(name, _)| *name).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/crm");
    let shipped = fs::read_dir(folder).expect("the profiles").count();
    assert_eq!(shipped, known.len());
    let mut all = JoinSet::new();
    for name in known {
        all.spawn(async move {
            let (address, page, _tasks) = one_page().await;
            let crm = recorded::crm(name, address);
            let prepared = crm.prepare(&order()).expect("it fits");
            for status in statuses {
                *page.lock().expect("no panic holds it") = http(status, "content-type: text/html\r\n", PAGE);
                let what = format!("{name}, {status}");
                let outcome = crm.create(&prepared, &Forgetful::default()).await;
                let silent = match &outcome {
                    Outcome::Lost { .. } | Outcome::NotSent { .. } => true,
                    Outcome::AuthRefused { .. } => status.starts_with("401") || status.starts_with("403"),
                    // A conflict only sends us looking, and asking again under the same key.
                    Outcome::Exists | Outcome::InFlight { .. } => status.starts_with("409"),
                    Outcome::Created { .. } | Outcome::Refused { .. } | Outcome::Unfit { .. } => false,
                };
                assert!(silent, "{what}: {outcome:?}");
                let look = crm.look(key(), &Marker::of(key())).await;
                assert!(matches!(look, Look::Unsure { .. } | Look::Impossible), "{what}: {look:?}");
                let number = ["17", "SD-17", "664-000017"].into_iter().find(|text| crm.profile().number.fits(text));
                let verified = crm.verify(number.expect("one fits"), key(), &Marker::of(key())).await;
                let nothing = matches!(verified, Verified::Unsure { .. } | Verified::Impossible);
                assert!(nothing, "{what}: {verified:?}");
            }
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap_or_else(|error| panic!("{error}"));
    }
}
