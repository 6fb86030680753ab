//! How updates come in, as far as this process knows. Whoever takes them in writes it; readiness reads it.
//!
//! Troubles are logged when they change, not at every try: a service without network must not fill the log.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::clock::{Clock, Timestamp};

/// A poll that worked longer ago than this proves nothing any more.
const POLL_PROVES: Duration = Duration::from_secs(90);

/// How updates come in.
#[derive(Debug)]
pub struct Receiving {
    /// How long a proof lasts; for ever where only its contrary is ever noticed.
    proof_lasts: Option<Duration>,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// When updates last provably could come in.
    proven_at: Option<Timestamp>,
    /// The last try did not work, in words.
    trouble: Option<String>,
    /// Waiting alone will not mend the trouble.
    needs_operator: bool,
    /// The trouble the log was last told of.
    logged: Option<String>,
    /// What an operator should look at although updates come in.
    remarks: Vec<String>,
    /// How many updates wait at Telegram, as it said last.
    waiting: Option<u64>,
}

/// What readiness says of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why no updates come in; empty when they do.
    pub reasons: Vec<String>,
    /// What to look at although they do.
    pub warnings: Vec<String>,
}

impl Receiving {
    /// By polling: only a poll that worked lately proves anything.
    #[must_use]
    pub fn by_polling(clock: Arc<dyn Clock>) -> Self {
        Self { proof_lasts: Some(POLL_PROVES), clock, known: Mutex::default() }
    }

    /// By webhook: once it is known to be set, it stays so until Telegram says otherwise. That Telegram cannot be asked
    /// does not keep it from bringing updates.
    #[must_use]
    pub fn by_webhook(clock: Arc<dyn Clock>) -> Self {
        Self { proof_lasts: None, clock, known: Mutex::default() }
    }

    /// Updates can come in; `remarks` are what an operator should look at all the same.
    pub fn works(&self, remarks: Vec<String>) {
        let now = self.clock.now();
        let mut known = self.known();
        if known.proven_at.is_none() || known.trouble.is_some() {
            tracing::info!("updates can come in");
        }
        for remark in remarks.iter().filter(|remark| !known.remarks.contains(remark)) {
            tracing::warn!(remark, "updates come in, but");
        }
        *known = Known { proven_at: Some(now), remarks, waiting: known.waiting, ..Known::default() };
    }

    /// So many updates wait at Telegram.
    pub fn waits(&self, updates: u64) {
        self.known().waiting = Some(updates);
    }

    /// How many updates wait at Telegram, as it said last; `None` where it is not asked.
    #[must_use]
    pub fn waiting(&self) -> Option<u64> {
        self.known().waiting
    }

    /// The last try did not work. What waiting alone will not mend counts at once, and until something works; the rest
    /// counts when the proof is over.
    pub fn trouble(&self, why: String, needs_operator: bool) {
        let mut known = self.known();
        if known.logged.as_ref() != Some(&why) {
            known.logged = Some(why.clone());
            if needs_operator {
                tracing::error!(why, "no updates come in");
            } else {
                tracing::warn!(why, "no updates come in for the moment");
            }
        }
        if needs_operator || !known.needs_operator {
            known.trouble = Some(why);
            known.needs_operator = needs_operator;
        }
    }

    /// What readiness says of it now.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let now = self.clock.now();
        let known = self.known();
        let mut verdict = Verdict { reasons: Vec::new(), warnings: known.remarks.clone() };
        let age = known.proven_at.map(|at| now.since(at));
        let over = match (age, self.proof_lasts) {
            // A known trouble says more.
            (None, _) if known.needs_operator => None,
            (None, _) => Some("it is not known yet whether updates come in".to_owned()),
            (Some(age), Some(lasts)) if age > lasts => {
                Some(format!("no updates could come in for {} seconds", age.as_secs()))
            }
            _ => None,
        };
        let stopped = over.is_some() || known.needs_operator;
        verdict.reasons.extend(over);
        if let Some(trouble) = &known.trouble {
            let into = if stopped { &mut verdict.reasons } else { &mut verdict.warnings };
            into.push(trouble.clone());
        }
        verdict
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn clock() -> ManualClock {
        ManualClock::at(Timestamp(1_796_030_962_000))
    }

    #[test]
    fn polling_is_ready_only_while_a_poll_worked_lately() {
        let clock = clock();
        let polling = Receiving::by_polling(Arc::new(clock.clone()));
        assert_eq!(polling.verdict().reasons, ["it is not known yet whether updates come in"]);
        polling.works(Vec::new());
        assert_eq!(polling.verdict(), Verdict::default());
        polling.trouble("Telegram cannot be reached".to_owned(), false);
        clock.advance(POLL_PROVES);
        let shaky = polling.verdict();
        assert!(shaky.reasons.is_empty() && shaky.warnings == ["Telegram cannot be reached"], "{shaky:?}");
        clock.advance(Duration::from_secs(1));
        let lines = ["no updates could come in for 91 seconds", "Telegram cannot be reached"];
        assert_eq!(polling.verdict().reasons, lines);
        polling.works(Vec::new());
        assert_eq!(polling.verdict(), Verdict::default());
    }

    #[test]
    fn what_only_an_operator_can_mend_counts_at_once() {
        let polling = Receiving::by_polling(Arc::new(clock()));
        polling.works(Vec::new());
        polling.trouble("this bot has a webhook".to_owned(), true);
        assert_eq!(polling.verdict().reasons, ["this bot has a webhook"]);
    }

    #[test]
    fn a_webhook_stays_set_until_telegram_says_otherwise() {
        let clock = clock();
        let webhook = Receiving::by_webhook(Arc::new(clock.clone()));
        webhook.trouble("Telegram cannot be reached".to_owned(), false);
        assert_eq!(webhook.verdict().reasons.len(), 2, "never known to be set");
        webhook.works(vec!["3 updates wait".to_owned()]);
        clock.advance(Duration::from_secs(86_400));
        webhook.trouble("Telegram cannot be reached".to_owned(), false);
        let verdict = webhook.verdict();
        assert_eq!(verdict.reasons, [""; 0]);
        assert_eq!(verdict.warnings, ["3 updates wait", "Telegram cannot be reached"]);
        webhook.trouble("the webhook points elsewhere".to_owned(), true);
        assert_eq!(webhook.verdict().reasons, ["the webhook points elsewhere"]);
        webhook.trouble("Telegram cannot be reached".to_owned(), false);
        assert_eq!(webhook.verdict().reasons, ["the webhook points elsewhere"], "nothing says it came back");
        webhook.works(Vec::new());
        assert_eq!(webhook.verdict(), Verdict::default());
    }
}
