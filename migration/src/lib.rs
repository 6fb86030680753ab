//! The schema, one step a file, applied in this order and never edited once released (see README.md).

mod columns;
mod m20261130_000001_intake;
mod m20261130_000002_operations;
mod m20261130_000003_outbox;
mod m20261130_000004_desk;
mod m20261130_000005_steps;
mod m20261130_000006_lanes;
mod m20261130_000007_retention;
mod m20261130_000008_hot;
mod m20261130_000010_set_back;
mod m20261130_000011_questions;

use sea_orm_migration::{MigrationTrait, async_trait::async_trait};
pub use sea_orm_migration::{MigratorTrait, sea_orm::DbErr};

/// The ordered list of steps.
#[derive(Debug, Clone, Copy)]
pub struct Migrator;

#[async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m20261130_000001_intake::Migration),
            Box::new(m20261130_000002_operations::Migration),
            Box::new(m20261130_000003_outbox::Migration),
            Box::new(m20261130_000004_desk::Migration),
            Box::new(m20261130_000005_steps::Migration),
            Box::new(m20261130_000006_lanes::Migration),
            Box::new(m20261130_000007_retention::Migration),
            Box::new(m20261130_000008_hot::Migration),
            Box::new(m20261130_000010_set_back::Migration),
            Box::new(m20261130_000011_questions::Migration),
        ]
    }
}
