//! What people are shown of a ticket: the same number whichever answer told it, and a link that leads to it.

use crate::{
    catalog::profile::model::{Profile, Read, StepKind, Url},
    config::reader::Section,
};

/// Reports where a person would be shown a wrong number, or a link to nowhere.
pub(super) fn whole(root: &Section<'_>, profile: &Profile) {
    let told = profile.steps.iter().any(|step| match &step.kind {
        StepKind::Ticket => names_number(&step.read),
        StepKind::Read { .. } => true,
        StepKind::Make { .. } | StepKind::Find(_) => false,
    });
    for (lookup, section) in profile.lookups.iter().zip(root.tables("lookup")) {
        number(&section, told, &lookup.read);
    }
    for (verify, section) in profile.verify.iter().zip(root.table("verify")) {
        number(&section, told, &verify.read);
    }
    for (url, section) in profile.link.iter().zip(root.table("link")) {
        link(&section, profile, url);
    }
}

/// Whether a number is read that is not simply the id.
fn names_number(read: &Read) -> bool {
    !read.number.is_empty() && read.number != read.id
}

/// A ticket has one number: what its making told is what a lookup after a lost answer must tell.
fn number(section: &Section<'_>, told: bool, read: &Read) {
    match (told, names_number(read)) {
        (true, false) => section.error(
            "read",
            "the ticket's step reads a number, but here is only the internal id: a ticket found again would be told by that",
            "read the number here too: read = { id = \"id\", number = \"number\" }",
        ),
        (false, true) => section.warning(
            "read",
            "a number is read here, but the ticket's step reads only the internal id: one ticket is told by two names",
            "read the number in [step.read] too, or in a step of kind \"read\"",
        ),
        _ => {}
    }
}

fn link(section: &Section<'_>, profile: &Profile, url: &Url) {
    let mut parts = [Some(&url.path), url.tail.as_ref()].into_iter().flatten();
    if !parts.any(|part| part.names().contains("id") || part.names().contains("number")) {
        section.error("url", "nothing in the link says which ticket it opens", "put {{ id }} or {{ number }} into it");
    }
    let steps = profile.steps.iter().map(|step| &step.request);
    let mut requests = steps.chain(profile.lookups.iter().map(|lookup| &lookup.request));
    if let Some(base) = url.base.literal()
        && !requests.any(|request| request.url.base.source().eq_ignore_ascii_case(base))
    {
        let what = format!("the link leads to {base}, where no request of this profile goes");
        let hint =
            "the CRM's own address; where its pages have another, a variable of type url: \"{{ vars.app_url }}/…\"";
        section.warning("url", what, hint);
    }
}
