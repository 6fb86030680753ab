//! What is true, without IO: no clock, no database, no network, no file. Start with [`operation`].

pub mod operation;
pub mod outcome;
pub mod ticket;

pub mod branches;
pub mod draft;
pub mod form;

pub mod answer;
pub mod attachment;
pub mod blank;
pub mod condition;
pub mod moment;
pub mod phone;
pub mod validate;

pub mod hours;
pub mod input;
pub mod review;
pub mod role;

pub mod delivery;
pub mod notice;
pub mod pace;
pub mod text;
