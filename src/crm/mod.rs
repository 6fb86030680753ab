//! The door to the CRM: what to send, how to send it, what an answer proves. One profile file decides all three.
//!
//! `request` renders a request and `response` reads an answer, both pure; `transport` is the one place with a network,
//! `auth` the one place where secrets meet a request; [`limiter`] keeps the pace, also pure. Nothing here retries, and
//! nothing here decides what happens next: an [`Outcome`] says what one call proved, and the operation machine goes on
//! from there.

mod answer;
mod auth;
mod clean;
pub mod limiter;
mod request;
mod response;
mod scope;
mod settings;
mod transport;

use std::{sync::Arc, time::Duration};

use self::{
    clean::Origin,
    request::Rendered,
    response::Reader,
    settings::Fitted,
    transport::{Heard, Transport},
};
pub use self::{
    request::{PrepareError, Prepared},
    settings::CrmSettings,
};
use crate::{
    catalog::profile::{
        Profile,
        model::{Lookup, Request},
        template::Scope,
    },
    config::problem::Problems,
    domain::{
        operation::OnAbsent,
        outcome::{Look, Outcome, Promise, Verified},
        ticket::TicketOrder,
    },
    ids::{ExternalKey, Marker},
};

/// A CRM that can be asked.
#[derive(Debug)]
pub struct Crm {
    profile: Arc<Profile>,
    fitted: Fitted,
    transport: Transport,
}

/// What a profile's file says of waiting and pace; the installation may override it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// How long after the last attempt a miss begins to count: as long as the slowest lookup needs.
    pub settle: Duration,
    /// How many misses prove absence.
    pub looks: u32,
    /// The pause between two looks.
    pub spacing: Duration,
    /// How long after the first attempt the same key may be sent again, safety margin taken off; `None` is forever.
    pub key_ttl: Option<Duration>,
    /// What to do when the ticket is provably not there.
    pub on_absent: OnAbsent,
    /// Requests open at the same time.
    pub concurrency: u32,
    /// Requests a second over a long time.
    pub per_second: f64,
    /// Requests at once after a pause.
    pub burst: u32,
}

impl Crm {
    /// A client for one CRM.
    ///
    /// # Errors
    /// Every setting that does not fit the profile, without secrets.
    pub fn new(profile: Arc<Profile>, settings: CrmSettings) -> Result<Self, Problems> {
        let fitted = settings::fit(&profile, &settings)?;
        let transport = Transport::new(settings.connect_limit(), settings.request_timeout).map_err(|why| {
            let mut problems = Problems::new();
            problems.error(&settings.file, None, format!("the HTTP client cannot start: {why}"), "");
            problems
        })?;
        Ok(Self { profile, fitted, transport })
    }

    /// The profile it works by.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What makes a repeat harmless. An unverified profile is not believed in what would send again: its keyed claim
    /// counts as searchable, or as blind where it has no lookup, so that a human settles the unknown.
    #[must_use]
    pub fn promise(&self) -> Promise {
        match self.profile.meta.promise {
            Promise::Keyed if self.profile.meta.verified.is_some() => Promise::Keyed,
            Promise::Blind => Promise::Blind,
            _ if self.can_look() => Promise::Searchable,
            _ => Promise::Blind,
        }
    }

    /// Whether a ticket can be looked up by our key.
    #[must_use]
    pub fn can_look(&self) -> bool {
        !self.profile.lookups.is_empty()
    }

    /// Whether one ticket can be read by its number.
    #[must_use]
    pub fn can_verify(&self) -> bool {
        self.profile.verify.is_some()
    }

