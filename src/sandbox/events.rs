//! "Something changed": one number that grows, for the page's event stream and for whoever waits.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use tokio::{sync::watch, time::MissedTickBehavior};

/// The shortest time between two events of one stream.
const APART: Duration = Duration::from_millis(50);
/// How often a silent stream says that it is alive, so that nothing in between closes it.
const ALIVE: Duration = Duration::from_secs(15);

/// The number of changes so far.
#[derive(Debug, Clone)]
pub(super) struct Changes(watch::Sender<u64>);

impl Default for Changes {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Changes {
    /// Something the page shows has changed.
    pub(super) fn note(&self) {
        self.0.send_modify(|seq| *seq += 1);
    }

    pub(super) fn seq(&self) -> u64 {
        *self.0.borrow()
    }

    /// The event stream: one `state` event at once, then one after each change, coalesced.
    pub(super) fn stream(&self) -> Response {
        let mut pace = tokio::time::interval(APART);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = self.0.subscribe();
        seen.mark_changed();
        let events = stream::unfold((seen, pace), |(mut seen, mut pace)| async move {
            let text = match tokio::time::timeout(ALIVE, seen.changed()).await {
                Ok(Ok(())) => {
                    pace.tick().await;
                    format!("event: state\ndata: {}\n\n", *seen.borrow_and_update())
                }
                Ok(Err(_)) => return None,
                Err(_) => ": alive\n\n".to_owned(),
            };
            Some((Ok::<_, Infallible>(Bytes::from(text)), (seen, pace)))
        });
        let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
        (StatusCode::OK, headers, Body::from_stream(events)).into_response()
    }
}
