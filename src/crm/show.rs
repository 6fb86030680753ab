//! The requests an order would send, for people to look at: every secret is masked.

use super::{
    Crm,
    attach::parts,
    auth,
    multipart::Carried,
    request::{self, Rendered},
    scope::{self, Outputs},
};
use crate::{
    catalog::profile::model::{Step, Way},
    domain::ticket::{Ticket, TicketOrder},
};

/// What stands for the bytes of a file.
const CONTENT: &str = "<the file>";

/// What a ticket's request would say of its files.
fn sample_files(order: &TicketOrder) -> Vec<serde_json::Value> {
    let shown = order.files.iter().enumerate().map(|(at, file)| {
        serde_json::json!({
            "name": file.file_name(at + 1), "type": file.mime, "size": file.size, "content": CONTENT,
            "token": "<its token>", "url": "<its address>",
        })
    });
    shown.collect()
}

impl Crm {
    /// The requests an order would send, one after another, with every secret masked. What an earlier step would give
    /// stands as its name in angle brackets.
    #[must_use]
    pub fn dry_run(&self, order: &TicketOrder) -> String {
        let order = &*self.without_untaken(order);
        let mut outputs = Outputs::new();
        let mut texts = Vec::new();
        let alone = self.profile.steps.len() == 1;
        for step in &self.profile.steps {
            let shown = self.show_step(step, order, &outputs).unwrap_or_else(|why| format!("{why}\n"));
            let when = step.when.as_ref().map(|when| format!(", when {}", when.source())).unwrap_or_default();
            texts.push(if alone { shown } else { format!("# {}{when}\n{shown}", step.name) });
            let names = step.outputs.iter().map(|(name, _)| name.as_str()).chain(["id"]);
            let known = names.map(|name| (name.to_owned(), format!("<{}.{name}>", step.name))).collect();
            outputs.insert(step.name.clone(), known);
        }
        let files = self.profile.attachments.step().filter(|_| !order.files.is_empty());
        if let Some(step) = files {
            let shown = self.show_file(step, order).unwrap_or_else(|why| format!("{why}\n"));
            let before = matches!(self.profile.attachments.way, Way::Upload(_) | Way::Urls(_));
            let at = if before { 0 } else { texts.len() };
            let when = if before { "before the ticket" } else { "once the ticket is there" };
            texts.insert(at, format!("# for each file, {when}\n{shown}"));
        }
        texts.join("\n")
    }

    /// The request for one file, before or after the ticket.
    fn show_file(&self, step: &Step, order: &TicketOrder) -> Result<String, String> {
        let Some(file) = sample_files(order).into_iter().next() else { return Ok(String::new()) };
        let ticket = Ticket { id: "<id>".to_owned(), number: "<number>".to_owned(), url: None };
        let key = order.key.of_step("file.1");
        let scope = scope::file(&self.fitted.vars, &self.profile.ext, order, key, &file, Some(&ticket));
        let carried = Carried { mark: CONTENT, name: "photo_1.jpg", mime: "image/jpeg", sha256: "…" };
        let request = request::render_file(&step.request, &scope::fixed(&self.fitted.vars), &scope, &carried);
        self.show(request.map_err(|error| error.to_string())?)
    }

    fn show_step(&self, step: &Step, order: &TicketOrder, outputs: &Outputs) -> Result<String, String> {
        let key = if step.is_ticket() { order.key } else { order.key.of_step(&step.name) };
        let files = if step.is_ticket() { sample_files(order) } else { Vec::new() };
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
        Ok(format!("{text}\n{}\n", pretty.unwrap_or(body)))
    }
}
