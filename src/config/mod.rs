//! What the operator wrote, read with places: every mistake of a file is reported at once, by file and line.
//!
//! [`Config`] is the result; [`reader`] is how it is read, and forms, texts and profiles are read the same way.

pub mod duration;
pub mod files;
mod item;
mod load;
pub mod nearest;
pub mod overlay;
pub mod places;
pub mod problem;
pub mod reader;
mod settings;

use std::collections::BTreeMap;

pub use settings::{
    Config, Crm, Database, Limits, Log, Notices, Receive, Reconcile, Retention, Staff, Telegram, Templates, Web,
    Webhook, Worker,
};

/// Every key with its default, as comments teach it.
pub const TEMPLATE: &str = include_str!("../../templates/config.toml");

/// The variables of this process. The only reading of the environment; everything else takes a map.
#[must_use]
pub fn environment() -> BTreeMap<String, String> {
    let ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(overlay::PREFIX));
    ours.map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())).collect()
}
