//! The sending half of a profile: credentials, URLs, query, headers and the body as a tree of templates.

use std::{ops::RangeInclusive, time::Duration};

use serde_json::Value as Json;
use toml::de::DeValue;

use super::{
    super::{
        model::{Body, Node, Request, Url},
        template::{Place, Template},
    },
    names::{Names, Use},
};
use crate::config::reader::{Item, Section};

/// Where a secret goes that is part of a path: put in when the request is sent.
pub(crate) const PATH_SECRET: &str = "{auth}";

/// Less would often end before a good answer; more than the longest lease can never be used.
pub(super) const TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(500)..=Duration::from_secs(3_600);

pub(super) fn check_header_name(section: &Section<'_>, key: &str, name: &str) {
    let token = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    if name.is_empty() || !token {
        section.error(key, format!("`{name}` cannot be a header's name"), "letters, digits and dashes");
    }
    // These belong to the connection, or would send a second body.
    let ours = ["host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "te", "trailer"];
    if ours.contains(&name.to_ascii_lowercase().as_str()) {
        section.error(key, format!("the header `{name}` is not the profile's to set"), "remove it");
    }
}

pub(super) fn request(parent: &Section<'_>, names: &Names, purpose: Use) -> Option<Request> {
    let timeout = parent.duration("timeout", TIMEOUTS);
    let Some(section) = parent.table("request") else {
        parent.missing("request", "what is sent: method, url, query, headers, body");
        return None;
    };
    let words = ["GET", "POST", "PUT", "PATCH", "DELETE"].map(|word| (word, word));
    // Only what takes a trial's record away may delete, and a GET takes nothing away.
    let methods = if purpose == Use::Link { &words[1..] } else { &words[..4] };
    let kind = parent.peek("kind").filter(|_| purpose == Use::Create);
    let reads = kind.is_some_and(|kind| kind == "find" || kind == "read");
    let default = match purpose {
        Use::Link => "DELETE",
        Use::Create | Use::Token | Use::File | Use::FileAfter if !reads => "POST",
        _ => "GET",
    };
    let method = if section.take("method").is_some() { section.one_of("method", methods) } else { Some(default) };
    let address = section.take("url");
    if address.is_none() {
        section.missing("url", "\"{{ vars.base_url }}/…\"");
    }
    let address = address.and_then(|item| url(&item, names, purpose, false));
    let query = section.table("query").map(|query| pairs(&query, names, purpose)).unwrap_or_default();
    let query_json = section.take("query_json").and_then(|item| node(&item, names, purpose));
    if query_json.is_some() && !query.is_empty() {
        section.error("query_json", "the whole query string is one JSON document", "either `query` or `query_json`");
    }
    let headers = section.table("headers").map(|headers| header_list(&headers, names, purpose)).unwrap_or_default();
    let body = body(&section, names, purpose);
    section.finish();
    Some(Request { method: method?.to_owned(), url: address?, query, query_json, headers, body: body?, timeout })
}

pub(super) fn pairs(section: &Section<'_>, names: &Names, purpose: Use) -> Vec<(Template, Template)> {
    let pair = |(key, item): (String, Item<'_>)| {
        let key = names.template_of(&item, &key, Place::Text, purpose)?;
        Some((key, names.template(&item, Place::Text, purpose)?))
    };
    section.items().into_iter().filter_map(pair).collect()
}

fn header_list(section: &Section<'_>, names: &Names, purpose: Use) -> Vec<(String, Template)> {
    let header = |(name, item): (String, Item<'_>)| {
        check_header_name(section, &name, &name);
        Some((name.to_ascii_lowercase(), names.template(&item, Place::Text, purpose)?))
    };
    section.items().into_iter().filter_map(header).collect()
}

fn body(section: &Section<'_>, names: &Names, purpose: Use) -> Option<Body> {
    let kinds = ["json", "json_array", "form", "form_json", "none", "multipart", "file"].map(|word| (word, word));
    // Only a request for one file has a file to carry.
    let for_file = matches!(purpose, Use::File | Use::FileAfter);
    let kinds = if for_file { &kinds[..] } else { &kinds[..6] };
    let item = section.take("body");
    let kind = if section.take("body_kind").is_some() {
        section.one_of("body_kind", kinds)?
    } else if item.is_some() {
        "json"
    } else {
        "none"
    };
    if kind == "none" || kind == "file" {
        if let Some(item) = item {
            item.error("a body is written, but `body_kind` says there is none", "remove one of them");
        }
        return Some(if kind == "file" { Body::File } else { Body::None });
    }
    let Some(item) = item else {
        section.missing("body", format!("`body_kind` is `{kind}`"));
        return None;
    };
    match kind {
        "json_array" => match node(&item, names, purpose)? {
            list @ Node::List(_) => Some(Body::Json(list)),
            one => Some(Body::Json(Node::List(vec![one]))),
        },
        "json" => node(&item, names, purpose).map(Body::Json),
        "multipart" => {
            let fields = form(&item, names, purpose, true)?;
            let is_file = |(_, value): &(Template, Node)| matches!(value, Node::Leaf(leaf) if leaf.names().contains("file.content"));
            if for_file && !fields.iter().any(is_file) {
                item.error("no field carries the file", "file = \"{{ file.content }}\"");
            }
            Some(Body::Multipart(fields))
        }
        _ => form(&item, names, purpose, kind == "form_json").map(Body::Form),
    }
}

/// A plain form has texts only; `form_json` may hold a tree in a field, which goes there as JSON text.
fn form(item: &Item<'_>, names: &Names, purpose: Use, trees: bool) -> Option<Vec<(Template, Node)>> {
    let mut fields = Vec::new();
    for (key, item) in item.section()?.items() {
        let key = names.template_of(&item, &key, Place::Text, purpose);
        let value = node(&item, names, purpose);
        if !trees && matches!(value, Some(Node::List(_) | Node::Map(_))) {
            item.error("a form field cannot hold a tree", "body_kind = \"form_json\" writes it as JSON text");
        }
        fields.extend(key.zip(value));
    }
    Some(fields)
}

fn node(item: &Item<'_>, names: &Names, purpose: Use) -> Option<Node> {
    match item.value()? {
        DeValue::String(_) => names.template(item, Place::Text, purpose).map(Node::Leaf),
        DeValue::Boolean(on) => Some(Node::Fixed(Json::Bool(*on))),
        DeValue::Integer(_) => item.int(i64::MIN..=i64::MAX).map(|number| Node::Fixed(Json::from(number))),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok().map(|number| Node::Fixed(Json::from(number))),
        DeValue::Array(_) => {
            let list = item.items()?;
            Some(Node::List(list.iter().filter_map(|item| node(item, names, purpose)).collect()))
        }
        DeValue::Table(_) => {
            let mut map = Vec::new();
            for (key, item) in item.section()?.items() {
                let key = names.template_of(&item, &key, Place::Text, purpose);
                map.extend(key.zip(node(&item, names, purpose)));
            }
            Some(Node::Map(map))
        }
        DeValue::Datetime(_) => {
            item.error("a date has no form in a body", "put it in quotes");
            None
        }
    }
}

/// Reads a URL template and takes it apart: what names the host, and the path whose values are segments.
pub(super) fn url(item: &Item<'_>, names: &Names, purpose: Use, is_link: bool) -> Option<Url> {
    let text = item.string()?;
    let text = text.trim();
    let (base, rest) = split_base(text).or_else(|| {
        let hint = "begin with a variable of type url, \"{{ vars.base_url }}/…\", or with https://";
        item.error(format!("`{}` has no address at its beginning", item.label()), hint);
        None
    })?;
    let cut = if is_link { rest.find(['?', '#']).unwrap_or(rest.len()) } else { rest.len() };
    let (path, tail) = rest.split_at(cut);
    check_literal(item, path);
    let base_place = if base.starts_with("{{") { Place::Text } else { Place::Host };
    let base = names.template_of(item, base, base_place, Use::Fixed);
    let path = names.template_of(item, path, Place::Path, purpose);
    // A value after `?` or `#` is encoded the same way as a path segment: safe in both.
    let tail = (!tail.is_empty()).then(|| names.template_of(item, tail, Place::Path, purpose));
    let tail: Option<Template> = match tail {
        Some(read) => Some(read?),
        None => None,
    };
    Some(Url { base: base?, path: path?, tail })
}

/// The base ends before the first `/` of the path; a leading `{{ … }}` is the base in whole.
fn split_base(text: &str) -> Option<(&str, &str)> {
    if text.starts_with("{{") {
        let (base, rest) = text.split_at(text.find("}}")? + 2);
        return (rest.is_empty() || rest.starts_with(['/', '?', '#'])).then_some((base, rest));
    }
    let scheme = if text.starts_with("http://") { "http://" } else { "https://" };
    let after = text.strip_prefix(scheme)?;
    let host = after.find(['/', '?', '#']).unwrap_or(after.len());
    (host > 0).then(|| text.split_at(scheme.len() + host))
}

/// What stands in a path outside of templates goes to the wire as it is.
fn check_literal(item: &Item<'_>, path: &str) {
    let mut rest = path.replace(PATH_SECRET, "");
    for (open, close) in [("{{", "}}"), ("{%", "%}"), ("{#", "#}")] {
        while let Some((from, to)) = rest.find(open).and_then(|at| Some((at, at + rest[at..].find(close)? + 2))) {
            rest.replace_range(from..to, "");
        }
    }
    if rest.contains('?') {
        item.error(format!("`{}` has a query", item.label()), "parameters go into the table `query`");
    } else if let Some(odd) = rest.chars().find(|c| !c.is_ascii_alphanumeric() && !"-._~!$&'()*+,;=:@/%".contains(*c)) {
        item.error(
            format!("`{}` has the character `{odd}`, which a URL cannot hold", item.label()),
            "percent-encode it",
        );
    }
}
