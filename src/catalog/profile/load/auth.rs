//! Reads `[auth]`: how requests prove who sends them.

use std::time::Duration;

use super::{
    super::{
        model::{Auth, Body, Node, Request, Signing, Source, SourcePlace, TokenAuth},
        path::JsonPath,
        template::{Place, Template},
    },
    answer,
    names::{Names, Use},
    request,
};
use crate::config::reader::Section;

const WORDS: [&str; 13] = [
    "none",
    "bearer",
    "header",
    "basic",
    "query",
    "body_field",
    "body_at",
    "path",
    "oauth2_refresh",
    "oauth2_client_credentials",
    "oauth2_password",
    "session_login",
    "hmac",
];

pub(super) fn auth(root: &Section<'_>, names: &Names) -> Option<Auth> {
    let section = root.table("auth")?;
    let all = WORDS.map(|word| (word, word));
    if !section.has("kind") {
        section.missing("kind", WORDS.join(", "));
    }
    let kind = section.one_of("kind", &all)?;
    let reader = Reader { section: &section, names };
    let auth = match kind {
        "bearer" => reader.secret("secret").map(|secret| Auth::Header {
            name: "authorization".to_owned(),
            prefix: "Bearer ".to_owned(),
            secret,
        }),
        "header" => reader.name("the header's name").zip(reader.secret("secret")).map(|(name, secret)| {
            request::check_header_name(&section, "name", &name);
            Auth::Header {
                name: name.to_ascii_lowercase(),
                prefix: section.string("prefix").unwrap_or_default(),
                secret,
            }
        }),
        "basic" => reader.basic(&section).map(|(user, password)| Auth::Basic { user, password }),
        "query" => reader
            .name("the parameter's name")
            .zip(reader.secret("secret"))
            .map(|(name, secret)| Auth::Query { name, secret }),
        "body_field" => reader
            .name("the field's name")
            .zip(reader.secret("secret"))
            .map(|(name, secret)| Auth::BodyField { name, secret }),
        "body_at" => {
            reader.pointer().zip(reader.secret("secret")).map(|(pointer, secret)| Auth::BodyAt { pointer, secret })
        }
        "path" => reader.secret("secret").map(|secret| Auth::Path { secret }),
        "none" => Some(Auth::None),
        "hmac" => reader.signing().map(|signing| Auth::Hmac(Box::new(signing))),
        token => reader.token(token).map(|token| Auth::Token(Box::new(token))),
    };
    // Read with the section it belongs to, kept beside the kind: see `headers`.
    let _ = section.take("headers");
    section.finish();
    auth
}

/// Further headers that carry secrets, whatever the kind: `headers = { App-Token = "app_token" }`.
pub(super) fn headers(root: &Section<'_>, names: &Names) -> Vec<(String, String)> {
    let Some(section) = root.table("auth").and_then(|auth| auth.table("headers")) else { return Vec::new() };
    let mut headers = Vec::new();
    for (name, item) in section.items() {
        request::check_header_name(&section, &name, &name);
        if let Some(secret) = item.string() {
            names.use_secret(&item, &secret);
            headers.push((name.to_ascii_lowercase(), secret));
        }
    }
    headers
}

struct Reader<'a> {
    section: &'a Section<'a>,
    names: &'a Names,
}

