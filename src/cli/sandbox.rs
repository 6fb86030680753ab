//! `zayavka sandbox`: an outside world on loopback, and the real service against it as a child process.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use clap::{Args, ValueEnum};
use tokio::{
    process::{Child, Command},
    signal::unix::{SignalKind, signal},
};

use super::Exit;
use crate::sandbox::{BoxFuture, Listen, STAFF, ServiceControl, ServiceStatus, World, WorldOptions};

#[derive(Debug, Args)]
pub(super) struct SandboxArgs {
    /// Where the page listens; loopback only. Default: 127.0.0.1:8088, or a free port.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Only the outside world: the Bot API, the CRM and the page, for a service you start yourself.
    #[arg(long)]
    world_only: bool,
    /// What the CRM can promise.
    #[arg(long, value_enum, default_value_t = Kind::Searchable)]
    crm: Kind,
}

/// The sample form, with places enough for a whole afternoon of trying.
const FORM: &str = include_str!("../../templates/sandbox/consultation.toml");

/// Which of the generic profiles the sandbox's service uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// It refuses a repeat under the same key.
    Keyed,
    /// It can be searched by our key.
    Searchable,
    /// Neither: people settle what was lost.
    Blind,
}

pub(super) async fn run(args: &SandboxArgs, json: bool) -> Exit {
    match start(args, json).await {
        Ok(()) => Exit::Done,
        Err(words) => {
            eprintln!("{words}");
            Exit::Usage
        }
    }
}

async fn start(args: &SandboxArgs, json: bool) -> Result<(), String> {
    let folder = Folder::new()?;
    let service = if args.world_only { None } else { Some(Arc::new(Service::new(&folder)?)) };
    let world = World::start(WorldOptions {
        listen: args.listen.map_or(Listen::Default, Listen::Exact),
        service: service.clone().map(|service| service as Arc<dyn ServiceControl>),
        ..WorldOptions::default()
    })
    .await
    .map_err(|error| error.to_string())?;
    if let Some(service) = &service {
        let config = config(&world, args.crm, &folder.0);
        std::fs::write(&service.config, config)
            .map_err(|error| format!("the sandbox's configuration cannot be written: {error}"))?;
        let forms = folder.0.join("templates/forms");
        std::fs::create_dir_all(&forms)
            .and_then(|()| std::fs::write(forms.join("consultation.toml"), FORM))
            .map_err(|error| format!("the sandbox's form cannot be written: {error}"))?;
        service.start().await?;
    }
    announce(&world, args, json);
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    if let Some(service) = &service {
        service.stop().await;
    }
    world.stop().await;
    Ok(())
}

fn announce(world: &World, args: &SandboxArgs, json: bool) {
    if json {
        let line = serde_json::json!({
            "page": world.page_url(), "api_url": world.api_url(), "crm_base_url": world.crm_base_url(),
            "base_url": world.crm_base_url(), "token": world.token(), "crm_token": world.crm_token(),
            "staff_chat": world.staff_chat(),
        });
        println!("{line}");
        return;
    }
    println!("The sandbox is ready: {}", world.page_url());
    println!();
    if args.world_only {
        println!("  api_url  = \"{}\"   ([telegram])", world.api_url());
        println!("  token    = \"{}\"", world.token());
        println!("  base_url = \"{}\"   ([crm.vars])", world.crm_base_url());
        println!("  token    = \"{}\"   ([crm.secrets])", world.crm_token());
        println!("  chat     = {}   ([staff])", world.staff_chat());
    } else {
        println!("Open it in a browser and try:");
        println!("  1. Fill in the form as Анна: /start, then answer by typing and tapping.");
        println!("  2. Tap «Отправить заявку» twice, fast. One ticket. Tap it again later: the same number.");
        println!("  3. Switch on «потерять ответ CRM» and send another one. Still one ticket each.");
        println!("  4. Kill the process in the middle. It starts again on the same database and goes on.");
    }
    println!();
    println!("Nothing leaves this machine, and nothing is kept. Stop with Ctrl-C.");
}

