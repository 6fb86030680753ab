//! Health: alive while the process turns; ready while updates can come in and be stored.
//!
//! What a rest would not mend, or what taking the service out of a balancer would only make worse, is a warning: a pause
//! of sending, failed deliveries. The database's own words go to the log alone: they may name hosts and files.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use tokio::time::timeout;

use super::Web;
use crate::store::settings;

/// The longest the database may take for a sign of life.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Readiness, as it is told.
#[derive(Debug, Serialize)]
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
    let receiving = web.receiving.verdict();
    reasons.extend(receiving.reasons);
    warnings.extend(receiving.warnings);
    Readiness { ready: reasons.is_empty(), reasons, warnings }
}
