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
pub mod staff_steps;
