//! Whether our key really goes where a profile names it. A name in a template is no proof: `{{ ext.token | chars(1) }}`
//! has it and fits anybody's record. So templates are written out for two sample keys, and the texts are looked at.

use serde_json::{Map, Value as Json, json};

use super::wires::templates;
use crate::{
    catalog::profile::{
        model::{Lookup, Match, Profile, Request, Same, VarKind},
        template::{Scope, Template, percent_encoded},
    },
    config::reader::Section,
};

/// Two keys with no digit in the same place.
const SAMPLES: [&str; 2] = ["01234567-89ab-4cde-8f01-23456789abcd", "fedcba98-7654-4321-9edc-ba9876543210"];

/// Whether a request carries our key in whole, in one writing or another.
pub(super) fn carries_key(profile: &Profile, request: &Request) -> bool {
    templates(request).into_iter().any(|template| names_key(template) && is_whole(profile, template))
}

/// A list that was not asked for our key may end before our record comes: its absence from it means nothing.
pub(super) fn asks(section: &Section<'_>, profile: &Profile, lookup: &Lookup) {
    let asks = |template: &Template| {
        template.names().contains("marker")
            || names_key(template) && written(profile, template).is_none_or(|[a, b]| a != b)
    };
    if lookup.scan.is_none() && !templates(&lookup.request).into_iter().any(asks) {
        let hint =
            "put ext.uuid, ext.token or marker into it, or leaf through the list: scan = { pages = 5, size = 100 }";
        section.error("request", "the lookup does not ask for our key", hint);
    }
}

/// What a record is compared with must be our key in whole, or a stranger's record fits; and it must be what was sent, or
/// no record ever fits.
pub(super) fn compared(section: &Section<'_>, profile: &Profile, sent: &Request, matching: &Match) {
    if !is_whole(profile, &matching.equals) {
        let what =
            "what a record is compared with does not hold our key in whole: it would fit others' records, or none";
        section.error("match", what, "equals = \"{{ ext.uuid }}\" or \"{{ ext.token }}\", as the request has it");
        return;
    }
    let Some([wanted, _]) = written(profile, &matching.equals) else { return };
    let fold = |text: &str| if matching.same == Same::IgnoreCase { text.to_lowercase() } else { text.to_owned() };
    let (plain, encoded) = (fold(&wanted), fold(&percent_encoded(&wanted)));
    let holds = |text: &str| fold(text).contains(&plain) || fold(text).contains(&encoded);
    let sent = templates(sent).into_iter().filter(|template| names_key(template));
    let mut sent = sent.map(|template| written(profile, template)).peekable();
    // Without a key in what is sent, that is the mistake, and it was told.
    if sent.peek().is_some() && !sent.any(|texts| texts.is_none_or(|[first, _]| holds(&first))) {
        let hint =
            "the same text in both, letter for letter; ignore_case = true where only the case of letters differs";
        section.error("match", "a record is compared with what is never sent: nothing is ever found", hint);
    }
}

fn names_key(template: &Template) -> bool {
    template.names().iter().any(|name| name.starts_with("ext."))
}

/// Whether a template, written out, holds all digits of our key. What cannot be written out with samples is believed.
fn is_whole(profile: &Profile, template: &Template) -> bool {
    written(profile, template).is_none_or(|texts| {
        texts.iter().zip(SAMPLES).all(|(text, key)| {
            let text = text.to_lowercase();
            text.contains(key) || text.contains(&key.replace('-', ""))
        })
    })
}

/// A template written out for each sample key.
fn written(profile: &Profile, template: &Template) -> Option<[String; 2]> {
    let [first, second] = SAMPLES.map(|key| template.text(&scope(profile, key)).ok());
    Some([first?, second?])
}

/// Every name a request or a match may use, with something in it.
fn scope(profile: &Profile, key: &str) -> Scope {
    let vars: Map<String, Json> = profile
        .vars
        .iter()
        .map(|(name, var)| {
            let given = var.default.clone();
            let value = match &var.kind {
                VarKind::Int => given.and_then(|text| text.parse::<i64>().ok()).map_or(json!(1), Json::from),
                VarKind::Bool => json!(given.as_deref() != Some("false")),
                VarKind::Enum(words) => json!(given.or_else(|| words.first().cloned())),
                VarKind::Url => json!("https://crm.example"),
                VarKind::Text => json!(given.unwrap_or_else(|| "v".to_owned())),
            };
            (name.clone(), value)
        })
        .collect();
    let steps: Map<String, Json> = profile
        .steps
        .iter()
        .map(|step| {
            let outputs = step.outputs.iter().map(|(name, _)| name.as_str()).chain(["id"]);
            (step.name.clone(), outputs.map(|name| (name.to_owned(), json!("1"))).collect::<Map<_, _>>().into())
        })
        .collect();
    let token = format!("{}{}", profile.ext.token_prefix, key.replace('-', ""));
    Scope::new(&json!({
        "vars": vars, "steps": steps, "ext": {"uuid": key, "token": token, "quoted": format!("\"{key}\"")},
        "marker": "m", "subject": "s", "body": "b", "fields": {}, "files": [],
        "contact": {"name": "n", "phone": "+79991234567", "email": "a@b.example"},
        "id": "1", "number": "1", "page": 1, "offset": 0,
    }))
}
