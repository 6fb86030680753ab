//! The settings as the rest of the program sees them: typed, checked, with units in their types.
//!
//! No `Debug` here shows a secret: secrets are [`SecretString`], and the database's address, which may hold a
//! password, is one too.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use secrecy::SecretString;

use super::{places::Places, problem::Problems};
use crate::{
    domain::{delivery::OnUnknown, hours::WorkingHours, operation::OnAbsent},
    ids::{BotId, ChatId, UserId},
    telemetry::Format,
};

/// Everything an operator can set.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file it was read from, for messages.
    pub source: String,
    /// Where each setting is written, for messages.
    pub places: Places,
    /// `[telegram]`
    pub telegram: Telegram,
    /// `[staff]`
    pub staff: Staff,
    /// `[database]`
    pub database: Database,
    /// `[crm]`
    pub crm: Crm,
    /// `[web]`
    pub web: Web,
    /// `[templates]`
    pub templates: Templates,
    /// `[worker]`
    pub worker: Worker,
    /// `[notices]`
    pub notices: Notices,
    /// `[limits]`
    pub limits: Limits,
    /// `[retention]`
    pub retention: Retention,
    /// `[log]`
    pub log: Log,
    /// What the operator should look at; nothing that stops the start.
    pub warnings: Problems,
}

/// The bot and how its updates come.
#[derive(Debug, Clone)]
pub struct Telegram {
    /// The bot's token.
    pub token: SecretString,
    /// The number before the token's colon.
    pub bot_id: BotId,
    /// Where the Bot API is, without a slash at the end.
    pub api_url: String,
    /// The longest a send may take: Telegram answers some throttled ones only after many seconds.
    pub request_timeout: Duration,
    /// How updates come.
    pub receive: Receive,
}

/// How updates come.
#[derive(Debug, Clone)]
pub enum Receive {
    /// We ask for them.
    Polling,
    /// Telegram brings them.
    Webhook(Webhook),
}

/// Where Telegram brings updates.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// The address Telegram is given.
    pub url: String,
    /// The path of that address: our route.
    pub path: String,
    /// What Telegram sends along to prove that it is Telegram.
    pub secret_token: SecretString,
    /// How many requests Telegram makes at once, 1 to 100.
    pub max_connections: u8,
    /// Whether we set the webhook at start; otherwise somebody else does.
    pub register: bool,
}

/// Who decides; by numeric id only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staff {
    /// Where review cards go.
    pub chat: Option<ChatId>,
    /// The forum topic in that chat.
    pub thread: Option<i64>,
    /// May do everything.
    pub owners: Vec<UserId>,
    /// May decide.
    pub reviewers: Vec<UserId>,
    /// May look.
    pub viewers: Vec<UserId>,
    /// Whether "create after all" needs another person's consent.
    pub second_person: bool,
    /// How long a case taken is its taker's alone.
    pub take_for: Duration,
    /// When staff work: reminders go then, and waiting counts then.
    pub hours: WorkingHours,
    /// A case that waited so long untaken is brought to the reviewers' minds.
    pub remind_after: Duration,
    /// A case that waited so long untaken is brought to the owners' minds.
    pub escalate_after: Duration,
    /// A person who waited so long for their outcome is told once that it takes longer.
    pub client_update_after: Duration,
}

/// Where everything is stored.
#[derive(Debug, Clone)]
pub struct Database {
    /// `sqlite://…` or `postgres://…`; may hold a password.
    pub url: SecretString,
}

/// The CRM: which profile, and what it asks for.
#[derive(Debug, Clone)]
pub struct Crm {
    /// A profile's name, or a path.
    pub profile: String,
    /// The longest one exchange may take, answer included.
    pub request_timeout: Duration,
    /// The longest the connection may take to come about; not above `request_timeout`.
    pub connect_timeout: Duration,
    /// How long a sender owns an attempt; longer than `request_timeout`.
    pub lease: Duration,
    /// Values for the profile's variables, as text.
    pub vars: BTreeMap<String, String>,
    /// The profile's secrets.
    pub secrets: BTreeMap<String, SecretString>,
    /// What overrides the profile's own figures.
    pub reconcile: Reconcile,
}

/// Overrides of a profile's figures; absent = the profile's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reconcile {
    /// How long after the last possible delivery a miss begins to count.
    pub settle: Option<Duration>,
    /// How many counting misses mean absent.
    pub looks: Option<u32>,
    /// The pause between looks.
    pub spacing: Option<Duration>,
    /// What absence leads to.
    pub on_absent: Option<OnAbsent>,
    /// How long an operation may go on being tried without reaching the CRM before a human is asked.
    pub patience: Duration,
    /// How long a lost one may stay unsearchable before a human is asked.
    pub look_patience: Duration,
    /// How long a late twin is looked for.
    pub watch: Duration,
}

/// The HTTP surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Web {
    /// Where we listen.
    pub listen: SocketAddr,
}

/// What an operator may edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Templates {
    /// The folder whose files override the compiled-in ones; the default one may be absent.
    pub dir: PathBuf,
    /// Default language of texts.
    pub language: String,
}

/// The worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker {
    /// Most CRM calls at once, 1 to 256.
    pub concurrency: u16,
    /// The longest pause between two looks at the database.
    pub tick: Duration,
}

/// What happens when nobody knows whether a message arrived, per kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notices {
    /// The ticket's number, to the requester.
    pub created: OnUnknown,
    /// The refusal, to the requester.
    pub rejected: OnUnknown,
    /// A case, to staff.
    pub staff_card: OnUnknown,
    /// An outcome that comes later than this after the tap gets a message of its own.
    pub tell_after: Duration,
}

/// What one client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Unfinished forms at once.
    pub open_drafts_per_client: u32,
    /// Submissions within an hour.
    pub submissions_per_client_per_hour: u32,
}

/// How long what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Raw updates.
    pub updates: Duration,
    /// Unfinished forms: closed after this long without an answer.
    pub drafts: Duration,
    /// Answers of finished operations.
    pub answers: Duration,
    /// Key → ticket: how long a repeated tap still finds the number.
    pub operations: Duration,
    /// The journal.
    pub journal: Duration,
}

/// The log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// A `tracing` directive: `info`, `zayavka=debug`, …
    pub filter: String,
    /// For people or for collectors.
    pub format: Format,
}
