//! Whose command menus are in place, shared with whoever sets them. Telegram takes a menu for a private chat only once
//! its person has opened it: so whoever is met for the first time may need one.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;

use crate::ids::UserId;

/// The menus of one process.
#[derive(Debug, Clone, Default)]
pub struct Menus(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Whose menu is set, or was tried once they had written.
    seen: Mutex<BTreeSet<UserId>>,
    stale: Notify,
}

impl Menus {
    /// Somebody of the staff wrote in private.
    pub fn met(&self, user: UserId) {
        if self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(user) {
            self.go_stale();
        }
    }

    /// These people's menus are set.
    pub fn are_set(&self, users: impl IntoIterator<Item = UserId>) {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner).extend(users);
    }

    /// The menus are to be set anew: the staff changed, or its chat moved.
    pub fn go_stale(&self) {
        self.0.stale.notify_one();
    }

    /// Waits until they are to be set anew.
    pub async fn stale(&self) {
        self.0.stale.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn whoever_is_met_for_the_first_time_makes_them_stale_once() {
        let menus = Menus::default();
        menus.are_set([UserId(1)]);
        menus.met(UserId(1));
        assert!(menus.stale().now_or_never().is_none(), "it is set");
        menus.met(UserId(2));
        assert!(menus.stale().now_or_never().is_some());
        menus.met(UserId(2));
        assert!(menus.stale().now_or_never().is_none(), "one try for each");
    }
}
