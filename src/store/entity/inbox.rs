//! Updates as they came, each stored once.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "inbox")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub bot_id: i64,
    pub update_id: i64,
    pub digest: i64,
    #[sea_orm(column_type = "Text", nullable)]
    pub payload: Option<String>,
    pub lane: i64,
    pub state: String,
    pub attempts: i32,
    pub lease_until: i64,
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    pub received_at: i64,
    pub done_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
