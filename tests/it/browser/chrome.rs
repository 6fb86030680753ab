//! Chromium and its driver as processes of one test: started on a free port with a profile of their own, and gone when the
//! test ends, also when it fails.

use std::{
    io::{BufRead, BufReader, Lines},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::json;
use tempfile::TempDir;

use super::webdriver::Session;

const WANTED: &str = "the page is tested in a real browser; install it: apt-get install -y chromium chromium-driver";
/// What is said to Chromium beyond its address: no window, no calls home, no first-run pages.
const FLAGS: [&str; 14] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--hide-scrollbars",
    "--window-size=1440,960",
];

/// A driver with one browser.
pub(crate) struct Chrome {
    pub(crate) session: Session,
    _driver: Driver,
}

impl Chrome {
    /// Opens a browser whose person prefers `language`.
    pub(crate) async fn open(language: &str) -> Self {
        let binary = on_path(&["chromium", "chromium-browser", "google-chrome"]).expect(WANTED);
        let driver = Driver::start();
        let mut flags: Vec<_> = FLAGS.iter().map(ToString::to_string).collect();
        flags.push(format!("--user-data-dir={}", driver.profile().display()));
        flags.push(format!("--accept-lang={language}"));
        let session = Session::open(
            &format!("http://127.0.0.1:{}", driver.port),
            json!({
                "goog:chromeOptions": { "args": flags, "binary": binary },
                "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            }),
        )
        .await;
        Self { session, _driver: driver }
    }

    /// Ends the browser and its driver.
    pub(crate) async fn close(self) {
        self.session.close().await;
    }
}

/// The driver's process and the one folder where it and its browser keep everything.
struct Driver {
    process: Child,
    port: u16,
    folder: TempDir,
    /// Kept open: a process that writes to nobody is ended by that.
    _said: Lines<BufReader<ChildStdout>>,
}

impl Driver {
    /// Starts the driver on a port of its choice and reads which. The port it picks is now and then taken by somebody
    /// else before it binds; then it ends at once and is started again with another one.
    fn start() -> Self {
        (0..5)
            .find_map(|_| Self::try_start())
            .unwrap_or_else(|| panic!("chromedriver ended five times without a word about its port: {WANTED}"))
    }

    fn try_start() -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("chromedriver cannot be started ({error}): {WANTED}"));
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = said.by_ref().map_while(Result::ok).find_map(|line| {
            let port = line.split_once("started successfully on port ")?.1;
            port.trim_end_matches('.').parse().ok()
        });
        let Some(port) = port else {
            drop(process.kill());
            drop(process.wait());
            return None;
        };
        Some(Self { process, port, folder, _said: said })
    }

    fn profile(&self) -> PathBuf {
        self.folder.path().join("profile")
    }
}

impl Drop for Driver {
    /// Ends the driver, and the browser that a failed test could not close: its number stands in its profile's lock.
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
        let lock = std::fs::read_link(self.profile().join("SingletonLock")).ok();
        let browser = lock.as_ref().and_then(|lock| lock.to_str()?.rsplit_once('-')?.1.parse::<u32>().ok());
        if let Some(browser) = browser {
            drop(Command::new("kill").args(["-KILL", &browser.to_string()]).stderr(Stdio::null()).status());
        }
    }
}

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file()))
}
