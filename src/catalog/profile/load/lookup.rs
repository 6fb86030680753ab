//! Reads `[[lookup]]` and `[step.lookup]`: how a record is found again by our key.

use std::time::Duration;

use super::{
    super::{
        model::{Lookup, Scan, Sees, Unrelated},
        rule::READ_WORDS,
    },
    answer, meta,
    names::{Names, Use},
    request,
};
use crate::config::reader::Section;

const DAY: Duration = Duration::from_secs(86_400);

pub(super) fn lookup(section: Section<'_>, names: &Names) -> Option<Lookup> {
    let name = section.required_string("name", "any short word, for the journal");
    let scan = section.table("scan").and_then(scan);
    let purpose = if scan.is_some() { Use::Scan } else { Use::Find };
    let request = request::request(&section, names, purpose);
    let outcome = answer::rules(&section, names, Use::Find, READ_WORDS);
    let results = section.take("results").map(|item| answer::path(&item, names, Use::Find));
    let matching = answer::matching(&section, names, Use::Find);
    if section.take("match").is_none() {
        section.missing("match", "a record counts only if it carries our key: match = { path = …, equals = … }");
    }
    let unrelated = section.one_of("unrelated", &[("unsure", Unrelated::Unsure), ("ignore", Unrelated::Ignore)]);
    let read = answer::read(&section, names, Use::Find);
    if read.id.is_empty() {
        section.missing("read.id", "where a record holds its id");
    }
    let settle_after = section.duration("settle_after", Duration::ZERO..=DAY * 7);
    let lag = section.duration("lag", Duration::ZERO..=DAY * 7);
    let misses = meta::count(&section, "misses", 1..=100);
    let spacing = section.duration("spacing", Duration::from_millis(100)..=DAY);
    let cost = meta::cost(&section);
    let sees = Sees {
        closed: section.bool("sees_closed"),
        archived: section.bool("sees_archived"),
        merged: section.bool("sees_merged"),
    };
    if scan.is_some() && results.is_none() {
        section.missing("results", "a scan leafs through a list: where is it in the answer?");
    }
    section.finish();
    let results = match results {
        Some(read) => Some(read?),
        None => None,
    };
    Some(Lookup {
        name: name?,
        request: request?,
        outcome,
        results,
        matching: matching?,
        // A scan sees everybody's records by its nature.
        unrelated: unrelated.unwrap_or(if scan.is_some() { Unrelated::Ignore } else { Unrelated::Unsure }),
        read,
        scan,
        sees,
        settle_after: settle_after.unwrap_or(Duration::from_secs(120)),
        lag: lag.unwrap_or(Duration::ZERO),
        misses: misses.unwrap_or(3),
        spacing: spacing.unwrap_or(Duration::from_secs(20)),
        cost,
    })
}

fn scan(section: Section<'_>) -> Option<Scan> {
    let pages = meta::count(&section, "pages", 1..=100);
    let size = meta::count(&section, "size", 1..=1_000);
    for key in ["pages", "size"] {
        if !section.has(key) {
            section.missing(key, "scan = { pages = 5, size = 100 }: the most pages, and the records of a full one");
        }
    }
    section.finish();
    Some(Scan { pages: pages?, size: size? })
}
