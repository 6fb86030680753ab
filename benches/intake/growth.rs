//! Line 10: the same acts over a short history and a long one, turn by turn, so that the machine's mood meets both.

use std::time::{Duration, Instant};

use zayavka::{
    app::App,
    clock::{Clock as _, SystemClock},
    domain::{operation::Event, review::Matter},
    ids::BotId,
    store::{cases, operations},
};

use crate::{
    flow::prepared,
    measure::{ms, percentile},
    mould::{Person, act, message, operation, tap},
    place::{Database, Ground, OWNER},
    report::{Line, Report},
};

/// A short history.
const FEW: u64 = 1_000;

/// Cases in staff's queue, in both.
const CASES: u64 = 40;

/// A history and the service's parts over it.
struct Side {
    app: App,
    people: std::vec::IntoIter<Person>,
    /// Who tapped last.
    last: Option<Person>,
    update: i64,
    _database: Database,
}

/// Both histories; made once for all rounds.
pub(crate) struct Histories {
    few: Side,
    many: Side,
}

impl Histories {
    pub(crate) async fn make(ground: &Ground) -> Self {
        let rounds = ground.sizes.rounds;
        let few = Side::make(ground, rounds, FEW).await;
        Self { few, many: Side::make(ground, rounds, ground.sizes.history).await }
    }
}

impl Side {
    async fn make(ground: &Ground, rounds: usize, history: u64) -> Self {
        let people = ground.sizes.acts * rounds;
        let made = async |db: &sea_orm::DatabaseConnection| {
            ground.mould.history(db, 1, history).await;
            // Enough that waits to be claimed.
            ground.mould.queue(db, history + 1, history + people as u64 + 8).await;
        };
        let (database, people) = prepared(ground, ground.sqlite(), people, made).await;
        let app = ground.app(&database).await;
        let bot = BotId(1_000_000_001);
        for n in 1..=CASES {
            let about = operation(n * history / CASES);
            let open = async move |tx: &zayavka::store::Tx| {
                let new = cases::New {
                    bot,
                    about: Some((about, "bench")),
                    matter: &Matter::Twin { tickets: Vec::new(), rejected: false },
                };
                cases::open(tx.as_ref(), new, SystemClock.now()).await.map(drop)
            };
            app.store.write(move |tx| async move { open(&tx).await }).await.expect("a case");
        }
        Self { app, people: people.into_iter(), last: None, update: 900_000_000, _database: database }
    }

    fn next_update(&mut self) -> i64 {
        self.update += 1;
        self.update
    }

    async fn new_tap(&mut self) -> Duration {
        let person = self.people.next().expect("people enough");
        let tap = tap(self.next_update(), person.id, &person.button);
        self.last = Some(person);
        let took = timed(act(&self.app, &tap)).await;
        // What began with it comes to its end, so that all taps find the same.
        for begun in self.app.worker.left_begun(None) {
            self.app.worker.go_on(begun).await.expect("it is sent");
        }
        self.app.outbox.tick().await.expect("it is said");
        took
    }

    async fn repeat_tap(&mut self) -> Duration {
        let person = self.last.clone().expect("somebody tapped");
        let tap = tap(self.next_update(), person.id, &person.button);
        timed(act(&self.app, &tap)).await
    }

    /// Finds what is due, and takes the first for sending.
    async fn claim(&mut self) -> Duration {
        let (store, bot) = (self.app.store.clone(), BotId(1_000_000_001));
        let policy = std::sync::Arc::clone(&self.app.worker.policy);
        let author = self.app.worker.author.clone();
        timed(async move {
            let now = SystemClock.now();
            let due = operations::claimable(store.reader(), bot, now, 8).await.expect("due operations").readable;
            let (id, rev) = (due[0].operation.id, due[0].rev);
            let claimed = store.write(move |tx| {
                let (policy, author) = (std::sync::Arc::clone(&policy), author.clone());
                async move {
                    let event = Event::Claimed { lease_end: now.plus(Duration::from_secs(600)) };
                    operations::advance(tx.as_ref(), id, Some(rev), &event, now, &policy, &author).await
                }
            });
            assert!(matches!(claimed.await, Ok(operations::Advanced::Moved(_))), "it is claimed");
        })
        .await
    }

    async fn queue_page(&mut self) -> Duration {
        let asks = message(self.next_update(), OWNER, "/queue");
        timed(act(&self.app, &asks)).await
    }
}

async fn timed(act: impl Future<Output = ()>) -> Duration {
    let began = Instant::now();
    act.await;
    began.elapsed()
}

pub(crate) async fn measure(ground: &Ground, histories: &mut Histories, report: &mut Report, round: usize) {
    const LINES: [Line; 4] = [Line::NewTap, Line::RepeatTap, Line::Claim, Line::QueuePage];
    let mut took: [[Vec<Duration>; 2]; 4] = Default::default();
    for turn in 0..ground.sizes.acts {
        let mut sides = [(0, &mut histories.few), (1, &mut histories.many)];
        if turn % 2 == 1 {
            sides.reverse();
        }
        for (n, side) in &mut sides {
            took[0][*n].push(side.new_tap().await);
        }
        for (n, side) in &mut sides {
            took[1][*n].push(side.repeat_tap().await);
        }
        for (n, side) in &mut sides {
            took[2][*n].push(side.claim().await);
        }
        for (n, side) in &mut sides {
            took[3][*n].push(side.queue_page().await);
        }
    }
    for (line, [few, many]) in LINES.into_iter().zip(&mut took) {
        let (few, many) = (percentile(few, 0.5), percentile(many, 0.5));
        let raw = format!("p50 {:.2} ms with {} and {:.2} ms with {FEW}", ms(many), ground.sizes.history, ms(few));
        report.add(round, line, many.as_secs_f64() / few.as_secs_f64(), &raw);
    }
}
