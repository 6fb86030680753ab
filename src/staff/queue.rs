//! Looking: the queue, one case, and why it is one.

use super::Shift;
use crate::{
    catalog::{
        texts::Key,
        wording::{age, reason_words, visible},
    },
    domain::{
        input::Handled,
        notice::{Notice, NoticeKind},
    },
    store::{
        StoreError, cases, journal,
        operations::{self, Stored},
        outbox::{self, Letter, STAFF},
    },
};

/// Cases on one page.
const PAGE: u64 = 20;

impl Shift<'_> {
    /// The queue, oldest first; `/queue 2` shows the second page.
    pub(super) async fn queue(&self, args: &str) -> Result<Handled, StoreError> {
        let page = args.trim().parse::<u64>().unwrap_or(1).clamp(1, 10_000) - 1;
        let total = cases::count_open(self.tx.as_ref()).await?;
        if total == 0 {
            return self.say_key(Key::StaffQueueEmpty).await;
        }
        let mut text = self.text(Key::StaffQueueHead, &[("count", &total.to_string())]);
        let listed = cases::queue(self.tx.as_ref(), page * PAGE, PAGE).await?;
        let shown = page * PAGE + u64::try_from(listed.len()).unwrap_or(0);
        for case in listed {
            let Some(stored) = operations::load(self.tx.as_ref(), case.operation).await? else { continue };
            let age = age(&self.staff.texts, self.lang, self.now, case.opened_at);
            let reason = reason_words(&self.staff.texts, self.lang, &case.reason);
            let args = [("marker", stored.marker.as_str()), ("age", &age), ("reason", &reason)];
            text.push('\n');
            text.push_str(&self.text(Key::StaffQueueLine, &args));
        }
        if total > shown {
            text.push('\n');
            text.push_str(&self.text(Key::StaffMore, &[("count", &(total - shown).to_string())]));
        }
        self.say(text).await
    }

    /// A case's card anew, or where its operation stands.
    pub(super) async fn show(&self, args: &str) -> Result<Handled, StoreError> {
        let Some(stored) = self.named(args).await? else { return Ok(Handled::quietly()) };
        let Some(case) = cases::open_of(self.tx.as_ref(), stored.operation.id).await? else {
            let args = [("marker", stored.marker.as_str()), ("state", &self.state(&stored))];
            return self.say(self.text(Key::StaffWhyHead, &args)).await;
        };
        let card = format!("case:{}", case.id);
        // A fresh message at the end of the chat, which the card's edits follow from now on.
        crate::store::cards::forget(self.tx.as_ref(), &card).await?;
        let operation = stored.operation.id;
        let letter = Letter {
            bot: self.staff.bot,
            chat: STAFF,
            thread: None,
            kind: NoticeKind::StaffCard,
            card: Some(card),
            operation: Some(operation),
            notice: Notice::Case { operation, case: case.id },
            on_unknown: crate::domain::delivery::OnUnknown::Repeat,
        };
        outbox::put(self.tx.as_ref(), &letter, self.now).await?;
        Ok(Handled::quietly())
    }

    pub(super) async fn why(&self, args: &str) -> Result<Handled, StoreError> {
        let Some(stored) = self.named(args).await? else { return Ok(Handled::quietly()) };
        self.tell_why(&stored).await
    }

    /// The history from the journal, a line an entry.
    pub(super) async fn tell_why(&self, stored: &Stored) -> Result<Handled, StoreError> {
        let args = [("marker", stored.marker.as_str()), ("state", &self.state(stored))];
        let mut text = self.text(Key::StaffWhyHead, &args);
        for line in journal::of_operation(self.tx.as_ref(), stored.operation.id).await? {
            let entry = line.entry;
            text.push_str(&format!("\n{} {}", line.at, entry.event));
            if entry.from != entry.to && !entry.to.is_empty() {
                text.push_str(&format!(" → {}", entry.to));
            }
            if let Some(by) = entry.by {
                text.push_str(&format!(" · {by}"));
            }
            if let Some(detail) = entry.detail {
                text.push_str(&format!(" · {}", visible(&detail)));
            }
        }
        self.say(text).await
    }
}
