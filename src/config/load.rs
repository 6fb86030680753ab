//! Reads a [`Config`] from a file with the environment over it; every mistake of both is reported at once.

mod secret;
mod staff;
mod telegram;

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use secrecy::{ExposeSecret as _, SecretString};
use secret::secret;

use super::{
    files,
    overlay::Overlay,
    places::Places,
    problem::Problems,
    reader::{Document, Section},
    settings::{Config, Crm, Database, Limits, Log, Notices, Reconcile, Retention, Templates, Web, Worker},
};
use crate::{
    domain::{
        delivery::OnUnknown,
        notice::Policies,
        operation::OnAbsent,
        pace::{Pace, Rule},
    },
    telemetry::Format,
};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// What to do where the configuration is not there.
const NO_CONFIGURATION: &str =
    "name it with --config, or make it: templates/config.toml of the source has every setting with what it means";

impl Config {
    /// Reads the file at `path` (none: defaults alone) with the variables in `env` over it.
    ///
    /// # Errors
    /// Everything that is wrong with the file and the variables, in reading order; warnings among it.
    pub fn load(path: Option<&Path>, env: &BTreeMap<String, String>) -> Result<Self, Problems> {
        sound(Self::read(path, env)?)
    }

    /// The same, mistakes among its warnings and defaults in their place: for a check that is to find all there is.
    ///
    /// # Errors
    /// What is wrong with a file that cannot be read or is not TOML: of what is missing there nothing can be said.
    pub fn read(path: Option<&Path>, env: &BTreeMap<String, String>) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let (name, text) = match path {
            None => ("configuration".to_owned(), String::new()),
            Some(path) => match files::read_or(path, NO_CONFIGURATION, &mut problems) {
                Some(text) => (path.display().to_string(), text),
                None => return Err(problems),
            },
        };
        parse(&name, &text, env)
    }

    /// The same from a text; `name` is what problems call it.
    ///
    /// # Errors
    /// Everything that is wrong with the text and the variables.
    pub fn parse(name: &str, text: &str, env: &BTreeMap<String, String>) -> Result<Self, Problems> {
        sound(parse(name, text, env)?)
    }
}

fn sound(config: Config) -> Result<Config, Problems> {
    if config.warnings.has_errors() { Err(config.warnings) } else { Ok(config) }
}

fn parse(name: &str, text: &str, env: &BTreeMap<String, String>) -> Result<Config, Problems> {
    let document = Document::with_overlay(name, text, Overlay::new(env));
    let config = read(&document);
    let (is_broken, places) = (document.is_broken(), document.places());
    let warnings = document.into_problems();
    if is_broken { Err(warnings) } else { Ok(Config { source: name.to_owned(), places, warnings, ..config }) }
}

fn read(document: &Document<'_>) -> Config {
    let root = document.root();
    // All sections first: a missing token must not hide a mistake in the last one.
    let telegram = telegram::read(&root);
    let (staff, database, crm) = (staff::staff(&root), database(&root), crm(&root));
    let (web, templates, worker) = (web(&root), templates(&root), worker(&root));
    let (notices, pace) = (notices(&root), pace(&root));
    let (limits, retention, log) = (limits(&root), retention(&root), log(&root));
    root.finish();
    let warnings = Problems::new();
    Config {
        source: String::new(),
        places: Places::default(),
        telegram,
        staff,
        database,
        crm,
        web,
        templates,
        worker,
        notices,
        pace,
        limits,
        retention,
        log,
        warnings,
    }
}

fn database(root: &Section<'_>) -> Database {
    let section = root.table_or_empty("database");
    let url = secret(&section, "url").unwrap_or_else(|| SecretString::from("sqlite://zayavka.db"));
    let known = ["sqlite:", "postgres://", "postgresql://"];
    if !known.iter().any(|scheme| url.expose_secret().starts_with(scheme)) {
        let hint = "sqlite://zayavka.db or postgres://user:password@host/db";
        section.error("url", "`database.url` is of no kind we know", hint);
    }
    let direct_url = secret(&section, "direct_url");
    if direct_url.as_ref().is_some_and(|url| !url.expose_secret().starts_with("postgres")) {
        let hint = "postgres://user:password@host/db, past the pooler that `database.url` goes through";
        section.error("direct_url", "`database.direct_url` is no PostgreSQL URL", hint);
    }
    let (pooler, wake_ups) = (section.bool("pooler"), section.bool("wake_ups").unwrap_or(true));
    section.finish();
    Database { url, pooler, direct_url, wake_ups }
}

