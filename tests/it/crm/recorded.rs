//! Recorded conversations with each CRM, played back by a peer on loopback: every request must come as it was
//! recorded, and every answer must prove what the recording says.

use std::{collections::BTreeMap, fs, net::SocketAddr, path::Path, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use serde_json::Value as Json;
use zayavka::{
    catalog::profile::{self, built_in},
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
    /// What the body must hold: a tree for JSON, of which each part must be so; a text for a form, exactly, `{boundary}`
    /// between its parts.
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
                let sent: Json = serde_json::from_str(body).unwrap_or_else(|_| panic!("{what}: no JSON: {body}"));
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
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/fixtures/crm/{name}.toml"));
    let text = fs::read_to_string(file).expect("the recording");
    let recording: Recording = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    recording.crm(address)
}

impl Recording {
    fn crm(&self, address: SocketAddr) -> Crm {
        // From the folder, not from the program: a profile and its recordings are written side by side.
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("templates/crm/{}.toml", self.profile));
        let text = fs::read_to_string(&file).expect("the profile");
        let (profile, _) = profile::load(&self.profile, &text).unwrap_or_else(|problems| panic!("{problems}"));
        let mut settings = super::settings(&format!("http://{address}"));
        for (name, value) in &self.vars {
            settings.vars.insert(name.clone(), value.replace("{peer}", &format!("http://{address}")));
        }
        if !self.secrets.is_empty() {
            settings.secrets = self.secrets.iter().map(|(name, text)| (name.clone(), text.as_str().into())).collect();
        }
        Crm::new(Arc::new(profile), settings).unwrap_or_else(|problems| panic!("{}: {problems}", self.profile))
    }

    async fn play(&self, case: &Case) {
        let exchanges: Vec<Exchange> = case.call.iter().flat_map(Call::exchanges).collect();
        let peer = Peer::new(exchanges.iter().map(Exchange::act).collect()).await;
        let (crm, steps) = (self.crm(peer.address), Forgetful::default());
        let crm = crm.with_files(Arc::new(Files(case.file.clone())));
        let mut order = order();
        order.files = case.file.iter().map(attached).collect();
        order.contact.email.clone_from(&self.email);
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
