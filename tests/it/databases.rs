//! A database for each test: a SQLite file of its own, or a PostgreSQL database of its own on a server that is started
//! once for the process, or on the one that `ZAYAVKA_TEST_POSTGRES` names.
//!
//! The server outlives nothing: a guard shell holds it and waits on a pipe from this process. However the process ends,
//! the pipe closes, the shell stops the server and removes its folder.

use std::{
    future::Future,
    io::{BufRead as _, BufReader},
    net::{Ipv4Addr, TcpListener},
    os::unix::{fs::chown, process::CommandExt as _},
    panic::{AssertUnwindSafe, resume_unwind},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, OnceLock, mpsc},
    time::Duration,
};

use futures_util::FutureExt as _;
use sea_orm::{ConnectionTrait as _, DatabaseConnection};
use tempfile::TempDir;
use zayavka::{
    clock::{Clock as _, SystemClock, SystemDice},
    ids::time_ordered,
};

/// A server where databases can be made, such as `postgres://user:password@127.0.0.1:5432/postgres`.
const SERVER: &str = "ZAYAVKA_TEST_POSTGRES";

/// How long a server may take to come up.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

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
    match OWN.get_or_init(Server::start) {
        Ok(server) => server.url.clone(),
        Err(why) => panic!(
            "{why}\nThese tests need PostgreSQL: install it (Debian: apt-get install postgresql), or set {SERVER} to a \
             server where databases can be made, such as postgres://postgres@127.0.0.1:5432/postgres"
        ),
    }
}

/// A server of this process.
struct Server {
    url: String,
    /// Its input is the pipe the guard waits on: it closes with this process, whatever ends it.
    _guard: Child,
}

/// Holds the server as its child until the pipe closes; a signal meant for the tests does not end the guard first.
const GUARD: &str = r#"trap '' INT TERM HUP
"$1/postgres" -D "$2/data" -h 127.0.0.1 -p "$3" -c unix_socket_directories= -c fsync=off -c synchronous_commit=off \
    -c full_page_writes=off -c max_connections=400 -c shared_buffers=64MB -c autovacuum=off -c max_wal_senders=0 \
    -c wal_level=minimal <&- &
server=$!
cat > /dev/null
kill -QUIT "$server"
wait "$server"
rm -rf "$2"
"#;

impl Server {
    fn start() -> Result<Self, String> {
        let programs = programs()?;
        let account = account()?;
        let folder = std::env::temp_dir().join(format!("zayavka-postgres-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        if let Some((user, group)) = account {
            chown(&folder, Some(user), Some(group)).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let command = |program: &str| {
            let mut command = Command::new(program);
            command.env("LC_ALL", "C").env_remove("PGDATA").current_dir(&folder);
            if let Some((user, group)) = account {
                command.uid(user).gid(group);
            }
            command
        };
        let made = command(&programs.join("initdb").to_string_lossy())
            .args(["-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-N"])
            .output()
            .map_err(|error| format!("initdb could not be run: {error}"))?;
        if !made.status.success() {
            return Err(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let port = free_port()?;
        let mut guard = command("/bin/sh")
            .args(["-c", GUARD, "guard"])
            .arg(&programs)
            .arg(&folder)
            .arg(port.to_string())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the server's guard could not be started: {error}"))?;
        wait_until_ready(&mut guard)?;
        Ok(Self { url: format!("postgres://postgres@127.0.0.1:{port}/postgres"), _guard: guard })
    }
}

/// Reads what the server says until it is ready; a thread goes on reading, so that it never waits for a reader.
pub(crate) fn wait_until_ready(guard: &mut Child) -> Result<(), String> {
    let said = guard.stderr.take().ok_or("the server's words cannot be read")?;
    let (ready, known) = mpsc::channel();
    std::thread::spawn(move || {
        let mut words = String::new();
        for line in BufReader::new(said).lines().map_while(Result::ok) {
            if line.contains("ready to accept connections") {
                // Nobody listens any more when the start took too long.
                drop(ready.send(Ok(())));
            } else if words.len() < 4_000 {
                words.push_str(&line);
                words.push('\n');
            }
        }
        drop(ready.send(Err(format!("PostgreSQL ended: {words}"))));
    });
    known.recv_timeout(STARTS_WITHIN).map_err(|_| "PostgreSQL did not come up in time".to_owned())?
}

/// The folder of the server's programs: in the PATH, or the newest where Debian puts them.
pub(crate) fn programs() -> Result<PathBuf, String> {
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&in_path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<_> = versions.flatten().map(|version| version.path().join("bin")).collect();
        versions.sort();
        folders.extend(versions.into_iter().rev());
    }
    let whole = |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    folders.into_iter().find(whole).ok_or_else(|| "PostgreSQL's initdb and postgres were not found".to_owned())
}

/// PostgreSQL refuses to run as root: then it runs as `postgres`, the account its package makes.
pub(crate) fn account() -> Result<Option<(u32, u32)>, String> {
    let id = |args: &[&str]| -> Option<u32> {
        let said = Command::new("id").args(args).output().ok().filter(|said| said.status.success())?;
        String::from_utf8(said.stdout).ok()?.trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return Ok(None);
    }
    match (id(&["-u", "postgres"]), id(&["-g", "postgres"])) {
        (Some(user), Some(group)) => Ok(Some((user, group))),
        _ => Err("PostgreSQL refuses to run as root, and there is no account `postgres`".to_owned()),
    }
}

pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| format!("no free port: {error}"))?;
    listener.local_addr().map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}
