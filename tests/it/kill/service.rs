//! The real binary as a child process.

use std::{path::PathBuf, process::Stdio};

use tempfile::TempDir;
use tokio::process::{Child, Command};
use zayavka::sandbox::World;

pub struct Service {
    folder: TempDir,
    child: Option<Child>,
}

impl Service {
    pub fn new(world: &World, profile: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            r#"
[telegram]
token = "{}"
api_url = "{}"
request_timeout = "2s"
[staff]
chat = {}
owners = [9001]
[pace]
per_chat = 1000
burst = 1000
group = 1000
overall = 1000

[database]
url = "sqlite://{}"
[crm]
profile = "{profile}"
request_timeout = "1s"
lease = "2s"
[crm.vars]
base_url = "{}"
[crm.secrets]
token = "{}"
[crm.reconcile]
settle = "2s"
looks = 2
spacing = "300ms"
look_patience = "20s"
[limits]
open_drafts_per_client = 100
submissions_per_client_per_hour = 100000
[templates]
dir = "{}"
[web]
listen = "127.0.0.1:0"
[log]
filter = "error"
"#,
            world.token(),
            world.api_url(),
            world.staff_chat(),
            folder.path().join("zayavka.db").display(),
            world.crm_base_url(),
            world.crm_token(),
            folder.path().join("templates").display(),
        );
        std::fs::create_dir_all(folder.path().join("templates/forms")).unwrap();
        std::fs::write(folder.path().join("templates/forms/short.toml"), FORM).unwrap();
        std::fs::write(folder.path().join("zayavka.toml"), config).unwrap();
        Self { folder, child: None }
    }

    pub fn start(&mut self) {
        let child = Command::new(env!("CARGO_BIN_EXE_zayavka"))
            .args(["run", "--stop-with-parent", "--config"])
            .arg(self.folder.path().join("zayavka.toml"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// SIGKILL: no handler runs, nothing is tidied up.
    pub async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.unwrap();
        }
    }

    /// Leaves the folder where it is, for a look at what went wrong.
    pub fn keep(&mut self) -> PathBuf {
        self.folder.disable_cleanup(true);
        self.folder.path().to_owned()
    }

    pub async fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            child.wait().await.unwrap();
        }
    }
}

/// Two questions are enough: what is under test is the tap.
const FORM: &str = r#"
id = "short"
title = "Коротко"
intro = "Два вопроса."

[[field]]
id = "name"
kind = "text"
ask = "Как к вам обращаться?"

[[field]]
id = "topic"
kind = "choice"
ask = "Тема"
choices = [{ id = "a", label = "А" }, { id = "b", label = "Б" }]

[ticket]
subject = "{{ answers.name }}"
body = "{{ summary }}"
"#;
