//! The real binary as a process of a test: what it says, how it ends, and whether anything is left of it.

use std::{
    io::{BufRead, BufReader, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long an ending may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A running `zayavka`, alone in a process group and in a temporary folder of its own.
pub(crate) struct Running {
    /// Taken when it has ended.
    child: Option<Child>,
    pid: u32,
    stdout: BufReader<ChildStdout>,
    /// Its standard error and that of every child of its. Nothing more comes when all of them have ended.
    stderr: Receiver<String>,
}

impl Running {
    pub(crate) fn start(args: &[&str], temporary: &TempDir) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zayavka"))
            .args(args)
            .env("TMPDIR", temporary.path())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (said, stderr) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| said.send(line)));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { pid: child.id(), child: Some(child), stdout, stderr }
    }

    /// The next line of its standard output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The rest of its standard output.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        rest
    }

    /// The next line of its standard error.
    pub(crate) fn error_line(&self) -> String {
        self.stderr.recv_timeout(LIMIT).expect("a line on standard error")
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(name, &self.pid.to_string());
    }

    /// A signal to it and to whatever stands in its process group, as a terminal sends it.
    pub(crate) fn signal_group(&self, name: &str) {
        signal(name, &format!("-{}", self.pid));
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("it has ended already");
        let (tell, told) = channel();
        thread::spawn(move || tell.send(child.wait()));
        match told.recv_timeout(LIMIT) {
            Ok(status) => status.unwrap(),
            Err(_) => {
                signal("KILL", &self.pid.to_string());
                panic!("it did not end within {LIMIT:?}");
            }
        }
    }

    /// Waits until nobody is left who could write to its standard error: itself and all its children. What was said.
    pub(crate) fn all_ended(&self) -> Vec<String> {
        let mut said = Vec::new();
        loop {
            match self.stderr.recv_timeout(LIMIT) {
                Ok(line) => said.push(line),
                Err(RecvTimeoutError::Disconnected) => return said,
                Err(RecvTimeoutError::Timeout) => panic!("a child outlived it; so far it said: {said:#?}"),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        signal("TERM", &self.pid.to_string());
        let (tell, told) = channel();
        thread::spawn(move || tell.send(child.wait()));
        if told.recv_timeout(LIMIT).is_err() {
            signal("KILL", &self.pid.to_string());
        }
    }
}

/// Sends a signal by name; whom nobody has is not told.
pub(crate) fn signal(name: &str, to: &str) {
    drop(Command::new("kill").args([&format!("-{name}"), "--", to]).stderr(Stdio::null()).status());
}

/// A running sandbox and its control API.
pub(crate) struct Sandbox {
    pub(crate) running: Running,
    pub(crate) temporary: TempDir,
    /// What it said of itself.
    pub(crate) told: Value,
    http: Client,
}

impl Sandbox {
    pub(crate) fn start() -> Self {
        Self::start_with(&[], TempDir::new().unwrap())
    }

    pub(crate) fn start_with(more: &[&str], temporary: TempDir) -> Self {
        Self::start_at("127.0.0.1:0", more, temporary)
    }

    pub(crate) fn start_at(listen: &str, more: &[&str], temporary: TempDir) -> Self {
        let args: Vec<_> = ["sandbox", "--listen", listen, "--json"].iter().chain(more).copied().collect();
        let mut running = Running::start(&args, &temporary);
        let line = running.line();
        let told = serde_json::from_str(&line).unwrap_or_else(|_| {
            running.ended();
            panic!("this is not the sandbox's line: {line:?}; it said: {:#?}", running.all_ended())
        });
        let http = Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(LIMIT).build().unwrap();
        Self { running, temporary, told, http }
    }

    /// Where the page is.
    pub(crate) fn page(&self) -> &str {
        self.told["page"].as_str().unwrap()
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let mut request = self.http.request(method, format!("{}sandbox{path}", self.page()));
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        let answer: Value = response.json().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {answer}");
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Tickets, as the CRM counts them.
    pub(crate) async fn tickets(&self) -> Vec<Value> {
        self.get("/crm/tickets").await["tickets"].as_array().unwrap().clone()
    }

    /// The service's process number while it runs.
    pub(crate) async fn service_pid(&self) -> Option<u64> {
        self.get("/service").await["pid"].as_u64()
    }

    /// Looks again after each change the world announces, until it is so.
    pub(crate) async fn until(&self, what: &str, mut is_so: impl AsyncFnMut(&Self) -> bool) {
        let mut events = self.http.get(format!("{}sandbox/events", self.page())).send().await.unwrap();
        while !is_so(self).await {
            let next = tokio::time::timeout(LIMIT, events.chunk()).await;
            assert!(matches!(next, Ok(Ok(Some(_)))), "{what} did not come");
        }
    }

    /// Everything a chat's messages ever said, the texts since edited away too.
    pub(crate) async fn ever_said(&self, chat: i64) -> Vec<String> {
        let answer = self.get(&format!("/chats/{chat}/messages")).await;
        let messages = answer["messages"].as_array().unwrap();
        let by_bot = messages.iter().filter(|message| message["from"]["bot"] == json!(true));
        by_bot
            .flat_map(|message| {
                let edits = message["edits"].as_array().map(Vec::as_slice).unwrap_or_default();
                edits.iter().chain([message]).filter_map(|version| version["text"].as_str().map(ToOwned::to_owned))
            })
            .collect()
    }

    /// Asks it to stop; then nothing of it is left: no process, no file. It had nothing to complain about.
    pub(crate) fn stop(&mut self) {
        self.running.signal("TERM");
        self.stopped_well();
    }

    /// It ends by itself or was asked to: well, silently, wholly.
    pub(crate) fn stopped_well(&mut self) {
        let status = self.running.ended();
        let said = self.running.all_ended();
        assert!(status.success(), "it ended with {status}: {said:#?}");
        assert_eq!(said, Vec::<String>::new(), "it complained");
        assert_eq!(self.leftovers(), Vec::<String>::new(), "it left files behind");
    }

    /// What lies in its temporary folder.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.temporary.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Whether a signal ended it.
pub(crate) fn ended_by_signal(status: ExitStatus) -> bool {
    status.signal().is_some()
}
