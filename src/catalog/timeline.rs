//! A history in words: the journal's lines as somebody who was not there would like to read them.

use std::collections::BTreeMap;

use super::{
    texts::{Key, Texts},
    wording::visible,
};
use crate::{
    clock::Timestamp,
    domain::{attachment::LeftOut, hours::WorkingHours, operation::Entry, review::redact},
};

/// Lines of the journal as lines for people, in their own time. What happened several times in a row is one line.
/// `names` says what a person's number is called.
#[must_use]
pub fn timeline(
    texts: &Texts,
    lang: &str,
    hours: &WorkingHours,
    entries: &[(Timestamp, Entry)],
    names: &BTreeMap<i64, String>,
) -> Vec<String> {
    let told: Vec<_> = entries.iter().filter(|(_, entry)| entry.event != "by_update").collect();
    let mut lines: Vec<(String, String, usize)> = Vec::new();
    let mut day = String::new();
    for (at, entry) in told {
        let what = in_words(texts, lang, entry, names);
        match lines.last_mut() {
            Some((_, last, count)) if *last == what => *count += 1,
            _ => {
                let short = hours.short(*at);
                let (date, _) = short.split_once(' ').unwrap_or((&short, ""));
                // The date once a day, the time in each line.
                let mut time = hours.clock(*at);
                if day != date {
                    day = date.to_owned();
                    time = format!("{date} {time}");
                }
                lines.push((time, what, 1));
            }
        }
    }
    let line = |(time, what, count): (String, String, usize)| {
        if count > 1 { format!("{time} {what} ×{count}") } else { format!("{time} {what}") }
    };
    lines.into_iter().map(line).collect()
}

/// What one line says: what happened, to whose hand, with what.
fn in_words(texts: &Texts, lang: &str, entry: &Entry, names: &BTreeMap<i64, String>) -> String {
    let mut what = event_words(texts, lang, &entry.event);
    // A requester's own acts need no name.
    let staff = !matches!(entry.event.as_str(), "confirmed" | "tapped_again" | "cancelled");
    if let Some(by) = entry.by.filter(|_| staff) {
        let name = names.get(&by).cloned().unwrap_or_else(|| by.to_string());
        what.push_str(&format!(" · {}", visible(&name)));
    }
    if entry.event == "file_left_out" {
        let (file, word) = entry.detail.as_deref().and_then(|detail| detail.split_once(' ')).unwrap_or_default();
        let why = LeftOut::parse(word).map_or_else(|| word.to_owned(), |why| texts.left_out(lang, why));
        what.push_str(&format!(" · {file} · {why}"));
    }
    if let Some(detail) = detail(entry) {
        what.push_str(&format!(" · {}", redact(&visible(&detail))));
    }
    what
}

/// What people want of a detail: a number, a reason. The rest is for the rows.
fn detail(entry: &Entry) -> Option<String> {
    let detail = entry.detail.as_deref()?;
    let numbers = detail.strip_prefix("ticket ").or_else(|| detail.strip_prefix("tickets "));
    match entry.event.as_str() {
        "decided_link" | "decided_link_keyless" | "decided_link_unverified" => {
            let number = numbers.and_then(|rest| rest.split_once(", ")).map(|(number, _)| number);
            number.map(|number| format!("№ {number}"))
        }
        "created" | "found" | "candidate_stands" => numbers.map(|numbers| format!("№ {numbers}")),
        "refused" | "decided_reject" | "decided_create_after_all" | "asked_consent" | "let_go" | "undelivered" => {
            (!detail.starts_with("attempt ")).then(|| detail.to_owned())
        }
        "outbox_chat_refused" | "outbox_row_refused" => detail.split_once(": ").map(|(_, why)| why.to_owned()),
        _ => None,
    }
}

/// An event in words; one that has none yet, as it is.
#[must_use]
pub fn event_words(texts: &Texts, lang: &str, event: &str) -> String {
    // A delivery's events are told from an operation's by their first word.
    let name = match event {
        "outbox_lost" | "outbox_pause_over" | "outbox_lease_ended" => "message_unknown",
        "outbox_chat_refused" | "outbox_row_refused" => "undelivered",
        "outbox_gone" => "card_deleted",
        "outbox_decided_send_again" => "send_again",
        "outbox_decided_let_go" => "let_go",
        other => other,
    };
    let key = Key::ALL.iter().find(|key| key.split() == ("event", name));
    key.map_or_else(|| event.to_owned(), |key| texts.say(lang, *key, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    fn entry(event: &str, by: Option<i64>, detail: Option<&str>) -> Entry {
        let detail = detail.map(str::to_owned);
        Entry { event: event.into(), from: String::new(), to: String::new(), by, detail }
    }

    #[test]
    fn a_history_reads_as_a_story() {
        let mut problems = crate::catalog::problem::Problems::new();
        let catalog = Catalog::load(None, "ru", &mut problems).unwrap();
        let at = Timestamp(1_796_030_962_000);
        let second = |n: u64| at.plus(std::time::Duration::from_secs(n));
        let entries = [
            (at, entry("confirmed", Some(101), Some("draft x version 1"))),
            (at, entry("by_update", None, Some("update 7 row 3"))),
            (second(1), entry("claimed", None, Some("attempt 1"))),
            (second(11), entry("lost", None, Some("attempt 1"))),
            (second(60), entry("missed", None, None)),
            (second(80), entry("missed", None, None)),
            (second(100), entry("missed", None, None)),
            (second(50_000), entry("decided_link", Some(9001), Some("ticket 1001, to be checked"))),
            (second(50_001), entry("from_the_future", None, None)),
        ];
        let names = BTreeMap::from([(9001, "Ольга".to_owned())]);
        let hours = WorkingHours::default();
        let told = timeline(&catalog.texts, "ru", &hours, &entries, &names).join("\n");
        insta::assert_snapshot!(told, @r"
        30.11 12:29:22 нажатие, заявка сохранена
        12:29:23 отправляем в CRM
        12:29:33 ответа нет
        12:30:22 искали в CRM, не нашли ×3
        01.12 02:22:42 указан номер · Ольга · № 1001
        02:22:43 from_the_future
        ");
    }
}
