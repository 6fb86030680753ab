//! The whole product against real servers: Redmine and Request Tracker, from Debian's packages, on loopback. Tickets are
//! counted in the server's own database.
//!
//! Each server is one test, since it is one server: it comes up once, and everything that can happen to a create happens
//! to it in turn.

#![expect(clippy::expect_used, reason = "a test that cannot set itself up should stop there")]

mod line;
mod redmine;
mod request_tracker;
mod server;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use zayavka::{
    catalog::profile,
    crm::{Crm, CrmSettings, steps::Forgetful},
    domain::{
        outcome::{Look, Outcome, Verified},
        ticket::{Contact, TicketOrder},
    },
    ids::{BotId, ConfirmVersion, DraftId, ExternalKey, Marker},
};

use self::{
    line::{Break, Line},
    server::{Recipe, Server},
};
use crate::{
    databases::Database,
    world::{ANNA, Options, STAFF, SUBMIT, World},
};

/// Everything that tells one server from the other.
struct Real {
    recipe: Recipe,
    /// The profile's name.
    profile: &'static str,
    /// Variables beside `base_url`, and the secret's name.
    vars: fn(&Server) -> Vec<(&'static str, String)>,
    secret: &'static str,
    /// The variable that names the key's field, and a field the server does not have.
    wrong_field: (&'static str, &'static str),
    /// How many tickets hold a key, and how many keys are held by more than one ticket.
    with_key: fn(&str) -> String,
    twins: &'static str,
    tickets: &'static str,
}

impl Real {
    fn vars(&self, server: &Server, url: String) -> BTreeMap<String, String> {
        let own = (self.vars)(server).into_iter().map(|(name, value)| (name.to_owned(), value));
        own.chain([("base_url".to_owned(), url)]).collect()
    }

    /// The operator's `[crm]` section; a change of the profile's text makes it a file of its own.
    fn section(&self, server: &Server, url: &str, secret: &str) -> String {
        let mut text =
            format!("[crm]\nprofile = \"{}\"\nrequest_timeout = \"15s\"\nlease = \"40s\"\n[crm.vars]\n", self.profile);
        for (name, value) in self.vars(server, url.to_owned()) {
            text.push_str(&format!("{name} = \"{value}\"\n"));
        }
        text.push_str(&format!("[crm.secrets]\n{} = \"{secret}\"\n", self.secret));
        text
    }

    /// The client alone, by the profile's text as it is or changed.
    fn crm(&self, server: &Server, url: String, change: impl FnOnce(String) -> String) -> Crm {
        let text = profile::built_in::text(self.profile).expect("it ships").to_owned();
        let (profile, _) = profile::load(self.profile, &change(text)).unwrap_or_else(|problems| panic!("{problems}"));
        let settings = CrmSettings {
            places: zayavka::config::places::Places::new("zayavka.toml", BTreeMap::new()),
            vars: self.vars(server, url),
            secrets: BTreeMap::from([(self.secret.to_owned(), server.seed.secret.as_str().into())]),
            request_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(3),
        };
        Crm::new(Arc::new(profile), settings).unwrap_or_else(|problems| panic!("{problems}"))
    }
}

fn order(number: u32) -> TicketOrder {
    let draft = DraftId(uuid::Uuid::from_u128(u128::from(number)));
    let key = ExternalKey::derive(BotId(77), draft, ConfirmVersion(1));
    TicketOrder {
        key,
        marker: Marker::of(key),
        subject: "Консультация: «Ёлка»\nвторая строка".to_owned(),
        body: format!("Строка\nещё 👩‍👩‍👧 \"кавычки\" \\ {}", Marker::of(key)),
        contact: Contact { name: Some("Анна".to_owned()), phone: Some("+79991234567".to_owned()), email: None },
        fields: BTreeMap::new(),
        files: Vec::new(),
    }
}

/// A server, the line to it, and the product on the other end.
struct Bench<'r> {
    real: &'r Real,
    server: Server,
    line: Line,
    world: World,
    /// Scenario, creates sent, tickets more, states on the way.
    rows: Vec<(String, usize, i64)>,
}

impl<'r> Bench<'r> {
    async fn start(real: &'r Real, database: Database) -> Self {
        let server = Server::start(&real.recipe).await;
        let line = Line::to(server.port).await;
        let section = real.section(&server, &line.url(), &server.seed.secret);
        let options = Options::searchable()
            .with_crm(section)
            .places(500)
            .set("limits.open_drafts_per_client", "50")
            .set("limits.submissions_per_client_per_hour", "500");
        let world = World::with(database, options).await;
        Self { real, server, line, world, rows: Vec::new() }
    }

