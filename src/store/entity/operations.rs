//! Confirmed draft versions, unique by (draft, version).

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "operations")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    pub draft_id: Uuid,
    pub version: i32,
    pub bot_id: i64,
    pub user_id: i64,
    pub chat_id: i64,
    pub lang: String,
    pub form_id: String,
    pub form_title: String,
    pub external_key: Uuid,
    pub marker: String,
    pub state: String,
    #[sea_orm(column_type = "Text")]
    pub body: String,
    pub rev: i64,
    pub changed_at: i64,
    pub due_at: Option<i64>,
    pub ticket_number: Option<String>,
    pub confirmed_at: i64,
    pub ended_at: Option<i64>,
    #[sea_orm(column_type = "Text", nullable)]
    pub ticket_order: Option<String>,
    #[sea_orm(column_type = "Text", nullable)]
    pub prepared: Option<String>,
    pub client_name: Option<String>,
    pub client_phone: Option<String>,
    pub slot_form: Option<String>,
    pub slot_id: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
