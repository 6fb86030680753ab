//! From an order to the bytes of a request: pure, and the same bytes for the same order.
//!
//! What is prepared is stored beside the attempt, so that a repeat under the same key is byte for byte what the CRM
//! saw before, whatever became of the profile in between. It therefore holds no secret: those join on the way out,
//! in [`super::auth`].

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{
    catalog::profile::{
        model::{Body, Node, Request, Url},
        template::{Scope, Template, Unwritable, percent_encoded},
    },
    ids::{ExternalKey, Marker},
};

/// One create, ready to be sent as often as need be.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// The profile's step this is.
    pub step: String,
    /// Our key, to compare with what the CRM gives back.
    pub key: ExternalKey,
    /// The short code in the ticket's text.
    pub marker: Marker,
    /// `POST`, …
    pub method: String,
    /// Where it goes, with its query; `{auth}` stands where a secret goes into the path.
    pub url: String,
    /// Headers, names in lower case, without credentials.
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl fmt::Debug for Prepared {
    /// Without the answers of the person: only how much there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split('?').next().unwrap_or_default();
        let bytes = self.body.as_ref().map_or(0, String::len);
        write!(f, "Prepared({} {} {url}, {bytes} bytes, key {})", self.step, self.method, self.key)
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

/// A rendered request without secrets.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Rendered {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
}

/// Renders a request over a scope; `fixed` is the scope of what is the same for every request, the host.
///
/// # Errors
/// A value does not fit its place.
pub(super) fn render(request: &Request, fixed: &Scope, scope: &Scope) -> Result<Rendered, PrepareError> {
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
    let mut headers = Vec::new();
    for (name, value) in &request.headers {
        let value = value.text(scope)?;
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(PrepareError(format!("a line break or control character in the header `{name}`")));
        }
        if !value.is_empty() {
            headers.push((name.clone(), value));
        }
    }
    let (body, kind) = match &request.body {
        Body::None => (None, None),
        Body::Json(node) => (Some(json(node, scope)?.to_string()), Some("application/json")),
        Body::Form(fields) => (Some(form(fields, scope)?), Some("application/x-www-form-urlencoded")),
    };
    let mut standard = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|_| !headers.iter().any(|(known, _)| known == name)) {
            headers.push((name.to_owned(), value.to_owned()));
        }
    };
    standard("content-type", kind);
    standard("accept", Some("application/json"));
    Ok(Rendered { method: request.method.clone(), url, headers, body })
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
        let value = match tree(node, scope)? {
            None => continue,
            Some(Json::String(value)) => value,
            Some(other) => other.to_string(),
        };
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(&percent_encoded(&field_name(name, scope)?));
        text.push('=');
        text.push_str(&percent_encoded(&value));
    }
    Ok(text)
}

fn field_name(name: &Template, scope: &Scope) -> Result<String, PrepareError> {
    let text = name.text(scope)?;
    if text.is_empty() { Err(PrepareError(format!("{}: a field without a name", name.source()))) } else { Ok(text) }
}