    async fn tickets(&self) -> i64 {
        self.server.number(self.real.tickets).await
    }

    async fn with_key(&self, key: ExternalKey) -> i64 {
        let token = format!("z{}", key.0.simple());
        self.server.number(&(self.real.with_key)(&token)).await
    }

    /// The newest operation, its state and its ticket's number.
    async fn newest(&self) -> (ExternalKey, String, String) {
        let all = self.world.operations(ANNA).await;
        let newest = all.into_iter().max_by_key(|stored| stored.operation.confirmed_at).expect("an operation");
        let number = match &newest.operation.state {
            zayavka::domain::operation::State::Created { ticket } => ticket.number.clone(),
            _ => String::new(),
        };
        (newest.operation.key, newest.operation.state.name().to_owned(), number)
    }

    /// One ticket with one photo, through the whole product; the server's own database counts both.
    async fn photo(&mut self, attached: &str) {
        let (files, before, creates) = (self.server.number(attached).await, self.tickets().await, self.line.creates());
        self.world.change_form(|_| crate::attachments::FORM.to_owned());
        self.world.restart().await;
        self.world.type_text(ANNA, "/start").await;
        self.world.type_text(ANNA, "Анна").await;
        self.world.act(ANNA, "photo", serde_json::json!({})).await;
        self.world.settle().await;
        self.world.tap(ANNA, "Готово").await;
        self.world.type_text(ANNA, "всё").await;
        self.world.tap(ANNA, SUBMIT).await;
        self.world.pass(Duration::from_secs(600)).await;
        self.settled("with a photo", before, creates, 1).await;
        assert_eq!(self.server.number(attached).await - files, 1, "the photo is with its ticket");
    }

    /// Applies once and lets time pass until all is settled; the CRM must hold one ticket more, the person know its number.
    async fn one_ticket(&mut self, scenario: &str, breaks: Option<Break>) {
        let (before, creates) = (self.tickets().await, self.line.creates());
        if let Some(how) = breaks {
            self.line.breaks(how);
        }
        self.world.apply(ANNA).await;
        self.world.pass(Duration::from_secs(600)).await;
        self.settled(scenario, before, creates, 1).await;
    }

    async fn settled(&mut self, scenario: &str, before: i64, creates: usize, more: i64) {
        let (key, state, number) = self.newest().await;
        assert_eq!(state, "created", "{scenario}: {}", self.world.last_text(ANNA).await);
        let said = self.world.said(ANNA).await.join("\n");
        assert!(said.contains(&format!("№ {number}")), "{scenario}: {number} was not told: {said}");
        assert_eq!((self.tickets().await - before, self.with_key(key).await), (more, 1), "{scenario}");
        self.rows.push((scenario.to_owned(), self.line.creates() - creates, self.tickets().await - before));
    }

    async fn all(&mut self) {
        self.one_ticket("create", None).await;
        self.repeat_taps().await;
        self.one_ticket("lost answer after the record was made", Some(Break::Answer)).await;
        self.one_ticket("5xx after creating", Some(Break::Says500)).await;
        self.lost_before().await;
        self.restart_between().await;
        self.wrong_token().await;
        self.late_write().await;
        self.client_alone().await;
        self.dropped_key_is_told().await;
    }

    /// Counts in the server's own database and ends.
    async fn end(self) {
        assert_eq!(self.server.number(self.real.twins).await, 0, "some key is held by two tickets");
        println!("\n{}: scenario | creates sent | tickets more", self.real.profile);
        for (scenario, creates, more) in &self.rows {
            println!("  {scenario:45} {creates:3} {more:3}");
        }
        println!("  tickets in its database: {}, keys held twice: 0\n", self.tickets().await);
        self.world.finish_elsewhere().await;
    }

    async fn repeat_taps(&mut self) {
        let (before, creates) = (self.tickets().await, self.line.creates());
        self.world.fill_in(ANNA).await;
        let summary = self.world.message_with(ANNA, SUBMIT).await;
        for _ in 0..3 {
            self.world.press(ANNA, summary, SUBMIT).await;
        }
        self.world.settle().await;
        self.world.pass(Duration::from_secs(600)).await;
        let toast = self.world.tap_on(ANNA, summary, SUBMIT).await;
        let (_, _, number) = self.newest().await;
        assert!(toast.contains(&number), "{toast}");
        self.settled("four taps", before, creates, 1).await;
    }

