//! From a notice to words, at the moment they are sent: from the operation as it is then, in its person's language.

use super::{Outbox, case_card::case_card};
use crate::{
    catalog::{
        texts::{Key, Texts},
        wording::{outcome_words, status_card, visible, waiting_words},
    },
    clock::Timestamp,
    domain::{
        notice::{Alert, Notice, Words},
        operation::State,
    },
    ids::OperationId,
    store::{
        StoreError, drafts,
        operations::{self, Stored},
        outbox::Row,
    },
    telegram::button::{Intent, Wish},
};

/// What a row comes to.
pub(super) enum Worded {
    /// These words.
    Say(Words),
    /// There is nothing to say any more.
    Nothing(&'static str),
}

pub(super) async fn word(outbox: &Outbox, row: &Row, now: Timestamp) -> Result<Worded, StoreError> {
    let staff_lang = outbox.texts.lang(None);
    Ok(match &row.notice {
        Notice::Words(words) => Worded::Say(words.clone()),
        Notice::Card { operation } => match load(outbox, *operation).await? {
            Some(stored) => Worded::Say(card(outbox, &stored).await?),
            None => Worded::Nothing("the operation is gone"),
        },
        Notice::Outcome { operation } => {
            let stored = load(outbox, *operation).await?;
            let words =
                stored.and_then(|stored| outcome_words(&outbox.texts, &stored.lang, &stored.operation, &stored.marker));
            words.map_or(Worded::Nothing("the outcome is no longer what it was"), Worded::Say)
        }
        Notice::Case { case, .. } | Notice::Desk { case } => match case_card(outbox, *case, now).await? {
            Some(words) => Worded::Say(words),
            None => Worded::Nothing("the case is gone"),
        },
        Notice::Waiting { operation } => {
            let stored = load(outbox, *operation).await?;
            let words =
                stored.and_then(|stored| waiting_words(&outbox.texts, &stored.lang, &stored.operation, &stored.marker));
            words.map_or(Worded::Nothing("it waits no longer"), Worded::Say)
        }
        Notice::Alert { about } => Worded::Say(Words::plain(alert(&outbox.texts, staff_lang, about))),
    })
}

async fn load(outbox: &Outbox, id: OperationId) -> Result<Option<Stored>, StoreError> {
    operations::load(outbox.store.reader(), id).await
}

async fn card(outbox: &Outbox, stored: &Stored) -> Result<Words, StoreError> {
    let operation = &stored.operation;
    let reopened = matches!(operation.state, State::Rejected { .. } | State::Cancelled);
    let draft = if reopened { drafts::load(outbox.store.reader(), operation.draft).await? } else { None };
    // Only while it is this version's turn: an older card must not open a draft that has gone on.
    let edit = draft
        .filter(|draft| draft.is_open() && draft.version.0 == operation.version.0 + 1)
        .map(|draft| Intent::Draft { draft: draft.id, revision: draft.revision, wish: Wish::Menu }.encode());
    Ok(status_card(&outbox.texts, &stored.lang, operation, &stored.marker, edit))
}

fn alert(texts: &Texts, lang: &str, about: &Alert) -> String {
    match about {
        Alert::CrmAuth { detail } => {
            format!("{}\n\n{}", texts.say(lang, Key::StaffCrmRefusesUs, &[]), visible(detail))
        }
        Alert::KeyDropped { number } => texts.say(lang, Key::StaffKeyDropped, &[("number", &visible(number))]),
    }
}
