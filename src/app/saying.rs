//! The loop that says what is stored to be said: a chat at a time in order, many chats at once.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    App,
    lifecycle::{Wakes, pause},
};
use crate::{
    clock::Timestamp,
    outbox::{Outbox, Stepped},
};

/// How often messages are looked for that no lane waits for: a release before this one leaves them.
const RESCUES: Duration = Duration::from_secs(60);

/// Runs until `worked` is cancelled and nothing is under way any more; cancels `said` then.
pub(super) async fn say(app: Arc<App>, wakes: Arc<Wakes>, worked: CancellationToken, said: CancellationToken) {
    let _on_end = said.drop_guard();
    let outbox: Arc<Outbox> = Arc::clone(&app.outbox);
    let mut running: JoinSet<Stepped> = JoinSet::new();
    let mut look = true;
    let mut again_at = None;
    let mut rescue = tokio::time::interval(RESCUES);
    // Once nothing more is written, what can go quickly still goes; the rest waits for the next start.
    let mut last_word_until: Option<Timestamp> = None;
    loop {
        for ready in outbox.queue.drain() {
            let outbox = Arc::clone(&outbox);
            running.spawn(async move {
                outbox.speak(ready).await;
                Stepped { moved: true, again_at: None }
            });
        }
        let now = app.clock.now();
        if look && outbox.queue.free() > 0 {
            match outbox.due().await {
                Ok(due) => {
                    again_at = due.again_at;
                    for chat in due.chats {
                        let outbox = Arc::clone(&outbox);
                        running.spawn(async move { outbox.step(chat).await });
                    }
                    look = false;
                }
                Err(error) => {
                    tracing::warn!(%error, "messages to send could not be looked for");
                    // A moment that has passed would be waited for again and again.
                    again_at = None;
                }
            }
        }
        if outbox.queue.free() == 0 {
            // The end of a call is the next thing that can change anything.
            again_at = None;
        }
        if last_word_until.is_some() && running.is_empty() && outbox.queue.is_empty() {
            return;
        }
        tokio::select! {
            Some(ended) = running.join_next() => match ended {
                Ok(stepped) => {
                    look |= stepped.moved && last_word_until.is_none_or(|until| app.clock.now() < until);
                    again_at = [again_at, stepped.again_at].into_iter().flatten().min();
                }
                Err(error) => {
                    tracing::error!(%error, "a task that talks to Telegram died; its lease ends and the message becomes unknown");
                    return;
                }
            },
            () = outbox.queue.woken() => {}
            () = wakes.outbox.notified() => look = true,
            () = worked.cancelled(), if last_word_until.is_none() => {
                outbox.queue.close();
                last_word_until = Some(now.plus(app.config.worker.drain / 4));
                look = true;
            }
            _ = rescue.tick() => match outbox.rescue().await {
                Ok(0) => {}
                Ok(_) => look = true,
                Err(error) => tracing::warn!(%error, "messages that no lane waits for could not be looked for"),
            },
            _ = timeout(pause(app.config.worker.tick, now, [again_at]), std::future::pending::<()>()) => look = true,
        }
    }
}
