//! What a human must look at: an operation nobody can settle alone, a second ticket, a message nobody received, an update
//! that could not be handled. One list, one word each, so that all of them stand in one queue.

use serde::{Deserialize, Serialize};

use super::{operation::ReviewReason, ticket::Ticket};

/// What a case is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "matter", rename_all = "snake_case")]
pub enum Matter {
    /// An operation in review.
    Review {
        /// Why the machine cannot go on.
        reason: ReviewReason,
    },
    /// The CRM holds another ticket for an operation that has ended.
    Twin {
        /// All tickets known, ours first.
        tickets: Vec<Ticket>,
        /// Whether none of them is ours: the version was rejected.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rejected: bool,
    },
    /// A message of ours did not reach its person, or nobody knows whether it did.
    Undelivered {
        /// The outbox row.
        row: i64,
        /// What kind of message.
        kind: String,
        /// What stood in its way.
        #[serde(default)]
        because: Hindrance,
        /// What was said or measured, cleaned; empty where there is nothing beside `because`.
        why: String,
        /// Whether it may have arrived.
        may_have_arrived: bool,
    },
    /// An update that could not be handled and lies on the shelf.
    Shelved {
        /// The inbox row.
        row: i64,
        /// Why, cleaned.
        error: String,
    },
}

/// What stood in the way of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hindrance {
    /// Its person has blocked the bot or left Telegram.
    ClientAway,
    /// Its chat takes nothing from the bot.
    ChatRefused,
    /// Telegram does not take this content.
    ContentRefused,
    /// It is longer than Telegram takes: a mistake of ours or of a text file, like the next four.
    TextTooLong,
    /// It has no words.
    TextEmpty,
    /// It has more buttons than Telegram takes.
    TooManyButtons,
    /// What a button says back is empty, or longer than Telegram takes.
    ButtonData,
    /// A button opens something that is no address.
    ButtonAddress,
    /// Nobody knows whether it arrived.
    Unconfirmed,
    /// Nothing but the words that go with it.
    #[default]
    Unnamed,
}

impl Hindrance {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::ClientAway,
        Self::ChatRefused,
        Self::ContentRefused,
        Self::TextTooLong,
        Self::TextEmpty,
        Self::TooManyButtons,
        Self::ButtonData,
        Self::ButtonAddress,
        Self::Unconfirmed,
        Self::Unnamed,
    ];

    /// The one word: in stored cases, in the history and among the texts.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ClientAway => "client_away",
            Self::ChatRefused => "chat_refused",
            Self::ContentRefused => "content_refused",
            Self::TextTooLong => "text_too_long",
            Self::TextEmpty => "text_empty",
            Self::TooManyButtons => "too_many_buttons",
            Self::ButtonData => "button_data",
            Self::ButtonAddress => "button_address",
            Self::Unconfirmed => "unconfirmed",
            Self::Unnamed => "unnamed",
        }
    }
}

impl Matter {
    /// The kind's one word.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Review { .. } => "review",
            Self::Twin { .. } => "twin",
            Self::Undelivered { .. } => "undelivered",
            Self::Shelved { .. } => "shelved",
        }
    }

    /// The word a queue is filtered by: why an operation is in review, or the kind of anything else.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Review { reason } => reason_word(reason),
            other => other.kind(),
        }
    }

    /// The row it is about; 0 when the operation says it all.
    #[must_use]
    pub fn subject(&self) -> i64 {
        match self {
            Self::Review { .. } | Self::Twin { .. } => 0,
            Self::Undelivered { row, .. } | Self::Shelved { row, .. } => *row,
        }
    }

    /// The number that was named and carries no key of ours, if that is why it is in review.
    #[must_use]
    pub fn keyless(&self) -> Option<&str> {
        match self {
            Self::Review { reason: ReviewReason::Keyless { number, .. } } => Some(number),
            _ => None,
        }
    }

    /// Tickets of the CRM that may be the one.
    #[must_use]
    pub fn candidates(&self) -> &[Ticket] {
        match self {
            Self::Review { reason: ReviewReason::Several { tickets } } | Self::Twin { tickets, .. } => tickets,
            _ => &[],
        }
    }
}

/// Every word a queue can be filtered by. Buttons name them by their place: a new one goes to the end.
pub const WORDS: [&str; 16] = [
    "absent",
    "bad_number",
    "blind",
    "crm_silent",
    "exists_unseen",
    "key_expired",
    "never_sent",
    "not_resent",
    "several",
    "shelved",
    "twin",
    "unchecked",
    "undelivered",
    "keyless",
    "unfit",
    "refused_repeat",
];