    /// The profile's own figures.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let (lookups, limits) = (&self.profile.lookups, self.profile.limits);
        let sure = self.profile.meta.verified.is_some();
        Figures {
            settle: lookups.iter().map(|lookup| lookup.settle_after).max().unwrap_or(Duration::ZERO),
            looks: lookups.iter().map(|lookup| lookup.misses).max().unwrap_or(1),
            spacing: lookups.iter().map(|lookup| lookup.spacing).max().unwrap_or(Duration::from_secs(20)),
            key_ttl: self.profile.dedupe.ttl,
            on_absent: if sure { self.profile.on_absent } else { OnAbsent::Review },
            concurrency: limits.concurrency,
            per_second: limits.per_second,
            burst: limits.burst,
        }
    }

    /// Renders an order into the request that every attempt for it sends.
    ///
    /// # Errors
    /// A value does not fit its place in the request.
    pub fn prepare(&self, order: &TicketOrder) -> Result<Prepared, PrepareError> {
        let step = self.profile.steps.first().ok_or_else(|| PrepareError("the profile has no step".to_owned()))?;
        let scope = scope::create(&self.fitted.vars, &self.profile.ext, order);
        let Rendered { method, url, headers, body } = self.render(&step.request, &scope)?;
        let (step, key, marker) = (step.name.clone(), order.key, order.marker.clone());
        Ok(Prepared { step, key, marker, method, url, headers, body })
    }

    /// Sends a create once and says what that proves.
    pub async fn create(&self, prepared: &Prepared) -> Outcome {
        let not_sent = |detail: &str| Outcome::NotSent { detail: detail.to_owned(), wait: None };
        let Some(step) = self.profile.steps.iter().find(|step| step.name == prepared.step) else {
            return not_sent("the profile no longer has the step this request was prepared for");
        };
        let Prepared { method, url, headers, body, key, marker, .. } = prepared.clone();
        // A stored request may be older than the settings: credentials go to the CRM they belong to, nowhere else.
        let same = Origin::of(&url).is_some_and(|origin| self.fitted.api.contains(&origin));
        if !same {
            return not_sent("the request was prepared for another address than the CRM now has");
        }
        let heard = match self.authorize(Rendered { method, url, headers, body }) {
            Ok(wire) => self.transport.exchange(wire).await,
            Err(why) => return not_sent(&why),
        };
        self.hush_outcome(match heard {
            Heard::Answer(answer) => self.read(key, &marker, |reader| reader.outcome(step, &answer)),
            Heard::NotSent(detail) => Outcome::NotSent { detail, wait: None },
            Heard::Lost(detail) => Outcome::Lost { detail },
        })
    }

    /// Looks for tickets that carry our key, by each lookup of the profile until one finds something.
    pub async fn look(&self, key: ExternalKey, marker: &Marker) -> Look {
        let mut worst = if self.can_look() { Look::Missed } else { Look::Impossible };
        for lookup in &self.profile.lookups {
            match self.look_once(lookup, key, marker).await {
                found @ Look::Found { .. } => return found,
                Look::Missed => {}
                // One lookup that could not be asked leaves absence unproved, whatever the others say.
                unsure => worst = unsure,
            }
        }
        match worst {
            Look::Unsure { detail, wait } => Look::Unsure { detail: self.hush(detail), wait },
            other => other,
        }
    }

    async fn look_once(&self, lookup: &Lookup, key: ExternalKey, marker: &Marker) -> Look {
        let scope = scope::find(&self.fitted.vars, &self.profile.ext, key, marker);
        match self.ask(&lookup.request, &scope).await {
            Heard::Answer(answer) => self.read(key, marker, |reader| reader.look(lookup, &answer)),
            Heard::NotSent(why) | Heard::Lost(why) => {
                Look::Unsure { detail: format!("lookup `{}`: {why}", lookup.name), wait: None }
            }
        }
    }

    /// Reads one ticket by the number a person gave, and says whether it is ours.
    pub async fn verify(&self, number: &str, key: ExternalKey, marker: &Marker) -> Verified {
        let Some(verify) = &self.profile.verify else { return Verified::Impossible };
        if !self.profile.number.fits(number) {
            return Verified::Absent;
        }
        let scope = scope::number(&self.fitted.vars, &self.profile.ext, key, marker, number);
        let said = match self.ask(&verify.request, &scope).await {
            Heard::Answer(answer) => self.read(key, marker, |reader| reader.verified(verify, number, &answer)),
            Heard::NotSent(detail) | Heard::Lost(detail) => Verified::Unsure { detail },
        };
        match said {
            Verified::Unsure { detail } => Verified::Unsure { detail: self.hush(detail) },
            other => other,
        }
    }

    /// The request an order would send, with every secret masked, for people to look at.
    #[must_use]
    pub fn dry_run(&self, order: &TicketOrder) -> String {
        let prepared = match self.prepare(order) {
            Ok(prepared) => prepared,
            Err(error) => return error.to_string(),
        };
        let Prepared { method, url, headers, body, .. } = prepared;
        let request = Rendered { method, url, headers, body };
        let masked = auth::masked(&self.fitted.secrets);
        let Ok(wire) = auth::authorize(request, &self.profile.auth, &self.fitted.vars, &masked) else {
            return "the credentials cannot be rendered".to_owned();
        };
        let mut text = format!("{} {}\n", wire.method, wire.url);
        for (name, value) in &wire.headers {
            text.push_str(&format!("{name}: {value}\n"));
        }
        if wire.basic.is_some() {
            text.push_str("authorization: Basic ***\n");
        }
        let body = wire.body.unwrap_or_default();
        let pretty = serde_json::from_str::<serde_json::Value>(&body)
            .ok()
            .and_then(|json| serde_json::to_string_pretty(&json).ok());
        format!("{text}\n{}\n", pretty.unwrap_or(body))
    }

    fn render(&self, request: &Request, scope: &Scope) -> Result<Rendered, PrepareError> {
        request::render(request, &scope::fixed(&self.fitted.vars), scope)
    }

    fn authorize(&self, request: Rendered) -> Result<auth::Wire, String> {
        let Fitted { vars, secrets, .. } = &self.fitted;
        auth::authorize(request, &self.profile.auth, vars, secrets).map_err(|error| error.0)
    }

    async fn ask(&self, request: &Request, scope: &Scope) -> Heard {
        let rendered = self.render(request, scope).map_err(|error| error.0);
        match rendered.and_then(|rendered| self.authorize(rendered)) {
            Ok(wire) => self.transport.exchange(wire).await,
            Err(why) => Heard::NotSent(why),
        }
    }

    fn read<T>(&self, key: ExternalKey, marker: &Marker, what: impl FnOnce(Reader<'_>) -> T) -> T {
        let scope = scope::find(&self.fitted.vars, &self.profile.ext, key, marker);
        let keys = scope::writings(&self.profile.ext, key);
        let (profile, vars, origins) = (&*self.profile, &self.fitted.vars, &*self.fitted.links);
        what(Reader { profile, vars, origins, scope: &scope, keys: &keys })
    }

    fn hush(&self, text: String) -> String {
        auth::redact(&text, &self.fitted.secrets)
    }

    fn hush_outcome(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Refused { message } => Outcome::Refused { message: self.hush(message) },
            Outcome::NotSent { detail, wait } => Outcome::NotSent { detail: self.hush(detail), wait },
            Outcome::AuthRefused { detail } => Outcome::AuthRefused { detail: self.hush(detail) },
            Outcome::Lost { detail } => Outcome::Lost { detail: self.hush(detail) },
            other => other,
        }
    }
}
