//! What staff settle; at most one open a matter.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "cases")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub operation_id: Uuid,
    #[sea_orm(column_type = "Text")]
    pub reason: String,
    pub rev: i64,
    pub opened_at: i64,
    pub taken_by: Option<i64>,
    pub taken_until: Option<i64>,
    pub closed_at: Option<i64>,
    pub bot_id: i64,
    pub kind: String,
    pub subject: i64,
    pub word: String,
    pub form_id: String,
    pub reminded: i32,
    pub asked_by: Option<i64>,
    #[sea_orm(column_type = "Text", nullable)]
    pub asked_reason: Option<String>,
    pub closed_by: Option<i64>,
    pub closed_how: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
