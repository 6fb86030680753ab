//! When an operation last changed, by the clock of that moment: a row dated ahead of now was written under a clock that
//! has been set back.

use sea_orm_migration::{prelude::*, schema::big_integer};

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
        manager.alter_table(Table::alter().table("operations").add_column(changed_at).to_owned()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.alter_table(Table::alter().table("operations").drop_column("changed_at").to_owned()).await
    }
}
