//! What retention looks for by its age, and which summary its person was reminded of after an outage.

use sea_orm_migration::{prelude::*, schema::big_integer_null};

use crate::columns::partial_index;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

/// Name, table, columns, and the rows it holds: only what is still to be erased, so that looking costs the same however
/// much was erased before.
const INDEXES: [(&str, &str, &str, &str); 4] = [
    ("outbox_said", "outbox", "ended_at", "ended_at IS NOT NULL AND operation_id IS NULL"),
    ("drafts_idle", "drafts", "updated_at", "state <> 'submitted'"),
    ("operations_answers", "operations", "ended_at", "ended_at IS NOT NULL AND ticket_order IS NOT NULL"),
    ("cases_closed", "cases", "closed_at", "closed_at IS NOT NULL"),
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
        // The revision of the summary whose person was told that taps were lost: nobody is told twice of one summary.
        manager.alter_table(Table::alter().table("drafts").add_column(big_integer_null("nudged")).to_owned()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.alter_table(Table::alter().table("drafts").drop_column(Alias::new("nudged")).to_owned()).await?;
        for (name, table, _, _) in INDEXES {
            manager.drop_index(Index::drop().name(name).table(table).to_owned()).await?;
        }
        Ok(())
    }
}
