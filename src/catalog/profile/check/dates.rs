//! Days a profile names, held against the calendar: nothing is known from a day that has not come.

use crate::config::reader::{Document, Section};

/// Reports every day after `today`, `YYYY-MM-DD`.
pub(super) fn whole(document: &Document<'_>, today: &str) {
    let head = document.root().table_or_empty("profile");
    head.tables("evidence").iter().chain(head.table("verified").iter()).for_each(|section| day(section, today));
}

fn day(section: &Section<'_>, today: &str) {
    // Written as the loader asks for them, days are in the order of the calendar when they are in that of the alphabet.
    if let Some(day) = section.peek("date").filter(|day| day.as_str() > today) {
        section.error("date", format!("{day} has not come yet"), "the day it was seen");
    }
}
