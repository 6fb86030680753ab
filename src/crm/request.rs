//! From an order to the bytes of a request: pure, and the same bytes for the same order.
//!
//! What is prepared is stored beside the attempt, so that a repeat under the same key is byte for byte what the CRM
//! saw before, whatever became of the profile in between. It therefore holds no secret: those join on the way out,
//! in `auth`.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    files::Inset,
    multipart::{self, Carried, Part},
};
use crate::{
    catalog::profile::{
        model::{Body, Node, Request, Url},
        template::{Scope, Template, Unwritable, percent_encoded},
    },
    domain::ticket::TicketOrder,
    ids::{ExternalKey, Marker},
};

/// One create, ready to be sent as often as need be.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Our key, to compare with what the CRM gives back.
    pub key: ExternalKey,
    /// The short code in the ticket's text.
    pub marker: Marker,
    /// What is sent.
    #[serde(flatten)]
    pub plan: Plan,
}

/// What a create sends.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// One request, byte for byte.
    Request {
        /// The profile's step this is.
        step: String,
        /// The request.
        #[serde(flatten)]
        request: Rendered,
    },
    /// Several steps over one frozen order: each is rendered when its turn comes and stored before it is sent.
    Steps(Box<TicketOrder>),
}

impl fmt::Debug for Prepared {
    /// Without the answers of the person: only how much there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.plan {
            Plan::Request { step, request } => write!(f, "Prepared({step} {request:?}, key {})", self.key),
            Plan::Steps(_) => write!(f, "Prepared(several steps, key {})", self.key),
        }
    }
}

/// A rendered request without secrets; `{auth}` stands where a secret goes into the path.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rendered {
    /// `POST`, …
    pub method: String,
    /// Where it goes, with its query.
    pub url: String,
    /// Headers, names in lower case, without credentials.
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Files that take their marks' places in the body when it is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub insets: Vec<Inset>,
}

impl fmt::Debug for Rendered {
    /// Without the answers of the person: only how much there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split('?').next().unwrap_or_default();
        let bytes = self.body.as_ref().map_or(0, String::len);
        write!(f, "{} {url}, {bytes} bytes", self.method)
    }
}

/// An order that cannot be put into a request. Names the place in the profile, never the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrepareError(pub String);

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the order does not fit the CRM profile: {}", self.0)
    }
}

impl std::error::Error for PrepareError {}

impl From<Unwritable> for PrepareError {
    fn from(error: Unwritable) -> Self {
        Self(error.0)
    }
}

/// Renders a request over a scope; `fixed` is the scope of what is the same for every request, the host.
///
/// # Errors
/// A value does not fit its place.
pub(super) fn render(request: &Request, fixed: &Scope, scope: &Scope) -> Result<Rendered, PrepareError> {
    with(request, fixed, scope, None, Vec::new())
}

/// Renders the request for one file.
///
/// # Errors
/// A value does not fit its place.
pub(super) fn render_file(
    request: &Request,
    fixed: &Scope,
    scope: &Scope,
    file: &Carried<'_>,
) -> Result<Rendered, PrepareError> {
    with(request, fixed, scope, Some(file), Vec::new())
}

/// Renders a request with further parts; where there are any, its own fields become parts too.
///
/// # Errors
/// A value does not fit its place.
pub(super) fn render_with(
    request: &Request,
    fixed: &Scope,
    scope: &Scope,
    more: Vec<Part<'_>>,
) -> Result<Rendered, PrepareError> {
    with(request, fixed, scope, None, more)
}

