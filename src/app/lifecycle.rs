//! Running: named tasks over the parts, drained on the first signal. A task that dies ends the process, so that a
//! supervisor starts a whole one. The HTTP surface comes first and goes last, so that it can say how the rest stands.

use std::{future::Future, sync::Arc, time::Duration};

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
    config::Receive,
    ids::OperationId,
    inbox::{
        Ended, Inbox,
        lanes::Lanes,
        poll::{Polled, Poller},
    },
    store::inbox::Claimed,
    web::{self, Hook, Receiving, Registration, Web},
    worker::Worker,
};

/// Rows handled at once.
const HANDLED_AT_ONCE: usize = 64;

/// Rows handed over from intake to handling and not taken yet.
const HANDED_OVER: usize = 256;

/// How long a poll waits at the server.
const POLL_WAIT: Duration = Duration::from_secs(25);

/// How often rows that nobody handles are looked for.
const SWEEP: Duration = Duration::from_secs(2);

/// How often the desk is looked after.
const REMINDS: Duration = Duration::from_secs(15);

/// How long it may take to store that what was under way is unknown now.
const AFTER_CUT: Duration = Duration::from_secs(5);

/// What wakes the loops before their time.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    pub(super) outbox: Notify,
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

/// Runs the service on the address it was told to listen at, until `stop` is cancelled, then drains.
pub async fn run(app: App, stop: CancellationToken) -> Ending {
    let listen = app.config.web.listen;
    match TcpListener::bind(listen).await {
        Ok(listener) => run_at(app, listener, stop).await,
        Err(error) => {
            tracing::error!(%listen, %error, "nothing can be listened for there: give web.listen another address");
            Ending::Died("web")
        }
    }
}

/// The same on a listener that is open already.
pub async fn run_at(app: App, listener: TcpListener, stop: CancellationToken) -> Ending {
    let app = Arc::new(app);
    let wakes = Arc::new(Wakes::default());
    // Intake stops first, the worker when nothing more can come in, the outbox when nothing more can be said; the HTTP
    // surface answers "later" meanwhile and stops last.
    let (handled, worked, said) = (CancellationToken::new(), CancellationToken::new(), CancellationToken::new());
    let (rows, incoming) = mpsc::channel(HANDED_OVER);
    let (ops, to_send) = mpsc::channel(HANDED_OVER);
    let mut tasks = Tasks::new();
    let (receiving, hook) = intake(&app, &mut tasks, rows, &stop);
    let web = Web { inbox: app.inbox.clone(), hook, receiving, stop: stop.clone() };
    spawn(&mut tasks, "web", web::serve(listener, web, said.clone()));
    let handling = handle(app.inbox.clone(), incoming, ops, Arc::clone(&wakes), stop.clone(), handled.clone());
    spawn(&mut tasks, "handling", handling);
    spawn(&mut tasks, "worker", work(Arc::clone(&app), to_send, Arc::clone(&wakes), handled, worked.clone()));
    spawn(&mut tasks, "outbox", super::saying::say(Arc::clone(&app), Arc::clone(&wakes), worked, said));
    spawn(&mut tasks, "reminders", remind(Arc::clone(&app), Arc::clone(&wakes), stop.clone()));
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

/// Starts taking updates in, one way or the other.
fn intake(
    app: &App,
    tasks: &mut Tasks,
    rows: mpsc::Sender<Vec<Claimed>>,
    stop: &CancellationToken,
) -> (Arc<Receiving>, Option<Hook>) {
    let clock = Arc::clone(&app.clock);
    match &app.config.telegram.receive {
        Receive::Polling => {
            let receiving = Arc::new(Receiving::by_polling(clock));
            spawn(tasks, "intake", poll(app.inbox.clone(), rows, Arc::clone(&receiving), stop.clone()));
            (receiving, None)
        }
        Receive::Webhook(webhook) => {
            let receiving = Arc::new(Receiving::by_webhook(Arc::clone(&clock)));
            let hook = Hook::new(webhook, rows.downgrade());
            let registration = Registration::new(webhook.clone(), app.telegram.clone(), Arc::clone(&receiving), clock);
            spawn(tasks, "intake", stay_registered(registration, rows, stop.clone()));
            (receiving, Some(hook))
        }
    }
}

/// Keeps the webhook's registration, and with `rows` the leave to take updates in, until the drain.
async fn stay_registered(mut registration: Registration, _rows: mpsc::Sender<Vec<Claimed>>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let pause = tokio::select! {
            pause = registration.step() => pause,
            () = stop.cancelled() => return,
        };
        drop(timeout(pause, stop.cancelled()).await);
    }
}

