//! The HTTP surface: the webhook, health, metrics. One listener; it keeps answering while the rest drains, so that
//! Telegram is told "later" and a supervisor sees why.
//!
//! | route | answers |
//! |---|---|
//! | `POST` *webhook path* | 200 once stored, also for a repeat and for what is no update; 401, 413, 503 with `Retry-After: 1` |
//! | `GET /health/live` | 200 while the process turns |
//! | `GET /health/ready` | 200, or 503; reasons and warnings as JSON |
//! | `GET /metrics` | Prometheus text |
//!
//! [`receiving`] is what this process knows of how updates come in: intake writes it, readiness reads it.

pub mod health;
mod measures;
pub mod receiving;
pub mod registration;
mod serve;
mod webhook;

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Extension},
    routing::get,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::inbox::Inbox;

pub use receiving::Receiving;
pub use registration::Registration;
pub use webhook::Hook;

/// What the routes need.
#[derive(Debug)]
pub struct Web {
    /// Takes updates in.
    pub inbox: Inbox,
    /// The webhook's route; absent when updates are polled.
    pub hook: Option<Hook>,
    /// How updates come in.
    pub receiving: Arc<Receiving>,
    /// Cancelled when the service begins to drain.
    pub stop: CancellationToken,
}

/// Answers until `end` is cancelled, then finishes what is under way.
pub async fn serve(listener: TcpListener, web: Web, end: CancellationToken) {
    if let Ok(at) = listener.local_addr() {
        tracing::info!(web.listen = %at, "listening for webhook, health and metrics");
    }
    serve::serve(listener, router(web), serve::LIMITS, end).await;
}

/// The routes alone, for whoever brings requests without a socket.
pub fn router(web: Web) -> Router {
    Router::new()
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/metrics", get(measures::metrics).layer(Extension(Arc::<measures::Day>::default())))
        // The webhook's path is the operator's: compared as it stands, never read as a pattern.
        .fallback(webhook::receive)
        .layer(DefaultBodyLimit::max(webhook::BODY_LIMIT))
        .with_state(Arc::new(web))
}
