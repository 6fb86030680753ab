//! What the operator wrote, read with places: every mistake of a file is reported at once, by file and line.

pub mod duration;
pub mod files;
mod item;
pub mod nearest;
pub mod overlay;
pub mod problem;
pub mod reader;