fn with<'a>(
    request: &Request,
    fixed: &Scope,
    scope: &Scope,
    file: Option<&Carried<'a>>,
    more: Vec<Part<'a>>,
) -> Result<Rendered, PrepareError> {
    let mut url = address(&request.url, fixed, scope)?;
    let mut separator = '?';
    for (name, value) in &request.query {
        let value = value.text(scope)?;
        if !value.is_empty() {
            url.push(separator);
            url.push_str(&percent_encoded(&name.text(scope)?));
            url.push('=');
            url.push_str(&percent_encoded(&value));
            separator = '&';
        }
    }
    if let Some(document) = &request.query_json {
        url.push('?');
        url.push_str(&percent_encoded(&json(document, scope)?.to_string()));
    }
    let mut headers = Vec::new();
    for (name, value) in &request.headers {
        let value = one_line(&value.text(scope)?);
        if !value.is_empty() {
            headers.push((name.clone(), value));
        }
    }
    let (body, kind) = match &request.body {
        body if !more.is_empty() || matches!(body, Body::Multipart(_)) => {
            let mut all = parts(body, scope, file)?;
            all.extend(more);
            let (body, kind) = multipart::written(&all);
            (Some(body), Some(kind))
        }
        Body::None | Body::Multipart(_) => (None, None),
        Body::Json(node) => (Some(json(node, scope)?.to_string()), Some("application/json".to_owned())),
        Body::Form(fields) => (Some(form(fields, scope)?), Some("application/x-www-form-urlencoded".to_owned())),
        Body::File => (file.map(|file| file.mark.to_owned()), file.map(|file| file.mime.to_owned())),
    };
    let mut standard = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|_| !headers.iter().any(|(known, _)| known == name)) {
            headers.push((name.to_owned(), value.to_owned()));
        }
    };
    standard("content-type", kind.as_deref());
    standard("accept", Some("application/json"));
    Ok(Rendered { method: request.method.clone(), url, headers, body, insets: Vec::new() })
}

/// A value as a header can hold it: a line break would end the header, so that it and other control characters are a
/// space (RFC 9110, section 5.5), and none stands at either end.
fn one_line(text: &str) -> String {
    text.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// A body as parts: of a form whose fields hold trees as JSON text those stay so, all other trees are taken apart.
fn parts<'a>(body: &Body, scope: &Scope, file: Option<&Carried<'a>>) -> Result<Vec<Part<'a>>, PrepareError> {
    let mut all = Vec::new();
    match body {
        Body::None | Body::File => {}
        Body::Json(node) => {
            if let Json::Object(map) = json(node, scope)? {
                map.into_iter().for_each(|(name, value)| multipart::flatten(name, value, file, &mut all));
            }
        }
        Body::Form(fields) => {
            for (name, node) in fields {
                if let Some(value) = tree(node, scope)? {
                    all.push(Part::new(field_name(name, scope)?, form_text(value), file));
                }
            }
        }
        Body::Multipart(fields) => {
            for (name, node) in fields {
                if let Some(value) = tree(node, scope)? {
                    multipart::flatten(field_name(name, scope)?, value, file, &mut all);
                }
            }
        }
    }
    Ok(all)
}

/// A URL from its two or three parts.
pub(super) fn address(url: &Url, fixed: &Scope, scope: &Scope) -> Result<String, PrepareError> {
    let mut text = url.base.text(fixed)?;
    text.push_str(&url.path.text(scope)?);
    if let Some(tail) = &url.tail {
        text.push_str(&tail.text(scope)?);
    }
    Ok(text)
}

/// A body's root is there even when everything in it was left out.
fn json(node: &Node, scope: &Scope) -> Result<Json, PrepareError> {
    let empty = if matches!(node, Node::List(_)) { Json::Array(Vec::new()) } else { Json::Object(Map::new()) };
    Ok(tree(node, scope)?.unwrap_or(empty))
}

