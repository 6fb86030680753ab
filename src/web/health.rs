//! Health: alive while the process turns; ready while updates can come in and be stored.
//!
//! What a rest would not mend, or what taking the service out of a balancer would only make worse, is a warning: a pause
//! of sending, failed deliveries. The database's own words go to the log alone: they may name hosts and files.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::Web;
use crate::store::settings;

/// The longest the database may take for a sign of life.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest a service may take to say how it is.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// What listens at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Neighbour {
    /// Nothing.
    Nobody,
    /// A service of this kind; why it is not ready, if it is not.
    Service(Vec<String>),
    /// Something else.
    Stranger,
}

/// Asks what listens at an address whether it is a service of ours and how it is.
pub async fn ask(listen: SocketAddr) -> Neighbour {
    let everywhere = listen.ip().is_unspecified();
    let at = if everywhere { SocketAddr::from((Ipv4Addr::LOCALHOST, listen.port())) } else { listen };
    let asked = timeout(ASK_TIMEOUT, async {
        let mut stream = TcpStream::connect(at).await.ok()?;
        let request = format!("GET /health/ready HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
        let mut answer = Vec::new();
        if stream.write_all(request.as_bytes()).await.is_ok() {
            // Half an answer is no answer of ours.
            drop(stream.take(1 << 16).read_to_end(&mut answer).await);
        }
        Some(String::from_utf8_lossy(&answer).into_owned())
    });
    match asked.await {
        Ok(None) => Neighbour::Nobody,
        Ok(Some(answer)) => said(&answer).unwrap_or(Neighbour::Stranger),
        Err(_) => Neighbour::Stranger,
    }
}

fn said(answer: &str) -> Option<Neighbour> {
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let told: Readiness = serde_json::from_str(body).ok()?;
    Some(Neighbour::Service(told.reasons))
}

/// Readiness, as it is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Readiness {
    pub(super) ready: bool,
    reasons: Vec<String>,
    warnings: Vec<String>,
}

pub(super) async fn live() -> Response {
    ([(header::CACHE_CONTROL, "no-store")], "alive\n").into_response()
}

pub(super) async fn ready(State(web): State<Arc<Web>>) -> Response {
    let readiness = readiness(&web).await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(readiness)).into_response()
}

pub(super) async fn readiness(web: &Web) -> Readiness {
    let (mut reasons, mut warnings) = (Vec::new(), Vec::new());
    if web.stop.is_cancelled() {
        reasons.push("the service is draining: no more updates are taken".to_owned());
    }
    // One question is both: a sign of life, and whether sending is paused.
    match timeout(DATABASE_TIMEOUT, settings::get(web.inbox.store.reader(), settings::PAUSED)).await {
        Ok(Ok(None)) => {}
        Ok(Ok(Some(why))) if why == settings::PAUSED_FOR_CREDENTIALS => {
            warnings.push("sending is paused: the CRM refused our credentials; what is confirmed waits".to_owned())
        }
        Ok(Ok(Some(_))) => warnings.push("sending is paused by staff; what is confirmed waits".to_owned()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the database does not answer");
            reasons.push("the database does not answer".to_owned());
        }
        Err(_) => reasons.push("the database does not answer in time".to_owned()),
    }
    // Reading may work while writing does not: a full disk, a lock that somebody holds.
    let store = &web.inbox.store;
    if store.is_stuck() && !matches!(timeout(DATABASE_TIMEOUT, store.probe(web.inbox.clock.now())).await, Ok(Ok(()))) {
        reasons.push("nothing can be stored: the database takes no writes (a full disk, a lock?)".to_owned());
    }
    let receiving = web.receiving.verdict();
    reasons.extend(receiving.reasons);
    warnings.extend(receiving.warnings);
    Readiness { ready: reasons.is_empty(), reasons, warnings }
}
