//! Questions to staff that wait for an answer: one a case, so that a question about another one takes no place from it.
//! The table of one conversation a person and chat stays for the release before; what waits in it is forgotten in
//! minutes.

use sea_orm_migration::{
    prelude::*,
    schema::{big_integer, string, text_null},
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
                    .table("staff_questions")
                    .col(big_integer("bot_id"))
                    .col(big_integer("user_id"))
                    .col(big_integer("chat_id"))
                    .col(big_integer("case_id"))
                    .col(big_integer("case_rev"))
                    .col(string("what"))
                    .col(text_null("data"))
                    .col(time("expires_at"))
                    .primary_key(Index::create().col("bot_id").col("user_id").col("chat_id").col("case_id"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        drop_all(manager, &["staff_questions"]).await
    }
}
