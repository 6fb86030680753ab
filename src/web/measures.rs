//! `GET /metrics`: what this process counted, and what is under way in the database at the moment of asking.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use tokio::time::timeout;

use super::{Web, health};
use crate::{
    clock::Timestamp,
    metrics::Page,
    store::gauges::{self, Gauges},
};

/// The longest the gauges may take; without them the page tells what it knows.
const GAUGES_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn metrics(State(web): State<Arc<Web>>) -> Response {
    let mut page = Page::of_this_process();
    let version = [(env!("CARGO_PKG_VERSION"), 1)];
    page.gauge_by("zayavka_build_info", "The running version.", "version", version);
    let ready = health::readiness(&web).await.ready;
    page.gauge("zayavka_ready", "Whether /health/ready answers 200.", u64::from(ready));
    let gauges = match timeout(GAUGES_TIMEOUT, gauges::read(web.inbox.store.reader())).await {
        Ok(Ok(gauges)) => Some(gauges),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the gauges could not be read");
            None
        }
        Err(_) => None,
    };
    page.gauge("zayavka_database_up", "Whether the gauges could be read.", u64::from(gauges.is_some()));
    if let Some(gauges) = gauges {
        add(&mut page, &gauges, web.inbox.clock.now());
    }
    ([(header::CONTENT_TYPE, Page::MEDIA_TYPE), (header::CACHE_CONTROL, "no-store")], page.into_text()).into_response()
}

fn add(page: &mut Page, gauges: &Gauges, now: Timestamp) {
    let age = |at: Option<Timestamp>| at.map_or(0, |at| now.since(at).as_secs());
    let states = gauges.operations.iter().copied();
    page.gauge_by("zayavka_operations", "Unfinished operations by state.", "state", states);
    for (name, help, value) in [
        (
            "zayavka_operations_oldest_seconds",
            "Age of the oldest operation the machine still works on; 0 without one.",
            age(gauges.oldest_operation),
        ),
        ("zayavka_inbox_open", "Updates stored and not handled yet.", gauges.open_updates),
        ("zayavka_inbox_oldest_seconds", "Age of the oldest of them; 0 without one.", age(gauges.oldest_update)),
        ("zayavka_inbox_shelved", "Updates on the shelf.", gauges.shelved_updates),
        ("zayavka_outbox_open", "Messages not delivered yet.", gauges.open_messages),
        ("zayavka_outbox_oldest_seconds", "Age of the oldest of them; 0 without one.", age(gauges.oldest_message)),
        ("zayavka_cases_open", "Cases that wait for a human.", gauges.open_cases),
        ("zayavka_cases_oldest_seconds", "Age of the oldest of them; 0 without one.", age(gauges.oldest_case)),
    ] {
        page.gauge(name, help, value);
    }
}
