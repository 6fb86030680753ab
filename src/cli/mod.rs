//! The commands. `main` only calls [`run`]; each command is a file that chooses a role and says how it ended.

// First: its macros stand in the place of the standard ones in all that follows.
#[macro_use]
mod say;

mod check;
mod database;
mod desk;
mod doctor;
mod form;
mod migrate;
mod ops;
mod person;
mod probe;
mod queue;
mod sample;
mod sandbox;
mod service;
mod why;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::{Args, Parser, Subcommand};

use crate::{
    app::{self, Checked},
    clock::{SystemClock, SystemDice},
    config::{self, Config, problem::Problems},
    store::Store,
    worker::SharedTokens,
};

/// How a command ended, as the shell is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// The thing asked about is not well.
    NotWell,
    /// Wrong usage or configuration.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::NotWell => 1,
            Exit::Usage => 2,
        })
    }
}

/// One tap, one ticket: forms in a Telegram chat become exactly one ticket each in your CRM.
#[derive(Debug, Parser)]
#[command(name = "zayavka", version, about, propagate_version = true)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
struct Common {
    /// The configuration file.
    #[arg(long, global = true, value_name = "PATH", default_value = DEFAULT_CONFIG)]
    config: PathBuf,
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try everything on this machine: no token, no account, no configuration.
    Sandbox(sandbox::SandboxArgs),
    /// Run the service: migrate, check, receive, work; drain on the first SIGTERM or SIGINT, stop on the second.
    Run(service::RunArgs),
    /// Check configuration, forms, profiles and texts: every problem at once, with file and line.
    Check,
    /// Measure the CRM in a sandbox of yours: is our key kept, how soon is it found, what does a repeat do.
    Probe(probe::ProbeArgs),
    /// The database's schema.
    #[command(subcommand)]
    Migrate(migrate::MigrateCommand),
    /// A form before anybody fills it in.
    #[command(subcommand)]
    Form(form::FormCommand),
    /// What staff can do in chat, for a shell.
    Ops(ops::OpsArgs),
    /// What happened to one request: tap, stored, sent, no answer, looked up, linked, by whom.
    Why(why::WhyArgs),
    /// Look at the live parts: token, who takes the updates, database, CRM, clock; or at two tickets that look like one.
    Doctor(doctor::DoctorArgs),
}

/// Parses the arguments, carries the command out and says how it ended.
pub async fn run(arguments: Vec<std::ffi::OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // `--help` and `--version` come this way too, and end well.
            drop(error.print());
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    let exit = match cli.command {
        Command::Sandbox(args) => sandbox::run(&args, cli.common.json).await,
        Command::Run(args) => service::run(&cli.common.config, &args).await,
        Command::Check => check::run(&cli.common.config, cli.common.json),
        Command::Form(command) => form::run(&cli.common.config, &command, cli.common.json),
        Command::Ops(args) => ops::run(&cli.common.config, args, cli.common.json).await,
        Command::Why(args) => why::run(&cli.common.config, &args, cli.common.json).await,
        Command::Doctor(args) => doctor::run(&cli.common.config, &args, cli.common.json).await,
        Command::Probe(args) => probe::run(&cli.common.config, &args, cli.common.json).await,
        Command::Migrate(command) => migrate::run(&cli.common.config, &command, cli.common.json).await,
    };
    match say::cut() {
        Some(why) if exit == Exit::Done => {
            eprintln!("the output is not whole: {why}");
            Exit::NotWell.into()
        }
        _ => exit.into(),
    }
}

/// The configuration's default place.
const DEFAULT_CONFIG: &str = "zayavka.toml";

/// The file to read: none where nobody has named one, none lies in the default place, and the environment gives the token.
fn file(path: &Path) -> Option<&Path> {
    let no_file = path == Path::new(DEFAULT_CONFIG) && !path.exists();
    let names_a_token = |name: &String| name.starts_with("ZAYAVKA_TELEGRAM__TOKEN");
    let by_environment = no_file && config::environment().keys().any(names_a_token);
    (!by_environment).then_some(path)
}

/// Loads the configuration, or prints what is wrong with it.
fn load(path: &Path) -> Result<Config, Exit> {
    Config::load(file(path), &config::environment()).map_err(|problems| {
        complain(&problems);
        Exit::Usage
    })
}

/// Loads the configuration and all it names, or prints everything that is wrong with any of it.
fn load_checked(path: &Path) -> Result<(Config, Checked), Exit> {
    let loaded = Config::read(file(path), &config::environment());
    loaded.and_then(|config| app::check(&config).map(|checked| (config, checked))).map_err(|problems| {
        complain(&problems);
        Exit::Usage
    })
}

/// Every problem on standard error: what, where, what to do.
fn complain(problems: &Problems) {
    for problem in problems.iter() {
        eprintln!("{problem}");
    }
}

/// What is wrong, for programs: each problem as the line people see, and in its parts.
fn unsound(problems: &Problems) -> serde_json::Value {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    serde_json::json!({"ok": false, "problems": lines, "details": problems.0})
}

/// The CRM's tokens as the service keeps them: asking with the configuration's own would spend one that may be used once.
fn kept_tokens(config: &Config, store: Store) -> SharedTokens {
    let holder = app::author(config, &SystemDice).worker;
    SharedTokens { store, holder, patience: config.crm.request_timeout * 2, clock: Arc::new(SystemClock) }
}
