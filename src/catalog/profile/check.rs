//! What must hold between the parts of a profile: a promise needs its proof, a rule needs what it reads.

mod answers;
mod dates;
mod files;
mod keys;
mod methods;
mod shown;
mod statuses;
#[cfg(test)]
mod tests;
mod wires;

use self::wires::templates;
use super::{
    model::{Auth, Confidence, Lookup, Profile, Repeat, Sees, Step, StepKind},
    rule::{Rule, Verdict},
};
use crate::{
    config::reader::{Document, Section},
    domain::{operation::OnAbsent, outcome::Promise},
};

/// Reports everything that does not hold together; where `today` is known, days after it too.
pub(super) fn whole(document: &Document<'_>, profile: &Profile, today: Option<&str>) {
    let root = document.root();
    today.into_iter().for_each(|today| dates::whole(document, today));
    let head = root.table_or_empty("profile");
    promise(&root, &head, profile);
    let steps = root.tables("step");
    for (step, section) in profile.steps.iter().zip(&steps) {
        match &step.kind {
            StepKind::Ticket => create(section, profile, step),
            StepKind::Make { lookup, .. } => {
                made(section, step);
                for (lookup, section) in lookup.iter().zip(section.table("lookup")) {
                    reading(&section, profile, lookup);
                    settled(&section, profile, lookup);
                }
            }
            StepKind::Find(_) if step.read.id.is_empty() => {
                section.error("read", "a record is looked for, but nothing reads its id", "[step.read] id = [\"id\"]");
            }
            StepKind::Read { .. } if step.read.number.is_empty() => {
                let hint = "[step.read] number = [\"number\"]";
                section.error("read", "the ticket is read again, but not for its number", hint);
            }
            StepKind::Find(_) | StepKind::Read { .. } => {}
        }
        tokens(section, profile, step);
    }
    for (at, (lookup, section)) in profile.lookups.iter().zip(root.tables("lookup")).enumerate() {
        reading(&section, profile, lookup);
        settled(&section, profile, lookup);
        if profile.lookups.iter().take(at).any(|earlier| earlier.name == lookup.name) {
            section.error("name", format!("two lookups are called `{}`", lookup.name), "give each a name of its own");
        }
    }
    budgets(&root, profile);
    answers::whole(&root, profile);
    statuses::whole(&root, profile);
    methods::whole(&root, profile);
    shown::whole(&root, profile);
    wires::whole(&root, profile);
    files::whole(&root, profile);
}

fn promise(root: &Section<'_>, head: &Section<'_>, profile: &Profile) {
    let claim = profile.meta.promise;
    if claim == Promise::Keyed && profile.meta.evidence.is_empty() {
        head.error(
            "promise",
            "`keyed` is claimed without evidence",
            "[[profile.evidence]] claim, source, date: where it is known that a repeat makes nothing new",
        );
    }
    if claim == Promise::Keyed && profile.dedupe.repeat == Repeat::Duplicates {
        let hint = "[dedupe] repeat = \"returns_existing\", \"refused\" or \"updates\"";
        head.error("promise", "`keyed` is claimed, but a repeat makes another ticket", hint);
    }
    if claim == Promise::Searchable && profile.lookups.is_empty() {
        head.error("promise", "`searchable` is claimed without a lookup", "write a [[lookup]], or claim `blind`");
    }
    if claim == Promise::Blind && profile.on_absent == OnAbsent::Resend {
        let hint = "absence cannot be proved here: on_absent = \"review\"";
        root.error("on_absent", "a blind profile can never send again by itself", hint);
    }
    if profile.on_absent == OnAbsent::Resend && !profile.lookups.is_empty() {
        let spots = Sees::blind_spots(&profile.lookups);
        if !spots.is_empty() {
            let what = format!(
                "no lookup is known to see {} tickets: a miss does not prove that one was never made",
                spots.join(" and ")
            );
            root.error(
                "on_absent",
                what,
                "sees_closed = true in a [[lookup]] that finds them, or on_absent = \"review\"",
            );
        }
    }
    if claim == Promise::Keyed
        && !profile.meta.evidence.is_empty()
        && profile.meta.evidence.iter().all(|known| known.confidence == Some(Confidence::General))
    {
        let hint = "a page, an issue, the source, or `zayavka probe`: confidence = \"doc\"";
        head.error("promise", "`keyed` is claimed, but nobody has looked it up", hint);
    }
    let by_refusal = claim == Promise::Keyed && profile.dedupe.repeat == Repeat::Refused;
    let says_exists = profile.steps.iter().flat_map(|step| &step.outcome).any(|rule| rule.verdict == Verdict::Exists);
    if by_refusal && !says_exists {
        let hint = "[[step.outcome]] … is = \"exists\" for the answer to a repeat";
        head.error("promise", "a repeat is refused, but no rule knows that refusal", hint);
    }
    if by_refusal && profile.lookups.is_empty() {
        head.error("promise", "a repeat is refused, but nothing finds the ticket made before", "write a [[lookup]]");
    }
}

