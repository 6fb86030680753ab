//! Where the product is measured: databases on a real disk, and its configuration.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use sea_orm::{ConnectOptions, ConnectionTrait as _, DatabaseConnection};
use tempfile::TempDir;
use zayavka::{
    app::{self, App},
    clock::{SystemClock, SystemDice},
    config::Config,
};

use crate::{
    Sizes,
    load::{PATH, SECRET},
    mould::Mould,
    outside::{Crm, Outside, TOKEN},
    server::Server,
};

/// One question, so that a person comes to the summary at once.
const FORM: &str = r#"
id = "bench"
title = "Консультация"
[[field]]
id = "name"
kind = "text"
ask = "Как к вам обращаться?"
[ticket]
subject = "{{ answers.name }}"
body = "{{ summary }}"
"#;

/// The profile that ships; a copy of it without its pace, for what must be limited by us and not by a CRM.
const PROFILE: &str = include_str!("../../templates/crm/generic-keyed.toml");

/// Somebody of the staff.
pub(crate) const OWNER: i64 = 9001;

/// As an operator's server has it: what is acknowledged is flushed.
const POSTGRES: &[&str] = &["fsync=on", "synchronous_commit=on", "shared_buffers=256MB", "max_connections=200"];

/// Whether the CRM's pace is the profile's own, 20 a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Profile,
    Free,
}

/// All that the stages share.
pub(crate) struct Ground {
    pub(crate) sizes: Sizes,
    pub(crate) outside: Outside,
    pub(crate) mould: Mould,
    folder: TempDir,
    postgres: Server,
    made: AtomicUsize,
}

/// A database; taken away at its end when it is a file.
pub(crate) struct Database {
    pub(crate) url: String,
    folder: Option<TempDir>,
}

impl Ground {
    pub(crate) async fn new(sizes: Sizes) -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the disk");
        let templates = folder.path().join("templates/forms");
        std::fs::create_dir_all(&templates).expect("a folder for the form");
        std::fs::write(templates.join("bench.toml"), FORM).expect("the form is written");
        let free = PROFILE.replace("name = \"generic-keyed\"", "name = \"free\"").replace(
            "per_second = 20\nburst = 20\nconcurrency = 8",
            "per_second = 10000\nburst = 10000\nconcurrency = 64",
        );
        assert!(free.contains("concurrency = 64"), "the shipped profile has changed its limits");
        std::fs::write(folder.path().join("free.toml"), free).expect("the profile is written");
        let postgres = tokio::task::spawn_blocking(|| Server::start(POSTGRES)).await.expect("no panic");
        let postgres = postgres.unwrap_or_else(|why| panic!("PostgreSQL is needed: {why}"));
        let (outside, mould, made) = (Outside::start().await, Mould::default(), AtomicUsize::new(0));
        let mut ground = Self { sizes, outside, mould, folder, postgres, made };
        ground.mould = Mould::make(&ground).await;
        ground
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// An empty file of a database's own.
    pub(crate) fn sqlite(&self) -> Database {
        let folder = TempDir::new_in(self.folder.path()).expect("a folder for a database");
        Database { url: format!("sqlite://{}", folder.path().join("zayavka.db").display()), folder: Some(folder) }
    }

    /// An empty database on the server of this run.
    pub(crate) async fn postgres(&self) -> Database {
        let name = format!("bench_{}", self.made.fetch_add(1, Ordering::Relaxed));
        let admin = connect(&self.postgres.url).await;
        run(&admin, &format!("CREATE DATABASE {name}")).await;
        let (before, _) = self.postgres.url.rsplit_once('/').expect("the server's address names a database");
        Database { url: format!("{before}/{name}"), folder: None }
    }

    /// An operator's file.
    pub(crate) fn config(&self, database: &str, crm: &str, pace: Pace, workers: usize, port: u16) -> String {
        let folder = self.folder.path().display();
        let profile = match pace {
            Pace::Profile => "generic-keyed".to_owned(),
            Pace::Free => format!("{folder}/free.toml"),
        };
        format!(
            r#"
[telegram]
token = "{TOKEN}"
api_url = "{api}"
receive = "webhook"
[telegram.webhook]
url = "http://127.0.0.1:{port}{PATH}"
secret_token = "{SECRET}"
register = false
[staff]
chat = -1001000000001
owners = [{OWNER}]
[database]
url = "{database}"
[crm]
profile = "{profile}"
[crm.vars]
base_url = "{crm}"
[crm.secrets]
token = "bench"
[templates]
dir = "{folder}/templates"
[worker]
concurrency = {workers}
[web]
listen = "127.0.0.1:{port}"
"#,
            api = self.outside.api(),
        )
    }

    /// Whether the product knows this setting.
    pub(crate) fn knows(&self, variable: &str, value: &str) -> bool {
        let text = self.config("sqlite://none.db", "http://127.0.0.1:9", Pace::Profile, 1, 1);
        let set = BTreeMap::from([(variable.to_owned(), value.to_owned())]);
        Config::parse("zayavka.toml", &text, &set).is_ok()
    }

    /// The product's parts in this process, not running, over a CRM that is well.
    pub(crate) async fn app(&self, database: &Database) -> App {
        let text = self.config(&database.url, &self.outside.crm(Crm::Well), Pace::Free, 8, 1);
        let config = Config::parse("zayavka.toml", &text, &BTreeMap::new());
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let checked = app::check(&config).unwrap_or_else(|problems| panic!("{problems}"));
        let app = App::build(config, checked, Arc::new(SystemClock), Arc::new(SystemDice)).await;
        app.unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Database {
    /// Its file.
    fn path(&self) -> PathBuf {
        PathBuf::from(self.url.trim_start_matches("sqlite://"))
    }

    /// A copy of a file nobody has open.
    pub(crate) fn copy(&self, ground: &Ground) -> Self {
        let copy = ground.sqlite();
        std::fs::copy(self.path(), copy.path()).expect("the database is copied");
        copy
    }

    /// A connection of the benchmark's own, with the product's care: full sync.
    pub(crate) async fn connect(&self) -> DatabaseConnection {
        if self.folder.is_none() {
            return connect(&self.url).await;
        }
        let mut options = ConnectOptions::new(format!("{}?mode=rwc", self.url));
        options.max_connections(1).sqlx_logging(false).map_sqlx_sqlite_opts(|options| {
            options.pragma("journal_mode", "WAL").pragma("synchronous", "FULL").pragma("secure_delete", "ON")
        });
        sea_orm::Database::connect(options).await.expect("the database opens")
    }
}

async fn connect(url: &str) -> DatabaseConnection {
    let mut options = ConnectOptions::new(url);
    options.max_connections(1).sqlx_logging(false);
    sea_orm::Database::connect(options).await.unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// Runs a statement of the benchmark's own.
pub(crate) async fn run(db: &DatabaseConnection, sql: &str) {
    if let Err(error) = db.execute_unprepared(sql).await {
        panic!("{sql}: {error}");
    }
}
