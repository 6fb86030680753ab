//! The one door: an event goes in; state, effects and history come out in one transaction, or nothing does.

use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, ConnectionTrait, EntityTrait as _, QueryFilter as _, sea_query::Expr,
};

use super::{
    Stored,
    query::{load, load_free},
};
use crate::{
    clock::Timestamp,
    domain::{
        notice::{Notice, NoticeKind, Policies},
        operation::{Effect, Event, Ground, Illegal, Operation, Policy, RejectedBy, State, step},
        review::Matter,
    },
    ids::OperationId,
    metrics::{self, Counter},
    store::{
        StoreError, cases, drafts,
        entity::{attempts, operations},
        journal,
        outbox::{self, Letter, Said},
        slots, to_json,
    },
};

/// What became of an event.
#[derive(Debug)]
pub enum Advanced {
    /// It was taken; this is the operation after it.
    Moved(Box<Stored>),
    /// The operation changed since it was read: read again and decide anew.
    Stale,
    /// The event has no meaning in the operation's state; nothing changed.
    Illegal(Illegal),
    /// There is no such operation, or another process is claiming it at this moment.
    Gone,
}

/// Who brings an event, and what the store adds to it.
#[derive(Debug, Clone, Default)]
pub struct Author {
    /// The worker's name, for the attempt row.
    pub worker: String,
    /// The request of the first attempt, byte for byte, stored with the claim.
    pub prepared: Option<String>,
    /// What was seen, without secrets or answers: stored with the attempt.
    pub detail: Option<String>,
    /// What to do with each kind of message when nobody knows whether it arrived.
    pub on_unknown: Policies,
}

/// Carries `event` out on the operation read at `rev`; without a `rev`, on whatever it is now.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn advance<C: ConnectionTrait>(
    db: &C,
    id: OperationId,
    rev: Option<i64>,
    event: &Event,
    at: Timestamp,
    policy: &Policy,
    author: &Author,
) -> Result<Advanced, StoreError> {
    let found = if matches!(event, Event::Claimed { .. }) { load_free(db, id).await? } else { load(db, id).await? };
    let Some(stored) = found else {
        return Ok(if matches!(event, Event::Claimed { .. }) { Advanced::Stale } else { Advanced::Gone });
    };
    if rev.is_some_and(|rev| rev != stored.rev) {
        return Ok(Advanced::Stale);
    }
    advance_from(db, stored, event, at, policy, author).await
}

/// The same for who has read or written the operation in this very transaction.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn advance_from<C: ConnectionTrait>(
    db: &C,
    stored: Stored,
    event: &Event,
    at: Timestamp,
    policy: &Policy,
    author: &Author,
) -> Result<Advanced, StoreError> {
    let (advanced, said) = advance_saying(db, stored, event, at, policy, author).await?;
    if let Some(said) = said {
        said.settle(db, true).await?;
    }
    Ok(advanced)
}

/// Carries `event` out on an operation that was read before this transaction; if it has moved since, on what it is now,
/// or with `as_read` not at all. What is said to its person is left to whoever claims it within the same transaction.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn advance_known<C: ConnectionTrait>(
    db: &C,
    known: &Stored,
    as_read: bool,
    event: &Event,
    at: Timestamp,
    policy: &Policy,
    author: &Author,
) -> Result<(Advanced, Option<Said>), StoreError> {
    let id = known.operation.id;
    if matches!(event, Event::Claimed { .. }) {
        let rev = as_read.then_some(known.rev);
        return Ok((advance(db, id, rev, event, at, policy, author).await?, None));
    }
    let advanced = advance_saying(db, known.clone(), event, at, policy, author).await?;
    // What the event means was asked of the operation as it was read: as it is now it may mean something else.
    if as_read || matches!(advanced.0, Advanced::Moved(_)) {
        return Ok(advanced);
    }
    match load(db, id).await? {
        Some(stored) => advance_saying(db, stored, event, at, policy, author).await,
        None => Ok((Advanced::Gone, None)),
    }
}