fn reason_word(reason: &ReviewReason) -> &'static str {
    match reason {
        ReviewReason::Blind => "blind",
        ReviewReason::Absent => "absent",
        ReviewReason::CrmSilent => "crm_silent",
        ReviewReason::Several { .. } => "several",
        ReviewReason::ExistsUnseen => "exists_unseen",
        ReviewReason::RefusedRepeat { .. } => "refused_repeat",
        ReviewReason::KeyExpired => "key_expired",
        ReviewReason::NeverSent => "never_sent",
        ReviewReason::NotResent => "not_resent",
        ReviewReason::Unfit => "unfit",
        ReviewReason::BadNumber { .. } => "bad_number",
        ReviewReason::Unchecked { .. } => "unchecked",
        ReviewReason::Keyless { .. } => "keyless",
    }
}

/// A text with what may be personal made unreadable: telephone numbers down to their last four digits, addresses of
/// e-mail down to their host.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        let run = phone_run(&chars[at..]);
        // A ticket's number has fewer digits than a telephone's.
        let digits = chars[at..at + run].iter().filter(|c| c.is_ascii_digit()).count();
        if run > 0 && digits >= 10 {
            let tail: String = chars[at..at + run].iter().filter(|c| c.is_ascii_digit()).skip(digits - 4).collect();
            out.push_str("•••");
            out.push_str(&tail);
            at += run;
        } else if run > 0 {
            out.extend(&chars[at..at + run]);
            at += run;
        } else {
            out.push(*c);
            at += 1;
        }
    }
    hide_mailboxes(&out)
}

/// How many characters from the start look like one telephone number: digits and what stands between them.
fn phone_run(chars: &[char]) -> usize {
    let mut run = 0;
    for (place, c) in chars.iter().enumerate() {
        match c {
            '0'..='9' => run = place + 1,
            '+' if place == 0 => {}
            ' ' | '-' | '(' | ')' | '\u{a0}' if run > 0 && place - run < 3 => {}
            _ => break,
        }
    }
    run
}

fn hide_mailboxes(text: &str) -> String {
    let hide = |word: &str| match word.split_once('@') {
        Some((name, host)) if !name.is_empty() && host.contains('.') && !name.contains("://") => format!("•••@{host}"),
        _ => word.to_owned(),
    };
    text.split(' ').map(hide).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_personal_is_unreadable() {
        for (text, shown) in [
            ("+7 (999) 123-45-67", "•••4567"),
            ("звонить 89991234567, Анна", "звонить •••4567, Анна"),
            ("HTTP 500 ticket 1001234", "HTTP 500 ticket 1001234"),
            ("anna@example.ru ждёт", "•••@example.ru ждёт"),
            ("https://crm.example.ru/tickets/1001", "https://crm.example.ru/tickets/1001"),
            ("2026-12-07", "2026-12-07"),
            ("", ""),
        ] {
            assert_eq!(redact(text), shown, "{text}");
        }
    }

    #[test]
    fn a_hindrance_is_stored_as_its_word_and_may_be_missing() {
        for because in Hindrance::ALL {
            assert_eq!(serde_json::to_value(because).unwrap(), because.word());
        }
        let old = r#"{"matter":"undelivered","row":1,"kind":"card","why":"403 blocked","may_have_arrived":false}"#;
        let Matter::Undelivered { because, .. } = serde_json::from_str(old).unwrap() else { panic!("another matter") };
        assert_eq!(because, Hindrance::Unnamed);
    }

    #[test]
    fn every_reason_has_its_word() {
        let reasons = [
            ReviewReason::Blind,
            ReviewReason::Absent,
            ReviewReason::CrmSilent,
            ReviewReason::Several { tickets: Vec::new() },
            ReviewReason::ExistsUnseen,
            ReviewReason::RefusedRepeat { message: "no".into() },
            ReviewReason::KeyExpired,
            ReviewReason::NeverSent,
            ReviewReason::NotResent,
            ReviewReason::Unfit,
            ReviewReason::BadNumber { number: "1".into(), exists: true },
            ReviewReason::Unchecked { number: "1".into() },
            ReviewReason::Keyless { number: "1".into(), by: 7 },
        ];
        for reason in reasons {
            let stored = serde_json::to_value(&reason).unwrap();
            let word = Matter::Review { reason }.word();
            assert!(WORDS.contains(&word), "{word}");
            assert_eq!(stored["why"], word, "the filter's word is the stored one");
        }
    }
}
