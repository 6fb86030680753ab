//! The door to the CRM: what to send, how to send it, what an answer proves. One profile file decides all three.
//!
//! `request` renders a request and `response` reads an answer, both pure; `transport` is the one place with a network,
//! `auth` the one place where secrets meet a request; [`limiter`] keeps the pace, also pure. Nothing here retries, and
//! nothing here decides what happens next: an [`Outcome`] says what one call proved, and the operation machine goes on
//! from there.

mod answer;
mod attach;
mod auth;
mod clean;
mod exchange;
mod expiry;
mod figures;
mod files;
pub mod limiter;
mod made;
mod measure;
mod multipart;
mod named;
mod request;
mod response;
mod scope;
mod seal;
mod settings;
mod show;
mod sign;
pub mod steps;
pub mod tokens;
mod transport;

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use self::{
    answer::Answer,
    exchange::Within,
    request::{Plan, Rendered},
    response::Reader,
    settings::Fitted,
    steps::{Run, StepStore},
    tokens::{Keeper, TokenStore},
    transport::{Heard, Transport},
};
pub use self::{
    expiry::Expiry,
    figures::{Cost, Figures, longest_call, promise, resend_refusal},
    files::{FileSource, FileWords, Inset, NoFile},
    request::{PrepareError, Prepared},
    settings::CrmSettings,
    show::{DryRun, Unfit},
};
use crate::{
    catalog::profile::{
        Profile,
        model::{Lookup, Request, Step, Way},
        template::Scope,
    },
    config::problem::Problems,
    domain::{
        attachment::LeftOut,
        outcome::{Look, Outcome, Verified},
        ticket::{Ticket, TicketOrder},
    },
    ids::{ExternalKey, Marker},
};

/// A CRM that can be asked.
#[derive(Debug)]
pub struct Crm {
    profile: Arc<Profile>,
    fitted: Fitted,
    transport: Transport,
    tokens: Keeper,
    /// The longest one exchange may take where the profile says nothing else.
    usual: Duration,
    /// Whether an answer to a create has shown our key: then the CRM keeps it.
    echoed: AtomicBool,
    /// Where the bytes of attached files come from.
    source: Arc<dyn FileSource>,
    /// What a ticket's text says of files that are not with it.
    words: FileWords,
}

impl Crm {
    /// A client for one CRM.
    ///
    /// # Errors
    /// Every setting that does not fit the profile, without secrets.
    pub fn new(profile: Arc<Profile>, settings: CrmSettings) -> Result<Self, Problems> {
        let fitted = settings::fit(&profile, &settings)?;
        let transport = Transport::new(settings.connect_limit(&profile), settings.request_timeout).map_err(|why| {
            let mut problems = Problems::new();
            let (file, line) = settings.places.of("crm");
            problems.error(file, line, format!("the HTTP client cannot start: {why}"), "");
            problems
        })?;
        let tokens = Keeper::new(&profile.meta.name, Arc::new(tokens::InMemory::default()));
        let (source, words) = (Arc::new(files::NoSource), FileWords::default());
        let usual = settings.request_timeout;
        Ok(Self { profile, fitted, transport, tokens, usual, echoed: AtomicBool::new(false), source, words })
    }

    /// The same, keeping its tokens in `store`: what all processes of an installation share.
    #[must_use]
    pub fn with_tokens(mut self, store: Arc<dyn TokenStore>) -> Self {
        self.tokens = Keeper::new(&self.profile.meta.name, store);
        self
    }

    /// The same, with a source of attached files.
    #[must_use]
    pub fn with_files(mut self, source: Arc<dyn FileSource>) -> Self {
        self.source = source;
        self
    }

    /// The same, with sentences for files that are not with their ticket.
    #[must_use]
    pub fn with_file_words(mut self, words: FileWords) -> Self {
        self.words = words;
        self
    }

    /// The profile it works by.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
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

    /// Renders an order into what every attempt for it sends.
    ///
    /// # Errors
    /// A value does not fit its place in the request.
    pub fn prepare(&self, order: &TicketOrder) -> Result<Prepared, PrepareError> {
        let (key, marker) = (order.key, order.marker.clone());
        let order = self.without_untaken(order);
        let step = match self.profile.steps.as_slice() {
            [step] if order.files.is_empty() => step,
            _ => return Ok(Prepared { key, marker, plan: Plan::Steps(Box::new(order.into_owned())) }),
        };
        let nothing = scope::Outputs::new();
        let scope = scope::create(&self.fitted.vars, &self.profile.ext, &order, key, &nothing, &[]);
        let plan = Plan::Request { step: step.name.clone(), request: self.render(&step.request, &scope)? };
        Ok(Prepared { key, marker, plan })
    }

