//! One HTTP exchange with the CRM, and what its ending proves about the request.
//!
//! Only two endings prove that nothing was sent: the request could not be built, or the connection (name, TCP, TLS)
//! did not come about. Everything else may have reached the CRM. So that this stays sharp: no redirects (a 307 would
//! send the create twice), no retries of any layer below, no reuse of an idle connection (a server that closes it
//! while we write makes the proof impossible), and a connect limit well below the whole limit, so that a dead host
//! shows as "not connected" and never as "maybe".

use std::{error::Error, time::Duration};

use reqwest::{
    Client, Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use super::{answer::Answer, auth::Wire};

/// The longest answer read; a longer one is not an answer of a CRM to one ticket.
const LONGEST_BODY: usize = 1 << 20;

/// How an exchange ended.
#[derive(Debug, Clone)]
pub(super) enum Heard {
    /// A whole answer.
    Answer(Answer),
    /// Provably nothing was sent.
    NotSent(String),
    /// The request may have been carried out.
    Lost(String),
}

/// The HTTP client of one CRM.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    client: Client,
}

impl Transport {
    /// A client with its limits.
    ///
    /// # Errors
    /// The TLS library cannot start.
    pub(super) fn new(connect: Duration, total: Duration) -> Result<Self, String> {
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .http1_only()
            .pool_max_idle_per_host(0)
            .connect_timeout(connect)
            .timeout(total)
            .user_agent(concat!("zayavka/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| chain(&error))?;
        Ok(Self { client })
    }

    /// Sends one request and reads its answer to the end, within `limit` where that is another time than the usual one.
    pub(super) async fn exchange(&self, wire: Wire, limit: Option<Duration>) -> Heard {
        let mut request = match self.build(wire) {
            Ok(request) => request,
            Err(why) => return Heard::NotSent(why),
        };
        if limit.is_some() {
            *request.timeout_mut() = limit;
        }
        match self.client.execute(request).await {
            Ok(response) => read(response).await,
            Err(error) => ending(error),
        }
    }

    fn build(&self, wire: Wire) -> Result<reqwest::Request, String> {
        let Wire { method, url, headers, basic, body, filled } = wire;
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| "a method HTTP does not know".to_owned())?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let bad = || format!("the header `{name}` cannot be written");
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            map.append(key, HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad())?);
        }
        let mut request = self.client.request(method, url).headers(map);
        if let Some((user, password)) = basic {
            request = request.basic_auth(user, Some(password));
        }
        if let Some(filled) = filled {
            request = request.body(filled);
        } else if let Some(body) = body {
            request = request.body(body);
        }
        request.build().map_err(|error| chain(&error.without_url()))
    }
}

/// The measured table: builder and connect errors come before the first byte, nothing else is known to.
fn ending(error: reqwest::Error) -> Heard {
    let error = error.without_url();
    let detail = chain(&error);
    if error.is_builder() || error.is_connect() { Heard::NotSent(detail) } else { Heard::Lost(detail) }
}

/// Reads the body in pieces: the CRM decides neither how much memory it takes nor how long it lasts.
async fn read(mut response: reqwest::Response) -> Heard {
    let status = response.status().as_u16();
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = response.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if body.len() + piece.len() <= LONGEST_BODY => body.extend_from_slice(&piece),
            Ok(Some(_)) => return Heard::Lost(format!("HTTP {status}, then more than {LONGEST_BODY} bytes")),
            Ok(None) => return Heard::Answer(Answer::new(status, headers, body)),
            Err(error) => return Heard::Lost(format!("HTTP {status}, then {}", chain(&error.without_url()))),
        }
    }
}

/// An error with its causes, which is where the reason stands.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}
