//! `getUpdates`: the long poll, and who may have it.

use std::{sync::Arc, time::Duration};

use super::{
    BotApi,
    params::{Params, Refusal},
};
use crate::sandbox::stage::Reply;

/// The longest wait, seconds.
const LONGEST: i64 = 50;

const WEBHOOK_ACTIVE: &str =
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
const OTHER_POLLER: &str = "terminated by other getUpdates request; make sure that only one bot instance is running";
const WEBHOOK_SET: &str = "terminated by setWebhook request";

impl BotApi {
    /// Waits for updates, until there are some, the time is over, or somebody else takes the place.
    pub(super) async fn poll(&self, params: &Params) -> Reply {
        let offset = params.int("offset").unwrap_or_default();
        let limit = params.int("limit").filter(|limit| (1..=100).contains(limit)).unwrap_or(100);
        let limit = usize::try_from(limit).unwrap_or(100);
        let seconds = params.int("timeout").unwrap_or_default().clamp(0, LONGEST);
        let wait = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        // An unreadable list is ignored, as Telegram does.
        let allowed = params.structure("allowed_updates").unwrap_or_default();
        let place = self.read(|book, _| {
            if book.hook.is_some() {
                return None;
            }
            book.queue.allow(allowed.as_ref());
            book.poller += 1;
            Some(book.poller)
        });
        let Some(place) = place else { return refused(WEBHOOK_ACTIVE) };
        self.queued.notify_waiters();
        let until_some = async {
            loop {
                // Listening begins before looking, so that nothing queued in between is slept through.
                let queued = self.queued.notified();
                tokio::pin!(queued);
                queued.as_mut().enable();
                match self.look(place, offset, limit) {
                    Ok(updates) if updates.is_empty() => queued.await,
                    ready => return ready,
                }
            }
        };
        let taken = match tokio::time::timeout(wait, until_some).await {
            Ok(taken) => taken,
            Err(_) => self.look(place, offset, limit),
        };
        // A poll that brought nothing changes nothing the page shows.
        if taken.as_ref().is_ok_and(|updates| !updates.is_empty()) {
            self.changes.note();
        }
        match taken {
            Ok(updates) => Reply::json(200, format!("{{\"ok\":true,\"result\":[{}]}}", updates.join(","))),
            Err(words) => refused(words),
        }
    }

    fn look(&self, place: u64, offset: i64, limit: usize) -> Result<Vec<Arc<str>>, &'static str> {
        self.read(|book, now| {
            if book.hook.is_some() {
                Err(WEBHOOK_SET)
            } else if book.poller != place {
                Err(OTHER_POLLER)
            } else {
                Ok(book.queue.take(offset, limit, now))
            }
        })
    }
}

fn refused(words: &str) -> Reply {
    Reply::json(409, Refusal::conflict(words).body(None))
}
