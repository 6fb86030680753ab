//! CRM profiles: one TOML file describes one CRM, and no Rust is needed for a new one.
//!
//! A profile says what the installation must fill in (`[vars]`, `[secrets]`), how a request is put together
//! (`[[step]]`, `[auth]`, `[ext]`), what each answer means (ordered `[[step.outcome]]` rules), how a ticket is found
//! again by our key (`[[lookup]]`) or read by its number (`[verify]`), and what makes a repeat harmless
//! (`[profile] promise`, `[dedupe]`). [`load()`] finds every mistake of a file at once; what it returns was checked in
//! whole. What is sent and what an answer proves is decided in `crate::crm`, from this data alone.

pub mod built_in;
mod check;
mod filters;
mod load;
pub mod model;
mod open;
pub mod path;
mod reach;
pub mod rule;
pub mod template;
mod vars;

pub(crate) use load::PATH_SECRET;
pub use load::{load, load_on};
pub use model::Profile;
pub use open::{known, open, others};
