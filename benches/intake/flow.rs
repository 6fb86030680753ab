//! Lines 6, 8, 9 and 11: the whole service as a process of its own, people pressing «Отправить заявку».

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sea_orm::DatabaseConnection;
use tokio::{task::JoinSet, time::timeout};

use crate::{
    load::{Requests, Wire, open_loop, request},
    measure::{in_turn, ms, percentile},
    mould::{Person, tap},
    outside::Crm,
    place::{Database, Ground, Pace},
    report::{Line, Report},
    service::Service,
};

/// Taps for one tap each.
fn presses(people: &[Person]) -> Requests {
    let tap = |(n, person): (usize, &Person)| {
        let update = 800_000_000 + i64::try_from(n).expect("a number");
        request(&tap(update, person.id, &person.button))
    };
    Arc::new(people.iter().enumerate().map(tap).collect())
}

/// A database with people who are about to tap, and what else `more` puts there.
pub(crate) async fn prepared(
    ground: &Ground,
    database: Database,
    people: usize,
    more: impl AsyncFnOnce(&DatabaseConnection),
) -> (Database, Vec<Person>) {
    ground.app(&database).await.store.close().await;
    let db = database.connect().await;
    let people = ground.mould.people(&db, people).await;
    more(&db).await;
    db.close().await.expect("it closes");
    (database, people)
}

/// CPU of a process, per tap from its bytes to the number told, beside the plain bot's.
pub(crate) async fn cpu(ground: &Ground, report: &mut Report, round: usize) {
    let (database, people) = prepared(ground, ground.sqlite(), ground.sizes.people, async |_| {}).await;
    let presses = presses(&people);
    let rate = ground.sizes.rate;
    let flow = async |service: Service| {
        service.is_up().await;
        ground.outside.forget();
        let before = service.cpu();
        open_loop(service.at, &presses, rate).await;
        let count = people.len();
        let done = ground.outside.until(ground.sizes.answers_within, |seen| {
            seen.answers.len() == count && seen.keys.len() == count && seen.said >= count
        });
        assert!(done.await, "not every tap came to its end: {}", counts(ground));
        // A card is worded when it is sent: how many edits it takes is known only when no more come.
        let mut said = 0;
        while said != ground.outside.seen().said {
            said = ground.outside.seen().said;
            drop(timeout(Duration::from_millis(300), std::future::pending::<()>()).await);
        }
        (service.cpu() - before) / u32::try_from(count).expect("a count")
    };
    let plain = ground.sqlite();
    let ours = async || flow(Service::start(ground, &database, Crm::Well, Pace::Free, 8)).await;
    let theirs = async || flow(Service::plain(ground, &plain)).await;
    let (ours, theirs) = in_turn(round, ours, theirs).await;
    let raw = format!("{:.2} and {:.2} ms at {rate:.0} taps/s", ms(ours), ms(theirs));
    report.add(round, Line::Cpu, ours.as_secs_f64() / theirs.as_secs_f64(), &raw);
}

fn counts(ground: &Ground) -> String {
    let seen = ground.outside.seen();
    format!("{} answers, {} tickets, {} messages", seen.answers.len(), seen.keys.len(), seen.said)
}

/// From when a tap fell due to its answer at Telegram, p99, while the CRM behaves like this.
async fn answer_p99(ground: &Ground, database: &Database, people: &[Person], crm: Crm, pace: Pace) -> Duration {
    let database = database.copy(ground);
    let service = Service::start(ground, &database, crm, pace, 8);
    service.is_up().await;
    ground.outside.forget();
    let presses = presses(people);
    let due = open_loop(service.at, &presses, ground.sizes.rate).await;
    let done = ground.outside.until(ground.sizes.answers_within, |seen| seen.answers.len() == people.len()).await;
    assert!(done, "not every tap was answered: {}", counts(ground));
    let seen = ground.outside.seen();
    let took = |(n, (due, _)): (usize, &(Instant, _))| {
        let id = (800_000_000 + n).to_string();
        seen.answers.get(&id).expect("an answer").duration_since(*due)
    };
    let mut took: Vec<_> = due.iter().enumerate().map(took).collect();
    percentile(&mut took, 0.99)
}

