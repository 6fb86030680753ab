//! A database for each test: a SQLite file of its own, or a PostgreSQL database of its own on a server that is started
//! once for the process, or on the one that `ZAYAVKA_TEST_POSTGRES` names.

pub(crate) mod server;

use std::{
    future::Future,
    panic::{AssertUnwindSafe, resume_unwind},
    path::Path,
    sync::{Arc, OnceLock},
};

use futures_util::FutureExt as _;
use sea_orm::{ConnectionTrait as _, DatabaseConnection};
use tempfile::TempDir;
use zayavka::{
    clock::{Clock as _, SystemClock, SystemDice},
    ids::time_ordered,
};

use server::Server;

/// A server where databases can be made, such as `postgres://user:password@127.0.0.1:5432/postgres`.
const SERVER: &str = "ZAYAVKA_TEST_POSTGRES";

/// Nobody mourns this data: no sync, so that tests wait for logic and not for a disk.
const SETTINGS: &[&str] = &[
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=400",
    "shared_buffers=64MB",
    "autovacuum=off",
    "max_wal_senders=0",
    "wal_level=minimal",
];

/// Runs a test body on both databases, as `name::sqlite` and `name::postgres`.
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident: Database) $body:block)*) => {$(
        mod $name {
            use super::*;
            use $crate::databases::{Kind, run};

            $(#[$meta])*
            async fn body($db: $crate::databases::Database) $body

            #[tokio::test]
            async fn sqlite() {
                run(Kind::Sqlite, body).await;
            }

            #[tokio::test]
            async fn postgres() {
                run(Kind::Postgres, body).await;
            }
        }
    )*};
}

/// The same with each of the three promises of a CRM: `name::keyed_sqlite` and so on, six in all.
macro_rules! on_all {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident: Database, $options:ident: Options) $body:block)*) => {$(
        mod $name {
            use super::*;
            use $crate::databases::{Kind, run};

            $(#[$meta])*
            async fn body($db: $crate::databases::Database, $options: $crate::world::Options) $body

            #[tokio::test]
            async fn keyed_sqlite() {
                run(Kind::Sqlite, |db| body(db, $crate::world::Options::keyed())).await;
            }

            #[tokio::test]
            async fn keyed_postgres() {
                run(Kind::Postgres, |db| body(db, $crate::world::Options::keyed())).await;
            }

            #[tokio::test]
            async fn searchable_sqlite() {
                run(Kind::Sqlite, |db| body(db, $crate::world::Options::searchable())).await;
            }

            #[tokio::test]
            async fn searchable_postgres() {
                run(Kind::Postgres, |db| body(db, $crate::world::Options::searchable())).await;
            }

            #[tokio::test]
            async fn blind_sqlite() {
                run(Kind::Sqlite, |db| body(db, $crate::world::Options::blind())).await;
            }

            #[tokio::test]
            async fn blind_postgres() {
                run(Kind::Postgres, |db| body(db, $crate::world::Options::blind())).await;
            }
        }
    )*};
}

pub(crate) use {on_all, on_both};

/// Which database a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// One test's own database; empty at first.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(crate) url: String,
    _folder: Option<Arc<TempDir>>,
}

/// Makes a database, runs the test, takes the database away, also when the test fails.
pub(crate) async fn run<F: Future<Output = ()>>(kind: Kind, body: impl FnOnce(Database) -> F) {
    match kind {
        Kind::Sqlite => {
            let folder = scratch("zayavka-test-");
            let url = format!("sqlite://{}", folder.path().join("zayavka.db").display());
            body(Database { url, _folder: Some(Arc::new(folder)) }).await;
        }
        Kind::Postgres => {
            let server = server();
            let name = format!("zayavka_{}", time_ordered(SystemClock.now(), &SystemDice).simple());
            let admin = connect(&server).await;
            execute(&admin, &format!("CREATE DATABASE {name}")).await;
            let (before, _) = server.rsplit_once('/').unwrap_or_else(|| panic!("{server} names no database"));
            let ended = AssertUnwindSafe(body(Database { url: format!("{before}/{name}"), _folder: None }));
            let ended = ended.catch_unwind().await;
            execute(&admin, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
            if let Err(failure) = ended {
                resume_unwind(failure);
            }
        }
    }
}

/// A database that its owner takes away with [`remove`], for tests that copy one many times.
pub(crate) async fn make(kind: Kind) -> Database {
    match kind {
        Kind::Sqlite => {
            let folder = scratch("zayavka-test-");
            let url = format!("sqlite://{}", folder.path().join("zayavka.db").display());
            Database { url, _folder: Some(Arc::new(folder)) }
        }
        Kind::Postgres => make_postgres("").await,
    }
}

async fn make_postgres(from: &str) -> Database {
    let server = server();
    let name = format!("zayavka_{}", time_ordered(SystemClock.now(), &SystemDice).simple());
    execute(&connect(&server).await, &format!("CREATE DATABASE {name}{from}")).await;
    let (before, _) = server.rsplit_once('/').unwrap_or_else(|| panic!("{server} names no database"));
    Database { url: format!("{before}/{name}"), _folder: None }
}

/// A copy of a database nobody is connected to.
pub(crate) async fn copy(of: &Database) -> Database {
    if let Some(folder) = &of._folder {
        let copy = make(Kind::Sqlite).await;
        let to = copy._folder.as_ref().map_or(folder.path(), |folder| folder.path());
        let copied = std::fs::read_dir(folder.path()).and_then(|entries| {
            entries.into_iter().try_for_each(|entry| {
                let entry = entry?;
                std::fs::copy(entry.path(), to.join(entry.file_name())).map(|_| ())
            })
        });
        copied.unwrap_or_else(|error| panic!("the database cannot be copied: {error}"));
        return copy;
    }
    let (_, name) = of.url.rsplit_once('/').unwrap_or_else(|| panic!("{} names no database", of.url));
    make_postgres(&format!(" TEMPLATE {name}")).await
}

/// Takes a made database away.
pub(crate) async fn remove(database: Database) {
    if database._folder.is_none() {
        let (_, name) = database.url.rsplit_once('/').unwrap_or_else(|| panic!("{} names no database", database.url));
        execute(&connect(&server()).await, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    }
}

async fn connect(url: &str) -> DatabaseConnection {
    let mut options = sea_orm::ConnectOptions::new(url);
    options.max_connections(1).sqlx_logging(false);
    sea_orm::Database::connect(options).await.unwrap_or_else(|error| panic!("{url}: {error}"))
}

async fn execute(admin: &DatabaseConnection, sql: &str) {
    if let Err(error) = admin.execute_unprepared(sql).await {
        panic!("{sql}: {error}");
    }
}

/// A folder in memory where there is such a thing: a test does not wait for a disk.
fn scratch(prefix: &str) -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(memory);
    let folder = folder.or_else(|_| tempfile::Builder::new().prefix(prefix).tempdir());
    folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"))
}

/// The server's address: the one that is given, or one of our own.
fn server() -> String {
    static OWN: OnceLock<Result<Server, String>> = OnceLock::new();
    if let Ok(given) = std::env::var(SERVER)
        && !given.is_empty()
    {
        return given;
    }
    match OWN.get_or_init(|| Server::start(SETTINGS)) {
        Ok(server) => server.url.clone(),
        Err(why) => panic!(
            "{why}\nThese tests need PostgreSQL: install it (Debian: apt-get install postgresql), or set {SERVER} to a \
             server where databases can be made, such as postgres://postgres@127.0.0.1:5432/postgres"
        ),
    }
}
