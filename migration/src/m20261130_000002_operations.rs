//! The once-only core: operations, their attempts, their history, the cases staff settle, the bounded places.

use sea_orm_migration::{
    prelude::*,
    schema::{
        big_integer, big_integer_null, big_pk_auto, integer, pk_uuid, string, string_null, text, text_null, uuid,
        uuid_null,
    },
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
        manager.create_table(operations()).await?;
        // The promise itself: one operation for each confirmed version.
        index(manager, "operations_once", "operations", &["draft_id", "version"], true).await?;
        partial_index(manager, "operations_due", "operations", "due_at", "due_at IS NOT NULL").await?;
        partial_index(manager, "operations_review", "operations", "id", "state = 'review'").await?;
        index(manager, "operations_marker", "operations", &["marker"], false).await?;
        partial_index(manager, "operations_number", "operations", "ticket_number", "ticket_number IS NOT NULL").await?;
        index(manager, "operations_person", "operations", &["bot_id", "user_id", "confirmed_at"], false).await?;

        manager
            .create_table(
                Table::create()
                    .table("attempts")
                    .col(uuid("operation_id"))
                    .col(integer("attempt"))
                    .col(string("worker"))
                    .col(time("began_at"))
                    .col(time("lease_end"))
                    .col(time_null("ended_at"))
                    .col(string_null("outcome"))
                    .col(text_null("detail"))
                    .primary_key(Index::create().col("operation_id").col("attempt"))
                    .to_owned(),
            )
            .await?;

        manager
            .create_table(
                Table::create()
                    .table("journal")
                    .col(big_pk_auto("id"))
                    .col(uuid_null("operation_id"))
                    .col(time("at"))
                    .col(big_integer_null("by"))
                    .col(string("event"))
                    .col(string_null("from_state"))
                    .col(string_null("to_state"))
                    .col(text_null("detail"))
                    .to_owned(),
            )
            .await?;
        index(manager, "journal_operation", "journal", &["operation_id", "id"], false).await?;
        index(manager, "journal_time", "journal", &["at"], false).await?;

        manager
            .create_table(
                Table::create()
                    .table("cases")
                    .col(big_pk_auto("id"))
                    .col(uuid("operation_id"))
                    .col(text("reason"))
                    .col(big_integer("rev"))
                    .col(time("opened_at"))
                    .col(big_integer_null("taken_by"))
                    .col(time_null("taken_until"))
                    .col(time_null("closed_at"))
                    .to_owned(),
            )
            .await?;
        // One open case an operation, whoever opens it.
        let open = "CREATE UNIQUE INDEX cases_open ON cases (operation_id) WHERE closed_at IS NULL";
        manager.get_connection().execute_unprepared(open).await?;

        manager
            .create_table(
                Table::create()
                    .table("slots")
                    .col(string("form_id"))
                    .col(string("slot_id"))
                    .col(integer("taken"))
                    .primary_key(Index::create().col("form_id").col("slot_id"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        drop_all(manager, &["slots", "cases", "journal", "attempts", "operations"]).await
    }
}

fn operations() -> TableCreateStatement {
    Table::create()
        .table("operations")
        .col(pk_uuid("id"))
        .col(uuid("draft_id"))
        .col(integer("version"))
        .col(big_integer("bot_id"))
        .col(big_integer("user_id"))
        .col(big_integer("chat_id"))
        .col(string("lang"))
        .col(string("form_id"))
        .col(string("form_title"))
        .col(uuid("external_key"))
        .col(string("marker"))
        // The state's word, for indexes and people; `body` holds the whole of it.
        .col(string("state"))
        .col(text("body"))
        .col(big_integer("rev"))
        .col(time_null("due_at"))
        .col(string_null("ticket_number"))
        .col(time("confirmed_at"))
        .col(time_null("ended_at"))
        // Personal data: erased by retention while the row stays.
        .col(text_null("ticket_order"))
        .col(text_null("prepared"))
        .col(string_null("client_name"))
        .col(string_null("client_phone"))
        // The place taken with the confirmation, until it is given back.
        .col(string_null("slot_form"))
        .col(string_null("slot_id"))
        .to_owned()
}