/// A tree with its values; `None` where there was nothing to say. What is empty in the file stays: it was meant.
fn tree(node: &Node, scope: &Scope) -> Result<Option<Json>, PrepareError> {
    match node {
        Node::Leaf(template) => Ok(template.json(scope)?),
        Node::Fixed(value) => Ok(Some(value.clone())),
        Node::List(nodes) => {
            let mut list = Vec::new();
            for node in nodes {
                list.extend(tree(node, scope)?);
            }
            Ok((nodes.is_empty() || !list.is_empty()).then_some(Json::Array(list)))
        }
        Node::Map(nodes) => {
            let mut map = Map::new();
            for (name, node) in nodes {
                if let Some(value) = tree(node, scope)? {
                    map.insert(field_name(name, scope)?, value);
                }
            }
            Ok((nodes.is_empty() || !map.is_empty()).then_some(Json::Object(map)))
        }
    }
}

fn form(fields: &[(Template, Node)], scope: &Scope) -> Result<String, PrepareError> {
    let mut text = String::new();
    for (name, node) in fields {
        let Some(value) = tree(node, scope)?.map(form_text) else { continue };
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(&percent_encoded(&field_name(name, scope)?));
        text.push('=');
        text.push_str(&percent_encoded(&value));
    }
    Ok(text)
}