fn crm(root: &Section<'_>) -> Crm {
    let section = root.table_or_empty("crm");
    let profile = section.string("profile").unwrap_or_else(|| "generic-keyed".to_owned());
    if profile.trim().is_empty() {
        section.error("profile", "`crm.profile` is empty", "a profile's name or path");
    }
    let request_timeout =
        section.duration("request_timeout", Duration::from_millis(100)..=300 * SECOND).unwrap_or(10 * SECOND);
    let connect_timeout = section.duration("connect_timeout", Duration::from_millis(50)..=3 * SECOND);
    let lease = section.duration("lease", Duration::from_millis(200)..=HOUR).unwrap_or(30 * SECOND);
    if lease <= request_timeout {
        section.error(
            if section.has("lease") { "lease" } else { "request_timeout" },
            "`crm.lease` must be longer than `crm.request_timeout`",
            "a sender must be able to finish within its lease",
        );
    }
    if connect_timeout.is_some_and(|connect| connect > request_timeout) {
        let hint = "connecting is part of the request";
        section.error("connect_timeout", "`crm.connect_timeout` is longer than `crm.request_timeout`", hint);
    }
    let vars_table = section.table_or_empty("vars");
    let vars = vars_table.items().into_iter().filter_map(|(key, item)| Some((key, item.plain()?))).collect();
    vars_table.finish();
    let secrets_table = section.table_or_empty("secrets");
    let secrets = secret::all(&secrets_table);
    secrets_table.finish();
    let reconcile = reconcile(&section);
    section.finish();
    let connect_timeout = connect_timeout.unwrap_or((3 * SECOND).min(request_timeout));
    Crm { profile, request_timeout, connect_timeout, lease, vars, secrets, reconcile }
}

fn reconcile(crm: &Section<'_>) -> Reconcile {
    let section = crm.table_or_empty("reconcile");
    let reconcile = Reconcile {
        settle: section.duration("settle", Duration::ZERO..=7 * DAY),
        looks: section.int("looks", 1..=100).and_then(|looks| u32::try_from(looks).ok()),
        spacing: section.duration("spacing", Duration::from_millis(10)..=DAY),
        on_absent: section.one_of("on_absent", &[("review", OnAbsent::Review), ("resend", OnAbsent::Resend)]),
        patience: section.duration("patience", Duration::from_secs(1)..=30 * DAY).unwrap_or(DAY),
        look_patience: section.duration("look_patience", Duration::from_secs(1)..=7 * DAY).unwrap_or(HOUR / 2),
        watch: section.duration("watch", Duration::from_secs(1)..=30 * DAY).unwrap_or(DAY),
    };
    section.finish();
    reconcile
}

fn web(root: &Section<'_>) -> Web {
    let section = root.table_or_empty("web");
    let mut listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
    if let Some(text) = section.string("listen") {
        match text.parse() {
            Ok(address) => listen = address,
            Err(_) => section.error("listen", format!("`web.listen` is no address: `{text}`"), "127.0.0.1:8080"),
        }
    }
    section.finish();
    Web { listen }
}

fn templates(root: &Section<'_>) -> Templates {
    let section = root.table_or_empty("templates");
    let dir = PathBuf::from(section.string("dir").unwrap_or_else(|| "templates".to_owned()));
    let language = section.string("language").unwrap_or_else(|| "ru".to_owned());
    if !((2..=3).contains(&language.len()) && language.chars().all(|c| c.is_ascii_lowercase())) {
        let hint = "two or three letters, as its file in templates/texts is called: \"ru\"";
        section.error("language", format!("`templates.language` is no language: `{language}`"), hint);
    }
    section.finish();
    Templates { dir, language }
}

