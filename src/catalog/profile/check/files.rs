//! What must hold between a profile's way for files and the requests that carry them.

use super::wires::templates;
use crate::{
    catalog::profile::{
        model::{Auth, Body, Node, Profile, Step, Way},
        rule::Verdict,
    },
    config::reader::Section,
};

/// Files reach the ticket only where its request names them, and a request that names them needs a way for them.
pub(super) fn whole(root: &Section<'_>, profile: &Profile) {
    let steps = root.tables("step");
    let Some((ticket, section)) = profile.steps.iter().zip(&steps).find(|(step, _)| step.is_ticket()) else { return };
    let uses = templates(&ticket.request).iter().any(|t| t.names().iter().any(|name| name.starts_with("files")));
    let way = &profile.attachments.way;
    match way {
        Way::Inline | Way::Upload(_) | Way::Urls(_) if !uses => {
            let hint = "for example \"{{ files | each({'FileName': 'name', 'FileContent': 'content'}) }}\"";
            section.error("request", "files are to reach the ticket, but its request does not name `files`", hint);
        }
        Way::None | Way::AfterCreate(_) if uses => {
            let hint = "[attachments] kind = \"inline_base64\" or \"upload_then_token\"";
            section.error("request", "the request names `files`, but no file goes with it", hint);
        }
        Way::Multipart(_) if uses => {
            let hint = "remove it: each file goes as [attachments] parts say";
            section.error("request", "the request names `files`, but they go beside its fields", hint);
        }
        Way::Multipart(_) => fits_a_form(section, ticket),
        Way::Inline if !matches!(ticket.request.body, Body::Json(_)) => {
            section.error("request", "base64 goes into a JSON body", "body_kind = \"json\"");
        }
        _ => {}
    }
    let Some(section) = root.table("attachments").filter(|_| *way != Way::None) else { return };
    if matches!(profile.auth, Auth::Hmac(_)) {
        section.error("kind", "a request that is signed cannot carry files", "kind = \"none\"");
    }
    if matches!(profile.auth, Auth::BodyAt { .. }) && matches!(way, Way::Inline | Way::Multipart(_)) {
        section.error("kind", "a body that carries files cannot carry the secret", "kind = \"none\"");
    }
    let Some(step) = profile.attachments.step() else { return };
    let carries = step.request.body == Body::File
        || templates(&step.request).iter().any(|template| template.names().contains("file.content"));
    if !carries {
        section.error("request", "the request does not carry the file", "body_kind = \"file\", or {{ file.content }}");
    }
    if matches!(step.request.body, Body::Form(_)) {
        section.error("request", "a form cannot carry the file", "body_kind = \"multipart\", \"file\" or \"json\"");
    }
    let outside_body = step.request.query.iter().map(|(_, value)| value).chain([&step.request.url.path]);
    let outside_body = outside_body.chain(step.request.headers.iter().map(|(_, value)| value));
    if outside_body.into_iter().any(|template| template.names().contains("file.content")) {
        section.error("request", "the file's content stands outside the body", "a field of the body");
    }
    if !step.outcome.iter().any(|rule| rule.verdict == Verdict::Created) {
        let hint = "[[attachments.outcome]] status = [200, 201], is = \"created\"";
        section.error("outcome", "no rule says when the file was taken", hint);
    }
    if matches!(way, Way::Urls(_)) && step.read.url.is_empty() {
        section.error("read", "a file is uploaded, but nothing reads its address", "read = { url = \"file.url\" }");
    }
    if matches!(way, Way::Upload(_)) && step.read.id.is_empty() {
        section.error("read", "a file is uploaded, but nothing reads its token", "read = { id = \"upload.token\" }");
    }
}

/// With files the ticket's request goes as a form, whatever it is without.
fn fits_a_form(section: &Section<'_>, ticket: &Step) {
    let request = &ticket.request;
    if !matches!(request.body, Body::Form(_) | Body::Multipart(_) | Body::Json(Node::Map(_))) {
        section.error("request", "this body has no fields beside which files could go", "a table of fields");
    }
    if request.headers.iter().any(|(name, _)| name == "content-type") {
        let hint = "remove it: with files the request is multipart/form-data";
        section.error("request", "the request names a media type of its own", hint);
    }
}
