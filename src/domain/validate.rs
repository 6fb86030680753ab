//! Whether a reply answers a question. What does not is met with a hint, and the draft stays as it was.

use super::{
    answer::Answer,
    attachment::Attachment,
    blank,
    form::{Choice, Field, FieldKind, LONGEST_TEXT, Slot},
    phone,
};
use crate::clock::Timestamp;

/// What a person sent while a question was open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Words.
    Text(String),
    /// A contact shared from the address book.
    Contact {
        /// The number as Telegram gives it.
        phone: String,
        /// Whether it is the sender's own.
        own: bool,
    },
    /// A button of a choice, by the choice's id.
    Choice(String),
    /// A button of a slot, by the slot's id.
    Slot(String),
    /// The consent buttons: given or refused.
    Consent(bool),
    /// The skip button.
    Skip,
    /// One photo or document.
    File(Attachment),
    /// Anything else, by its kind: `photo`, `voice`, `sticker`, …
    Other(String),
}

/// Why a reply is no answer, with what a short helpful text needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// Nothing was written.
    Empty,
    /// Only characters that show nothing.
    Invisible,
    /// Fewer characters than the question needs.
    TooShort {
        /// Fewest.
        min: u32,
    },
    /// More characters than the question takes.
    TooLong {
        /// Most.
        max: u32,
        /// How many were sent.
        got: usize,
    },
    /// No telephone number that can be called.
    NotAPhone,
    /// Somebody else's contact.
    ForeignContact,
    /// No mail address.
    NotAnEmail,
    /// None of the choices.
    NotAChoice,
    /// This question is answered by a button.
    PressAButton,
    /// This question is answered in words.
    TextWanted {
        /// The kind of what was sent.
        got: String,
    },
    /// Consent was refused: the form ends, politely.
    ConsentRefused,
    /// No whole number.
    NotANumber,
    /// A number outside the range.
    OutOfRange {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// No day of the calendar.
    NotADate,
    /// This question is answered with photos and documents.
    FilesWanted,
    /// A file larger than the question takes.
    FileTooLarge {
        /// Largest, in megabytes.
        max: u32,
    },
    /// A file of a type the question does not take.
    FileType {
        /// The types it takes.
        types: Vec<String>,
    },
    /// More files than the question takes.
    TooManyFiles {
        /// Most.
        max: u32,
    },
    /// This question cannot be passed over.
    CannotSkip,
}

/// Reads a reply as the answer to a field. `now` is when consent is given, if it is.
///
/// # Errors
/// The hint to show instead; nothing else changes.
pub fn validate(field: &Field, reply: &Reply, now: Timestamp) -> Result<Answer, Hint> {
    if matches!(reply, Reply::Skip) {
        return if field.optional { Ok(Answer::Skipped) } else { Err(Hint::CannotSkip) };
    }
    match &field.kind {
        FieldKind::Text { min, max } => text(words(reply)?, *min, *max).map(Answer::Text),
        FieldKind::Phone { region } => match reply {
            Reply::Contact { own: false, .. } => Err(Hint::ForeignContact),
            Reply::Contact { phone, own: true } => {
                phone::from_contact(phone, region.as_deref()).map(Answer::Phone).ok_or(Hint::NotAPhone)
            }
            other => phone::normalise(seen(other)?, region.as_deref()).map(Answer::Phone).ok_or(Hint::NotAPhone),
        },
        FieldKind::Email => email(seen(reply)?).map(Answer::Email).ok_or(Hint::NotAnEmail),
        FieldKind::Choice { choices } => match reply {
            Reply::Choice(id) => choices.iter().find(|c| c.id == *id).map(Choice::answer).ok_or(Hint::NotAChoice),
            Reply::Text(typed) => picked(choices, typed, |c| vec![c.label.clone(), c.listed()]).map(Choice::answer),
            _ => Err(Hint::PressAButton),
        },
        FieldKind::Slot { slots } => match reply {
            Reply::Slot(id) => slots.iter().find(|s| s.id == *id).map(Slot::answer).ok_or(Hint::NotAChoice),
            Reply::Text(typed) => picked(slots, typed, |s| vec![s.label.clone()]).map(Slot::answer),
            _ => Err(Hint::PressAButton),
        },
        FieldKind::Consent { version, .. } => match reply {
            Reply::Consent(true) => Ok(Answer::Consent { version: version.clone(), at: now }),
            Reply::Consent(false) => Err(Hint::ConsentRefused),
            // Consent is an act of its own: a word in passing is not taken for it.
            _ => Err(Hint::PressAButton),
        },
        FieldKind::Number { min, max } => {
            let number = number(seen(reply)?).ok_or(Hint::NotANumber)?;
            let inside = (*min..=*max).contains(&number);
            if inside { Ok(Answer::Number(number)) } else { Err(Hint::OutOfRange { min: *min, max: *max }) }
        }
        FieldKind::Date => date(seen(reply)?).map(Answer::Date).ok_or(Hint::NotADate),
        FieldKind::Files { max_size, types, .. } => match reply {
            Reply::File(file) if !file.is_one_of(types) => Err(Hint::FileType { types: types.clone() }),
            Reply::File(file) if file.is_larger_than(*max_size) => Err(Hint::FileTooLarge { max: *max_size }),
            Reply::File(file) => Ok(Answer::Files(vec![file.clone()])),
            _ => Err(Hint::FilesWanted),
        },
    }
}

