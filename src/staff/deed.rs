//! What may be done about a case, and what may come of it: two lists, so that each deed and each ruling has its words.

use crate::{
    clock::Timestamp,
    domain::{review::Matter, role::Role},
    ids::UserId,
    store::{cases::Case, operations::Stored},
};

/// Something a member of staff does about a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Work on it alone for a while.
    Take,
    /// Let others work on it.
    HandBack,
    /// This number is its ticket; the CRM is asked.
    Link {
        /// Cleaned.
        number: String,
    },
    /// This number is its ticket although the CRM has shown that it carries no key of ours; the CRM is asked once more.
    LinkKeyless {
        /// Cleaned.
        number: String,
    },
    /// This number is its ticket; an owner answers for it.
    LinkUnchecked {
        /// Cleaned.
        number: String,
    },
    /// Search the CRM once more.
    LookAgain,
    /// Create it although it may exist.
    Create {
        /// Why.
        reason: String,
    },
    /// Consent to what somebody else asked for.
    Consent,
    /// No ticket for this version.
    Reject {
        /// Why, in words for the person.
        reason: String,
    },
    /// Send the message again.
    SendAgain,
    /// Leave the message, the update or the twin as it is.
    LetGo,
    /// Handle the update again.
    Replay,
}

/// Who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    /// Their numeric id.
    pub id: UserId,
    /// What they may do, asked of the roster at this action.
    pub role: Role,
}

/// What it is done about.
#[derive(Debug, Clone)]
pub struct Target {
    /// The case, open or closed; absent when there never was one.
    pub case: Option<Case>,
    /// The operation it is about, if about one.
    pub stored: Option<Stored>,
}

/// What became of a deed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "ruling", content = "with", rename_all = "snake_case")]
pub enum Ruling {
    /// It is theirs alone until then.
    Taken(Timestamp),
    /// It is everybody's again.
    HandedBack,
    /// The CRM is asked about this number.
    Linking(String),
    /// The CRM is asked about this number, whose ticket carries no key of ours.
    LinkingKeyless(String),
    /// Linked to this number.
    LinkedUnchecked(String),
    /// The CRM is searched.
    Looking,
    /// It is sent.
    Creating,
    /// Another person must consent.
    Asked,
    /// It is rejected.
    Rejected,
    /// The message is sent again.
    SendingAgain,
    /// It is closed, nothing more is done.
    LeftAlone,
    /// The update is handled again.
    Replaying,
    /// They had done this before; nothing changed.
    AlreadyYours,
    /// Somebody works on it until then.
    Held(UserId, Timestamp),
    /// Somebody has decided; what they did as its event.
    Decided(UserId, String),
    /// It settled by itself, or does not wait for anybody.
    NotWaiting,
    /// The card they looked at is an old one.
    Changed,
    /// Their role does not reach that far.
    NotAllowed,
    /// The CRM cannot be asked about the number: an owner may link it unchecked.
    CannotCheck(String),
    /// The CRM can be asked about the number: it is not linked unchecked.
    CheckFirst(String),
    /// The CRM cannot be searched.
    NoSearch,
    /// The number is another operation's, named by its marker.
    LinkedElsewhere(String, String),
    /// Such a case is not settled that way.
    NotThis,
    /// They do not hold it.
    NotTaken,
    /// Consent is another person's to give.
    NeedsAnother,
    /// The client has stopped the bot: nothing can be sent before they write.
    ClientAway,
}

impl Ruling {
    /// Whether the deed was done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(
            self,
            Self::Taken(_)
                | Self::HandedBack
                | Self::Linking(_)
                | Self::LinkingKeyless(_)
                | Self::LinkedUnchecked(_)
                | Self::Looking
                | Self::Creating
                | Self::Asked
                | Self::Rejected
                | Self::SendingAgain
                | Self::LeftAlone
                | Self::Replaying
        )
    }
}

impl Deed {
    /// Whether such a case is settled that way.
    #[must_use]
    pub fn fits(&self, matter: &Matter) -> bool {
        match self {
            Self::Take | Self::HandBack => true,
            Self::SendAgain => matches!(matter, Matter::Undelivered { .. }),
            Self::Replay => matches!(matter, Matter::Shelved { .. }),
            Self::LetGo => !matches!(matter, Matter::Review { .. }),
            _ => matches!(matter, Matter::Review { .. }),
        }
    }

    /// The event that tells of it.
    pub(super) fn event(&self) -> &'static str {
        match self {
            Self::Take => "taken",
            Self::HandBack => "handed_back",
            Self::Link { .. } => "decided_link",
            Self::LinkKeyless { .. } => "decided_link_keyless",
            Self::LinkUnchecked { .. } => "decided_link_unverified",
            Self::LookAgain => "decided_look_again",
            Self::Create { .. } | Self::Consent => "decided_create_after_all",
            Self::Reject { .. } => "decided_reject",
            Self::SendAgain => "send_again",
            Self::LetGo => "let_go",
            Self::Replay => "replayed",
        }
    }

    /// The same for a case about this: who closes a late twin's has seen to it, and leaves nothing as it is.
    pub(super) fn event_on(&self, matter: &Matter) -> &'static str {
        match (self, matter) {
            (Self::LetGo, Matter::Twin { .. }) => "twin_settled",
            _ => self.event(),
        }
    }
}
