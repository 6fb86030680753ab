//! `zayavka doctor`: asks every live part once, changes nothing, and says what to do about what is not well.

use std::{path::Path, sync::Arc, time::Duration};

use secrecy::ExposeSecret as _;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::{Exit, complain, database::existing, load};
use crate::{
    app::{self, Checked},
    clock::{Clock as _, SystemClock, Timestamp},
    config::{Config, Receive},
    store::{Store, operations, settings},
    telegram::{Answer, Telegram},
    web::health::{self, Neighbour},
};

/// A clock that is further off makes waits of the CRM and of Telegram, and expiries of tokens, come out wrong.
const CLOCK_OFF: Duration = Duration::from_secs(30);

/// What was found of one part.
#[derive(Debug, Serialize)]
struct Finding {
    part: &'static str,
    /// Absent where a person has to look.
    well: Option<bool>,
    said: String,
    /// What to do.
    #[serde(rename = "do", skip_serializing_if = "String::is_empty")]
    hint: String,
}

#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn well(&mut self, part: &'static str, said: impl Into<String>) {
        self.0.push(Finding { part, well: Some(true), said: said.into(), hint: String::new() });
    }

    fn ill(&mut self, part: &'static str, said: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Finding { part, well: Some(false), said: said.into(), hint: hint.into() });
    }

    fn look(&mut self, part: &'static str, said: impl Into<String>) {
        self.0.push(Finding { part, well: None, said: said.into(), hint: String::new() });
    }
}

/// `listen`: how long another poller is listened for, in seconds. Each of two cuts the other's wait short; ours of today is
/// back five seconds after it was cut off.
pub(super) async fn run(path: &Path, listen: u64, json: bool) -> Result<Exit, Exit> {
    let config = load(path)?;
    let checked = app::check(&config).map_err(|problems| {
        complain(&problems);
        Exit::Usage
    })?;
    let mut found = Findings::default();
    found.well("configuration", format!("{} and all it names", path.display()));
    let store = database(&config, &mut found).await;
    let running = service(&config, &mut found).await;
    telegram(&config, (!running).then_some(listen), &mut found).await;
    crm(&config, checked, store, &mut found).await;
    let ok = found.0.iter().all(|finding| finding.well != Some(false));
    if json {
        println!("{}", json!({"ok": ok, "findings": found.0}));
    } else {
        show(&found);
    }
    Ok(if ok { Exit::Done } else { Exit::NotWell })
}

fn show(found: &Findings) {
    for finding in &found.0 {
        let word = match finding.well {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "look",
        };
        println!("{word:5} {:14} {}", finding.part, finding.said);
        if !finding.hint.is_empty() {
            println!("      {:14} → {}", "", finding.hint);
        }
    }
}

/// Spoilt operations named at most.
const SPOILT_SHOWN: usize = 20;

/// The database, if it can be worked with.
async fn database(config: &Config, found: &mut Findings) -> Option<Store> {
    let url = config.database.url.expose_secret();
    let hint = "[database] url: the address, the rights, whether the server runs; a file is made by the service's first start or `zayavka migrate up`";
    let store = match Store::connect(&existing(url)).await {
        Ok(store) => store,
        Err(error) => {
            found.ill("database", error.to_string(), hint);
            return None;
        }
    };
    match store.pending_migrations().await {
        Ok(pending) if pending.is_empty() => found.well("database", "answers, the schema is up to date"),
        Ok(pending) => {
            let said = format!("answers, but these steps are not applied: {}", pending.join(", "));
            found.ill("database", said, "`zayavka migrate up`, or start the service");
            return None;
        }
        Err(error) => {
            found.ill("database", error.to_string(), hint);
            return None;
        }
    }
    match settings::get(store.reader(), settings::PAUSED).await {
        Ok(None) => {}
        Ok(Some(why)) if why == settings::PAUSED_FOR_CREDENTIALS => {
            let hint = "put the right secrets in [crm.secrets] and start the service anew, or `/resume`";
            found.ill("sending", "paused: the CRM refused our credentials; what is confirmed waits", hint);
        }
        Ok(Some(_)) => found.ill("sending", "paused by staff; what is confirmed waits", "`/resume`"),
        Err(error) => found.ill("database", error.to_string(), hint),
    }
    match operations::spoilt(store.reader(), SPOILT_SHOWN).await {
        Ok(spoilt) => {
            for error in spoilt {
                let hint =
                    "it stays as stored and the others go on: restore the row from a backup, or ask who changed it";
                found.ill("operations", error.to_string(), hint);
            }
        }
        Err(error) => found.ill("database", error.to_string(), hint),
    }
    Some(store)
}

