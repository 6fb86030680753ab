//! Credentials join a request here, on its way out, and nowhere else.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value as Json;

use super::{
    multipart,
    request::Rendered,
    scope::{self, Secrets, Vars},
    sign,
};
use crate::catalog::profile::{
    PATH_SECRET,
    model::Auth,
    template::{Unwritable, percent_encoded},
};

/// A request as it goes to the wire. It holds secrets, so it is neither shown nor stored.
pub(super) struct Wire {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    /// Name and password of HTTP Basic.
    pub(super) basic: Option<(String, String)>,
    pub(super) body: Option<String>,
    /// The body with files in their places, where it carries any.
    pub(super) filled: Option<Vec<u8>>,
}

/// What credentials are made of.
#[derive(Clone, Copy)]
pub(super) struct Credentials<'a> {
    pub(super) auth: &'a Auth,
    /// Further headers: name, and the secret's name.
    pub(super) headers: &'a [(String, String)],
    pub(super) vars: &'a Vars,
    pub(super) secrets: &'a Secrets,
    /// The token asked for, where the profile works with one.
    pub(super) token: &'a str,
}

/// What stands for a secret in a text for people.
pub(super) const MASK: &str = "***";

/// Adds the credentials to a request.
///
/// # Errors
/// A template of the credentials cannot be rendered.
pub(super) fn authorize(request: Rendered, with: &Credentials<'_>) -> Result<Wire, Unwritable> {
    let Credentials { auth, headers: further, vars, secrets, token } = *with;
    let secret = |name: &str| secrets.get(name).map(ExposeSecret::expose_secret).unwrap_or_default();
    let Rendered { method, url, headers, body, insets: _ } = request;
    let mut wire = Wire { method, url, headers, basic: None, body, filled: None };
    for (name, from) in further.iter().filter(|(_, from)| !secret(from).is_empty()) {
        wire.headers.push((name.clone(), secret(from).to_owned()));
    }
    match auth {
        Auth::None => {}
        Auth::Header { name, prefix, secret: from } => {
            wire.headers.push((name.clone(), format!("{prefix}{}", secret(from))));
        }
        Auth::Basic { user, password } => {
            let scope = scope::auth(vars, secrets);
            wire.basic = Some((user.text(&scope)?, password.text(&scope)?));
        }
        Auth::Query { name, secret: from } => {
            let separator = if wire.url.contains('?') { '&' } else { '?' };
            let pair = format!("{separator}{}={}", percent_encoded(name), percent_encoded(secret(from)));
            wire.url.push_str(&pair);
        }
        Auth::Path { secret: from } => {
            // Braces cannot come from a value: every value in a URL is percent-encoded.
            wire.url = wire.url.replacen(PATH_SECRET, &percent_encoded(secret(from)), 1);
        }
        Auth::BodyField { name, secret: from } => {
            wire.body = wire.body.map(|body| with_field(&body, name, secret(from)))
        }
        Auth::BodyAt { pointer, secret: from } => {
            wire.body = wire.body.map(|body| with_value(&body, pointer, secret(from)))
        }
        Auth::Hmac(with) => {
            let value = sign::header(&wire, with, vars, secrets)?;
            if value.chars().any(char::is_control) {
                return Err(Unwritable(format!("a control character in the header `{}`", with.name)));
            }
            wire.headers.push((with.name.clone(), value));
        }
        Auth::Token(kind) => wire.headers.push((kind.header.clone(), format!("{}{token}", kind.prefix))),
    }
    Ok(wire)
}

/// Puts one field in front of a rendered body. The body itself stays byte for byte what it was.
fn with_field(body: &str, name: &str, value: &str) -> String {
    match body.strip_prefix('{') {
        Some(rest) => {
            let comma = if rest == "}" { "" } else { "," };
            format!("{{{}:{}{comma}{rest}", Json::from(name), Json::from(value))
        }
        None if body.starts_with('[') => body.to_owned(),
        None => multipart::with_field(body, name, value).unwrap_or_else(|| {
            let and = if body.is_empty() { "" } else { "&" };
            format!("{}={}{and}{body}", percent_encoded(name), percent_encoded(value))
        }),
    }
}

/// Puts a value into a place of a JSON body. The body was written by the same library, so all else stays as it was.
fn with_value(body: &str, pointer: &str, value: &str) -> String {
    let Ok(mut json) = serde_json::from_str::<Json>(body) else { return body.to_owned() };
    if let Some(place) = json.pointer_mut(pointer) {
        *place = Json::from(value);
    }
    json.to_string()
}

