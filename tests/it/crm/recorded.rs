//! Recorded conversations with each CRM, played back by a peer on loopback: every request must come as it was
//! recorded, and every answer must prove what the recording says.

use std::{collections::BTreeMap, fs, net::SocketAddr, path::Path, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use serde_json::Value as Json;
use tokio::task::JoinSet;
use zayavka::{
    catalog::profile::{
        self, Profile, built_in,
        model::Auth,
        rule::{Rule, Verdict},
    },
    crm::{Crm, FileSource, NoFile, steps::Forgetful},
    domain::{attachment::Attachment, ticket::TicketOrder},
    ids::{ExternalKey, Marker},
};

use super::{
    key, order,
    peer::{Act, Peer, http},
};

/// One file: the conversations of one profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    profile: String,
    /// Variables beside `base_url`, which is the peer's address.
    #[serde(default)]
    vars: BTreeMap<String, String>,
    /// Secrets; the generic profiles' token where absent.
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    /// Cases of [`WANTED`] that make no sense with this system, each with its reason.
    #[serde(default)]
    without: BTreeMap<String, String>,
    /// The e-mail address of the order, which has none otherwise.
    email: Option<String>,
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Files of the order.
    #[serde(default)]
    file: Vec<File>,
    call: Vec<Call>,
}

/// An attached file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    mime: String,
    content: String,
}

/// The files of a case, as Telegram would give them.
#[derive(Debug)]
struct Files(Vec<File>);

impl FileSource for Files {
    fn fetch<'a>(&'a self, file: &'a Attachment, _: u64) -> BoxFuture<'a, Result<Vec<u8>, NoFile>> {
        let found = self.0.iter().find(|known| known.name == file.file_id);
        let content = found.map(|file| file.content.clone().into_bytes()).ok_or(NoFile::Gone);
        async { content }.boxed()
    }
}

/// One thing our client does, with every exchange it takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    /// `create`, `look` or `verify 77`.
    does: String,
    /// What went over the wire, in order; a call with one exchange may write it out in place.
    #[serde(default)]
    exchange: Vec<Exchange>,
    request: Option<String>,
    #[serde(default)]
    headers: Vec<String>,
    sends: Option<Json>,
    status: Option<String>,
    #[serde(default)]
    answer_headers: Vec<String>,
    #[serde(default)]
    body: String,
    /// What it proves: each of these must be so, the rest is free.
    proves: Json,
}

/// One request and its answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    /// The first line of the request, `{key}` and `{token}` for our key.
    request: String,
    /// Header lines the request must have.
    #[serde(default)]
    headers: Vec<String>,
    /// What the body must hold: a tree for JSON or a form, of which each part must be so; a text, exactly, `{boundary}`
    /// between the parts of a multipart one.
    sends: Option<Json>,
    /// Status line of the answer; absent where the answer is lost.
    status: Option<String>,
    /// Header lines of the answer.
    #[serde(default)]
    answer_headers: Vec<String>,
    /// The answer's body, with our key as in `request`.
    #[serde(default)]
    body: String,
}

/// Puts our key into a recorded text: `{key}` as it is, `{token}` as one word, `{token.name}` the key of that step.
fn with_key(text: &str) -> String {
    let word = |key: ExternalKey| format!("z{}", key.0.simple());
    let mut text = text.replace("{key}", &key().to_string()).replace("{token}", &word(key()));
    text = text.replace("{marker}", Marker::of(key()).as_str());
    for (open, whole) in [("{key.", true), ("{token.", false)] {
        while let Some((before, rest)) = text.clone().split_once(open) {
            let (step, after) = rest.split_once('}').expect("a name in braces");
            let key = key().of_step(step);
            let written = if whole { key.to_string() } else { word(key) };
            text = format!("{before}{written}{after}");
        }
    }
    text
}

