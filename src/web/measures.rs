//! `GET /metrics`: what this process counted, and what is under way in the database at the moment of asking.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Extension, State},
    http::header,
    response::{IntoResponse, Response},
};
use tokio::{sync::Mutex, time::timeout};

use super::{Web, health};
use crate::{
    clock::Timestamp,
    metrics::Page,
    store::{
        StoreError,
        figures::{self, Figures},
        gauges::{self, Gauges},
    },
};

/// The longest the gauges may take; without them the page tells what it knows.
const GAUGES_TIMEOUT: Duration = Duration::from_secs(5);

/// What "the day" is: the last 24 hours, so that a figure never falls to nothing at midnight.
const DAY: Duration = Duration::from_secs(86_400);

/// How long the day's figures stand: they are counted from many rows, and nobody needs them by the second.
const DAY_STANDS: Duration = Duration::from_secs(60);

/// The day's figures as they were counted last, and when.
#[derive(Debug, Default)]
pub(super) struct Day(Mutex<Option<(Timestamp, Figures)>>);

impl Day {
    async fn figures(&self, web: &Web) -> Result<Figures, StoreError> {
        let (inbox, now) = (&web.inbox, web.inbox.clock.now());
        let mut known = self.0.lock().await;
        if let Some((_, figures)) = known.as_ref().filter(|(at, _)| *at <= now && now.since(*at) < DAY_STANDS) {
            return Ok(figures.clone());
        }
        let fresh = figures::since(inbox.store.reader(), inbox.bot, now.minus(DAY), now).await?;
        *known = Some((now, fresh.clone()));
        Ok(fresh)
    }
}

pub(super) async fn metrics(State(web): State<Arc<Web>>, Extension(day): Extension<Arc<Day>>) -> Response {
    let mut page = Page::of_this_process();
    let version = [(env!("CARGO_PKG_VERSION"), 1)];
    page.gauge_by("zayavka_build_info", "The running version.", "version", version);
    let ready = health::readiness(&web).await.ready;
    page.gauge("zayavka_ready", "Whether /health/ready answers 200.", u64::from(ready));
    let waiting = web.receiving.waiting();
    page.gauge(
        "zayavka_telegram_pending_updates",
        "Updates waiting at Telegram, as it said last; webhook only.",
        waiting,
    );
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
        match timeout(GAUGES_TIMEOUT, day.figures(&web)).await {
            Ok(Ok(figures)) => add_day(&mut page, &figures),
            Ok(Err(error)) => tracing::warn!(%error, "the day's figures could not be read"),
            Err(_) => tracing::debug!("the day's figures take too long; the page goes without them"),
        }
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

/// The same as `/stats` tells staff, over the last 24 hours.
fn add_day(page: &mut Page, day: &Figures) {
    let settled = day.settled;
    for (name, help, value) in [
        ("zayavka_day_confirmed", "Versions confirmed in the last 24 hours.", Some(day.confirmed)),
        ("zayavka_day_tickets", "Tickets that came to be known in the last 24 hours.", Some(day.tickets)),
        ("zayavka_day_repeated_taps", "Taps on what was confirmed before, in the last 24 hours.", Some(day.repeats)),
        (
            "zayavka_day_tap_to_ticket_median_milliseconds",
            "The middle time from the tap to the ticket, over the last 24 hours.",
            day.median_ms,
        ),
        (
            "zayavka_day_tap_to_ticket_worst_milliseconds",
            "The longest time from the tap to the ticket, over the last 24 hours.",
            day.worst_ms,
        ),
    ] {
        page.gauge(name, help, value);
    }
    let how = [
        ("found", settled.found),
        ("answered", settled.answered),
        ("by_staff", settled.by_staff),
        ("without_ticket", settled.rejected),
        ("open", settled.open),
    ];
    page.gauge_by(
        "zayavka_day_unknown",
        "Lost answers of the last 24 hours, by how they were settled.",
        "settled",
        how,
    );
}
