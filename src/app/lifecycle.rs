//! Running: named tasks over the parts, drained on the first signal. A task that dies ends the process, so that a
//! supervisor starts a whole one. The HTTP surface comes first and goes last, so that it can say how the rest stands.

mod receive;

use std::{future::Future, io::ErrorKind, ops::Range, sync::Arc, time::Duration};

use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::App;
use crate::{
    clock::Timestamp,
    config::Config,
    ids::OperationId,
    inbox::{Ended, Inbox, lanes::Lanes},
    store::{StoreError, inbox::Claimed},
    web::{self, Web},
    worker::{Learnt, Worker},
};

/// Rows handled at once.
const HANDLED_AT_ONCE: usize = 64;

/// Rows handled and taps answered at once, together.
const UNDER_WAY: usize = 2 * HANDLED_AT_ONCE;

/// Rows that wait or run here at most: the rest waits at Telegram, or stored, and costs no memory.
const HELD_AT_MOST: usize = 2_048;

/// Left-over rows taken by one sweep.
const SWEPT_AT_ONCE: u64 = 256;

/// Rows handed over from intake to handling and not taken yet.
const HANDED_OVER: usize = 256;

/// How often rows that nobody handles are looked for.
const SWEEP: Duration = Duration::from_secs(2);

/// How often the desk is looked after.
const REMINDS: Duration = Duration::from_secs(15);

/// The longest pause between two looks at what has been kept long enough.
const RETAINS: Duration = Duration::from_secs(60);

/// The pause between two chunks of it: so that taps have the disk for most of the time.
const BETWEEN_CHUNKS: Duration = Duration::from_millis(100);

/// How long it may take to store that what was under way is unknown now.
const AFTER_CUT: Duration = Duration::from_secs(5);

/// What wakes the loops before their time.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    pub(super) worker: Notify,
    pub(super) outbox: Notify,
}

impl Wakes {
    /// Another replica has written something. The updates it has stored are its own to handle: nobody else is woken.
    fn all(&self) {
        self.worker.notify_one();
        self.outbox.notify_one();
    }
}

/// Why a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// Asked to, and nothing is under way any more.
    Drained,
    /// Asked to, and something was still under way; it goes on from the database at the next start.
    CutShort,
    /// A task ended by itself: this is a fault.
    Died(&'static str),
}

/// What a task tells when it ends.
type Tasks = JoinSet<&'static str>;

/// Opens the address of `[web] listen`: before anything else, so that a second service on one machine stops at the door.
///
/// # Errors
/// What, where and what to do, in words.
pub async fn open(config: &Config) -> Result<TcpListener, String> {
    let listen = config.web.listen;
    TcpListener::bind(listen).await.map_err(|error| {
        let (why, hint) = match error.kind() {
            ErrorKind::AddrInUse => (
                "another program listens there already".to_owned(),
                "stop it (is the service running twice?), or give [web] listen another port",
            ),
            ErrorKind::AddrNotAvailable => {
                ("this machine has no such address".to_owned(), "127.0.0.1:8080, or 0.0.0.0:8080 for all addresses")
            }
            ErrorKind::PermissionDenied => {
                ("not allowed".to_owned(), "ports below 1024 need a right of their own: take a higher one")
            }
            _ => (error.to_string(), "give [web] listen another address"),
        };
        format!("{}: `web.listen` {listen}: {why} — {hint}", config.source)
    })
}

/// Runs the service until `stop` is cancelled, then drains; `listener` is the one that [`open`] gave.
pub async fn run_at(app: App, listener: TcpListener, stop: CancellationToken) -> Ending {
    let app = Arc::new(app);
    let wakes = Arc::new(Wakes::default());
    // Intake stops first, the worker when nothing more can come in, the outbox when nothing more can be said; the HTTP
    // surface answers "later" meanwhile and stops last.
    let (handled, worked, said) = (CancellationToken::new(), CancellationToken::new(), CancellationToken::new());
    let (rows, incoming) = mpsc::channel(HANDED_OVER);
    let (ops, to_send) = mpsc::channel(HANDED_OVER);
    let mut tasks = Tasks::new();
    let (receiving, hook) = receive::start(&app, &mut tasks, rows, &stop);
    let web = Web { inbox: app.inbox.clone(), hook, receiving, stop: stop.clone() };
    spawn(&mut tasks, "web", web::serve(listener, web, said.clone()));
    let handling = handle(app.inbox.clone(), incoming, ops, Arc::clone(&wakes), stop.clone(), handled.clone());
    spawn(&mut tasks, "handling", handling);
    spawn(&mut tasks, "worker", work(Arc::clone(&app), to_send, Arc::clone(&wakes), handled, worked.clone()));
    spawn(&mut tasks, "outbox", super::saying::say(Arc::clone(&app), Arc::clone(&wakes), worked, said));
    spawn(&mut tasks, "reminders", remind(Arc::clone(&app), Arc::clone(&wakes), stop.clone()));
    spawn(&mut tasks, "wake-ups", wake_up(Arc::clone(&app), Arc::clone(&wakes), stop.clone()));
    spawn(&mut tasks, "retention", retain(Arc::clone(&app), stop.clone()));
    spawn(&mut tasks, "menu", super::menu::keep(Arc::clone(&app), stop.clone()));
    let first = tokio::select! {
        ended = tasks.join_next() => ended,
        () = stop.cancelled() => None,
    };
    if let Some(ended) = first
        && !stop.is_cancelled()
    {
        let name = ended.unwrap_or("a task that panicked");
        stop.cancel();
        return Ending::Died(name);
    }
    tracing::info!("draining: no more updates are taken, what is under way is finished");
    let drained = timeout(app.config.worker.drain, ended(&mut tasks)).await.is_ok();
    if !drained {
        tracing::warn!("what is still under way is not waited for any longer: it counts as unknown");
        app.worker.cut.cancel();
        app.outbox.queue.cut.cancel();
        // Nothing may stay as if its call were still being made.
        if timeout(AFTER_CUT, ended(&mut tasks)).await.is_err() {
            tracing::error!("the database did not take in time what was under way");
        }
    }
    tasks.shutdown().await;
    if drained { Ending::Drained } else { Ending::CutShort }
}

