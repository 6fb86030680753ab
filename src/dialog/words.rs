//! An operation's state in words for its person: the answer to a tap, the status card, the outcome. Each claims exactly
//! what the state proves.

use crate::{
    catalog::texts::{Key, Texts},
    domain::{
        notice::{Button, Words},
        operation::{Ground, Operation, RejectedBy, State},
    },
    ids::Marker,
    telegram::button::{Intent, Wish},
};

/// Whether the CRM may hold it although it waits to be sent again.
fn may_be_there(operation: &Operation) -> bool {
    operation.on_wire.is_some()
}

/// The answer to a further tap.
#[must_use]
pub fn tap_words(texts: &Texts, lang: &str, operation: &Operation) -> String {
    let key = match &operation.state {
        State::Created { ticket } => return texts.say(lang, Key::TapCreated, &[("number", &ticket.number)]),
        State::Pending { .. } if may_be_there(operation) => Key::TapUnknown,
        State::Pending { .. } if operation.attempts > 0 => Key::TapWaitingCrm,
        State::Pending { .. } | State::Sending { ground: Ground::First, .. } => Key::TapSending,
        State::Sending { .. } | State::Unknown { .. } => Key::TapUnknown,
        State::Review { .. } => Key::TapReview,
        State::Rejected { .. } => Key::TapRejected,
        State::Cancelled => Key::TapCancelled,
    };
    texts.say(lang, key, &[])
}

/// The state in a few words, for lists.
#[must_use]
pub fn state_words(texts: &Texts, lang: &str, operation: &Operation) -> String {
    let key = match &operation.state {
        State::Created { ticket } => return texts.say(lang, Key::StateCreated, &[("number", &ticket.number)]),
        State::Pending { .. } if may_be_there(operation) => Key::StateUnknown,
        State::Pending { .. } => Key::StatePending,
        State::Sending { .. } => Key::StateSending,
        State::Unknown { .. } => Key::StateUnknown,
        State::Review { .. } => Key::StateReview,
        State::Rejected { .. } => Key::StateRejected,
        State::Cancelled => Key::StateCancelled,
    };
    texts.say(lang, key, &[])
}

/// The status card. `reopened` is the draft's revision once it may be changed again.
#[must_use]
pub fn status_card(texts: &Texts, lang: &str, operation: &Operation, marker: &Marker, reopened: Option<i64>) -> Words {
    let marker = ("marker", marker.as_str());
    let key = match &operation.state {
        State::Created { ticket } => {
            let mut text = texts.say(lang, Key::CardCreated, &[("number", &ticket.number), marker]);
            if let Some(url) = &ticket.url {
                text.push('\n');
                text.push_str(&texts.say(lang, Key::CardCreatedLink, &[("url", url)]));
            }
            let copy =
                Button::copy(texts.say(lang, Key::CardCopyNumber, &[("number", &ticket.number)]), &*ticket.number);
            return Words::with_buttons(text, vec![vec![copy]]);
        }
        State::Rejected { reason, by } => {
            let key = if *by == RejectedBy::Crm { Key::CardRejected } else { Key::CardRejectedStaff };
            let text = texts.say(lang, key, &[("reason", reason), marker]);
            let rows = reopened.map(|revision| {
                let wish = |label, wish| {
                    let intent = Intent::Draft { draft: operation.draft, revision, wish };
                    Button::data(texts.say(lang, label, &[]), intent.encode())
                };
                vec![vec![wish(Key::DialogEdit, Wish::Menu)]]
            });
            return Words::with_buttons(text, rows.unwrap_or_default());
        }
        State::Pending { .. } if may_be_there(operation) => Key::CardUnknown,
        State::Pending { .. } if operation.attempts > 0 => Key::CardWaitingCrm,
        State::Pending { .. } => Key::CardAccepted,
        State::Sending { ground: Ground::First, .. } => Key::CardSending,
        State::Sending { .. } | State::Unknown { .. } => Key::CardUnknown,
        State::Review { .. } => Key::CardReview,
        State::Cancelled => Key::CardCancelled,
    };
    Words::plain(texts.say(lang, key, &[marker]))
}

/// The outcome as a message of its own; `None` while there is none.
#[must_use]
pub fn outcome_words(texts: &Texts, lang: &str, operation: &Operation, marker: &Marker) -> Option<Words> {
    Some(Words::plain(match &operation.state {
        State::Created { ticket } => {
            texts.say(lang, Key::NoticeCreated, &[("number", &ticket.number), ("marker", marker.as_str())])
        }
        State::Rejected { reason, .. } => texts.say(lang, Key::NoticeRejected, &[("reason", reason)]),
        _ => return None,
    }))
}
