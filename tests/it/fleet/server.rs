//! A PostgreSQL server that a test may restart. A guard shell holds it and takes the orders from a pipe; when the pipe
//! closes, however the test ends, it stops the server and removes its folder.

use std::{
    io::Write as _,
    os::unix::{fs::chown, process::CommandExt as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::databases::server::{account, free_port, programs, wait_until_ready};

const GUARD: &str = r#"trap '' INT TERM HUP
start() {
    "$1/postgres" -D "$2/data" -h 127.0.0.1 -p "$3" -c unix_socket_directories= -c fsync=off -c max_connections=60 \
        -c shared_buffers=16MB -c max_wal_senders=0 -c wal_level=minimal <&- &
    server=$!
}
start "$@"
while read -r how; do
    kill -"$how" "$server"
    wait "$server"
    start "$@"
done
kill -QUIT "$server"
wait "$server"
rm -rf "$2"
"#;

pub(super) struct Server {
    url: String,
    guard: Child,
}

impl Server {
    pub(super) fn start() -> Self {
        let (programs, account): (PathBuf, _) = (programs().unwrap(), account().unwrap());
        let folder = std::env::temp_dir().join(format!("zayavka-fleet-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        if let Some((user, group)) = account {
            chown(&folder, Some(user), Some(group)).unwrap();
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
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port().unwrap();
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
            .unwrap();
        wait_until_ready(&mut guard).unwrap();
        Self { url: format!("postgres://postgres@127.0.0.1:{port}/postgres"), guard }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Stops it by a signal and starts it again: `INT` ends sessions in order, `QUIT` is a crash.
    pub(super) fn restart(&mut self, signal: &str) {
        writeln!(self.guard.stdin.as_mut().unwrap(), "{signal}").unwrap();
    }
}
