//! Reads a profile file. Reading never stops at a mistake, so that one `check` shows them all.

mod answer;
mod attachments;
mod auth;
mod lookup;
mod meta;
mod names;
mod request;
mod step;

use self::names::{Names, Use};
use super::{
    check,
    model::{Auth, Lookup, Prerequisite, Profile, Verify},
    rule::{Pattern, READ_WORDS},
};
use crate::{
    config::{
        problem::Problems,
        reader::{Document, Section},
    },
    domain::operation::OnAbsent,
};

pub(crate) use request::PATH_SECRET;

/// Reads one profile; what is only odd comes back beside it as warnings. Its days are not held against the calendar: see
/// [`load_on`].
///
/// # Errors
/// Every mistake of the file, each with its line.
pub fn load(file: &str, text: &str) -> Result<(Profile, Problems), Problems> {
    load_by(file, text, None)
}

/// The same on a day, `YYYY-MM-DD`: what is said to be known or tried after it is a mistake.
///
/// # Errors
/// Every mistake of the file, each with its line.
pub fn load_on(file: &str, text: &str, today: &str) -> Result<(Profile, Problems), Problems> {
    load_by(file, text, Some(today))
}

fn load_by(file: &str, text: &str, today: Option<&str>) -> Result<(Profile, Problems), Problems> {
    let document = Document::parse(file, text);
    let profile = read(&document);
    if let Some(profile) = &profile {
        check::whole(&document, profile, today);
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
        auth::auth(&root, &names)
    } else {
        root.missing("auth", "[auth] kind = \"none\" where the CRM asks for no credentials");
        None
    };
    let ext = meta::ext(&root);
    let limits = meta::limits(&root);
    let auth_headers = auth::headers(&root, &names);
    let steps = step::steps(&root, &names);
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
        root.tables("lookup").into_iter().map(|section| lookup::lookup(section, &names)).collect();
    let verify = root.table("verify").map(|section| verify(section, &names));
    let dedupe = meta::dedupe(&root);
    let on_absent = root.one_of("on_absent", &[("review", OnAbsent::Review), ("resend", OnAbsent::Resend)]);
    let prerequisites = root.tables("prerequisite").into_iter().filter_map(|section| prerequisite(section, &names));
    let prerequisites = prerequisites.collect();
    let cleanup = root.table("cleanup").map(|section| {
        let request = request::request(&section, &names, Use::Link);
        section.finish();
        request
    });
    let attachments = attachments::attachments(&root, &names);
    report_unused(&root, &names);
    root.finish();
    let cleanup = match cleanup {
        Some(read) => Some(read?),
        None => None,
    };
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
        auth_headers,
        ext,
        limits,
        steps: steps?,
        number: number?,
        link,
        lookups: lookups?,
        verify,
        dedupe,
        on_absent: on_absent.unwrap_or(OnAbsent::Review),
        prerequisites,
        cleanup,
        attachments: attachments?,
    })
}

fn prerequisite(section: Section<'_>, names: &Names) -> Option<Prerequisite> {
    let text = section.required_string("text", "what the installation must see to, in one sentence");
    let asks = section.has("request");
    let ask = if asks { request::request(&section, names, Use::Find) } else { None };
    let outcome = answer::rules(&section, names, Use::Find, READ_WORDS);
    if asks && outcome.is_empty() {
        section
            .missing("outcome", "what the answer must be: outcome = [{ status = 200, where = […], is = \"answer\" }]");
    }
    section.finish();
    Some(Prerequisite { text: text?, ask, outcome })
}

/// Texts that no CRM calls a ticket by.
const NO_NUMBERS: [&str; 2] = ["<a href=\"x\">502</a>", "сервис временно недоступен"];

fn number(root: &Section<'_>) -> Option<Pattern> {
    let section = root.table_or_empty("number");
    let text = section.required_string("pattern", "what a ticket number looks like: \"[0-9]{1,12}\"");
    let pattern = text.and_then(|text| {
        Pattern::whole(&text)
            .map_err(|why| {
                section.error("pattern", format!("bad pattern: {why}"), "a regular expression for the whole number")
            })
            .ok()
    });
    if pattern.as_ref().is_some_and(|pattern| pattern.fits("")) {
        section.error("pattern", "an empty number fits this pattern", "ask for at least one character");
    } else if pattern.as_ref().is_some_and(|pattern| NO_NUMBERS.iter().all(|text| pattern.fits(text))) {
        section.error(
            "pattern",
            "any text fits this pattern, a page of errors too",
            "what a number looks like: \"[A-Z]*-?[0-9]{1,12}\"",
        );
    }
    section.finish();
    pattern
}

fn verify(section: Section<'_>, names: &Names) -> Option<Verify> {
    let request = request::request(&section, names, Use::Number);
    let outcome = answer::rules(&section, names, Use::Number, READ_WORDS);
    let record = section.take("record").map(|item| answer::path(&item, names, Use::Number));
    let matching = answer::matching(&section, names, Use::Number);
    let cost = meta::cost(&section);
    let read = answer::read(&section, names, Use::Number);
    if read.id.is_empty() {
        section.missing("read.id", "where the record holds its id");
    }
    section.finish();
    let record = match record {
        Some(read) => Some(read?),
        None => None,
    };
    Some(Verify { request: request?, outcome, record, matching, read, cost })
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