/// A body as a tree: JSON, or a form by its fields, each of which may hold JSON of its own.
fn tree_of(body: &str) -> Option<Json> {
    serde_json::from_str(body).ok().or_else(|| {
        let url = reqwest::Url::parse(&format!("http://form/?{body}")).ok()?;
        let field = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| text.into());
        Some(
            url.query_pairs()
                .map(|(name, text)| (name.into_owned(), field(&text)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        )
    })
}

impl Exchange {
    fn act(&self) -> Act {
        let Some(status) = &self.status else { return Act::ReadClose };
        let headers: String = self.answer_headers.iter().map(|line| format!("{}\r\n", with_key(line))).collect();
        Act::Say(http(status, &headers, &with_key(&self.body)))
    }

    fn compare(&self, what: &str, request: &str) {
        let (head, body) = request.split_once("\r\n\r\n").expect("a head");
        assert_eq!(head.lines().next(), Some(format!("{} HTTP/1.1", with_key(&self.request)).as_str()), "{what}");
        for wanted in &self.headers {
            assert!(head.lines().any(|line| line == with_key(wanted)), "{what}: no header `{wanted}` in {head}");
        }
        match &self.sends {
            None => {}
            Some(Json::String(text)) => {
                let line = head.lines().find_map(|line| line.split_once("; boundary="));
                let boundary = line.map_or("", |(_, boundary)| boundary);
                // A recording has plain line ends.
                let body = body.replace("\r\n", "\n");
                assert_eq!(body, with_key(text).replace("{boundary}", boundary), "{what}");
            }
            Some(tree) => {
                let tree: Json = serde_json::from_str(&with_key(&tree.to_string())).expect("JSON");
                let sent = tree_of(body).unwrap_or_else(|| panic!("{what}: neither JSON nor a form: {body}"));
                assert!(holds(&tree, &sent), "{what}: recorded is {tree}, sent was {sent}");
            }
        }
    }
}

impl Call {
    fn exchanges(&self) -> Vec<Exchange> {
        let Some(request) = self.request.clone() else { return self.exchange.clone() };
        vec![Exchange {
            request,
            headers: self.headers.clone(),
            sends: self.sends.clone(),
            status: self.status.clone(),
            answer_headers: self.answer_headers.clone(),
            body: self.body.clone(),
        }]
    }

    async fn outcome(&self, crm: &Crm, order: &TicketOrder, steps: &Forgetful) -> Json {
        let marker = Marker::of(key());
        let said = match self.does.split_once(' ') {
            Some(("verify", number)) => serde_json::to_value(crm.verify(number, key(), &marker).await),
            _ if self.does == "look" => serde_json::to_value(crm.look(key(), &marker).await),
            _ if self.does == "create" => {
                serde_json::to_value(crm.create(&crm.prepare(order).expect("it fits"), steps).await)
            }
            _ => panic!("`{}` is nothing a CRM does", self.does),
        };
        said.expect("it is JSON")
    }
}

fn attached(file: &File) -> Attachment {
    let size = u64::try_from(file.content.len()).ok();
    Attachment {
        file_id: file.name.clone(),
        unique_id: file.name.clone(),
        name: Some(file.name.clone()),
        size,
        mime: file.mime.clone(),
    }
}

/// Whether everything in `wanted` is so in `said`.
fn holds(wanted: &Json, said: &Json) -> bool {
    match (wanted, said) {
        (Json::Object(wanted), Json::Object(said)) => {
            wanted.iter().all(|(name, value)| said.get(name).is_some_and(|said| holds(value, said)))
        }
        (Json::Array(wanted), Json::Array(said)) => {
            wanted.len() == said.len() && wanted.iter().zip(said).all(|(wanted, said)| holds(wanted, said))
        }
        _ => wanted == said,
    }
}

/// A client for a shipped profile at this address, with the variables and secrets of its recordings.
pub(super) fn crm(name: &str, address: SocketAddr) -> Crm {
    recording(name).crm(address)
}

fn recording(name: &str) -> Recording {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/fixtures/crm/{name}.toml"));
    let text = fs::read_to_string(file).expect("the recording");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

impl Recording {
    fn crm(&self, address: SocketAddr) -> Crm {
        self.crm_by(self.profile(), address)
    }

    /// The profile as it stands in its folder, not in the program: it and its recordings are written side by side.
    fn profile(&self) -> Profile {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("templates/crm/{}.toml", self.profile));
        let text = fs::read_to_string(&file).expect("the profile");
        profile::load(&self.profile, &text).unwrap_or_else(|problems| panic!("{problems}")).0
    }

    fn crm_by(&self, profile: Profile, address: SocketAddr) -> Crm {
        let mut settings = super::settings(&format!("http://{address}"));
        for (name, value) in &self.vars {
            settings.vars.insert(name.clone(), value.replace("{peer}", &format!("http://{address}")));
        }
        if !self.secrets.is_empty() {
            settings.secrets = self.secrets.iter().map(|(name, text)| (name.clone(), text.as_str().into())).collect();
        }
        Crm::new(Arc::new(profile), settings).unwrap_or_else(|problems| panic!("{}: {problems}", self.profile))
    }

    fn order(&self, case: &Case) -> TicketOrder {
        let mut order = order();
        order.contact.email.clone_from(&self.email);
        order.files = case.file.iter().map(attached).collect();
        order
    }

    /// What each call of a case comes to with this profile, its details too, and what was sent, whatever it should be.
    async fn replay(&self, case: &Case, profile: &Profile) -> Vec<String> {
        let exchanges = case.call.iter().flat_map(Call::exchanges);
        let peer = Peer::new(exchanges.map(|exchange| exchange.act()).collect()).await;
        let (crm, steps) = (self.crm_by(profile.clone(), peer.address), Forgetful::default());
        let (crm, order) = (crm.with_files(Arc::new(Files(case.file.clone()))), self.order(case));
        let mut said = Vec::new();
        for call in &case.call {
            let proved = call.outcome(&crm, &order, &steps).await.to_string();
            said.push(proved);
        }
        said.extend(peer.requests());
        said.into_iter().map(|text| text.replace(&peer.address.to_string(), "peer")).collect()
    }

    /// The rules without which every case would come to the same: no recorded answer reaches them.
    ///
    /// A status alone that says `auth` or `throttled` has no shape to be wrong in; what it proves where a page of HTML comes
    /// with it is tried elsewhere. A step that is best effort leads on by these words as it does by no rule at all.
    async fn unreached(&self) -> Vec<String> {
        let profile = self.profile();
        let mut known = Vec::new();
        for case in &self.case {
            known.push(self.replay(case, &profile).await);
        }
        let mut unreached = Vec::new();
        for (place, at) in places(&profile) {
            let mut without = profile.clone();
            let Some(rule) = rules(&mut without, &place).map(|rules| rules.remove(at)) else { continue };
            let bare = rule.conditions.is_empty() && matches!(rule.verdict, Verdict::Auth | Verdict::Throttled);
            let led_on = profile.steps.iter().any(|step| step.best_effort && place == format!("step {}", step.name))
                && matches!(rule.verdict, Verdict::NotFound | Verdict::Refused | Verdict::Ambiguous);
            let meets = |case: &Case| {
                let mut statuses = case.call.iter().flat_map(Call::exchanges).filter_map(|exchange| exchange.status);
                statuses.any(|line| {
                    line.get(..3).and_then(|code| code.parse().ok()).is_some_and(|code| rule.status.contains(code))
                })
            };
            let mut reached = bare || led_on;
            for (case, known) in self.case.iter().zip(&known).filter(|(case, _)| meets(case)) {
                reached = reached || self.replay(case, &without).await != *known;
            }
            if !reached {
                unreached.push(format!("{}, {place}, rule {}: {:?}", self.profile, at + 1, rule.verdict));
            }
        }
        unreached
    }

    /// A case of success says what each request carries, and with which header where the profile sends its secret in one.
    fn shows_what_is_sent(&self) {
        let auth = self.profile().auth;
        let in_a_header = !matches!(
            auth,
            Auth::None | Auth::Path { .. } | Auth::Query { .. } | Auth::BodyField { .. } | Auth::BodyAt { .. }
        );
        for case in self.case.iter().filter(|case| case.name.starts_with("success")) {
            for call in case.call.iter().filter(|call| call.does == "create") {
                let exchanges = call.exchanges();
                let mut writes = exchanges.iter().filter(|one| !one.request.starts_with("GET "));
                let silent = writes.find(|one| one.sends.is_none()).map(|one| &one.request);
                assert_eq!(silent, None, "{}, {}: nothing says what it carries", self.profile, case.name);
                let shown = exchanges.iter().flat_map(|one| &one.headers).any(|line| {
                    let (name, value) = line.split_once(':').unwrap_or_default();
                    !["content-type", "accept"].contains(&name) && !value.trim().is_empty()
                });
                assert!(shown || !in_a_header, "{}, {}: no header carries the secret", self.profile, case.name);
            }
        }
    }

    async fn play(&self, case: &Case) {
        let exchanges: Vec<Exchange> = case.call.iter().flat_map(Call::exchanges).collect();
        let peer = Peer::new(exchanges.iter().map(Exchange::act).collect()).await;
        let (crm, steps) = (self.crm(peer.address), Forgetful::default());
        let (crm, order) = (crm.with_files(Arc::new(Files(case.file.clone()))), self.order(case));
        let mut asked = 0;
        for call in &case.call {
            let what = format!("{}, {}, {}", self.profile, case.name, call.does);
            let said = call.outcome(&crm, &order, &steps).await;
            let requests = peer.requests();
            for (exchange, request) in call.exchanges().iter().zip(requests.iter().skip(asked)) {
                exchange.compare(&what, request);
            }
            let proves: Json = serde_json::from_str(&with_key(&call.proves.to_string())).expect("JSON");
            assert!(holds(&proves, &said), "{what}: it proved {said}, recorded is {proves}");
            asked += call.exchanges().len();
            assert_eq!(requests.len(), asked, "{what}: requests: {requests:#?}");
        }
    }
}

/// Every rule of a profile by the name of its table and its place there.
fn places(profile: &Profile) -> Vec<(String, usize)> {
    let steps = profile.steps.iter().map(|step| (format!("step {}", step.name), step.outcome.len()));
    let lookups = profile.lookups.iter().map(|lookup| (format!("lookup {}", lookup.name), lookup.outcome.len()));
    let verify = profile.verify.iter().map(|verify| ("verify".to_owned(), verify.outcome.len()));
    let tables = steps.chain(lookups).chain(verify);
    tables.flat_map(|(place, count)| (0..count).map(move |at| (place.clone(), at))).collect()
}

fn rules<'p>(profile: &'p mut Profile, place: &str) -> Option<&'p mut Vec<Rule>> {
    match place.split_once(' ') {
        Some(("step", name)) => profile.steps.iter_mut().find(|step| step.name == name).map(|step| &mut step.outcome),
        Some((_, name)) => {
            profile.lookups.iter_mut().find(|lookup| lookup.name == name).map(|lookup| &mut lookup.outcome)
        }
        None => profile.verify.as_mut().map(|verify| &mut verify.outcome),
    }
}

