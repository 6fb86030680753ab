//! An operation's state in words: the answer to a tap, the status card, the outcome, the reason of a case. Each claims
//! exactly what the state proves.

use std::time::Duration;

use super::texts::{Key, Texts};
use crate::{
    clock::Timestamp,
    domain::{
        blank,
        notice::{Button, Words},
        operation::{Ground, Operation, RejectedBy, ReviewReason, State},
        review::{Matter, redact},
    },
    ids::Marker,
};

/// Whether the CRM may hold it although it waits to be sent again.
fn may_be_there(operation: &Operation) -> bool {
    operation.on_wire.is_some()
}

/// The answer to a further tap; `paused` while nothing is sent to the CRM.
#[must_use]
pub fn tap_words(texts: &Texts, lang: &str, operation: &Operation, paused: bool) -> String {
    let key = match &operation.state {
        State::Created { ticket } => return texts.say(lang, Key::TapCreated, &[("number", &ticket.number)]),
        State::Pending { .. } if may_be_there(operation) => Key::TapUnknown,
        State::Pending { .. } if paused => Key::TapPaused,
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

/// Why nothing is sent to the CRM now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// It is sent.
    None,
    /// Sending is paused.
    Paused,
    /// The CRM is down, or asked us to come back later.
    Crm,
}

/// The status card. `edit` is the data of the button that changes the answers, once they may be changed again.
#[must_use]
pub fn status_card(
    texts: &Texts,
    lang: &str,
    operation: &Operation,
    marker: &Marker,
    edit: Option<String>,
    halt: Halt,
) -> Words {
    let marker = ("marker", marker.as_str());
    let key = match &operation.state {
        State::Created { ticket } => {
            let mut text = texts.say(lang, Key::CardCreated, &[("number", &ticket.number), marker]);
            let link = ticket.url.as_ref().map(|url| texts.say(lang, Key::CardCreatedLink, &[("url", url)]));
            if let Some(link) = link.filter(|link| !blank::is_blank(link)) {
                text.push('\n');
                text.push_str(&link);
            }
            let copy =
                Button::copy(texts.say(lang, Key::CardCopyNumber, &[("number", &ticket.number)]), &*ticket.number);
            return Words::with_buttons(text, vec![vec![copy]]);
        }
        State::Rejected { reason, by } => {
            let key = if *by == RejectedBy::Crm { Key::CardRejected } else { Key::CardRejectedStaff };
            let text = texts.say(lang, key, &[("reason", reason), marker]);
            let rows = edit.map(|data| vec![vec![Button::data(texts.say(lang, Key::DialogEdit, &[]), data)]]);
            return Words::with_buttons(text, rows.unwrap_or_default());
        }
        State::Cancelled => {
            let rows = edit.map(|data| vec![vec![Button::data(texts.say(lang, Key::DialogEdit, &[]), data)]]);
            return Words::with_buttons(texts.say(lang, Key::CardCancelled, &[marker]), rows.unwrap_or_default());
        }
        State::Pending { .. } if may_be_there(operation) => Key::CardUnknown,
        State::Pending { .. } if halt == Halt::Paused => Key::CardPaused,
        State::Pending { .. } if operation.attempts > 0 || halt == Halt::Crm => Key::CardWaitingCrm,
        State::Pending { .. } => Key::CardAccepted,
        State::Sending { ground: Ground::First, .. } => Key::CardSending,
        State::Sending { .. } | State::Unknown { .. } => Key::CardUnknown,
        State::Review { .. } => Key::CardReview,
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

/// Why a human must choose, in one plain sentence.
#[must_use]
pub fn reason_words(texts: &Texts, lang: &str, reason: &ReviewReason) -> String {
    let say = |key, args: &[(&str, &str)]| texts.say(lang, key, args);
    match reason {
        ReviewReason::Blind => say(Key::ReasonBlind, &[]),
        ReviewReason::Absent => say(Key::ReasonAbsent, &[]),
        ReviewReason::CrmSilent => say(Key::ReasonCrmSilent, &[]),
        ReviewReason::Several { tickets } => {
            let numbers: Vec<_> = tickets.iter().map(|ticket| ticket.number.as_str()).collect();
            say(Key::ReasonSeveral, &[("numbers", &numbers.join(", "))])
        }
        ReviewReason::ExistsUnseen => say(Key::ReasonExistsUnseen, &[]),
        ReviewReason::RefusedRepeat { message } => {
            say(Key::ReasonRefusedRepeat, &[("message", &redact(&visible(message)))])
        }
        ReviewReason::KeyExpired => say(Key::ReasonKeyExpired, &[]),
        ReviewReason::NeverSent => say(Key::ReasonNeverSent, &[]),
        ReviewReason::NotResent => say(Key::ReasonNotResent, &[]),
        ReviewReason::Unfit => say(Key::ReasonUnfit, &[]),
        ReviewReason::BadNumber { number, exists: false } => say(Key::ReasonBadNumber, &[("number", number)]),
        ReviewReason::BadNumber { number, exists: true } => say(Key::ReasonForeignNumber, &[("number", number)]),
        ReviewReason::Unchecked { number } => say(Key::ReasonUnchecked, &[("number", number)]),
        ReviewReason::Keyless { number, .. } => say(Key::ReasonKeyless, &[("number", number)]),
    }
}

/// Why a case stands before a human, in one plain sentence.
#[must_use]
pub fn matter_words(texts: &Texts, lang: &str, matter: &Matter) -> String {
    match matter {
        Matter::Review { reason } => reason_words(texts, lang, reason),
        Matter::Twin { tickets, rejected } => {
            let numbers: Vec<_> = tickets.iter().map(|ticket| ticket.number.as_str()).collect();
            let key = if *rejected { Key::ReasonTwinOfRejected } else { Key::ReasonTwin };
            texts.say(lang, key, &[("numbers", &numbers.join(", "))])
        }
        Matter::Undelivered { kind, may_have_arrived: true, .. } => {
            texts.say(lang, Key::ReasonUndeliveredUnknown, &[("kind", &kind_words(texts, lang, kind))])
        }
        Matter::Undelivered { kind, because, why, .. } => {
            let why = hindrance_words(texts, lang, because.word(), why);
            let (kind, why) = (kind_words(texts, lang, kind), redact(&visible(&why)));
            texts.say(lang, Key::ReasonUndelivered, &[("kind", &kind), ("why", &why)])
        }
        Matter::Shelved { error, .. } => texts.say(lang, Key::ReasonShelved, &[("error", &redact(&visible(error)))]),
    }
}

/// What stood in a message's way, in words, and beside them what was said or measured; a word that has no text is left
/// out.
#[must_use]
pub fn hindrance_words(texts: &Texts, lang: &str, word: &str, detail: &str) -> String {
    let key = Key::ALL.iter().find(|key| key.split() == ("hindrance", word));
    match key.map(|key| texts.say(lang, *key, &[])) {
        Some(words) if detail.is_empty() => words,
        Some(words) => format!("{words} ({detail})"),
        None => detail.to_owned(),
    }
}

/// What kind of message, in words.
fn kind_words(texts: &Texts, lang: &str, kind: &str) -> String {
    let key = Key::ALL.iter().find(|key| key.split() == ("kind", kind)).copied().unwrap_or(Key::KindOther);
    texts.say(lang, key, &[])
}

/// How a call to the CRM ended, in words; one that has not ended is waited for.
#[must_use]
pub fn attempt_words(texts: &Texts, lang: &str, outcome: Option<&str>) -> String {
    let outcome = outcome.unwrap_or("open");
    let key = Key::ALL.iter().find(|key| key.split() == ("attempt", outcome));
    key.map_or_else(|| outcome.to_owned(), |key| texts.say(lang, *key, &[]))
}

/// Why a call to the CRM has no answer, in one plain sentence; `None` where what was seen is a sentence already.
#[must_use]
pub fn trouble_words(texts: &Texts, lang: &str, outcome: Option<&str>, detail: &str) -> Option<String> {
    if !matches!(outcome, Some("lost" | "not_sent")) {
        return None;
    }
    if let Some((status, rest)) = status_of(detail) {
        let cut = rest.starts_with(", then ") && !rest.starts_with(", then more than ");
        let key = if cut { Key::AttemptBecauseCut } else { Key::AttemptBecauseStatus };
        return (outcome == Some("lost")).then(|| texts.say(lang, key, &[("status", status)]));
    }
    let lower = detail.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let key = if says(&["timed out", "timeout"]) {
        Key::AttemptBecauseSlow
    } else if says(&["dns", "failed to lookup"]) {
        Key::AttemptBecauseName
    } else if says(&["certificate", "tls", "handshake"]) {
        Key::AttemptBecauseTls
    } else if says(&["(connect)", "connection refused"]) {
        Key::AttemptBecauseClosed
    } else if says(&["connection", "reset", "incomplete", "error sending", "error reading", "decoding"]) {
        Key::AttemptBecauseBroken
    } else {
        return None;
    };
    Some(texts.say(lang, key, &[]))
}

/// The status a detail begins with, and what follows it: `HTTP 201, then …`, `HTTP 500 (no body)`.
fn status_of(detail: &str) -> Option<(&str, &str)> {
    let rest = detail.strip_prefix("HTTP ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some(rest.split_at(digits)).filter(|(status, _)| !status.is_empty())
}

/// To a person who has waited long, what their operation waits for; `None` when it waits no longer.
#[must_use]
pub fn waiting_words(texts: &Texts, lang: &str, operation: &Operation, marker: &Marker) -> Option<Words> {
    let key = match &operation.state {
        State::Review { .. } => Key::NoticeWaitingReview,
        State::Pending { .. } if may_be_there(operation) => Key::NoticeWaitingUnknown,
        State::Pending { .. } | State::Sending { ground: Ground::First, .. } => Key::NoticeWaitingCrm,
        State::Sending { .. } | State::Unknown { .. } => Key::NoticeWaitingUnknown,
        State::Created { .. } | State::Rejected { .. } | State::Cancelled => return None,
    };
    Some(Words::plain(texts.say(lang, key, &[("marker", marker.as_str())])))
}

/// A span of time, in the largest unit that fits.
#[must_use]
pub fn span(texts: &Texts, lang: &str, span: Duration) -> String {
    age(texts, lang, Timestamp(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)), Timestamp(0))
}

/// How long ago, in the largest unit that fits.
#[must_use]
pub fn age(texts: &Texts, lang: &str, now: Timestamp, since: Timestamp) -> String {
    let seconds = now.since(since).max(Duration::ZERO).as_secs();
    let (key, number) = match seconds {
        0..60 => (Key::AgeSeconds, seconds),
        60..3_600 => (Key::AgeMinutes, seconds / 60),
        3_600..86_400 => (Key::AgeHours, seconds / 3_600),
        _ => (Key::AgeDays, seconds / 86_400),
    };
    texts.say(lang, key, &[("n", &number.to_string())])
}

/// Most characters of somebody's words on a card or in a list.
const SHOWN: usize = 300;

/// Somebody's words as staff see them: on one line, so that nobody writes lines of ours; what reorders or hides text is
/// taken out, long ones are cut.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in clean(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() <= SHOWN { line } else { line.chars().take(SHOWN - 1).chain(['…']).collect() }
}

/// Somebody's words without what reorders or hides text; every other kind of white space becomes a plain space or line
/// break.
#[must_use]
pub fn clean(text: &str) -> String {
    let kept = |c: char| match c {
        ' ' | '\n' | '\u{A0}' | '\u{200D}' | '\u{FE0F}' => Some(c),
        '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
        c if c.is_whitespace() => Some(' '),
        c => (!blank::is_invisible(c)).then_some(c),
    };
    text.replace("\r\n", "\n").replace('\r', "\n").chars().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Catalog, problem::Problems};

    #[test]
    fn a_status_is_its_digits_and_a_broken_answer_is_called_so() {
        let texts = Catalog::texts(None, "ru", &mut Problems::new()).unwrap();
        let said = |detail| trouble_words(&texts, "ru", Some("lost"), detail).unwrap_or_default();
        for (detail, words) in [
            ("HTTP 201, then error decoding response body", "CRM ответила кодом 201, но ответ оборвался"),
            ("HTTP 500, then error reading a body", "CRM ответила кодом 500, но ответ оборвался"),
            ("HTTP 500 (no body)", "CRM ответила кодом 500, по которому не понять, создана ли заявка"),
            ("HTTP 200: the answer names no id", "CRM ответила кодом 200, по которому не понять, создана ли заявка"),
            (
                "HTTP 200, then more than 1048576 bytes",
                "CRM ответила кодом 200, по которому не понять, создана ли заявка",
            ),
        ] {
            assert_eq!(said(detail), words, "{detail}");
        }
        assert_eq!(trouble_words(&texts, "en", Some("not_sent"), "HTTP 429 (no body)"), None);
        assert_eq!(said("HTTP nothing"), "", "no status");
    }

    #[test]
    fn somebody_s_words_are_one_line_whatever_breaks_them() {
        for breaks in ["\n", "\r\n", "\r", "\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\t", " \n \n"] {
            assert_eq!(visible(&format!("Анна{breaks}Ответ CRM: 1001")), "Анна Ответ CRM: 1001", "{breaks:?}");
        }
        assert_eq!(visible("\n Анна\u{202E}\u{200b} \n"), "Анна");
        assert_eq!(visible("👩\u{200D}🚀"), "👩\u{200D}🚀");
        assert_eq!(clean("раз\r\nдва\tтри"), "раз\nдва три");
        assert_eq!(visible(&"я".repeat(301)).chars().count(), 300);
    }
}
