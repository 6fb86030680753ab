//! What a person may do with what they sent before: see it, withdraw it, have it forgotten.

use super::Visit;
use crate::{
    catalog::{texts::Key, wording::state_words},
    domain::{
        draft::Draft,
        input::Handled,
        notice::{Keyboard, Words},
        operation::Event,
    },
    store::{
        StoreError, drafts,
        operations::{self, Advanced, Stored},
        purge,
    },
};

/// How many operations `/status` lists.
const LISTED: u64 = 10;

impl Visit<'_> {
    pub(super) async fn status(&self) -> Result<Handled, StoreError> {
        let listed = operations::of_person(self.tx.as_ref(), self.dialog.bot, self.user(), LISTED).await?;
        if listed.is_empty() {
            return self.say_key(Key::DialogStatusNone).await;
        }
        let mut text = self.text(Key::DialogStatusHead, &[]);
        for stored in &listed {
            let state = state_words(self.texts(), &self.lang, &stored.operation);
            let args = [("form", stored.form_title.as_str()), ("marker", stored.marker.as_str()), ("state", &state)];
            text.push('\n');
            text.push_str(&self.text(Key::DialogStatusLine, &args));
        }
        self.say(Words::plain(text)).await?;
        Ok(Handled::quietly())
    }

    /// `/cancel`: the open draft; without one, an operation whose first attempt has not begun.
    pub(super) async fn cancel(&self) -> Result<Handled, StoreError> {
        if let Some((draft, _)) = self.active().await? {
            let was = draft.revision;
            self.withdraw(draft, was).await?;
            return Ok(Handled::quietly());
        }
        let latest = operations::of_person(self.tx.as_ref(), self.dialog.bot, self.user(), 1).await?;
        let Some(stored) = latest.first().filter(|stored| !stored.operation.state.is_final()) else {
            return self.say_key(Key::DialogNothingOpen).await;
        };
        if !self.take_back(stored).await? {
            let text = self.text(Key::DialogFrozen, &[("marker", stored.marker.as_str())]);
            self.say(Words::plain(text)).await?;
        }
        Ok(Handled::quietly())
    }

    /// Withdraws an operation whose first attempt has not begun; `false` when it has.
    pub(super) async fn take_back(&self, stored: &Stored) -> Result<bool, StoreError> {
        let (id, rev) = (stored.operation.id, Some(stored.rev));
        let dialog = self.dialog;
        let taken =
            operations::advance(self.tx.as_ref(), id, rev, &Event::Cancelled, self.now, &dialog.policy, &dialog.author)
                .await?;
        match taken {
            Advanced::Moved(_) => Ok(true),
            Advanced::Stale => Err(StoreError::Stale("operations")),
            Advanced::Illegal(_) | Advanced::Gone => Ok(false),
        }
    }

    /// Closes a draft and says so; one that was begun before it and is still open comes back into sight.
    pub(super) async fn withdraw(&self, mut draft: Draft, was: i64) -> Result<(), StoreError> {
        draft.cancel();
        drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
        let Some((mut other, form)) = self.active().await? else {
            let text = self.text(Key::DialogDraftCancelled, &[]);
            return self.say(Words { text, keyboard: Keyboard::Remove }).await;
        };
        let text = self.text(Key::DialogOtherOpen, &[]);
        self.say(Words { text, keyboard: Keyboard::Remove }).await?;
        let was = other.revision;
        if other.adopt(&form) {
            return self.changed_form(&other, &form, was).await;
        }
        self.show(&other, &form, None, 0).await
    }

    /// `/forget`: all the person wrote goes.
    pub(super) async fn forget(&self) -> Result<Handled, StoreError> {
        let forgotten = purge::forget(self.tx.as_ref(), self.dialog.bot, self.user()).await?;
        self.say_key(if forgotten.waiting > 0 { Key::DialogForgetLater } else { Key::DialogForgetDone }).await
    }
}
