//! The problems of operators' files, by their name at this level; the type lives with the reader that finds them.

pub use crate::config::problem::{Problem, Problems, Severity};
