//! One row a chat that knows when the chat wants to be looked at: finding what to say next then costs the same with ten
//! messages waiting and with a hundred thousand. And the pace, kept where all replicas see it.

use sea_orm_migration::{
    prelude::*,
    schema::{big_integer, text},
};

use crate::columns::{drop_all, partial_index, time};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let run = manager.get_connection();
        for column in [
            // Absent while nothing waits to be said there.
            "due_at bigint",
            // Who goes first when the pace is short: smaller is sooner.
            "priority integer NOT NULL DEFAULT 1",
            // When the latest messages left: JSON, milliseconds.
            "recent text",
        ] {
            run.execute_unprepared(&format!("ALTER TABLE chats ADD COLUMN {column}")).await?;
        }
        partial_index(manager, "chats_due", "chats", "bot_id, priority, due_at", "due_at IS NOT NULL").await?;
        // What is open already waits in its chat from now on.
        run.execute_unprepared(
            "INSERT INTO chats (bot_id, chat_id, hold_until, due_at, priority) \
             SELECT bot_id, chat_id, 0, 0, MIN(priority) FROM outbox WHERE due_at IS NOT NULL \
             GROUP BY bot_id, chat_id \
             ON CONFLICT (bot_id, chat_id) DO UPDATE SET due_at = 0, priority = excluded.priority",
        )
        .await?;
        // Whether a newer row shows the same card is asked of every card that is sent.
        partial_index(manager, "outbox_card", "outbox", "card, id", "card IS NOT NULL").await?;
        manager
            .create_table(
                Table::create()
                    .table("pace")
                    .col(big_integer("bot_id").primary_key())
                    .col(text("recent"))
                    // Nothing is said to anybody until then.
                    .col(time("hold_until"))
                    // The chats that were throttled lately: JSON, number and milliseconds.
                    .col(text("throttled"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        drop_all(manager, &["pace"]).await?;
        let run = manager.get_connection();
        for index in ["outbox_card", "chats_due"] {
            run.execute_unprepared(&format!("DROP INDEX {index}")).await?;
        }
        for column in ["recent", "priority", "due_at"] {
            run.execute_unprepared(&format!("ALTER TABLE chats DROP COLUMN {column}")).await?;
        }
        Ok(())
    }
}
