//! How a request proves who sends it.

use std::time::Duration;

use super::{Request, Source};
use crate::catalog::profile::{rule::Rule, template::Template};

/// How a request proves who sends it. Secrets are put in when it is sent, never before.
#[derive(Debug, Clone, PartialEq)]
pub enum Auth {
    /// Not at all.
    None,
    /// A header, `prefix` before the secret: bearer tokens and API keys.
    Header { name: String, prefix: String, secret: String },
    /// HTTP Basic; both are templates over `vars` and `secrets`.
    Basic { user: Template, password: Template },
    /// A query parameter.
    Query { name: String, secret: String },
    /// A field of the body.
    BodyField { name: String, secret: String },
    /// A place inside a JSON body, as a JSON pointer: `/params/args/2`.
    BodyAt { pointer: String, secret: String },
    /// A segment of the URL's path, where the profile writes `{auth}`.
    Path { secret: String },
    /// A header with a signature over the request.
    Hmac(Box<Signing>),
    /// A token that is asked for, kept in the database and renewed.
    Token(Box<TokenAuth>),
}

/// A signature over each request: HMAC-SHA256 under a secret.
#[derive(Debug, Clone, PartialEq)]
pub struct Signing {
    /// The header that carries it, in lower case.
    pub name: String,
    /// The secret that signs.
    pub secret: String,
    /// The text that is signed; its templates see `request.method`, `.path`, `.query`, `.body`.
    pub sign: Template,
    /// What the header says; its templates see `signature.hex` and `signature.base64`.
    pub value: Template,
}

/// A token that is asked for: OAuth2 and session logins.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenAuth {
    /// Asks for a token; its templates see `vars`, `secrets` and `token.refresh`.
    pub request: Request,
    /// HTTP Basic for that request, where the CRM wants it.
    pub basic: Option<(Template, Template)>,
    /// The secret that holds the first refresh token; later ones come with each answer and are kept.
    pub first_refresh: Option<String>,
    /// Where the answer holds the token.
    pub token: Vec<Source>,
    /// Where it says for how many seconds.
    pub expires_in: Vec<Source>,
    /// Where it holds the next refresh token.
    pub refresh: Vec<Source>,
    /// Where it names the address of the API (Salesforce `instance_url`, Zoho `api_domain`): `token.base_url` in requests.
    pub base_url: Vec<Source>,
    /// Ends of host names such an address may have, `.salesforce.com`: nothing else is ever sent a token.
    pub base_hosts: Vec<String>,
    /// The header that carries the token.
    pub header: String,
    /// What stands before the token in it.
    pub prefix: String,
    /// How long a token lives where the answer does not say.
    pub lifetime: Duration,
    /// How long before its end it is renewed.
    pub margin: Duration,
    /// Answers beside 401 that mean "this token has ended and nothing was done".
    pub relogin: Vec<Rule>,
}
