//! The commands of people who fill in forms.

use super::Visit;
use crate::{
    catalog::texts::Key,
    domain::{
        draft::Draft,
        form::Form,
        input::Handled,
        notice::{Button, Words},
    },
    ids::DraftId,
    store::{StoreError, drafts, operations},
    telegram::button::Intent,
};

impl Visit<'_> {
    pub(super) async fn command(&self, name: &str, args: &str) -> Result<Handled, StoreError> {
        match name {
            "start" => self.start(args).await,
            "new" => self.choose_form().await,
            "status" => self.status().await,
            "cancel" => self.cancel().await,
            "help" => self.say_key(Key::DialogHelp).await,
            "forget" => self.forget().await,
            _ => self.say_key(Key::DialogUnknownCommand).await,
        }
    }

    /// `/start`: goes on with what is open, or begins. A deep link may name a form; one that names none is a mere start.
    async fn start(&self, named: &str) -> Result<Handled, StoreError> {
        let named = self.dialog.catalog.form(named).cloned();
        let open = match &named {
            Some(form) => drafts::active_of(self.tx.as_ref(), self.dialog.bot, self.user(), &form.id).await?,
            None => self.active().await?.map(|(draft, _)| draft),
        };
        let Some((mut draft, shape)) = open.and_then(|draft| self.form(&draft).map(|form| (draft, form))) else {
            return match named {
                Some(form) => self.begin(&form).await.map(|_| Handled::quietly()),
                None => self.choose_form().await,
            };
        };
        let was = draft.revision;
        if draft.adopt(&shape) {
            self.changed_form(&draft, &shape, was).await?;
            return Ok(Handled::quietly());
        }
        // Of several it is the one worked on from here.
        drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
        let lead = self.text(Key::DialogResume, &[]);
        self.show(&draft, &shape, Some(&lead), 0).await?;
        Ok(Handled::quietly())
    }

    /// `/new`: begins the only form, or offers all.
    async fn choose_form(&self) -> Result<Handled, StoreError> {
        if let [only] = self.dialog.catalog.forms.as_slice() {
            self.begin(&only.clone()).await?;
            return Ok(Handled::quietly());
        }
        let rows = self.dialog.catalog.forms.iter().map(|form| {
            let intent = Intent::Begin { form: form.id.clone() };
            vec![Button::data(form.title.clone(), intent.encode())]
        });
        self.say(Words::with_buttons(self.text(Key::DialogChooseForm, &[]), rows.collect())).await?;
        Ok(Handled::quietly())
    }

    /// A form taken from the offered list.
    pub(super) async fn begin_tapped(&self, form: &str) -> Result<Handled, StoreError> {
        let Some(form) = self.dialog.catalog.form(form) else {
            return Ok(Handled::toast(self.text(Key::TapGone, &[])));
        };
        // A double tap on the list must not open two drafts.
        if let Some((draft, _)) = self.active().await?
            && draft.form == form.id
            && draft.answers.iter().next().is_none()
        {
            return Ok(Handled::toast(self.text(Key::TapChosen, &[])));
        }
        let begun = self.begin(&form.clone()).await?;
        Ok(Handled::toast(self.text(if begun { Key::TapChosen } else { Key::DialogTooManyDrafts }, &[])))
    }

    async fn begin(&self, form: &Form) -> Result<bool, StoreError> {
        let open = drafts::count_open(self.tx.as_ref(), self.dialog.bot, self.user()).await?;
        if open >= self.dialog.limits.open_drafts {
            self.say_key(Key::DialogTooManyDrafts).await?;
            return Ok(false);
        }
        let id = DraftId::new(self.now, self.dialog.dice.as_ref());
        let draft = Draft::begin(id, self.dialog.bot, self.user(), self.chat, form);
        drafts::insert(self.tx.as_ref(), &draft, self.now).await?;
        let lead = self.text(Key::DialogWelcome, &[("form", &form.title), ("intro", &form.intro)]);
        self.show(&draft, form, Some(&lead), 0).await?;
        Ok(true)
    }

    /// Words with nothing to answer: the person hears why, and where to go.
    pub(super) async fn nothing_open(&self) -> Result<Handled, StoreError> {
        let latest = operations::of_person(self.tx.as_ref(), self.dialog.bot, self.user(), 1).await?;
        if let Some(stored) = latest.first().filter(|stored| !stored.operation.state.is_final()) {
            let text = self.text(Key::DialogFrozen, &[("marker", stored.marker.as_str())]);
            self.reply(Words::plain(text)).await?;
            return Ok(Handled::quietly());
        }
        self.say_key(Key::DialogNothingOpen).await
    }
}
