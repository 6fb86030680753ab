//! What must hold between the parts of a profile: a promise needs its proof, a rule needs what it reads.

use super::{
    load::{self, PATH_SECRET},
    model::{Auth, Body, Lookup, Node, Profile, Repeat, Request, Step, StepKind, Way},
    rule::{Rule, Verdict},
    template::Template,
};
use crate::{
    config::reader::{Document, Section},
    domain::{operation::OnAbsent, outcome::Promise},
};

/// Reports everything that does not hold together.
pub(super) fn whole(document: &Document<'_>, profile: &Profile) {
    let root = document.root();
    let head = root.table_or_empty("profile");
    promise(&root, &head, profile);
    let steps = root.tables("step");
    for (step, section) in profile.steps.iter().zip(&steps) {
        match &step.kind {
            StepKind::Ticket => create(section, profile, step),
            StepKind::Make { .. } => made(section, step),
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
    for (lookup, section) in profile.lookups.iter().zip(root.tables("lookup")) {
        reading(&section, lookup);
        settled(&section, profile, lookup);
    }
    requests(&root, profile);
    files(&root, profile);
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
    let sends_key = templates(&step.request).iter().any(|t| t.names().iter().any(|name| name.starts_with("ext.")));
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

fn reading(section: &Section<'_>, lookup: &Lookup) {
    // A read of one record says "none" by its status; a list says it by being empty.
    let says_none = lookup.outcome.iter().any(|rule: &Rule| rule.verdict == Verdict::NotFound);
    if lookup.results.is_none() && !says_none {
        let hint = "results = \"items\" for a list, or a rule that is \"not_found\"";
        section.error("outcome", "this lookup can never say that there is no record", hint);
    }
    let sends_key = templates(&lookup.request).iter().any(|t| t.names().iter().any(|name| name.starts_with("ext.")));
    if !sends_key && lookup.results.is_none() {
        section.error("request", "the lookup does not ask for our key", "put ext.uuid or ext.token into it");
    }
}

/// What holds for every request: the key fits its field, a secret in the path has its place.
fn requests(root: &Section<'_>, profile: &Profile) {
    let steps = root.tables("step");
    let lookups = root.tables("lookup");
    let verify = root.table("verify");
    let attachments = root.table("attachments");
    let all = (profile.steps.iter().map(|step| &step.request).zip(&steps))
        .chain(profile.lookups.iter().map(|lookup| &lookup.request).zip(&lookups))
        .chain(profile.verify.iter().map(|verify| &verify.request).zip(&verify))
        .chain(profile.attachments.step().map(|step| &step.request).into_iter().zip(&attachments));
    for (request, section) in all {
        let marks = request.url.path.source().matches(PATH_SECRET).count();
        if load::has_path_secret(&profile.auth) && marks != 1 {
            let hint = format!("write {PATH_SECRET} where the secret goes");
            section.error(
                "request",
                format!("the secret goes into the path, but it is written {marks} times there"),
                hint,
            );
        } else if !load::has_path_secret(&profile.auth) && marks > 0 {
            section.error("request", format!("{PATH_SECRET} stands in the path"), "[auth] kind = \"path\"");
        }
        let is_map = matches!(request.body, Body::Form(_) | Body::Json(Node::Map(_)));
        if matches!(profile.auth, Auth::BodyField { .. }) && !is_map {
            section.error("request", "the secret goes into a field of the body, but the body has no fields", "");
        }
        if matches!(profile.auth, Auth::BodyAt { .. }) && !matches!(request.body, Body::Json(_)) {
            section.error(
                "request",
                "the secret goes into a place of a JSON body, but there is none",
                "body_kind = \"json\"",
            );
        }
        // A header has room enough; it is fields and search words that cut.
        let fields = templates(request).into_iter().filter(|t| !request.headers.iter().any(|(_, value)| value == *t));
        let longest = fields.flat_map(Template::names).map(|name| length(profile, name)).max();
        if longest.is_some_and(|longest| longest > profile.ext.max_len) {
            let hint = "a shorter form of the key, or the true length of the field in [ext] max_len";
            let what =
                format!("our key has {} characters, the field holds {}", longest.unwrap_or(0), profile.ext.max_len);
            section.error("request", what, hint);
        }
    }
}

/// Files reach the ticket only where its request names them, and a request that names them needs a way for them.
fn files(root: &Section<'_>, profile: &Profile) {
    let steps = root.tables("step");
    let Some((ticket, section)) = profile.steps.iter().zip(&steps).find(|(step, _)| step.is_ticket()) else { return };
    let uses = templates(&ticket.request).iter().any(|t| t.names().iter().any(|name| name.starts_with("files")));
    let way = &profile.attachments.way;
    match way {
        Way::Inline | Way::Upload(_) if !uses => {
            let hint = "for example \"{{ files | each({'FileName': 'name', 'FileContent': 'content'}) }}\"";
            section.error("request", "files are to reach the ticket, but its request does not name `files`", hint);
        }
        Way::None | Way::AfterCreate(_) if uses => {
            let hint = "[attachments] kind = \"inline_base64\" or \"upload_then_token\"";
            section.error("request", "the request names `files`, but no file goes with it", hint);
        }
        Way::Inline if !matches!(ticket.request.body, Body::Json(_)) => {
            section.error("request", "base64 goes into a JSON body", "body_kind = \"json\"");
        }
        _ => {}
    }
    let Some(section) = root.table("attachments").filter(|_| *way != Way::None) else { return };
    if matches!(profile.auth, Auth::Hmac(_)) {
        section.error("kind", "a request that is signed cannot carry files", "kind = \"none\"");
    }
    if matches!(profile.auth, Auth::BodyAt { .. }) && *way == Way::Inline {
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
    if matches!(way, Way::Upload(_)) && step.read.id.is_empty() {
        section.error("read", "a file is uploaded, but nothing reads its token", "read = { id = \"upload.token\" }");
    }
}

fn length(profile: &Profile, name: &str) -> usize {
    match name {
        "ext.uuid" => 36,
        "ext.quoted" => 38,
        "ext.token" => profile.ext.token_prefix.len() + 32,
        _ => 0,
    }
}

/// All templates of a request.
fn templates(request: &Request) -> Vec<&Template> {
    let mut all = vec![&request.url.path];
    all.extend(request.query.iter().flat_map(|(key, value)| [key, value]));
    all.extend(request.headers.iter().map(|(_, value)| value));
    if let Some(document) = &request.query_json {
        leaves(document, &mut all);
    }
    match &request.body {
        Body::None | Body::File => {}
        Body::Multipart(fields) => all.extend(fields.iter().flat_map(|(key, value)| [key, value])),
        Body::Json(node) => leaves(node, &mut all),
        Body::Form(fields) => fields.iter().for_each(|(key, node)| {
            all.push(key);
            leaves(node, &mut all);
        }),
    }
    all
}

fn leaves<'n>(node: &'n Node, into: &mut Vec<&'n Template>) {
    match node {
        Node::Leaf(template) => into.push(template),
        Node::Fixed(_) => {}
        Node::List(list) => list.iter().for_each(|node| leaves(node, into)),
        Node::Map(map) => map.iter().for_each(|(key, node)| {
            into.push(key);
            leaves(node, into);
        }),
    }
}
