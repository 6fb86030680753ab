//! Forms being filled in, or confirmed.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "drafts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub bot_id: i64,
    pub user_id: i64,
    pub chat_id: i64,
    pub form_id: String,
    pub form_version: String,
    pub state: String,
    pub cursor: Option<String>,
    pub revision: i64,
    pub version: i32,
    #[sea_orm(column_type = "Text")]
    pub answers: String,
    pub created_at: i64,
    pub updated_at: i64,
    pub nudged: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
