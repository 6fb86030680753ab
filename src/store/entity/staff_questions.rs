//! Conversations with staff that wait for an answer.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "staff_questions")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub bot_id: i64,
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: i64,
    #[sea_orm(primary_key, auto_increment = false)]
    pub chat_id: i64,
    #[sea_orm(primary_key, auto_increment = false)]
    pub case_id: i64,
    pub case_rev: i64,
    pub what: String,
    #[sea_orm(column_type = "Text", nullable)]
    pub data: Option<String>,
    pub expires_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
