//! What a person may do with what they sent before: see it, withdraw it, have it forgotten.

use super::Visit;
use crate::{
    catalog::{texts::Key, wording::state_words},
    domain::{input::Handled, notice::Words, operation::Event},
    store::{
        StoreError, drafts,
        operations::{self, Advanced},
        people,
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
        if let Some((mut draft, _)) = self.active().await? {
            let was = draft.revision;
            draft.cancel();
            drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
            return self.say_key(Key::DialogDraftCancelled).await;
        }
        let latest = operations::of_person(self.tx.as_ref(), self.dialog.bot, self.user(), 1).await?;
        let Some(stored) = latest.first().filter(|stored| !stored.operation.state.is_final()) else {
            return self.say_key(Key::DialogNothingOpen).await;
        };
        let (id, rev) = (stored.operation.id, Some(stored.rev));
        let dialog = self.dialog;
        let taken =
            operations::advance(self.tx.as_ref(), id, rev, &Event::Cancelled, self.now, &dialog.policy, &dialog.author)
                .await?;
        match taken {
            Advanced::Moved(_) => Ok(Handled::quietly()),
            Advanced::Stale => Err(StoreError::Stale("operations")),
            Advanced::Illegal(_) | Advanced::Gone => {
                let text = self.text(Key::DialogFrozen, &[("marker", stored.marker.as_str())]);
                self.say(Words::plain(text)).await?;
                Ok(Handled::quietly())
            }
        }
    }

    /// `/forget`: answers go, the key and the ticket's number stay, so that a repeat is still recognised.
    pub(super) async fn forget(&self) -> Result<Handled, StoreError> {
        let (tx, bot, user) = (self.tx.as_ref(), self.dialog.bot, self.user());
        drafts::erase(tx, bot, user).await?;
        let mut waiting = false;
        for stored in operations::of_person(tx, bot, user, 1000).await? {
            if stored.operation.state.is_final() {
                drafts::erase_answers(tx, stored.operation.draft).await?;
            } else {
                waiting = true;
            }
        }
        operations::erase(tx, bot, user).await?;
        people::erase(tx, bot, user).await?;
        self.say_key(if waiting { Key::DialogForgetLater } else { Key::DialogForgetDone }).await
    }
}
