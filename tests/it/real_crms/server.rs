//! A real CRM from Debian's packages, on loopback, in a folder of its own: made once, then copied for each run.
//!
//! The server outlives nothing: a guard shell holds it and waits on a pipe from this process.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// How long making one may take, and how long it may take to come up.
const COMES_UP_WITHIN: Duration = Duration::from_secs(120);

/// What makes a server.
pub(super) struct Recipe {
    pub(super) name: &'static str,
    /// Files that must be there, and the packages that bring them.
    pub(super) needs: &'static [&'static str],
    pub(super) packages: &'static str,
    /// The script that makes it, and what it reads.
    pub(super) script: &'static str,
    pub(super) reads: &'static [&'static str],
    /// The database's file.
    pub(super) database: &'static str,
    /// The command that starts it, given folder and port.
    pub(super) start: fn(&Path, u16) -> Command,
    /// What it answers when it is up.
    pub(super) sign_of_life: &'static str,
}

/// What the seed left for a connector.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Seed {
    pub(super) key_field: String,
    #[serde(default)]
    pub(super) topic_field: String,
    #[serde(default)]
    pub(super) tracker: String,
    pub(super) secret: String,
    /// The status of a ticket that is closed.
    pub(super) closed: String,
}

/// One running server.
pub(super) struct Server {
    pub(super) seed: Seed,
    pub(super) port: u16,
    database: PathBuf,
    guard: Child,
}

/// The shell that starts a server and stops it when its own standard input ends.
const GUARD: &str = r#"
"$@" >"$ZAYAVKA_LOG" 2>&1 </dev/null & pid=$!
cat >/dev/null
kill -TERM "$pid" 2>/dev/null; wait "$pid"
"#;

impl Server {
    /// Makes the server, if it was not made before, and starts it on a fresh database.
    pub(super) async fn start(recipe: &Recipe) -> Self {
        for file in recipe.needs {
            let hint = format!("apt-get install --no-install-recommends {}", recipe.packages);
            assert!(Path::new(file).exists(), "{file} is missing: {hint}");
        }
        let folder = made(recipe);
        let text = fs::read_to_string(folder.join("seed.json")).expect("the seed");
        let seed = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let database = folder.join(recipe.database);
        fs::copy(folder.join("fresh.sqlite"), &database).expect("a fresh database");
        for left in ["-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(folder.join(format!("{}{left}", recipe.database)));
        }
        let port = free_port();
        let command = (recipe.start)(&folder, port);
        let guard = guarded(&command, &folder.join("log"));
        let server = Self { seed, port, database, guard };
        server.comes_up(recipe.sign_of_life, &folder.join("log")).await;
        server
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    async fn comes_up(&self, path: &str, log: &Path) {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(10)).build().expect("a client");
        let up = async {
            let mut beat = tokio::time::interval(Duration::from_millis(250));
            loop {
                beat.tick().await;
                if http.get(format!("{}{path}", self.url())).send().await.is_ok() {
                    return;
                }
            }
        };
        if tokio::time::timeout(COMES_UP_WITHIN, up).await.is_err() {
            panic!("it did not come up: {}", fs::read_to_string(log).unwrap_or_default());
        }
    }

    /// Freezes the server: it accepts connections and answers nothing, and carries everything out once it goes on.
    pub(super) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(super) fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        // The whole group, which is the guard's: servers work in several processes.
        let sent = Command::new("kill").args([signal, "--", &format!("-{}", self.guard.id())]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal} of the group {}", self.guard.id());
    }

    /// One number out of the server's own database.
    pub(super) async fn number(&self, sql: &str) -> i64 {
        use sea_orm::{ConnectionTrait as _, Database, DbBackend, Statement};
        let url = format!("sqlite://{}?mode=ro", self.database.display());
        let connection = Database::connect(url).await.expect("the server's database");
        let row = connection.query_one_raw(Statement::from_string(DbBackend::Sqlite, sql.to_owned())).await;
        let number =
            row.expect("the question is understood").map(|row| row.try_get_by_index::<i64>(0).expect("a number"));
        drop(connection.close().await);
        number.unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that fails while the server is frozen must not leave it so: the guard would never see its pipe close.
        let _ = Command::new("kill").args(["-CONT", "--", &format!("-{}", self.guard.id())]).status();
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// The folder of a server that is ready to be started; another script or seed makes another folder, and so does another
/// place: a server's configuration names its database by its whole path, so a copied folder would write elsewhere.
fn made(recipe: &Recipe) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/real_crms");
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_TARGET_TMPDIR"));
    for file in recipe.reads.iter().chain([&recipe.script]) {
        hash.update(fs::read(here.join(file)).expect("a script"));
    }
    let mark: String = hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{mark}", recipe.name));
    if folder.join("fresh.sqlite").exists() {
        return folder;
    }
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let made = Command::new("sh").arg(here.join(recipe.script)).arg(&folder).stdin(Stdio::null()).output();
    let made = made.expect("the script runs");
    let said = || format!("{}{}", String::from_utf8_lossy(&made.stdout), String::from_utf8_lossy(&made.stderr));
    assert!(made.status.success(), "{} could not be made: {}", recipe.name, said());
    // The last thing written: a folder with it is whole.
    fs::copy(folder.join(recipe.database), folder.join("fresh.partial")).expect("a copy");
    fs::rename(folder.join("fresh.partial"), folder.join("fresh.sqlite")).expect("a name");
    folder
}

fn guarded(command: &Command, log: &Path) -> Child {
    let mut shell = Command::new("sh");
    shell.args(["-c", GUARD, "guard"]).arg(command.get_program()).args(command.get_args());
    // A group of its own, so that signals reach all of the server and nothing else.
    shell.env("ZAYAVKA_LOG", log).stdin(Stdio::piped()).process_group(0);
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell.spawn().expect("a shell")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}
