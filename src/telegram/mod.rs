//! Telegram: reading updates without trusting their shape, naming buttons, wording calls, and telling what an answer
//! proves. Retries belong to the outbox alone; nothing here repeats a call.

pub mod answer;
pub mod button;
pub mod client;
pub mod decode;
pub mod render;
pub mod verdict;

pub use answer::Answer;
pub use client::{ClientProblem, Telegram};
