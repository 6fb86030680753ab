//! `[staff]`: who decides, and when they work.

use std::time::Duration;

use super::{DAY, HOUR};
use crate::{
    config::{reader::Section, settings::Staff},
    domain::{hours::WorkingHours, moment},
    ids::{ChatId, UserId},
};

const MINUTE: Duration = Duration::from_secs(60);

/// Ids of Telegram's own that look like persons: anonymous admins, channels, forwards of linked channels.
const NOBODY: [i64; 3] = [1_087_968_824, 136_817_688, 777_000];
/// Largest id of a person or chat Telegram promises (52 significant bits).
const LARGEST_ID: i64 = (1 << 52) - 1;

pub(super) fn staff(root: &Section<'_>) -> Staff {
    let section = root.table_or_empty("staff");
    let people = |key: &str| -> Vec<UserId> {
        let ids = section.ints(key, 1..=LARGEST_ID).unwrap_or_default();
        for id in ids.iter().filter(|id| NOBODY.contains(id)) {
            let hint = "it stands for anonymous admins and channels: whoever writes as it is nobody";
            section.error(key, format!("`staff.{key}` has {id}, which is no person"), hint);
        }
        ids.into_iter().map(UserId).collect()
    };
    let staff = Staff {
        chat: section.int("chat", -LARGEST_ID..=LARGEST_ID).map(ChatId),
        thread: section.int("thread", 1..=LARGEST_ID),
        owners: people("owners"),
        reviewers: people("reviewers"),
        viewers: people("viewers"),
        second_person: section.bool("second_person").unwrap_or(false),
        take_for: section.duration("take_for", MINUTE..=DAY).unwrap_or(30 * MINUTE),
        hours: hours(&section),
        remind_after: section.duration("remind_after", MINUTE..=7 * DAY).unwrap_or(15 * MINUTE),
        escalate_after: section.duration("escalate_after", MINUTE..=7 * DAY).unwrap_or(HOUR),
        client_update_after: section.duration("client_update_after", MINUTE..=7 * DAY).unwrap_or(30 * MINUTE),
    };
    if staff.escalate_after < staff.remind_after {
        let key = if section.has("escalate_after") { "escalate_after" } else { "remind_after" };
        let hint = "reviewers are reminded first, owners after them";
        section.error(key, "`staff.escalate_after` is shorter than `staff.remind_after`", hint);
    }
    if staff.chat == Some(ChatId(0)) {
        section.error("chat", "`staff.chat` is 0", "the numeric id of the chat; groups begin with -100");
    }
    let deciders = staff.owners.len() + staff.reviewers.len();
    if deciders == 0 {
        let hint = "put numeric ids into owners or reviewers; until then cases wait";
        section.warning("owners", "nobody may decide cases", hint);
    } else if staff.second_person && deciders == 1 {
        let hint = "list a second owner or reviewer, or second_person = false";
        section.error("second_person", "`staff.second_person` needs two who may decide, there is one", hint);
    }
    if !section.has("chat") && deciders > 0 {
        section.warning("chat", "`staff.chat` is not set: review cards go nowhere", "the id of the staff's chat");
    }
    section.finish();
    staff
}

/// `working_hours`, `working_days` and `utc_offset`.
fn hours(section: &Section<'_>) -> WorkingHours {
    let mut hours = WorkingHours::default();
    if let Some(text) = section.string("working_hours") {
        match text.split_once('-').and_then(|(from, to)| minutes(from.trim()).zip(minutes(to.trim()))) {
            Some((begin, end)) if begin < end => (hours.begin, hours.end) = (begin, end),
            _ => {
                let hint = "\"09:00-18:00\"; all day is \"00:00-24:00\"";
                section.error("working_hours", format!("`staff.working_hours` cannot be `{text}`"), hint);
            }
        }
    }
    if let Some(text) = section.string("utc_offset") {
        match moment::offset(text.trim()) {
            Some(minutes) => hours.offset = minutes,
            None => {
                let hint = "\"+03:00\", from -14:00 to +14:00";
                section.error("utc_offset", format!("`staff.utc_offset` cannot be `{text}`"), hint);
            }
        }
    }
    if let Some(names) = section.strings("working_days") {
        let hint = "some of mon, tue, wed, thu, fri, sat, sun; every day if left out";
        hours.days = [false; 7];
        for name in &names {
            match DAYS.iter().position(|known| known == name) {
                Some(place) => hours.days[place] = true,
                None => section.error("working_days", format!("`staff.working_days` has `{name}`"), hint),
            }
        }
        if names.is_empty() {
            section.error("working_days", "`staff.working_days` names no day", hint);
        }
    }
    hours
}

/// The days of the week as they are written, Monday first.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Minutes after midnight of `HH:MM`, up to `24:00`.
fn minutes(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let two = |part: &str| -> Option<u16> {
        (part.len() == 2 && part.chars().all(|c| c.is_ascii_digit())).then(|| part.parse().ok())?
    };
    let (hour, minute) = (two(hour)?, two(minute)?);
    let total = hour * 60 + minute;
    (minute < 60 && total <= 24 * 60).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_read_as_people_write_them() {
        for (text, read) in [("09:00", Some(540)), ("24:00", Some(1440)), ("9:00", None), ("24:01", None), ("", None)] {
            assert_eq!(minutes(text), read, "{text}");
        }
    }
}