/// The text of a reply, where words are wanted.
fn words(reply: &Reply) -> Result<&str, Hint> {
    let got = match reply {
        Reply::Text(text) => return Ok(text),
        Reply::Other(kind) => kind.as_str(),
        Reply::Contact { .. } => "contact",
        Reply::File(file) => {
            if file.name.is_none() {
                "photo"
            } else {
                "document"
            }
        }
        Reply::Choice(_) | Reply::Slot(_) | Reply::Consent(_) | Reply::Skip => "button",
    };
    Err(Hint::TextWanted { got: got.to_owned() })
}

/// The text of a reply, with something to see in it.
fn seen(reply: &Reply) -> Result<&str, Hint> {
    let text = words(reply)?.trim();
    match (text.is_empty(), blank::is_blank(text)) {
        (true, _) => Err(Hint::Empty),
        (false, true) => Err(Hint::Invisible),
        (false, false) => Ok(text),
    }
}

/// A text exactly as typed, without outer white space and without NUL, the one character no database can hold.
fn text(typed: &str, min: u32, max: u32) -> Result<String, Hint> {
    let typed = typed.replace('\0', "");
    let kept = seen(&Reply::Text(typed))?.to_owned();
    let (length, max) = (kept.chars().count(), max.min(LONGEST_TEXT));
    if length < usize::try_from(min).unwrap_or(usize::MAX) {
        return Err(Hint::TooShort { min });
    }
    if length > usize::try_from(max).unwrap_or(usize::MAX) {
        return Err(Hint::TooLong { max, got: length });
    }
    Ok(kept)
}

/// The choice whose label, or else whose number in the list, was typed.
fn picked<'a, T>(offered: &'a [T], typed: &str, labels: impl Fn(&T) -> Vec<String>) -> Result<&'a T, Hint> {
    let typed = folded(seen(&Reply::Text(typed.to_owned()))?);
    if let Some(found) = offered.iter().find(|one| labels(one).iter().any(|label| folded(label) == typed)) {
        return Ok(found);
    }
    let place = typed.trim_end_matches(['.', ')']).parse::<usize>().ok();
    place.and_then(|n| offered.get(n.checked_sub(1)?)).ok_or(Hint::NotAChoice)
}

/// A label as people compare it: case, `ё`, and runs of white space do not matter, invisible characters neither.
fn folded(label: &str) -> String {
    let visible: String = label.chars().filter(|c| c.is_whitespace() || !blank::is_invisible(*c)).collect();
    let lower = visible.to_lowercase().replace('ё', "е");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A mail address that can be written to, domain in lower case. Pragmatic: whether it exists only a letter can tell.
fn email(typed: &str) -> Option<String> {
    let (local, domain) = typed.rsplit_once('@')?;
    let domain = domain.to_lowercase();
    let local_ok = (1..=64).contains(&local.chars().count())
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && local.chars().all(|c| c.is_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(c));
    let label_ok = |label: &str| {
        (1..=63).contains(&label.chars().count())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    let labels: Vec<&str> = domain.split('.').collect();
    let top_ok = labels.last().is_some_and(|top| top.chars().count() >= 2 && !top.chars().all(char::is_numeric));
    let fits = typed.chars().count() <= 254;
    let domain_ok = labels.len() >= 2 && labels.iter().all(|label| label_ok(label)) && top_ok;
    (fits && local_ok && domain_ok).then(|| format!("{local}@{domain}"))
}

/// A whole number, in any digits people type, with spaces between groups.
fn number(typed: &str) -> Option<i64> {
    let mut plain = String::new();
    for c in typed.chars() {
        match phone::digit(c) {
            Some(digit) => plain.push(digit),
            None if plain.is_empty() && matches!(c, '-' | '\u{2212}') => plain.push('-'),
            None if plain.is_empty() && c == '+' => {}
            None if blank::is_invisible(c) => {}
            None => return None,
        }
    }
    plain.parse().ok()
}

/// A day as `2026-12-07` or `07.12.2026`, in the form `2026-12-07`.
fn date(typed: &str) -> Option<String> {
    let plain: String = typed.chars().map(|c| phone::digit(c).unwrap_or(c)).collect();
    let parts = |separator: char| -> Option<[u32; 3]> {
        let parts: Vec<&str> = plain.split(separator).map(str::trim).collect();
        let read: Vec<u32> = parts.iter().filter_map(|p| p.parse().ok()).collect();
        <[u32; 3]>::try_from(read).ok().filter(|_| parts.len() == 3)
    };
    let (year, month, day) = match (parts('-'), parts('.')) {
        (Some([year, month, day]), _) | (_, Some([day, month, year])) => (year, month, day),
        _ => return None,
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    // Years of one or two digits are guesses, and nobody means the year 203.
    let sane = (1900..=2199).contains(&year) && (1..=last).contains(&day);
    sane.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests;
