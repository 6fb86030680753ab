//! Control: pause and resume sending, the shelf of updates that could not be handled.

use super::Shift;
use crate::{
    catalog::{
        texts::Key,
        wording::{age, visible},
    },
    domain::{input::Handled, operation::Entry},
    store::{StoreError, inbox, journal, settings},
};

/// Rows of the shelf shown at once.
const LISTED: u64 = 20;

impl Shift<'_> {
    pub(super) async fn pause(&self) -> Result<Handled, StoreError> {
        settings::set(self.tx.as_ref(), settings::PAUSED, settings::PAUSED_BY_STAFF, self.now).await?;
        self.record("paused", None).await?;
        self.say_key(Key::StaffPaused).await
    }

    pub(super) async fn resume(&self) -> Result<Handled, StoreError> {
        settings::set(self.tx.as_ref(), settings::PAUSED, "", self.now).await?;
        self.record("resumed", None).await?;
        self.say_key(Key::StaffResumed).await
    }

    pub(super) async fn shelf(&self) -> Result<Handled, StoreError> {
        let rows = inbox::shelf(self.tx.as_ref(), self.staff.bot, LISTED).await?;
        if rows.is_empty() {
            return self.say_key(Key::StaffShelfEmpty).await;
        }
        let lines = rows.iter().map(|row| {
            let age = age(&self.staff.texts, self.lang, self.now, row.received_at);
            let (number, error) = (row.row.to_string(), visible(&row.error));
            self.text(Key::StaffShelfLine, &[("row", &number), ("age", &age), ("error", &error)])
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        self.say(text).await
    }

    pub(super) async fn replay(&self, args: &str) -> Result<Handled, StoreError> {
        let shown = visible(args);
        let taken = match args.trim().parse() {
            Ok(row) => inbox::replay(self.tx.as_ref(), row).await?,
            Err(_) => false,
        };
        if !taken {
            return self.say(self.text(Key::StaffNoSuchRow, &[("row", &shown)])).await;
        }
        self.record("replayed", Some(format!("inbox row {shown}"))).await?;
        self.say(self.text(Key::StaffReplayed, &[("row", &shown)])).await
    }

    async fn record(&self, event: &str, detail: Option<String>) -> Result<(), StoreError> {
        let entry =
            Entry { event: event.to_owned(), from: String::new(), to: String::new(), by: Some(self.by.0), detail };
        journal::append(self.tx.as_ref(), None, &entry, self.now).await
    }
}