/// A tree goes into a form's field as JSON text.
fn form_text(value: Json) -> String {
    match value {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

fn field_name(name: &Template, scope: &Scope) -> Result<String, PrepareError> {
    let text = name.text(scope)?;
    if text.is_empty() { Err(PrepareError(format!("{}: a field without a name", name.source()))) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::profile;

    /// Renders the create request `request` of an otherwise plain profile, over these names.
    fn rendered(request: &str, names: &Json) -> Result<Rendered, PrepareError> {
        let text = format!(
            "auth.kind = \"none\"\nnumber.pattern = \"[0-9]+\"\n[profile]\nname = \"t\"\nsystem = \"T\"\npromise = \"blind\"\n\
             [vars.base_url]\ntype = \"url\"\nhelp = \"h\"\n[vars.field]\ntype = \"int\"\ndefault = 5\nhelp = \"h\"\n\
             [[step]]\nname = \"create\"\nread.id = \"id\"\noutcome = [{{ status = 201, is = \"created\" }}]\n\
             [step.request]\nurl = \"{{{{ vars.base_url }}}}/t\"\n{request}\n"
        );
        let (profile, _) = profile::load("t.toml", &text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        let scope = Scope::new(names);
        render(&profile.steps[0].request, &scope, &scope)
    }

    fn names() -> Json {
        json!({
            "vars": {"base_url": "http://crm", "field": 5}, "marker": "Z-1",
            "subject": "a&b=c +%?#/«é»\r\nX-Evil: 1", "body": "тело",
            "contact": {"name": "Анна"}, "fields": {"12": "x", "topic": "tax"},
        })
    }

    #[test]
    fn empty_values_are_left_out_at_every_depth_and_written_emptiness_stays() {
        let request = r#"
            [step.request.body]
            a = "{{ contact.phone }}"
            b = { c = "{{ contact.email }}", d = ["{{ contact.email }}", { e = "{{ contact.phone }}" }] }
            list = ["{{ contact.name }}", "{{ contact.phone }}", 1, true]
            meant = ""
            also = { nothing = {}, none = [] }
            "cf_{{ vars.field }}" = "{{ vars.field }}"
            text = "{{ marker }} {{ body }}"
            pairs = "{{ fields | pairs('id', 'value', true) }}"
        "#;
        let body = rendered(request, &names()).expect("it fits").body.expect("a body");
        let wanted = json!({
            "list": ["Анна", 1, true], "meant": "", "also": {"nothing": {}, "none": []}, "cf_5": 5, "text": "Z-1 тело",
            "pairs": [{"id": 12, "value": "x"}, {"id": "topic", "value": "tax"}],
        });
        assert_eq!(serde_json::from_str::<Json>(&body).expect("JSON"), wanted);
        let nothing = rendered(
            "body = { a = \"{{ contact.phone }}\", m = \"{{ contact.email }}{{ body | chars(0) }}\" }",
            &names(),
        );
        assert_eq!(nothing.expect("it fits").body.as_deref(), Some("{}"));
    }

    #[test]
    fn each_body_kind_is_written_as_its_system_reads_it() {
        let body = |request: &str| {
            let rendered = rendered(request, &names()).expect("it fits");
            (rendered.headers[0].1.clone(), rendered.body.unwrap_or_default())
        };
        let json = "application/json".to_owned();
        let form = "application/x-www-form-urlencoded".to_owned();
        assert_eq!(
            body("body_kind = \"json_array\"\nbody = { b = \"{{ body }}\" }"),
            (json.clone(), "[{\"b\":\"тело\"}]".into())
        );
        assert_eq!(
            body("body_kind = \"json_array\"\n[[step.request.body]]\nb = \"{{ body }}\""),
            (json, "[{\"b\":\"тело\"}]".into())
        );
        assert_eq!(
            body(
                "body_kind = \"form\"\nbody = { \"f[{{ vars.field }}]\" = \"{{ subject }}\", e = \"{{ contact.email }}\", m = \"{{ marker }}\" }"
            ),
            (form.clone(), "f%5B5%5D=a%26b%3Dc%20%2B%25%3F%23%2F%C2%AB%C3%A9%C2%BB%0D%0AX-Evil%3A%201&m=Z-1".into())
        );
        assert_eq!(
            body(
                "body_kind = \"form_json\"\nbody = { order = { t = \"{{ marker }}\", e = \"{{ contact.email }}\" }, site = \"x\" }"
            ),
            (form, "order=%7B%22t%22%3A%22Z-1%22%7D&site=x".into())
        );
        let typed = rendered(
            "headers = { content-type = \"application/vnd.api+json\" }\nbody = { m = \"{{ marker }}\" }",
            &names(),
        );
        let headers = typed.expect("it fits").headers;
        assert_eq!(
            headers,
            [
                ("content-type".to_owned(), "application/vnd.api+json".to_owned()),
                ("accept".into(), "application/json".into())
            ]
        );
    }

    #[test]
    fn a_value_cannot_leave_its_place() {
        let query = rendered(
            "query = { q = \"{{ subject }}\", none = \"{{ contact.phone }}\" }\nbody = { m = \"{{ marker }}\" }",
            &names(),
        );
        assert_eq!(
            query.expect("it fits").url,
            "http://crm/t?q=a%26b%3Dc%20%2B%25%3F%23%2F%C2%AB%C3%A9%C2%BB%0D%0AX-Evil%3A%201"
        );
        for (evil, header) in [
            ("a\r\nX-Evil: 1", "a X-Evil: 1"),
            ("a\nb", "a b"),
            ("a\0b", "a b"),
            ("a\u{7f}", "a"),
            ("\tдва слова\t\t", "два слова"),
        ] {
            let mut names = names();
            names["subject"] = evil.into();
            let request =
                rendered("headers = { X-Subject = \"{{ subject }}\" }\nbody = { m = \"{{ marker }}\" }", &names);
            let headers = request.expect("it fits").headers;
            assert_eq!(headers[0], ("x-subject".to_owned(), header.to_owned()), "{evil:?}");
        }
    }

    #[test]
    fn what_is_shown_of_a_prepared_request_holds_no_answers() {
        let key = ExternalKey(uuid::Uuid::nil());
        let request = Rendered {
            method: "POST".into(),
            url: "http://crm/t?phone=%2B7999".into(),
            headers: vec![("x-name".into(), "Анна".into())],
            body: Some("Анна".into()),
            insets: Vec::new(),
        };
        let plan = Plan::Request { step: "create".into(), request };
        let prepared = Prepared { key, marker: Marker::of(key), plan };
        let shown = format!("{prepared:?}");
        assert!(
            shown.contains("POST http://crm/t, 8 bytes") && !shown.contains("Анна") && !shown.contains("7999"),
            "{shown}"
        );
    }
}
