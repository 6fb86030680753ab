//! How a ticket is found again by our key.

use std::time::Duration;

use super::{Read, Request};
use crate::catalog::profile::{path::JsonPath, rule::Rule, template::Template};

/// One way to find a ticket by our key.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// Its name, unique in the profile.
    pub name: String,
    /// What is asked.
    pub request: Request,
    /// What the answer means; without rules 200 is an answer and all else proves nothing.
    pub outcome: Vec<Rule>,
    /// The list of records; `None` where the answer itself is the one record.
    pub results: Option<JsonPath>,
    /// Where a record holds our key. A record without it is nobody's.
    pub matching: Match,
    /// Whether records that are not ours are normal (a word search) or a sign that the CRM ignored our filter.
    pub unrelated: Unrelated,
    /// Where a record holds what we need.
    pub read: Read,
    /// Leafing through the newest records, where the CRM cannot search by our key.
    pub scan: Option<Scan>,
    /// Which tickets it finds that are no longer where they were made.
    pub sees: Sees,
    /// How old the last attempt must be before a miss counts.
    pub settle_after: Duration,
    /// How long a record made may stay invisible here.
    pub lag: Duration,
    /// How many misses prove absence.
    pub misses: u32,
    /// The pause between two looks.
    pub spacing: Duration,
    /// How many requests it counts for in the CRM's own reckoning.
    pub cost: u32,
}

/// Whether a lookup finds tickets that somebody has closed, archived or merged into another meanwhile; `None` where nobody
/// has said so. What it does not see looks to it as if it had never been made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sees {
    /// Closed, solved, lost.
    pub closed: Option<bool>,
    /// Archived or put into a bin.
    pub archived: Option<bool>,
    /// Merged into another ticket.
    pub merged: Option<bool>,
}

impl Sees {
    /// The three, with the words for them.
    #[must_use]
    pub fn all(self) -> [(&'static str, Option<bool>); 3] {
        [("closed", self.closed), ("archived", self.archived), ("merged", self.merged)]
    }

    /// Which tickets none of these lookups can be relied on to see: a miss does not prove that they were never made. Closed
    /// ones must be declared as seen, since any help desk closes tickets; the others count where a lookup says that it
    /// does not see them.
    #[must_use]
    pub fn blind_spots(lookups: &[Lookup]) -> Vec<&'static str> {
        let all: Vec<_> = lookups.iter().map(|lookup| lookup.sees.all()).collect();
        let spots = [0, 1, 2].into_iter().filter_map(|at| {
            let said: Vec<(&'static str, Option<bool>)> = all.iter().filter_map(|all| all.get(at).copied()).collect();
            let (word, _) = *said.first()?;
            let seen = said.iter().any(|(_, sees)| *sees == Some(true));
            let unseen = said.iter().any(|(_, sees)| *sees == Some(false));
            (!seen && (unseen || word == "closed")).then_some(word)
        });
        spots.collect()
    }
}

/// A lookup that leafs through pages, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// How many pages at most; when they end before the records do, nothing is proved.
    pub pages: u32,
    /// How many records a full page has.
    pub size: u32,
}

/// What records of others in a lookup's answer mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unrelated {
    /// The filter was not applied, so our record may be on a page we do not see.
    Unsure,
    /// The search is a loose one: they are passed over.
    Ignore,
}

/// How a record is known as the one meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Where it holds the value, alternatives in order.
    pub path: Vec<JsonPath>,
    /// What must stand there.
    pub equals: Template,
    /// What counts as the same.
    pub same: Same,
}

/// When two texts count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    /// Every character.
    Exact,
    /// In any case of letters.
    IgnoreCase,
    /// It stands somewhere in the text: our key in a title.
    Contains,
    /// The same last ten digits, whatever stands between them: telephone numbers.
    Digits,
}
