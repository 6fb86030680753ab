//! One tap, one ticket: a Telegram form whose confirmed version makes exactly one ticket in the CRM.
//!
//! The flow, and the modules in its order:
//!
//! ```text
//! Telegram ─▶ inbox ─▶ dialog | staff ─▶ domain ─▶ store ─▶ worker ─▶ crm ─▶ store ─▶ outbox ─▶ telegram ─▶ Telegram
//! ```
//!
//! Start reading in [`domain::operation`]: its states are the promise, everything else carries it out.
//! A lower level never imports a higher one and siblings never import each other; `tests/it/layout.rs` holds
//! the table of levels and fails on a wrong arrow.

// Level 0: names, time, chance, counts, log, and where a process may die.
pub mod clock;
pub mod ids;
pub mod metrics;
pub mod points;
pub mod telemetry;

// Level 1: what is true, without IO.
pub mod domain;

// Levels 2 and 3: what the operator wrote.
pub mod config;

pub mod catalog;

// Level 4: three doors to the outside: the database, the CRM, Telegram.
pub mod crm;
pub mod store;
pub mod telegram;

// Level 5: who acts: people who fill forms, people who decide, the loops.
pub mod dialog;
pub mod outbox;
pub mod staff;
pub mod worker;

// Levels 6 and 7: how updates come in, and the HTTP surface.
pub mod inbox;
pub mod web;

// Level 8: the composition, and an outside world to try it in.
pub mod app;
pub mod sandbox;

// Level 9: the commands.
pub mod cli;
