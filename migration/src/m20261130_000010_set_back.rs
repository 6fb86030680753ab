//! When an operation last changed, by the clock of that moment: a row dated ahead of now was written under a clock that
//! has been set back. And what was said to a person about no operation, for when they want to be forgotten.

use sea_orm_migration::{prelude::*, schema::big_integer};

use crate::columns::partial_index;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        // Rows from before, and from the release before, have no such moment: 0 is never ahead.
        let changed_at = big_integer("changed_at").default(0).to_owned();
        manager.alter_table(Table::alter().table("operations").add_column(changed_at).to_owned()).await?;
        let ended = "operation_id IS NULL AND ended_at IS NOT NULL";
        partial_index(manager, "outbox_said_to", "outbox", "chat_id", ended).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_index(Index::drop().name("outbox_said_to").table("outbox").to_owned()).await?;
        manager.alter_table(Table::alter().table("operations").drop_column("changed_at").to_owned()).await
    }
}
