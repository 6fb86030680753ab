//! What a tap confirms, as it is stored first: waiting to be sent, or with its first attempt begun. One row either way, so
//! that what begins at once is not written twice.

use sea_orm::{ActiveValue::Set, ConnectionTrait, EntityTrait as _, sea_query::OnConflict};

use super::{Author, Stored, advance::begin_attempt};
use crate::{
    clock::Timestamp,
    domain::operation::{Effect, Entry, Event, Policy, step},
    store::{StoreError, drafts::version_to_row, entity::operations, journal, to_json},
};

/// Begins the first attempt of what a tap confirms, in the very transaction that confirms it, where nothing holds its
/// sending up: then its call waits for no further commit.
pub trait Starter: std::fmt::Debug + Send + Sync {
    /// The operation with its first attempt begun; it is carried out once the operation was stored so, with the commit,
    /// and is named to a worker. `None` where something holds it up: then it is stored as it is.
    ///
    /// # Errors
    /// [`StoreError`] when the operation cannot be sent at all.
    fn begin(&self, fresh: &Fresh) -> Result<Option<Fresh>, StoreError>;
}

/// An operation that is not stored yet.
#[derive(Debug, Clone)]
pub struct Fresh {
    /// As it is to be stored.
    pub stored: Stored,
    /// What happened to it so far: to be written in the same transaction.
    pub history: Vec<Entry>,
    attempt: Option<(u32, Timestamp, Author)>,
}

impl Fresh {
    /// Confirmed, and waiting to be sent.
    #[must_use]
    pub fn confirmed(stored: Stored) -> Self {
        let operation = &stored.operation;
        let entry = Entry {
            event: "confirmed".to_owned(),
            from: String::new(),
            to: operation.state.name().to_owned(),
            by: Some(stored.user.0),
            detail: Some(format!("draft {} version {}", operation.draft, operation.version)),
        };
        Self { history: vec![entry], attempt: None, stored }
    }

    /// The same with its first attempt begun by `claim`; `None` where that has no meaning.
    #[must_use]
    pub fn begun(&self, claim: &Event, at: Timestamp, policy: &Policy, author: &Author) -> Option<Self> {
        let taken = step(&self.stored.operation, claim, at, policy).ok()?;
        let mut begun = self.clone();
        for effect in taken.effects {
            match effect {
                Effect::Record(entry) => begun.history.push(entry),
                Effect::BeginAttempt { attempt, lease_end } => {
                    begun.attempt = Some((attempt, lease_end, author.clone()));
                }
                // A claim does nothing else.
                _ => return None,
            }
        }
        begun.stored.operation = taken.operation;
        begun.stored.rev += 1;
        begun.stored.prepared.clone_from(&author.prepared);
        Some(begun)
    }
}

/// Stores a confirmed version, its history apart. `false` when it is stored already: then the stored one stands.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn insert<C: ConnectionTrait>(db: &C, fresh: &Fresh, now: Timestamp) -> Result<bool, StoreError> {
    let Fresh { stored, attempt, .. } = fresh;
    let operation = &stored.operation;
    let row = operations::ActiveModel {
        id: Set(operation.id.0),
        draft_id: Set(operation.draft.0),
        version: Set(version_to_row(operation.version)),
        bot_id: Set(stored.bot.0),
        user_id: Set(stored.user.0),
        chat_id: Set(stored.chat.0),
        lang: Set(stored.lang.clone()),
        form_id: Set(stored.form.clone()),
        form_title: Set(stored.form_title.clone()),
        external_key: Set(operation.key.0),
        marker: Set(stored.marker.as_str().to_owned()),
        state: Set(operation.state.name().to_owned()),
        body: Set(to_json(operation)?),
        rev: Set(stored.rev),
        changed_at: Set(now.0),
        due_at: Set(operation.due_at().map(|at| at.0)),
        ticket_number: Set(None),
        confirmed_at: Set(operation.confirmed_at.0),
        ended_at: Set(None),
        ticket_order: Set(stored.order.as_ref().map(to_json).transpose()?),
        prepared: Set(stored.prepared.clone()),
        client_name: Set(stored.client_name.clone()),
        client_phone: Set(stored.client_phone.clone()),
        slot_form: Set(stored.slot.as_ref().map(|(form, _)| form.clone())),
        slot_id: Set(stored.slot.as_ref().map(|(_, slot)| slot.clone())),
    };
    let skip = OnConflict::columns([operations::Column::DraftId, operations::Column::Version]).do_nothing().to_owned();
    if operations::Entity::insert(row).on_conflict(skip).exec_without_returning(db).await? == 0 {
        return Ok(false);
    }
    if let Some((attempt, lease_end, author)) = attempt {
        begin_attempt(db, operation.id, *attempt, *lease_end, now, author).await?;
    }
    Ok(true)
}

/// Stores a confirmed version that waits to be sent, with its history. `false` when it is stored already: then the stored
/// one stands.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn insert_once<C: ConnectionTrait>(db: &C, stored: &Stored, now: Timestamp) -> Result<bool, StoreError> {
    let fresh = Fresh::confirmed(stored.clone());
    let inserted = insert(db, &fresh, now).await?;
    if inserted {
        let lines: Vec<_> = fresh.history.into_iter().map(|entry| (stored.operation.id, entry)).collect();
        journal::append_all(db, &lines, now).await?;
    }
    Ok(inserted)
}
