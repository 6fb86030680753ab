//! The three generic profiles against the sandbox's CRM: does each keep what it promises? Tickets are counted there.

use serde_json::{Value, json};
use zayavka::{
    crm::{Crm, steps::Forgetful},
    domain::outcome::{Look, Outcome, Verified},
    ids::Marker,
    sandbox::{Listen, World, WorldOptions},
};

use super::{TOKEN, key, order};

struct Bench {
    world: World,
    http: reqwest::Client,
}

impl Bench {
    async fn start() -> Self {
        let options = WorldOptions { listen: Listen::Free, crm_token: TOKEN.to_owned(), ..WorldOptions::default() };
        let world = World::start(options).await.expect("a world");
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { world, http }
    }

    fn crm(&self, profile: &str) -> Crm {
        super::crm(profile, &self.world.crm_base_url())
    }

    async fn fault(&self, rule: Value) {
        let url = format!("{}/sandbox/crm/faults", self.world.api_url());
        let status = self.http.post(url).json(&rule).send().await.expect("it answers").status();
        assert_eq!(status, 200, "{rule}");
    }

    async fn tickets(&self) -> u64 {
        let url = format!("{}/sandbox/crm/tickets", self.world.api_url());
        let answer: Value = self.http.get(url).send().await.expect("it answers").json().await.expect("JSON");
        answer["count"].as_u64().expect("a count")
    }
}

async fn create(crm: &Crm) -> Outcome {
    crm.create(&crm.prepare(&order()).expect("it fits"), &Forgetful::default()).await
}

#[tokio::test]
async fn keyed_a_repeat_after_a_lost_answer_names_the_one_ticket() {
    let bench = Bench::start().await;
    let crm = bench.crm("generic-keyed");
    bench.fault(json!({"on": "POST /tickets", "do": "lose_answer", "times": 1})).await;
    assert!(matches!(create(&crm).await, Outcome::Lost { .. }));
    assert_eq!(bench.tickets().await, 1);
    let Outcome::Created { ticket } = create(&crm).await else { panic!("the ticket") };
    assert_eq!(bench.tickets().await, 1);
    assert!(ticket.url.is_some_and(|url| url.starts_with(&bench.world.crm_base_url())));
    let marker = Marker::of(key());
    assert!(matches!(crm.verify(&ticket.number, key(), &marker).await, Verified::Ours { .. }));
    assert_eq!(crm.verify("999999", key(), &marker).await, Verified::Absent);
}

#[tokio::test]
async fn searchable_a_lost_answer_is_found_and_a_repeat_doubles() {
    let bench = Bench::start().await;
    let crm = bench.crm("generic-searchable");
    let marker = Marker::of(key());
    assert_eq!(crm.look(key(), &marker).await, Look::Missed);
    bench.fault(json!({"on": "POST /tickets", "do": "lose_answer", "times": 1})).await;
    assert!(matches!(create(&crm).await, Outcome::Lost { .. }));
    let Look::Found { tickets } = crm.look(key(), &marker).await else { panic!("the ticket") };
    assert_eq!(tickets.len(), 1);
    // What the promise is there to prevent.
    assert!(matches!(create(&crm).await, Outcome::Created { .. }));
    let Look::Found { tickets } = crm.look(key(), &marker).await else { panic!("both tickets") };
    assert_eq!((tickets.len(), bench.tickets().await), (2, 2));
}

#[tokio::test]
async fn blind_it_creates_and_that_is_all() {
    let bench = Bench::start().await;
    let crm = bench.crm("generic-blind");
    assert!(matches!(create(&crm).await, Outcome::Created { .. }));
    assert_eq!(crm.look(key(), &Marker::of(key())).await, Look::Impossible);
    assert_eq!(bench.tickets().await, 1);
}

#[tokio::test]
async fn a_wrong_token_and_an_outage_make_nothing() {
    let bench = Bench::start().await;
    let mut settings = super::settings(&bench.world.crm_base_url());
    settings.secrets.insert("token".to_owned(), "another".into());
    let stranger = super::crm_with("generic-keyed", settings);
    assert!(matches!(create(&stranger).await, Outcome::AuthRefused { .. }));
    assert_eq!(bench.tickets().await, 0);
    let crm = bench.crm("generic-keyed");
    bench.world.stop().await;
    assert!(matches!(create(&crm).await, Outcome::NotSent { .. }));
}