async fn advance_saying<C: ConnectionTrait>(
    db: &C,
    mut stored: Stored,
    event: &Event,
    at: Timestamp,
    policy: &Policy,
    author: &Author,
) -> Result<(Advanced, Option<Said>), StoreError> {
    let id = stored.operation.id;
    let taken = match step(&stored.operation, event, at, policy) {
        Ok(taken) => taken,
        Err(illegal) => return Ok((Advanced::Illegal(illegal), None)),
    };
    let next = taken.operation;
    let counted = settlement(&stored.operation, &next, event);
    let ticket_number = match &next.state {
        State::Created { ticket } => Some(ticket.number.clone()),
        _ => None,
    };
    let mut save = operations::Entity::update_many()
        .col_expr(operations::Column::State, Expr::value(next.state.name()))
        .col_expr(operations::Column::Body, Expr::value(to_json(&next)?))
        .col_expr(operations::Column::Rev, Expr::value(stored.rev + 1))
        .col_expr(operations::Column::ChangedAt, Expr::value(at.0))
        .col_expr(operations::Column::DueAt, Expr::value(next.due_at().map(|at| at.0)))
        .col_expr(operations::Column::TicketNumber, Expr::value(ticket_number))
        .filter(operations::Column::Id.eq(id.0))
        .filter(operations::Column::Rev.eq(stored.rev));
    // A look for a late twin comes after the end and does not move it: the time to a ticket is counted to here.
    if next.state.name() != stored.operation.state.name() {
        let ended_at = next.state.is_final().then_some(at.0);
        save = save.col_expr(operations::Column::EndedAt, Expr::value(ended_at));
    }
    if next.confirmed_at != stored.operation.confirmed_at {
        save = save.col_expr(operations::Column::ConfirmedAt, Expr::value(next.confirmed_at.0));
    }
    if let Some(prepared) = &author.prepared
        && stored.prepared.is_none()
    {
        save = save.col_expr(operations::Column::Prepared, Expr::value(prepared.as_str()));
        stored.prepared = Some(prepared.clone());
    }
    if save.exec(db).await?.rows_affected != 1 {
        return Ok((Advanced::Stale, None));
    }
    stored.operation = next;
    stored.rev += 1;
    let mut said = None;
    for effect in &taken.effects {
        carry_out(db, &mut stored, effect, at, author, &mut said).await?;
    }
    if let Some(said) = &mut said {
        said.operation = Some(stored.clone());
    }
    // Inside the transaction, since staff's decisions and workers' answers both come this way: one that is taken back and
    // tried again counts twice.
    counted.into_iter().for_each(metrics::count);
    Ok((Advanced::Moved(Box::new(stored)), said))
}

/// What a step means to the count of lost answers: one more, or how one of them was settled.
fn settlement(before: &Operation, after: &Operation, event: &Event) -> Option<Counter> {
    let word = |decided: bool| if decided { Counter::UnknownByStaff } else { Counter::UnknownAnswered };
    match (&before.state, &after.state) {
        (State::Sending { .. }, State::Unknown { .. }) => Some(Counter::UnknownBegan),
        _ if before.on_wire.is_none() || before.state.is_final() => None,
        (was, State::Created { .. }) => Some(match event {
            Event::Found { .. } => Counter::UnknownFound,
            Event::CandidateStands { .. } => Counter::UnknownByStaff,
            _ => word(matches!(was, State::Sending { ground: Ground::Decided, .. })),
        }),
        (_, State::Rejected { .. }) => Some(Counter::UnknownRejected),
        _ => None,
    }
}

async fn carry_out<C: ConnectionTrait>(
    db: &C,
    stored: &mut Stored,
    effect: &Effect,
    at: Timestamp,
    author: &Author,
    said: &mut Option<Said>,
) -> Result<(), StoreError> {
    let id = stored.operation.id;
    match effect {
        Effect::Record(entry) => journal::append(db, Some(id), entry, at).await?,
        Effect::BeginAttempt { attempt, lease_end } => {
            begin_attempt(db, id, *attempt, *lease_end, at, author).await?;
        }
        Effect::EndAttempt { attempt, end } => {
            attempts::Entity::update_many()
                .col_expr(attempts::Column::EndedAt, Expr::value(at.0))
                .col_expr(attempts::Column::Outcome, Expr::value(end.name()))
                .col_expr(attempts::Column::Detail, Expr::value(author.detail.clone()))
                .filter(attempts::Column::OperationId.eq(id.0))
                .filter(attempts::Column::Attempt.eq(number(*attempt)))
                .exec(db)
                .await?;
        }
        Effect::ShowCard => {
            let notice = Notice::Card { operation: id };
            let letter = letter(stored, NoticeKind::Card, Some(format!("operation:{id}")), notice, author);
            say(db, &letter, at, said).await?;
        }
        Effect::TellOutcome => {
            let rejected = matches!(stored.operation.state, State::Rejected { .. });
            let kind = if rejected { NoticeKind::Rejected } else { NoticeKind::Created };
            say(db, &letter(stored, kind, None, Notice::Outcome { operation: id }, author), at, said).await?;
        }
        Effect::OpenCase { reason } => {
            let matter = Matter::Review { reason: reason.clone() };
            raise(db, stored, &matter, at, author).await?;
        }
        Effect::ShowCase => {
            if let Some(case) = cases::touch(db, id).await? {
                show_case(db, stored, case, at, author).await?;
            }
        }
        Effect::CloseCase => {
            if let Some(case) = cases::close(db, id, at).await? {
                show_case(db, stored, case, at, author).await?;
            }
        }
        Effect::ReportTwin { tickets } => {
            let rejected = matches!(stored.operation.state, State::Rejected { .. });
            raise(db, stored, &Matter::Twin { tickets: tickets.clone(), rejected }, at, author).await?;
        }
        Effect::FreeSlot => free_slot(db, stored).await?,
        Effect::ReopenDraft => reopen_draft(db, stored, at).await?,
    }
    Ok(())
}

