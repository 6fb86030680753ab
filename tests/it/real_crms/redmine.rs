//! Redmine 5.0.

use std::{path::Path, process::Command};

use super::{Bench, Real, Server, refusal, server::Recipe};
use crate::databases::{self, Kind};

fn start(folder: &Path, port: u16) -> Command {
    let mut command = Command::new("puma");
    command.args(["-q", "-e", "production", "-t", "4:4", "-b", &format!("tcp://127.0.0.1:{port}"), "config.ru"]);
    command.current_dir(folder.join("app"));
    command.env("X_DEBIAN_SITEID", "zayavka").env("RAILS_ENV", "production");
    command
}

fn vars(server: &Server) -> Vec<(&'static str, String)> {
    vec![
        ("project", "leads".to_owned()),
        ("tracker_id", server.seed.tracker.clone()),
        ("key_field_id", server.seed.key_field.clone()),
    ]
}

const REDMINE: Real = Real {
    recipe: Recipe {
        name: "redmine",
        needs: &["/usr/share/redmine/config.ru", "/usr/bin/puma", "/usr/bin/rake"],
        packages: "redmine redmine-sqlite puma",
        script: "redmine.sh",
        reads: &["redmine_seed.rb"],
        database: "redmine.sqlite",
        start,
        sign_of_life: "/login",
    },
    profile: "redmine",
    vars,
    secret: "api_key",
    wrong_field: ("key_field_id", "999"),
    with_key: |token| {
        format!("SELECT COUNT(*) FROM custom_values WHERE customized_type = 'Issue' AND value = '{token}'")
    },
    twins: "SELECT COUNT(*) FROM (SELECT value FROM custom_values WHERE customized_type = 'Issue' AND value LIKE 'z%' \
            GROUP BY value HAVING COUNT(*) > 1)",
    tickets: "SELECT COUNT(*) FROM issues",
};

#[tokio::test]
async fn redmine_holds_one_ticket_whatever_happens() {
    databases::run(Kind::Sqlite, async |database| {
        let mut bench = Bench::start(&REDMINE, database).await;
        bench.all().await;
        let topic = bench.server.seed.topic_field.clone();
        let said = refusal(&REDMINE, &bench.server, |text| text, &[(&topic, "much too long")]).await;
        assert!(said.contains("Topic"), "{said}");
        super::dropped_key(&REDMINE, &bench.server, "key_field_id", "999").await;
        bench.photo("SELECT COUNT(*) FROM attachments WHERE container_type = 'Issue' AND filename = 'photo_1.jpg' AND filesize = 122880").await;
        bench.end().await;
    })
    .await;
}
