//! Filling in: a reply to the open question, and the buttons under it.

use super::{
    Visit,
    files::ends_files,
    screens::{Screens, Taken},
};
use crate::{
    catalog::texts::Key,
    domain::{
        draft::{Draft, DraftState},
        form::{Field, FieldKind, Form},
        input::{Act, Handled},
        notice::{Keyboard, Words},
        validate::{Hint, Reply, validate},
    },
    ids::DraftId,
    store::{
        StoreError, drafts,
        operations::{self, Stored},
        slots,
    },
    telegram::button::Wish,
};

impl Visit<'_> {
    /// A message: the reply to the open question of the draft worked on last.
    pub(super) async fn message(&self, act: &Act) -> Result<Handled, StoreError> {
        let Some((mut draft, form)) = self.active().await? else { return self.nothing_open().await };
        let was = draft.revision;
        if draft.adopt(&form) {
            return self.changed_form(&draft, &form, was).await.map(|()| Handled::quietly());
        }
        if draft.revision != was {
            drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
        }
        let was = draft.revision;
        let Some(field) = draft.asked(&form).cloned().filter(|_| draft.state == DraftState::Filling) else {
            return self.summary_waits(&draft, &form, act).await;
        };
        if matches!(field.kind, FieldKind::Files { .. }) {
            return self.files_message(draft, &form, &field, act).await;
        }
        if let Act::Text { text } = act {
            // The buttons in place of the keyboard send their labels as text, and may be pressed after their question.
            if *text == self.text(Key::DialogBack, &[]) {
                return self.go_back(draft, &form, was).await;
            }
            if *text == self.text(Key::DialogSkip, &[]) && (field.optional || is_phone(&field)) {
                return self.take(draft, &form, &field, &Reply::Skip).await;
            }
        }
        self.take(draft, &form, &field, &reply(act, self.user().0)).await
    }

    /// Nothing is asked: words bring the summary again, since an older one may belong to a version that has ended.
    async fn summary_waits(&self, draft: &Draft, form: &Form, act: &Act) -> Result<Handled, StoreError> {
        if !matches!(act, Act::Text { .. }) {
            return self.say_key(Key::DialogSummaryWaits).await;
        }
        let lead = self.text(Key::DialogSummaryWaits, &[]);
        self.show(draft, form, Some(&lead), 0).await?;
        Ok(Handled::quietly())
    }

    /// A reply to the open question: taken, or met with a hint and nothing changed.
    pub(super) async fn take(
        &self,
        mut draft: Draft,
        form: &Form,
        field: &Field,
        reply: &Reply,
    ) -> Result<Handled, StoreError> {
        let was = draft.revision;
        let offered = self.offered(form, field).await?;
        match validate(&offered, reply, self.now) {
            Ok(answer) => {
                let shown = answer.display();
                draft.answer(form, &field.id, answer);
                drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
                if is_phone(field) {
                    // The keyboard's place is free again only when a message says so.
                    let text = self.text(Key::DialogNoted, &[("answer", &shown)]);
                    self.say(Words { text, keyboard: Keyboard::Remove }).await?;
                }
                self.show(&draft, form, None, 0).await?;
                Ok(Handled::toast(self.text(Key::TapChosen, &[])))
            }
            Err(Hint::ConsentRefused) => {
                draft.decline();
                drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
                self.say_key(Key::DialogConsentDeclined).await?;
                Ok(Handled::toast(self.text(Key::TapDone, &[])))
            }
            Err(Hint::NotAChoice) if validate(field, reply, self.now).is_ok() => {
                let lead = self.text(Key::TapSlotTaken, &[]);
                self.show(&draft, form, Some(&lead), 0).await?;
                Ok(Handled::toast(lead))
            }
            Err(hint) => {
                let words = self.texts().hint(&self.lang, &hint);
                self.reply(Words::plain(words.clone())).await?;
                Ok(Handled::toast(words))
            }
        }
    }

    /// The question as it is offered now: without the times that are taken, so that what a person types in answer means
    /// what they see.
    async fn offered(&self, form: &Form, field: &Field) -> Result<Field, StoreError> {
        let mut field = field.clone();
        if let FieldKind::Slot { slots } = &mut field.kind {
            let taken: Taken = slots::taken(self.tx.as_ref(), &form.id).await?.into_iter().collect();
            slots.retain(|slot| taken.get(&slot.id).is_none_or(|count| *count < slot.places));
        }
        Ok(field)
    }

    /// A button under a question or a summary.
    pub(super) async fn wish(&self, id: DraftId, revision: i64, wish: Wish) -> Result<Handled, StoreError> {
        let toast = |key| Ok(Handled::toast(self.text(key, &[])));
        let Some(mut draft) = drafts::load(self.tx.as_ref(), id).await? else { return toast(Key::TapGone) };
        if draft.user != self.user() {
            return toast(Key::TapForeign);
        }
        if draft.state == DraftState::Submitted {
            let stored = operations::by_draft_version(self.tx.as_ref(), id, draft.version).await?;
            return match stored {
                Some(stored) => self.wish_after_all(&draft, &stored, wish).await,
                None => toast(Key::TapStale),
            };
        }
        if !draft.is_open() {
            return toast(Key::TapExpired);
        }
        let Some(form) = self.form(&draft) else { return toast(Key::TapGone) };
        let was = draft.revision;
        if draft.adopt(&form) {
            self.changed_form(&draft, &form, was).await?;
            return toast(Key::TapFormChanged);
        }
        if revision != was && !ends_files(&draft, &form, wish) {
            return toast(Key::TapStale);
        }
        match wish {
            Wish::Page(page) => {
                self.show(&draft, &form, None, page as usize).await?;
                toast(Key::TapDone)
            }
            Wish::Menu => {
                self.say(self.screens(&draft, &form).menu()).await?;
                toast(Key::TapDone)
            }
            Wish::Summary => {
                self.show(&draft, &form, None, 0).await?;
                toast(Key::TapDone)
            }
            Wish::Back => self.go_back(draft, &form, was).await,
            Wish::Edit(place) => {
                let field = form.fields.get(place as usize).map(|field| field.id.clone());
                if !field.is_some_and(|field| draft.edit(&form, &field)) {
                    return toast(Key::TapStale);
                }
                drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
                self.show(&draft, &form, None, 0).await?;
                toast(Key::TapDone)
            }
            Wish::Cancel => {
                self.withdraw(draft, was).await?;
                toast(Key::TapDone)
            }
            Wish::Detach(n) => self.detach(draft, &form, n).await,
            Wish::Attached(_) => self.files_done(draft, &form).await,
            Wish::Choose(_) | Wish::Skip | Wish::Agree | Wish::Refuse => {
                let Some(field) = draft.asked(&form).cloned() else { return toast(Key::TapStale) };
                let Some(reply) = pressed(&field, wish) else { return toast(Key::TapStale) };
                self.take(draft, &form, &field, &reply).await
            }
        }
    }

    /// A button under what was sent already: nobody who wants it changed or withdrawn is answered as if they sent it again.
    async fn wish_after_all(&self, draft: &Draft, stored: &Stored, wish: Wish) -> Result<Handled, StoreError> {
        let changes = matches!(wish, Wish::Edit(_) | Wish::Menu | Wish::Cancel);
        if stored.operation.state.is_final() || !changes {
            return Ok(Handled::toast(self.where_it_stands(draft, stored).await?));
        }
        if wish == Wish::Cancel && self.take_back(stored).await? {
            return Ok(Handled::toast(self.text(Key::TapCancelled, &[])));
        }
        Ok(Handled::toast(self.text(Key::DialogFrozen, &[("marker", stored.marker.as_str())])))
    }

    pub(super) async fn go_back(&self, mut draft: Draft, form: &Form, was: i64) -> Result<Handled, StoreError> {
        let left = draft.asked(form).is_some_and(is_phone);
        if draft.back(form) {
            drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
            if left {
                self.say(Words { text: self.text(Key::DialogSteppedBack, &[]), keyboard: Keyboard::Remove }).await?;
            }
        }
        self.show(&draft, form, None, 0).await?;
        Ok(Handled::toast(self.text(Key::TapDone, &[])))
    }

    /// An edit of a message changes no answer; said only while there is a draft it could be meant for.
    pub(super) async fn edited(&self) -> Result<Handled, StoreError> {
        if self.active().await?.is_none() {
            return Ok(Handled::quietly());
        }
        self.say_key(Key::DialogEditedIgnored).await
    }

    /// The open draft worked on last, with its form. A draft whose form is no longer offered is closed.
    pub(super) async fn active(&self) -> Result<Option<(Draft, std::sync::Arc<Form>)>, StoreError> {
        let Some(mut draft) = drafts::active(self.tx.as_ref(), self.dialog.bot, self.user()).await? else {
            return Ok(None);
        };
        if let Some(form) = self.form(&draft) {
            return Ok(Some((draft, form)));
        }
        let was = draft.revision;
        draft.cancel();
        drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
        Ok(None)
    }

    /// Stores a draft brought to a form that changed, and shows where it stands now.
    pub(super) async fn changed_form(&self, draft: &Draft, form: &Form, was: i64) -> Result<(), StoreError> {
        drafts::save(self.tx.as_ref(), draft, was, self.now).await?;
        let lead = self.text(Key::DialogFormChanged, &[]);
        self.show(draft, form, Some(&lead), 0).await
    }

    /// Shows where a draft stands.
    pub(super) async fn show(
        &self,
        draft: &Draft,
        form: &Form,
        lead: Option<&str>,
        page: usize,
    ) -> Result<(), StoreError> {
        let taken: Taken = slots::taken(self.tx.as_ref(), &form.id).await?.into_iter().collect();
        for words in self.screens(draft, form).now(lead, page, &taken) {
            self.say(words).await?;
        }
        Ok(())
    }

    pub(super) fn screens<'s>(&'s self, draft: &'s Draft, form: &'s Form) -> Screens<'s> {
        Screens { texts: self.texts(), lang: &self.lang, form, draft }
    }
}

