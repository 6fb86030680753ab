//! The names templates see: who may see what is decided by the profile's loader, the values are put together here.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value as Json, json};

use crate::{
    catalog::profile::{model::Ext, template::Scope},
    domain::ticket::{Ticket, TicketOrder},
    ids::{ExternalKey, Marker},
};

/// Values of the installation's variables, typed as the profile declares them.
pub(super) type Vars = BTreeMap<String, Json>;

/// The installation's secrets.
pub(super) type Secrets = BTreeMap<String, SecretString>;

/// The three writings of our key: for fields and ids, for search engines, and for the `Idempotency-Key` header, which
/// is a structured field and so stands in double quotes.
fn key_names(ext: &Ext, key: ExternalKey) -> Json {
    let [uuid, token, quoted] = writings(ext, key);
    json!({"uuid": uuid, "token": token, "quoted": quoted})
}

/// Our key in every writing.
pub(super) fn writings(ext: &Ext, key: ExternalKey) -> [String; 3] {
    let uuid = key.to_string();
    let quoted = format!("\"{uuid}\"");
    [uuid, format!("{}{}", ext.token_prefix, key.0.simple()), quoted]
}

/// What earlier steps gave: by step, then by name.
pub(super) type Outputs = BTreeMap<String, BTreeMap<String, String>>;

/// `key` is the step's own: the order's for the ticket, a derived one for any other record.
/// `files` is what the ticket's request says of its files.
pub(super) fn create(
    vars: &Vars,
    ext: &Ext,
    order: &TicketOrder,
    key: ExternalKey,
    steps: &Outputs,
    files: &[Json],
) -> Scope {
    Scope::new(&json!({
        "vars": vars, "ext": key_names(ext, key), "marker": order.marker,
        "subject": order.subject, "body": order.body, "contact": order.contact, "fields": order.fields,
        "steps": steps, "files": files,
    }))
}

/// `key` is the file's own; the ticket is there where the file is posted to it.
pub(super) fn file(
    vars: &Vars,
    ext: &Ext,
    order: &TicketOrder,
    key: ExternalKey,
    file: &Json,
    ticket: Option<&Ticket>,
) -> Scope {
    let (id, number) = ticket.map(|ticket| (&ticket.id, &ticket.number)).unzip();
    Scope::new(&json!({
        "vars": vars, "ext": key_names(ext, key), "marker": order.marker, "file": file, "id": id, "number": number,
    }))
}

/// What one file adds to the ticket's request.
pub(super) fn part(vars: &Vars, file: &Json) -> Scope {
    Scope::new(&json!({"vars": vars, "file": file}))
}

pub(super) fn scan(vars: &Vars, ext: &Ext, key: ExternalKey, marker: &Marker, (page, offset): (u32, u32)) -> Scope {
    Scope::new(&json!({
        "vars": vars, "ext": key_names(ext, key), "marker": marker, "page": page, "offset": offset,
    }))
}

pub(super) fn token(vars: &Vars, secrets: &Secrets, refresh: &str) -> Scope {
    let bare: BTreeMap<_, _> = secrets.iter().map(|(name, secret)| (name, secret.expose_secret())).collect();
    Scope::new(&json!({"vars": vars, "secrets": bare, "token": {"refresh": refresh}}))
}

pub(super) fn find(vars: &Vars, ext: &Ext, key: ExternalKey, marker: &Marker) -> Scope {
    Scope::new(&json!({"vars": vars, "ext": key_names(ext, key), "marker": marker}))
}

pub(super) fn number(vars: &Vars, ext: &Ext, key: ExternalKey, marker: &Marker, number: &str) -> Scope {
    Scope::new(&json!({"vars": vars, "ext": key_names(ext, key), "marker": marker, "number": number}))
}

pub(super) fn link(vars: &Vars, id: &str, number: &str) -> Scope {
    Scope::new(&json!({"vars": vars, "id": id, "number": number}))
}

pub(super) fn fixed(vars: &Vars) -> Scope {
    Scope::new(&json!({"vars": vars}))
}

pub(super) fn auth(vars: &Vars, secrets: &Secrets) -> Scope {
    let bare: BTreeMap<_, _> = secrets.iter().map(|(name, secret)| (name, secret.expose_secret())).collect();
    Scope::new(&json!({"vars": vars, "secrets": bare}))
}
