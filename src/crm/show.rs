//! The requests an order would send, for people to look at: every secret is masked. What cannot be rendered is told
//! apart, for such a profile sends nothing.

use super::{
    Crm,
    attach::parts,
    auth,
    multipart::Carried,
    request::{self, Rendered},
    scope::{self, Outputs},
};
use crate::{
    catalog::profile::{
        model::{Request, Step, StepKind, Way},
        template::{Scope, percent_encoded},
    },
    domain::ticket::{Ticket, TicketOrder},
};

/// What stands for the bytes of a file.
const CONTENT: &str = "<the file>";

/// The first number that stands for what only the CRM can say: no answer of a person looks like it, a template may
/// calculate with it, and a float holds it exactly.
const FIRST_STAND_IN: u64 = 900_000_000_000_001;

/// What an order would send.
#[derive(Debug, Default)]
pub struct DryRun {
    /// The requests of a create, one after another, with every secret masked. What an earlier step would give stands as
    /// its name in angle brackets.
    pub text: String,
    /// Requests that no order gives, those of lookups and of `[verify]` among them.
    pub unfit: Vec<Unfit>,
}

/// A request that cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// The table of the profile it is written in: `step`, `lookup`, `verify`, `attachments`, `cleanup`.
    pub table: &'static str,
    /// Which of several.
    pub name: Option<String>,
    /// The template and why, without secrets.
    pub why: String,
}

/// Numbers in the places of what the CRM would say, and what to show for each.
#[derive(Debug)]
struct StandIns {
    next: u64,
    names: Vec<(String, String)>,
}

impl StandIns {
    fn of(&mut self, name: &str) -> String {
        let number = self.next.to_string();
        self.next += 1;
        self.names.push((number.clone(), format!("<{name}>")));
        number
    }

    fn named(&self, text: String) -> String {
        self.names.iter().fold(text, |text, (number, name)| text.replace(number, name))
    }
}

/// What a ticket's request would say of its files.
fn sample_files(order: &TicketOrder, stand: &mut StandIns) -> Vec<serde_json::Value> {
    let shown = order.files.iter().enumerate().map(|(at, file)| {
        serde_json::json!({
            "name": file.file_name(at + 1), "type": file.mime, "size": file.size, "content": CONTENT,
            "token": stand.of("its token"), "url": stand.of("its address"),
        })
    });
    shown.collect()
}

impl Crm {
    /// The requests an order would send, and which of the profile's requests cannot be rendered at all.
    #[must_use]
    pub fn dry_run(&self, order: &TicketOrder) -> DryRun {
        let order = &*self.without_untaken(order);
        let mut stand = StandIns { next: FIRST_STAND_IN, names: Vec::new() };
        let (mut outputs, mut texts, mut unfit) = (Outputs::new(), Vec::new(), Vec::new());
        let alone = self.profile.steps.len() == 1;
        for step in &self.profile.steps {
            let shown = self.show_step(step, order, &outputs, &mut stand).unwrap_or_else(|why| {
                if self.may_be_taken(step, order, &outputs) {
                    unfit.push(Unfit { table: "step", name: Some(step.name.clone()), why: why.clone() });
                }
                format!("{why}\n")
            });
            let when = step.when.as_ref().map(|when| format!(", when {}", when.source())).unwrap_or_default();
            texts.push(if alone { shown } else { format!("# {}{when}\n{shown}", step.name) });
            let names = step.outputs.iter().map(|(name, _)| name.as_str()).chain(["id"]);
            let known = names.map(|name| (name.to_owned(), stand.of(&format!("{}.{name}", step.name)))).collect();
            outputs.insert(step.name.clone(), known);
        }
        let files = self.profile.attachments.step().filter(|_| !order.files.is_empty());
        if let Some(step) = files {
            let shown = self.show_file(step, order, &mut stand).unwrap_or_else(|why| {
                unfit.push(Unfit { table: "attachments", name: None, why: why.clone() });
                format!("{why}\n")
            });
            let before = matches!(self.profile.attachments.way, Way::Upload(_) | Way::Urls(_));
            let at = if before { 0 } else { texts.len() };
            let when = if before { "before the ticket" } else { "once the ticket is there" };
            texts.insert(at, format!("# for each file, {when}\n{shown}"));
        }
        unfit.extend(self.unfit_questions(order, &mut stand));
        DryRun { text: stand.named(texts.join("\n")), unfit }
    }

