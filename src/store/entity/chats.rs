//! Chats: when each wants to be looked at, and what Telegram told us about it.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "chats")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub bot_id: i64,
    #[sea_orm(primary_key, auto_increment = false)]
    pub chat_id: i64,
    pub hold_until: i64,
    pub moved_to: Option<i64>,
    pub due_at: Option<i64>,
    pub priority: i32,
    #[sea_orm(column_type = "Text", nullable)]
    pub recent: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
