//! Tokens that are asked for: OAuth2 and session logins. One is kept for all, in the database.
//!
//! A refresh token may be used once: the answer brings the next one, and whoever loses that answer is locked out. So one
//! process at a time asks (a mutex here, a lease between replicas), what came is stored, sealed, before it is used, and
//! others read it from there. A token the CRM refuses is renewed once; one that was fresh when it was refused means that the
//! credentials themselves are no good.

use std::{
    fmt,
    sync::{Arc, Mutex as SyncMutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use super::{
    answer::Answer,
    auth::{MASK, Wire},
    clean::{self, Origin},
    request,
    scope::{self, Secrets, Vars},
    seal::Seal,
    transport::{Heard, Transport},
};
use crate::{catalog::profile::model::TokenAuth, clock::Timestamp};

/// A token refused within this time of its making was no good from the start.
const FRESH: Duration = Duration::from_secs(60);
/// When to ask again while another process is asking.
const OTHERS_TURN: Duration = Duration::from_secs(2);

/// Where tokens are kept, for all processes of an installation.
pub trait TokenStore: fmt::Debug + Send + Sync {
    /// The moment.
    fn now(&self) -> Timestamp;
    /// What was kept under this name.
    fn load(&self, name: &str) -> BoxFuture<'_, Result<Option<String>, String>>;
    /// Keeps a text in place of the one before, in one write.
    fn save(&self, name: &str, text: String) -> BoxFuture<'_, Result<(), String>>;
    /// Takes the right to renew for a while; `false` while another process has it.
    fn lock(&self, name: &str) -> BoxFuture<'_, Result<bool, String>>;
    /// Gives it back.
    fn unlock(&self, name: &str) -> BoxFuture<'_, ()>;
}

/// Keeps tokens as long as the process lives, and has no clock: one is good until the CRM refuses it. For trials.
#[derive(Debug, Default)]
pub struct InMemory(SyncMutex<Option<String>>);

impl TokenStore for InMemory {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn load(&self, _: &str) -> BoxFuture<'_, Result<Option<String>, String>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        async move { Ok(held) }.boxed()
    }

    fn save(&self, _: &str, text: String) -> BoxFuture<'_, Result<(), String>> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        async { Ok(()) }.boxed()
    }

    fn lock(&self, _: &str) -> BoxFuture<'_, Result<bool, String>> {
        async { Ok(true) }.boxed()
    }

    fn unlock(&self, _: &str) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

/// Why there is no token now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoToken {
    /// The CRM does not accept what we ask with.
    Refused(String),
    /// It could not be asked, or another process is asking.
    Later { why: String, wait: Option<Duration> },
}

/// A token to be used now.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Bearer {
    pub(super) token: String,
    /// Where its answer says the API is: `https://host[:port]`.
    pub(super) base: Option<String>,
}

/// A token as it is kept.
#[derive(Clone, Serialize, Deserialize)]
struct Held {
    token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    /// The next refresh token.
    refresh: Option<String>,
    /// Which configured credentials it came from: other ones begin anew.
    seed: String,
    got: Timestamp,
    until: Timestamp,
}

impl Held {
    fn bearer(&self) -> Bearer {
        Bearer { token: self.token.clone(), base: self.base.clone() }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held(got {:?}, until {:?})", self.got, self.until)
    }
}

/// The keeper of one profile's token.
#[derive(Debug)]
pub(super) struct Keeper {
    name: String,
    store: Arc<dyn TokenStore>,
    held: Mutex<Option<Held>>,
    /// Tokens that were in use, to be taken out of what the CRM says.
    used: SyncMutex<Vec<String>>,
}

/// What asking for a token needs.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) auth: &'a TokenAuth,
    pub(super) vars: &'a Vars,
    pub(super) secrets: &'a Secrets,
    pub(super) transport: &'a Transport,
}

impl Keeper {
    pub(super) fn new(profile: &str, store: Arc<dyn TokenStore>) -> Self {
        Self { name: format!("crm.token.{profile}"), store, held: Mutex::default(), used: SyncMutex::default() }
    }

