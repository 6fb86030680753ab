//! The one writer of a process: waiting works are committed together, so that a disk flush is paid once for many. On
//! PostgreSQL updates have ways of their own beside it, each in groups as well.
//!
//! Updates to store are known for what they are: those of a group are written first, in as few statements as there can
//! be. Any other work runs in a savepoint of its own: one that fails or panics is undone alone. If the updates or the
//! commit itself fail, everything of the group runs once more in a transaction of its own, so that one bad row fails
//! alone. A work may therefore run twice, and must only touch the database.
//!
//! SQLite undoes a transaction by itself when the disk is full or fails; the library still counts it as open then, and
//! all that follows would be "committed" inside of it, for nobody. So a transaction that can be neither committed nor
//! undone takes its connection with it.

mod door;

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::{FutureExt as _, future::BoxFuture};
use sea_orm::{DatabaseConnection, DatabaseTransaction, DbBackend, TransactionTrait as _};
use tokio::sync::{Notify, mpsc, oneshot};

use self::door::Door;
use super::{
    StoreError,
    inbox::{self, Arrival, Arrivals, Claimed},
};
use crate::points::Points;

/// The transaction a work runs in. Shared, so that it can travel through a handler tree; it is committed only when no
/// copy is left.
pub type Tx = Arc<DatabaseTransaction>;

/// How many works are committed together at most.
const GROUP: usize = 256;

/// How many works may wait; beyond that the caller waits, and intake answers "later".
const WAITING: usize = 1024;

type Outcome = Result<Box<dyn Any + Send>, StoreError>;
type Run = Box<dyn Fn(Tx) -> BoxFuture<'static, Outcome> + Send + Sync>;

struct Work {
    run: Run,
    done: oneshot::Sender<Outcome>,
}

/// Updates to store, and who waits for them.
struct Intake {
    arrivals: Arrivals,
    done: oneshot::Sender<Result<Vec<Claimed>, StoreError>>,
}

enum Waiting {
    Work(Work),
    Intake(Intake),
}

/// How many commits of updates alone go side by side where the database can do so: PostgreSQL spends a processor on each.
const INTAKES: usize = 2;

/// The sending end; cheap to clone. With the last one the tasks end, whatever they were doing.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    works: mpsc::Sender<Waiting>,
    /// Where updates go, by whose turn they are; with the works where there is one writer.
    intakes: Vec<mpsc::Sender<Waiting>>,
    committed: Arc<Notify>,
    stuck: Arc<AtomicBool>,
    _tasks: Arc<Vec<Task>>,
}

#[derive(Debug)]
struct Task(tokio::task::JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        // Nobody waits for a result any more; what is not committed is rolled back, as after a crash.
        self.0.abort();
    }
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Work(_) => "Work",
            Self::Intake(_) => "Intake",
        })
    }
}

impl Writer {
    /// Starts the writer over `connection`.
    pub(super) fn start(connection: DatabaseConnection, pooled: bool, points: Points) -> Self {
        let committed = Arc::new(Notify::new());
        let side_by_side = if connection.get_database_backend() == DbBackend::Postgres { INTAKES } else { 0 };
        let stuck = Arc::new(AtomicBool::new(false));
        let distrusted = AtomicBool::new(false);
        let door = Arc::new(Door { connection, pooled, points, distrusted, stuck: Arc::clone(&stuck) });
        let (works, task) = commits(&door, &committed);
        let (mut intakes, mut tasks) = (Vec::new(), vec![task]);
        for _ in 0..side_by_side {
            let (intake, task) = commits(&door, &committed);
            intakes.push(intake);
            tasks.push(task);
        }
        Self { works, intakes, committed, stuck, _tasks: Arc::new(tasks) }
    }

