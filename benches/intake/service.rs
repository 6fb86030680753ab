//! A process that is measured: the product's own program, or the plain bot in its place.

use std::{
    fs::File,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tokio::time::timeout;

use crate::{
    load::Wire,
    measure,
    outside::Crm,
    place::{Database, Ground, Pace},
};

/// How long a process may take to come up, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running process; killed at the end, as by `kill -9`.
pub(crate) struct Service {
    child: Child,
    /// What it says, for when it does not do what it should.
    log: PathBuf,
    pub(crate) at: SocketAddr,
    /// When it was started.
    pub(crate) began: Instant,
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Service {
    /// Starts `zayavka run` with `workers` towards a CRM that behaves like this.
    pub(crate) fn start(ground: &Ground, database: &Database, crm: Crm, pace: Pace, workers: usize) -> Self {
        Self::start_with(ground, database, crm, pace, workers, &[])
    }

    /// The same, with settings from the environment.
    pub(crate) fn start_with(
        ground: &Ground,
        database: &Database,
        crm: Crm,
        pace: Pace,
        workers: usize,
        settings: &[(&str, &str)],
    ) -> Self {
        let port = free_port();
        let file = ground.folder().join(format!("zayavka-{port}.toml"));
        let text = ground.config(&database.url, &ground.outside.crm(crm), pace, workers, port);
        std::fs::write(&file, text).expect("the configuration is written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_zayavka"));
        command.arg("run").arg("--config").arg(&file).envs(settings.iter().copied());
        Self::spawn(ground, command, port)
    }

    /// Starts the plain bot: this very program, in its other role.
    pub(crate) fn plain(ground: &Ground, database: &Database) -> Self {
        let port = free_port();
        let mut command = Command::new(std::env::current_exe().expect("this program's path"));
        let crm = ground.outside.crm(Crm::Well);
        command.args(["plain-bot", &database.url, &ground.outside.api(), &crm, &port.to_string()]);
        Self::spawn(ground, command, port)
    }

    fn spawn(ground: &Ground, mut command: Command, port: u16) -> Self {
        let log = ground.folder().join(format!("{port}.log"));
        let said = File::create(&log).expect("a file for what it says");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let began = Instant::now();
        let child = command.spawn().expect("the program starts");
        Self { child, log, at: SocketAddr::from(([127, 0, 0, 1], port)), began }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it answers this request with 200; how long after its start that was.
    pub(crate) async fn answers(&self, request: &[u8]) -> Duration {
        self.until(request, |status| status == 200).await
    }

    /// Waits until it is up, whatever it says.
    pub(crate) async fn is_up(&self) {
        self.until(b"GET /health/live HTTP/1.1\r\nHost: bot\r\n\r\n", |_| true).await;
    }

    async fn until(&self, request: &[u8], is_so: impl Fn(u16) -> bool) -> Duration {
        let asked = async {
            loop {
                if let Ok(mut wire) = Wire::to(self.at).await
                    && let Ok(status) = wire.ask(request).await
                    && is_so(status)
                {
                    return;
                }
                drop(timeout(Duration::from_millis(2), std::future::pending::<()>()).await);
            }
        };
        let came = timeout(PATIENCE, asked).await.is_ok();
        assert!(came, "it does not come up; it said: {}", std::fs::read_to_string(&self.log).unwrap_or_default());
        self.began.elapsed()
    }

    /// CPU time used so far.
    pub(crate) fn cpu(&self) -> Duration {
        measure::cpu(self.pid())
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}
