//! Who may do what, by numeric id alone: names change hands, ids do not.

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
}
