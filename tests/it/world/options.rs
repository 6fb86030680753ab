//! How a world is made: the CRM's promise, settings over the defaults, the form.

use std::path::Path;

use serde_json::{Value, json};
use zayavka::sandbox;

use super::{OWNER, REVIEWER, STAFF, VIEWER};

/// The form that ships, with more places for it than any test takes.
const FORM: &str = include_str!("../../../templates/forms/consultation.toml");

pub(crate) use zayavka::domain::outcome::Promise;

#[derive(Debug, Clone)]
pub(crate) struct Options {
    profile: &'static str,
    /// A `[crm]` section of its own, for a CRM that is not the sandbox's.
    crm: Option<String>,
    /// Settings by their path, over the defaults.
    pub(crate) settings: Vec<(&'static str, String)>,
    /// The form file's text.
    pub(crate) form: String,
}

impl Options {
    /// The CRM refuses a repeat under the same key.
    pub(crate) fn keyed() -> Self {
        Self { profile: "generic-keyed", crm: None, settings: Vec::new(), form: FORM.to_owned() }
    }

    /// The CRM can be searched by our key, and makes a second ticket when asked twice.
    pub(crate) fn searchable() -> Self {
        Self { profile: "generic-searchable", ..Self::keyed() }
    }

    /// Neither.
    pub(crate) fn blind() -> Self {
        Self { profile: "generic-blind", ..Self::keyed() }
    }

    /// What this CRM promises.
    pub(crate) fn promise(&self) -> Promise {
        match self.profile {
            "generic-keyed" => Promise::Keyed,
            "generic-searchable" => Promise::Searchable,
            _ => Promise::Blind,
        }
    }

    /// Another CRM than the sandbox's, by its whole `[crm]` section.
    pub(crate) fn with_crm(mut self, section: String) -> Self {
        self.crm = Some(section);
        self
    }

    /// One setting, such as `crm.lease`.
    pub(crate) fn set(mut self, path: &'static str, value: &str) -> Self {
        self.settings.push((path, value.to_owned()));
        self
    }

    /// Another form.
    pub(crate) fn form(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.form = change(self.form);
        self
    }

    /// So many places in each slot.
    pub(crate) fn places(self, count: u32) -> Self {
        self.form(|form| {
            form.replace("places = 1 ", &format!("places = {count} "))
                .replace("places = 2 ", &format!("places = {count} "))
        })
    }

    /// How the fake CRM behaves.
    pub(super) fn crm(&self) -> Value {
        json!({ "keyed": self.promise() == Promise::Keyed, "lookup": self.promise() != Promise::Blind })
    }

    fn sandbox_crm(&self, world: &sandbox::World) -> String {
        format!(
            "[crm]\nprofile = \"{}\"\n[crm.vars]\nbase_url = \"{}\"\n[crm.secrets]\ntoken = \"{}\"\n",
            self.profile,
            world.crm_base_url(),
            world.crm_token()
        )
    }

    /// An operator's file.
    pub(super) fn config(&self, world: &sandbox::World, database: &str, templates: &Path) -> String {
        format!(
            r#"[telegram]
token = "{token}"
api_url = "{api}"

[staff]
chat = {STAFF}
owners = [{OWNER}]
reviewers = [{REVIEWER}]
viewers = [{VIEWER}]

[pace]
per_chat = 1000
burst = 1000
group = 1000
overall = 1000

[database]
url = "{database}"

{crm}

[templates]
dir = "{templates}"
"#,
            token = world.token(),
            api = world.api_url(),
            crm = self.crm.clone().unwrap_or_else(|| self.sandbox_crm(world)),
            templates = templates.display(),
        )
    }
}
