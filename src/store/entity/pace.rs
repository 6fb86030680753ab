//! The pace over all chats of a bot.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "pace")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub bot_id: i64,
    #[sea_orm(column_type = "Text")]
    pub recent: String,
    pub hold_until: i64,
    #[sea_orm(column_type = "Text")]
    pub throttled: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
