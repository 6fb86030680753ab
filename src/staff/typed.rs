//! What staff type, read: a ticket's number as people paste it, a reason, the filters of a queue. Pure.

use crate::{
    catalog::wording::clean,
    domain::{blank, review::WORDS},
    ids::UserId,
    telegram::button::Hand,
};

/// Longest reason, in characters: a client's card and the journal hold it whole.
pub const REASON: usize = 500;

/// What ends `/link` when an owner answers for a number that nobody can check.
const UNCHECKED: [&str; 3] = ["unverified", "unchecked", "без проверки"];

/// What ends `/link` when a ticket is to be linked although the CRM shows no key of ours in it.
const KEYLESS: [&str; 2] = ["keyless", "без ключа"];

/// How a number is to be linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Once the CRM has shown that it is ours.
    Checked,
    /// Although the CRM has shown that it carries no key of ours.
    Keyless,
    /// Although the CRM cannot be asked.
    Unchecked,
}

/// A ticket's number, and how it is to be linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) number: String,
    pub(super) how: How,
}

/// Reads what follows `/link CODE`.
pub(super) fn number(typed: &str) -> Option<Number> {
    let typed = typed.trim();
    let lower = typed.to_lowercase();
    let unchecked = UNCHECKED.map(|word| (word, How::Unchecked));
    let keyless = KEYLESS.map(|word| (word, How::Keyless));
    for (word, how) in unchecked.into_iter().chain(keyless) {
        if lower.ends_with(word) && lower.len() == typed.len() {
            let rest = typed.get(..typed.len() - word.len())?;
            let apart = rest.ends_with(char::is_whitespace);
            return if apart { ticket(rest).map(|number| Number { number, how }) } else { None };
        }
    }
    ticket(typed).map(|number| Number { number, how: How::Checked })
}

/// A ticket's number as people paste it: `1001`, `#1001`, `№ 1001`, `1 001`, or the last part of a link. A word without a
/// digit is none, whatever a CRM's pattern would let through: it was meant for somebody.
#[must_use]
pub fn ticket(typed: &str) -> Option<String> {
    let typed = typed.trim().trim_matches(|c| matches!(c, '<' | '>' | '"' | '«' | '»' | '.' | ','));
    let part = typed.split_once("://").map_or(typed, |(_, link)| in_link(link));
    let number = part.trim_start_matches(['#', '№']).trim_start_matches("No").trim_start_matches('.').trim();
    let number = in_groups(number).unwrap_or_else(|| number.to_owned());
    let plain = number.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | ':' | '.'));
    let counts = number.contains(|c: char| c.is_ascii_digit()) && !number.contains("..");
    (plain && counts && number.len() <= 64).then_some(number)
}

/// A long number with its thousands apart, as in `1 001`, put together.
fn in_groups(typed: &str) -> Option<String> {
    let parts: Vec<_> = typed.split(char::is_whitespace).collect();
    let (first, rest) = parts.split_first()?;
    let digits = parts.iter().all(|part| part.chars().all(|c| c.is_ascii_digit()));
    let grouped = digits && (1..=3).contains(&first.len()) && rest.iter().all(|part| part.len() == 3);
    (grouped && !rest.is_empty()).then(|| parts.concat())
}

/// Names under which systems put a ticket's number behind the question mark of its page.
const NAMES: [&str; 5] = ["id", "ticket", "ticket_id", "issue", "number"];

/// The number in a page's address, without its scheme: the last part of the path; else what the query calls an id, as in
/// `Display.html?id=7`; else the last part of the fragment, as in `/#ticket/zoom/7`.
fn in_link(link: &str) -> &str {
    let (before, fragment) = link.split_once('#').unwrap_or((link, ""));
    let (page, query) = before.split_once('?').unwrap_or((before, ""));
    let path = page.split_once('/').map_or("", |(_host, path)| path);
    let counts = |part: &&str| part.contains(|c: char| c.is_ascii_digit()) && !part.contains('.');
    let named = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| NAMES.contains(name));
    let parts = [Some(end(path)).filter(counts), named.map(|(_, value)| value), Some(end(fragment)).filter(counts)];
    // A page that is about a ticket and names what is done with it: `/tickets/7/edit`.
    parts.into_iter().flatten().next().or_else(|| path.split('/').rev().find(counts)).unwrap_or_else(|| end(path))
}

/// The last part of a path.
fn end(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Why some words are no reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoReason {
    /// There is nothing to see in them.
    Empty,
    /// They are longer than [`REASON`]: so many characters.
    TooLong(usize),
}

/// A reason with something to see in it. Nothing of it is cut off: whoever gives it must know what will be read.
///
/// # Errors
/// [`NoReason`] when the words are no reason.
pub fn reason(typed: &str) -> Result<String, NoReason> {
    let reason = clean(typed.trim());
    match reason.chars().count() {
        _ if blank::is_blank(&reason) => Err(NoReason::Empty),
        length if length > REASON => Err(NoReason::TooLong(length)),
        _ => Ok(reason),
    }
}

/// What a queue is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// Counted from 1.
    pub(super) page: u32,
    pub(super) hand: Hand,
    pub(super) reason: String,
    pub(super) form: String,
}

