//! `zayavka run`: the service.

use std::{path::Path, sync::Arc};

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Exit, complain, database::trouble, load_checked};
use crate::{
    app::{self, App, StartError, lifecycle::Ending},
    clock::{SystemClock, SystemDice},
    telemetry,
};

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Stop when standard input ends: the sandbox's child must not outlive it.
    #[arg(long, hide = true)]
    stop_with_parent: bool,
}

pub(super) async fn run(path: &Path, args: &RunArgs) -> Exit {
    let (config, checked) = match load_checked(path) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    telemetry::init(&config.log.filter, config.log.format);
    complain(&checked.warnings);
    let app = match App::build(config.clone(), checked, Arc::new(SystemClock), Arc::new(SystemDice)).await {
        Ok(app) => app,
        Err(StartError::Store(error)) => {
            eprintln!("{}", trouble(&config, &error));
            return Exit::Usage;
        }
        Err(error) => {
            eprintln!("zayavka cannot start: {error}");
            return Exit::Usage;
        }
    };
    let stop = CancellationToken::new();
    let running = app::lifecycle::run(app, stop.clone());
    tokio::select! {
        ending = running => ended(&ending),
        second = stop_signals(stop, args.stop_with_parent) => second,
    }
}

fn ended(ending: &Ending) -> Exit {
    match ending {
        Ending::Drained => tracing::info!("stopped; nothing is under way"),
        Ending::CutShort => tracing::warn!("stopped before all was finished; the next start goes on from the database"),
        Ending::Died(task) => {
            tracing::error!(task, "a task ended by itself; stopping, so that a supervisor can start the service anew");
            return Exit::NotWell;
        }
    }
    Exit::Done
}

/// The first signal drains, the second stops at once. Returns only at the second.
async fn stop_signals(stop: CancellationToken, with_parent: bool) -> Exit {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("signals cannot be listened for");
        return Exit::NotWell;
    };
    for round in 0..2 {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = parent_gone(), if with_parent && round == 0 => {}
        }
        stop.cancel();
    }
    tracing::warn!("stopped at once on the second signal");
    Exit::Done
}

/// Waits until standard input ends. A thread of its own: a blocked read must not hold the runtime's end up.
async fn parent_gone() {
    let (gone, known) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Nobody writes there: the only news is its end.
        drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        let _ = gone.send(());
    });
    drop(known.await);
}
