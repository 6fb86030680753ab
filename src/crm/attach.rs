//! A ticket's files: fetched, uploaded or put into its request before it goes, or posted after it is there.
//!
//! Before the ticket's request nothing is lost: a file that cannot be had now makes the attempt "not sent", a few times;
//! then, or where it can never be had, the ticket is made without it and says so, unless the profile requires files.
//! After the ticket each file is noted before it is posted: one whose answer was lost is not posted again.

mod after;
pub(super) mod parts;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value as Json, json};

use super::{
    files::{self, Contents, NoFile},
    made::Made,
    multipart::Carried,
    request::{self, Rendered},
    scope::{self, Outputs},
    steps::{Done, Run, Saved, not_sent},
    transport::Heard,
};
use crate::{
    catalog::profile::model::{Body, Step, Way},
    domain::{
        attachment::{Attachment, LeftOut, MEGABYTE},
        outcome::Outcome,
        ticket::{Ticket, TicketOrder},
    },
    ids::ExternalKey,
};

/// How many attempts a ticket waits for a file that cannot be had or taken for the moment.
const TRIES: u32 = 3;

/// How soon a ticket that was refused with its files goes without them.
const WITHOUT_FILES: Duration = Duration::from_secs(1);

/// What is known of one file from earlier attempts.
#[derive(Debug, Default)]
struct Known {
    token: Option<String>,
    left: Option<LeftOut>,
    done: bool,
    tries: u32,
    begun: bool,
    /// How long ago this was stored.
    age: Duration,
}

/// Why a stored request cannot go out again as it was.
enum Missing {
    Now(String),
    ForGood(String),
}

fn name_of(file: usize) -> String {
    // A step's name has no dot in it.
    format!("file.{}", file + 1)
}

