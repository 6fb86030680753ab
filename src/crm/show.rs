//! The requests an order would send, for people to look at: every secret is masked.

use super::{
    Crm, auth,
    request::Rendered,
    scope::{self, Outputs},
};
use crate::{catalog::profile::model::Step, domain::ticket::TicketOrder};

impl Crm {
    /// The requests an order would send, one after another, with every secret masked. What an earlier step would give
    /// stands as its name in angle brackets.
    #[must_use]
    pub fn dry_run(&self, order: &TicketOrder) -> String {
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
        texts.join("\n")
    }

    fn show_step(&self, step: &Step, order: &TicketOrder, outputs: &Outputs) -> Result<String, String> {
        let key = if step.is_ticket() { order.key } else { order.key.of_step(&step.name) };
        let scope = scope::create(&self.fitted.vars, &self.profile.ext, order, key, outputs);
        let request = self.render(&step.request, &scope).map_err(|error| error.to_string())?;
        self.show(request)
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
