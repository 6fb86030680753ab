//! What is to be said, and what became of it.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "outbox")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub bot_id: i64,
    pub chat_id: i64,
    pub thread_id: Option<i64>,
    pub kind: String,
    pub card: Option<String>,
    pub operation_id: Option<Uuid>,
    #[sea_orm(column_type = "Text")]
    pub notice: String,
    pub state: String,
    #[sea_orm(column_type = "Text")]
    pub body: String,
    pub rev: i64,
    pub priority: i32,
    pub due_at: Option<i64>,
    pub message_id: Option<i64>,
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    pub created_at: i64,
    pub ended_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
