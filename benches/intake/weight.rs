//! Lines 12 and 13: what a process weighs, and how soon it is there.

use std::time::Duration;

use tokio::time::timeout;

use crate::{
    flow::Queues,
    load::request,
    measure::{memory, ms},
    outside::Crm,
    place::{Ground, Pace},
    report::{Line, Report},
    route::taps,
    service::Service,
};

const MIB: f64 = 1024.0 * 1024.0;

/// Lets a process come to rest.
async fn rest(ground: &Ground) {
    drop(timeout(Duration::from_secs_f64(ground.sizes.rest), std::future::pending::<()>()).await);
}

pub(crate) async fn measure(ground: &Ground, queues: &Queues, report: &mut Report, round: usize) {
    // From nothing: the file, the schema, the port, the first tap that is safe.
    let database = ground.sqlite();
    let first = request(&taps(1)[0]);
    let service = Service::start(ground, &database, Crm::Well, Pace::Profile, 8);
    let cold = service.answers(&first).await;
    report.add(round, Line::ColdStart, ms(cold), "an empty folder, migrations included");
    drop(service);

    // Idle, as on an ordinary day: a database that exists, nothing in flight.
    let database = queues.none.copy(ground);
    let service = Service::start(ground, &database, Crm::Down, Pace::Profile, 8);
    service.is_up().await;
    rest(ground).await;
    let (idle, idle_own) = memory(service.pid());
    report.add(round, Line::IdleMemory, idle / MIB, &format!("resident; proportional {:.1} MiB", idle_own / MIB));
    drop(service);

    // It begins to work on the queue and is killed; what follows is the start after that.
    ground.outside.forget();
    let database = queues.full.copy(ground);
    let service = Service::start(ground, &database, Crm::Well, Pace::Profile, 8);
    let called = ground.outside.until(ground.sizes.answers_within, |seen| seen.tickets > 3).await;
    assert!(called, "the queue is not worked on");
    drop(service);
    ground.outside.forget();
    let service = Service::start(ground, &database, Crm::Well, Pace::Profile, 8);
    let called = ground.outside.until(ground.sizes.answers_within, |seen| seen.first_call.is_some()).await;
    assert!(called, "the queue is not worked on after the kill");
    let first_call = ground.outside.seen().first_call.expect("a call");
    report.add(
        round,
        Line::Restart,
        ms(first_call.duration_since(service.began)),
        &format!("{} queued", ground.sizes.queued),
    );
    drop(service);

    // The same rest with and without the queue: what a queued operation weighs.
    let database = queues.full.copy(ground);
    let service = Service::start(ground, &database, Crm::Down, Pace::Profile, 8);
    service.is_up().await;
    rest(ground).await;
    let (full, _) = memory(service.pid());
    let queued = ground.sizes.queued;
    let each = (full - idle) / queued as f64;
    report.add(round, Line::QueuedMemory, each, &format!("{:.1} MiB with {queued} queued", full / MIB));
}