    /// Whether the last commit was refused: then nothing can be stored for the moment.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Relaxed)
    }

    /// Told after each group that holds more than updates, which are their storer's own to handle.
    pub(super) fn committed(&self) -> &Arc<Notify> {
        &self.committed
    }

    /// Stores updates, perhaps together with others, and returns the fresh ones after the commit.
    pub(super) async fn accept(&self, arrivals: Arrivals) -> Result<Vec<Claimed>, StoreError> {
        let (done, stored) = oneshot::channel();
        self.wait(self.way_of(&arrivals), Waiting::Intake(Intake { arrivals, done }), stored).await
    }

    /// Updates of one person go one way, so that they are numbered in the order they came.
    fn way_of(&self, arrivals: &Arrivals) -> &mpsc::Sender<Waiting> {
        let mut lanes = arrivals.updates.iter().map(Arrival::lane);
        let first = lanes.next().unwrap_or_default();
        // A batch of several people's is brought alone, and the next one after its end.
        let lane = if lanes.all(|lane| lane == first) { first } else { 0 };
        let ways = self.intakes.len().max(1);
        self.intakes.get(lane.unsigned_abs() as usize % ways).unwrap_or(&self.works)
    }

    async fn wait<T>(
        &self,
        way: &mpsc::Sender<Waiting>,
        waiting: Waiting,
        outcome: oneshot::Receiver<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let gone = || StoreError::Unavailable("the writer has stopped".into());
        way.send(waiting).await.map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?
    }

    /// Runs `work` in a transaction, perhaps together with others, and returns its result after the commit.
    pub(super) async fn write<T, F, Fut>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(Tx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let (done, outcome) = oneshot::channel();
        let run: Run = Box::new(move |tx| {
            let running = work(tx);
            async move { running.await.map(|value| Box::new(value) as Box<dyn Any + Send>) }.boxed()
        });
        let value = self.wait(&self.works, Waiting::Work(Work { run, done }), outcome).await?;
        value
            .downcast::<T>()
            .map(|value| *value)
            .map_err(|_| StoreError::Refused("a work's result changed its type".into()))
    }
}

/// How often what met another replica is tried alone.
const TRIES: u32 = 4;

/// Commits what comes in, in groups, for as long as anybody can bring something.
#[expect(clippy::disallowed_methods, reason = "the task is owned by the `Writer` and ends with it")]
fn commits(door: &Arc<Door>, committed: &Arc<Notify>) -> (mpsc::Sender<Waiting>, Task) {
    let (way, mut waiting) = mpsc::channel::<Waiting>(WAITING);
    let (door, committed) = (Arc::clone(door), Arc::clone(committed));
    let task = tokio::spawn(async move {
        let mut group = Vec::with_capacity(GROUP);
        while waiting.recv_many(&mut group, GROUP).await > 0 {
            let tells = group.iter().any(|waiting| matches!(waiting, Waiting::Work(_)));
            commit_group(&door, std::mem::take(&mut group)).await;
            if tells {
                committed.notify_one();
            }
        }
    });
    (way, Task(task))
}

async fn commit_group(door: &Door, group: Vec<Waiting>) {
    door.points.pass("store.begin").await;
    let (mut works, mut intakes) = (Vec::new(), Vec::new());
    for waiting in group {
        match waiting {
            Waiting::Work(work) => works.push(work),
            Waiting::Intake(intake) => intakes.push(intake),
        }
    }
    let together = if works.len() + intakes.len() == 1 {
        Err(StoreError::Stale("group of one"))
    } else {
        run_together(door, &works, &intakes).await
    };
    // Nobody waits any more when the caller gave up; the work is done all the same.
    match together {
        Ok((outcomes, stored)) => {
            door.note(&Ok(()));
            for (intake, fresh) in intakes.into_iter().zip(stored) {
                drop(intake.done.send(Ok(fresh)));
            }
            for (work, outcome) in works.into_iter().zip(outcomes) {
                let outcome = match outcome {
                    Err(error) if error.is_conflict() => run_alone(door, &work).await,
                    outcome => outcome,
                };
                drop(work.done.send(outcome));
            }
        }
        Err(_) => {
            for intake in intakes {
                let stored = store_alone(door, &intake).await;
                drop(intake.done.send(stored.map(|mut fresh| fresh.pop().unwrap_or_default())));
            }
            for work in works {
                let outcome = run_alone(door, &work).await;
                drop(work.done.send(outcome));
            }
        }
    }
}

