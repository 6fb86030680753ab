//! A question answered with files: each is attached as it comes, and a button ends the question.
//!
//! What is attached stands in the draft from the first file on, so that nothing is lost whatever comes between. The items
//! of an album come one by one and are answered in one message that is edited.

use super::Visit;
use crate::{
    catalog::texts::Key,
    domain::{
        answer::Answer,
        attachment::Attachment,
        draft::{Draft, DraftState},
        form::{Field, FieldKind, Form},
        input::{Act, Handled},
        notice::Words,
        validate::{Hint, Reply, validate},
    },
    store::{StoreError, drafts},
    telegram::button::Wish,
};

impl Visit<'_> {
    /// A message while a question for files is open.
    pub(super) async fn files_message(
        &self,
        draft: Draft,
        form: &Form,
        field: &Field,
        act: &Act,
    ) -> Result<Handled, StoreError> {
        let was = draft.revision;
        match act {
            Act::Media { file: Some(file), .. } => self.attach(draft, form, field, file).await,
            Act::Text { text } if *text == self.text(Key::DialogFilesDone, &[]) => self.files_done(draft, form).await,
            Act::Text { text } if *text == self.text(Key::DialogBack, &[]) => self.go_back(draft, form, was).await,
            Act::Text { text }
                if *text == self.text(Key::DialogSkip, &[]) && field.optional && attached(&draft, field).is_empty() =>
            {
                self.take(draft, form, field, &Reply::Skip).await
            }
            _ => self.show_files(&draft, form, field, Some(&Hint::FilesWanted)).await,
        }
    }

    /// One file more, or the reason why not beside what is attached already.
    async fn attach(
        &self,
        mut draft: Draft,
        form: &Form,
        field: &Field,
        file: &Attachment,
    ) -> Result<Handled, StoreError> {
        let was = draft.revision;
        let FieldKind::Files { max, .. } = field.kind else { return Ok(Handled::quietly()) };
        if let Err(hint) = validate(field, &Reply::File(file.clone()), self.now) {
            return self.show_files(&draft, form, field, Some(&hint)).await;
        }
        let mut files = attached(&draft, field).to_vec();
        if files.iter().any(|known| known.unique_id == file.unique_id) {
            return self.show_files(&draft, form, field, None).await;
        }
        if files.len() >= max as usize {
            return self.show_files(&draft, form, field, Some(&Hint::TooManyFiles { max })).await;
        }
        files.push(file.clone());
        draft.attach(&field.id, files);
        drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
        self.show_files(&draft, form, field, None).await
    }

    /// The n-th file is taken away again.
    pub(super) async fn detach(&self, mut draft: Draft, form: &Form, n: u32) -> Result<Handled, StoreError> {
        let was = draft.revision;
        let stale = || Ok(Handled::toast(self.text(Key::TapStale, &[])));
        let Some(field) = draft.asked(form).cloned() else { return stale() };
        let mut files = attached(&draft, &field).to_vec();
        if n as usize >= files.len() {
            return stale();
        }
        files.remove(n as usize);
        draft.attach(&field.id, files);
        drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
        self.say(self.screens(&draft, form).files_state(&field, None)).await?;
        Ok(Handled::toast(self.text(Key::TapDone, &[])))
    }

    /// All files are there: the next question.
    pub(super) async fn files_done(&self, mut draft: Draft, form: &Form) -> Result<Handled, StoreError> {
        let was = draft.revision;
        let Some(field) = draft.asked(form).cloned() else {
            return Ok(Handled::toast(self.text(Key::TapStale, &[])));
        };
        let files = attached(&draft, &field).to_vec();
        if files.is_empty() {
            return self.show_files(&draft, form, &field, Some(&Hint::FilesWanted)).await;
        }
        draft.answer(form, &field.id, Answer::Files(files));
        drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
        self.show(&draft, form, None, 0).await?;
        Ok(Handled::toast(self.text(Key::TapChosen, &[])))
    }

    async fn show_files(
        &self,
        draft: &Draft,
        form: &Form,
        field: &Field,
        hint: Option<&Hint>,
    ) -> Result<Handled, StoreError> {
        let lead = hint.map(|hint| self.texts().hint(&self.lang, hint));
        let words: Words = self.screens(draft, form).files_state(field, lead.as_deref());
        self.reply(words).await?;
        Ok(lead.map_or_else(Handled::quietly, Handled::toast))
    }
}

/// The files a draft holds for a question.
fn attached<'d>(draft: &'d Draft, field: &Field) -> &'d [Attachment] {
    match draft.answers.get(&field.id) {
        Some(Answer::Files(files)) => files,
        _ => &[],
    }
}

/// Whether this button ends the very question that is open. Every file makes the draft's revision grow, so this one
/// button may be older than the draft: it names its question, and means what is attached by now.
pub(super) fn ends_files(draft: &Draft, form: &Form, wish: Wish) -> bool {
    let Wish::Attached(place) = wish else { return false };
    let named = form.fields.get(place as usize).map(|field| field.id.as_str());
    draft.state == DraftState::Filling && draft.cursor.is_some() && draft.cursor.as_deref() == named
}
