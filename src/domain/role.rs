//! Who may do what, by numeric id alone: names change hands, ids do not.

use std::sync::{Arc, PoisonError, RwLock};

use crate::ids::{ChatId, UserId};

/// What a member of staff may do; each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// May look.
    Viewer,
    /// May decide.
    Reviewer,
    /// May also do what nobody can check.
    Owner,
}

/// The staff, as configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roster {
    /// The staff chat, if there is one.
    pub chat: Option<ChatId>,
    /// Its topic, if any.
    pub thread: Option<i64>,
    /// May do everything.
    pub owners: Vec<UserId>,
    /// May decide.
    pub reviewers: Vec<UserId>,
    /// May look.
    pub viewers: Vec<UserId>,
}

impl Roster {
    /// A person's role; `None` for everybody who is not listed.
    #[must_use]
    pub fn role(&self, user: UserId) -> Option<Role> {
        if self.owners.contains(&user) {
            Some(Role::Owner)
        } else if self.reviewers.contains(&user) {
            Some(Role::Reviewer)
        } else if self.viewers.contains(&user) {
            Some(Role::Viewer)
        } else {
            None
        }
    }

    /// Everybody with a role, once each, the highest role first.
    #[must_use]
    pub fn everybody(&self) -> Vec<(UserId, Role)> {
        let mut all = Vec::new();
        let lists = [(&self.owners, Role::Owner), (&self.reviewers, Role::Reviewer), (&self.viewers, Role::Viewer)];
        for (people, role) in lists {
            for user in people {
                if all.iter().all(|(known, _)| known != user) {
                    all.push((*user, role));
                }
            }
        }
        all
    }
}

/// The roster as it is at this moment, shared by everybody who asks for rights: a reload counts from the next action.
#[derive(Debug, Clone, Default)]
pub struct LiveRoster(Arc<RwLock<Arc<Roster>>>);

impl LiveRoster {
    /// Begins with this one.
    #[must_use]
    pub fn new(roster: Roster) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(roster))))
    }

    /// The roster now. Ask anew at each action; never keep it across one.
    #[must_use]
    pub fn now(&self) -> Arc<Roster> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on this one counts.
    pub fn reload(&self, roster: Roster) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(roster);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_listed_twice_has_the_higher_role() {
        let roster = Roster {
            owners: vec![UserId(1)],
            reviewers: vec![UserId(1), UserId(2)],
            viewers: vec![UserId(2), UserId(3)],
            ..Roster::default()
        };
        assert_eq!(roster.role(UserId(1)), Some(Role::Owner));
        assert_eq!(roster.role(UserId(2)), Some(Role::Reviewer));
        assert_eq!(roster.role(UserId(4)), None);
        let everybody = [(UserId(1), Role::Owner), (UserId(2), Role::Reviewer), (UserId(3), Role::Viewer)];
        assert_eq!(roster.everybody(), everybody);
    }

    #[test]
    fn a_reload_counts_for_everybody_who_shares_it() {
        let live = LiveRoster::new(Roster { reviewers: vec![UserId(2)], ..Roster::default() });
        let elsewhere = live.clone();
        assert_eq!(elsewhere.now().role(UserId(2)), Some(Role::Reviewer));
        live.reload(Roster::default());
        assert_eq!(elsewhere.now().role(UserId(2)), None);
    }
}