/// Takes updates in by long polling.
async fn poll(inbox: Inbox, rows: mpsc::Sender<Vec<Claimed>>, receiving: Arc<Receiving>, stop: CancellationToken) {
    let mut poller = Poller::default();
    // The first poll, and one after a trouble that passes, comes back at once: readiness need not wait for an update.
    let mut wait = Duration::ZERO;
    while !stop.is_cancelled() {
        let polled = tokio::select! {
            polled = poller.poll(&inbox, wait) => polled,
            () = stop.cancelled() => return,
        };
        match polled {
            Polled::Fresh(fresh) => {
                receiving.works(Vec::new());
                wait = POLL_WAIT;
                if rows.send(fresh).await.is_err() {
                    return;
                }
            }
            Polled::Nothing => {
                receiving.works(Vec::new());
                wait = POLL_WAIT;
            }
            Polled::Trouble { why, wait: pause, needs_operator } => {
                receiving.trouble(why, needs_operator);
                // Of two pollers each short poll would work: only a long one shows that the other is gone.
                wait = if needs_operator { POLL_WAIT } else { Duration::ZERO };
                drop(timeout(pause, stop.cancelled()).await);
            }
        }
    }
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
    let mut running: JoinSet<(i64, i64, Ended)> = JoinSet::new();
    let mut open = true;
    // At the start everything a crash left behind is due.
    let mut sweep_now = true;
    let mut sweep = tokio::time::interval(SWEEP);
    while open || !lanes.is_idle() {
        if sweep_now && !stop.is_cancelled() {
            match inbox.claim_left_over(lanes.held().clone(), 256).await {
                Ok(left) => lanes.add(left),
                Err(error) => tracing::warn!(%error, "left-over updates could not be looked for"),
            }
            sweep_now = false;
        }
        while lanes.running() < HANDLED_AT_ONCE {
            let Some(row) = lanes.take() else { break };
            let inbox = inbox.clone();
            running.spawn(async move { (row.lane, row.row, inbox.handle(&row).await) });
        }
        tokio::select! {
            more = incoming.recv(), if open => match more {
                Some(rows) => lanes.add(rows),
                None => open = false,
            },
            Some(ended) = running.join_next() => match ended {
                Ok((lane, row, ended)) => {
                    lanes.done(lane, row);
                    wakes.outbox.notify_one();
                    sweep_now |= matches!(ended, Ended::Left | Ended::Later);
                    if let Ended::Done(send_now) = ended {
                        for operation in send_now {
                            // A full channel loses nothing: the operation falls due by itself.
                            let _ = ops.try_send(operation);
                        }
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "a handling task died; its row is claimed again when its lease ends");
                    return;
                }
            },
            _ = sweep.tick() => sweep_now = true,
        }
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
    let mut running: JoinSet<Option<Timestamp>> = JoinSet::new();
    let mut open = true;
    let mut held_until: Option<Timestamp> = None;
    loop {
        let draining = handled.is_cancelled() && !open;
        let now = app.clock.now();
        // A tap is answered before its call begins; one whose answer was waited for in vain begins all the same.
        for id in worker.left_begun(if draining { None } else { Some(now) }) {
            running.spawn(go_on(Arc::clone(&worker), id));
        }
        if draining && running.is_empty() {
            return;
        }
        let room = worker.concurrency.saturating_sub(running.len());
        let mut next = None;
        if !draining && room > 0 && held_until.is_none_or(|until| now >= until) {
            held_until = None;
            match worker.due(room).await {
                Ok(due) => {
                    for stored in due {
                        let worker = Arc::clone(&worker);
                        running.spawn(async move { worker.step(stored).await.again_at });
                    }
                    next = worker.next_due().await.ok().flatten();
                }
                Err(error) => tracing::warn!(%error, "due operations could not be looked for"),
            }
        }
        let pause = pause(app.config.worker.tick, now, [next, held_until]);
        tokio::select! {
            named = to_send.recv(), if open && room > 0 => match named {
                Some(id) => drop(running.spawn(go_on(Arc::clone(&worker), id))),
                None => open = false,
            },
            Some(ended) = running.join_next() => {
                wakes.outbox.notify_one();
                match ended {
                    Ok(Some(again_at)) => held_until = Some(held_until.map_or(again_at, |until| until.max(again_at))),
                    Ok(None) => {}
                    Err(error) => {
                        tracing::error!(%error, "a sending task died; its lease ends and the operation becomes unknown");
                        return;
                    }
                }
            },
            _ = timeout(pause, std::future::pending::<()>()) => {}
        }
    }
}

async fn go_on(worker: Arc<Worker>, id: OperationId) -> Option<Timestamp> {
    if let Err(error) = worker.go_on(id).await {
        tracing::warn!(operation.id = %id, %error, "an operation could not be worked on at once; it falls due by itself");
    }
    None
}

/// Does what time alone asks for at the desk, now and then.
async fn remind(app: Arc<App>, wakes: Arc<Wakes>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match app.reminder.tick().await {
            Ok(0) => {}
            Ok(_) => wakes.outbox.notify_one(),
            Err(error) => tracing::warn!(%error, "the desk could not be looked after now"),
        }
        drop(timeout(REMINDS, stop.cancelled()).await);
    }
}

/// How long to wait for a signal: until the earliest known moment, at most `floor`.
pub(super) fn pause<const N: usize>(floor: Duration, now: Timestamp, moments: [Option<Timestamp>; N]) -> Duration {
    let earliest = moments.into_iter().flatten().min();
    earliest.map_or(floor, |moment| moment.since(now).clamp(Duration::from_millis(1), floor))
}
