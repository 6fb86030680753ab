//! What holds for every request of a profile: where it goes, whose credentials it carries, whether our key fits.

use crate::{
    catalog::profile::{
        load::{self, PATH_SECRET},
        model::{Auth, Body, Node, Profile, Request, StepKind, Url, VarKind},
        template::Template,
    },
    config::reader::Section,
};

/// Reports every request that cannot go out as it is meant.
pub(super) fn whole(root: &Section<'_>, profile: &Profile) {
    for (section, request) in &all(root, profile) {
        path_secret(section, profile, request);
        credentials(section, profile, request);
        key_fits(section, profile, request);
        for url in section.table("request").iter() {
            base(url, "url", profile, &request.url);
        }
    }
    if let (Some(link), Some(section)) = (&profile.link, root.table("link")) {
        base(&section, "url", profile, link);
    }
    if let Auth::Token(token) = &profile.auth {
        let section = root.table_or_empty("auth");
        match section.table("request") {
            Some(request) => base(&request, "url", profile, &token.request.url),
            None => base(&section, "token_url", profile, &token.request.url),
        }
    }
    if let (Some(cleanup), Some(section)) = (&profile.cleanup, root.table("cleanup")) {
        let names_it = templates(cleanup).iter().any(|t| t.names().contains("id") || t.names().contains("number"));
        if !names_it {
            section.error("request", "nothing says which record is taken away", "put {{ id }} or {{ number }} into it");
        }
    }
}

/// Every request that carries the profile's credentials, with the section it stands in.
fn all<'s, 'p>(root: &Section<'s>, profile: &'p Profile) -> Vec<(Section<'s>, &'p Request)> {
    let mut all = Vec::new();
    for (step, section) in profile.steps.iter().zip(root.tables("step")) {
        if let StepKind::Make { lookup: Some(lookup), .. } = &step.kind {
            all.extend(section.table("lookup").map(|section| (section, &lookup.request)));
        }
        all.push((section, &step.request));
    }
    all.extend(root.tables("lookup").into_iter().zip(profile.lookups.iter().map(|lookup| &lookup.request)));
    all.extend(root.table("verify").zip(profile.verify.as_ref().map(|verify| &verify.request)));
    let asking = root.tables("prerequisite").into_iter().zip(&profile.prerequisites);
    all.extend(asking.filter_map(|(section, wanted)| Some((section, wanted.ask.as_ref()?))));
    all.extend(root.table("attachments").zip(profile.attachments.step().map(|step| &step.request)));
    all.extend(root.table("cleanup").zip(profile.cleanup.as_ref()));
    all
}

/// The address is a variable whose text is checked as an address, or written out.
fn base(section: &Section<'_>, key: &str, profile: &Profile, url: &Url) {
    let source = url.base.source();
    let hint = "begin with a variable of type url, \"{{ vars.base_url }}/…\", or with https://";
    if source.contains('@') {
        section.error(
            key,
            "a user or password stands in the address",
            "credentials join a request only through [auth]",
        );
    } else if source.starts_with("{{") {
        let of_type_url = |name: &String| {
            let var = name.strip_prefix("vars.").and_then(|name| profile.vars.get(name));
            var.is_some_and(|var| var.kind == VarKind::Url)
        };
        let lone = url.base.names().len() == 1 && !source.contains('|');
        if !lone || !url.base.names().iter().all(of_type_url) {
            section.error(key, format!("`{source}` is no variable of type url"), hint);
        }
    }
}

fn path_secret(section: &Section<'_>, profile: &Profile, request: &Request) {
    let marks = request.url.path.source().matches(PATH_SECRET).count();
    if load::has_path_secret(&profile.auth) && marks != 1 {
        let hint = format!("write {PATH_SECRET} where the secret goes");
        let what = format!("the secret goes into the path, but it is written {marks} times there");
        section.error("request", what, hint);
    } else if !load::has_path_secret(&profile.auth) && marks > 0 {
        section.error("request", format!("{PATH_SECRET} stands in the path"), "[auth] kind = \"path\"");
    }
}

fn credentials(section: &Section<'_>, profile: &Profile, request: &Request) {
    let is_map = matches!(request.body, Body::Form(_) | Body::Multipart(_) | Body::Json(Node::Map(_)));
    if matches!(profile.auth, Auth::BodyField { .. }) && !is_map {
        section.error("request", "the secret goes into a field of the body, but the body has no fields", "");
    }
    if matches!(profile.auth, Auth::BodyAt { .. }) && !matches!(request.body, Body::Json(_)) {
        let what = "the secret goes into a place of a JSON body, but there is none";
        section.error("request", what, "body_kind = \"json\"");
    }
    // A secret written into a header would be stored with the request and shown by `check`.
    let of_auth = |name: &str| match &profile.auth {
        Auth::Header { name: used, .. } => used == name,
        Auth::Basic { .. } => name == "authorization",
        Auth::Token(token) => token.header == name,
        Auth::Hmac(signing) => signing.name == name,
        _ => false,
    };
    for (name, _) in &request.headers {
        let secret = ["authorization", "proxy-authorization", "cookie"].contains(&name.as_str());
        if secret || of_auth(name) || profile.auth_headers.iter().any(|(used, _)| used == name) {
            let what = format!("the header `{name}` carries credentials");
            section.error("request", what, "credentials join a request only through [auth]");
        }
    }
}

/// A header has room enough; it is fields and search words that cut.
fn key_fits(section: &Section<'_>, profile: &Profile, request: &Request) {
    let fields = templates(request).into_iter().filter(|t| !request.headers.iter().any(|(_, value)| value == *t));
    let longest = fields.flat_map(Template::names).map(|name| length(profile, name)).max().unwrap_or(0);
    if longest > profile.ext.max_len {
        let hint = "a shorter form of the key, or the true length of the field in [ext] max_len";
        let what = format!("our key has {longest} characters, the field holds {}", profile.ext.max_len);
        section.error("request", what, hint);
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
pub(super) fn templates(request: &Request) -> Vec<&Template> {
    let mut all = vec![&request.url.path];
    all.extend(request.query.iter().flat_map(|(key, value)| [key, value]));
    all.extend(request.headers.iter().map(|(_, value)| value));
    if let Some(document) = &request.query_json {
        leaves(document, &mut all);
    }
    match &request.body {
        Body::None | Body::File => {}
        Body::Json(node) => leaves(node, &mut all),
        Body::Form(fields) | Body::Multipart(fields) => fields.iter().for_each(|(key, node)| {
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
