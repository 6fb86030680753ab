//! The staff's desk: cases about more than operations, who asked for what, conversations that wait for an answer.

use sea_orm_migration::{
    prelude::*,
    schema::{big_integer, big_integer_null, integer, string, string_null, text_null},
};

use crate::columns::{drop_all, index, partial_index, time};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }

    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for column in columns() {
            manager.alter_table(Table::alter().table("cases").add_column(column).to_owned()).await?;
        }
        // One open case a matter: an operation may stand in review and, beside it, have a message nobody received.
        manager.drop_index(Index::drop().name("cases_open").table("cases").to_owned()).await?;
        let open =
            "CREATE UNIQUE INDEX cases_open ON cases (operation_id, kind, subject, bot_id) WHERE closed_at IS NULL";
        manager.get_connection().execute_unprepared(open).await?;
        partial_index(manager, "cases_queue", "cases", "id", "closed_at IS NULL").await?;
        index(manager, "cases_operation", "cases", &["operation_id"], false).await?;
        partial_index(manager, "operations_open", "operations", "confirmed_at", "ended_at IS NULL").await?;
        index(manager, "operations_ended", "operations", &["ended_at"], false).await?;

        manager
            .create_table(
                Table::create()
                    .table("staff_steps")
                    .col(big_integer("bot_id"))
                    .col(big_integer("user_id"))
                    .col(big_integer("chat_id"))
                    .col(big_integer("case_id"))
                    .col(big_integer("case_rev"))
                    .col(string("what"))
                    .col(text_null("data"))
                    .col(time("expires_at"))
                    .primary_key(Index::create().col("bot_id").col("user_id").col("chat_id"))
                    .to_owned(),
            )
            .await?;
        manager
            .create_table(
                Table::create()
                    .table("staff_people")
                    .col(big_integer("bot_id"))
                    .col(big_integer("user_id"))
                    .col(string("name"))
                    .col(string_null("username"))
                    .col(time("seen_at"))
                    .primary_key(Index::create().col("bot_id").col("user_id"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        drop_all(manager, &["staff_people", "staff_steps"]).await?;
        let indexes = [
            ("operations_ended", "operations"),
            ("operations_open", "operations"),
            ("cases_operation", "cases"),
            ("cases_queue", "cases"),
            ("cases_open", "cases"),
        ];
        for (name, table) in indexes {
            manager.drop_index(Index::drop().name(name).table(table).to_owned()).await?;
        }
        // What the release before knows nothing of is no case there.
        manager.get_connection().execute_unprepared("DELETE FROM cases WHERE kind <> 'review'").await?;
        for column in columns() {
            let name = column.get_column_name().to_string();
            manager.alter_table(Table::alter().table("cases").drop_column(Alias::new(name)).to_owned()).await?;
        }
        let open = "CREATE UNIQUE INDEX cases_open ON cases (operation_id) WHERE closed_at IS NULL";
        manager.get_connection().execute_unprepared(open).await?;
        Ok(())
    }
}

/// Each with a default, so that the release before goes on writing cases without them.
fn columns() -> Vec<ColumnDef> {
    vec![
        big_integer("bot_id").default(0).to_owned(),
        // What it is about: review, twin, undelivered, shelved.
        string("kind").default("review").to_owned(),
        // The outbox or inbox row it is about; 0 when the operation says it all.
        big_integer("subject").default(0).to_owned(),
        // The reason in one word, and the form: what a queue is filtered by.
        string("word").default("").to_owned(),
        string("form_id").default("").to_owned(),
        // How far reminders have gone: 0 none, 1 reviewers, 2 owners.
        integer("reminded").default(0).to_owned(),
        // Who wants to create it after all and waits for another person's consent, and why.
        big_integer_null("asked_by"),
        text_null("asked_reason"),
        big_integer_null("closed_by"),
        string_null("closed_how"),
    ]
}
