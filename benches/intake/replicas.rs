//! Lines 14 and 15: several processes on one PostgreSQL.

use std::time::Duration;

use crate::{
    flow::prepared,
    measure::rate,
    outside::Crm,
    place::{Ground, Pace},
    report::{Line, Report},
    service::Service,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// CRM calls at once, over all processes.
const WORKERS: usize = 12;

/// Tickets a second while so many processes share the work: from the first call to the last ticket of the queue.
async fn tickets(ground: &Ground, replicas: usize) -> f64 {
    let queued = ground.sizes.queued_for_replicas;
    let queue = async |db: &sea_orm::DatabaseConnection| ground.mould.queue(db, 1, queued).await;
    let (database, _) = prepared(ground, ground.postgres().await, 0, queue).await;
    ground.outside.forget();
    let start = || Service::start(ground, &database, Crm::Well, Pace::Free, WORKERS / replicas);
    let _running: Vec<_> = (0..replicas).map(|_| start()).collect();
    let queued = usize::try_from(queued).expect("a count");
    let done = ground.outside.until(PATIENCE, |seen| seen.keys.len() == queued).await;
    let seen = ground.outside.seen();
    assert!(done, "{} of {queued} operations were sent", seen.keys.len());
    assert_eq!(seen.tickets, queued, "each operation makes one ticket");
    let (first, last) = (seen.first_call.expect("a call"), seen.last_ticket.expect("a ticket"));
    rate(queued, last.duration_since(first))
}

pub(crate) async fn measure(ground: &Ground, report: &mut Report, round: usize) {
    let (one, three) = if round % 2 == 0 {
        (tickets(ground, 1).await, tickets(ground, 3).await)
    } else {
        let three = tickets(ground, 3).await;
        (tickets(ground, 1).await, three)
    };
    report.add(round, Line::Replicas, three / one, &format!("{three:.0} and {one:.0} tickets/s"));
    report.waits(Line::WakeUps, "replicas are not woken by NOTIFY yet");
}
