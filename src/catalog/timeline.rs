//! A history in words: the journal's lines as somebody who was not there would like to read them.

use std::collections::BTreeMap;

use super::{
    texts::{Key, Texts},
    wording::{hindrance_words, visible},
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
    if let Some(detail) = detail(texts, lang, entry) {
        what.push_str(&format!(" · {}", redact(&visible(&detail))));
    }
    what
}

/// What people want of a detail: a number, a reason. The rest is for the rows.
fn detail(texts: &Texts, lang: &str, entry: &Entry) -> Option<String> {
    let detail = entry.detail.as_deref()?;
    let numbers = detail.strip_prefix("ticket ").or_else(|| detail.strip_prefix("tickets "));
    match entry.event.as_str() {
        "decided_link" | "decided_link_keyless" | "decided_link_unverified" => {
            let number = numbers.and_then(|rest| rest.split_once(", ")).map(|(number, _)| number);
            number.map(|number| format!("№ {number}"))
        }
        "created" | "found" | "candidate_stands" => numbers.map(|numbers| format!("№ {numbers}")),
        "refused"
        | "unfit"
        | "decided_reject"
        | "decided_create_after_all"
        | "asked_consent"
        | "let_go"
        | "undelivered" => (!detail.starts_with("attempt ")).then(|| detail.to_owned()),
        "outbox_chat_refused" | "outbox_row_refused" => {
            let why = detail.split_once(": ").map(|(_, why)| why)?;
            // A word of ours, or Telegram's own.
            let (word, rest) = why.split_once(": ").unwrap_or((why, ""));
            let ours = hindrance_words(texts, lang, word, rest);
            Some(if ours == rest { why.to_owned() } else { ours })
        }
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
        "outbox_unreachable" => "message_unsent",
        "outbox_no_topic" => "topic_closed",
        "outbox_moved" => "chat_moved",
        "outbox_misconfigured" => "telegram_refuses_us",
        "outbox_clock_set_back" => "clock_set_back",
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
    use crate::{catalog::Catalog, domain::delivery};

    fn entry(event: &str, by: Option<i64>, detail: Option<&str>) -> Entry {
        let detail = detail.map(str::to_owned);
        Entry { event: event.into(), from: String::new(), to: String::new(), by, detail }
    }

    /// Every word a machine's `name` gives, read from its source.
    fn words_of(source: &'static str) -> Vec<&'static str> {
        let (_, body) = source.split_once("pub fn name(").unwrap();
        let (body, _) = body.split_once("\n    }\n").unwrap();
        body.split('"').skip(1).step_by(2).collect()
    }

    #[test]
    fn every_event_of_both_machines_has_words() {
        let mut problems = crate::catalog::problem::Problems::new();
        let catalog = Catalog::load(None, "ru", &mut problems).unwrap();
        let own = words_of(include_str!("../domain/operation/event.rs"));
        let of_messages = words_of(include_str!("../domain/delivery/step.rs"));
        assert!(own.len() > 15 && of_messages.len() > 15, "{own:?} {of_messages:?}");
        let of_messages = of_messages.into_iter().filter(|word| !delivery::is_ordinary(word));
        for event in own.into_iter().map(str::to_owned).chain(of_messages.map(|word| format!("outbox_{word}"))) {
            for lang in ["ru", "en"] {
                assert_ne!(event_words(&catalog.texts, lang, &event), event, "{lang}: no words for it");
            }
        }
    }

    #[test]
    fn why_a_message_did_not_leave_is_told_in_the_reader_s_language() {
        let mut problems = crate::catalog::problem::Problems::new();
        let catalog = Catalog::load(None, "ru", &mut problems).unwrap();
        let told = |event: &str, detail: &str| {
            in_words(&catalog.texts, "ru", &entry(event, None, Some(detail)), &BTreeMap::new())
        };
        for (event, detail, words) in [
            ("outbox_unreachable", "card 7", "сообщение не отправлено: заявитель остановил бота"),
            ("outbox_row_refused", "waiting 7: nothing_to_say", "сообщение не дошло · говорить уже не о чем"),
            (
                "outbox_chat_refused",
                "staff_card 7: no_staff_chat",
                "сообщение не дошло · чат сотрудников не задан (staff.chat)",
            ),
            (
                "outbox_row_refused",
                "dialog 7: text_too_long: 4097 > 4096",
                "сообщение не дошло · текст длиннее, чем принимает Telegram (4097 > 4096)",
            ),
            (
                "outbox_chat_refused",
                "card 7: 403 Forbidden: bot was kicked",
                "сообщение не дошло · 403 Forbidden: bot was kicked",
            ),
        ] {
            assert_eq!(told(event, detail), words);
        }
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
