//! Which names a template may use where. A typo in a name would otherwise send an empty value to the CRM.

use std::{cell::RefCell, collections::BTreeSet};

use super::super::template::{Place, Template};
use crate::config::{
    nearest,
    reader::{Item, Section},
};

/// What is being described, which decides the names that have a value there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// The request that makes the ticket.
    Create,
    /// The request for one file, before the ticket is made.
    File,
    /// The same after it.
    FileAfter,
    /// What one file adds to the ticket's request.
    Part,
    /// A lookup by our key, and what rules compare with.
    Find,
    /// A lookup that leafs through pages.
    Scan,
    /// Reading one ticket by its number.
    Number,
    /// The link to a ticket.
    Link,
    /// Credentials.
    Auth,
    /// Asking for a token.
    Token,
    /// The text a signature is made over.
    Sign,
    /// What the header with a signature says.
    Signed,
    /// What is the same for every request: the host.
    Fixed,
}

impl Use {
    fn names(self) -> &'static [&'static str] {
        const KEY: [&str; 4] = ["ext.uuid", "ext.token", "ext.quoted", "marker"];
        const FILE: [&str; 8] = [KEY[0], KEY[1], KEY[2], KEY[3], "file.name", "file.type", "file.size", "file.content"];
        match self {
            Self::Create => &[
                KEY[0],
                KEY[1],
                KEY[2],
                KEY[3],
                "subject",
                "body",
                "contact",
                "contact.name",
                "contact.phone",
                "contact.email",
                "fields",
                "files",
            ],
            Self::File => &FILE,
            Self::Part => &["file.name", "file.type", "file.size", "file.content", "file.index", "file.number"],
            Self::FileAfter => &[KEY[0], KEY[1], KEY[2], KEY[3], FILE[4], FILE[5], FILE[6], FILE[7], "id", "number"],
            Self::Find => &KEY,
            Self::Scan => &[KEY[0], KEY[1], KEY[2], KEY[3], "page", "offset"],
            Self::Token => &["token.refresh"],
            Self::Sign => &["request.method", "request.path", "request.query", "request.body"],
            Self::Signed => &["signature.hex", "signature.base64"],
            Self::Number => &[KEY[0], KEY[1], KEY[2], KEY[3], "number"],
            Self::Link => &["id", "number"],
            Self::Auth | Self::Fixed => &[],
        }
    }
}

/// The names a profile declares, and those its templates were seen to use.
#[derive(Debug, Default)]
pub(super) struct Names {
    vars: BTreeSet<String>,
    secrets: BTreeSet<String>,
    used: RefCell<BTreeSet<String>>,
    /// What earlier steps give to later ones.
    outputs: RefCell<BTreeSet<String>>,
}

impl Names {
    /// All that is declared, even wrongly: one mistake should not look like many.
    pub(super) fn declared(root: &Section<'_>) -> Self {
        let of = |table: &str| {
            let keys = root.table_or_empty(table).keys();
            keys.into_iter().map(|name| format!("{table}.{name}")).collect()
        };
        Self { vars: of("vars"), secrets: of("secrets"), used: RefCell::default(), outputs: RefCell::default() }
    }

    /// From here on later steps know what this one gives them.
    pub(super) fn declare_output(&self, step: &str, output: &str) {
        self.outputs.borrow_mut().insert(format!("steps.{step}.{output}"));
    }

    /// Records that a secret is used by its bare name.
    pub(super) fn use_secret(&self, item: &Item<'_>, name: &str) {
        let dotted = format!("secrets.{name}");
        if self.secrets.contains(&dotted) {
            self.used.borrow_mut().insert(dotted);
        } else {
            let known = self.secrets.iter().filter_map(|known| known.strip_prefix("secrets."));
            item.error(format!("no secret `{name}` is declared"), nearest::hint(name, known));
        }
    }

    /// Whether any template used this name.
    pub(super) fn is_used(&self, name: &str) -> bool {
        self.used.borrow().contains(name)
    }

    /// Reads a template at an item.
    pub(super) fn template(&self, item: &Item<'_>, place: Place, purpose: Use) -> Option<Template> {
        self.template_of(item, &item.string()?, place, purpose)
    }

    /// Reads a template from a text that stands at an item.
    pub(super) fn template_of(&self, item: &Item<'_>, text: &str, place: Place, purpose: Use) -> Option<Template> {
        match Template::parse(text, place) {
            Ok(template) => {
                self.check(item, &template, purpose);
                Some(template)
            }
            Err(bad) => {
                item.error(format!("`{}` is no template: {}", item.label(), bad.0), "");
                None
            }
        }
    }

    /// Reports each name of a template that has no value in this place.
    pub(super) fn check(&self, item: &Item<'_>, template: &Template, purpose: Use) {
        for name in template.names() {
            self.used.borrow_mut().insert(name.clone());
            if self.knows(name, purpose) {
                continue;
            }
            let known = self.known(purpose);
            let hint = if name.starts_with("steps.") {
                let outputs = self.outputs.borrow();
                format!("earlier steps give {}", outputs.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
            } else if name.starts_with("secrets") {
                "a request is stored before it is sent, so secrets join it only through [auth]".to_owned()
            } else {
                nearest::hint(name, known.iter().map(String::as_str))
            };
            item.error(format!("`{}` uses `{name}`, which has no value here", item.label()), hint);
        }
    }

    fn knows(&self, name: &str, purpose: Use) -> bool {
        self.vars.contains(name)
            || (matches!(purpose, Use::Auth | Use::Token | Use::Sign | Use::Signed) && self.secrets.contains(name))
            || (purpose == Use::Create && self.outputs.borrow().contains(name))
            || purpose.names().contains(&name)
            || (purpose == Use::Create && name.starts_with("fields."))
    }

    fn known(&self, purpose: Use) -> Vec<String> {
        let mut known: Vec<String> = self.vars.iter().cloned().collect();
        if matches!(purpose, Use::Auth | Use::Token | Use::Sign | Use::Signed) {
            known.extend(self.secrets.iter().cloned());
        }
        known.extend(purpose.names().iter().map(|name| (*name).to_owned()));
        known
    }
}