/// Whether a service runs at the configured address.
async fn service(config: &Config, found: &mut Findings) -> bool {
    let listen = config.web.listen;
    if listen.port() == 0 {
        let said = "[web] listen has port 0: the service takes a free one and names it in its log, so it is not asked";
        found.look("service", said);
        return false;
    }
    match health::ask(listen).await {
        Neighbour::Nobody => found.look("service", format!("none answers at {listen}: not started, or elsewhere")),
        Neighbour::Service(reasons) if reasons.is_empty() => {
            found.well("service", format!("runs at {listen} and is ready"));
            return true;
        }
        Neighbour::Service(reasons) => {
            let hint = "see `docs/operating.md`; the service's log says more";
            found.ill("service", format!("runs at {listen} and is not ready: {}", reasons.join("; ")), hint);
            return true;
        }
        Neighbour::Stranger => {
            let hint = "[web] listen: another port, or stop the other program";
            found.ill("service", format!("another program listens at {listen}"), hint);
        }
    }
    false
}

async fn telegram(config: &Config, listen: Option<u64>, found: &mut Findings) {
    let settings = &config.telegram;
    let client = match Telegram::new(&settings.api_url, settings.token.clone(), settings.request_timeout) {
        Ok(client) => client,
        Err(error) => return found.ill("token", error.to_string(), ""),
    };
    match client.call("getMe", &json!({})).await {
        Answer::Ok(me) => {
            let name = me.get("username").and_then(Value::as_str).unwrap_or("without a name");
            found.well("token", format!("Telegram knows the bot: @{name}"));
        }
        Answer::Refused(refusal) if matches!(refusal.code, 401 | 404) => {
            let said = format!("Telegram does not accept it ({} {})", refusal.code, refusal.description);
            return found.ill("token", said, "telegram.token: copy it again from @BotFather; telegram.api_url");
        }
        other => {
            return found.ill("token", cannot(&other), "telegram.api_url, the network, a proxy in between");
        }
    }
    clock(client.time().await, found);
    updates(config, &client, listen, found).await;
}

fn clock(theirs: Option<i64>, found: &mut Findings) {
    let now = SystemClock.now();
    let Some(theirs) = theirs.map(|seconds| Timestamp(seconds.saturating_mul(1_000))) else {
        return found.look("clock", "Telegram's answer names no time to compare with");
    };
    let off = now.since(theirs).max(theirs.since(now));
    if off > CLOCK_OFF {
        let said = format!("this machine says {now}, Telegram {theirs}");
        found.ill("clock", said, "set the clock by NTP: waits and the ends of tokens are reckoned by it");
    } else {
        found.well("clock", format!("{now}, as Telegram's"));
    }
}

