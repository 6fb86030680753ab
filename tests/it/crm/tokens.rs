//! Tokens that are asked for and renewed: one request for all, kept in the database, used once.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::json;
use zayavka::{
    catalog::profile,
    clock::{ManualClock, Timestamp},
    crm::{Crm, CrmSettings, steps::Forgetful},
    domain::outcome::Outcome,
    store::{Store, settings},
    worker::SharedTokens,
};

use super::{
    key, order,
    peer::{Act, Peer, http},
};

/// The generic profile behind OAuth2 with a refresh token that changes with each use.
fn profile_text() -> String {
    let text = profile::built_in::text("generic-searchable").expect("it ships");
    let auth = "kind = \"oauth2_refresh\"\ntoken_url = \"{{ vars.base_url }}/token\"\nclient_id = \"id\"\n\
                client_secret = \"{{ secrets.token }}\"\nrefresh_secret = \"first\"\nmargin = \"1m\"\n\
                [secrets.first]\nhelp = \"the first refresh token\"";
    text.replacen("kind = \"bearer\"\nsecret = \"token\"", auth, 1)
}

struct Bench {
    store: Store,
    clock: ManualClock,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store =
            Store::connect(&format!("sqlite://{}", folder.path().join("t.db").display())).await.expect("a database");
        store.migrate().await.expect("a schema");
        Self { store, clock: ManualClock::at(Timestamp(1_796_030_962_000)), _folder: folder }
    }

    /// One process of the installation.
    fn replica(&self, name: &str, peer: &Peer) -> Arc<Crm> {
        self.replica_of(&profile_text(), name, peer)
    }

    fn replica_of(&self, text: &str, name: &str, peer: &Peer) -> Arc<Crm> {
        let (profile, _) = profile::load("crm.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
        let mut settings: CrmSettings = super::settings(&format!("http://{}", peer.address));
        settings.secrets.insert("first".to_owned(), "refresh-one".into());
        let tokens = SharedTokens {
            store: self.store.clone(),
            holder: name.to_owned(),
            patience: Duration::from_secs(20),
            clock: Arc::new(self.clock.clone()),
        };
        let crm = Crm::new(Arc::new(profile), settings).unwrap_or_else(|problems| panic!("{problems}"));
        Arc::new(crm.with_tokens(Arc::new(tokens)))
    }
}

fn token(access: &str, refresh: &str) -> Act {
    let body = json!({"access_token": access, "refresh_token": refresh, "expires_in": 3600});
    Act::Say(http("200 OK", "", &body.to_string()))
}

fn made() -> Act {
    Act::Say(http("201 Created", "", &json!({"id": 5, "number": "5", "external_id": key()}).to_string()))
}

fn refused(status: &str) -> Act {
    Act::Say(http(status, "", "{\"error\":\"invalid_grant\"}"))
}

async fn create(crm: &Crm) -> Outcome {
    crm.create(&crm.prepare(&order()).expect("it fits"), &Forgetful::default()).await
}

fn asked(peer: &Peer) -> Vec<String> {
    peer.requests().into_iter().filter(|request| request.starts_with("POST /token")).collect()
}

#[tokio::test]
async fn many_at_once_ask_for_one_token() {
    let bench = Bench::new().await;
    let peer = Peer::new(vec![token("access-one", "refresh-two"), made()]).await;
    let crm = bench.replica("a", &peer);
    let outcomes = join_all((0..8).map(|_| create(&crm))).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Created { .. })), "{outcomes:?}");
    assert_eq!((asked(&peer).len(), peer.requests().len()), (1, 9));
    assert!(peer.requests().iter().skip(1).all(|request| request.contains("authorization: Bearer access-one")));
}