impl Run<'_> {
    fn file_key(&self, file: usize) -> ExternalKey {
        self.order.key.of_step(&name_of(file))
    }

    fn known(&self, saved: &[Saved], file: usize) -> Known {
        let (name, key) = (name_of(file), self.file_key(file));
        let Some(found) = saved.iter().find(|saved| saved.step == name && saved.key == key) else {
            return Known::default();
        };
        let Some(outputs) = &found.done.outputs else {
            return Known { begun: true, age: found.age, ..Known::default() };
        };
        let get = |name: &str| outputs.get(name);
        Known {
            token: get("token").cloned(),
            left: get("left_out").and_then(|word| LeftOut::parse(word)),
            done: get("done").is_some(),
            tries: get("tries").and_then(|tries| tries.parse().ok()).unwrap_or(0),
            begun: false,
            age: found.age,
        }
    }

    async fn keep(&self, file: usize, name: &str, value: &str) -> Result<(), Outcome> {
        let outputs = Some(BTreeMap::from([(name.to_owned(), value.to_owned())]));
        let done = Done { request: None, outputs };
        let kept = self.store.save(&name_of(file), self.file_key(file), &done).await;
        kept.map_err(|why| not_sent(format!("what became of file {} cannot be stored: {why}", file + 1), None))
    }

    /// The ticket's request with what its files need, as it was first sent or fresh, and the bytes that go with it.
    pub(super) async fn with_files(
        &self,
        step: &Step,
        before: Option<&Saved>,
        outputs: &Outputs,
        saved: &[Saved],
    ) -> Result<(Rendered, Contents), Outcome> {
        if let Some(request) = before.and_then(|saved| saved.done.request.clone()) {
            let afresh = self.store.may_differ();
            let ended = |at| {
                let known = self.known(saved, at);
                known.token.is_some() && !self.token_lives(&known)
            };
            let dropped = request.insets.iter().any(|inset| self.known(saved, inset.file).left.is_some());
            let stale = afresh && (dropped || (0..self.order.files.len()).any(ended));
            match self.refetched(&request).await {
                Ok(_) if stale => {}
                Ok(contents) => return Ok((request, contents)),
                Err(Missing::ForGood(_)) if afresh => {}
                Err(Missing::ForGood(detail) | Missing::Now(detail)) => return Err(not_sent(detail, None)),
            }
        }
        let (mut list, mut left, mut contents) = (Vec::new(), Vec::new(), Contents::new());
        let mut total = 0;
        for (at, file) in self.order.files.iter().enumerate() {
            match self.prepared(at, file, saved, &mut total).await? {
                Ok((shown, content)) => {
                    list.push(shown);
                    contents.extend(content.map(|content| (at, content)));
                }
                Err(Some(why)) => left.push((file.file_name(at + 1), why)),
                Err(None) => {}
            }
        }
        let crm = self.crm;
        let body = crm.words.added(&self.order.body, &left);
        let order = TicketOrder { body, ..self.order.clone() };
        let scope = scope::create(&crm.fitted.vars, &crm.profile.ext, &order, order.key, outputs, &list);
        let shown = parts::shown(self.order, &contents);
        let request = match &crm.profile.attachments.way {
            Way::Multipart(templates) => parts::of(templates, &crm.fitted.vars, &shown),
            _ => Ok(Vec::new()),
        };
        let fixed = scope::fixed(&crm.fitted.vars);
        let request = request.and_then(|parts| request::render_with(&step.request, &fixed, &scope, parts));
        let request = request.map_err(|error| Outcome::Unfit { detail: error.to_string() })?;
        let base64 = crm.profile.attachments.way == Way::Inline;
        Ok((files::noted(request, order.key, &contents, base64), contents))
    }

    /// What the ticket's request says of one file, with its content if that goes along; or why it goes without.
    async fn prepared(
        &self,
        at: usize,
        file: &Attachment,
        saved: &[Saved],
        total: &mut u64,
    ) -> Result<Result<(Json, Option<Arc<Vec<u8>>>), Option<LeftOut>>, Outcome> {
        let known = self.known(saved, at);
        if let Some(why) = known.left {
            return Ok(Err(Some(why)));
        }
        let way = &self.crm.profile.attachments.way;
        if matches!(way, Way::None | Way::AfterCreate(_)) {
            return Ok(Err(None));
        }
        if let Some(why) = self.refused_by_caps(at, file) {
            return self.leave_out(at, why).await.map(|()| Err(Some(why)));
        }
        let shown = json!({"name": file.file_name(at + 1), "type": file.mime, "size": file.size});
        let ready = match way {
            Way::None | Way::AfterCreate(_) => return Ok(Err(None)),
            Way::Inline | Way::Multipart(_) => {
                self.bytes(at, file, &known).await?.map(|bytes| (shown, None, Some(bytes)))
            }
            Way::Upload(step) | Way::Urls(step) => {
                let token = self.upload(step, at, file, &known).await?;
                token.map(|token| (shown, Some(token), None))
            }
        };
        let most = u64::from(self.crm.profile.attachments.max_total) * MEGABYTE;
        let ready = ready.and_then(|(shown, token, bytes)| {
            let size = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
            if *total + size > most {
                return Err(LeftOut::TooLarge);
            }
            *total += size;
            Ok((shown, token, bytes))
        });
        match ready {
            Ok((mut shown, token, bytes)) => {
                if let Some(token) = token {
                    let name = if matches!(way, Way::Urls(_)) { "url" } else { "token" };
                    shown[name] = token.into();
                }
                if bytes.is_some() {
                    shown["content"] = files::mark(self.order.key, at).into();
                }
                Ok(Ok((shown, bytes.map(Arc::new))))
            }
            Err(why) => self.leave_out(at, why).await.map(|()| Err(Some(why))),
        }
    }

    /// A ticket refused with files in its request is tried once more without them: nobody can tell whether they were the
    /// reason, and a file never costs the ticket. What is refused then is refused for itself.
    pub(super) async fn refused_with_files(&self, outcome: Outcome, request: &Rendered) -> Outcome {
        let Outcome::Refused { message } = &outcome else { return outcome };
        let required = self.crm.profile.attachments.required;
        if request.insets.is_empty() || required || !self.store.may_differ() {
            return outcome;
        }
        for at in request.insets.iter().map(|inset| inset.file).collect::<BTreeSet<_>>() {
            if let Err(why) = self.leave_out(at, LeftOut::Refused).await {
                return why;
            }
        }
        not_sent(format!("refused with its files, tried without them: {message}"), Some(WITHOUT_FILES))
    }

    fn refused_by_caps(&self, at: usize, file: &Attachment) -> Option<LeftOut> {
        let caps = &self.crm.profile.attachments;
        if at >= caps.max_files as usize {
            Some(LeftOut::TooMany)
        } else if file.is_larger_than(caps.max_size) {
            Some(LeftOut::TooLarge)
        } else {
            (!file.is_one_of(&caps.types)).then_some(LeftOut::WrongType)
        }
    }

    /// From here on the ticket goes without this file; where files are required it does not go at all.
    async fn leave_out(&self, at: usize, why: LeftOut) -> Result<(), Outcome> {
        if self.crm.profile.attachments.required {
            return Err(not_sent(format!("file {}: {}", at + 1, why.name()), None));
        }
        self.keep(at, "left_out", why.name()).await?;
        self.store.note(at + 1, why).await;
        Ok(())
    }

    /// The bytes of a file, or why never; `Err` where it is worth another attempt.
    async fn bytes(&self, at: usize, file: &Attachment, known: &Known) -> Result<Result<Vec<u8>, LeftOut>, Outcome> {
        let most = u64::from(self.crm.profile.attachments.max_size) * MEGABYTE;
        match self.crm.source.fetch(file, most).await {
            Ok(bytes) => Ok(Ok(bytes)),
            Err(NoFile::Gone) => Ok(Err(LeftOut::Gone)),
            Err(NoFile::TooLarge) => Ok(Err(LeftOut::TooLarge)),
            Err(NoFile::Later(detail)) => self.again(at, known, detail).await.map(Err),
        }
    }

    /// Waits for another attempt, as often as a ticket waits for a file.
    async fn again(&self, at: usize, known: &Known, detail: String) -> Result<LeftOut, Outcome> {
        if self.crm.profile.attachments.required || known.tries + 1 < TRIES {
            self.keep(at, "tries", &(known.tries + 1).to_string()).await?;
            return Err(not_sent(format!("file {}: {detail}", at + 1), None));
        }
        Ok(LeftOut::Unreachable)
    }

    fn token_lives(&self, known: &Known) -> bool {
        self.crm.profile.attachments.token_lives.is_none_or(|lives| known.age < lives)
    }

    /// Uploads a file, once: a lost answer leaves nothing but a file without a ticket.
    async fn upload(
        &self,
        step: &Step,
        at: usize,
        file: &Attachment,
        known: &Known,
    ) -> Result<Result<String, LeftOut>, Outcome> {
        if let Some(token) = known.token.as_ref().filter(|_| self.token_lives(known)) {
            return Ok(Ok(token.clone()));
        }
        let bytes = match self.bytes(at, file, known).await? {
            Ok(bytes) => bytes,
            Err(why) => return Ok(Err(why)),
        };
        if !self.store.is_ours() {
            return Err(not_sent("held up past its own lease before writing", None));
        }
        match self.post(step, at, file, bytes, None).await? {
            Made::Outputs(given) => {
                let token = given.get("id").cloned().unwrap_or_default();
                self.keep(at, "token", &token).await?;
                Ok(Ok(token))
            }
            Made::Refused { .. } => Ok(Err(LeftOut::Refused)),
            Made::Later { detail, wait } => Err(not_sent(format!("file {}: {detail}", at + 1), wait)),
            Made::Auth { detail } => Err(Outcome::AuthRefused { detail }),
            Made::Unsure { detail } | Made::Many { detail } => self.again(at, known, detail).await.map(Err),
        }
    }

    /// Sends the request for one file.
    async fn post(
        &self,
        step: &Step,
        at: usize,
        file: &Attachment,
        bytes: Vec<u8>,
        ticket: Option<&Ticket>,
    ) -> Result<Made, Outcome> {
        let (crm, key) = (self.crm, self.file_key(at));
        let (mark, name) = (files::mark(self.order.key, at), file.file_name(at + 1));
        let shown = json!({"name": name, "type": file.mime, "size": bytes.len(), "content": mark});
        let scope = scope::file(&crm.fitted.vars, &crm.profile.ext, self.order, key, &shown, ticket);
        let carried = Carried { mark: &mark, name: &name, mime: &file.mime, sha256: &files::sha256(&bytes) };
        let request = request::render_file(&step.request, &scope::fixed(&crm.fitted.vars), &scope, &carried);
        let Ok(request) = request else { return Ok(Made::Refused { message: "it fits no request".to_owned() }) };
        let base64 = matches!(step.request.body, Body::Json(_));
        let contents = Contents::from([(at, Arc::new(bytes))]);
        let request = files::noted(request, self.order.key, &contents, base64);
        let urls = matches!(crm.profile.attachments.way, Way::Urls(_));
        match crm.exchange_with(request, &contents, self.within(step)).await? {
            Heard::Answer(answer) => Ok(crm.read(key, &self.order.marker, |reader| reader.filed(step, &answer, urls))),
            Heard::NotSent(detail) => Err(not_sent(detail, None)),
            Heard::Lost(detail) => Ok(Made::Unsure { detail }),
        }
    }

    /// The bytes a stored request needs, if they are still what they were.
    async fn refetched(&self, request: &Rendered) -> Result<Contents, Missing> {
        let mut contents = Contents::new();
        let wanted: BTreeSet<_> = request.insets.iter().map(|inset| (inset.file, &inset.sha256)).collect();
        for (at, hash) in wanted {
            let named = |why: &str| format!("file {}: {why}", at + 1);
            let Some(file) = self.order.files.get(at) else {
                return Err(Missing::ForGood(named("the order does not know it")));
            };
            let most = u64::from(crate::domain::attachment::LARGEST_FILE) * MEGABYTE;
            let bytes = match self.crm.source.fetch(file, most).await {
                Ok(bytes) => bytes,
                Err(NoFile::Later(detail)) => return Err(Missing::Now(named(&detail))),
                Err(NoFile::Gone | NoFile::TooLarge) => {
                    return Err(Missing::ForGood(named("its bytes, which a repeat needs, cannot be had any more")));
                }
            };
            if files::sha256(&bytes) != *hash {
                return Err(Missing::ForGood(named("its bytes are not those that were sent before")));
            }
            contents.insert(at, Arc::new(bytes));
        }
        Ok(contents)
    }
}