/// The secrets with every letter hidden, to show a request to people.
pub(super) fn masked(secrets: &Secrets) -> Secrets {
    secrets.keys().map(|name| (name.clone(), SecretString::from(MASK))).collect()
}

/// Takes secrets out of a text that came from outside: a CRM may well quote the token it refuses.
pub(super) fn redact(text: &str, secrets: &Secrets) -> String {
    let mut text = text.to_owned();
    for secret in secrets.values().map(ExposeSecret::expose_secret) {
        // Shorter ones would take ordinary letters with them, and are no secrets.
        if secret.len() >= 4 {
            text = text.replace(secret, MASK).replace(&percent_encoded(secret), MASK);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::profile::template::{Place, Template};

    fn sent(auth: &Auth, url: &str, body: Option<&str>) -> Wire {
        let request = Rendered {
            method: "POST".into(),
            url: url.into(),
            headers: vec![("accept".into(), "application/json".into())],
            body: body.map(Into::into),
            insets: Vec::new(),
        };
        let secrets = Secrets::from([("key".to_owned(), SecretString::from("se/cr et"))]);
        let vars = Vars::from([("email".to_owned(), Json::from("a@b.ru"))]);
        let headers = [("x-app".to_owned(), "key".to_owned()), ("x-none".to_owned(), "absent".to_owned())];
        let headers = if url.ends_with("/app") { &headers[..] } else { &[] };
        authorize(request, &Credentials { auth, headers, vars: &vars, secrets: &secrets, token: "t0k" })
            .expect("it renders")
    }

    #[test]
    fn each_kind_puts_the_secret_where_the_system_wants_it() {
        let key = || "key".to_owned();
        let header = Auth::Header { name: "x-api-key".into(), prefix: String::new(), secret: key() };
        assert_eq!(sent(&header, "http://h/a", None).headers[1], ("x-api-key".into(), "se/cr et".into()));
        assert_eq!(
            sent(&header, "http://h/app", None).headers[1..],
            [("x-app".into(), "se/cr et".into()), ("x-api-key".into(), "se/cr et".into())]
        );
        let at = Auth::BodyAt { pointer: "/args/1".into(), secret: key() };
        let body = r#"{"args":["{auth}","",[9007199254740993]]}"#;
        let with = r#"{"args":["{auth}","se/cr et",[9007199254740993]]}"#;
        assert_eq!(sent(&at, "http://h/a", Some(body)).body.as_deref(), Some(with));
        let query = Auth::Query { name: "api_token".into(), secret: key() };
        assert_eq!(sent(&query, "http://h/a", None).url, "http://h/a?api_token=se%2Fcr%20et");
        assert_eq!(sent(&query, "http://h/a?b=1", None).url, "http://h/a?b=1&api_token=se%2Fcr%20et");
        let path = Auth::Path { secret: key() };
        assert_eq!(sent(&path, "http://h/rest/1/{auth}/m.json", None).url, "http://h/rest/1/se%2Fcr%20et/m.json");
        let field = Auth::BodyField { name: "api_token".into(), secret: key() };
        assert_eq!(sent(&field, "http://h", Some("a=1")).body.as_deref(), Some("api_token=se%2Fcr%20et&a=1"));
        assert_eq!(
            sent(&field, "http://h", Some("{\"a\":1}")).body.as_deref(),
            Some("{\"api_token\":\"se/cr et\",\"a\":1}")
        );
        assert_eq!(sent(&field, "http://h", Some("{}")).body.as_deref(), Some("{\"api_token\":\"se/cr et\"}"));
        let half = |text: &str| Template::parse(text, Place::Text).expect("it parses");
        let basic = Auth::Basic { user: half("{{ vars.email }}/token"), password: half("{{ secrets.key }}") };
        assert_eq!(sent(&basic, "http://h", None).basic, Some(("a@b.ru/token".into(), "se/cr et".into())));
    }

    #[test]
    fn a_quoted_secret_is_taken_out() {
        let secrets = Secrets::from([("key".to_owned(), SecretString::from("se/cr et"))]);
        assert_eq!(redact("bad token se/cr et (se%2Fcr%20et)", &secrets), "bad token *** (***)");
    }
}
