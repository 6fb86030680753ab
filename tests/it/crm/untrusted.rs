//! Answers of a CRM are strangers' texts: they take neither memory nor time without end, and nothing of them is shown
//! to a person that is not a number by the profile and a link to the CRM's own host.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
};
use zayavka::{
    crm::steps::Forgetful,
    domain::outcome::{Look, Outcome, Verified},
    ids::Marker,
};

use super::{
    crm, key, order,
    peer::{Act, Peer, http},
};

/// A CRM that answers once with `head` and then with `piece` for as long as anybody listens. Gives how many bytes it got rid
/// of, when the client has hung up.
async fn endless(head: &'static [u8], piece: &'static [u8]) -> (String, JoinSet<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let mut task = JoinSet::new();
    task.spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut some = [0; 16_384];
        let _ = stream.read(&mut some).await;
        if stream.write_all(head).await.is_err() {
            return 0;
        }
        let mut sent = 0;
        while stream.write_all(piece).await.is_ok() {
            sent += piece.len();
        }
        sent
    });
    (address, task)
}

async fn create(base_url: &str) -> Outcome {
    let crm = crm("generic-keyed", base_url);
    crm.create(&crm.prepare(&order()).expect("it fits"), &Forgetful::default()).await
}

/// More than a client reads and the buffers on both sides hold.
const FAR_TOO_MUCH: usize = 64 << 20;

#[tokio::test]
async fn a_body_that_never_ends_is_cut_at_its_limit() {
    const PIECE: &[u8] = &[b'x'; 65_536];
    for head in [
        &b"HTTP/1.1 201 Created\r\nconnection: close\r\n\r\n{\"x\":\""[..],
        b"HTTP/1.1 201 Created\r\ncontent-length: 99999999999\r\n\r\n{\"x\":\"",
    ] {
        let (address, mut peer) = endless(head, PIECE).await;
        let Outcome::Lost { detail } = create(&address).await else { panic!("nothing is proved") };
        assert!(detail.contains("more than 1048576 bytes"), "{detail}");
        assert!(peer.join_next().await.expect("a peer").expect("it ends") < FAR_TOO_MUCH, "nobody read on");
    }
}

#[tokio::test]
async fn headers_that_never_end_are_cut_at_their_limit() {
    let (address, mut peer) = endless(b"HTTP/1.1 201 Created\r\n", b"x-more: and more of it and more of it\r\n").await;
    let outcome = create(&address).await;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
    assert!(peer.join_next().await.expect("a peer").expect("it ends") < FAR_TOO_MUCH, "nobody read on");
}

#[tokio::test]
async fn headers_dripped_byte_by_byte_end_with_the_time_limit() {
    let drip = || Act::SayDrip(http("201 Created", "", &json!({"id": 5, "number": 5}).to_string()));
    let peer = Peer::new(vec![drip()]).await;
    let address = format!("http://{}", peer.address);
    let Outcome::Lost { detail } = create(&address).await else { panic!("nothing is proved") };
    assert!(detail.contains("timed out"), "{detail}");
    let peer = Peer::new(vec![drip()]).await;
    let crm = crm("generic-keyed", &format!("http://{}", peer.address));
    assert!(matches!(crm.look(key(), &Marker::of(key())).await, Look::Unsure { .. }));
}

#[tokio::test]
async fn a_packed_body_is_never_unpacked() {
    // {"id":5,"number":"5"}, packed: whoever unpacked it would also unpack a gigabyte of zeros.
    const PACKED: &[u8] = &[
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xab, 0x56, 0xca, 0x4c, 0x51, 0xb2, 0x32, 0xd5, 0x51, 0xca, 0x2b, 0xcd,
        0x4d, 0x4a, 0x2d, 0x52, 0xb2, 0x52, 0x32, 0x55, 0xaa, 5, 0, 0xe5, 0x58, 0x12, 0x71, 0x15, 0, 0, 0,
    ];
    let head = format!(
        "HTTP/1.1 201 Created\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        PACKED.len()
    );
    let peer = Peer::new(vec![Act::Say([head.as_bytes(), PACKED].concat())]).await;
    let outcome = create(&format!("http://{}", peer.address)).await;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
    let asked = peer.requests().join("").to_ascii_lowercase();
    assert!(asked.starts_with("post ") && !asked.contains("accept-encoding"), "nobody asked for it: {asked}");
}

