//! Templates of a profile: text with `{{ names }}`, escaped for the place it goes to.
//!
//! Where a value lands decides how it must be written, and a profile's author must not have to think of it. So a
//! template knows its place from the day it is loaded: in a URL's path every value is one percent-encoded segment, in
//! a host name only host letters pass, and everywhere else the text stays as it is because the encoder of that place
//! (JSON, form, query, header) does the escaping when the request is put together. Query languages inside a value have
//! named filters of their own.

use std::{collections::BTreeSet, fmt, sync::LazyLock};

use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value, value::Serde};

use super::filters;

/// Where a template's values land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A JSON string, a form or query value, a header: escaped by that place's own encoder, not here.
    Text,
    /// The path of a URL: each value becomes exactly one segment.
    Path,
    /// The host of a URL: a value may only hold letters, digits, dots and dashes.
    Host,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Path => "path",
            Self::Host => "host",
        }
    }
}

/// The names a template may use, with their values.
#[derive(Debug, Clone)]
pub struct Scope(Value);

impl Scope {
    /// A scope from anything that serializes as a map of names.
    #[must_use]
    pub fn new(names: &impl serde::Serialize) -> Self {
        Self(Value::from(Serde(names)))
    }
}

/// One template, checked when it was loaded.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    source: String,
    place: Place,
    kind: Kind,
    names: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No template marks at all.
    Literal,
    /// Exactly one `{{ expression }}`, whose value keeps its type.
    Expression,
    /// Anything else; always text.
    Mixed,
}

/// Why a template cannot be used; written for the profile's author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTemplate(pub String);

/// Why a value cannot be written into its place. Names the template, never the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritable(pub String);

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unwritable {}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Template({:?}, {})", self.source, self.place.name())
    }
}

/// How many steps one rendering may take: far more than any request needs, and over in a moment.
const FUEL: u64 = 100_000;

static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = Environment::new();
    engine.set_fuel(Some(FUEL));
    filters::add_to(&mut engine);
    engine.set_auto_escape_callback(|name| match name {
        "path" => AutoEscape::Custom("path".into()),
        "host" => AutoEscape::Custom("host".into()),
        _ => AutoEscape::None,
    });
    engine.set_formatter(|out, state, value| {
        let text = if value.is_undefined() || value.is_none() { String::new() } else { value.to_string() };
        let written = match state.auto_escape() {
            AutoEscape::Custom(place) if place == "path" => path_segment(&text)?,
            AutoEscape::Custom(_) => host_part(&text)?,
            _ => text,
        };
        out.write_str(&written).map_err(Error::from)
    });
    engine
});

/// One path segment: an empty one, `.` and `..` would name another resource, however they are encoded.
fn path_segment(text: &str) -> Result<String, Error> {
    match text {
        "" => Err(Error::new(ErrorKind::InvalidOperation, "a value in the URL's path is empty")),
        "." | ".." => Err(Error::new(ErrorKind::InvalidOperation, "a value in the URL's path is a dot")),
        _ => Ok(percent_encoded(text)),
    }
}

fn host_part(text: &str) -> Result<String, Error> {
    let letters = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
    if letters && !text.is_empty() {
        Ok(text.to_owned())
    } else {
        Err(Error::new(ErrorKind::InvalidOperation, "a value in the URL's host has other characters than a host has"))
    }
}

/// Base64 with padding (RFC 4648, section 4).
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_usize {
            let six = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or(0);
            out.push(if place <= three.len() { char::from(LETTERS[six]) } else { '=' });
        }
    }
    out
}

/// Percent-encodes everything but the unreserved characters of RFC 3986, so that it fits a path segment and a query.
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    out
}

impl Template {
    /// Reads and checks a template.
    ///
    /// # Errors
    /// The syntax is wrong, or it uses an unknown filter.
    pub fn parse(source: &str, place: Place) -> Result<Self, BadTemplate> {
        if !["{{", "{%", "{#"].iter().any(|mark| source.contains(mark)) {
            let kind = Kind::Literal;
            return Ok(Self { source: source.to_owned(), place, kind, names: BTreeSet::new() });
        }
        let parsed = ENGINE.template_from_named_str(place.name(), source).map_err(|error| explain(&error))?;
        let names = parsed.undeclared_variables(true).into_iter().collect();
        let whole = inner(source).is_some_and(|text| ENGINE.compile_expression(text).is_ok());
        let kind = if whole { Kind::Expression } else { Kind::Mixed };
        let template = Self { source: source.to_owned(), place, kind, names };
        template.check_filters()?;
        Ok(template)
    }