    /// An order for a CRM that takes no files names them in its text instead.
    fn without_untaken<'o>(&self, order: &'o TicketOrder) -> Cow<'o, TicketOrder> {
        if order.files.is_empty() || self.profile.attachments.way != Way::None {
            return Cow::Borrowed(order);
        }
        let names = order.files.iter().enumerate();
        let left: Vec<_> = names.map(|(at, file)| (file.file_name(at + 1), LeftOut::NotTaken)).collect();
        let body = self.words.added(&order.body, &left);
        Cow::Owned(TicketOrder { body, files: Vec::new(), ..order.clone() })
    }

    /// Posts the files of a ticket that was found or linked, those that have not been posted yet.
    pub async fn attach(&self, order: &TicketOrder, ticket: &Ticket, steps: &dyn StepStore) {
        Run { crm: self, order, store: steps }.attach_after(ticket).await;
    }

    /// Whether files are posted to a ticket that is there.
    #[must_use]
    pub fn attaches_after(&self) -> bool {
        matches!(self.profile.attachments.way, Way::AfterCreate(_))
    }

    /// Makes the ticket once, in one request or in steps that `steps` keeps, and says what that proves.
    pub async fn create(&self, prepared: &Prepared, steps: &dyn StepStore) -> Outcome {
        let outcome = match &prepared.plan {
            Plan::Request { step, request } => self.create_at_once(prepared, step, request, steps).await,
            Plan::Steps(order) => Run { crm: self, order, store: steps }.run().await,
        };
        self.hush_outcome(outcome)
    }

    async fn create_at_once(
        &self,
        prepared: &Prepared,
        step: &str,
        request: &Rendered,
        store: &dyn StepStore,
    ) -> Outcome {
        let Some(step) = self.profile.steps.iter().find(|known| known.name == step) else {
            let detail = "the profile no longer has the step this request was prepared for".to_owned();
            return Outcome::NotSent { detail, wait: None };
        };
        match self.exchange(request.clone(), Within { own: step.request.timeout, store: Some(store) }).await {
            Ok(Heard::Answer(answer)) => self.made(prepared.key, &prepared.marker, step, &answer),
            Ok(Heard::NotSent(detail)) => Outcome::NotSent { detail, wait: None },
            Ok(Heard::Lost(detail)) => Outcome::Lost { detail },
            Err(outcome) => outcome,
        }
    }

    /// What the answer to the ticket's own request proves.
    fn made(&self, key: ExternalKey, marker: &Marker, step: &Step, answer: &Answer) -> Outcome {
        self.read(key, marker, |reader| {
            if reader.echo(&step.read, answer) == Some(true) {
                self.echoed.store(true, Ordering::Relaxed);
            }
            reader.outcome(step, answer)
        })
    }

    /// Whether some answer to a create has shown our key, so that nobody need read a ticket back to know it is kept.
    #[must_use]
    pub fn has_echoed(&self) -> bool {
        self.echoed.load(Ordering::Relaxed)
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
        let unsure = |why: String, wait| Look::Unsure { detail: format!("lookup `{}`: {why}", lookup.name), wait };
        let pages = lookup.scan.map_or(1, |scan| scan.pages);
        for page in 1..=pages {
            let offset = lookup.scan.map_or(0, |scan| scan.size.saturating_mul(page - 1));
            let scope = scope::scan(&self.fitted.vars, &self.profile.ext, key, marker, (page, offset));
            let (look, records) = match self.ask(&lookup.request, &scope).await {
                Heard::Answer(answer) => {
                    self.read(key, marker, |reader| (reader.look(lookup, &answer), reader.count(lookup, &answer)))
                }
                Heard::NotSent(why) | Heard::Lost(why) => return unsure(why, None),
            };
            let full = lookup.scan.is_some_and(|scan| records >= scan.size as usize);
            if look != Look::Missed || !full {
                return look;
            }
        }
        unsure("there are more records than may be leafed through".to_owned(), None)
    }

    /// Reads one ticket by the number a person gave, and says whether it is ours.
    pub async fn verify(&self, number: &str, key: ExternalKey, marker: &Marker) -> Verified {
        let Some(verify) = &self.profile.verify else { return Verified::Impossible };
        if !clean::is_number(&self.profile, number) {
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

    fn render(&self, request: &Request, scope: &Scope) -> Result<Rendered, PrepareError> {
        request::render(request, &scope::fixed(&self.fitted.vars), scope)
    }

    fn credentials<'a>(&'a self, secrets: &'a scope::Secrets, token: &'a str) -> auth::Credentials<'a> {
        auth::Credentials {
            auth: &self.profile.auth,
            headers: &self.profile.auth_headers,
            vars: &self.fitted.vars,
            secrets,
            token,
        }
    }

    async fn ask(&self, request: &Request, scope: &Scope) -> Heard {
        let rendered = match self.render(request, scope) {
            Ok(rendered) => rendered,
            Err(error) => return Heard::NotSent(error.0),
        };
        match self.exchange(rendered, Within { own: request.timeout, store: None }).await {
            Ok(heard) => heard,
            Err(Outcome::NotSent { detail, .. } | Outcome::AuthRefused { detail }) => Heard::NotSent(detail),
            Err(other) => Heard::NotSent(format!("{other:?}")),
        }
    }

    fn read<T>(&self, key: ExternalKey, marker: &Marker, what: impl FnOnce(Reader<'_>) -> T) -> T {
        let scope = scope::find(&self.fitted.vars, &self.profile.ext, key, marker);
        let keys = scope::writings(&self.profile.ext, key);
        let (profile, vars, origins) = (&*self.profile, &self.fitted.vars, &*self.fitted.links);
        what(Reader { profile, vars, origins, scope: &scope, keys: &keys })
    }

    fn hush(&self, text: String) -> String {
        self.tokens.redact(&auth::redact(&text, &self.fitted.secrets))
    }

    fn hush_outcome(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Refused { message } => Outcome::Refused { message: self.hush(message) },
            Outcome::NotSent { detail, wait } => Outcome::NotSent { detail: self.hush(detail), wait },
            Outcome::Unfit { detail } => Outcome::Unfit { detail: self.hush(detail) },
            Outcome::AuthRefused { detail } => Outcome::AuthRefused { detail: self.hush(detail) },
            Outcome::Lost { detail } => Outcome::Lost { detail: self.hush(detail) },
            other => other,
        }
    }
}