impl Reader<'_> {
    fn name(&self, what: &str) -> Option<String> {
        self.section.required_string("name", what)
    }

    fn secret(&self, key: &str) -> Option<String> {
        let Some(item) = self.section.take(key) else {
            self.section.missing(key, "the name of a secret declared under [secrets]");
            return None;
        };
        let secret = item.string()?;
        self.names.use_secret(&item, &secret);
        Some(secret)
    }

    fn pointer(&self) -> Option<String> {
        let text = self.section.required_string("pointer", "a place in the JSON body, such as \"/params/args/2\"")?;
        if !text.starts_with('/') {
            self.section.error("pointer", format!("`{text}` is no JSON pointer"), "it begins with `/`");
        }
        Some(text)
    }

    fn basic(&self, section: &Section<'_>) -> Option<(Template, Template)> {
        let half = |key: &str| {
            let item = section.take(key);
            if item.is_none() {
                section.missing(key, "a template over vars and secrets");
            }
            self.names.template(&item?, Place::Text, Use::Auth)
        };
        half("user").zip(half("password"))
    }

    fn signing(&self) -> Option<Signing> {
        let half = |key: &str, what: &str, purpose: Use| {
            let item = self.section.take(key);
            if item.is_none() {
                self.section.missing(key, what);
            }
            self.names.template(&item?, Place::Text, purpose)
        };
        let sign = half("sign", "\"{{ request.method }} {{ request.path }}\"", Use::Sign);
        let value = half("value", "\"{{ signature.hex }}\"", Use::Signed);
        if value.as_ref().is_some_and(|value| !value.names().iter().any(|name| name.starts_with("signature."))) {
            self.section.error("value", "the header does not carry the signature", "{{ signature.hex }} or .base64");
        }
        let name = self.name("the header's name")?;
        request::check_header_name(self.section, "name", &name);
        Some(Signing { name: name.to_ascii_lowercase(), secret: self.secret("secret")?, sign: sign?, value: value? })
    }

    fn template(&self, key: &str) -> Option<Template> {
        self.names.template(&self.section.take(key)?, Place::Text, Use::Token)
    }

    /// OAuth2 in its three machine kinds and a session's login: one request that gives a token.
    fn token(&self, kind: &str) -> Option<TokenAuth> {
        let section = self.section;
        let refreshes = kind == "oauth2_refresh";
        let first_refresh = if refreshes { Some(self.secret("refresh_secret")?) } else { None };
        let request = if kind == "session_login" {
            request::request(section, self.names, Use::Token)?
        } else {
            self.grant(kind)?
        };
        let basic = section.table("basic").and_then(|basic| {
            let pair = self.basic(&basic);
            basic.finish();
            pair
        });
        let list = |key: &str, usual: &str| match section.take(key) {
            Some(item) => answer::sources(item, self.names, Use::Fixed),
            None => usual_path(usual),
        };
        let (token, expires_in) = (list("token", "access_token"), list("expires_in", "expires_in"));
        let refresh = if refreshes { list("refresh", "refresh_token") } else { Vec::new() };
        let base_url = section.take("base_url").map(|item| answer::sources(item, self.names, Use::Fixed));
        let base_hosts = section.strings("base_hosts").unwrap_or_default();
        if base_url.is_some() && base_hosts.is_empty() {
            let hint = "base_hosts = [\".salesforce.com\"]: the token goes nowhere else";
            section.missing("base_hosts", hint);
        }
        let odd =
            base_hosts.iter().find(|host| host.trim_start_matches('.').is_empty() || host.contains(['/', ':', '*']));
        if let Some(odd) = odd {
            section.error("base_hosts", format!("`{odd}` is no host"), "a whole name, or its end with a dot before it");
        }
        let header = section.string("header").unwrap_or_else(|| "authorization".to_owned());
        request::check_header_name(section, "header", &header);
        let prefix =
            section.string("prefix").unwrap_or_else(|| if kind == "session_login" { "" } else { "Bearer " }.to_owned());
        let (minute, year) = (Duration::from_secs(60), Duration::from_secs(366 * 86_400));
        let lifetime = section.duration("lifetime", minute..=year).unwrap_or(minute * 30);
        let margin = section.duration("margin", Duration::ZERO..=year).unwrap_or(minute);
        if margin >= lifetime {
            section.error(
                "margin",
                "the token would be renewed before it is used",
                "a margin shorter than the lifetime",
            );
        }
        let relogin = answer::endings(section, self.names);
        let header = header.to_ascii_lowercase();
        let base_url = base_url.unwrap_or_default();
        Some(TokenAuth {
            request,
            basic,
            first_refresh,
            token,
            expires_in,
            refresh,
            base_url,
            base_hosts,
            header,
            prefix,
            lifetime,
            margin,
            relogin,
        })
    }

    /// The usual form of a token request; empty fields are left out.
    fn grant(&self, kind: &str) -> Option<Request> {
        let section = self.section;
        let Some(url) = section.take("token_url") else {
            section.missing("token_url", "the address that gives tokens");
            return None;
        };
        let url = request::url(&url, self.names, Use::Token, false)?;
        let json = section.one_of("body_kind", &[("form", false), ("json", true)]).unwrap_or(false);
        let fixed = |text: &str| Template::parse(text, Place::Text).ok();
        let mut fields = Vec::new();
        let mut put = |name: &str, value: Option<Template>| {
            fields.extend(fixed(name).zip(value.map(Node::Leaf)));
        };
        let (word, keys): (&str, &[&str]) = match kind {
            "oauth2_refresh" => ("refresh_token", &["client_id", "client_secret", "redirect_uri"]),
            "oauth2_password" => ("password", &["client_id", "client_secret", "username", "password", "scope"]),
            _ => ("client_credentials", &["client_id", "client_secret", "scope", "audience"]),
        };
        put("grant_type", fixed(word));
        keys.iter().for_each(|key| put(key, self.template(key)));
        if kind == "oauth2_refresh" {
            put("refresh_token", fixed("{{ token.refresh }}"));
        }
        let body = if json { Body::Json(Node::Map(fields)) } else { Body::Form(fields) };
        let method = "POST".to_owned();
        Some(Request {
            method,
            url,
            query: Vec::new(),
            query_json: None,
            headers: Vec::new(),
            body,
            timeout: section.duration("timeout", request::TIMEOUTS),
        })
    }
}

fn usual_path(text: &str) -> Vec<Source> {
    let path = JsonPath::parse(text).ok();
    path.map(|path| Source { place: SourcePlace::Path(path), regex: None }).into_iter().collect()
}
