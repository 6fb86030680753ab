//! What a person did, as far as it concerns us: everything that can arrive, in one list.

use super::{attachment::Attachment, operation::Entry};
use crate::{
    clock::Timestamp,
    ids::{ChatId, Marker, MessageId, OperationId, UserId},
};

/// One update, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Who did it; absent when nobody real did (a channel, an anonymous administrator).
    pub from: Option<Person>,
    /// Where; absent for a tap under a message sent through inline mode.
    pub chat: Option<Chat>,
    /// The message it answers, if it answers one.
    pub reply_to: Option<Reply>,
    /// When it was written, if Telegram says; of a tap it does not.
    pub sent_at: Option<Timestamp>,
    /// What.
    pub act: Act,
}

/// A message that is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Which.
    pub message: MessageId,
    /// The case its buttons are about, where a bot wrote it: a card that was shown anew is a card all the same.
    pub case: Option<i64>,
    /// The only short code in its text, where a bot wrote it.
    pub marker: Option<Marker>,
}

/// A real person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Telegram's number for them: the only thing rights are ever decided by.
    pub id: UserId,
    /// First and last name, as they wrote them.
    pub name: String,
    /// Without the at sign. Names change hands: for display only.
    pub username: Option<String>,
    /// A hint, such as `ru` or `en-GB`.
    pub lang: Option<String>,
}

/// A chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chat {
    /// Telegram's number for it.
    pub id: ChatId,
    /// What kind, as Telegram says.
    pub kind: ChatKind,
    /// The topic, if the message was written in one.
    pub thread: Option<i64>,
}

/// What kind of chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatKind {
    /// With one person.
    Private,
    /// A group or supergroup.
    Group,
    /// A channel, or a kind newer than this program.
    Other,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// `/name@to args`.
    Command {
        /// Lower case, without the slash.
        name: String,
        /// The bot it was addressed to, if it was.
        to: Option<String>,
        /// The rest, trimmed.
        args: String,
        /// Somebody else's words.
        forwarded: bool,
    },
    /// Text, every character as typed.
    Text {
        /// The text.
        text: String,
    },
    /// A contact card.
    Contact {
        /// As Telegram gives it, loosely formatted.
        phone: String,
        /// Whose it is, if they use Telegram.
        owner: Option<UserId>,
        /// Passed on from another chat.
        forwarded: bool,
    },
    /// Anything else a message can carry.
    Media {
        /// A word for it: `photo`, `voice`, `sticker` …
        kind: &'static str,
        /// Items of one album share it.
        album: Option<String>,
        /// The photo in its largest size, or the document.
        file: Option<Attachment>,
    },
    /// A button was pressed.
    Tap {
        /// What the answer is addressed to; each press has its own.
        callback: String,
        /// What the button carries: intent, never permission.
        data: Option<String>,
        /// Under which message, if Telegram says.
        message: Option<MessageId>,
    },
    /// A message sent before was changed.
    Edited,
    /// The person stopped or allowed the bot.
    Blocked(bool),
    /// The group goes on under another number.
    ChatMoved {
        /// The new number.
        to: ChatId,
    },
    /// Nothing that concerns us.
    Ignored {
        /// What it was, for the log.
        what: &'static str,
    },
}

/// What handling an input asks for after its transaction is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handled {
    /// The answer to a tap; a tap without words is answered all the same.
    pub toast: Option<String>,
    /// Operations a worker should look at without waiting for its turn.
    pub send_now: Vec<OperationId>,
    /// What is to be written of operations into the history, in this order, before the transaction is stored.
    pub history: Vec<(OperationId, Entry)>,
    /// What was said, if anything, waits for a moment of its own: nothing leaves with the commit.
    pub waits: bool,
}

impl Handled {
    /// Nothing more to do.
    #[must_use]
    pub fn quietly() -> Self {
        Self::default()
    }

    /// A tap is answered with these words.
    #[must_use]
    pub fn toast(words: impl Into<String>) -> Self {
        Self { toast: Some(words.into()), ..Self::default() }
    }
}
