//! Operations. [`advance()`] is the one door through which one changes: load, step, write state, effects and history in
//! one transaction, compare-and-set on the row's number.

mod advance;
mod find;
mod fresh;
mod query;
mod set_back;
mod spoilt;

pub use advance::{Advanced, Author, advance, advance_from, advance_known};
pub use find::{find, named};
pub use fresh::{Fresh, Starter, insert, insert_once};
pub use query::{
    Attempt, Claimable, attempts, by_draft_version, by_marker, by_ticket_number, claimable, count_by_state, erase,
    load, moments, next_due, of_person, untold,
};
pub use set_back::{dated_ahead, waiting};
pub use spoilt::spoilt;

use super::{
    StoreError,
    drafts::{version_from_row, version_to_row},
    entity::operations,
};
use crate::{
    domain::{operation::Operation, ticket::TicketOrder},
    ids::{BotId, ChatId, Marker, OperationId, UserId},
};

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