    /// The text, where it is the same for every ticket.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        (self.kind == Kind::Literal).then_some(&*self.source)
    }

    /// Reads an expression that is only asked whether it holds.
    ///
    /// # Errors
    /// The syntax is wrong, or it uses an unknown filter.
    pub fn condition(expression: &str) -> Result<Self, BadTemplate> {
        let template = Self::parse(&format!("{{{{ {expression} }}}}"), Place::Text)?;
        if template.kind == Kind::Expression { Ok(template) } else { Err(BadTemplate("not one expression".to_owned())) }
    }

    /// Whether the expression holds: it gives something, and not `false`, 0 or an empty text.
    ///
    /// # Errors
    /// A filter cannot work on a value.
    pub fn holds(&self, scope: &Scope) -> Result<bool, Unwritable> {
        Ok(self.evaluate(scope)?.is_some_and(|value| value.is_true()))
    }

    /// The value of a lone expression; `None` for any other template.
    fn evaluate(&self, scope: &Scope) -> Result<Option<Value>, Unwritable> {
        let Some(expression) = inner(&self.source).filter(|_| self.kind == Kind::Expression) else { return Ok(None) };
        let compiled = ENGINE.compile_expression(expression).and_then(|compiled| compiled.eval(scope.0.clone()));
        compiled.map(Some).map_err(|error| self.unwritable(&error))
    }

    /// Unknown filters only show when a template runs, so it runs once over nothing.
    fn check_filters(&self) -> Result<(), BadTemplate> {
        let nothing = Value::from_pairs(std::iter::empty::<(&str, &str)>());
        match ENGINE.render_named_str("text", &self.source, nothing) {
            Err(error)
                if matches!(error.kind(), ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::OutOfFuel) =>
            {
                Err(explain(&error))
            }
            _ => Ok(()),
        }
    }

    /// The template as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The names it uses, dotted as far as they are written: `vars.base_url`.
    #[must_use]
    pub fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// Whether it is plain text without any name.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.kind == Kind::Literal
    }

    /// Renders to text, escaped for its place.
    ///
    /// # Errors
    /// A value does not fit its place, or a filter cannot work on it.
    pub fn text(&self, scope: &Scope) -> Result<String, Unwritable> {
        if self.is_literal() {
            return Ok(self.source.clone());
        }
        ENGINE
            .render_named_str(self.place.name(), &self.source, scope.0.clone())
            .map_err(|error| self.unwritable(&error))
    }

    /// Renders to a JSON value: one lone `{{ expression }}` keeps its type, all else is text. `None` means "nothing
    /// there": an absent or empty value, which is left out of a body.
    ///
    /// # Errors
    /// A filter cannot work on a value, or the value has no form in JSON.
    pub fn json(&self, scope: &Scope) -> Result<Option<serde_json::Value>, Unwritable> {
        let Some(value) = self.evaluate(scope)? else {
            let text = self.text(scope)?;
            // An empty literal was written on purpose; an empty result was not there.
            return Ok((self.is_literal() || !text.is_empty()).then_some(serde_json::Value::String(text)));
        };
        if value.is_undefined() || value.is_none() || value.len() == Some(0) {
            return Ok(None);
        }
        serde_json::to_value(&value).map(Some).map_err(|_| Unwritable(format!("{} has no form in JSON", self.source)))
    }

    /// The error's own text may quote the value; its kind and our own words do not.
    fn unwritable(&self, error: &Error) -> Unwritable {
        let why = match error.kind() {
            ErrorKind::InvalidOperation => error.detail().filter(|text| text.starts_with("a value in the URL")),
            _ => None,
        };
        Unwritable(format!("{}: {}", self.source, why.map_or_else(|| error.kind().to_string(), ToOwned::to_owned)))
    }
}

