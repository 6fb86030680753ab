//! The end of a test: nothing unfinished, nothing twice, nothing claimed that is not so.

use std::collections::HashMap;

use serde_json::Value;
use zayavka::store::{inbox, operations, outbox};

use super::{ANNA, BORIS, BOT, World};

/// What a test may leave behind because it says so.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    unfinished: bool,
    twins: bool,
    ended: bool,
}

impl World {
    /// This test may end with open work.
    pub(crate) fn may_stay_unfinished(&mut self) {
        self.end.unfinished = true;
    }

    /// This test is about a second ticket that the product does not promise to prevent.
    pub(crate) fn may_have_twins(&mut self) {
        self.end.twins = true;
    }

    /// Ends the test: fails on open work (a case in front of a human is not open work), on two tickets under one key,
    /// and on words that claim a ticket the CRM does not have.
    pub(crate) async fn finish(mut self) {
        self.end.ended = true;
        if !self.end.unfinished {
            let open = self.unfinished().await;
            assert!(open.is_empty(), "the test ends with unfinished work: {open:?}");
        }
        let tickets = self.tickets().await;
        let mut by_key: HashMap<&str, usize> = HashMap::new();
        for ticket in &tickets {
            *by_key.entry(ticket["external_id"].as_str().unwrap_or_default()).or_default() += 1;
        }
        let twins: Vec<_> = by_key.iter().filter(|(_, count)| **count > 1).collect();
        assert!(self.end.twins || twins.is_empty(), "more than one ticket: {twins:?}");
        for chat in [ANNA, BORIS] {
            self.only_true_numbers(chat, &tickets).await;
        }
    }

    /// Ends a test whose CRM is a real one: what it holds is for the test to count.
    pub(crate) async fn finish_elsewhere(mut self) {
        self.end.ended = true;
        let open = self.unfinished().await;
        assert!(open.is_empty(), "the test ends with unfinished work: {open:?}");
    }

    /// What is not done yet, in words.
    pub(crate) async fn unfinished(&self) -> Vec<String> {
        let reader = self.app().store.reader();
        let mut open = Vec::new();
        let states = operations::count_by_state(reader).await.unwrap_or_else(|error| panic!("{error}"));
        for (state, count) in states {
            if matches!(state.as_str(), "pending" | "sending" | "unknown") {
                open.push(format!("{count} operations {state}"));
            }
        }
        let rows = outbox::open(reader, BOT, 100).await.unwrap_or_else(|error| panic!("{error}"));
        open.extend(rows.iter().map(|row| format!("outbox {} {:?}: {:?}", row.kind, row.delivery.state, row.notice)));
        match inbox::open_rows(reader).await.unwrap_or_else(|error| panic!("{error}")) {
            0 => {}
            count => open.push(format!("{count} updates not handled")),
        }
        open
    }

    /// Whoever was told "created" can find the ticket.
    async fn only_true_numbers(&self, chat: i64, tickets: &[Value]) {
        for message in self.messages(chat).await.into_iter().filter(|message| message.by_bot) {
            for text in message.earlier.iter().chain([&message.text]) {
                let Some((_, after)) = text.split_once("аявка № ") else { continue };
                let number: String = after.chars().take_while(char::is_ascii_digit).collect();
                let there = tickets.iter().any(|ticket| ticket["number"] == number.as_str());
                assert!(there, "chat {chat} was told of a ticket {number} that does not exist: {text}");
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !self.end.ended && !std::thread::panicking() {
            panic!("a test ends with `finish`");
        }
    }
}
