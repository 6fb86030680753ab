//! What the loops ask for again and again, found without a look at what has ended.
//!
//! Each of these questions names the bot first. An index that does not begin with it loses to one that does, even to one
//! over the whole history, since nothing tells SQLite that all rows have the same bot.

use sea_orm_migration::prelude::*;

use crate::columns::partial_index;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

/// Name, table, columns, and the rows it holds.
const INDEXES: [(&str, &str, &str, &str); 3] = [
    ("inbox_lane", "inbox", "bot_id, lane, id", "state = 'new'"),
    ("operations_work", "operations", "bot_id, due_at", "due_at IS NOT NULL"),
    ("operations_waiting", "operations", "bot_id, confirmed_at", "ended_at IS NULL"),
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for (name, table, columns, condition) in INDEXES {
            partial_index(manager, name, table, columns, condition).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for (name, table, ..) in INDEXES {
            manager.drop_index(Index::drop().name(name).table(table).to_owned()).await?;
        }
        Ok(())
    }
}