pub(super) async fn begin_attempt<C: ConnectionTrait>(
    db: &C,
    operation: OperationId,
    attempt: u32,
    lease_end: Timestamp,
    at: Timestamp,
    author: &Author,
) -> Result<(), StoreError> {
    let row = attempts::ActiveModel {
        operation_id: Set(operation.0),
        attempt: Set(number(attempt)),
        worker: Set(author.worker.clone()),
        began_at: Set(at.0),
        lease_end: Set(lease_end.0),
        ended_at: Set(None),
        outcome: Set(None),
        detail: Set(None),
    };
    attempts::Entity::insert(row).exec_without_returning(db).await?;
    Ok(())
}

async fn raise<C: ConnectionTrait>(
    db: &C,
    stored: &Stored,
    matter: &Matter,
    at: Timestamp,
    author: &Author,
) -> Result<(), StoreError> {
    let new = cases::New { bot: stored.bot, about: Some((stored.operation.id, &stored.form)), matter };
    cases::raise(db, new, author.on_unknown.of(NoticeKind::StaffCard), at).await?;
    Ok(())
}

async fn show_case<C: ConnectionTrait>(
    db: &C,
    stored: &Stored,
    case: i64,
    at: Timestamp,
    author: &Author,
) -> Result<(), StoreError> {
    let unknown = author.on_unknown.of(NoticeKind::StaffCard);
    cases::show(db, stored.bot, case, Some(stored.operation.id), unknown, at).await
}

fn letter(stored: &Stored, kind: NoticeKind, card: Option<String>, notice: Notice, author: &Author) -> Letter {
    let (chat, operation, on_unknown) = (stored.chat, Some(stored.operation.id), author.on_unknown.of(kind));
    Letter { bot: stored.bot, chat, thread: None, kind, card, operation, notice, on_unknown }
}

/// Puts something on its way to the operation's person; what was said to them before is written then.
async fn say<C: ConnectionTrait>(
    db: &C,
    letter: &Letter,
    at: Timestamp,
    said: &mut Option<Said>,
) -> Result<(), StoreError> {
    if let Some(before) = said.take() {
        before.settle(db, true).await?;
    }
    *said = Some(outbox::say(db, letter, at, at).await?);
    Ok(())
}

async fn free_slot<C: ConnectionTrait>(db: &C, stored: &mut Stored) -> Result<(), StoreError> {
    let Some((form, slot)) = stored.slot.take() else { return Ok(()) };
    slots::give_back(db, &form, &slot).await?;
    operations::Entity::update_many()
        .col_expr(operations::Column::SlotForm, Expr::value(Option::<String>::None))
        .col_expr(operations::Column::SlotId, Expr::value(Option::<String>::None))
        .filter(operations::Column::Id.eq(stored.operation.id.0))
        .exec(db)
        .await?;
    Ok(())
}

/// A draft that staff erased, or that was reopened before, stays as it is.
async fn reopen_draft<C: ConnectionTrait>(db: &C, stored: &Stored, at: Timestamp) -> Result<(), StoreError> {
    let by_crm_or_staff = matches!(
        stored.operation.state,
        State::Rejected { by: RejectedBy::Crm | RejectedBy::Staff, .. } | State::Cancelled
    );
    let Some(mut draft) = drafts::load(db, stored.operation.draft).await? else { return Ok(()) };
    if by_crm_or_staff && !draft.is_open() && draft.version == stored.operation.version {
        let was = draft.revision;
        draft.reopen();
        drafts::save_reopened(db, &draft, was, at).await?;
    }
    Ok(())
}

fn number(attempt: u32) -> i32 {
    i32::try_from(attempt).unwrap_or(i32::MAX)
}
