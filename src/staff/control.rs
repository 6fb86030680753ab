//! Control: pause and resume sending, the shelf of updates that could not be handled.

use super::{
    Shift,
    deed::{Deed, Target},
};
use crate::{
    catalog::{
        texts::Key,
        wording::{age, visible},
    },
    domain::{input::Handled, review::redact},
    ids::Marker,
    store::{StoreError, cases, inbox, journal, settings},
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
        // One more than is shown tells that there are more.
        let mut rows = inbox::shelf(self.tx.as_ref(), self.staff.bot, LISTED + 1).await?;
        let is_cut = rows.len() as u64 > LISTED;
        rows.truncate(usize::try_from(LISTED).unwrap_or(usize::MAX));
        if rows.is_empty() {
            return self.say_key(Key::StaffShelfEmpty).await;
        }
        let lines = rows.iter().map(|row| {
            let age = age(&self.staff.texts, self.lang, self.now, row.received_at);
            let (number, error) = (row.row.to_string(), redact(&visible(&row.error)));
            self.text(Key::StaffShelfLine, &[("row", &number), ("age", &age), ("error", &error)])
        });
        let more = is_cut.then(|| self.text(Key::StaffShelfMore, &[("shown", &LISTED.to_string())]));
        let text = lines.chain(more).collect::<Vec<_>>().join("\n");
        self.say(text).await
    }

    /// By the row's number, as `/shelf` lists it, or by the case's: `#12`, or an answer to its card.
    pub(super) async fn replay(&self, args: &str) -> Result<Handled, StoreError> {
        let args = args.trim();
        let Ok(row) = args.parse::<i64>() else {
            let names_case = args.starts_with('#') || args.is_empty() || Marker::parse(args).is_some();
            if !names_case {
                return self.say(self.text(Key::StaffNoSuchRow, &[("row", &visible(args))])).await;
            }
            return match self.target_for(args, &Deed::Replay, Key::StaffUsageReplay).await? {
                Some((target, _)) => self.commanded(&target, &Deed::Replay).await,
                None => Ok(Handled::quietly()),
            };
        };
        let db = self.tx.as_ref();
        if let Some(case) = cases::about_row(db, self.staff.bot, "shelved", row).await?.pop() {
            let target = Target { case: Some(case), stored: None };
            let (ruling, _) = self.staff.act(self.tx, self.actor, &target, None, &Deed::Replay, self.now).await?;
            if !ruling.is_done() {
                return self.say(self.staff.ruling_words(self.tx, self.lang, &target, &ruling).await?).await;
            }
            return self.say(self.text(Key::StaffReplayed, &[("row", &row.to_string())])).await;
        }
        let shown = row.to_string();
        if !inbox::replay(db, row).await? {
            return self.say(self.text(Key::StaffNoSuchRow, &[("row", &shown)])).await;
        }
        self.record("replayed", Some(format!("shelved row {shown}"))).await?;
        self.say(self.text(Key::StaffReplayed, &[("row", &shown)])).await
    }

    async fn record(&self, event: &str, detail: Option<String>) -> Result<(), StoreError> {
        journal::note(self.tx.as_ref(), None, event, Some(self.actor.id), detail, self.now).await
    }
}
