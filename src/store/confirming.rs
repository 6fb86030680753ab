//! What a confirmation depends on, by one look within its transaction: the draft, how much its person has confirmed of
//! late, and whether sending is paused.

use sea_orm::{
    ColumnTrait as _, ConnectionTrait, EntityTrait as _, FromQueryResult as _, QuerySelect as _, QueryTrait as _,
    sea_query::{Expr, ExprTrait as _, Query, SelectStatement},
};

use super::{
    StoreError, drafts,
    entity::{drafts as rows, operations, settings as facts},
    settings,
};
use crate::{
    clock::Timestamp,
    domain::draft::Draft,
    ids::{BotId, DraftId, UserId},
};

/// A draft that its person wants to send.
#[derive(Debug)]
pub struct Confirming {
    /// As it stands.
    pub draft: Draft,
    /// How many versions they have confirmed since the moment that was asked for.
    pub recent: u64,
    /// Whether sending to the CRM is paused.
    pub paused: bool,
}

/// Looks at a draft that `user` wants to send, and at what they have confirmed since `since`.
///
/// # Errors
/// [`StoreError`] when the database cannot be used or the row cannot be read.
pub async fn confirming<C: ConnectionTrait>(
    db: &C,
    draft: DraftId,
    bot: BotId,
    user: UserId,
    since: Timestamp,
) -> Result<Option<Confirming>, StoreError> {
    let recent = Query::select()
        .expr(Expr::col((operations::Entity, operations::Column::Id)).count())
        .from(operations::Entity)
        .and_where(operations::Column::BotId.eq(bot.0))
        .and_where(operations::Column::UserId.eq(user.0))
        .and_where(operations::Column::ConfirmedAt.gte(since.0))
        .to_owned();
    let paused = Query::select()
        .column((facts::Entity, facts::Column::Value))
        .from(facts::Entity)
        .and_where(facts::Column::Name.eq(settings::PAUSED))
        .to_owned();
    let look = rows::Entity::find_by_id(draft.0)
        .expr_as(within(recent), "recent")
        .expr_as(within(paused), "paused")
        .into_query();
    let Some(row) = db.query_one(&look).await? else { return Ok(None) };
    let recent: i64 = row.try_get("", "recent")?;
    let paused: Option<String> = row.try_get("", "paused")?;
    Ok(Some(Confirming {
        draft: drafts::read(rows::Model::from_query_result(&row, "")?)?,
        recent: recent.unsigned_abs(),
        paused: paused.is_some_and(|why| !why.is_empty()),
    }))
}

fn within(question: SelectStatement) -> Expr {
    Expr::SubQuery(None, Box::new(question.into()))
}
