//! Receiving: the polls or the webhook's registration, whose turn it is, and what an outage cost.

use std::{sync::Arc, time::Duration};

use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{Tasks, spawn};
use crate::{
    app::App,
    clock::{Dice, Timestamp},
    config::Receive,
    inbox::{
        Inbox,
        doubt::Doubt,
        poll::{ALLOWED, Polled, Poller},
        turn::Turn,
    },
    store::inbox::Claimed,
    web::{Hook, Receiving, Registration},
    worker::outage::Outage,
};

/// How long a poll waits at the server.
const POLL_WAIT: Duration = Duration::from_secs(25);

/// The same while people are to be told of an outage, once nothing more comes.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// The longest pause between two polls that do not work.
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

/// Starts taking updates in, one way or the other.
pub(super) fn start(
    app: &App,
    tasks: &mut Tasks,
    rows: mpsc::Sender<Vec<Claimed>>,
    stop: &CancellationToken,
) -> (Arc<Receiving>, Option<Hook>) {
    let clock = Arc::clone(&app.clock);
    let outage = Arc::clone(&app.outage);
    match &app.config.telegram.receive {
        Receive::Polling => {
            let receiving = Arc::new(Receiving::by_polling(Arc::clone(&clock)));
            let turn = Turn::new(app.store.clone(), app.inbox.bot, app.retainer.holder.clone(), clock);
            let (inbox, dice, receiving) = (app.inbox.clone(), Arc::clone(&app.worker.dice), Arc::clone(&receiving));
            let (known, drop_waiting) = (Arc::clone(&receiving), app.drop_waiting);
            let polling = Polling { inbox, rows, receiving: known, turn, outage, dice, drop_waiting };
            spawn(tasks, "intake", polling.run(stop.clone()));
            (receiving, None)
        }
        Receive::Webhook(webhook) => {
            let receiving = Arc::new(Receiving::by_webhook(Arc::clone(&clock)));
            let doubt = Arc::new(Doubt::unknown());
            let hook = Hook::new(webhook, rows.downgrade(), Arc::clone(&doubt));
            let registration = Registration::new(webhook.clone(), app.telegram.clone(), Arc::clone(&receiving), clock);
            let registration = if app.drop_waiting { registration.dropping_first() } else { registration };
            let known = Arc::clone(&receiving);
            spawn(tasks, "intake", stay_registered(registration, known, (outage, doubt), rows, stop.clone()));
            (receiving, Some(hook))
        }
    }
}

/// Keeps the webhook's registration, and with `rows` the leave to take updates in, until the drain.
async fn stay_registered(
    mut registration: Registration,
    receiving: Arc<Receiving>,
    (outage, doubt): (Arc<Outage>, Arc<Doubt>),
    _rows: mpsc::Sender<Vec<Claimed>>,
    stop: CancellationToken,
) {
    match outage.last_proof().await {
        Ok(last) => doubt.starts(last, outage.clock.now()),
        // Nobody can say: as after an outage.
        Err(error) => {
            note::<()>(Err(error));
            doubt.starts(Some(Timestamp::default()), outage.clock.now());
        }
    }
    while !stop.is_cancelled() {
        let pause = tokio::select! {
            pause = registration.step() => pause,
            () = stop.cancelled() => break,
        };
        let mut again = pause;
        if receiving.verdict().reasons.is_empty() {
            let (now, nothing_waits) = (outage.clock.now(), registration.nothing_waits());
            doubt.proven(now, nothing_waits);
            note(outage.proven(true, nothing_waits).await);
            if outage.is_untold() || doubt.is_on(now) {
                again = pause.min(SHORT_WAIT * 5);
            }
        }
        drop(timeout(again, stop.cancelled()).await);
    }
    note(outage.stops().await);
}

fn note<T>(done: Result<T, crate::store::StoreError>) {
    if let Err(error) = done {
        tracing::warn!(%error, "when updates last could come in could not be noted");
    }
}

/// Takes updates in by long polling.
struct Polling {
    inbox: Inbox,
    rows: mpsc::Sender<Vec<Claimed>>,
    receiving: Arc<Receiving>,
    turn: Turn,
    outage: Arc<Outage>,
    dice: Arc<dyn Dice>,
    drop_waiting: bool,
}

