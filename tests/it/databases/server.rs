//! A PostgreSQL server of this process, on a free loopback port.
//!
//! It outlives nothing: a guard shell holds it and waits on a pipe from this process. However the process ends, the pipe
//! closes, the shell stops the server and removes its folder.

use std::{
    io::{BufRead as _, BufReader},
    net::{Ipv4Addr, TcpListener},
    os::unix::{fs::chown, process::CommandExt as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

/// How long a server may take to come up.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// A server of this process.
pub(crate) struct Server {
    /// Its database `postgres`, as its superuser.
    pub(crate) url: String,
    /// Its input is the pipe the guard waits on: it closes with this process, whatever ends it.
    _guard: Child,
}

/// Holds the server as its child until the pipe closes; a signal meant for the tests does not end the guard first.
const GUARD: &str = r#"trap '' INT TERM HUP
programs=$1 folder=$2 port=$3
shift 3
"$programs/postgres" -D "$folder/data" -h 127.0.0.1 -p "$port" -c unix_socket_directories= "$@" <&- &
server=$!
cat > /dev/null
kill -QUIT "$server"
wait "$server"
rm -rf "$folder"
"#;

impl Server {
    /// Makes a cluster and starts it, with `settings` such as `fsync=off` over PostgreSQL's own.
    pub(crate) fn start(settings: &[&str]) -> Result<Self, String> {
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
            .args(settings.iter().flat_map(|setting| ["-c", setting]))
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
