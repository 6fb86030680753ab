//! Column helpers that mean the same on SQLite and PostgreSQL.
//!
//! A time is whole milliseconds since 1970 in UTC (`bigint`), so that leases compare as numbers on both; ids of Telegram
//! are `bigint` (up to 52 bits); JSON is text, since it is never searched inside.

use sea_orm_migration::{
    prelude::*,
    schema::{big_integer, big_integer_null},
};

/// A moment.
pub(crate) fn time(name: &'static str) -> ColumnDef {
    big_integer(name)
}

/// A moment that may not have come.
pub(crate) fn time_null(name: &'static str) -> ColumnDef {
    big_integer_null(name)
}

/// Creates an index over the rows that `condition` holds for: the hot part of a table that only grows.
pub(crate) async fn partial_index(
    manager: &SchemaManager<'_>,
    name: &str,
    table: &str,
    columns: &str,
    condition: &str,
) -> Result<(), DbErr> {
    let sql = format!("CREATE INDEX {name} ON {table} ({columns}) WHERE {condition}");
    manager.get_connection().execute_unprepared(&sql).await?;
    Ok(())
}

/// Creates a plain or unique index.
pub(crate) async fn index(
    manager: &SchemaManager<'_>,
    name: &'static str,
    table: &'static str,
    columns: &[&'static str],
    unique: bool,
) -> Result<(), DbErr> {
    let mut index = Index::create().name(name).table(table).to_owned();
    for column in columns {
        index.col(*column);
    }
    if unique {
        index.unique();
    }
    manager.create_index(index).await
}

/// Drops tables, last made first.
pub(crate) async fn drop_all(manager: &SchemaManager<'_>, tables: &[&'static str]) -> Result<(), DbErr> {
    for table in tables {
        manager.drop_table(Table::drop().table(*table).to_owned()).await?;
    }
    Ok(())
}
