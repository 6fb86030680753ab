//! The steps of a create: find or make a contact, make the ticket, read its number.

use super::{Match, Read, Request};
use crate::catalog::profile::{path::JsonPath, rule::Rule, template::Template};

use super::Lookup;

/// One request-and-answer of a create.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name, unique in the profile.
    pub name: String,
    /// What it is for.
    pub kind: StepKind,
    /// An expression that must hold; otherwise the step is passed over.
    pub when: Option<Template>,
    /// Whether the ticket is made even where this step came to nothing.
    pub best_effort: bool,
    /// What is sent.
    pub request: Request,
    /// Where the answer holds what we need; `id` becomes the output `id` of a step that is not the ticket's.
    pub read: Read,
    /// Further outputs for later steps, by name.
    pub outputs: Vec<(String, Vec<super::Source>)>,
    /// What the answer means: the first rule that fits.
    pub outcome: Vec<Rule>,
    /// How many requests it counts for in the CRM's own reckoning.
    pub cost: u32,
}

/// What a step is for.
#[derive(Debug, Clone, PartialEq)]
pub enum StepKind {
    /// Makes the ticket; every profile has exactly one such step.
    Ticket,
    /// Makes a record the ticket needs, under a key of its own.
    Make {
        /// Finds that record by the step's own key after a lost answer.
        lookup: Option<Box<Lookup>>,
        /// A repeat makes nothing new, so it may simply be sent again.
        again: bool,
    },
    /// Looks for a record that may be there already.
    Find(Find),
    /// Reads the ticket just made, where the answer to its making does not say all.
    Read {
        /// The record inside the answer; the whole answer where absent.
        record: Option<JsonPath>,
    },
}

/// How a step chooses among records found.
#[derive(Debug, Clone, PartialEq)]
pub struct Find {
    /// The list of records; `None` where the answer itself is the one record.
    pub results: Option<JsonPath>,
    /// What a record must hold to be the one; without it every record found counts.
    pub matching: Option<Match>,
    /// What to do with more than one.
    pub many: Many,
}

/// What to do when several records fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Many {
    /// The one made last: the highest number, or the last of the list where ids are no numbers.
    Newest,
    /// The one made first.
    Oldest,
    /// As if none was found.
    None,
    /// A person decides.
    Human,
}

impl Step {
    /// Whether this step makes the ticket.
    #[must_use]
    pub fn is_ticket(&self) -> bool {
        matches!(self.kind, StepKind::Ticket)
    }
}