/// What costs more than a whole budget could never go within it.
fn budgets(root: &Section<'_>, profile: &Profile) {
    let create: u32 = profile.steps.iter().map(|step| step.cost).sum();
    let look: u32 = profile.lookups.iter().map(|lookup| lookup.cost).sum();
    let dearest = create.max(look);
    let section = root.table_or_empty("limits");
    for (key, _, most) in profile.limits.budgets.all().filter(|(_, _, most)| *most < dearest) {
        let what = format!("one ticket counts for {dearest} requests, only {most} may go");
        section.error(key, what, "a larger budget, or the true `cost` of each step and lookup");
    }
}

/// A token ends without warning, and only a declared "not done" lets a create be sent again with a new one.
fn tokens(section: &Section<'_>, profile: &Profile, step: &Step) {
    let says = |rule: &Rule| rule.status.contains(401) && rule.verdict == Verdict::Auth;
    if matches!(profile.auth, Auth::Token(_)) && !step.outcome.iter().any(says) {
        let hint = "[[step.outcome]] status = 401, is = \"auth\"";
        section.error("outcome", "no rule says what it means that the token has ended", hint);
    }
}

/// A miss must not count while the CRM may still be at work on the request, or not show what it made.
fn settled(section: &Section<'_>, profile: &Profile, lookup: &Lookup) {
    let least = profile.dedupe.server_max + lookup.lag;
    if lookup.settle_after < least {
        let what =
            format!("a miss counts after {:?}, but something may still appear for {least:?}", lookup.settle_after);
        section.error("settle_after", what, "at least [dedupe] server_max and this lookup's lag together");
    }
}

fn made(section: &Section<'_>, step: &Step) {
    if !step.outcome.iter().any(|rule| rule.verdict == Verdict::Created) {
        let hint = "[[step.outcome]] status = [200, 201], is = \"created\"";
        section.error("outcome", "no rule says when the record was made", hint);
    } else if step.read.id.is_empty() {
        section.error("read", "a record is made, but nothing reads its id", "[step.read] id = [\"id\"]");
    }
}

fn create(section: &Section<'_>, profile: &Profile, step: &Step) {
    if !step.outcome.iter().any(|rule| rule.verdict == Verdict::Created) {
        let hint = "[[step.outcome]] status = [200, 201], is = \"created\"";
        section.error("outcome", "no rule says when the ticket was created", hint);
    } else if step.read.id.is_empty() {
        section.error("read", "a ticket is created, but nothing reads its id", "[step.read] id = [\"id\"]");
    }
    let sends_key = keys::carries_key(profile, &step.request);
    if profile.meta.promise != Promise::Blind && !sends_key {
        section.error(
            "request",
            "the request does not carry our key",
            "put ext.uuid or ext.token where the CRM keeps it",
        );
    }
    if !sends_key
        && !templates(&step.request).iter().any(|t| t.names().contains("body") || t.names().contains("marker"))
    {
        section.error(
            "request",
            "the request carries neither our key nor the text with the marker",
            "send body or marker",
        );
    }
}

fn reading(section: &Section<'_>, profile: &Profile, lookup: &Lookup) {
    // A read of one record says "none" by its status; a list says it by being empty.
    let says_none = lookup.outcome.iter().any(|rule: &Rule| rule.verdict == Verdict::NotFound);
    if lookup.results.is_none() && !says_none {
        let hint = "results = \"items\" for a list, or a rule that is \"not_found\"";
        section.error("outcome", "this lookup can never say that there is no record", hint);
    }
    keys::asks(section, profile, lookup);
}
