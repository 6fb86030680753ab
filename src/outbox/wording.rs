//! From a notice to words, at the moment they are sent: from the operation as it is then, in its person's language.

use std::sync::PoisonError;

use super::{Outbox, case_card::case_card};
use crate::{
    catalog::{
        texts::{Key, Texts},
        wording::{Halt, outcome_words, status_card, visible, waiting_words},
    },
    clock::Timestamp,
    domain::{
        notice::{Alert, Notice, Words},
        operation::State,
    },
    ids::OperationId,
    store::{
        Db, StoreError, drafts,
        operations::{self, Stored},
        outbox::Row,
        settings,
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

/// `about` is the operation that this transaction has just written, if it has.
pub(super) async fn word(
    outbox: &Outbox,
    db: &Db,
    row: &Row,
    about: Option<&Stored>,
    now: Timestamp,
) -> Result<Worded, StoreError> {
    let staff_lang = outbox.texts.lang(None);
    Ok(match &row.notice {
        Notice::Words(words) | Notice::InPlace(words) => Worded::Say(words.clone()),
        Notice::Card { operation } => match known(db, about, *operation).await? {
            Some(stored) => Worded::Say(card(outbox, db, &stored, now).await?),
            None => Worded::Nothing("the operation is gone"),
        },
        Notice::Outcome { operation } => {
            let stored = operations::load(db, *operation).await?;
            let words =
                stored.and_then(|stored| outcome_words(&outbox.texts, &stored.lang, &stored.operation, &stored.marker));
            words.map_or(Worded::Nothing("the outcome is no longer what it was"), Worded::Say)
        }
        Notice::Case { case, .. } | Notice::Desk { case } => match case_card(outbox, db, *case, now).await? {
            Some(words) => Worded::Say(words),
            None => Worded::Nothing("the case is gone"),
        },
        Notice::Waiting { operation } => {
            let stored = operations::load(db, *operation).await?;
            let words =
                stored.and_then(|stored| waiting_words(&outbox.texts, &stored.lang, &stored.operation, &stored.marker));
            words.map_or(Worded::Nothing("it waits no longer"), Worded::Say)
        }
        Notice::Alert { about } => Worded::Say(Words::plain(alert(&outbox.texts, staff_lang, about))),
    })
}

async fn known(db: &Db, about: Option<&Stored>, operation: OperationId) -> Result<Option<Stored>, StoreError> {
    match about.filter(|stored| stored.operation.id == operation) {
        Some(stored) => Ok(Some(stored.clone())),
        None => operations::load(db, operation).await,
    }
}

async fn card(outbox: &Outbox, db: &Db, stored: &Stored, now: Timestamp) -> Result<Words, StoreError> {
    let operation = &stored.operation;
    let reopened = matches!(operation.state, State::Rejected { .. } | State::Cancelled);
    let draft = if reopened { drafts::load(db, operation.draft).await? } else { None };
    // Only while it is this version's turn: an older card must not open a draft that has gone on.
    let edit = draft
        .filter(|draft| draft.is_open() && draft.version.0 == operation.version.0 + 1)
        .map(|draft| Intent::Draft { draft: draft.id, revision: draft.revision, wish: Wish::Menu }.encode());
    let waits = matches!(operation.state, State::Pending { .. });
    let paused = waits && settings::get(outbox.store.reader(), settings::PAUSED).await?.is_some();
    let halt = if paused {
        Halt::Paused
    } else if waits && outbox.limiter.lock().unwrap_or_else(PoisonError::into_inner).is_held(now) {
        Halt::Crm
    } else {
        Halt::None
    };
    Ok(status_card(&outbox.texts, &stored.lang, operation, &stored.marker, edit, halt))
}

fn alert(texts: &Texts, lang: &str, about: &Alert) -> String {
    match about {
        Alert::CrmAuth { detail } => {
            format!("{}\n\n{}", texts.say(lang, Key::StaffCrmRefusesUs, &[]), visible(detail))
        }
        Alert::TopicGone { chat, thread } => {
            let (chat, thread) = (chat.to_string(), thread.to_string());
            texts.say(lang, Key::StaffTopicGone, &[("chat", &chat), ("thread", &thread)])
        }
        Alert::KeyUnseen { number } => texts.say(lang, Key::StaffKeyUnseen, &[("number", &visible(number))]),
        Alert::KeyDropped { number } => texts.say(lang, Key::StaffKeyDropped, &[("number", &visible(number))]),
    }
}
