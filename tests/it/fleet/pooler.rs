//! Behind a transaction pooler: PgBouncer, started here on loopback, with fewer server connections than we have of our own, so
//! that each transaction may land on another one.

use std::{
    net::TcpStream,
    os::unix::{fs::chown, process::CommandExt as _},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use zayavka::store::Store;

use super::{Fleet, on_postgres};
use crate::databases::server::{account, free_port};

struct Pooler {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Pooler {
    /// Starts one. Somebody else may take the port between its choice and its use: then it takes another one.
    fn start(database: &str) -> Self {
        let mut said = String::new();
        let started = (0..5).find_map(|_| Self::start_once(database).map_err(|why| said.push_str(&why)).ok());
        started.unwrap_or_else(|| panic!("PgBouncer did not come up: {said}"))
    }

    fn start_once(database: &str) -> Result<Self, String> {
        let program =
            ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().find(|path| std::fs::exists(path).unwrap());
        let missing = "these tests need PgBouncer: install it (Debian: apt-get install pgbouncer)";
        let program = program.unwrap_or_else(|| panic!("{missing}"));
        let Place { user, password, host, port: server_port, name } = Place::of(database);
        let folder = tempfile::tempdir().unwrap();
        let port = free_port().unwrap();
        let (config, users) = (folder.path().join("pgbouncer.ini"), folder.path().join("users.txt"));
        // The server may ask for a password (that of the whole run does): the pooler gives it, and asks nobody.
        std::fs::write(&users, format!("\"{user}\" \"{password}\"\n")).unwrap();
        let text = format!(
            "[databases]\n{name} = host={host} port={server_port} user={user} password='{password}' dbname={name}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             auth_file = {users}\npool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 200\n",
            users = users.display(),
        );
        std::fs::write(&config, text).unwrap();
        let mut command = Command::new(program);
        let log = folder.path().join("said");
        let said = std::fs::File::create(&log).unwrap();
        command.arg(&config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        // Like PostgreSQL, it refuses to run as root.
        if let Some((user, group)) = account().unwrap() {
            for path in [folder.path(), &config, &users] {
                chown(path, Some(user), Some(group)).unwrap();
            }
            command.uid(user).gid(group);
        }
        let mut pooler = Self { child: command.spawn().unwrap(), port, _folder: folder };
        if pooler.comes_up() { Ok(pooler) } else { Err(std::fs::read_to_string(log).unwrap_or_default()) }
    }

    fn comes_up(&mut self) -> bool {
        let address = ([127, 0, 0, 1], self.port).into();
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        for _ in 0..200 {
            if TcpStream::connect_timeout(&address, Duration::from_millis(100)).is_ok() {
                return true;
            }
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            // A refused connection comes back at once; nobody sends here.
            let _ = never.recv_timeout(Duration::from_millis(50));
        }
        false
    }

    fn url(&self, database: &str) -> String {
        let Place { user, name, .. } = Place::of(database);
        format!("postgres://{user}@127.0.0.1:{}/{name}", self.port)
    }
}

/// The parts of `postgres://user[:password]@host:port/name`.
struct Place<'a> {
    user: &'a str,
    password: &'a str,
    host: &'a str,
    port: &'a str,
    name: &'a str,
}

impl<'a> Place<'a> {
    fn of(database: &'a str) -> Self {
        let (_, rest) = database.split_once("://").unwrap();
        let (who, rest) = rest.rsplit_once('@').unwrap();
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let (address, name) = rest.split_once('/').unwrap();
        let (host, port) = address.rsplit_once(':').unwrap();
        Self { user, password, host, port, name }
    }
}

#[tokio::test]
async fn two_replicas_behind_a_transaction_pooler_serve_and_share() {
    on_postgres(|db| async move {
        let pooler = Pooler::start(&db.url);
        let url = pooler.url(&db.url);
        let direct = Store::connect(&db.url).await.unwrap();
        assert!(!direct.is_pooled(), "without a pooler none is seen");
        let mut fleet = Fleet::new(&url).await;
        fleet.launch();
        fleet.launch();
        fleet.until_all_ready().await;
        for user in 101..105 {
            fleet.serves(user).await;
        }
        let store = Store::connect(&url).await.unwrap();
        assert!(store.is_pooled(), "it is found out");
        assert_eq!(store.pending_migrations().await.unwrap(), [""; 0]);
        let polling = fleet.polling(&store).await;
        fleet.signal(polling, "KILL");
        fleet.serves(105).await;
        assert_eq!(fleet.tickets().await, 5);
        store.close().await;
        direct.close().await;
    })
    .await;
}
