//! The tap on «Отправить заявку»: one confirmed version becomes one operation; every further tap only reads.

use super::Visit;
use crate::{
    catalog::{mapping::ClientView, texts::Key, wording::tap_words},
    clock::Timestamp,
    domain::{
        answer::Answer,
        draft::{Draft, DraftState},
        form::{FieldKind, Form},
        input::Handled,
        operation::{Operation, State},
        ticket::TicketOrder,
    },
    ids::{ConfirmVersion, DraftId, ExternalKey, Marker, OperationId},
    metrics,
    store::{
        Confirming, StoreError, confirming, drafts, journal,
        operations::{self, Fresh, Stored},
        outbox, settings, slots,
    },
};

/// How long the first card waits for the outcome of an attempt that began with the tap.
const CARD_GRACE: std::time::Duration = std::time::Duration::from_millis(1_500);

/// An hour, for the limit of submissions.
const HOUR: std::time::Duration = std::time::Duration::from_secs(3600);

impl Visit<'_> {
    /// Confirms a version, or tells what became of it. What the button cannot promise is checked again: the owner, the
    /// revision the person saw, the form's version, the place, the limits.
    pub(super) async fn submit(
        &self,
        id: DraftId,
        revision: i64,
        version: ConfirmVersion,
    ) -> Result<Handled, StoreError> {
        let toast = |key| Ok(Handled::toast(self.text(key, &[])));
        let (db, bot, since) = (self.tx.as_ref(), self.dialog.bot, self.now.minus(HOUR));
        let Some(Confirming { mut draft, recent, paused }) = confirming(db, id, bot, self.user(), since).await? else {
            return toast(Key::TapGone);
        };
        if draft.user != self.user() {
            return toast(Key::TapForeign);
        }
        // A draft is closed with the operation of its version, and opened again only for the next one.
        let is_unsent = draft.is_open() && draft.version == version;
        if !is_unsent && let Some(stored) = operations::by_draft_version(db, id, version).await? {
            let (operation, by) = (Some(stored.operation.id), Some(self.user()));
            journal::note(self.tx.as_ref(), operation, journal::TAPPED_AGAIN, by, None, self.now).await?;
            metrics::count(metrics::Counter::TapsRepeated);
            return Ok(Handled::toast(self.where_it_stands(&draft, &stored).await?));
        }
        if !draft.is_open() {
            return toast(if draft.state == DraftState::Submitted { Key::TapStale } else { Key::TapExpired });
        }
        let Some(form) = self.form(&draft) else { return toast(Key::TapGone) };
        let was = draft.revision;
        if draft.adopt(&form) {
            self.changed_form(&draft, &form, was).await?;
            return toast(Key::TapFormChanged);
        }
        if draft.state == DraftState::Filling {
            return toast(Key::TapAnswerFirst);
        }
        if draft.version != version || was != revision {
            return toast(Key::TapFormChanged);
        }
        if recent >= self.dialog.limits.submissions_per_hour {
            return toast(Key::DialogHourlyLimit);
        }
        let slot = match self.take_place(&mut draft, &form).await? {
            Place::None => None,
            Place::Taken(slot) => Some((form.id.clone(), slot)),
            Place::Gone => {
                drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
                let lead = self.text(Key::TapSlotTaken, &[]);
                self.show(&draft, &form, Some(&lead), 0).await?;
                return toast(Key::TapSlotTaken);
            }
        };
        let waiting = Fresh::confirmed(self.operation(&draft, &form, slot)?);
        // First: whoever loses the race for a draft to another replica must not have begun anything.
        draft.submit();
        drafts::save(self.tx.as_ref(), &draft, was, self.now).await?;
        // Nothing begins while sending is paused.
        let begun = if paused { None } else { self.dialog.starter.begin(&waiting)? };
        let (fresh, begun) = begun.map_or((waiting, false), |begun| (begun, true));
        let operation = fresh.stored.operation.id;
        if !operations::insert(self.tx.as_ref(), &fresh, self.now).await? {
            // Its transaction stands, ours must not.
            return Err(StoreError::Stale("operations"));
        }
        // What is under way already has an outcome in a moment, most often: one message instead of two.
        let due_at = if begun { self.now.plus(CARD_GRACE) } else { self.now };
        outbox::put_first(self.tx.as_ref(), &self.card(operation), self.now, due_at).await?;
        let key = if paused { Key::TapAcceptedPaused } else { Key::TapAccepted };
        let history = fresh.history.into_iter().map(|entry| (operation, entry)).collect();
        Ok(Handled { toast: Some(self.text(key, &[])), send_now: vec![operation], history, waits: begun })
    }

    /// What a further tap is told: where the version it confirmed stands. One that ended without a ticket may have been
    /// followed by another, and then that is the one to speak of.
    pub(super) async fn where_it_stands(&self, draft: &Draft, tapped: &Stored) -> Result<String, StoreError> {
        let ended = matches!(tapped.operation.state, State::Rejected { .. } | State::Cancelled);
        if ended
            && draft.state == DraftState::Submitted
            && draft.version != tapped.operation.version
            && let Some(latest) = operations::by_draft_version(self.tx.as_ref(), draft.id, draft.version).await?
        {
            return self.tapped(&latest).await;
        }
        self.tapped(tapped).await
    }

    /// The answer to a further tap; nobody is told that it is being sent while sending is paused.
    async fn tapped(&self, stored: &Stored) -> Result<String, StoreError> {
        let paused = self.is_paused().await?;
        Ok(tap_words(self.texts(), &self.lang, &stored.operation, paused))
    }

    async fn is_paused(&self) -> Result<bool, StoreError> {
        Ok(settings::get(self.tx.as_ref(), settings::PAUSED).await?.is_some())
    }

    /// Takes the place the person chose, in this very transaction. A place that is gone leaves the question open again.
    async fn take_place(&self, draft: &mut Draft, form: &Form) -> Result<Place, StoreError> {
        let asked = form.asked(&draft.answers);
        let chosen = asked.into_iter().find_map(|field| match (&field.kind, draft.answers.get(&field.id)) {
            (FieldKind::Slot { slots }, Some(Answer::Slot { id, .. })) => {
                let places = slots.iter().find(|slot| slot.id == *id).map_or(0, |slot| slot.places);
                Some((field.id.clone(), id.clone(), places))
            }
            _ => None,
        });
        let Some((field, slot, places)) = chosen else { return Ok(Place::None) };
        if slots::take(self.tx.as_ref(), &form.id, &slot, places).await? {
            return Ok(Place::Taken(slot));
        }
        draft.edit(form, &field);
        draft.answers.remove(&field);
        Ok(Place::Gone)
    }

    fn operation(&self, draft: &Draft, form: &Form, slot: Option<(String, String)>) -> Result<Stored, StoreError> {
        let (bot, now) = (self.dialog.bot, self.now);
        let key = ExternalKey::derive(bot, draft.id, draft.version);
        let marker = Marker::of(key);
        let order = self.order(draft, form, key, &marker)?;
        let id = OperationId::new(now, self.dialog.dice.as_ref());
        // The answer to the tap goes out before any CRM call: a worker is told when it has, and comes by itself only later.
        let due_at: Timestamp = now.plus(self.dialog.ack_grace);
        Ok(Stored {
            operation: Operation::confirmed(id, draft.id, draft.version, key, now, due_at),
            rev: 0,
            bot,
            user: self.user(),
            chat: self.chat,
            lang: self.lang.clone(),
            form: form.id.clone(),
            form_title: form.title.clone(),
            marker,
            client_name: order.contact.name.clone().or_else(|| Some(self.person.name.clone())),
            client_phone: order.contact.phone.clone(),
            order: Some(order),
            prepared: None,
            slot,
        })
    }

    fn order(&self, draft: &Draft, form: &Form, key: ExternalKey, marker: &Marker) -> Result<TicketOrder, StoreError> {
        let client = ClientView {
            user_id: self.user(),
            name: self.person.name.clone(),
            username: self.person.username.clone(),
            lang: self.lang.clone(),
        };
        let summary = self.screens(draft, form).lines();
        let renderer = &self.dialog.catalog.renderer;
        renderer
            .render(form, &draft.answers, &client, (marker, key), &summary)
            .map_err(|error| StoreError::Refused(error.to_string()))
    }
}

enum Place {
    None,
    Taken(String),
    Gone,
}