/// What a recording of a real system shows at the least: names of cases, in the words the issue has for them.
const WANTED: [&str; 10] = [
    "success",
    "validation error",
    "throttle",
    "auth failure",
    "lost answer, found",
    "lost answer, absent",
    "already exists",
    "200 with an error",
    "empty lookup",
    "unrelated hit",
];

/// Rules that no recording reaches, each with its reason.
const UNREACHED: [&str; 0] = [];

#[tokio::test]
async fn every_rule_of_every_profile_is_reached_by_a_recorded_answer() {
    let mut all = JoinSet::new();
    for (name, _) in built_in::ALL {
        all.spawn(async move { recording(name).unreached().await });
    }
    let mut unreached: Vec<String> = all.join_all().await.concat();
    unreached.sort();
    assert_eq!(unreached, UNREACHED, "record an answer for each, or say here why there is none");
}

#[tokio::test]
async fn every_recorded_conversation_proves_what_it_proved() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/crm");
    let only = std::env::var("ZAYAVKA_RECORDING").ok();
    let mut played = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the recordings") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("it is text");
        let recording: Recording = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if only.as_ref().is_some_and(|only| *only != recording.profile) {
            continue;
        }
        for case in &recording.case {
            recording.play(case).await;
        }
        recording.shows_what_is_sent();
        for wanted in WANTED {
            let recorded = recording.case.iter().any(|case| case.name.starts_with(wanted));
            let reason = recording.without.get(wanted).map_or("", |reason| reason.trim());
            assert!(
                recorded != (reason.len() > 10),
                "{}: `{wanted}` is recorded, or [without] says why it is not; never both",
                recording.profile
            );
        }
        let odd = recording.without.keys().find(|name| !WANTED.contains(&name.as_str()));
        assert_eq!(odd, None, "{}: [without] names no wanted case", recording.profile);
        let names: Vec<String> = recording.case.iter().map(|case| case.name.clone()).collect();
        played.insert(recording.profile.clone(), names);
    }
    println!("{:24} {}", "profile", WANTED.join(" | "));
    for (profile, names) in &played {
        let shown = WANTED.map(|wanted| if names.iter().any(|name| name.starts_with(wanted)) { "x" } else { "-" });
        println!("{profile:24} {}  ({} cases)", shown.join(" "), names.len());
    }
    if only.is_none() {
        for (name, _) in built_in::ALL {
            assert!(played.contains_key(*name), "the profile `{name}` has no recording");
        }
    }
}
