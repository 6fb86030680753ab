//! `zayavka run`: the service.

use std::{io::IsTerminal as _, path::Path, sync::Arc};

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Exit, check, complain, database::trouble, file, load_checked};
use crate::{
    app::{self, App, StartError, lifecycle::Ending},
    clock::{SystemClock, SystemDice},
    config::{self, Config, Receive},
    domain::role::LiveRoster,
    staff::Menus,
    telemetry,
};

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Stop when standard input ends: the sandbox's child must not outlive it.
    #[arg(long, hide = true)]
    stop_with_parent: bool,
    /// Drop what waits at Telegram, once, at the first contact of this start: what people wrote meanwhile is lost.
    #[arg(long)]
    drop_pending_updates_once: bool,
}

pub(super) async fn run(path: &Path, args: &RunArgs) -> Exit {
    let (config, checked) = match load_checked(path) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    telemetry::init(&config.log.filter, config.log.format);
    complain(&checked.warnings);
    if args.drop_pending_updates_once && !can_drop(&config) {
        eprintln!(
            "{}: --drop-pending-updates-once needs `telegram.webhook.register` = true: only setting the webhook drops what waits — whoever sets yours can say drop_pending_updates there",
            config.source
        );
        return Exit::Usage;
    }
    // What can never be sent stops no start: other forms may do well, and tickets are kept for people.
    complain(&check::unfit(&checked).as_warnings());
    let listener = match app::lifecycle::open(&config).await {
        Ok(listener) => listener,
        Err(why) => {
            eprintln!("{why}");
            return Exit::Usage;
        }
    };
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
    let app = App { drop_waiting: args.drop_pending_updates_once, ..app };
    let stop = CancellationToken::new();
    let (roster, menus) = (app.roster.clone(), app.menus.clone());
    let running = app::lifecycle::run_at(app, listener, stop.clone());
    tokio::select! {
        ending = running => ended(&ending),
        second = stop_signals(stop.clone(), args.stop_with_parent) => second,
        never = reloads(path, &roster, &menus, stop) => never,
    }
}

/// Whether this service is the one that makes the first contact.
fn can_drop(config: &Config) -> bool {
    match &config.telegram.receive {
        Receive::Polling => true,
        Receive::Webhook(webhook) => webhook.register,
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

/// SIGHUP has the staff list read again; it counts from the next action on. On a terminal it means that the terminal is
/// gone, and is a first signal to stop.
async fn reloads(path: &Path, roster: &LiveRoster, menus: &Menus, stop: CancellationToken) -> Exit {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        tracing::warn!("SIGHUP cannot be listened for: a changed staff list needs a new start");
        return std::future::pending().await;
    };
    while hangup.recv().await.is_some() {
        if std::io::stderr().is_terminal() {
            stop.cancel();
            continue;
        }
        match Config::load(file(path), &config::environment()) {
            Ok(config) => {
                roster.reload(app::roster(&config.staff));
                menus.go_stale();
                let of = &config.staff;
                tracing::info!(
                    owners = of.owners.len(),
                    reviewers = of.reviewers.len(),
                    viewers = of.viewers.len(),
                    "the staff list was read again; all else counts from the next start"
                );
            }
            // The list that was good stays.
            Err(problems) => {
                for problem in problems.iter() {
                    tracing::error!(%problem, "the configuration was not read again; the staff stay as they were");
                }
            }
        }
    }
    std::future::pending().await
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
