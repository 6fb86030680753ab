//! `zayavka sandbox`: an outside world on loopback, and the real service against it as a child process.

mod child;
mod folder;

use std::{net::SocketAddr, path::Path, sync::Arc};

use clap::{Args, ValueEnum};
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::{child::Service, folder::Folder};
use super::Exit;
use crate::sandbox::{CLIENTS, Listen, STAFF, ServiceControl, World, WorldOptions};

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

/// Runs until asked to stop; whichever way it ends, the child and the folder go with it.
async fn start(args: &SandboxArgs, json: bool) -> Result<(), String> {
    // First of all: from here on a signal finds someone who tidies up.
    let mut signals = Signals::new()?;
    let folder = Folder::new()?;
    let service =
        if args.world_only { None } else { Some(Arc::new(Service::new(folder.path().join("zayavka.toml"))?)) };
    let world = World::start(WorldOptions {
        listen: args.listen.map_or(Listen::Default, Listen::Exact),
        service: service.clone().map(|service| service as Arc<dyn ServiceControl>),
        open: args.world_only,
        ..WorldOptions::default()
    })
    .await
    .map_err(|error| error.to_string())?;
    if let Some(service) = &service {
        furnish(&world, args.crm, &folder, service)?;
        service.begin()?;
    }
    announce(&world, args, json);
    signals.next().await;
    let stopping = async {
        if let Some(service) = &service {
            service.stop().await;
        }
        world.stop().await;
    };
    tokio::select! {
        () = stopping => {}
        () = signals.next() => eprintln!("Stopped at once on the second signal."),
    }
    Ok(())
}

/// Writes what the service reads: its configuration and its form.
fn furnish(world: &World, crm: Kind, folder: &Folder, service: &Service) -> Result<(), String> {
    std::fs::write(service.config(), config(world, crm, folder.path()))
        .map_err(|error| format!("the sandbox's configuration cannot be written: {error}"))?;
    let forms = folder.path().join("templates/forms");
    std::fs::create_dir_all(&forms)
        .and_then(|()| std::fs::write(forms.join("consultation.toml"), FORM))
        .map_err(|error| format!("the sandbox's form cannot be written: {error}"))
}

/// What asks the sandbox to stop: SIGTERM, Ctrl-C, a terminal that closes.
struct Signals([Signal; 3]);

impl Signals {
    fn new() -> Result<Self, String> {
        let listen = |kind| signal(kind).map_err(|error| format!("signals cannot be listened for: {error}"));
        Ok(Self([listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?, listen(SignalKind::hangup())?]))
    }

    async fn next(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

fn announce(world: &World, args: &SandboxArgs, json: bool) {
    if json {
        let line = serde_json::json!({
            "page": world.page_url(), "api_url": world.api_url(), "crm_base_url": world.crm_base_url(),
            "base_url": world.crm_base_url(), "token": world.token(), "crm_token": world.crm_token(),
            "staff_chat": world.staff_chat(), "clients": CLIENTS, "owners": [STAFF[0]], "reviewers": [STAFF[1]],
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