async fn run_together(
    door: &Door,
    works: &[Work],
    intakes: &[Intake],
) -> Result<(Vec<Outcome>, Vec<Vec<Claimed>>), StoreError> {
    let arrivals: Vec<_> = intakes.iter().map(|intake| &intake.arrivals).collect();
    if works.is_empty() {
        return Ok((Vec::new(), store(door, &arrivals).await?));
    }
    let outer = door.begin().await?;
    let filled = async {
        let stored = inbox::accept(&outer, &arrivals).await?;
        let mut outcomes = Vec::with_capacity(works.len());
        for work in works {
            let savepoint = outer.begin().await?;
            outcomes.push(run_in(savepoint, &Points::default(), work).await?);
        }
        Ok((outcomes, stored))
    };
    match filled.await {
        Ok(filled) => {
            door.points.pass("store.commit").await;
            door.commit(outer).await?;
            door.points.pass("store.committed").await;
            Ok(filled)
        }
        Err(error) => {
            door.undo(outer).await;
            Err(error)
        }
    }
}

async fn store_alone(door: &Door, intake: &Intake) -> Result<Vec<Vec<Claimed>>, StoreError> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        match store(door, &[&intake.arrivals]).await {
            Err(error) if tries > 0 && error.is_conflict() => {}
            stored => {
                door.note(&stored);
                return stored;
            }
        }
    }
}

/// Stores updates in a transaction that holds nothing else.
async fn store(door: &Door, arrivals: &[&Arrivals]) -> Result<Vec<Vec<Claimed>>, StoreError> {
    let rows = arrivals.iter().map(|arrivals| arrivals.updates.len()).sum();
    let stored = if inbox::is_one_statement(rows) && !door.pooled {
        door.renew().await?;
        // One statement is a transaction of its own: two trips less; what else is asked then only reads. Behind a pooler nothing
        // runs outside of one.
        door.points.pass("store.commit").await;
        inbox::accept(&door.connection, arrivals).await?
    } else {
        let tx = door.begin().await?;
        match inbox::accept(&tx, arrivals).await {
            Ok(stored) => {
                door.points.pass("store.commit").await;
                door.commit(tx).await?;
                stored
            }
            Err(error) => {
                door.undo(tx).await;
                return Err(error);
            }
        }
    };
    door.points.pass("store.committed").await;
    Ok(stored)
}

async fn run_alone(door: &Door, work: &Work) -> Outcome {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        let outcome = match door.begin().await {
            Ok(tx) => match run_in(tx, &door.points, work).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    door.distrusted.store(true, Ordering::Relaxed);
                    Err(error)
                }
            },
            Err(error) => Err(error),
        };
        match outcome {
            Err(error) if tries > 0 && error.is_conflict() => {}
            outcome => {
                door.note(&outcome);
                return outcome;
            }
        }
    }
}

/// Runs one work and commits or undoes what it was given.
///
/// # Errors
/// What was given can be neither committed nor undone.
async fn run_in(tx: DatabaseTransaction, points: &Points, work: &Work) -> Result<Outcome, StoreError> {
    let tx = Arc::new(tx);
    let outcome = AssertUnwindSafe((work.run)(Arc::clone(&tx))).catch_unwind().await;
    let outcome = outcome.unwrap_or_else(|panic| Err(StoreError::panicked(&*panic)));
    let Ok(tx) = Arc::try_unwrap(tx) else {
        return Err(StoreError::Refused("a work kept its transaction".into()));
    };
    match outcome {
        Ok(value) => {
            points.pass("store.commit").await;
            tx.commit().await?;
            points.pass("store.committed").await;
            Ok(Ok(value))
        }
        Err(error) => {
            tx.rollback().await?;
            Ok(Err(error))
        }
    }
}