#[tokio::test]
async fn replicas_share_one_token_and_each_refresh_token_is_used_once() {
    let bench = Bench::new().await;
    let peer = Peer::new(vec![
        token("access-one", "refresh-two"),
        made(),
        made(),
        token("access-two", "refresh-three"),
        made(),
    ])
    .await;
    let (one, two) = (bench.replica("a", &peer), bench.replica("b", &peer));
    assert!(matches!(create(&one).await, Outcome::Created { .. }));
    assert!(matches!(create(&two).await, Outcome::Created { .. }));
    assert_eq!(asked(&peer).len(), 1, "the second replica read the first one's token");
    bench.clock.advance(Duration::from_secs(3_590));
    assert!(matches!(create(&two).await, Outcome::Created { .. }));
    // The first replica's own copy has ended as well: it reads what the second one stored.
    assert!(matches!(create(&one).await, Outcome::Created { .. }));
    let asked = asked(&peer);
    assert_eq!(asked.len(), 2);
    assert!(asked[0].ends_with("&refresh_token=refresh-one"), "{}", asked[0]);
    assert!(asked[1].ends_with("&refresh_token=refresh-two"), "{}", asked[1]);
    let kept = settings::get(bench.store.reader(), "crm.token.generic-searchable").await.expect("it reads");
    let kept = kept.expect("a token is kept");
    assert!(kept.starts_with("sealed1:") && !kept.contains("access") && !kept.contains("refresh"), "{kept}");
    // And so does a process that starts anew, which the configuration still gives the first one.
    assert!(matches!(create(&bench.replica("c", &peer)).await, Outcome::Created { .. }));
    assert_eq!(self::asked(&peer).len(), 2);
}

#[tokio::test]
async fn while_one_replica_renews_the_others_wait() {
    let bench = Bench::new().await;
    let slow = Peer::new(vec![Act::ReadStall]).await;
    let (one, two) = (bench.replica("a", &slow), bench.replica("b", &slow));
    let (first, second) = tokio::join!(create(&one), async {
        while asked(&slow).is_empty() {
            tokio::task::yield_now().await;
        }
        create(&two).await
    });
    assert!(matches!(first, Outcome::NotSent { wait: None, .. }), "no token, nothing sent: {first:?}");
    let Outcome::NotSent { detail, wait } = second else { panic!("{second:?}") };
    assert!(detail.contains("another process") && wait.is_some(), "{detail}");
    assert_eq!(slow.requests().len(), 1);
}

#[tokio::test]
async fn an_ended_token_is_renewed_once_and_a_fresh_one_that_is_refused_stops_the_queue() {
    let bench = Bench::new().await;
    let peer = Peer::new(vec![
        token("access-one", "refresh-two"),
        made(),
        refused("401 Unauthorized"),
        token("access-two", "refresh-three"),
        made(),
        token("access-three", "refresh-four"),
        refused("401 Unauthorized"),
    ])
    .await;
    let crm = bench.replica("a", &peer);
    assert!(matches!(create(&crm).await, Outcome::Created { .. }));
    bench.clock.advance(Duration::from_secs(600));
    // The CRM ended it before its time: nothing was done, and the next attempt goes with a new one.
    assert!(matches!(create(&crm).await, Outcome::NotSent { wait: Some(_), .. }));
    assert!(matches!(create(&crm).await, Outcome::Created { .. }));
    bench.clock.advance(Duration::from_secs(3_600));
    let outcome = create(&crm).await;
    assert!(matches!(outcome, Outcome::AuthRefused { .. }), "{outcome:?}");
}

/// The same behind a login whose session ends with a word of the CRM, under a status that says other things too.
fn ending_profile() -> String {
    let ended =
        "relogin_on = [{ status = [200, 400, 403], where = [{ path = \"error\", equals = \"session_expired\" }] }]\n";
    let text = profile_text().replacen("margin = \"1m\"\n", &format!("margin = \"1m\"\n{ended}"), 1);
    assert!(text.contains("relogin_on"), "{text}");
    text
}

fn ended(status: &str) -> Act {
    Act::Say(http(status, "", "{\"error\":\"session_expired\",\"message\":\"log in again\"}"))
}

#[tokio::test]
async fn a_session_that_ended_by_the_crms_own_word_is_renewed_once_whatever_the_status() {
    for status in ["200 OK", "400 Bad Request", "403 Forbidden"] {
        let bench = Bench::new().await;
        let peer = Peer::new(vec![
            token("access-one", "refresh-two"),
            made(),
            ended(status),
            token("access-two", "refresh-three"),
            made(),
            ended(status),
        ])
        .await;
        let crm = bench.replica_of(&ending_profile(), "a", &peer);
        assert!(matches!(create(&crm).await, Outcome::Created { .. }), "{status}");
        bench.clock.advance(Duration::from_secs(600));
        let outcome = create(&crm).await;
        assert!(matches!(outcome, Outcome::NotSent { wait: Some(_), .. }), "{status}: nothing was done: {outcome:?}");
        assert!(matches!(create(&crm).await, Outcome::Created { .. }), "{status}");
        assert_eq!(asked(&peer).len(), 2, "{status}");
        // The new session ended at once: logging in again and again would not help.
        let outcome = create(&crm).await;
        assert!(matches!(outcome, Outcome::AuthRefused { .. }), "{status}: {outcome:?}");
        assert_eq!(asked(&peer).len(), 2, "{status}");
    }
}