async fn ended(tasks: &mut Tasks) {
    while tasks.join_next().await.is_some() {}
}

fn spawn(tasks: &mut Tasks, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
    tasks.spawn(async move {
        task.await;
        name
    });
}

/// Handles rows in turns, and now and then looks for rows that nobody handles.
async fn handle(
    inbox: Inbox,
    mut incoming: mpsc::Receiver<Vec<Claimed>>,
    ops: mpsc::Sender<OperationId>,
    wakes: Arc<Wakes>,
    stop: CancellationToken,
    handled: CancellationToken,
) {
    let _on_end = handled.drop_guard();
    let mut lanes = Lanes::default();
    let mut running = JoinSet::new();
    // A person's next row does not wait for the answer to their last tap; what is sent for the tap does.
    let mut answering: JoinSet<Vec<OperationId>> = JoinSet::new();
    let mut open = true;
    // At the start everything a crash left behind is due.
    let mut sweep_now = true;
    // A sweep that found something may have left more behind: the next one need not wait.
    let mut more_left = false;
    let mut sweep = tokio::time::interval(SWEEP);
    while open || !lanes.is_idle() || !answering.is_empty() {
        if sweep_now && !stop.is_cancelled() && lanes.held().len() < HELD_AT_MOST {
            match inbox.claim_left_over(lanes.held().clone(), SWEPT_AT_ONCE).await {
                Ok(left) => {
                    more_left = !left.is_empty();
                    lanes.add(left);
                }
                Err(error) => tracing::warn!(%error, "left-over updates could not be looked for"),
            }
            sweep_now = false;
        }
        while lanes.running() < HANDLED_AT_ONCE && lanes.running() + answering.len() < UNDER_WAY {
            let Some(row) = lanes.take() else { break };
            let inbox = inbox.clone();
            running.spawn(async move {
                let settled = inbox.settle(&row).await;
                (row, settled)
            });
        }
        tokio::select! {
            // What does not fit here waits where it is: at Telegram, or stored.
            more = incoming.recv(), if open && lanes.held().len() < HELD_AT_MOST => match more {
                Some(rows) => lanes.add(rows),
                None => open = false,
            },
            Some(ended) = running.join_next() => match ended {
                Ok((row, (ended, tap))) => {
                    lanes.done(row.lane, row.row);
                    wakes.outbox.notify_one();
                    sweep_now |= matches!(ended, Ended::Left | Ended::Later);
                    if more_left && lanes.held().len() < HANDLED_AT_ONCE {
                        (sweep_now, more_left) = (true, false);
                    }
                    let send_now = if let Ended::Done(send_now) = ended { send_now } else { Vec::new() };
                    match tap {
                        Some(tap) => {
                            let inbox = inbox.clone();
                            answering.spawn(async move {
                                inbox.answer(&row, tap).await;
                                send_now
                            });
                        }
                        None => name(&ops, send_now),
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "a handling task died; its row is claimed again when its lease ends");
                    return;
                }
            },
            Some(answered) = answering.join_next() => match answered {
                Ok(send_now) => name(&ops, send_now),
                Err(error) => {
                    tracing::error!(%error, "a task that answers a tap died; what it was for falls due by itself");
                    return;
                }
            },
            _ = sweep.tick() => sweep_now = true,
        }
    }
}

/// Names operations to the worker. A full channel loses nothing: they fall due by themselves.
fn name(ops: &mpsc::Sender<OperationId>, operations: Vec<OperationId>) {
    for operation in operations {
        let _ = ops.try_send(operation);
    }
}

