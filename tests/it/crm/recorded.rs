//! Recorded conversations with each CRM, played back by a peer on loopback: every request must come as it was
//! recorded, and every answer must prove what the recording says.

use std::{fs, path::Path};

use serde::Deserialize;
use serde_json::Value as Json;
use zayavka::{crm::Crm, ids::Marker};

use super::{
    key, order,
    peer::{Act, Peer, http},
};

/// One file: the conversations of one profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    profile: String,
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    call: Vec<Call>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    /// `create`, `look` or `verify 77`.
    does: String,
    /// The first line of the request, `{key}` for our key; absent where nothing is asked.
    request: Option<String>,
    /// Header lines the request must have.
    #[serde(default)]
    headers: Vec<String>,
    /// Status line of the answer; absent where the answer is lost.
    status: Option<String>,
    /// Header lines of the answer.
    #[serde(default)]
    answer_headers: Vec<String>,
    /// The answer's body, `{key}` for our key.
    #[serde(default)]
    body: String,
    /// What it proves: each of these must be so, the rest is free.
    proves: Json,
}

fn with_key(text: &str) -> String {
    text.replace("{key}", &key().to_string())
}

impl Call {
    fn act(&self) -> Act {
        let Some(status) = &self.status else { return Act::ReadClose };
        let headers: String = self.answer_headers.iter().map(|line| format!("{line}\r\n")).collect();
        Act::Say(http(status, &headers, &with_key(&self.body)))
    }

    async fn outcome(&self, crm: &Crm) -> Json {
        let marker = Marker::of(key());
        let said = match self.does.split_once(' ') {
            Some(("verify", number)) => serde_json::to_value(crm.verify(number, key(), &marker).await),
            _ if self.does == "look" => serde_json::to_value(crm.look(key(), &marker).await),
            _ if self.does == "create" => {
                serde_json::to_value(crm.create(&crm.prepare(&order()).expect("it fits")).await)
            }
            _ => panic!("`{}` is nothing a CRM does", self.does),
        };
        said.expect("it is JSON")
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

async fn play(profile: &str, case: &Case) {
    let peer = Peer::new(case.call.iter().filter(|call| call.request.is_some()).map(Call::act).collect()).await;
    let crm = super::crm(profile, &format!("http://{}", peer.address));
    let mut asked = 0;
    for call in &case.call {
        let what = format!("{profile}, {}, {}", case.name, call.does);
        let said = call.outcome(&crm).await;
        assert!(holds(&call.proves, &said), "{what}: it proved {said}, recorded is {}", call.proves);
        let requests = peer.requests();
        asked += usize::from(call.request.is_some());
        assert_eq!(requests.len(), asked, "{what}: requests");
        if let (Some(line), Some(request)) = (&call.request, requests.last()) {
            let head = request.split_once("\r\n\r\n").map(|(head, _)| head).unwrap_or_default();
            assert_eq!(head.lines().next(), Some(format!("{} HTTP/1.1", with_key(line)).as_str()), "{what}");
            for wanted in &call.headers {
                assert!(head.lines().any(|line| line == with_key(wanted)), "{what}: no header `{wanted}` in {head}");
            }
        }
    }
}

#[tokio::test]
async fn every_recorded_conversation_proves_what_it_proved() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/crm");
    let mut played = 0;
    for entry in fs::read_dir(folder).expect("the recordings") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("it is text");
        let recording: Recording = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in &recording.case {
            play(&recording.profile, case).await;
            played += 1;
        }
    }
    assert!(played >= 30, "only {played} conversations");
}
