//! (filled in by its own commit)

pub mod profile;
