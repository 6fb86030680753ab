//! One sea-orm entity a table. Times are milliseconds, ids of Telegram `i64`, JSON is text.

pub mod attempts;
pub mod cards;
pub mod cases;
pub mod chats;
pub mod drafts;
pub mod inbox;
pub mod journal;
pub mod leases;
pub mod operation_steps;
pub mod operations;
pub mod outbox;
pub mod pace;
pub mod people;
pub mod settings;
pub mod slots;
pub mod staff_people;
pub mod staff_questions;

use sea_orm::{
    ColumnTrait,
    sea_query::{Expr, ExprTrait as _},
};

/// A column that holds this word, with the word in the statement's own text. A partial index serves only a statement that
/// shows that the index's condition holds. A parameter shows nothing to PostgreSQL, and SQLite looks into it at a price: it
/// prepares the statement anew whenever the parameter is bound.
pub(super) fn is<C: ColumnTrait>(column: C, word: &'static str) -> Expr {
    column.into_expr().eq(Expr::cust(format!("'{word}'")))
}

/// The same for one word of several.
pub(super) fn is_one_of<C: ColumnTrait, const N: usize>(column: C, words: [&'static str; N]) -> Expr {
    column.into_expr().is_in(words.map(|word| Expr::cust(format!("'{word}'"))))
}

/// The same for any other word.
pub(super) fn is_not<C: ColumnTrait>(column: C, word: &'static str) -> Expr {
    column.into_expr().ne(Expr::cust(format!("'{word}'")))
}
