//! Steps of a create that takes several requests: what was sent, and what each gave to the next.

use sea_orm_migration::{
    prelude::*,
    schema::{string, text, uuid},
};

use crate::columns::{drop_all, time};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .create_table(
                Table::create()
                    .table("operation_steps")
                    .col(uuid("operation_id"))
                    .col(string("step"))
                    // The step's own key, derived from the operation's.
                    .col(uuid("key"))
                    // The request as sent and, once answered, what it gave: JSON.
                    .col(text("output"))
                    .col(time("at"))
                    .primary_key(Index::create().col("operation_id").col("step"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        drop_all(manager, &["operation_steps"]).await
    }
}
