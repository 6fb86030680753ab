//! How long one call may take: the installation's time, the profile's own, and never longer than its lease.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use zayavka::{
    app,
    catalog::profile::{self, built_in},
    config::Config,
    crm::{
        Crm, CrmSettings, longest_call,
        steps::{Done, Forgetful, Saved, StepStore},
    },
    domain::{
        attachment::LeftOut,
        outcome::{Look, Outcome},
    },
    ids::{ExternalKey, Marker},
};

use super::{
    key, order,
    peer::{Act, Peer},
};

/// An attempt of whose lease so much is left.
struct Leased(Duration, Forgetful);

impl StepStore for Leased {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Saved>, String>> {
        self.1.load()
    }

    fn save(&self, step: &str, key: ExternalKey, done: &Done) -> BoxFuture<'_, Result<(), String>> {
        self.1.save(step, key, done)
    }

    fn begin(&self, step: &str, key: ExternalKey) -> BoxFuture<'_, Result<bool, String>> {
        self.1.begin(step, key)
    }

    fn note(&self, file: usize, why: LeftOut) -> BoxFuture<'_, ()> {
        self.1.note(file, why)
    }

    fn left(&self) -> Duration {
        self.0
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn may_differ(&self) -> bool {
        true
    }
}

fn profile_with(step: &str, lookup: &str) -> profile::Profile {
    let text = built_in::text("generic-searchable").expect("it ships");
    let text = text.replacen("name = \"create\"", &format!("name = \"create\"\n{step}"), 1).replacen(
        "name = \"by-external-id\"",
        &format!("name = \"by-external-id\"\n{lookup}"),
        1,
    );
    profile::load("crm.toml", &text).unwrap_or_else(|problems| panic!("{problems}")).0
}

/// A CRM that never answers, asked with this usual time.
async fn silent(step: &str, lookup: &str, usual: Duration) -> (Crm, Peer) {
    let peer = Peer::new(vec![Act::ReadStall]).await;
    let mut settings: CrmSettings = super::settings(&format!("http://{}", peer.address));
    settings.request_timeout = usual;
    let crm = Crm::new(Arc::new(profile_with(step, lookup)), settings).unwrap_or_else(|problems| panic!("{problems}"));
    (crm, peer)
}

const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_step_and_a_lookup_end_at_their_own_time() {
    let (crm, peer) = silent("timeout = \"500ms\"", "timeout = \"600ms\"", LONG).await;
    let prepared = crm.prepare(&order()).expect("it fits");
    let began = Instant::now();
    // Unknown, as with every answer that does not come.
    let outcome = crm.create(&prepared, &Forgetful::default()).await;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
    assert!(matches!(crm.look(key(), &Marker::of(key())).await, Look::Unsure { .. }));
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    assert_eq!(peer.requests().len(), 2);
}

#[tokio::test]
async fn a_step_may_take_longer_than_usual() {
    let (crm, _peer) = silent("timeout = \"1500ms\"", "", Duration::from_millis(500)).await;
    let prepared = crm.prepare(&order()).expect("it fits");
    let began = Instant::now();
    assert!(matches!(crm.create(&prepared, &Forgetful::default()).await, Outcome::Lost { .. }));
    assert!(began.elapsed() >= Duration::from_millis(1_400), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_call_ends_with_its_lease_and_does_not_begin_without_one() {
    let (crm, peer) = silent("timeout = \"10m\"", "", LONG).await;
    let prepared = crm.prepare(&order()).expect("it fits");
    let began = Instant::now();
    let outcome = crm.create(&prepared, &Leased(Duration::from_millis(600), Forgetful::default())).await;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    let outcome = crm.create(&prepared, &Leased(Duration::ZERO, Forgetful::default())).await;
    let Outcome::NotSent { detail, .. } = outcome else { panic!("{outcome:?}") };
    assert!(detail.contains("held up past its own lease"), "{detail}");
    assert_eq!(peer.requests().len(), 1, "the second one never went out");
}

#[test]
fn a_lease_shorter_than_the_profiles_own_time_is_refused_when_the_files_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let crm = folder.path().join("crm");
    std::fs::create_dir_all(&crm).expect("a folder");
    let checked = |timeout: &str, lease: &str| {
        let text = built_in::text("generic-searchable").expect("it ships");
        let text = text.replacen("name = \"create\"", &format!("name = \"create\"\ntimeout = \"{timeout}\""), 1);
        std::fs::write(crm.join("generic-searchable.toml"), text).expect("a file");
        let text = format!(
            "[telegram]\ntoken = \"1000000001:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc\"\n[staff]\nchat = -1001\nowners = [9001]\n\
             [crm]\nprofile = \"generic-searchable\"\nlease = \"{lease}\"\n[crm.vars]\n\
             base_url = \"http://127.0.0.1:1\"\n[crm.secrets]\ntoken = \"s3cret\"\n[templates]\ndir = \"{}\"\n",
            folder.path().display()
        );
        let config =
            Config::parse("zayavka.toml", &text, &BTreeMap::new()).unwrap_or_else(|problems| panic!("{problems}"));
        app::check(&config).map(|checked| checked.policy.request_timeout).map_err(|problems| problems.to_string())
    };
    let told = checked("40s", "30s").expect_err("refused");
    assert!(told.contains("zayavka.toml:8: `crm.lease` 30s is not longer than the longest call, 40s"), "{told}");
    assert_eq!(checked("40s", "60s"), Ok(Duration::from_secs(40)), "and what waits for a call waits as long");
}

#[test]
fn the_longest_call_counts_every_request_of_the_profile() {
    let (ten, forty) = (Duration::from_secs(10), Duration::from_secs(40));
    assert_eq!(longest_call(&profile_with("", ""), ten), ten);
    assert_eq!(longest_call(&profile_with("timeout = \"3s\"", ""), ten), ten);
    assert_eq!(longest_call(&profile_with("timeout = \"40s\"", ""), ten), forty);
    assert_eq!(longest_call(&profile_with("", "timeout = \"40s\""), ten), forty);
}
