//! What is said: one row a message or edit, and the cards that are edited in place.

use sea_orm_migration::{
    prelude::*,
    schema::{big_integer, big_integer_null, big_pk_auto, integer, string, string_null, text, text_null, uuid_null},
};

use crate::columns::{drop_all, index, partial_index, time, time_null};

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
                    .table("outbox")
                    .col(big_pk_auto("id"))
                    .col(big_integer("bot_id"))
                    .col(big_integer("chat_id"))
                    .col(big_integer_null("thread_id"))
                    .col(string("kind"))
                    .col(string_null("card"))
                    .col(uuid_null("operation_id"))
                    .col(text("notice"))
                    .col(string("state"))
                    .col(text("body"))
                    .col(big_integer("rev"))
                    .col(integer("priority"))
                    .col(time_null("due_at"))
                    .col(big_integer_null("message_id"))
                    .col(text_null("error"))
                    .col(time("created_at"))
                    .col(time_null("ended_at"))
                    .to_owned(),
            )
            .await?;
        partial_index(manager, "outbox_due", "outbox", "due_at, id", "due_at IS NOT NULL").await?;
        partial_index(manager, "outbox_chat", "outbox", "chat_id, id", "due_at IS NOT NULL").await?;
        index(manager, "outbox_operation", "outbox", &["operation_id"], false).await?;

        manager
            .create_table(
                Table::create()
                    .table("cards")
                    .col(string("card").primary_key())
                    .col(big_integer("bot_id"))
                    .col(big_integer("chat_id"))
                    .col(big_integer("message_id"))
                    .col(big_integer("digest"))
                    .col(time("changed_at"))
                    .to_owned(),
            )
            .await?;
        manager
            .create_table(
                Table::create()
                    .table("chats")
                    .col(big_integer("bot_id"))
                    .col(big_integer("chat_id"))
                    // Telegram asked us to keep silent in this chat until then.
                    .col(time("hold_until"))
                    // Set when a group became a supergroup.
                    .col(big_integer_null("moved_to"))
                    .primary_key(Index::create().col("bot_id").col("chat_id"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        drop_all(manager, &["chats", "cards", "outbox"]).await
    }
}
