//! Reads `[[step]]`: the requests of a create in their order.

use super::{
    super::{
        model::{Find, Many, Step, StepKind},
        rule::{CREATE_WORDS, READ_WORDS},
        template::Template,
    },
    answer, lookup, meta,
    names::{Names, Use},
    request,
};
use crate::config::reader::{Item, Section};

/// What a step may be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Ticket,
    Make,
    Find,
    Read,
}

pub(super) fn steps(root: &Section<'_>, names: &Names) -> Option<Vec<Step>> {
    let sections = root.tables("step");
    if sections.is_empty() {
        root.missing("step", "[[step]] name = \"create\": the request that makes the ticket");
    }
    let steps: Option<Vec<Step>> = sections.into_iter().map(|section| step(section, names)).collect();
    let steps = steps?;
    order(&root.tables("step"), &steps);
    Some(steps)
}

/// Exactly one step makes the ticket; what is read of it comes after, everything else before.
fn order(sections: &[Section<'_>], steps: &[Step]) {
    let ticket = steps.iter().position(Step::is_ticket);
    for (at, (step, section)) in steps.iter().zip(sections).enumerate() {
        if steps.iter().take(at).any(|earlier| earlier.name == step.name) {
            section.error("name", format!("two steps are called `{}`", step.name), "give each a name of its own");
        }
        match (&step.kind, ticket) {
            (StepKind::Ticket, Some(first)) if first != at => {
                section.error(
                    "kind",
                    "a second step makes a ticket",
                    "one ticket, one step: kind = \"make\" for other records",
                );
            }
            (StepKind::Read { .. }, Some(first)) if first > at => {
                section.error("kind", "it reads a ticket that is not made yet", "put it after the ticket's step");
            }
            (StepKind::Make { .. } | StepKind::Find(_), Some(first)) if first < at => {
                let hint = "what is lost after the ticket cannot be told from a lost ticket: put it before";
                section.error("kind", "it comes after the ticket was made", hint);
            }
            _ => {}
        }
    }
    if let Some(section) = sections.first().filter(|_| ticket.is_none()) {
        section.error("kind", "no step makes the ticket", "leave `kind` out of the step that does");
    }
}

fn step(section: Section<'_>, names: &Names) -> Option<Step> {
    let name = section.required_string("name", "\"create\" for the request that makes the ticket");
    let words = [("ticket", Word::Ticket), ("make", Word::Make), ("find", Word::Find), ("read", Word::Read)];
    let word = if section.has("kind") { section.one_of("kind", &words)? } else { Word::Ticket };
    if let Some(bad) = name.as_deref().filter(|name| !meta::is_name(name)) {
        section.error("name", format!("`{bad}` cannot be a step's name"), "small letters, digits and underscores");
    }
    let when = section.take("when").and_then(|item| when(&item, names));
    let request = request::request(&section, names, Use::Create);
    let read = answer::read(&section, names, Use::Find);
    let rules = if matches!(word, Word::Ticket | Word::Make) { CREATE_WORDS } else { READ_WORDS };
    let outcome = answer::rules(&section, names, Use::Find, rules);
    let best_effort = section.bool("best_effort").unwrap_or(false);
    let outputs = answer::outputs(&section, names);
    let cost = meta::cost(&section);
    let kind = match word {
        Word::Ticket => ticket(&section, best_effort),
        Word::Make => make(&section, names, best_effort),
        Word::Find => find(&section, names)?,
        Word::Read => {
            StepKind::Read { record: section.take("record").and_then(|item| answer::path(&item, names, Use::Find)) }
        }
    };
    if outcome.is_empty() && matches!(word, Word::Ticket | Word::Make) {
        section.missing("outcome", "[[step.outcome]] status = [200, 201], is = \"created\"");
    }
    section.finish();
    if let Some(name) = &name {
        names.declare_output(name, "id");
        outputs.iter().for_each(|(output, _)| names.declare_output(name, output));
    }
    Some(Step { name: name?, kind, when, best_effort, request: request?, read, outputs, outcome, cost })
}

/// An expression over the names of a create, such as `contact.phone and not steps.find_contact.id`.
fn when(item: &Item<'_>, names: &Names) -> Option<Template> {
    let text = item.string()?;
    match Template::condition(&text) {
        Ok(template) => {
            names.check(item, &template, Use::Create);
            Some(template)
        }
        Err(bad) => {
            item.error(format!("`{}` is no condition: {}", item.label(), bad.0), "contact.phone and not steps.find.id");
            None
        }
    }
}

fn ticket(section: &Section<'_>, best_effort: bool) -> StepKind {
    if best_effort {
        section.error("best_effort", "the ticket itself cannot be best effort", "remove it");
    }
    for key in ["when", "outputs"] {
        if section.has(key) {
            section.error(key, format!("`{key}` has no meaning for the ticket's own step"), "remove it");
        }
    }
    StepKind::Ticket
}

fn make(section: &Section<'_>, names: &Names, best_effort: bool) -> StepKind {
    let lookup = section.table("lookup").and_then(|section| lookup::lookup(section, names)).map(Box::new);
    let again = section.bool("again").unwrap_or(false);
    if lookup.is_none() && !again && !best_effort {
        let hint = "[step.lookup] finds it by this step's own key, best_effort = true goes on without it, again = true where a repeat makes nothing new";
        section.error("name", "nothing says what to do when this step's answer is lost", hint);
    }
    StepKind::Make { lookup, again }
}

fn find(section: &Section<'_>, names: &Names) -> Option<StepKind> {
    let results = section.take("results").map(|item| answer::path(&item, names, Use::Find));
    let matching = answer::matching(section, names, Use::Create);
    let words = [("newest", Many::Newest), ("oldest", Many::Oldest), ("none", Many::None), ("human", Many::Human)];
    let many = section.one_of("many", &words);
    let results = match results {
        Some(read) => Some(read?),
        None => None,
    };
    Some(StepKind::Find(Find { results, matching, many: many.unwrap_or(Many::Newest) }))
}