#[tokio::test]
async fn what_is_no_number_by_the_profile_is_shown_to_nobody() {
    for odd in ["<b>1</b>", "1 2", "../1", "1\u{202e}2", "", "https://evil.ru", &"1".repeat(500)] {
        let record = json!({"id": 5, "number": odd, "external_id": key()});
        let peer = Peer::new(vec![
            Act::Say(http("201 Created", "", &record.to_string())),
            Act::Say(http("200 OK", "", &json!({"items": [record]}).to_string())),
            Act::Say(http("200 OK", "", &record.to_string())),
        ])
        .await;
        let crm = crm("generic-keyed", &format!("http://{}", peer.address));
        let outcome = crm.create(&crm.prepare(&order()).expect("it fits"), &Forgetful::default()).await;
        assert!(matches!(outcome, Outcome::Lost { .. }), "{odd}: {outcome:?}");
        let look = crm.look(key(), &Marker::of(key())).await;
        assert!(matches!(look, Look::Unsure { .. }), "{odd}: {look:?}");
        let verified = crm.verify("5", key(), &Marker::of(key())).await;
        assert!(matches!(verified, Verified::Unsure { .. }), "{odd}: {verified:?}");
        let all = format!("{outcome:?}{look:?}{verified:?}");
        assert!(odd.is_empty() || !all.contains(odd), "{all}");
    }
}

#[tokio::test]
async fn a_link_leads_to_the_crms_own_host_or_is_none() {
    for (told, shown) in [
        ("http://OWN/tickets/5", true),
        ("http://user@OWN/tickets/5", false),
        ("http://OWN@evil.ru/tickets/5", false),
        ("https://evil.ru/OWN", false),
        ("http://127.0.0.1:1/tickets/5", false),
        ("ftp://OWN/tickets/5", false),
        ("javascript:alert(1)//OWN", false),
        ("http://\u{ff11}27.0.0.1:1/", false),
        ("http://localhos\u{442}/tickets/5", false),
        ("//OWN/tickets/5", false),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let told = told.replace("OWN", &address.to_string());
        let body = json!({"id": 5, "number": "5", "external_id": key(), "url": told}).to_string();
        listener.set_nonblocking(true).expect("a socket");
        let listener = TcpListener::from_std(listener).expect("a socket");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let mut some = [0; 16_384];
            let _ = stream.read(&mut some).await;
            let _ = stream.write_all(&http("201 Created", "", &body)).await;
        });
        let Outcome::Created { ticket } = create(&format!("http://{address}")).await else { panic!("{told}") };
        let own = format!("http://{address}/");
        assert!(ticket.url.as_ref().is_none_or(|url| url.starts_with(&own)), "{told}: {ticket:?}");
        assert_eq!(ticket.url.as_deref() == Some(told.as_str()), shown, "{told}: {ticket:?}");
    }
}

#[tokio::test]
async fn ids_keep_all_their_digits_and_may_be_texts() {
    let cases: [(Value, Option<&str>); 6] = [
        (json!(9_007_199_254_740_993_u64), Some("9007199254740993")),
        (json!(18_446_744_073_709_551_615_u64), Some("18446744073709551615")),
        (json!("9007199254740993"), Some("9007199254740993")),
        (json!("0042"), Some("0042")),
        // Beyond what a whole number holds, a fraction, a list: no ticket's number, and never a rounded one.
        (serde_json::from_str("123456789012345678901234567890").expect("JSON"), None),
        (json!(5.5), None),
    ];
    for (number, wanted) in cases {
        let body = json!({"id": number, "number": number, "external_id": key()}).to_string();
        let peer = Peer::new(vec![Act::Say(http("201 Created", "", &body))]).await;
        let said = match create(&format!("http://{}", peer.address)).await {
            Outcome::Created { ticket } => Some((ticket.id, ticket.number)),
            Outcome::Lost { .. } => None,
            other => panic!("{number}: {other:?}"),
        };
        let wanted = wanted.map(|text| (text.to_owned(), text.to_owned()));
        assert_eq!(said, wanted, "{number}");
    }
}
