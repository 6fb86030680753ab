//! The figures a CRM and its operator give the machine, and the inequalities between them.

use std::time::Duration;

use super::OnWire;
use crate::{clock::Timestamp, domain::outcome::Promise};

/// What to do when the CRM, searched for the whole settle window, shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnAbsent {
    /// A human decides. The default: a very late request could still land.
    Review,
    /// Create it again. The operator accepts that a very late request could still land.
    Resend,
}

/// The figures one CRM's operations are driven by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What makes a repeat harmless.
    pub promise: Promise,
    /// Whether our key can be looked up (a keyed CRM may offer it too).
    pub can_look: bool,
    /// How long the CRM remembers a key; `None` = for ever. Only for [`Promise::Keyed`].
    pub key_life: Option<Duration>,
    /// The longest a call can take.
    pub request_timeout: Duration,
    /// How long a sender owns an attempt; longer than `request_timeout`.
    pub lease: Duration,
    /// How long after the last possible delivery a miss begins to count.
    pub settle: Duration,
    /// How many counting misses in a row mean absent; at least 1.
    pub looks: u32,
    /// The pause between looks.
    pub spacing: Duration,
    /// What absence leads to.
    pub on_absent: OnAbsent,
    /// How long an operation may go on being tried without reaching the CRM before a human is asked.
    pub patience: Duration,
    /// How long a lost one may stay unsearchable before a human is asked.
    pub look_patience: Duration,
    /// The first pause before another attempt; doubles each time.
    pub backoff_first: Duration,
    /// The longest such pause.
    pub backoff_most: Duration,
    /// How long a late twin is looked for.
    pub watch: Duration,
    /// After this long since the tap the person no longer looks at the card: the outcome gets a message of its own.
    pub tell_after: Duration,
}

/// An inequality that does not hold; the machine's promises rest on each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyProblem {
    /// The setting to change, as in the config file.
    pub setting: &'static str,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl Policy {
    /// Everything that is wrong with the figures; empty when they fit together.
    #[must_use]
    pub fn problems(&self) -> Vec<PolicyProblem> {
        let mut found = Vec::new();
        let mut refuse = |setting, what: String, hint: String| found.push(PolicyProblem { setting, what, hint });
        if self.request_timeout.is_zero() {
            refuse("crm.request_timeout", "is zero".into(), "give the CRM time to answer, such as \"10s\"".into());
        }
        if self.lease <= self.request_timeout {
            refuse(
                "crm.lease",
                format!("{:?} is not longer than the longest call, {:?}", self.lease, self.request_timeout),
                "a sender must be able to finish within its lease: raise lease, or lower request_timeout or the profile's timeout".into(),
            );
        }
        if self.looks == 0 {
            refuse(
                "crm.reconcile.looks",
                "is 0".into(),
                "at least one look must miss before absence is believed".into(),
            );
        }
        if self.can_look && self.spacing.is_zero() {
            refuse(
                "crm.reconcile.spacing",
                "is zero".into(),
                "leave the CRM a pause between looks, such as \"20s\"".into(),
            );
        }
        if self.promise != Promise::Blind && self.settle < self.request_timeout {
            refuse(
                "crm.reconcile.settle",
                format!("{:?} is shorter than request_timeout {:?}", self.settle, self.request_timeout),
                "a request given up on may still land: wait at least as long as one call may take".into(),
            );
        }
        if self.can_look && self.watch < self.settle {
            refuse(
                "crm.reconcile.watch",
                format!("{:?} is shorter than settle {:?}", self.watch, self.settle),
                "a late twin can land until the settle window is over: watch at least as long".into(),
            );
        }
        if self.on_absent == OnAbsent::Resend && self.promise == Promise::Blind {
            refuse(
                "crm.reconcile.on_absent",
                "\"resend\" with a CRM that can neither be searched nor refuses repeats".into(),
                "it would make doubles; use \"review\"".into(),
            );
        }
        if let Some(life) = self.key_life
            && life <= self.lease.saturating_add(self.settle)
        {
            refuse(
                "crm.lease",
                format!(
                    "the CRM forgets a key after {life:?}, within one lease of {:?} and settle of {:?}",
                    self.lease, self.settle
                ),
                "shorten lease or settle, or declare the profile without its key".into(),
            );
        }
        found
    }

    /// The pause before the attempt after `attempts` attempts, before jitter.
    #[must_use]
    pub fn backoff(&self, attempts: u32) -> Duration {
        let doublings = attempts.saturating_sub(1).min(16);
        self.backoff_first.saturating_mul(1 << doublings).min(self.backoff_most)
    }

    /// Whether a repeat under the same key still falls into the CRM's memory of it, even if it is written at the very end
    /// of its lease and then held as long as a call can be.
    #[must_use]
    pub fn key_lives(&self, on_wire: Option<OnWire>, at: Timestamp) -> bool {
        match (self.promise, self.key_life, on_wire) {
            (Promise::Keyed, None, _) | (Promise::Keyed, Some(_), None) => true,
            (Promise::Keyed, Some(life), Some(wire)) => at.plus(self.lease).plus(self.settle) < wire.first.plus(life),
            (Promise::Searchable | Promise::Blind, ..) => false,
        }
    }

    /// When misses begin to count.
    #[must_use]
    pub fn settled_at(&self, on_wire: Option<OnWire>) -> Timestamp {
        on_wire.map_or(Timestamp(i64::MIN), |wire| wire.last.plus(self.settle))
    }

    /// Whether the absence found at `found_at` is too old to be acted on at `at`.
    #[must_use]
    pub fn absence_is_stale(&self, found_at: Timestamp, at: Timestamp) -> bool {
        at > found_at.plus(self.settle.max(self.spacing))
    }
}