fn reply(act: &Act, sender: i64) -> Reply {
    match act {
        Act::Text { text } => Reply::Text(text.clone()),
        // The server fills in whose contact it is; the sender cannot forge it, but can pass on another's.
        Act::Contact { phone, owner, forwarded } => {
            Reply::Contact { phone: phone.clone(), own: !forwarded && owner.is_some_and(|owner| owner.0 == sender) }
        }
        Act::Media { kind, .. } => Reply::Other((*kind).to_owned()),
        _ => Reply::Other("other".to_owned()),
    }
}

fn is_phone(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Phone { .. })
}

/// What a button under the open question means as a reply to it.
fn pressed(field: &Field, wish: Wish) -> Option<Reply> {
    Some(match (wish, &field.kind) {
        (Wish::Skip, _) => Reply::Skip,
        (Wish::Choose(n), FieldKind::Choice { choices }) => Reply::Choice(choices.get(n as usize)?.id.clone()),
        (Wish::Choose(n), FieldKind::Slot { slots }) => Reply::Slot(slots.get(n as usize)?.id.clone()),
        (Wish::Agree, FieldKind::Consent { .. }) => Reply::Consent(true),
        (Wish::Refuse, FieldKind::Consent { .. }) => Reply::Consent(false),
        _ => return None,
    })
}
