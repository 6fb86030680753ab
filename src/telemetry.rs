//! Log set-up: one subscriber for the process, wire-level crates capped so that no token or answer can reach it.

use std::io::IsTerminal as _;

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// Crates that print URLs, headers, statements or bodies below `warn`: whatever the operator asks for, they stay capped.
const CAPPED: [&str; 8] =
    ["hyper", "hyper_util", "reqwest", "rustls", "sqlx", "sea_orm", "sea_orm_migration", "teloxide"];

/// How log lines are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// For a person at a terminal.
    #[default]
    Text,
    /// One JSON object a line, for a collector.
    Json,
}

/// Installs the log for this process, on standard error. `filter` is a `tracing` directive such as `info` or
/// `zayavka=debug`; what cannot be read falls back to `info`. A second call changes nothing.
pub fn init(filter: &str, format: Format) {
    let mut directives = filter.to_owned();
    for name in CAPPED {
        directives.push_str(&format!(",{name}=warn"));
    }
    let filter = EnvFilter::try_new(&directives).unwrap_or_else(|_| EnvFilter::new("info"));
    let registry = tracing_subscriber::registry().with(filter);
    let installed = match format {
        Format::Text => {
            let ansi = std::io::stderr().is_terminal();
            registry.with(fmt::layer().with_writer(std::io::stderr).with_ansi(ansi)).try_init()
        }
        Format::Json => registry.with(fmt::layer().json().with_writer(std::io::stderr)).try_init(),
    };
    // A test binary installs it once for all its tests; the first one wins.
    drop(installed);
}
