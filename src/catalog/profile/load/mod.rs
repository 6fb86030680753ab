//! Reads a profile file. Reading never stops at a mistake, so that one `check` shows them all.

mod answer;
mod meta;
mod names;
mod request;

use std::time::Duration;

use self::names::{Names, Use};
use super::{
    check,
    model::{Auth, Lookup, Profile, Step, Unrelated, Verify},
    rule::{CREATE_WORDS, Pattern, READ_WORDS},
};
use crate::{
    config::{
        problem::Problems,
        reader::{Document, Section},
    },
    domain::operation::OnAbsent,
};

pub(crate) use request::PATH_SECRET;

/// Reads one profile; what is only odd comes back beside it as warnings.
///
/// # Errors
/// Every mistake of the file, each with its line.
pub fn load(file: &str, text: &str) -> Result<(Profile, Problems), Problems> {
    let document = Document::parse(file, text);
    let profile = read(&document);
    if let Some(profile) = &profile {
        check::whole(&document, profile);
    }
    let errors = document.has_errors();
    let problems = document.into_problems();
    match profile {
        Some(profile) if !errors => Ok((profile, problems)),
        _ => Err(problems),
    }
}

fn read(document: &Document<'_>) -> Option<Profile> {
    let root = document.root();
    let meta = meta::meta(&root);
    let vars = meta::vars(&root);
    let secrets = meta::secrets(&root);
    let names = Names::declared(&root);
    let auth = if root.take("auth").is_some() {
        request::auth(&root, &names)
    } else {
        root.missing("auth", "[auth] kind = \"none\" where the CRM asks for no credentials");
        None
    };
    let ext = meta::ext(&root);
    let limits = meta::limits(&root);
    let steps = steps(&root, &names);
    let number = number(&root);
    let link = root.table("link").and_then(|section| {
        let item = section.take("url");
        if item.is_none() {
            section.missing("url", "\"{{ vars.base_url }}/tickets/{{ id }}\"");
        }
        let url = item.and_then(|item| request::url(&item, &names, Use::Link, true));
        section.finish();
        url
    });
    let lookups: Option<Vec<Lookup>> =
        root.tables("lookup").into_iter().map(|section| lookup(section, &names)).collect();
    let verify = root.table("verify").map(|section| verify(section, &names));
    let dedupe = meta::dedupe(&root);
    let on_absent = root.one_of("on_absent", &[("review", OnAbsent::Review), ("resend", OnAbsent::Resend)]);
    report_unused(&root, &names);
    root.finish();
    let verify = match verify {
        Some(read) => Some(read?),
        None => None,
    };
    Some(Profile {
        file: document.file().to_owned(),
        meta: meta?,
        vars,
        secrets,
        auth: auth?,
        ext,
        limits,
        steps: steps?,
        number: number?,
        link,
        lookups: lookups?,
        verify,
        dedupe,
        on_absent: on_absent.unwrap_or(OnAbsent::Review),
    })
}

fn steps(root: &Section<'_>, names: &Names) -> Option<Vec<Step>> {
    let sections = root.tables("step");
    if sections.is_empty() {
        root.missing("step", "[[step]] name = \"create\": the request that makes the ticket");
    }
    if let Some(second) = sections.get(1) {
        let hint = "make everything in one request, or wait for a release that carries several out";
        second.document().error_at(second.span(), "more than one step is not supported yet", hint);
    }
    sections.into_iter().map(|section| step(section, names)).collect()
}

fn step(section: Section<'_>, names: &Names) -> Option<Step> {
    let name = section.required_string("name", "\"create\" for the request that makes the ticket");
    let request = request::request(&section, names, Use::Create);
    let read = answer::read(&section, names, Use::Find);
    let outcome = answer::rules(&section, names, Use::Find, CREATE_WORDS);
    if outcome.is_empty() {
        section.missing("outcome", "[[step.outcome]] status = [200, 201], is = \"created\"");
    }
    for key in ["when", "best_effort", "outputs"] {
        if section.take(key).is_some() {
            section.error(key, format!("`{key}` is not supported yet"), "remove it");
        }
    }
    section.finish();
    Some(Step { name: name?, request: request?, read, outcome })
}

fn number(root: &Section<'_>) -> Option<Pattern> {
    let section = root.table_or_empty("number");
    let text = section.required_string("pattern", "what a ticket number looks like: \"[0-9]{1,12}\"");
    let pattern = text.and_then(|text| {
        Pattern::whole(&text).map_err(|why| section.error("pattern", format!("bad pattern: {why}"), "")).ok()
    });
    if pattern.as_ref().is_some_and(|pattern| pattern.fits("")) {
        section.error("pattern", "an empty number fits this pattern", "ask for at least one character");
    }
    section.finish();
    pattern
}

fn lookup(section: Section<'_>, names: &Names) -> Option<Lookup> {
    const DAY: Duration = Duration::from_secs(86_400);
    let name = section.required_string("name", "any short word, for the journal");
    let request = request::request(&section, names, Use::Find);
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
    let misses = meta::count(&section, "misses", 1..=100);
    let spacing = section.duration("spacing", Duration::from_millis(100)..=DAY);
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
        unrelated: unrelated.unwrap_or(Unrelated::Unsure),
        read,
        settle_after: settle_after.unwrap_or(Duration::from_secs(120)),
        misses: misses.unwrap_or(3),
        spacing: spacing.unwrap_or(Duration::from_secs(20)),
    })
}

fn verify(section: Section<'_>, names: &Names) -> Option<Verify> {
    let request = request::request(&section, names, Use::Number);
    let outcome = answer::rules(&section, names, Use::Number, READ_WORDS);
    let record = section.take("record").map(|item| answer::path(&item, names, Use::Number));
    let matching = answer::matching(&section, names, Use::Number);
    let read = answer::read(&section, names, Use::Number);
    if read.id.is_empty() {
        section.missing("read.id", "where the record holds its id");
    }
    section.finish();
    let record = match record {
        Some(read) => Some(read?),
        None => None,
    };
    Some(Verify { request: request?, outcome, record, matching, read })
}

/// What an installation would be asked for in vain.
fn report_unused(root: &Section<'_>, names: &Names) {
    for table in ["vars", "secrets"] {
        let section = root.table_or_empty(table);
        for (name, item) in section.items() {
            if !names.is_used(&format!("{table}.{name}")) {
                item.warning(format!("`{name}` is declared but nothing uses it"), "remove it");
            }
        }
    }
}

/// Whether the profile writes its secret into the path, and so must say where.
pub(super) fn has_path_secret(auth: &Auth) -> bool {
    matches!(auth, Auth::Path { .. })
}

#[cfg(test)]
mod tests;
