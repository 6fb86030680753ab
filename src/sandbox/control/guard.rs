//! Keeps other sites out: a page in the same browser must not steer the sandbox, not even under a borrowed name.

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::Trouble;

/// Lets through what was addressed to a loopback name and does not come from another origin.
pub(super) async fn only_local(request: Request, next: Next) -> Response {
    match refusal(request.headers()) {
        None => next.run(request).await,
        Some(words) => Trouble { status: StatusCode::FORBIDDEN, words: words.to_owned() }.into_response(),
    }
}

fn refusal(headers: &HeaderMap) -> Option<&'static str> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST).unwrap_or_default();
    if !is_loopback(host) {
        return Some("the sandbox answers only under a loopback name, such as 127.0.0.1 or localhost");
    }
    let origin = text(header::ORIGIN)?;
    let same = origin.strip_prefix("http://").is_some_and(|origin| origin.eq_ignore_ascii_case(host));
    (!same).then_some("the sandbox answers only its own page, not a page of another origin")
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        refusal(&headers).is_some()
    }

    #[test]
    fn only_the_sandbox_itself_gets_in() {
        assert!(!refused("127.0.0.1:8088", None));
        assert!(!refused("localhost:8088", Some("http://localhost:8088")));
        assert!(!refused("[::1]:8088", Some("http://[::1]:8088")));
        assert!(refused("rebound.example:8088", None));
        assert!(refused("127.0.0.1.example:8088", None));
        assert!(refused("127.0.0.1:8088", Some("http://127.0.0.1:9999")));
        assert!(refused("127.0.0.1:8088", Some("https://127.0.0.1:8088")));
        assert!(refused("127.0.0.1:8088", Some("null")));
        assert!(refused("", None));
    }
}
