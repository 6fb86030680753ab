//! What staff settle; at most one open an operation.

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
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