    /// Whether a step's condition holds for this order, with what earlier steps give or without.
    fn may_be_taken(&self, step: &Step, order: &TicketOrder, outputs: &Outputs) -> bool {
        let Some(when) = &step.when else { return true };
        [outputs, &Outputs::new()].into_iter().any(|outputs| {
            let scope = scope::create(&self.fitted.vars, &self.profile.ext, order, order.key, outputs, &[]);
            // A condition that cannot be asked stops the create as well.
            when.holds(&scope).unwrap_or(true)
        })
    }

    /// The requests that ask about a ticket or take one away and cannot be rendered.
    fn unfit_questions(&self, order: &TicketOrder, stand: &mut StandIns) -> Vec<Unfit> {
        let (vars, ext, profile) = (&self.fitted.vars, &self.profile.ext, &*self.profile);
        let (id, number) = (stand.of("id"), stand.of("number"));
        let look = scope::scan(vars, ext, order.key, &order.marker, (1, 0));
        let verify = scope::number(vars, ext, order.key, &order.marker, &number);
        let link = scope::link(vars, &id, &number);
        let own = |step: &Step| match &step.kind {
            StepKind::Make { lookup: Some(lookup), .. } => Some((Some(step.name.clone()), lookup.request.clone())),
            _ => None,
        };
        let mut all: Vec<(&'static str, Option<String>, Request, &Scope)> = Vec::new();
        all.extend(profile.steps.iter().filter_map(own).map(|(name, request)| ("step", name, request, &look)));
        let lookups = profile.lookups.iter();
        all.extend(lookups.map(|one| ("lookup", Some(one.name.clone()), one.request.clone(), &look)));
        all.extend(profile.verify.iter().map(|one| ("verify", None, one.request.clone(), &verify)));
        all.extend(profile.cleanup.iter().map(|one| ("cleanup", None, one.clone(), &link)));
        let tried = all.into_iter().filter_map(|(table, name, request, scope)| {
            let why = self.render(&request, scope).err()?.to_string();
            Some(Unfit { table, name, why })
        });
        tried.collect()
    }

    /// The request for one file, before or after the ticket.
    fn show_file(&self, step: &Step, order: &TicketOrder, stand: &mut StandIns) -> Result<String, String> {
        let Some(file) = sample_files(order, stand).into_iter().next() else { return Ok(String::new()) };
        let ticket = Ticket { id: stand.of("id"), number: stand.of("number"), url: None };
        let key = order.key.of_step("file.1");
        let scope = scope::file(&self.fitted.vars, &self.profile.ext, order, key, &file, Some(&ticket));
        let carried = Carried { mark: CONTENT, name: "photo_1.jpg", mime: "image/jpeg", sha256: "…" };
        let request = request::render_file(&step.request, &scope::fixed(&self.fitted.vars), &scope, &carried);
        self.show(request.map_err(|error| error.to_string())?)
    }

    fn show_step(
        &self,
        step: &Step,
        order: &TicketOrder,
        outputs: &Outputs,
        stand: &mut StandIns,
    ) -> Result<String, String> {
        let key = if step.is_ticket() { order.key } else { order.key.of_step(&step.name) };
        let files = if step.is_ticket() { sample_files(order, stand) } else { Vec::new() };
        let scope = scope::create(&self.fitted.vars, &self.profile.ext, order, key, outputs, &files);
        let shown = order.files.iter().enumerate().map(|(at, file)| {
            let (mark, name) = (CONTENT.to_owned(), file.file_name(at + 1));
            parts::Shown { file, mark, name, sha256: String::new() }
        });
        let shown: Vec<_> = shown.collect();
        let more = match &self.profile.attachments.way {
            Way::Multipart(templates) if step.is_ticket() => parts::of(templates, &self.fitted.vars, &shown),
            _ => Ok(Vec::new()),
        };
        let fixed = scope::fixed(&self.fitted.vars);
        let request = more.and_then(|more| request::render_with(&step.request, &fixed, &scope, more));
        self.show(request.map_err(|error| error.to_string())?)
    }

    fn show(&self, request: Rendered) -> Result<String, String> {
        let masked = auth::masked(&self.fitted.secrets);
        let wire = auth::authorize(request, &self.credentials(&masked, auth::MASK))
            .map_err(|_| "the credentials cannot be rendered".to_owned())?;
        // Where a secret is percent-encoded on the wire, its mask would be too.
        let plain = |text: &str| text.replace(&percent_encoded(auth::MASK), auth::MASK);
        let mut text = format!("{} {}\n", wire.method, plain(&wire.url));
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
        Ok(format!("{text}\n{}\n", pretty.unwrap_or_else(|| plain(&body))))
    }
}