/// Carries operations to the CRM: what a handler names at once, what falls due, and what a restart left.
async fn work(
    app: Arc<App>,
    mut to_send: mpsc::Receiver<OperationId>,
    wakes: Arc<Wakes>,
    handled: CancellationToken,
    worked: CancellationToken,
) {
    let _on_end = worked.drop_guard();
    let worker: Arc<Worker> = Arc::clone(&app.worker);
    let mut running: JoinSet<Learnt> = JoinSet::new();
    let mut open = true;
    let mut held: Option<Range<Timestamp>> = None;
    loop {
        let draining = handled.is_cancelled() && !open;
        let now = app.clock.now();
        // A tap is answered before its call begins; one whose answer was waited for in vain begins all the same.
        let left = worker.left_begun(if draining { None } else { Some(now) });
        for id in left.into_iter().take(worker.concurrency.saturating_sub(running.len())) {
            let worker = Arc::clone(&worker);
            running.spawn(async move { told(id, worker.go_on_unnamed(id).await) });
        }
        if draining && running.is_empty() {
            return;
        }
        let room = worker.concurrency.saturating_sub(running.len());
        let mut next = None;
        // Outside of it, also before it began: the clock may have been set back.
        if !draining && room > 0 && held.as_ref().is_none_or(|held| !held.contains(&now)) {
            held = None;
            match worker.work(room).await {
                Ok((due, next_due)) => {
                    for stored in due {
                        let worker = Arc::clone(&worker);
                        running.spawn(
                            async move { worker.step(stored).await.again_at.map_or(Learnt::News, Learnt::Hold) },
                        );
                    }
                    next = next_due;
                }
                Err(error) => tracing::warn!(%error, "due operations could not be looked for"),
            }
        }
        let pause = pause(app.config.worker.tick, now, [next, held.as_ref().map(|held| held.end)]);
        tokio::select! {
            // What was found due has taken hands since `room` was counted.
            named = to_send.recv(), if open && running.len() < worker.concurrency => match named {
                Some(id) => {
                    let worker = Arc::clone(&worker);
                    running.spawn(async move { told(id, worker.go_on(id).await) });
                }
                None => open = false,
            },
            Some(ended) = running.join_next() => {
                wakes.outbox.notify_one();
                match ended {
                    Ok(Learnt::Hold(again_at)) => {
                        let known = held.take().unwrap_or(now..again_at);
                        held = Some(known.start..known.end.max(again_at));
                    }
                    // What it had held up need not wait out the time it was told.
                    Ok(Learnt::News) => held = None,
                    Ok(Learnt::Nothing) => {}
                    Err(error) => {
                        tracing::error!(%error, "a sending task died; its lease ends and the operation becomes unknown");
                        return;
                    }
                }
            },
            () = wakes.worker.notified() => {}
            _ = timeout(pause, std::future::pending::<()>()) => {}
        }
    }
}

fn told(id: OperationId, learnt: Result<Learnt, StoreError>) -> Learnt {
    learnt.unwrap_or_else(|error| {
        tracing::warn!(operation.id = %id, %error, "an operation could not be worked on at once; it falls due by itself");
        Learnt::News
    })
}

/// Does what time alone asks for at the desk, now and then.
async fn remind(app: Arc<App>, wakes: Arc<Wakes>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match app.reminder.tick().await {
            Ok(0) => {}
            Ok(_) => wakes.outbox.notify_one(),
            Err(error) => tracing::warn!(%error, "the desk could not be looked after now"),
        }
        match app.worker.see_to_the_key().await {
            Ok(false) => {}
            Ok(true) => wakes.outbox.notify_one(),
            Err(error) => tracing::warn!(%error, "whether the CRM keeps our key could not be seen now"),
        }
        drop(timeout(REMINDS, stop.cancelled()).await);
    }
}

/// Calls other replicas after commits, and looks when they call.
async fn wake_up(app: Arc<App>, wakes: Arc<Wakes>, stop: CancellationToken) {
    use secrecy::ExposeSecret as _;
    let database = &app.config.database;
    let name = &app.retainer.holder;
    if !database.wake_ups {
        return stop.cancelled().await;
    }
    // Through a pooler nothing is heard: only a direct way to the server, if there is one.
    let direct = database.direct_url.as_ref().or((!app.store.is_pooled()).then_some(&database.url));
    let url = direct.map(|url| url.expose_secret());
    if url.is_none() {
        tracing::info!("behind a pooler other replicas are not heard without database.direct_url: polling serves");
    }
    tokio::select! {
        () = app.store.call_others(name) => {}
        () = app.store.hear_others(url, name, || wakes.all()) => {}
        () = stop.cancelled() => {}
    }
}

/// Erases what has been kept long enough, chunk by chunk.
async fn retain(app: Arc<App>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let pause = match app.retainer.tick().await {
            Ok(0) => pause(RETAINS, app.clock.now(), [Some(app.retainer.again_at())]).max(BETWEEN_CHUNKS),
            Ok(_) => BETWEEN_CHUNKS,
            Err(error) => {
                tracing::warn!(%error, "what was kept long enough could not be erased now");
                RETAINS
            }
        };
        drop(timeout(pause, stop.cancelled()).await);
    }
}

/// How long to wait for a signal: until the earliest known moment, at most `floor`.
pub(super) fn pause<const N: usize>(floor: Duration, now: Timestamp, moments: [Option<Timestamp>; N]) -> Duration {
    let earliest = moments.into_iter().flatten().min();
    earliest.map_or(floor, |moment| moment.since(now).clamp(Duration::from_millis(1), floor))
}
