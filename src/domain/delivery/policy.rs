//! The figures deliveries are driven by, and which of them must fit together.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The figures deliveries are driven by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The longest a call can take; Telegram answers some throttled calls only after many seconds.
    pub request_timeout: Duration,
    /// How long a sender owns a call; longer than `request_timeout`.
    pub lease: Duration,
    /// How long an unknown one waits: longer than a call given up on can take to land. Doubles with each repeat.
    pub pause: Duration,
    /// The longest such pause.
    pub pause_most: Duration,
    /// How often a new message that may have arrived is sent once more; an edit is repeated without limit.
    pub repeats: u32,
    /// What follows when the last repeat of a new message is lost too.
    pub second_unknown: GiveUp,
}

/// How a repeated message that was lost again is given up on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GiveUp {
    /// A human decides.
    Review,
    /// It is let go.
    Drop,
}

impl Policy {
    /// Which inequalities do not hold, by setting and in words; empty when the figures fit together.
    #[must_use]
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let timeout = self.request_timeout;
        if timeout.is_zero() {
            found.push(("telegram.request_timeout", "is zero".to_owned()));
        }
        if self.lease <= timeout {
            found.push(("telegram.lease", format!("{:?} is not longer than request_timeout {timeout:?}", self.lease)));
        }
        if self.pause < timeout {
            found.push((
                "notices.pause",
                format!("{:?} is shorter than request_timeout {timeout:?}: an old edit could land last", self.pause),
            ));
        }
        if self.pause_most < self.pause {
            found
                .push(("telegram.pause_most", format!("{:?} is shorter than pause {:?}", self.pause_most, self.pause)));
        }
        found
    }

    /// How long a delivery waits in `unknown` after `repeats` repeats.
    #[must_use]
    pub fn pause_after(&self, repeats: u32) -> Duration {
        self.pause.saturating_mul(1 << repeats.min(16)).min(self.pause_most)
    }
}
