//! What a status proves by itself. Gateways, proxies and login pages answer in the CRM's place while it goes on with the
//! request, so a rule without words of the CRM may claim only what no such page says.

use crate::{
    catalog::profile::{
        model::{Profile, StepKind},
        rule::{Condition, Rule, StatusSet, Subject, Test, Verdict},
    },
    config::reader::Section,
};

/// Headers that every server and gateway sends: they tell nothing of what the CRM did.
const EVERYBODYS: [&str; 10] = [
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "server",
    "transfer-encoding",
    "vary",
    "via",
];

/// Reports every rule that takes a status for a proof it is not.
pub(super) fn whole(root: &Section<'_>, profile: &Profile) {
    for (step, section) in profile.steps.iter().zip(root.tables("step")) {
        match &step.kind {
            StepKind::Ticket => making(&section, &step.outcome),
            StepKind::Make { lookup, .. } => {
                making(&section, &step.outcome);
                for (lookup, section) in lookup.iter().zip(section.table("lookup")) {
                    asking(&section, &lookup.outcome);
                }
            }
            StepKind::Find(_) | StepKind::Read { .. } => asking(&section, &step.outcome),
        }
    }
    for (lookup, section) in profile.lookups.iter().zip(root.tables("lookup")) {
        asking(&section, &lookup.outcome);
    }
    for (verify, section) in profile.verify.iter().zip(root.table("verify")) {
        asking(&section, &verify.outcome);
    }
    for (step, section) in profile.attachments.step().into_iter().zip(root.table("attachments")) {
        making(&section, &step.outcome);
    }
}

/// Where something is made: what is said to be undone is sent again, and what is said to be refused is made anew.
fn making(section: &Section<'_>, rules: &[Rule]) {
    for (rule, section) in unproved(section, rules) {
        let claims = match rule.verdict {
            Verdict::Throttled | Verdict::NotExecuted | Verdict::Auth | Verdict::Refused => undone_by_nobodys_word(),
            Verdict::Created => all_but(&[(200, 299)]),
            Verdict::InFlight => undone_by_nobodys_word().intersection(&all_but(&[(200, 299)])),
            _ => continue,
        };
        report(
            &section,
            rule,
            &claims,
            "proves nothing by itself: gateways and proxies say it while the CRM goes on with the request",
            "name what in the answer proves it in `where`, or leave these statuses out",
        );
    }
}

/// Where something is looked for: an absence that is none makes a second ticket, or a second contact.
fn asking(section: &Section<'_>, rules: &[Rule]) {
    for (rule, section) in unproved(section, rules) {
        match rule.verdict {
            Verdict::NotFound => report(
                &section,
                rule,
                &all_but(&[(204, 204), (404, 404), (410, 410)]),
                "does not say by itself that there is no such record: gateways and proxies say it too",
                "name the CRM's own words for it in `where`; by themselves only 204, 404 and 410 say it",
            ),
            Verdict::Answer => report(
                &section,
                rule,
                &all_but(&[(200, 299)]),
                "is no answer by itself: gateways and proxies say it too",
                "name in `where` what the CRM's answer holds; by itself only 2xx is one",
            ),
            _ => {}
        }
    }
}

fn report(section: &Section<'_>, rule: &Rule, wrong: &StatusSet, what: &str, hint: &str) {
    let wrong = rule.status.intersection(wrong);
    if !wrong.is_empty() {
        section.error("status", format!("HTTP {} {what}", in_words(&wrong)), hint);
    }
}

/// The rules that name nothing of the CRM's own, with their sections.
fn unproved<'r, 's>(section: &Section<'s>, rules: &'r [Rule]) -> Vec<(&'r Rule, Section<'s>)> {
    let rules = rules.iter().zip(section.tables("outcome"));
    rules.filter(|(rule, _)| !rule.conditions.iter().any(is_word_of_the_crm)).collect()
}

/// A page of somebody else has no `error` either, and every JSON gateway answers with something at `$`.
fn is_word_of_the_crm(condition: &Condition) -> bool {
    match (&condition.subject, &condition.test) {
        (_, Test::Exists(false)) => false,
        (Subject::Header(name), _) => !EVERYBODYS.contains(&name.as_str()),
        (Subject::Path(path), Test::Exists(true)) => path.source().trim() != "$",
        _ => true,
    }
}

/// 501 and 503 are said before anything is done; so is a 4xx, but for the gateway's own "it took too long".
fn undone_by_nobodys_word() -> StatusSet {
    let mut set = StatusSet::empty();
    for (from, to) in [(100, 399), (408, 408), (500, 500), (502, 502), (504, 599)] {
        set.insert(from, to);
    }
    set
}

fn all_but(allowed: &[(u16, u16)]) -> StatusSet {
    let mut set = StatusSet::empty();
    let allows = |status: u16| allowed.iter().any(|(from, to)| (*from..=*to).contains(&status));
    (100..=599).filter(|status| !allows(*status)).for_each(|status| set.insert(status, status));
    set
}

/// `200-299, 304`.
fn in_words(set: &StatusSet) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for status in (100..=599).filter(|status| set.contains(*status)) {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == status => *to = status,
            _ => ranges.push((status, status)),
        }
    }
    let words = ranges.iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
    words.collect::<Vec<_>>().join(", ")
}