    /// What was never made cannot be found, and a person decides.
    async fn lost_before(&mut self) {
        let (before, creates) = (self.tickets().await, self.line.creates());
        self.line.breaks(Break::Before);
        self.world.apply(ANNA).await;
        self.world.pass(Duration::from_secs(600)).await;
        let (_, state, _) = self.newest().await;
        assert_eq!((state.as_str(), self.tickets().await), ("review", before));
        let marker = self.newest_marker().await;
        self.world.create_after_all(crate::world::OWNER, &marker, "её нет в CRM").await;
        self.world.pass(Duration::from_secs(600)).await;
        self.settled("lost answer before, then a person's word", before, creates, 1).await;
    }

    async fn newest_marker(&self) -> String {
        let all = self.world.operations(ANNA).await;
        let newest = all.into_iter().max_by_key(|stored| stored.operation.confirmed_at).expect("an operation");
        newest.marker.to_string()
    }

    /// The process dies between the CRM's answer and its own note of it.
    async fn restart_between(&mut self) {
        let (before, creates) = (self.tickets().await, self.line.creates());
        self.world.fill_in(ANNA).await;
        self.world.kill_at("crm.answered", 1);
        self.world.press(ANNA, self.world.message_with(ANNA, SUBMIT).await, SUBMIT).await;
        self.world.settle().await;
        assert!(!self.world.is_alive(), "it did not die");
        self.world.start().await;
        self.world.pass(Duration::from_secs(900)).await;
        self.settled("restart between", before, creates, 1).await;
    }

    async fn wrong_token(&mut self) {
        let (before, creates) = (self.tickets().await, self.line.creates());
        let right = self.world.options.clone();
        let wrong = self.real.section(&self.server, &self.line.url(), "1-2-0123456789abcdef0123456789abcdef");
        self.world.options = right.clone().with_crm(wrong);
        self.world.restart().await;
        self.world.apply(ANNA).await;
        self.world.pass(Duration::from_secs(60)).await;
        let (_, state, _) = self.newest().await;
        assert_eq!((state.as_str(), self.tickets().await), ("pending", before), "nothing is lost, nothing is made");
        self.world.options = right;
        self.world.restart().await;
        self.world.pass(Duration::from_secs(900)).await;
        self.settled("wrong token, then the right one", before, creates, 1).await;
    }

    /// The server takes the request, says nothing until its client has given up, and then carries it out all the same.
    async fn late_write(&mut self) {
        let (before, creates) = (self.tickets().await, self.line.creates());
        self.server.freeze();
        self.world.apply(ANNA).await;
        let (_, state, _) = self.newest().await;
        self.server.go_on();
        assert_eq!(state, "unknown");
        self.until_more_than(before).await;
        self.world.pass(Duration::from_secs(600)).await;
        self.settled("a late write", before, creates, 1).await;
    }

    async fn until_more_than(&self, before: i64) {
        let mut beat = tokio::time::interval(Duration::from_millis(200));
        for _ in 0..150 {
            beat.tick().await;
            if self.tickets().await > before {
                return;
            }
        }
        panic!("the late write never came");
    }

    /// With a wrong name for the key's field the CRM makes tickets and drops the key: staff are told at the first one, and
    /// a lost answer goes to a person at once, since no lookup means anything.
    async fn dropped_key_is_told(&mut self) {
        let (before, creates) = (self.tickets().await, self.line.creates());
        let right = self.world.options.clone();
        let (var, wrong) = self.real.wrong_field;
        let section = self.real.section(&self.server, &self.line.url(), &self.server.seed.secret);
        let known = format!("{var} = \"{}\"", self.server.seed.key_field);
        assert!(section.contains(&known), "{section}");
        self.world.options = right.clone().with_crm(section.replace(&known, &format!("{var} = \"{wrong}\"")));
        self.world.restart().await;
        self.world.apply(ANNA).await;
        self.world.pass(Duration::from_secs(30)).await;
        let said = self.world.said(STAFF).await.join("\n");
        assert!(said.contains("без нашего ключа"), "{said}");
        self.line.breaks(Break::Answer);
        self.world.apply(ANNA).await;
        self.world.pass(Duration::from_secs(300)).await;
        assert_eq!(self.newest().await.1, "review");
        assert_eq!(self.tickets().await - before, 2);
        self.rows.push(("a dropped key: two requests, two tickets".to_owned(), self.line.creates() - creates, 2));
        self.world.options = right;
        self.world.restart().await;
    }