/// What stands between the first `{{` and the last `}}`, if the text is nothing else.
fn inner(source: &str) -> Option<&str> {
    source.trim().strip_prefix("{{")?.strip_suffix("}}")
}

fn explain(error: &Error) -> BadTemplate {
    BadTemplate(error.detail().map_or_else(|| error.kind().to_string(), |why| format!("{}: {why}", error.kind())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scope() -> Scope {
        Scope::new(&json!({
            "vars": {"base_url": "http://crm", "id": 7, "sub": "acme", "evil": "a/b", "on": true},
            "subject": "Хочу «скидку»\n100% & more +1",
            "dots": "..",
            "none": null,
            "empty": "",
            "fields": {"topic": "tax"},
        }))
    }

    fn text(source: &str, place: Place) -> Result<String, Unwritable> {
        Template::parse(source, place).expect("it parses").text(&scope())
    }

    #[test]
    fn a_path_value_is_one_segment_whatever_it_holds() {
        assert_eq!(text("/a/{{ vars.evil }}/b", Place::Path).expect("fits"), "/a/a%2Fb/b");
        assert_eq!(
            text("/{{ subject }}", Place::Path).expect("fits"),
            "/%D0%A5%D0%BE%D1%87%D1%83%20%C2%AB%D1%81%D0%BA%D0%B8%D0%B4%D0%BA%D1%83%C2%BB%0A100%25%20%26%20more%20%2B1"
        );
        for source in ["/{{ dots }}", "/{{ empty }}", "/{{ none }}", "/{{ absent }}"] {
            assert!(text(source, Place::Path).is_err(), "{source}");
        }
        // Even marked safe it is escaped: there is no way round.
        assert_eq!(text("/{{ vars.evil | safe }}", Place::Path).expect("fits"), "/a%2Fb");
    }

    #[test]
    fn a_host_takes_host_letters_only() {
        assert_eq!(text("https://{{ vars.sub }}.example", Place::Host).expect("fits"), "https://acme.example");
        assert!(text("https://{{ vars.evil }}.example", Place::Host).is_err());
        assert!(text("https://{{ empty }}.example", Place::Host).is_err());
    }

    #[test]
    fn a_lone_expression_keeps_its_type_and_nothing_is_left_out() {
        let cases = [
            ("{{ vars.id }}", Some(json!(7))),
            ("{{ vars.on }}", Some(json!(true))),
            ("{{ fields }}", Some(json!({"topic": "tax"}))),
            ("n {{ vars.id }}", Some(json!("n 7"))),
            ("{{ absent }}", None),
            ("{{ empty }}", None),
            ("{{ none }}", None),
            ("{{ empty }}{{ none }}", None),
            ("", Some(json!(""))),
            ("{{ [{'id': vars.id}] + [{'id': 8}] }}", Some(json!([{"id": 7}, {"id": 8}]))),
        ];
        for (source, wanted) in cases {
            let template = Template::parse(source, Place::Text).expect("it parses");
            assert_eq!(template.json(&scope()).expect("it renders"), wanted, "{source}");
        }
    }

    #[test]
    fn bad_templates_are_found_when_loading() {
        let endless = "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}";
        assert!(Template::parse(endless, Place::Text).is_err_and(|bad| bad.0.contains("fuel")));
        for source in ["{{ a", "{% if a %}", "{{ a | nosuch }}", "{{ }}", "{{ [a | nosuch] }}"] {
            assert!(Template::parse(source, Place::Text).is_err(), "{source}");
        }
    }

    #[test]
    fn the_names_it_uses_are_known() {
        let template =
            Template::parse("{{ vars.a }}{% if contact.name %}{{ ext.uuid | upper }}{% endif %}", Place::Text)
                .expect("it parses");
        let names: Vec<_> = template.names().iter().map(String::as_str).collect();
        assert_eq!(names, ["contact.name", "ext.uuid", "vars.a"]);
    }

    #[test]
    fn an_error_never_quotes_the_value() {
        let template = Template::parse("{{ subject | int }}", Place::Text).expect("it parses");
        let error = template.text(&scope()).expect_err("words are no number").to_string();
        assert!(!error.contains("скидку"), "{error}");
    }
}
