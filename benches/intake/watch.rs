//! The run's clock: what hangs is ended, and the last rounds go without what they have no time for. So the table is always
//! printed, with as many rounds a line as there was time.

use std::{
    any::Any,
    collections::HashMap,
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use tokio::time::timeout;

use crate::Sizes;

pub(crate) struct Watch {
    began: Instant,
    limit: Duration,
    stage_limit: Duration,
    /// The longest that a round of a stage took; all the time there is for one that hung.
    took: HashMap<&'static str, Duration>,
}

impl Watch {
    pub(crate) fn new(began: Instant, sizes: &Sizes) -> Self {
        Self { began, limit: sizes.limit, stage_limit: sizes.stage_limit, took: HashMap::new() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.began.elapsed())
    }

    /// Whether one more round of a stage would end in time; the first one is always tried.
    pub(crate) fn has_time_for(&self, stage: &str) -> bool {
        let has = self.took.get(stage).is_none_or(|took| *took <= self.left());
        if !has {
            println!("no time for: {stage}");
        }
        has
    }

    /// Runs a round of a stage. Why it could not be measured, if it could not; that keeps the others from nothing.
    pub(crate) async fn watched(&mut self, stage: &'static str, running: impl Future<Output = ()>) -> Option<String> {
        let (began, limit) = (Instant::now(), self.stage_limit.min(self.left()));
        let (why, took) = match timeout(limit, AssertUnwindSafe(running).catch_unwind()).await {
            Ok(Ok(())) => (None, began.elapsed()),
            Ok(Err(panic)) => (Some(words(panic.as_ref())), began.elapsed()),
            // It would hang again, and take the time of others.
            Err(_) => (Some(format!("it did not end within {} s", limit.as_secs())), self.limit),
        };
        let longest = self.took.entry(stage).or_default();
        *longest = took.max(*longest);
        println!("{stage}: {:.1} s", began.elapsed().as_secs_f64());
        why
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    // A cell of the table is one line.
    text.unwrap_or("it panicked").lines().next().unwrap_or_default().replace('|', "/")
}
