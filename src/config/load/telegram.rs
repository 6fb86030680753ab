//! `[telegram]`: the bot, and how its updates come.

use std::{net::IpAddr, time::Duration};

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use super::secret::secret;
use crate::{
    config::{
        reader::Section,
        settings::{Receive, Telegram, Webhook},
    },
    ids::BotId,
};

const OFFICIAL: &str = "https://api.telegram.org";
/// Ports the official Bot API server brings updates to.
const PORTS: [u16; 4] = [443, 80, 88, 8443];

#[derive(Clone, Copy)]
enum How {
    Polling,
    Webhook,
}

/// The section; what is wrong in it is recorded, and something harmless stands in its place.
pub(super) fn read(root: &Section<'_>) -> Telegram {
    let section = root.table_or_empty("telegram");
    let token = token(&section);
    let api_url = api_url(&section);
    let how = section.one_of("receive", &[("polling", How::Polling), ("webhook", How::Webhook)]);
    let webhook = section.table_or_empty("webhook");
    let receive = match how {
        Some(How::Webhook) => self::webhook(&webhook, &api_url).map(Receive::Webhook),
        // Not in use: its values may be anything, its keys must still be right.
        _ => {
            for key in ["url", "secret_token", "secret_token_file"] {
                let _ = webhook.take(key);
            }
            let _ = (max_connections(&webhook), webhook.bool("register"));
            Some(Receive::Polling)
        }
    };
    webhook.finish();
    let range = Duration::from_millis(100)..=Duration::from_secs(300);
    let request_timeout = section.duration("request_timeout", range).unwrap_or(Duration::from_secs(35));
    let (token, bot_id) = token.unwrap_or_else(|| {
        if !section.document().has_errors() {
            section.error("token", "`telegram.token` cannot be used", "as @BotFather gave it");
        }
        (SecretString::from("0:none"), BotId(0))
    });
    section.finish();
    Telegram { token, bot_id, api_url, request_timeout, receive: receive.unwrap_or(Receive::Polling) }
}

fn token(section: &Section<'_>) -> Option<(SecretString, BotId)> {
    if !section.has("token") && !section.has("token_file") {
        section.missing("token", "@BotFather gives one; here, in token_file, or in ZAYAVKA_TELEGRAM__TOKEN");
        return None;
    }
    let token = secret(section, "token")?;
    let bot_id = token.expose_secret().split_once(':').and_then(|(id, rest)| {
        let sound = !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        id.parse().ok().filter(|id| *id > 0 && sound)
    });
    let Some(bot_id) = bot_id else {
        let hint = "digits, a colon, then letters, digits, _ and -, as @BotFather gave it";
        section.error(at(section, "token"), "`telegram.token` does not have the shape of a token", hint);
        return None;
    };
    Some((token, BotId(bot_id)))
}

/// The key a secret was really given under, for the place of an error.
fn at<'k>(section: &Section<'_>, key: &'k str) -> &'k str {
    match (key, section.has(key)) {
        ("token", false) => "token_file",
        ("secret_token", false) => "secret_token_file",
        (key, _) => key,
    }
}

fn api_url(section: &Section<'_>) -> String {
    let Some(text) = section.string("api_url") else { return OFFICIAL.to_owned() };
    let hint = "such as https://api.telegram.org or http://127.0.0.1:8081";
    match Url::parse(&text) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() => {
            section.error("api_url", "`telegram.api_url` is neither http nor https", hint);
        }
        Ok(url) if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() => {
            section.error("api_url", "`telegram.api_url` has more than scheme, host, port and path", hint);
        }
        Ok(url) if url.scheme() == "http" && !is_near(&url) => {
            let hint = "the token travels in every address: use https, or a private network";
            section.warning("api_url", "`telegram.api_url` is plain http to a public address", hint);
        }
        Ok(_) => {}
        Err(error) => section.error("api_url", format!("`telegram.api_url` is no address: {error}"), hint),
    }
    text.trim_end_matches('/').to_owned()
}

fn webhook(section: &Section<'_>, api_url: &str) -> Option<Webhook> {
    let url = section.required_string("url", "where Telegram brings updates: https://bot.example.ru/telegram");
    let path = url.as_deref().and_then(|url| webhook_path(section, url, api_url));
    if !section.has("secret_token") && !section.has("secret_token_file") {
        section.missing("secret_token", "1 to 256 of A-Z, a-z, 0-9, _ and -: without it anybody could bring updates");
    }
    let secret_token = secret(section, "secret_token").filter(|token| {
        let token = token.expose_secret();
        let sound = (1..=256).contains(&token.len())
            && token.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if !sound {
            let hint = "1 to 256 of A-Z, a-z, 0-9, _ and -";
            let what = "`telegram.webhook.secret_token` is not one Telegram takes";
            section.error(at(section, "secret_token"), what, hint);
        }
        sound
    });
    let max_connections = max_connections(section);
    let register = section.bool("register").unwrap_or(true);
    Some(Webhook { url: url?, path: path?, secret_token: secret_token?, max_connections, register })
}

fn max_connections(section: &Section<'_>) -> u8 {
    section.int("max_connections", 1..=100).and_then(|n| u8::try_from(n).ok()).unwrap_or(40)
}

/// The path of a webhook address that Telegram can bring updates to.
fn webhook_path(section: &Section<'_>, text: &str, api_url: &str) -> Option<String> {
    let refuse = |what: &str, hint: &str| section.error("url", format!("`telegram.webhook.url` {what}"), hint);
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => {
            refuse(&format!("is no address: {error}"), "https://bot.example.ru/telegram");
            return None;
        }
    };
    let port = url.port_or_known_default();
    if url.scheme() != "https" && !(url.scheme() == "http" && is_near(&url)) {
        refuse("is not https", "plain http only on a loopback or private address, for a local Bot API server");
    } else if api_url == OFFICIAL && url.scheme() == "http" {
        refuse("is plain http, and api.telegram.org brings nothing there", "https, or a local Bot API server");
    } else if api_url == OFFICIAL && !port.is_some_and(|port| PORTS.contains(&port)) {
        refuse("has a port api.telegram.org does not bring updates to", "443, 80, 88 or 8443");
    }
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
        refuse("has more than scheme, host, port and path", "its path is our route");
    }
    let path = url.path();
    if path == "/" || path == "/metrics" || path == "/health" || path.starts_with("/health/") {
        refuse(&format!("has the path {path}, which is taken"), "give it a path of its own: /telegram");
    }
    Some(path.to_owned())
}

/// Whether an address can only be near: loopback, private, or a name no public host can have.
fn is_near(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        Err(_) => host == "localhost" || host.ends_with(".localhost") || !host.contains('.'),
    }
}