fn worker(root: &Section<'_>) -> Worker {
    let section = root.table_or_empty("worker");
    let concurrency = section.int("concurrency", 1..=256).and_then(|n| u16::try_from(n).ok());
    let tick = section.duration("tick", Duration::from_millis(10)..=60 * SECOND);
    let drain = section.duration("drain", Duration::from_millis(100)..=600 * SECOND);
    section.finish();
    Worker { concurrency: concurrency.unwrap_or(8), tick: tick.unwrap_or(SECOND), drain: drain.unwrap_or(20 * SECOND) }
}

fn notices(root: &Section<'_>) -> Notices {
    let section = root.table_or_empty("notices");
    let words = [("repeat", OnUnknown::Repeat), ("review", OnUnknown::Review), ("drop", OnUnknown::Drop)];
    let on_unknown = Policies::by_kind(|kind| {
        let policy = section.one_of(kind.name(), &words).unwrap_or(kind.when_unknown());
        // A case about a message to staff would be one more message to staff, so nobody could decide.
        if policy == OnUnknown::Review && kind.is_to_staff() {
            let what = format!("`notices.{}` cannot be `review`: no case is made of a message to staff", kind.name());
            section.warning(kind.name(), what, "it is taken as `repeat`; write that, or `drop`");
            return OnUnknown::Repeat;
        }
        policy
    });
    let notices = Notices {
        on_unknown,
        tell_after: section.duration("tell_after", Duration::ZERO..=DAY).unwrap_or(Duration::from_secs(20)),
        pause: section.duration("pause", Duration::from_millis(100)..=HOUR),
    };
    section.finish();
    notices
}

fn pace(root: &Section<'_>) -> Pace {
    let section = root.table_or_empty("pace");
    let number =
        |key: &str, default: u32| section.int(key, 1..=1_000).and_then(|n| u32::try_from(n).ok()).unwrap_or(default);
    let (per_chat, burst) = (number("per_chat", 1), number("burst", 3));
    let pace = Pace {
        // So many at once, and no more in the time in which the pace alone would let as many go.
        chat: Rule { most: burst, within: SECOND * burst / per_chat },
        group: Rule { most: number("group", 20), within: MINUTE },
        overall: Rule { most: number("overall", 30), within: SECOND },
    };
    section.finish();
    pace
}

fn limits(root: &Section<'_>) -> Limits {
    let section = root.table_or_empty("limits");
    let number = |key: &str, most: i64, default: u32| {
        section.int(key, 1..=most).and_then(|n| u32::try_from(n).ok()).unwrap_or(default)
    };
    let limits = Limits {
        open_drafts_per_client: number("open_drafts_per_client", 100, 3),
        submissions_per_client_per_hour: number("submissions_per_client_per_hour", 100_000, 10),
    };
    section.finish();
    limits
}

fn retention(root: &Section<'_>) -> Retention {
    let section = root.table_or_empty("retention");
    let kept =
        |key: &str, least: Duration, default: u32| section.duration(key, least..=36_500 * DAY).unwrap_or(default * DAY);
    let retention = Retention {
        // Telegram brings an update again for up to 24 hours; forgotten earlier, it would count as new.
        updates: kept("updates", 2 * DAY, 3),
        drafts: kept("drafts", HOUR, 30),
        answers: kept("answers", HOUR, 90),
        operations: kept("operations", DAY, 1095),
        journal: kept("journal", HOUR, 365),
    };
    for (key, shorter) in [("answers", retention.answers), ("updates", retention.updates)] {
        if retention.operations < shorter {
            section.error(
                if section.has("operations") { "operations" } else { key },
                format!("`retention.operations` is shorter than `retention.{key}`"),
                "a repeated tap must still find its number: keep operations longest",
            );
        }
    }
    section.finish();
    retention
}

fn log(root: &Section<'_>) -> Log {
    let section = root.table_or_empty("log");
    let filter = section.string("filter").unwrap_or_else(|| "info".to_owned());
    if tracing_subscriber::EnvFilter::try_new(&filter).is_err() {
        section.error("filter", format!("`log.filter` cannot be read: `{filter}`"), "info, or zayavka=debug,info");
    }
    let format = section.one_of("format", &[("text", Format::Text), ("json", Format::Json)]);
    section.finish();
    Log { filter, format: format.unwrap_or_default() }
}

#[cfg(test)]
mod tests;
