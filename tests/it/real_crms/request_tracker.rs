//! Request Tracker 5.0.

use std::{path::Path, process::Command};

use super::{Bench, Real, Server, refusal, server::Recipe};
use crate::databases::{self, Kind};

fn start(folder: &Path, port: u16) -> Command {
    let mut command = Command::new("perl");
    command.args(["/usr/share/request-tracker5/libexec/rt-server", "--server", "Starman", "--workers", "3"]);
    command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    command.env("RT_SITE_CONFIG", folder.join("RT_SiteConfig.pm")).env("RT_SITE_CONFIG_DIR", folder.join("conf.d"));
    command.current_dir(folder);
    command
}

fn vars(server: &Server) -> Vec<(&'static str, String)> {
    vec![("queue", "Leads".to_owned()), ("key_field", server.seed.key_field.clone())]
}

const REQUEST_TRACKER: Real = Real {
    recipe: Recipe {
        name: "request-tracker",
        needs: &["/usr/share/request-tracker5/libexec/rt-server", "/usr/bin/starman", "/usr/sbin/rt-setup-database-5"],
        packages: "request-tracker5 rt5-db-sqlite rt5-standalone starman",
        script: "request_tracker.sh",
        reads: &["request_tracker_seed.pl"],
        database: "rt.sqlite",
        start,
        sign_of_life: "/REST/2.0/rt",
    },
    profile: "request-tracker",
    vars,
    secret: "token",
    wrong_field: ("key_field", "NoSuchField"),
    with_key: |token| {
        format!(
            "SELECT COUNT(*) FROM ObjectCustomFieldValues WHERE ObjectType = 'RT::Ticket' AND Disabled = 0 \
             AND Content = '{token}'"
        )
    },
    twins: "SELECT COUNT(*) FROM (SELECT Content FROM ObjectCustomFieldValues WHERE ObjectType = 'RT::Ticket' \
            AND Disabled = 0 GROUP BY Content HAVING COUNT(*) > 1)",
    tickets: "SELECT COUNT(*) FROM Tickets",
};

#[tokio::test]
async fn request_tracker_holds_one_ticket_whatever_happens() {
    databases::run(Kind::Sqlite, async |database| {
        let mut bench = Bench::start(&REQUEST_TRACKER, database).await;
        bench.all().await;
        let odd = |text: String| text.replace("ContentType = ", "Status = \"nosuch\"\nContentType = ");
        let said = refusal(&REQUEST_TRACKER, &bench.server, odd, &[]).await;
        assert!(said.contains("nosuch"), "{said}");
        super::dropped_key(&REQUEST_TRACKER, &bench.server, "key_field", "NoSuchField").await;
        bench
            .photo("SELECT COUNT(*) FROM Attachments WHERE Filename = 'photo_1.jpg' AND ContentType = 'image/jpeg'")
            .await;
        bench.end().await;
    })
    .await;
}
