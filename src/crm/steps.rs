//! Several requests for one ticket: find or make a contact, make the ticket, read its number.
//!
//! Each record has a key of its own, derived from the ticket's, and each request is stored before it is sent and what
//! it gave before the next one goes. So a process that dies between two steps goes on where it was, with the same
//! bytes. Until the ticket's own request has gone out, nothing is lost: whatever happens to a step before it is "not
//! sent" for the ticket. From then on nothing is "not sent" any more.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde::{Deserialize, Serialize};

use super::{
    Crm, clean,
    exchange::Within,
    made::Made,
    request::Rendered,
    response::Reader,
    scope::{self, Outputs},
    transport::Heard,
};
use crate::{
    catalog::profile::{
        model::{Find, Lookup, Step, StepKind},
        path::JsonPath,
    },
    domain::{
        attachment::LeftOut,
        outcome::{Look, Outcome},
        ticket::{Ticket, TicketOrder},
    },
    ids::{ExternalKey, Marker},
};

/// What is known of one step of one create.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The request as it was first sent; absent where nothing had to be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Rendered>,
    /// What it gave to later steps; absent while its answer is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<BTreeMap<String, String>>,
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = if self.outputs.is_some() { "answered" } else { "sent" };
        write!(f, "Done({ended}, {:?})", self.request)
    }
}

/// A stored step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The step's name.
    pub step: String,
    /// The step's own key.
    pub key: ExternalKey,
    /// What is known of it.
    pub done: Done,
    /// How long ago it was stored.
    pub age: Duration,
}

/// Where the steps of one create are kept, and the word on whether its sender may still begin something.
pub trait StepStore: Send + Sync {
    /// All steps stored so far.
    fn load(&self) -> BoxFuture<'_, Result<Vec<Saved>, String>>;
    /// Stores one step, in place of what was stored of it before.
    fn save(&self, step: &str, key: ExternalKey, done: &Done) -> BoxFuture<'_, Result<(), String>>;
    /// Stores that a step is about to be taken, unless that is known of it already: `false` then.
    fn begin(&self, step: &str, key: ExternalKey) -> BoxFuture<'_, Result<bool, String>>;
    /// Tells people that the n-th file is not with its ticket.
    fn note(&self, file: usize, why: LeftOut) -> BoxFuture<'_, ()>;
    /// Whether the sender still owns the attempt.
    fn is_ours(&self) -> bool;
    /// How much of the sender's lease is left: a call that begins now must end within it.
    fn left(&self) -> Duration;
    /// Whether the ticket's request may be made anew where it cannot go out as it was: nothing of it was ever sent, it is
    /// proved to be absent, or a person has decided.
    fn may_differ(&self) -> bool;
}

/// Steps of a create nobody will go on with: trials.
#[derive(Debug, Default)]
pub struct Forgetful(Mutex<Vec<Saved>>);

impl StepStore for Forgetful {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Saved>, String>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        async move { Ok(all) }.boxed()
    }

    fn save(&self, step: &str, key: ExternalKey, done: &Done) -> BoxFuture<'_, Result<(), String>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|saved| saved.step != step);
        all.push(Saved { step: step.to_owned(), key, done: done.clone(), age: Duration::ZERO });
        async { Ok(()) }.boxed()
    }

    fn begin(&self, step: &str, key: ExternalKey) -> BoxFuture<'_, Result<bool, String>> {
        let known = |all: &Vec<Saved>| all.iter().any(|saved| saved.step == step && saved.key == key);
        let is_known = known(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let saving = self.save(step, key, &Done { request: None, outputs: None });
        async move { if is_known { Ok(false) } else { saving.await.map(|()| true) } }.boxed()
    }

    fn note(&self, _: usize, _: LeftOut) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn left(&self) -> Duration {
        Duration::MAX
    }

    fn may_differ(&self) -> bool {
        true
    }
}

/// Whether the create goes on after a step.
enum On {
    With(BTreeMap<String, String>),
    Ends(Outcome),
}

/// One create under way.
pub(super) struct Run<'a> {
    pub(super) crm: &'a Crm,
    pub(super) order: &'a TicketOrder,
    pub(super) store: &'a dyn StepStore,
}

pub(super) fn not_sent(detail: impl Into<String>, wait: Option<Duration>) -> Outcome {
    Outcome::NotSent { detail: detail.into(), wait }
}

