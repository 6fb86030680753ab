//! What must hold between what a profile sends and what it reads: an answer must be able to say the one thing it is
//! asked for, and a record is known only by what was sent.

use std::collections::BTreeSet;

use super::{keys, wires::templates};
use crate::{
    catalog::profile::{
        model::{Find, Match, Profile, Request, SourcePlace, Step, StepKind},
        path::JsonPath,
        rule::{Rule, Verdict},
        template::Template,
    },
    config::reader::Section,
};

/// Reports what could never be heard, and whom a record could wrongly be taken for.
pub(super) fn whole(root: &Section<'_>, profile: &Profile) {
    for (step, section) in profile.steps.iter().zip(root.tables("step")) {
        match &step.kind {
            StepKind::Ticket => {}
            StepKind::Make { lookup, .. } => {
                if lookup.is_some() && !keys::carries_key(profile, &step.request) {
                    let hint = "put ext.uuid or ext.token where the CRM keeps it";
                    section.error("request", "the step does not send its own key, by which it is looked for", hint);
                }
                for (lookup, section) in lookup.iter().zip(section.table("lookup")) {
                    says_answer(&section, &lookup.outcome);
                    same_writing(&section, profile, &step.request, &lookup.matching);
                }
            }
            StepKind::Find(find) => {
                says_answer(&section, &step.outcome);
                whose(&section, step, find);
            }
            StepKind::Read { .. } => says_answer(&section, &step.outcome),
        }
    }
    let ticket = profile.steps.iter().find(|step| step.is_ticket()).map(|step| &step.request);
    for (lookup, section) in profile.lookups.iter().zip(root.tables("lookup")) {
        says_answer(&section, &lookup.outcome);
        ticket.iter().for_each(|ticket| same_writing(&section, profile, ticket, &lookup.matching));
    }
    for (verify, section) in profile.verify.iter().zip(root.table("verify")) {
        says_answer(&section, &verify.outcome);
        for (ticket, matching) in ticket.iter().zip(&verify.matching) {
            same_writing(&section, profile, ticket, matching);
        }
    }
    for (wanted, section) in profile.prerequisites.iter().zip(root.tables("prerequisite")) {
        says_answer(&section, &wanted.outcome);
        if wanted.ask.is_none() && !wanted.outcome.is_empty() {
            section.error(
                "outcome",
                "nothing is asked that these rules could judge",
                "write a request, or remove them",
            );
        }
    }
}

/// Without any rule 200 is the answer; with rules one of them must say so.
fn says_answer(section: &Section<'_>, rules: &[Rule]) {
    if !rules.is_empty() && !rules.iter().any(|rule| rule.verdict == Verdict::Answer) {
        let hint = "one rule must be it: { status = 200, is = \"answer\" }";
        section.error("outcome", "no rule says which answer counts, so none ever will", hint);
    }
}

/// What is found must be shown to belong to the person. Only bare ids show nothing that could be compared.
fn whose(section: &Section<'_>, step: &Step, find: &Find) {
    let is_record = |place: &SourcePlace| matches!(place, SourcePlace::Path(path) if is_whole(path));
    let bare = step.read.id.iter().any(|source| is_record(&source.place));
    match &find.matching {
        None if !bare => {
            let hint = "match = { path = \"phone\", equals = \"{{ contact.phone }}\", digits = true }";
            section.error("match", "a CRM that ignores our search would give us anybody's record", hint);
        }
        Some(matching) if matching.equals.names().iter().all(|name| name.starts_with("vars.")) => {
            let hint = "compare with what only this person has: contact.phone, contact.email";
            section.error("match", "every record of the CRM could fit this match", hint);
        }
        _ => {}
    }
}

fn is_whole(path: &JsonPath) -> bool {
    path.source().trim() == "$"
}

/// A record is compared with our key as the create wrote it: another writing of it would never be found.
fn same_writing(section: &Section<'_>, profile: &Profile, request: &Request, matching: &Match) {
    let sent: BTreeSet<&str> = templates(request).into_iter().flat_map(writings).collect();
    let odd = writings(&matching.equals).into_iter().find(|wanted| !sent.contains(wanted));
    if let Some(odd) = odd.filter(|_| !sent.is_empty()) {
        let sent: Vec<&str> = sent.into_iter().collect();
        let what = format!("it compares with `{odd}`, but what is sent carries `{}`", sent.join("` and `"));
        section.error("match", what, "the same writing of our key in both, or nothing is ever found");
    } else {
        keys::compared(section, profile, request, matching);
    }
}

/// Which writings of our key a template has; a quoted one is the same key with quotes around it.
fn writings(template: &Template) -> Vec<&str> {
    let writing = |name: &str| match name {
        "ext.uuid" | "ext.quoted" => Some("ext.uuid"),
        "ext.token" => Some("ext.token"),
        _ => None,
    };
    template.names().iter().filter_map(|name| writing(name)).collect()
}
