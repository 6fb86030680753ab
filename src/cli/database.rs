//! What an operator reads when the database cannot be used: which setting, where it is written, what to do.

use secrecy::ExposeSecret as _;

use crate::{
    config::{
        Config,
        problem::{Problem, Severity},
    },
    store::StoreError,
};

/// The database's trouble as one line, with the place of its setting and without its password.
pub(super) fn trouble(config: &Config, error: &StoreError) -> String {
    let url = config.database.url.expose_secret();
    let (file, line) = config.places.of("database.url");
    let what = format!("`database.url` {}: {error}", shown(url));
    let hint = advice(url, &error.to_string()).to_owned();
    Problem { severity: Severity::Error, file, line, column: None, what, hint }.to_string()
}

/// An address that is never made into a new database: only the service and `migrate up` make one, so that a slip in a path is
/// not taken for an empty queue.
pub(super) fn existing(url: &str) -> String {
    if url.starts_with("sqlite:") && !url.contains('?') { format!("{url}?mode=rw") } else { url.to_owned() }
}

/// An address without its password and its parameters, which may hold one too.
fn shown(url: &str) -> String {
    let url = url.split('?').next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    match rest.rsplit_once('@') {
        Some((who, rest)) => {
            let user = who.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}{}@{rest}", if who.contains(':') { ":…" } else { "" })
        }
        None => url.to_owned(),
    }
}

/// What to do, by what the database said.
fn advice(url: &str, said: &str) -> &'static str {
    let said = said.to_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    if says(&["readonly", "read-only", "code: 8)"]) {
        "nothing can be stored: give this user the right to write the database, for SQLite its file and its folder"
    } else if says(&["is not a database", "code: 26)"]) {
        "the file is something else: name another one, or move it away"
    } else if says(&["unable to open", "code: 14)"]) {
        "is the file there, and may this user write it and its folder? the service makes it at its first start; a relative \
         path is read from the folder the program runs in"
    } else if says(&["is full", "no space", "code: 13)"]) {
        "make room on its disk"
    } else if says(&["authentication", "role ", "password"]) {
        "check user and password, and that this user may use the database"
    } else if url.starts_with("postgres") {
        "does the server run, and are host, port and name right?"
    } else {
        "`zayavka migrate status` asks it again"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (url, seen) in [
            ("postgres://u:hunter2@db:5432/z", "postgres://u:…@db:5432/z"),
            ("postgres://u:p@hunter2@db/z?password=hunter2", "postgres://u:…@db/z"),
            ("postgres://u@db/z", "postgres://u@db/z"),
            ("sqlite://data/z.db?mode=rwc", "sqlite://data/z.db"),
            ("sqlite:z.db", "sqlite:z.db"),
        ] {
            assert_eq!(shown(url), seen);
        }
    }

    #[test]
    fn each_trouble_has_its_advice() {
        for (url, said, advised) in [
            (
                "sqlite://a/b",
                "error returned from database: (code: 14) unable to open database file",
                "is the file there",
            ),
            ("sqlite://a/b", "(code: 26) file is not a database", "something else"),
            ("sqlite://a/b", "(code: 8) attempt to write a readonly database", "right to write"),
            ("postgres://h/d", "cannot execute INSERT in a read-only transaction", "right to write"),
            ("postgres://h/d", "Connection refused (os error 111)", "does the server run"),
            ("postgres://h/d", "password authentication failed for user \"u\"", "user and password"),
        ] {
            assert!(advice(url, said).contains(advised), "{said}");
        }
    }
}