impl Polling {
    async fn run(self, stop: CancellationToken) {
        tracing::info!(allowed_updates = ?ALLOWED, "updates are asked for by long polling");
        let mut poller = self.fresh().await;
        if self.drop_waiting {
            poller = poller.dropping_first();
        }
        let mut stands_by = false;
        // The first poll, and one after a trouble that passes, comes back at once: readiness need not wait for an update.
        let mut wait = Duration::ZERO;
        let mut failures = 0_u32;
        while !stop.is_cancelled() {
            match self.turn.take().await {
                Ok(true) => stands_by = false,
                Ok(false) => {
                    if !stands_by {
                        tracing::info!("another replica polls; this one stands by");
                        // Long after the start, whoever asked for it has forgotten it.
                        if poller.is_dropping() {
                            tracing::warn!(
                                "nothing was dropped: another replica polls, or died a moment ago; stop them all, wait for half a minute and start anew"
                            );
                        }
                    }
                    stands_by = true;
                    self.receiving.works(Vec::new());
                    (poller, wait) = (self.fresh().await, Duration::ZERO);
                    drop(timeout(self.turn.look_again_in().await, stop.cancelled()).await);
                    continue;
                }
                Err(error) => {
                    tracing::debug!(%error, "whose turn it is to poll cannot be told");
                    self.receiving.trouble("the database cannot say whose turn it is to poll".to_owned(), false);
                    drop(timeout(SHORT_WAIT, stop.cancelled()).await);
                    continue;
                }
            }
            let began = self.inbox.clock.now();
            let answer = tokio::select! {
                answer = poller.ask(&self.inbox, wait) => answer,
                () = self.turn.lost() => {
                    tracing::warn!("another replica has taken over polling: this one was held up");
                    continue;
                }
                () = stop.cancelled() => break,
            };
            let in_doubt = poller.is_in_doubt();
            // Never cut off: what is stored must be handed over.
            let polled = poller.keep(&self.inbox, began, answer).await;
            if let Polled::Trouble { why, wait: pause, needs_operator } = polled {
                self.receiving.trouble(why, needs_operator);
                // Of two pollers each short poll would work: only a long one shows that the other is gone.
                wait = if needs_operator { POLL_WAIT } else { Duration::ZERO };
                let own = Duration::from_secs(1 << failures.min(4)).min(LONGEST_PAUSE);
                failures += 1;
                // Bots that lost one server must not come back to it in one instant.
                let jitter = self.dice.below(u64::try_from(own.as_millis() / 4).unwrap_or(0).max(1));
                let own = own + Duration::from_millis(jitter);
                drop(timeout(pause.max(own), stop.cancelled()).await);
                continue;
            }
            failures = 0;
            self.receiving.works(Vec::new());
            let came_early = self.inbox.clock.now().since(began) < SHORT_WAIT;
            let nothing = polled == Polled::Nothing;
            // The same updates again and again are no better than none.
            let no_news = matches!(&polled, Polled::Fresh(fresh) if fresh.is_empty()) || nothing;
            if let Polled::Fresh(fresh) = polled
                && !fresh.is_empty()
                && self.rows.send(fresh).await.is_err()
            {
                break;
            }
            note(self.outage.proven(true, nothing || !in_doubt).await);
            if no_news && came_early && wait >= SHORT_WAIT {
                // A server that does not wait, or that forgets what was acknowledged, must not be asked in a hot loop.
                drop(timeout(SHORT_WAIT, stop.cancelled()).await);
            }
            wait = if self.outage.is_untold() { SHORT_WAIT } else { POLL_WAIT };
        }
        note(self.outage.stops().await);
        self.turn.give_back().await;
    }

    /// A poller that knows when a poll last worked, in whatever process.
    async fn fresh(&self) -> Poller {
        let mut poller = Poller::default();
        match self.outage.last_proof().await {
            Ok(at) => poller.worked_before(at),
            Err(error) => note::<()>(Err(error)),
        }
        poller
    }
}
