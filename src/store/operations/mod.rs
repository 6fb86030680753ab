//! Operations. [`advance()`] is the one door through which one changes: load, step, write state, effects and history in
//! one transaction, compare-and-set on the row's number.

mod advance;
mod find;
mod query;
mod set_back;
mod spoilt;

use futures_util::future::BoxFuture;
use sea_orm::{ActiveValue::Set, ConnectionTrait, EntityTrait as _, sea_query::OnConflict};

pub use advance::{Advanced, Author, advance, advance_from};
pub use find::{find, named};
pub use query::{
    Attempt, Claimable, attempts, by_draft_version, by_marker, by_ticket_number, claimable, count_by_state, erase,
    load, moments, next_due, of_person, submitted_since, untold,
};
pub use set_back::{dated_ahead, waiting};
pub use spoilt::spoilt;

use super::{
    StoreError, Tx,
    drafts::{version_from_row, version_to_row},
    entity::operations,
    journal, to_json,
};
use crate::{
    clock::Timestamp,
    domain::{
        operation::{Entry, Operation},
        ticket::TicketOrder,
    },
    ids::{BotId, ChatId, Marker, OperationId, UserId},
};

/// Claims a fresh operation in the very transaction that confirms it, where nothing holds its sending up: then its call
/// waits for no further commit.
pub trait Starter: std::fmt::Debug + Send + Sync {
    /// `true` when its first attempt has begun; it is on record and is carried out after the commit, once the operation
    /// is named to a worker.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    fn begin<'a>(&'a self, tx: &'a Tx, stored: &'a Stored) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// An operation with what stands beside it in its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// What the machine knows.
    pub operation: Operation,
    /// For compare-and-set.
    pub rev: i64,
    /// Which bot.
    pub bot: BotId,
    /// Whose it is.
    pub user: UserId,
    /// Where its person is told.
    pub chat: ChatId,
    /// In which language.
    pub lang: String,
    /// Which form.
    pub form: String,
    /// The form's title when it was confirmed.
    pub form_title: String,
    /// The short code.
    pub marker: Marker,
    /// What the CRM is asked to make; gone once retention erased it.
    pub order: Option<TicketOrder>,
    /// The request as first sent, byte for byte; absent before the first attempt.
    pub prepared: Option<String>,
    /// As the person gave it.
    pub client_name: Option<String>,
    /// In E.164.
    pub client_phone: Option<String>,
    /// The place taken: form and slot.
    pub slot: Option<(String, String)>,
}

/// Stores a confirmed version. `false` when it is stored already: then the stored one stands.
///
/// # Errors
/// [`StoreError`] when the database cannot be used.
pub async fn insert_once<C: ConnectionTrait>(db: &C, stored: &Stored, now: Timestamp) -> Result<bool, StoreError> {
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
        prepared: Set(None),
        client_name: Set(stored.client_name.clone()),
        client_phone: Set(stored.client_phone.clone()),
        slot_form: Set(stored.slot.as_ref().map(|(form, _)| form.clone())),
        slot_id: Set(stored.slot.as_ref().map(|(_, slot)| slot.clone())),
    };
    let skip = OnConflict::columns([operations::Column::DraftId, operations::Column::Version]).do_nothing().to_owned();
    let inserted = operations::Entity::insert(row).on_conflict(skip).exec_without_returning(db).await?;
    if inserted == 0 {
        return Ok(false);
    }
    let entry = Entry {
        event: "confirmed".to_owned(),
        from: String::new(),
        to: operation.state.name().to_owned(),
        by: Some(stored.user.0),
        detail: Some(format!("draft {} version {}", operation.draft, operation.version)),
    };
    journal::append(db, Some(operation.id), &entry, now).await?;
    Ok(true)
}

fn read(row: operations::Model) -> Result<Stored, StoreError> {
    let corrupt = |what: String| StoreError::corrupt("operations", row.id, what);
    let operation: Operation = serde_json::from_str(&row.body).map_err(|error| corrupt(format!("body: {error}")))?;
    if operation.id != OperationId(row.id) || operation.version != version_from_row(row.version) {
        return Err(corrupt("the body belongs to another row".into()));
    }
    let order = row.ticket_order.as_deref().map(serde_json::from_str).transpose();
    Ok(Stored {
        operation,
        rev: row.rev,
        bot: BotId(row.bot_id),
        user: UserId(row.user_id),
        chat: ChatId(row.chat_id),
        lang: row.lang,
        form: row.form_id,
        form_title: row.form_title,
        marker: Marker::parse(&row.marker)
            .ok_or_else(|| StoreError::corrupt("operations", row.id, format!("marker `{}`", row.marker)))?,
        order: order.map_err(|error| StoreError::corrupt("operations", row.id, format!("order: {error}")))?,
        prepared: row.prepared,
        client_name: row.client_name,
        client_phone: row.client_phone,
        slot: row.slot_form.zip(row.slot_id),
    })
}
