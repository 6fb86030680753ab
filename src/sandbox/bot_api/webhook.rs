//! The webhook's methods: where updates are posted, and how that goes. `deliver` does the posting.

use serde_json::{Value, json};

use super::{
    book::Book,
    methods::Called,
    params::{Params, Refusal},
};
use crate::clock::Timestamp;

/// Parallel deliveries unless the bot asks for another number.
const CONNECTIONS: i64 = 40;

/// Where updates are posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hook {
    pub(super) url: String,
    pub(super) secret: Option<String>,
    pub(super) max_connections: usize,
    /// When and why the last delivery failed.
    pub(super) last_error: Option<(Timestamp, String)>,
}

/// `setWebhook`, `deleteWebhook`, `getWebhookInfo`.
pub(super) fn call(book: &mut Book, called: &Called<'_>) -> Result<Value, Refusal> {
    match called.method {
        "setwebhook" => set(book, called.params),
        "deletewebhook" => {
            forget(book, called.params);
            Ok(json!(true))
        }
        _ => Ok(info(book, called.now)),
    }
}

fn forget(book: &mut Book, params: &Params) {
    book.hook = None;
    if params.flag("drop_pending_updates") {
        book.queue.clear();
    }
}

fn set(book: &mut Book, params: &Params) -> Result<Value, Refusal> {
    let url = params.text("url").unwrap_or_default();
    if url.is_empty() {
        forget(book, params);
        return Ok(json!(true));
    }
    deliverable(&url)?;
    let secret = params.text("secret_token").filter(|secret| !secret.is_empty());
    if let Some(secret) = &secret {
        let letters = secret.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'));
        if !letters || secret.len() > 256 {
            return Err(Refusal::bad("secret token contains unallowed characters"));
        }
    }
    let wanted = params.int("max_connections").filter(|count| (1..=100).contains(count)).unwrap_or(CONNECTIONS);
    let max_connections = usize::try_from(wanted).unwrap_or(1);
    // An unreadable list is ignored, as Telegram does.
    book.queue.allow(params.structure("allowed_updates").unwrap_or_default().as_ref());
    if params.flag("drop_pending_updates") {
        book.queue.clear();
    }
    let last_error = book.hook.take().filter(|hook| hook.url == url).and_then(|hook| hook.last_error);
    book.hook = Some(Hook { url, secret, max_connections, last_error });
    Ok(json!(true))
}

/// The emulator plays a local Bot API server: plain HTTP will do, but it never reaches beyond this machine.
fn deliverable(url: &str) -> Result<(), Refusal> {
    let bad = |words: &str| Refusal::bad(format!("bad webhook: {words}"));
    let parsed = reqwest::Url::parse(url).map_err(|_| bad("invalid URL specified"))?;
    if parsed.scheme() != "http" {
        return Err(bad("the sandbox delivers by plain http only"));
    }
    let host = parsed.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let loopback = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if loopback { Ok(()) } else { Err(bad("the sandbox delivers to loopback addresses only")) }
}

fn info(book: &mut Book, now: Timestamp) -> Value {
    let pending = book.queue.len(now);
    let mut info = json!({ "url": "", "has_custom_certificate": false, "pending_update_count": pending });
    if let Some(hook) = &book.hook {
        info["url"] = json!(hook.url);
        info["max_connections"] = json!(hook.max_connections);
        info["ip_address"] = json!("127.0.0.1");
        if let Some((at, words)) = &hook.last_error {
            info["last_error_date"] = json!(at.0 / 1_000);
            info["last_error_message"] = json!(words);
        }
    }
    if let Some(allowed) = book.queue.allowed() {
        info["allowed_updates"] = json!(allowed);
    }
    info
}