    /// Takes tokens out of a text that came from outside.
    pub(super) fn redact(&self, text: &str) -> String {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.iter().filter(|token| token.len() >= 4).fold(text.to_owned(), |text, token| text.replace(token, MASK))
    }

    fn remember(&self, held: &Held) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for token in [Some(&held.token), held.refresh.as_ref()].into_iter().flatten() {
            if !used.contains(token) {
                used.push(token.clone());
            }
        }
        // The last few are enough: older ones are dead.
        let excess = used.len().saturating_sub(8);
        used.drain(..excess);
    }

    /// A token that lives long enough to be used now.
    pub(super) async fn token(&self, asking: Asking<'_>) -> Result<Bearer, NoToken> {
        let mut held = self.held.lock().await;
        let seed = seed(asking.secrets);
        if let Some(token) = self.living(held.as_ref(), &seed, asking.auth) {
            return Ok(token);
        }
        *held = self.stored(asking.secrets).await?;
        if let Some(token) = self.living(held.as_ref(), &seed, asking.auth) {
            return Ok(token);
        }
        if !self.store.lock(&self.name).await.map_err(later)? {
            return Err(NoToken::Later {
                why: "another process is renewing the CRM's token".to_owned(),
                wait: Some(OTHERS_TURN),
            });
        }
        let renewed = self.renew(&mut held, &seed, asking).await;
        self.store.unlock(&self.name).await;
        renewed
    }

    /// Under both locks: what another process renewed meanwhile is as good as what we would get.
    async fn renew(&self, held: &mut Option<Held>, seed: &str, asking: Asking<'_>) -> Result<Bearer, NoToken> {
        *held = self.stored(asking.secrets).await?;
        if let Some(token) = self.living(held.as_ref(), seed, asking.auth) {
            return Ok(token);
        }
        let kept = held.as_ref().filter(|held| held.seed == seed).and_then(|held| held.refresh.clone());
        let first = asking.auth.first_refresh.as_ref().and_then(|name| asking.secrets.get(name));
        let refresh = kept.or_else(|| first.map(|secret| secret.expose_secret().to_owned())).unwrap_or_default();
        let answer = match asking.transport.exchange(wire(asking, &refresh)?, asking.auth.request.timeout).await {
            Heard::Answer(answer) => answer,
            Heard::NotSent(why) | Heard::Lost(why) => {
                return Err(NoToken::Later { why: format!("no token: {why}"), wait: None });
            }
        };
        let mut new = self.read(&answer, asking)?;
        seed.clone_into(&mut new.seed);
        // Some systems give the next refresh token, others go on with the one they have.
        new.refresh = new.refresh.or((!refresh.is_empty()).then_some(refresh));
        let text = closed(&new, asking.secrets)?;
        // Kept here too: the one before is spent, whatever becomes of the write.
        let bearer = new.bearer();
        self.remember(&new);
        *held = Some(new);
        self.store.save(&self.name, text).await.map_err(later)?;
        tracing::info!(crm.token = %self.name, "a new token for the CRM");
        Ok(bearer)
    }

    fn read(&self, answer: &Answer, asking: Asking<'_>) -> Result<Held, NoToken> {
        let scope = scope::fixed(asking.vars);
        let of = |sources: &[_]| answer.first(sources, answer.json(), &scope);
        let token = of(&asking.auth.token).filter(|token| !token.chars().any(|c| c.is_control() || c.is_whitespace()));
        match (answer.status, token) {
            (200..=299, Some(token)) => {
                let told = of(&asking.auth.expires_in).and_then(|text| text.parse().ok()).map(Duration::from_secs);
                let got = self.store.now();
                let until = got.plus(told.unwrap_or(asking.auth.lifetime));
                let base = of(&asking.auth.base_url).map(|text| base(&text, asking.auth)).transpose()?;
                Ok(Held { token, base, refresh: of(&asking.auth.refresh), seed: String::new(), got, until })
            }
            // A gateway's page with 400 says nothing of credentials; OAuth2 says it in JSON.
            (400, _) if answer.json().is_none() => {
                Err(NoToken::Later { why: format!("no token: {}", answer.seen()), wait: None })
            }
            (400 | 401 | 403, _) => Err(NoToken::Refused(format!("no token: {}", reason(answer)))),
            _ => Err(NoToken::Later { why: format!("no token: {}", answer.seen()), wait: None }),
        }
    }

    /// The CRM refused this token. Whether asking again may help: it does not where the token was fresh.
    pub(super) async fn refused(&self, token: &str, secrets: &Secrets) -> bool {
        let mut held = self.held.lock().await;
        let now = self.store.now();
        let Some(ours) = held.as_mut().filter(|held| held.token == token) else { return true };
        if now < ours.got.plus(FRESH) {
            return false;
        }
        ours.until = now;
        if let Ok(text) = closed(ours, secrets) {
            drop(self.store.save(&self.name, text).await);
        }
        true
    }

    fn living(&self, held: Option<&Held>, seed: &str, auth: &TokenAuth) -> Option<Bearer> {
        let end = self.store.now().plus(auth.margin.min(auth.lifetime / 2));
        held.filter(|held| held.seed == seed && held.until > end).map(Held::bearer)
    }

    /// What other secrets sealed is as good as nothing: it belonged to other credentials.
    async fn stored(&self, secrets: &Secrets) -> Result<Option<Held>, NoToken> {
        let sealed = self.store.load(&self.name).await.map_err(later)?;
        let text = sealed.and_then(|sealed| Seal::of(secrets)?.open(&sealed));
        let held: Option<Held> = text.and_then(|text| serde_json::from_str(&text).ok());
        held.iter().for_each(|held| self.remember(held));
        Ok(held)
    }
}