/// A configuration like any operator's, with figures short enough to watch.
fn config(world: &World, kind: Kind, folder: &Path) -> String {
    let profile = match kind {
        Kind::Keyed => "generic-keyed",
        Kind::Searchable => "generic-searchable",
        Kind::Blind => "generic-blind",
    };
    let (owner, reviewer) = (STAFF[0], STAFF[1]);
    format!(
        r#"# The sandbox's own configuration; written anew at each start.
[telegram]
token = "{token}"
api_url = "{api}"
request_timeout = "4s"

[staff]
chat = {chat}
owners = [{owner}]
reviewers = [{reviewer}]

[database]
url = "sqlite://{database}"

[crm]
profile = "{profile}"
request_timeout = "3s"
lease = "6s"
[crm.vars]
base_url = "{crm}"
[crm.secrets]
token = "{crm_token}"
[crm.reconcile]
settle = "5s"
looks = 2
spacing = "2s"
look_patience = "20s"

[templates]
dir = "{folder}/templates"

[web]
listen = "127.0.0.1:0"

[limits]
open_drafts_per_client = 50
submissions_per_client_per_hour = 1000

[log]
filter = "warn"
"#,
        token = world.token(),
        api = world.api_url(),
        chat = world.staff_chat(),
        database = folder.join("zayavka.db").display(),
        crm = world.crm_base_url(),
        crm_token = world.crm_token(),
        folder = folder.display(),
    )
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("zayavka-sandbox-{}", std::process::id()));
        // A folder left by a process of the same number is an old world: a new one begins empty.
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The service as a child process that can be killed for good and started again on the same database.
struct Service {
    program: PathBuf,
    config: PathBuf,
    child: tokio::sync::Mutex<Option<Child>>,
    pid: Mutex<Option<u32>>,
    starts: AtomicU32,
}

impl Service {
    fn new(folder: &Folder) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("the program cannot find itself: {error}"))?;
        Ok(Self {
            program,
            config: folder.0.join("zayavka.toml"),
            child: tokio::sync::Mutex::default(),
            pid: Mutex::default(),
            starts: AtomicU32::new(0),
        })
    }

    fn set_pid(&self, pid: Option<u32>) {
        *self.pid.lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }

    /// Ends the child the polite way: its standard input ends, it drains.
    async fn stop(&self) {
        let Some(mut child) = self.child.lock().await.take() else { return };
        self.set_pid(None);
        drop(child.stdin.take());
        let limit = std::time::Duration::from_secs(10);
        if tokio::time::timeout(limit, child.wait()).await.is_err() {
            drop(child.kill().await);
        }
    }
}

impl ServiceControl for Service {
    fn kill(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let Some(mut child) = self.child.lock().await.take() else {
                return Err("the service is not running".to_owned());
            };
            self.set_pid(None);
            // SIGKILL: no handler runs, nothing is tidied up.
            child.kill().await.map_err(|error| format!("the service could not be killed: {error}"))
        })
    }

    fn start(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let mut slot = self.child.lock().await;
            if let Some(child) = slot.as_mut()
                && matches!(child.try_wait(), Ok(None))
            {
                return Err("the service is running already".to_owned());
            }
            let child = Command::new(&self.program)
                .args(["run", "--stop-with-parent", "--config"])
                .arg(&self.config)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .kill_on_drop(true)
                .spawn()
                .map_err(|error| format!("the service could not be started: {error}"))?;
            self.set_pid(child.id());
            *slot = Some(child);
            self.starts.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    }

    fn status(&self) -> ServiceStatus {
        let pid = *self.pid.lock().unwrap_or_else(PoisonError::into_inner);
        let restarts = self.starts.load(Ordering::SeqCst).saturating_sub(1);
        ServiceStatus { running: pid.is_some(), pid, restarts }
    }
}