pub(crate) async fn crm(ground: &Ground, report: &mut Report, round: usize) {
    let (database, people) = prepared(ground, ground.sqlite(), ground.sizes.people, async |_| {}).await;
    let mut modes = [Crm::Well, Crm::Down, Crm::Hanging, Crm::Slow];
    modes.rotate_left(round % 4);
    let mut p99 = Vec::new();
    for mode in modes {
        p99.push((mode, answer_p99(ground, &database, &people, mode, Pace::Profile).await));
    }
    let of = |mode| p99.iter().find(|(known, _)| *known == mode).map(|(_, p99)| *p99).expect("it was measured");
    let well = of(Crm::Well);
    for (line, mode) in [(Line::CrmDown, Crm::Down), (Line::CrmHanging, Crm::Hanging), (Line::CrmSlow, Crm::Slow)] {
        let raw = format!("p99 {:.1} and {:.1} ms at {} taps/s", ms(of(mode)), ms(well), ground.sizes.rate);
        report.add(round, line, of(mode).as_secs_f64() / well.as_secs_f64(), &raw);
    }
}

/// Databases with and without a queue; made once.
pub(crate) struct Queues {
    pub(crate) none: Database,
    pub(crate) full: Database,
    people: Vec<Person>,
    full_people: Vec<Person>,
}

impl Queues {
    pub(crate) async fn make(ground: &Ground) -> Self {
        let (none, people) = prepared(ground, ground.sqlite(), ground.sizes.people, async |_| {}).await;
        let queue = async |db: &DatabaseConnection| ground.mould.queue(db, 1, ground.sizes.queued).await;
        let (full, full_people) = prepared(ground, ground.sqlite(), ground.sizes.people, queue).await;
        Self { none, full, people, full_people }
    }
}

pub(crate) async fn queued(ground: &Ground, queues: &Queues, report: &mut Report, round: usize) {
    let none = async || answer_p99(ground, &queues.none, &queues.people, Crm::Well, Pace::Profile).await;
    let full = async || answer_p99(ground, &queues.full, &queues.full_people, Crm::Well, Pace::Profile).await;
    let (none, full) = in_turn(round, none, full).await;
    let (queued, rate) = (ground.sizes.queued, ground.sizes.rate);
    let raw = format!("p99 {:.1} with {queued} and {:.1} ms at {rate} taps/s", ms(full), ms(none));
    report.add(round, Line::Queued, full.as_secs_f64() / none.as_secs_f64(), &raw);
}

/// A thousand taps on one button at the same moment: one ticket.
pub(crate) async fn one_button(ground: &Ground, report: &mut Report, round: usize) {
    for (line, database) in [(Line::ButtonSqlite, ground.sqlite()), (Line::ButtonPostgres, ground.postgres().await)] {
        let (database, people) = prepared(ground, database, 1, async |_| {}).await;
        let taps = ground.sizes.taps_on_one_button;
        let presses = presses(&vec![people[0].clone(); taps]);
        let service = Service::start(ground, &database, Crm::Well, Pace::Free, 8);
        service.is_up().await;
        ground.outside.forget();
        let began = Instant::now();
        let mut running = JoinSet::new();
        for n in 0..taps {
            let (presses, at) = (Arc::clone(&presses), service.at);
            running.spawn(async move {
                // A connection that found no room is made again, as Telegram does.
                loop {
                    if let Ok(mut wire) = Wire::to(at).await
                        && let Ok(200) = wire.ask(&presses[n]).await
                    {
                        return;
                    }
                    drop(timeout(Duration::from_millis(5), std::future::pending::<()>()).await);
                }
            });
        }
        running.join_all().await;
        let stored = began.elapsed();
        let all = |seen: &crate::outside::Seen| seen.answers.len() == taps && seen.tickets > 0 && seen.said > 0;
        let done = ground.outside.until(ground.sizes.answers_within, all).await;
        let answered = began.elapsed();
        // A second ticket would come from a worker that is at it now: let it finish.
        drop(timeout(Duration::from_millis(300), std::future::pending::<()>()).await);
        // One look: a second one while the first is held would wait for itself.
        let (answers, tickets) = {
            let seen = ground.outside.seen();
            (seen.answers.len(), seen.tickets)
        };
        if tickets > 1 {
            report.wrong(format!("{taps} taps on one button made {tickets} tickets"));
        }
        assert!(done, "{answers} of {taps} taps were answered within {} s", ground.sizes.answers_within.as_secs());
        let raw = format!("{taps} taps stored within {:.0} ms, all answered within {:.0} ms", ms(stored), ms(answered));
        report.add(round, line, tickets as f64, &raw);
    }
}
