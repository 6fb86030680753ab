//! The program: parses nothing itself, decides nothing itself.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    zayavka::cli::run(std::env::args_os().collect()).await
}
