//! What the operator may edit, loaded and cross-checked: forms, texts, ticket templates, CRM profiles.

pub mod forms;
pub mod mapping;
pub mod problem;
