//! What becomes of the files somebody attached.

use std::time::Duration;

use super::Step;
use crate::catalog::profile::template::Template;

/// How files reach the ticket, and which of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Attachments {
    /// How.
    pub way: Way,
    /// Whether the ticket waits for its files; otherwise it is made without those that cannot be had, and says so.
    pub required: bool,
    /// Most files of one ticket.
    pub max_files: u32,
    /// The largest, in megabytes.
    pub max_size: u32,
    /// Most of one ticket together, in megabytes.
    pub max_total: u32,
    /// Media types taken; any where there are none.
    pub types: Vec<String>,
    /// How long the token of an upload is good; `None` is forever.
    pub token_lives: Option<Duration>,
}

/// How files reach the ticket.
#[derive(Debug, Clone, PartialEq)]
pub enum Way {
    /// They do not: their names stand in the ticket's text.
    None,
    /// In the create's own body, in base64.
    Inline,
    /// Beside the create's own fields, as parts of one form: for each file these parts, name and content.
    Multipart(Vec<(Template, Template)>),
    /// Each uploaded before the create, which names the token its upload gave.
    Upload(Box<Step>),
    /// Each uploaded before the create, which names the address it can be fetched from.
    Urls(Box<Step>),
    /// Each posted after the ticket was made.
    AfterCreate(Box<Step>),
}

impl Default for Attachments {
    fn default() -> Self {
        let types = Vec::new();
        Self { way: Way::None, required: false, max_files: 10, max_size: 20, max_total: 20, types, token_lives: None }
    }
}

impl Attachments {
    /// Requests one file costs beside the create.
    #[must_use]
    pub fn cost(&self) -> u32 {
        match &self.way {
            Way::None | Way::Inline | Way::Multipart(_) => 0,
            Way::Upload(step) | Way::Urls(step) | Way::AfterCreate(step) => step.cost,
        }
    }

    /// The request that is sent for each file.
    #[must_use]
    pub fn step(&self) -> Option<&Step> {
        match &self.way {
            Way::None | Way::Inline | Way::Multipart(_) => None,
            Way::Upload(step) | Way::Urls(step) | Way::AfterCreate(step) => Some(step),
        }
    }
}
