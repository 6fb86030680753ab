//! What comes in: updates, the people who send them, their drafts; and the small things all replicas share.

use sea_orm_migration::{
    prelude::*,
    schema::{big_integer, big_pk_auto, boolean, integer, pk_uuid, string, string_null, text, text_null},
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
                    .table("inbox")
                    .col(big_pk_auto("id"))
                    .col(big_integer("bot_id"))
                    .col(big_integer("update_id"))
                    // Update ids restart at random after an idle week: the same number with other content is another update.
                    .col(big_integer("digest"))
                    .col(text_null("payload"))
                    // Whose turn it is: rows of one person are handled one after another.
                    .col(big_integer("lane"))
                    .col(string("state"))
                    .col(integer("attempts"))
                    .col(time("lease_until"))
                    .col(text_null("error"))
                    .col(time("received_at"))
                    .col(time_null("done_at"))
                    .to_owned(),
            )
            .await?;
        index(manager, "inbox_once", "inbox", &["bot_id", "update_id", "digest"], true).await?;
        partial_index(manager, "inbox_open", "inbox", "id", "state = 'new'").await?;
        partial_index(manager, "inbox_shelf", "inbox", "id", "state = 'shelved'").await?;
        partial_index(manager, "inbox_payload", "inbox", "done_at", "payload IS NOT NULL").await?;

        manager
            .create_table(
                Table::create()
                    .table("people")
                    .col(big_integer("bot_id"))
                    .col(big_integer("user_id"))
                    .col(string("name"))
                    .col(string_null("username"))
                    .col(string("lang"))
                    .col(boolean("reachable"))
                    .col(time("first_seen"))
                    .col(time("seen_at"))
                    .primary_key(Index::create().col("bot_id").col("user_id"))
                    .to_owned(),
            )
            .await?;

        manager
            .create_table(
                Table::create()
                    .table("drafts")
                    .col(pk_uuid("id"))
                    .col(big_integer("bot_id"))
                    .col(big_integer("user_id"))
                    .col(big_integer("chat_id"))
                    .col(string("form_id"))
                    .col(string("form_version"))
                    .col(string("state"))
                    .col(string_null("cursor"))
                    .col(big_integer("revision"))
                    .col(integer("version"))
                    .col(text("answers"))
                    .col(time("created_at"))
                    .col(time("updated_at"))
                    .to_owned(),
            )
            .await?;
        partial_index(manager, "drafts_open", "drafts", "bot_id, user_id", "state IN ('filling', 'summary')").await?;
        index(manager, "drafts_person", "drafts", &["bot_id", "user_id", "updated_at"], false).await?;

        manager
            .create_table(
                Table::create()
                    .table("settings")
                    .col(string("name").primary_key())
                    .col(text("value"))
                    .col(time("changed_at"))
                    .to_owned(),
            )
            .await?;
        manager
            .create_table(
                Table::create()
                    .table("leases")
                    .col(string("name").primary_key())
                    .col(string("holder"))
                    .col(time("until"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        drop_all(manager, &["leases", "settings", "drafts", "people", "inbox"]).await
    }
}