/// Reads `[page] [form:x] [reason:x] [mine] [owner:x]`; `None` when a word is none of these. An owner is a numeric id, or
/// `none` for what nobody has taken.
pub(super) fn asked(args: &str) -> Option<Asked> {
    let mut asked = Asked { page: 1, ..Asked::default() };
    for word in args.split_whitespace() {
        let lower = word.to_lowercase();
        if let Ok(page) = word.parse::<u32>() {
            asked.page = page.clamp(1, 100_000);
        } else if matches!(lower.as_str(), "mine" | "мои" | "мое" | "моё") {
            asked.hand = Hand::Mine;
        } else if let Some(owner) = lower.strip_prefix("owner:") {
            asked.hand = match owner {
                "none" | "никто" => Hand::Nobody,
                id => Hand::Of(UserId(id.parse::<i64>().ok().filter(|id| *id > 0)?)),
            };
        } else if let Some(reason) = lower.strip_prefix("reason:") {
            asked.reason = WORDS.iter().find(|word| **word == reason)?.to_string();
        } else if let Some(form) = word.strip_prefix("form:") {
            let known = !form.is_empty() && form.len() <= 32;
            let plain = form.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
            asked.form = (known && plain).then(|| form.to_owned())?;
        } else {
            return None;
        }
    }
    Some(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_people_paste_it() {
        for (typed, read) in [
            ("1001", Some("1001")),
            (" #1001", Some("1001")),
            ("№ 1001", Some("1001")),
            ("№1001.", Some("1001")),
            ("https://crm.example.ru/tickets/1001", Some("1001")),
            ("<https://crm.example.ru/tickets/1001/?tab=a#x>", Some("1001")),
            ("https://rt.example.ru/Ticket/Display.html?id=7", Some("7")),
            ("https://zammad.example.ru/#ticket/zoom/17", Some("17")),
            ("https://redmine.example.ru:3000/issues/42#note-3", Some("42")),
            ("https://b24.example.ru/crm/lead/details/9/", Some("9")),
            ("https://crm.example.ru/tickets/1001/edit", Some("1001")),
            ("https://crm7.example.ru/", None),
            ("HD-17", Some("HD-17")),
            ("", None),
            ("#", None),
            ("10 01", None),
            ("1 001", Some("1001")),
            ("№ 12\u{a0}345\u{202f}678", Some("12345678")),
            ("1001 002", None),
            ("1  001", None),
            ("привет", None),
            ("a:b", None),
            ("x/../1001", None),
            ("1001/../../evil", None),
            ("https://crm.example/tickets", None),
            ("https://crm.example/../1001", Some("1001")),
            ("17/2026", Some("17/2026")),
            ("1001;DROP", None),
        ] {
            assert_eq!(ticket(typed).as_deref(), read, "{typed}");
        }
    }

    #[test]
    fn how_a_number_is_linked_is_said_in_a_word() {
        for (typed, read) in [
            ("1001", Some(("1001", How::Checked))),
            ("1001 unverified", Some(("1001", How::Unchecked))),
            ("№ 1001 без проверки", Some(("1001", How::Unchecked))),
            ("1001 Без Проверки", Some(("1001", How::Unchecked))),
            ("#1001 без ключа", Some(("1001", How::Keyless))),
            ("1001 Keyless", Some(("1001", How::Keyless))),
            ("1001unverified", None),
            ("unverified", None),
            ("без проверки", None),
            ("без ключа", None),
        ] {
            let number = number(typed);
            assert_eq!(number.as_ref().map(|n| (n.number.as_str(), n.how)), read, "{typed}");
        }
    }

    #[test]
    fn a_reason_is_taken_whole_or_not_at_all() {
        let long = "я".repeat(REASON);
        assert_eq!(reason(&format!(" {long}\u{200b} ")), Ok(long.clone()));
        assert_eq!(reason(&format!("{long}я")), Err(NoReason::TooLong(REASON + 1)));
        assert_eq!(reason("раз\nдва"), Ok("раз\nдва".into()));
        for nothing in ["", " \n", "\u{200b}\u{2060}"] {
            assert_eq!(reason(nothing), Err(NoReason::Empty), "{nothing:?}");
        }
    }

    #[test]
    fn a_queue_is_asked_for_in_any_order() {
        let page = |page| Asked { page, ..Asked::default() };
        assert_eq!(asked(""), Some(page(1)));
        assert_eq!(asked(" 3 "), Some(page(3)));
        let full = Asked { page: 2, hand: Hand::Mine, reason: "blind".into(), form: "consultation".into() };
        assert_eq!(asked("mine reason:Blind 2 form:consultation"), Some(full));
        for (typed, hand) in [
            ("owner:42", Hand::Of(UserId(42))),
            ("owner:none", Hand::Nobody),
            ("Owner:никто", Hand::Nobody),
            ("мои", Hand::Mine),
        ] {
            assert_eq!(asked(typed), Some(Asked { hand, ..page(1) }), "{typed}");
        }
        for wrong in ["reason:moon", "form:", "form:a.b", "what", "owner:", "owner:@anna", "owner:-5"] {
            assert_eq!(asked(wrong), None, "{wrong}");
        }
    }
}
