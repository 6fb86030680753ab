//! The service as a child process: started, killed for good, ended politely, and never left behind.
//!
//! A task of its own watches each run, so that an order once given is carried out even if whoever gave it has gone,
//! and so that a child that ends by itself is noticed. Two more things tie the child to its parent: it stops when its
//! standard input ends, which happens however the parent dies; and it stands in a process group of its own, so that a
//! Ctrl-C in the terminal is the parent's to answer, not a signal to both.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    process::{Child, Command},
    sync::{oneshot, watch},
    task::JoinSet,
    time::timeout,
};

use crate::sandbox::{BoxFuture, ServiceControl, ServiceStatus};

/// How long a polite end may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The service, run again and again on the same database.
pub(super) struct Service {
    program: PathBuf,
    config: PathBuf,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    run: Option<Run>,
    starts: u32,
    /// Ends with the service: what still runs then is killed.
    watchers: JoinSet<()>,
}

/// One run of the process.
struct Run {
    pid: Option<u32>,
    order: oneshot::Sender<Order>,
    /// Closed when the process has ended.
    over: watch::Receiver<()>,
}

#[derive(Clone, Copy)]
enum Order {
    /// SIGKILL: no handler runs, nothing is tidied up.
    Kill,
    /// Its standard input ends, it drains.
    Stop,
}

impl Run {
    fn is_over(&self) -> bool {
        self.over.has_changed().is_err()
    }
}

impl Service {
    pub(super) fn new(config: PathBuf) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("the program cannot find itself: {error}"))?;
        Ok(Self { program, config, book: Mutex::default() })
    }

    pub(super) fn config(&self) -> &Path {
        &self.config
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the process unless it runs.
    pub(super) fn begin(&self) -> Result<(), String> {
        let mut book = self.book();
        if book.run.as_ref().is_some_and(|run| !run.is_over()) {
            return Err("the service is running already".to_owned());
        }
        let child = Command::new(&self.program)
            .args(["run", "--stop-with-parent", "--config"])
            .arg(&self.config)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("the service could not be started: {error}"))?;
        let pid = child.id();
        let ((order, orders), (ending, over)) = (oneshot::channel(), watch::channel(()));
        while book.watchers.try_join_next().is_some() {}
        book.watchers.spawn(attend(child, orders, ending));
        book.run = Some(Run { pid, order, over });
        book.starts = book.starts.saturating_add(1);
        Ok(())
    }

    /// Gives the order and waits until the process has ended; false if none ran.
    async fn end(&self, order: Order) -> bool {
        let Some(mut run) = self.book().run.take() else { return false };
        let ran = run.order.send(order).is_ok();
        // Nothing is ever sent there: it only closes.
        drop(run.over.changed().await);
        ran
    }

    /// Ends the process the polite way, if it runs.
    pub(super) async fn stop(&self) {
        self.end(Order::Stop).await;
    }
}

impl ServiceControl for Service {
    fn kill(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            if self.end(Order::Kill).await { Ok(()) } else { Err("the service is not running".to_owned()) }
        })
    }

    fn start(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move { self.begin() })
    }

    fn status(&self) -> ServiceStatus {
        let book = self.book();
        let pid = book.run.as_ref().filter(|run| !run.is_over()).and_then(|run| run.pid);
        ServiceStatus { running: pid.is_some(), pid, restarts: book.starts.saturating_sub(1) }
    }
}

/// Stays with one process until it has ended; `ending` is dropped when it has.
async fn attend(mut child: Child, orders: oneshot::Receiver<Order>, ending: watch::Sender<()>) {
    // Held here: waiting for a child would otherwise close its standard input, which tells it to stop.
    let lifeline = child.stdin.take();
    let order = tokio::select! {
        status = child.wait() => {
            let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            drop(ending);
            eprintln!("The service ended by itself ({how}). The page can start it again.");
            return;
        }
        order = orders => order.unwrap_or(Order::Kill),
    };
    if matches!(order, Order::Stop) {
        drop(lifeline);
        if timeout(PATIENCE, child.wait()).await.is_ok() {
            return;
        }
    }
    drop(child.kill().await);
}