    /// What the client alone must know of this CRM: closed tickets, several with one key, a number a person gave, refusals.
    async fn client_alone(&mut self) {
        let crm = self.real.crm(&self.server, self.server.url(), |text| text);
        let made = self.make(&crm, 1).await;
        let (first, marker) = (order(1), order(1).marker);
        assert!(made.url.is_some(), "it can be opened");
        self.close(&made.id).await;
        assert_eq!(crm.look(first.key, &marker).await, Look::Found { tickets: vec![made.clone()] }, "a closed ticket");
        assert_eq!(crm.verify(&made.number, first.key, &marker).await, Verified::Ours { ticket: made.clone() });
        assert_eq!(crm.verify(&made.number, order(2).key, &marker).await, Verified::Foreign);
        assert_eq!(crm.verify("99999999", first.key, &marker).await, Verified::Absent);
        assert_eq!(crm.look(order(2).key, &marker).await, Look::Missed);
        for (text, well) in crm.prerequisites().await {
            assert!(well.is_none_or(|well| well.is_ok()), "{text}");
        }
        self.rows.push(("look among closed tickets".to_owned(), 1, 1));
    }

    async fn make(&self, crm: &Crm, number: u32) -> zayavka::domain::ticket::Ticket {
        let prepared = crm.prepare(&order(number)).expect("it fits");
        match crm.create(&prepared, &Forgetful::default()).await {
            Outcome::Created { ticket } => ticket,
            other => panic!("{other:?}"),
        }
    }

    /// Closes a ticket as a person would.
    async fn close(&self, id: &str) {
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        let (url, seed) = (self.server.url(), &self.server.seed);
        let request = if self.real.profile == "redmine" {
            let body = serde_json::json!({"issue": {"status_id": seed.closed.parse::<i64>().expect("a number")}});
            http.put(format!("{url}/issues/{id}.json")).header("X-Redmine-API-Key", &seed.secret).json(&body)
        } else {
            let body = serde_json::json!({"Status": seed.closed});
            let token = format!("token {}", seed.secret);
            http.put(format!("{url}/REST/2.0/ticket/{id}")).header("Authorization", token).json(&body)
        };
        let status = request.send().await.expect("it answers").status();
        assert!(status.is_success(), "closing {id}: {status}");
    }
}

/// A refusal of the content: what the CRM says, and nothing made.
async fn refusal(
    real: &Real,
    server: &Server,
    change: impl FnOnce(String) -> String,
    fields: &[(&str, &str)],
) -> String {
    let before = server.number(real.tickets).await;
    let crm = real.crm(server, server.url(), change);
    let mut order = order(3);
    order.fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let prepared = crm.prepare(&order).expect("it fits");
    let outcome = crm.create(&prepared, &Forgetful::default()).await;
    let Outcome::Refused { message } = outcome else { panic!("no refusal: {outcome:?}") };
    assert_eq!(server.number(real.tickets).await, before);
    message
}

/// A field the CRM does not know is dropped in silence: the create succeeds, and reading the ticket back shows it.
async fn dropped_key(real: &Real, server: &Server, var: &str, wrong: &str) {
    let mut settings = CrmSettings {
        places: zayavka::config::places::Places::new("zayavka.toml", BTreeMap::new()),
        vars: real.vars(server, server.url()),
        secrets: BTreeMap::from([(real.secret.to_owned(), server.seed.secret.as_str().into())]),
        request_timeout: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(3),
    };
    settings.vars.insert(var.to_owned(), wrong.to_owned());
    let text = profile::built_in::text(real.profile).expect("it ships");
    let (profile, _) = profile::load(real.profile, text).unwrap_or_else(|problems| panic!("{problems}"));
    let crm = Crm::new(Arc::new(profile), settings).unwrap_or_else(|problems| panic!("{problems}"));
    let order = order(4);
    let prepared = crm.prepare(&order).expect("it fits");
    let outcome = crm.create(&prepared, &Forgetful::default()).await;
    let Outcome::Created { ticket } = outcome else { panic!("{outcome:?}") };
    let read = crm.verify(&ticket.number, order.key, &order.marker).await;
    assert_eq!(read, Verified::Exists { ticket }, "what is read back does not carry our key");
    assert!(!matches!(crm.look(order.key, &order.marker).await, Look::Found { .. }));
}
