//! How a request that makes something is sent.

use crate::{
    catalog::profile::model::{Profile, Request, StepKind},
    config::reader::Section,
};

/// Reports every record that would be made by a GET.
pub(super) fn whole(root: &Section<'_>, profile: &Profile) {
    for (step, section) in profile.steps.iter().zip(root.tables("step")) {
        if matches!(step.kind, StepKind::Ticket | StepKind::Make { .. }) {
            makes(&section, &step.request);
        }
    }
    for (step, section) in profile.attachments.step().into_iter().zip(root.table("attachments")) {
        makes(&section, &step.request);
    }
}

/// Proxies answer a GET out of their memory and repeat it as they like (RFC 9110, section 9.2): a record would be made
/// never, or twice.
fn makes(section: &Section<'_>, request: &Request) {
    for section in section.table("request").iter().filter(|_| request.method == "GET") {
        let what = "a GET makes nothing: whatever stands between may repeat it, or answer it without the CRM";
        section.error("method", what, "POST, PUT or PATCH");
    }
}