#[tokio::test]
async fn the_same_status_with_another_word_is_no_end_of_a_session() {
    let bench = Bench::new().await;
    let peer = Peer::new(vec![
        token("access-one", "refresh-two"),
        made(),
        Act::Say(http("400 Bad Request", "", "{\"error\":\"no_subject\",\"message\":\"Укажите тему\"}")),
        Act::Say(http("200 OK", "", "{\"error\":\"?\"}")),
    ])
    .await;
    let crm = bench.replica_of(&ending_profile(), "a", &peer);
    assert!(matches!(create(&crm).await, Outcome::Created { .. }));
    bench.clock.advance(Duration::from_secs(600));
    assert!(matches!(create(&crm).await, Outcome::Refused { .. }));
    assert!(matches!(create(&crm).await, Outcome::Lost { .. }));
    assert_eq!(asked(&peer).len(), 1);
}

#[tokio::test]
async fn a_refused_refresh_is_told_without_a_secret() {
    let bench = Bench::new().await;
    let said = json!({"error": "invalid_grant", "error_description": "token refresh-one of top-secret-token is spent"});
    let peer = Peer::new(vec![Act::Say(http("400 Bad Request", "", &said.to_string()))]).await;
    let Outcome::AuthRefused { detail } = create(&bench.replica("a", &peer)).await else { panic!("no refusal") };
    assert!(
        detail.contains("is spent") && !detail.contains("refresh-one") && !detail.contains("top-secret"),
        "{detail}"
    );
}

/// The token's answer names where the API is; the profile says which hosts that may be.
fn moving_profile(hosts: &str) -> String {
    profile_text().replacen("margin = \"1m\"", &format!("margin = \"1m\"\nbase_url = \"api\"\nbase_hosts = {hosts}"), 1)
}

fn token_at(base: &str) -> Act {
    let body = json!({"access_token": "access-one", "refresh_token": "refresh-two", "expires_in": 3600, "api": base});
    Act::Say(http("200 OK", "", &body.to_string()))
}

#[tokio::test]
async fn the_api_is_asked_where_the_tokens_answer_says_it_is() {
    let bench = Bench::new().await;
    let api = Peer::new(vec![made()]).await;
    let login = Peer::new(vec![token_at(&format!("http://{}/", api.address))]).await;
    let text = moving_profile("[\"127.0.0.1\"]");
    let outcome = create(&bench.replica_of(&text, "a", &login)).await;
    assert!(matches!(outcome, Outcome::Created { .. }), "{outcome:?}");
    assert_eq!((login.requests().len(), api.requests().len()), (1, 1));
    assert!(api.requests()[0].starts_with("POST /tickets HTTP/1.1"), "{:?}", api.requests());
    // What another process asked for is known to all, the address too.
    let outcome = create(&bench.replica_of(&text, "b", &login)).await;
    assert!(matches!(outcome, Outcome::Created { .. }), "{outcome:?}");
    assert_eq!((login.requests().len(), api.requests().len()), (1, 2));
}

#[tokio::test]
async fn a_tokens_answer_sends_neither_token_nor_answers_to_a_foreign_host() {
    let foreign = Peer::new(vec![made()]).await;
    let address = foreign.address.port();
    let hosts = "[\".salesforce.com\", \"api.example.ru\"]";
    let bases = [
        format!("http://127.0.0.1:{address}"),
        format!("http://salesforce.com.localhost:{address}"),
        format!("http://evilsalesforce.com.localhost:{address}"),
        "http://eu1.salesforce.com".to_owned(),
        "https://user@eu1.salesforce.com".to_owned(),
        "nonsense".to_owned(),
    ];
    for base in bases {
        let bench = Bench::new().await;
        let login = Peer::new(vec![token_at(&base), made()]).await;
        let outcome = create(&bench.replica_of(&moving_profile(hosts), "a", &login)).await;
        assert!(matches!(outcome, Outcome::AuthRefused { .. }), "{base}: {outcome:?}");
        assert_eq!((login.requests().len(), foreign.requests().len()), (1, 0), "{base}");
    }
    let text = moving_profile("[\"127.0.0.1\"]").replacen("base_hosts", "#", 1);
    let problems = profile::load("crm.toml", &text).expect_err("hosts are needed").to_string();
    assert!(problems.contains("base_hosts"), "{problems}");
}