/// The address of the API as a token's answer names it, if it lies where the profile says: else a forged answer would
/// send the token, and people's answers, to anybody.
fn base(text: &str, auth: &TokenAuth) -> Result<String, NoToken> {
    let refused =
        || NoToken::Refused("the token's answer names an address of the API that is none of `base_hosts`".to_owned());
    let origin = Origin::of(text.trim()).ok_or_else(refused)?;
    let known = |host: &String| {
        if host.starts_with('.') { origin.host().ends_with(host.as_str()) } else { origin.host() == host }
    };
    if origin.is_open_wire() || !auth.base_hosts.iter().any(known) {
        return Err(refused());
    }
    Ok(origin.to_string())
}

fn later(why: String) -> NoToken {
    NoToken::Later { why, wait: None }
}

fn closed(held: &Held, secrets: &Secrets) -> Result<String, NoToken> {
    let text = serde_json::to_string(held).map_err(|error| later(error.to_string()))?;
    let sealed = Seal::of(secrets).and_then(|seal| seal.close(&text));
    sealed.ok_or_else(|| later("the CRM's token cannot be sealed".to_owned()))
}

/// A mark of the configured credentials that says nothing about them.
fn seed(secrets: &Secrets) -> String {
    let mut hash = Sha256::new();
    for (name, secret) in secrets {
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update(secret.expose_secret().as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn wire(asking: Asking<'_>, refresh: &str) -> Result<Wire, NoToken> {
    let scope = scope::token(asking.vars, asking.secrets, refresh);
    let unfit = |why: String| NoToken::Refused(format!("no token can be asked for: {why}"));
    let rendered = request::render(&asking.auth.request, &scope::fixed(asking.vars), &scope);
    let request::Rendered { method, url, headers, body, insets: _ } = rendered.map_err(|error| unfit(error.0))?;
    let basic = match &asking.auth.basic {
        Some((user, password)) => {
            let text = |template: &crate::catalog::profile::template::Template| template.text(&scope);
            Some((text(user).map_err(|e| unfit(e.0))?, text(password).map_err(|e| unfit(e.0))?))
        }
        None => None,
    };
    Ok(Wire { method, url, headers, basic, body, filled: None })
}

/// The words OAuth2 has for a refusal, or the status.
fn reason(answer: &Answer) -> String {
    let word = |name: &str| answer.json().and_then(|json| json.get(name)).and_then(|value| value.as_str());
    let said = ["error_description", "error", "hint", "message"].into_iter().find_map(word).unwrap_or_default();
    format!("HTTP {} {}", answer.status, clean::message(said)).trim().to_owned()
}