/// Who takes the updates: a webhook, ours or another's; a poller beside ours, which is listened for unless ours runs.
async fn updates(config: &Config, client: &Telegram, listen: Option<u64>, found: &mut Findings) {
    let info = match client.call("getWebhookInfo", &json!({})).await {
        Answer::Ok(info) => info,
        other => return found.ill("updates", cannot(&other), "try again"),
    };
    let url = info.get("url").and_then(Value::as_str).unwrap_or_default();
    let waiting = info.get("pending_update_count").and_then(Value::as_u64).unwrap_or(0);
    let failed = info.get("last_error_message").and_then(Value::as_str);
    match (&config.telegram.receive, url) {
        (Receive::Polling, "") => match listen {
            None => found.well("updates", format!("polled by the running service; {waiting} wait")),
            Some(listen) => second_poller(client, listen, waiting, found).await,
        },
        (Receive::Polling, _) => {
            let hint = "deleteWebhook without dropping pending updates, or telegram.receive = \"webhook\"";
            found.ill("updates", "the bot has a webhook, so nothing can be polled", hint);
        }
        (Receive::Webhook(_), "") => {
            let hint = "start the service with telegram.webhook.register = true";
            found.ill("updates", format!("no webhook is set; {waiting} wait"), hint);
        }
        (Receive::Webhook(ours), theirs) if ours.url.trim_end_matches('/') != theirs.trim_end_matches('/') => {
            let hint = "stop the other service, or revoke the token at @BotFather; then start this one anew";
            found.ill("updates", "the webhook points to another address", hint);
        }
        (Receive::Webhook(_), _) => match failed {
            Some(said) => found.ill(
                "updates",
                format!("the webhook is ours, but Telegram could not bring an update: {said}; {waiting} wait"),
                "the address must be reachable from outside, its certificate valid, and the service running",
            ),
            None => found.well("updates", format!("brought to our webhook; {waiting} wait")),
        },
    }
}

/// Nothing is confirmed: what comes stays at Telegram.
async fn second_poller(client: &Telegram, listen: u64, waiting: u64, found: &mut Findings) {
    if waiting > 0 {
        return found.look("updates", format!("{waiting} wait and nobody takes them"));
    }
    match client.updates(&json!({"timeout": listen, "limit": 1})).await {
        Answer::Ok(_) => found.well("updates", format!("nobody else polled for {listen} seconds")),
        Answer::Refused(refusal) if refusal.code == 409 => {
            let hint = "stop the other process, or give this one a token of its own";
            found.ill("updates", "another process polls with the same token", hint);
        }
        other => found.ill("updates", cannot(&other), "try again"),
    }
}

async fn crm(config: &Config, checked: Checked, store: Option<Store>, found: &mut Findings) {
    let name = checked.crm.profile().meta.name.clone();
    let crm = match (store, checked.crm.needs_token()) {
        (Some(store), true) => checked.crm.with_tokens(Arc::new(super::super::kept_tokens(config, store))),
        (None, true) => return found.look("CRM", "not asked: its token is kept in the database"),
        (_, false) => checked.crm,
    };
    match crm.answers().await {
        Some(Ok(())) => found.well("CRM", format!("answers; profile {name}")),
        Some(Err(why)) => found.ill("CRM", why, "[crm.vars], [crm.secrets], the network"),
        // Where nothing can be asked, that somebody is there is all there is to learn.
        None => match crm.reaches().await {
            Ok(at) => found.well("CRM", format!("{at} can be reached; the profile {name} has nothing to ask with")),
            Err(why) => found.ill("CRM", why, "[crm.vars], the network"),
        },
    }
    for (text, well) in crm.prerequisites().await {
        match well {
            Some(Ok(())) => found.well("CRM needs", text),
            Some(Err(why)) => found.ill("CRM needs", text, why),
            None => found.look("CRM needs", text),
        }
    }
    for expiry in crm.expiries() {
        let Some(at) = expiry.at else { continue };
        if at <= SystemClock.now() {
            found.ill("CRM", format!("`crm.secrets.{}` ended at {at}", expiry.secret), "put a new one there");
        }
    }
}

fn cannot<T>(answer: &Answer<T>) -> String {
    match answer {
        Answer::Refused(refusal) => format!("Telegram refused: {} {}", refusal.code, refusal.description),
        Answer::Unreadable { status } => format!("something else answered in Telegram's place, HTTP {status}"),
        Answer::NotSent { detail } | Answer::Lost { detail } => format!("Telegram cannot be reached: {detail}"),
        Answer::Ok(_) => "Telegram answered with something unexpected".to_owned(),
    }
}