impl Run<'_> {
    pub(super) async fn run(&self) -> Outcome {
        let saved = match self.store.load().await {
            Ok(saved) => saved,
            Err(why) => return not_sent(format!("the steps made before cannot be read: {why}"), None),
        };
        let (mut outputs, mut ticket) = (Outputs::new(), None);
        for step in &self.crm.profile.steps {
            let key = self.key(step);
            let before = saved.iter().find(|saved| saved.step == step.name && saved.key == key);
            let on = match before.and_then(|saved| saved.done.outputs.clone()) {
                Some(known) => On::With(known),
                None if step.is_ticket() => self.ticket(step, before, &outputs, &saved).await,
                None => self.step(step, before, &outputs, ticket.as_ref()).await,
            };
            match on {
                On::With(known) => {
                    ticket = ticket_of(&known).or(ticket);
                    outputs.insert(step.name.clone(), known);
                }
                On::Ends(outcome) if ticket.is_none() => return outcome,
                // The ticket is there; what could not be read of it is for the lookup to find.
                On::Ends(outcome) => {
                    return Outcome::Lost {
                        detail: format!("the ticket was made, then step `{}`: {outcome:?}", step.name),
                    };
                }
            }
        }
        match ticket {
            Some(ticket) if clean::is_number(&self.crm.profile, &ticket.number) => {
                self.attach_after(&ticket).await;
                Outcome::Created { ticket }
            }
            Some(_) => Outcome::Lost { detail: "the ticket was made, but what names it is no number".to_owned() },
            None => not_sent("the profile has no step that makes a ticket", None),
        }
    }

    pub(super) fn within(&self, step: &Step) -> Within<'_> {
        Within { own: step.request.timeout, store: Some(self.store) }
    }

    fn key(&self, step: &Step) -> ExternalKey {
        if step.is_ticket() { self.order.key } else { self.order.key.of_step(&step.name) }
    }

    async fn step(&self, step: &Step, before: Option<&Saved>, outputs: &Outputs, ticket: Option<&Ticket>) -> On {
        let Fit { key, request } = match self.fit(step, before, outputs) {
            Ok(Some(fit)) => fit,
            Ok(None) => return On::With(BTreeMap::new()),
            Err(_) if step.best_effort => return On::With(BTreeMap::new()),
            Err(why) => return On::Ends(Outcome::Unfit { detail: format!("step `{}`: {why}", step.name) }),
        };
        if !self.store.is_ours() {
            return On::Ends(not_sent("held up past its own lease before writing", None));
        }
        match &step.kind {
            StepKind::Find(find) => self.find(step, find, key, request, outputs).await,
            StepKind::Make { lookup, .. } => self.make(step, lookup.as_deref(), before, key, request).await,
            // The run itself takes this one: it has files to see to.
            StepKind::Ticket => On::Ends(not_sent("the ticket is made elsewhere", None)),
            StepKind::Read { record } => self.read(step, record.as_ref(), key, request, ticket).await,
        }
    }

    /// The request of a step, as it was first sent; `None` where its condition does not hold.
    fn fit(&self, step: &Step, before: Option<&Saved>, outputs: &Outputs) -> Result<Option<Fit>, String> {
        let (crm, key) = (self.crm, self.key(step));
        if let Some(request) = before.and_then(|saved| saved.done.request.clone()) {
            return Ok(Some(Fit { key, request }));
        }
        let scope = scope::create(&crm.fitted.vars, &crm.profile.ext, self.order, key, outputs, &[]);
        if let Some(when) = &step.when
            && !when.holds(&scope).map_err(|error| error.0)?
        {
            return Ok(None);
        }
        let request = crm.render(&step.request, &scope).map_err(|error| error.to_string())?;
        Ok(Some(Fit { key, request }))
    }

    async fn find(&self, step: &Step, find: &Find, key: ExternalKey, request: Rendered, outputs: &Outputs) -> On {
        let scope = scope::create(&self.crm.fitted.vars, &self.crm.profile.ext, self.order, key, outputs, &[]);
        let found = match self.crm.exchange(request.clone(), self.within(step)).await {
            Ok(Heard::Answer(answer)) => self.reader(key, |reader| reader.found(step, find, &answer, &scope)),
            Ok(Heard::NotSent(detail)) => return On::Ends(not_sent(detail, None)),
            Ok(Heard::Lost(detail)) => Made::Unsure { detail },
            Err(outcome) => return On::Ends(outcome),
        };
        self.settle(step, key, Some(request), found).await
    }

    async fn make(
        &self,
        step: &Step,
        lookup: Option<&Lookup>,
        before: Option<&Saved>,
        key: ExternalKey,
        request: Rendered,
    ) -> On {
        if let (Some(lookup), Some(before)) = (lookup, before) {
            let settle = lookup.settle_after.max(self.crm.profile.dedupe.server_max);
            if let Some(left) = settle.checked_sub(before.age).filter(|left| !left.is_zero()) {
                let why = format!("the answer of step `{}` was lost; it is looked for later", step.name);
                return On::Ends(not_sent(why, Some(left)));
            }
            match self.crm.look_once(lookup, key, &self.order.marker).await {
                Look::Found { tickets } => {
                    let id = tickets.into_iter().next().map(|ticket| ("id".to_owned(), ticket.id));
                    return self.settle(step, key, Some(request), Made::Outputs(id.into_iter().collect())).await;
                }
                Look::Missed => {}
                Look::Unsure { detail, wait } => return On::Ends(not_sent(detail, wait)),
                Look::Impossible => {}
            }
        } else if before.is_some() && step.best_effort {
            // Whether it was made is not known; the ticket is what counts, and it goes without.
            return self.settle(step, key, Some(request), Made::Outputs(BTreeMap::new())).await;
        }
        let sent = Done { request: Some(request.clone()), outputs: None };
        if let Err(why) = self.store.save(&step.name, key, &sent).await {
            return On::Ends(not_sent(format!("step `{}` cannot be stored: {why}", step.name), None));
        }
        let made = match self.crm.exchange(request.clone(), self.within(step)).await {
            Ok(Heard::Answer(answer)) => self.reader(key, |reader| reader.made(step, &answer)),
            Ok(Heard::NotSent(detail)) => return On::Ends(not_sent(detail, None)),
            Ok(Heard::Lost(detail)) => Made::Unsure { detail },
            Err(outcome) => return On::Ends(outcome),
        };
        self.settle(step, key, Some(request), made).await
    }

    async fn ticket(&self, step: &Step, before: Option<&Saved>, outputs: &Outputs, saved: &[Saved]) -> On {
        let key = self.order.key;
        let (request, contents) = match self.with_files(step, before, outputs, saved).await {
            Ok(ready) => ready,
            Err(outcome) => return On::Ends(outcome),
        };
        if !self.store.is_ours() {
            return On::Ends(not_sent("held up past its own lease before writing", None));
        }
        let sent = Done { request: Some(request.clone()), outputs: None };
        if let Err(why) = self.store.save(&step.name, key, &sent).await {
            return On::Ends(not_sent(format!("the ticket's request cannot be stored: {why}"), None));
        }
        let outcome = match self.crm.exchange_with(request.clone(), &contents, self.within(step)).await {
            Ok(Heard::Answer(answer)) => self.crm.made(key, &self.order.marker, step, &answer),
            Ok(Heard::NotSent(detail)) => not_sent(detail, None),
            Ok(Heard::Lost(detail)) => Outcome::Lost { detail },
            Err(outcome) => outcome,
        };
        let Outcome::Created { ticket } = outcome else {
            return On::Ends(self.refused_with_files(outcome, &request).await);
        };
        let known = known_of(&ticket);
        let done = Done { request: Some(request), outputs: Some(known.clone()) };
        if let Err(why) = self.store.save(&step.name, key, &done).await {
            // It stands in the CRM under our key, and will be found there.
            tracing::warn!(step = %step.name, why, "what a step gave could not be stored");
        }
        On::With(known)
    }

    async fn read(
        &self,
        step: &Step,
        record: Option<&JsonPath>,
        key: ExternalKey,
        request: Rendered,
        ticket: Option<&Ticket>,
    ) -> On {
        let read = match self.crm.exchange(request, self.within(step)).await {
            Ok(Heard::Answer(answer)) => self.reader(key, |reader| reader.reread(step, record, ticket, &answer)),
            Ok(Heard::NotSent(detail) | Heard::Lost(detail)) => Err(detail),
            Err(outcome) => return On::Ends(outcome),
        };
        match read {
            Ok(ticket) => On::With(known_of(&ticket)),
            Err(_) if step.best_effort => On::With(BTreeMap::new()),
            Err(detail) => On::Ends(Outcome::Lost { detail }),
        }
    }

    /// Stores what a step gave and goes on, or says why not.
    async fn settle(&self, step: &Step, key: ExternalKey, request: Option<Rendered>, made: Made) -> On {
        let known = match made {
            Made::Outputs(known) => known,
            // Nothing of the ticket has gone out yet, so these all mean "not sent" for it.
            Made::Unsure { .. } | Made::Refused { .. } if step.best_effort => BTreeMap::new(),
            Made::Unsure { detail } => return On::Ends(not_sent(format!("step `{}`: {detail}", step.name), None)),
            Made::Refused { message } => return On::Ends(Outcome::Refused { message }),
            Made::Later { detail, wait } => return On::Ends(not_sent(format!("step `{}`: {detail}", step.name), wait)),
            Made::Auth { detail } => return On::Ends(Outcome::AuthRefused { detail }),
            // A person has to look; they may merge the records and have the ticket made after all.
            Made::Many { detail } => return On::Ends(Outcome::Lost { detail }),
        };
        let done = Done { request, outputs: Some(known.clone()) };
        match self.store.save(&step.name, key, &done).await {
            Ok(()) => On::With(known),
            Err(why) => On::Ends(not_sent(format!("what step `{}` gave cannot be stored: {why}", step.name), None)),
        }
    }

    fn reader<T>(&self, key: ExternalKey, what: impl FnOnce(Reader<'_>) -> T) -> T {
        let marker: &Marker = &self.order.marker;
        self.crm.read(key, marker, what)
    }
}

/// A step's key and request.
struct Fit {
    key: ExternalKey,
    request: Rendered,
}

/// What the ticket's step gives to later ones.
fn known_of(ticket: &Ticket) -> BTreeMap<String, String> {
    let mut known =
        BTreeMap::from([("id".to_owned(), ticket.id.clone()), ("number".to_owned(), ticket.number.clone())]);
    known.extend(ticket.url.clone().map(|url| ("url".to_owned(), url)));
    known
}

/// The other way round; only the ticket's step and what reads it again give a number.
fn ticket_of(known: &BTreeMap<String, String>) -> Option<Ticket> {
    let (id, number) = (known.get("id")?.clone(), known.get("number")?.clone());
    Some(Ticket { id, number, url: known.get("url").cloned() })
}
