//! The sandbox's page in a real browser: Chromium without a window, steered through chromedriver, against the real binary.
//!
//! Needs Debian's `chromium` and `chromium-driver`, and fails without them. Pictures of the main states are left in
//! `target/screens/`.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at its first surprise")]

mod chrome;
mod once;
mod people;
mod shapes;
mod visit;
mod webdriver;
