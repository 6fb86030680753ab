//! Lines 14 and 15: several processes on one PostgreSQL.

use std::{cell::RefCell, sync::Arc};

use crate::{
    flow::prepared,
    load::{Requests, request, saturate},
    measure::{in_turn, rate},
    outside::Crm,
    place::{Ground, Pace},
    report::{Line, Report},
    route::taps,
    service::Service,
};

/// CRM calls at once, over all processes.
const WORKERS: usize = 12;

/// Tickets a second while so many processes share the work: from the first call to the last ticket of the queue.
async fn tickets(ground: &Ground, report: &RefCell<&mut Report>, replicas: usize) -> f64 {
    let queued = ground.sizes.queued_for_replicas;
    let queue = async |db: &sea_orm::DatabaseConnection| ground.mould.queue(db, 1, queued).await;
    let (database, _) = prepared(ground, ground.postgres().await, 0, queue).await;
    ground.outside.forget();
    let start = || Service::start(ground, &database, Crm::Well, Pace::Free, WORKERS / replicas);
    let _running: Vec<_> = (0..replicas).map(|_| start()).collect();
    let queued = usize::try_from(queued).expect("a count");
    let done = ground.outside.until(ground.sizes.answers_within, |seen| seen.keys.len() == queued).await;
    let seen = ground.outside.seen();
    assert!(done, "{} of {queued} operations were sent", seen.keys.len());
    if seen.tickets > queued {
        report
            .borrow_mut()
            .wrong(format!("{queued} operations made {} tickets with {replicas} processes", seen.tickets));
    }
    let (first, last) = (seen.first_call.expect("a call"), seen.last_ticket.expect("a ticket"));
    rate(queued, last.duration_since(first))
}

pub(crate) async fn measure(ground: &Ground, report: &mut Report, round: usize) {
    let shared = RefCell::new(report);
    let of = async |replicas| tickets(ground, &shared, replicas).await;
    let (one, three) = in_turn(round, async || of(1).await, async || of(3).await).await;
    let report = shared.into_inner();
    report.add(round, Line::Replicas, three / one, &format!("{three:.0} and {one:.0} tickets/s"));
}

/// The setting that turns wake-ups between replicas on and off.
const WAKE_UPS: &str = "ZAYAVKA_DATABASE__WAKE_UPS";

/// Taps a second that one of two processes stores, while the other is or is not called after its commits.
async fn stored(ground: &Ground, wake_ups: &str, requests: &Requests) -> f64 {
    let (database, _) = prepared(ground, ground.postgres().await, 0, async |_| {}).await;
    let settings = [(WAKE_UPS, wake_ups)];
    let start = || Service::start_with(ground, &database, Crm::Well, Pace::Free, 4, &settings);
    let (busy, other) = (start(), start());
    busy.is_up().await;
    other.is_up().await;
    rate(requests.len(), saturate(busy.at, requests).await)
}

pub(crate) async fn wake_ups(ground: &Ground, report: &mut Report, round: usize) {
    if !ground.knows(WAKE_UPS, "true") {
        report.missed(round, &[Line::WakeUps], "this version does not wake other replicas");
        return;
    }
    let requests: Requests = Arc::new(taps(ground.sizes.plain_requests).iter().map(|tap| request(tap)).collect());
    let stored = async |wake_ups| stored(ground, wake_ups, &requests).await;
    let (on, off) = in_turn(round, async || stored("true").await, async || stored("false").await).await;
    report.add(round, Line::WakeUps, on / off, &format!("{on:.0} and {off:.0} taps/s committed"));
}
