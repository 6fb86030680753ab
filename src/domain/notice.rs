//! What is told to whom. Cards and outcomes carry no words: they are worded when they are delivered, from the state of
//! that moment, so that no message is ever behind the truth.

use serde::{Deserialize, Serialize};

use super::delivery::OnUnknown;
use crate::ids::OperationId;

/// One thing to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// Words chosen already: a question, a hint, an answer to a command.
    Words(Words),
    /// Words in place of what a message shows; where that one has gone, nothing is said.
    InPlace(Words),
    /// The person's status card of an operation: one message, edited in place.
    Card {
        /// Which.
        operation: OperationId,
    },
    /// The outcome, as a message of its own, for a person who has stopped looking at the card.
    Outcome {
        /// Which.
        operation: OperationId,
    },
    /// The staff's card of a case: one message, edited in place.
    Case {
        /// Which operation.
        operation: OperationId,
        /// Which of its cases.
        case: i64,
    },
    /// The staff's card of a case about no operation.
    Desk {
        /// Which case.
        case: i64,
    },
    /// To a person who has waited long: where it stands, once.
    Waiting {
        /// Which operation.
        operation: OperationId,
    },
    /// To staff: something about the service itself.
    Alert {
        /// What.
        about: Alert,
    },
}

/// What staff are told about the service itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "alert", rename_all = "snake_case")]
pub enum Alert {
    /// The CRM does not accept our credentials: sending has paused.
    CrmAuth {
        /// What it said, cleaned.
        detail: String,
    },
    /// A forum topic we write to is closed or gone: messages go to the chat itself.
    TopicGone {
        /// Which chat.
        chat: i64,
        /// Which topic.
        thread: i64,
    },
    /// The CRM does not keep our key: what was made cannot be looked up.
    KeyDropped {
        /// The ticket that was read back without it.
        number: String,
    },
    /// A ticket made is not found by our key when it must be: the CRM seems not to keep it.
    KeyUnseen {
        /// That ticket.
        number: String,
    },
}

/// Words and buttons, ready to send.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// Plain text: no markup, every character arrives as it is.
    pub text: String,
    /// What can be pressed.
    #[serde(default)]
    pub keyboard: Keyboard,
}

/// What can be pressed under, or instead of, the message field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "keyboard", content = "rows", rename_all = "snake_case")]
pub enum Keyboard {
    /// Nothing; what is there stays.
    #[default]
    None,
    /// Buttons under the message.
    Inline(Vec<Vec<Button>>),
    /// Buttons in place of the keyboard; a private chat only.
    Reply(Vec<Vec<ReplyButton>>),
    /// Takes such buttons away.
    Remove,
    /// Makes the person's next message an answer to this one: in a group the bot sees no others.
    Answer {
        /// Only for whom the text names by their `@name`.
        named_only: bool,
    },
}

/// A button under a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// What it does.
    #[serde(flatten)]
    pub press: Press,
}

/// What a press does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Press {
    /// Comes back to us: 1 to 64 bytes.
    Data(String),
    /// Opens a page.
    Url(String),
    /// Copies a text of 1 to 256 characters.
    Copy(String),
}

/// A button in place of the keyboard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyButton {
    /// Sends its label as a message.
    Say(String),
    /// Sends the person's own contact, after they agree.
    ShareContact(String),
}

impl Words {
    /// Text without buttons.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), keyboard: Keyboard::None }
    }

    /// Text with buttons under it; without any, plain text.
    #[must_use]
    pub fn with_buttons(text: impl Into<String>, rows: Vec<Vec<Button>>) -> Self {
        let keyboard = if rows.is_empty() { Keyboard::None } else { Keyboard::Inline(rows) };
        Self { text: text.into(), keyboard }
    }
}

impl Button {
    /// A button whose press comes back to us.
    #[must_use]
    pub fn data(label: impl Into<String>, data: impl Into<String>) -> Self {
        Self { label: label.into(), press: Press::Data(data.into()) }
    }

    /// A button that opens a page.
    #[must_use]
    pub fn url(label: impl Into<String>, url: impl Into<String>) -> Self {
        Self { label: label.into(), press: Press::Url(url.into()) }
    }

    /// A button that copies a text.
    #[must_use]
    pub fn copy(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), press: Press::Copy(text.into()) }
    }
}

/// What a message is for; each kind of new message has its own policy for an unknown fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A question, a summary, an answer to the person.
    Dialog,
    /// The person's status card.
    Card,
    /// "Created", as a message of its own.
    Created,
    /// "Rejected", as a message of its own.
    Rejected,
    /// "It takes longer", to a person who has waited long.
    Waiting,
    /// A case's card, or an alert.
    StaffCard,
    /// An answer to a staff command.
    StaffReply,
}

/// What to do with each kind of new message when nobody knows whether it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policies([OnUnknown; NoticeKind::ALL.len()]);

impl Policies {
    /// Asks for each kind.
    #[must_use]
    pub fn by_kind(policy: impl FnMut(NoticeKind) -> OnUnknown) -> Self {
        Self(NoticeKind::ALL.map(policy))
    }

    /// The policy of a kind.
    #[must_use]
    pub fn of(&self, kind: NoticeKind) -> OnUnknown {
        self.0[kind as usize]
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self::by_kind(NoticeKind::when_unknown)
    }
}

impl NoticeKind {
    /// All of them, in the order they are declared.
    pub const ALL: [Self; 7] =
        [Self::Dialog, Self::Card, Self::Created, Self::Rejected, Self::Waiting, Self::StaffCard, Self::StaffReply];

    /// The word in database and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dialog => "dialog",
            Self::Card => "card",
            Self::Created => "created",
            Self::Rejected => "rejected",
            Self::Waiting => "waiting",
            Self::StaffCard => "staff_card",
            Self::StaffReply => "staff_reply",
        }
    }

    /// The kind whose word this is; a row of a later release's kind counts as talk.
    #[must_use]
    pub fn named(word: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.name() == word).unwrap_or(Self::Dialog)
    }

    /// Whether staff read it.
    #[must_use]
    pub fn is_to_staff(self) -> bool {
        matches!(self, Self::StaffCard | Self::StaffReply)
    }

    /// How often a new message that may have arrived is made once more, where its policy is to repeat it. Without the
    /// status card its person knows nothing of their request, so one more try is worth a card too many.
    #[must_use]
    pub fn repeats(self) -> u32 {
        if self == Self::Card { 2 } else { 1 }
    }

    /// The policy where the operator wrote none: twice is better than never, except for news that comes by itself.
    #[must_use]
    pub fn when_unknown(self) -> OnUnknown {
        if self == Self::Waiting { OnUnknown::Drop } else { OnUnknown::Repeat }
    }

    /// Who goes first when the pace is short: smaller is sooner.
    #[must_use]
    pub fn priority(self) -> i32 {
        match self {
            Self::Card | Self::Created | Self::Rejected => 0,
            Self::Dialog | Self::Waiting => 1,
            Self::StaffReply => 2,
            Self::StaffCard => 3,
        }
    }
}
