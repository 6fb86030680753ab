//! From a notice to words, at the moment they are sent: from the operation as it is then, in its person's language.

use super::Outbox;
use crate::{
    catalog::{
        texts::{Key, Texts},
        wording::{age, outcome_words, reason_words, state_words, status_card, visible},
    },
    clock::Timestamp,
    domain::{
        notice::{Alert, Button, Notice, Words},
        operation::State,
        ticket::Ticket,
    },
    ids::OperationId,
    store::{
        StoreError, cases, drafts,
        operations::{self, Stored},
        outbox::Row,
    },
    telegram::button::{CaseWish, Intent, Wish},
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
        Notice::Case { operation, case } => {
            match (load(outbox, *operation).await?, cases::load(outbox.store.reader(), *case).await?) {
                (Some(stored), Some(case)) => Worded::Say(case_card(outbox, staff_lang, &stored, &case, now).await?),
                _ => Worded::Nothing("the case is gone"),
            }
        }
        Notice::Twin { operation, tickets } => match load(outbox, *operation).await? {
            Some(stored) => Worded::Say(twin(&outbox.texts, staff_lang, &stored, tickets)),
            None => Worded::Nothing("the operation is gone"),
        },
        Notice::Alert { about } => Worded::Say(Words::plain(alert(&outbox.texts, staff_lang, about))),
    })
}

async fn load(outbox: &Outbox, id: OperationId) -> Result<Option<Stored>, StoreError> {
    operations::load(outbox.store.reader(), id).await
}

async fn card(outbox: &Outbox, stored: &Stored) -> Result<Words, StoreError> {
    let operation = &stored.operation;
    let rejected = matches!(operation.state, State::Rejected { .. });
    let draft = if rejected { drafts::load(outbox.store.reader(), operation.draft).await? } else { None };
    // Only while it is this version's turn: an older card must not open a draft that has gone on.
    let edit = draft
        .filter(|draft| draft.is_open() && draft.version.0 == operation.version.0 + 1)
        .map(|draft| Intent::Draft { draft: draft.id, revision: draft.revision, wish: Wish::Menu }.encode());
    Ok(status_card(&outbox.texts, &stored.lang, operation, &stored.marker, edit))
}

async fn case_card(
    outbox: &Outbox,
    lang: &str,
    stored: &Stored,
    case: &cases::Case,
    now: Timestamp,
) -> Result<Words, StoreError> {
    let texts = &outbox.texts;
    let marker = ("marker", stored.marker.as_str());
    let state = state_words(texts, lang, &stored.operation);
    if case.closed_at.is_some() {
        return Ok(Words::plain(texts.say(lang, Key::StaffCaseSettled, &[marker, ("state", &state)])));
    }
    let last = operations::attempts(outbox.store.reader(), stored.operation.id).await?.pop();
    let answer = last.and_then(|attempt| attempt.detail.or(attempt.outcome)).unwrap_or_else(|| "—".to_owned());
    let sent = stored.order.as_ref().map_or_else(|| "—".to_owned(), |order| order.subject.clone());
    let age = age(texts, lang, now, stored.operation.confirmed_at);
    let client = stored.client_name.clone().unwrap_or_else(|| stored.user.to_string());
    let text = texts.say(
        lang,
        Key::StaffCase,
        &[
            marker,
            ("form", &stored.form_title),
            ("age", &age),
            ("reason", &reason_words(texts, lang, &case.reason)),
            ("client", &visible(&client)),
            ("sent", &visible(&sent)),
            ("answer", &visible(&answer)),
        ],
    );
    if !matches!(stored.operation.state, State::Review { .. }) {
        // Under way again: what was decided is being carried out.
        return Ok(Words::plain(format!("{text}\n\n{state}")));
    }
    let mut hints = vec![texts.say(lang, Key::StaffHintLink, &[marker])];
    hints.push(texts.say(lang, Key::StaffHintCreate, &[marker]));
    hints.push(texts.say(lang, Key::StaffHintReject, &[marker]));
    let mut rows = Vec::new();
    let wish = |wish| Intent::Case { case: case.id, rev: case.rev, wish }.encode();
    if outbox.can_look {
        rows.push(vec![Button::data(texts.say(lang, Key::StaffButtonLook, &[]), wish(CaseWish::LookAgain))]);
    }
    rows.push(vec![
        Button::data(texts.say(lang, Key::StaffButtonWhy, &[]), wish(CaseWish::Why)),
        Button::copy(stored.marker.to_string(), stored.marker.as_str()),
    ]);
    Ok(Words::with_buttons(format!("{text}\n\n{}", hints.join("\n")), rows))
}

fn twin(texts: &Texts, lang: &str, stored: &Stored, tickets: &[Ticket]) -> Words {
    let numbers: Vec<_> = tickets.iter().map(|ticket| ticket.number.as_str()).collect();
    let (first, others) =
        numbers.split_first().map_or(("—", String::new()), |(first, rest)| (*first, rest.join(", ")));
    let other = if others.is_empty() { "—".to_owned() } else { others };
    let marker = ("marker", stored.marker.as_str());
    Words::plain(texts.say(lang, Key::StaffLateTwin, &[marker, ("number", first), ("other", &other)]))
}

fn alert(texts: &Texts, lang: &str, about: &Alert) -> String {
    match about {
        Alert::CrmAuth { detail } => {
            format!("{}\n\n{}", texts.say(lang, Key::StaffCrmRefusesUs, &[]), visible(detail))
        }
        Alert::KeyDropped { number } => texts.say(lang, Key::StaffKeyDropped, &[("number", &visible(number))]),
        Alert::Shelved { row, error } => {
            texts.say(lang, Key::StaffShelved, &[("row", &row.to_string()), ("error", &visible(error))])
        }
        Alert::Undelivered { row, kind, why } => {
            texts.say(lang, Key::StaffUndelivered, &[("row", &row.to_string()), ("kind", kind), ("why", &visible(why))])
        }
    }
}
