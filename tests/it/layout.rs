//! The house's plan, held by a test: which module may import which, which may touch the outside, and how long a
//! file may be. It reads the sources as text, so a wrong arrow is found before anything grows around it.

mod source;

use std::{error::Error, fs, path::Path};

use source::{Source, module_of};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Levels of the modules; a module may import those of lower levels, and no sibling.
const LEVELS: &[(&str, u8)] = &[
    ("clock", 0),
    ("ids", 0),
    ("metrics", 0),
    ("points", 0),
    ("telemetry", 0),
    ("domain", 1),
    ("config", 2),
    ("catalog", 3),
    ("crm", 4),
    ("store", 4),
    ("telegram", 4),
    ("dialog", 5),
    ("outbox", 5),
    ("staff", 5),
    ("worker", 5),
    ("inbox", 6),
    ("web", 7),
    ("app", 8),
    ("sandbox", 8),
    ("cli", 9),
];

/// The one sibling that may be imported: keys are made of a time and of chance, and both live in `clock`.
const SIBLINGS: &[(&str, &str)] = &[("ids", "clock")];

/// The outside world shares names and time with the service, nothing else: it must not believe what we believe.
const SANDBOX_IMPORTS: &[&str] = &["clock", "ids"];

/// All that the pure level may be built of.
const DOMAIN_IMPORTS: &[&str] = &["alloc", "core", "serde", "serde_json", "sha2", "std", "uuid"];

/// Doors to the outside, and the modules that may open them; the longest path that fits decides.
/// `"*"` means everybody. The domain may open none of them, not even these.
const DOORS: &[(&str, &[&str])] = &[
    ("axum", &["web", "sandbox"]),
    ("clap", &["cli"]),
    ("migration", &["store"]),
    ("reqwest", &["crm", "telegram", "sandbox"]),
    // An address is only a checked string.
    ("reqwest::Url", &["*"]),
    ("sea_orm", &["store"]),
    ("teloxide", &["telegram", "inbox"]),
    ("std::env", &["config", "cli", "main"]),
    ("std::fs", &["config", "cli"]),
    ("std::net::TcpListener", &["web", "sandbox"]),
    ("std::net::TcpStream", &[]),
    ("std::process", &["app", "cli", "main"]),
    ("std::thread", &["cli"]),
    ("tokio::fs", &[]),
    ("tokio::net", &["app", "web", "sandbox"]),
    ("tokio::process", &["cli"]),
    ("crate::clock::SystemClock", &["app", "cli", "sandbox"]),
    ("crate::clock::SystemDice", &["app", "cli", "sandbox"]),
];

/// What a pure module may not name although it is built of `std`.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "crate::clock::SystemClock",
    "crate::clock::SystemDice",
];

/// Production lines: a longer file has more than one job.
const LONGEST_FILE: usize = 400;

/// Everything wrong with these files, each line with its place.
fn violations(files: &[Source<'_>], externs: &[&str]) -> Vec<String> {
    let read: Vec<_> = files.iter().map(|file| (file, source::read(file, externs))).collect();
    let tests: Vec<String> = read
        .iter()
        .flat_map(|(file, read)| {
            let folder = folder_of(file.path);
            read.test_modules.iter().map(move |name| format!("{folder}/{name}"))
        })
        .collect();
    let is_test = |path: &str| {
        tests.iter().any(|test| path.strip_prefix(test).is_some_and(|rest| rest == ".rs" || rest.starts_with('/')))
    };
    let mut found = Vec::new();
    for (file, read) in read.iter().filter(|(file, _)| !is_test(file.path)) {
        if read.production_lines > LONGEST_FILE {
            let lines = read.production_lines;
            found.push(format!("{}:{lines}: {lines} production lines; at most {LONGEST_FILE}", file.path));
        }
        // The migrations are a package of their own, with no levels inside.
        if !file.path.starts_with("src/") {
            continue;
        }
        let ours = owner(file.path);
        if ours != "main" && level(&ours).is_none() {
            found.push(format!("{}:1: `{ours}` has no level: give it one in the table of levels", file.path));
            continue;
        }
        let wrong = read.named.iter().filter_map(|named| {
            let words = forbidden(&ours, &named.segments)?;
            Some(format!("{}:{}: {words}", file.path, named.line))
        });
        found.extend(wrong);
    }
    // One line that names a module twice is one thing to mend.
    found.dedup();
    found
}

/// The top module a file belongs to; `main` for the two roots.
fn owner(path: &str) -> String {
    module_of(path).into_iter().next().unwrap_or_else(|| "main".to_owned())
}

/// The folder in which a file's child modules lie.
fn folder_of(path: &str) -> String {
    let stem = path.trim_end_matches(".rs");
    match stem.rsplit_once('/') {
        Some((folder, "mod" | "lib" | "main")) => folder.to_owned(),
        _ => stem.to_owned(),
    }
}

fn level(module: &str) -> Option<u8> {
    LEVELS.iter().find(|(name, _)| *name == module).map(|(_, level)| *level)
}

/// Why this module may not name this path.
fn forbidden(ours: &str, segments: &[String]) -> Option<String> {
    let path = segments.join("::");
    match segments {
        [first, rest @ ..] if first == "crate" => match rest.first().map(String::as_str) {
            None | Some("*") => return Some(format!("`{ours}` imports the whole crate")),
            Some(theirs) => {
                if let Some(words) = wrong_arrow(ours, theirs) {
                    return Some(words);
                }
            }
        },
        _ => {}
    }
    if ours == "domain" {
        let outside = segments.first().is_some_and(|first| first != "crate" && !DOMAIN_IMPORTS.contains(&&**first));
        let impure = IMPURE.iter().any(|door| begins_with(&path, door));
        return (outside || impure).then(|| format!("`domain` is pure and may not name `{path}`"));
    }
    let (door, allowed) =
        DOORS.iter().filter(|(door, _)| begins_with(&path, door)).max_by_key(|(door, _)| door.len())?;
    let open = allowed.contains(&"*") || allowed.contains(&ours) || ours == "clock" && door.contains("clock");
    (!open).then(|| format!("`{ours}` may not open the door `{door}` (`{path}`); {} may", list(allowed)))
}

fn wrong_arrow(ours: &str, theirs: &str) -> Option<String> {
    if ours == theirs {
        return None;
    }
    if ours == "main" {
        return (theirs != "cli").then(|| format!("the root only chooses a command, it may not import `{theirs}`"));
    }
    if ours == "sandbox" {
        let words = || format!("`sandbox` imports nothing of ours but {}, not `{theirs}`", list(SANDBOX_IMPORTS));
        return (!SANDBOX_IMPORTS.contains(&theirs)).then(words);
    }
    let (Some(from), Some(to)) = (level(ours), level(theirs)) else {
        return Some(format!("`{theirs}` has no level: give it one in the table of levels"));
    };
    let allowed = to < from || SIBLINGS.contains(&(ours, theirs));
    (!allowed).then(|| {
        let why =
            if to == from { "siblings never import each other" } else { "a lower level never imports a higher one" };
        format!("`{ours}` (level {from}) may not import `{theirs}` (level {to}): {why}")
    })
}

fn begins_with(path: &str, door: &str) -> bool {
    path.strip_prefix(door).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
}

/// Names of the packages that the manifest lists, as code writes them, and the standard ones.
fn externs() -> Result<Vec<String>, Box<dyn Error>> {
    let manifest: toml::Table = fs::read_to_string(Path::new(ROOT).join("Cargo.toml"))?.parse()?;
    let dependencies = manifest["dependencies"].as_table().ok_or("no table of dependencies")?;
    let listed = dependencies.keys().map(|name| name.replace('-', "_"));
    Ok(listed.chain(["std", "core", "alloc"].map(str::to_owned)).collect())
}

/// Every Rust file under a folder, by its path from the package's root.
fn sources(folder: &str) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let (mut found, mut folders) = (Vec::new(), vec![Path::new(ROOT).join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(ROOT)?.to_string_lossy().replace('\\', "/");
                found.push((name, fs::read_to_string(&path)?));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[test]
fn every_arrow_goes_down_and_every_file_is_short() -> Result<(), Box<dyn Error>> {
    let externs = externs()?;
    let externs: Vec<&str> = externs.iter().map(String::as_str).collect();
    let files = [sources("src")?, sources("migration/src")?].concat();
    let files: Vec<_> = files.iter().map(|(path, text)| Source { path, text }).collect();
    assert!(files.len() > 100, "only {} files were found: is this the right folder?", files.len());
    let found = violations(&files, &externs);
    assert!(found.is_empty(), "{} violation(s) of the layout:\n{}", found.len(), found.join("\n"));
    Ok(())
}

/// The test of the test: each bad sample must be found, on its line, and nothing else.
mod bites {
    use super::*;

    const EXTERNS: &[&str] = &["std", "tokio", "sea_orm", "reqwest", "serde"];

    fn found(path: &str, text: &str) -> Vec<String> {
        violations(&[Source { path, text }], EXTERNS)
    }

    fn bad(path: &str, text: &str, line: usize, words: &str) {
        let found = found(path, text);
        assert_eq!(found.len(), 1, "one violation in:\n{text}\nfound: {found:#?}");
        assert!(found[0].starts_with(&format!("{path}:{line}: ")) && found[0].contains(words), "{found:?}");
    }

    fn good(path: &str, text: &str) {
        assert_eq!(found(path, text), Vec::<String>::new(), "nothing is wrong with:\n{text}");
    }

    #[test]
    fn an_arrow_up_however_it_is_written() {
        for (line, text) in [
            (1, "use crate::worker::Worker;"),
            (2, "\nuse crate::{clock::Clock, worker::{self, Worker}};"),
            (2, "\npub(crate) use super::worker::Worker as Other;"),
            (3, "fn f() {\n\n    crate::worker::tick();\n}"),
            (2, "fn f()\n-> Result<(), crate::worker::Error> { todo() }"),
            (1, "type T = Vec<<super::worker::Worker as Tick>::Output>;"),
            (1, "use { std::fmt, crate::worker };"),
            (2, "mod inner {\n    use super::super::worker::Worker;\n}"),
            (1, "use zayavka::worker::*;"),
        ] {
            bad("src/store/mod.rs", text, line, "`store` (level 4) may not import `worker` (level 5)");
        }
    }

    #[test]
    fn siblings_that_import_each_other() {
        bad("src/crm/mod.rs", "use crate::store::Store;", 1, "siblings never import each other");
        bad("src/clock.rs", "use crate::ids::Key;", 1, "siblings never import each other");
        good("src/ids.rs", "use crate::clock::Timestamp;");
    }

    #[test]
    fn a_world_that_knows_the_service() {
        bad("src/sandbox/crm/mod.rs", "use crate::domain::phone::Phone;", 1, "`sandbox` imports nothing of ours");
        good("src/sandbox/crm/mod.rs", "use super::faults::Plan; use crate::{clock::Clock, ids::Key};");
    }

    #[test]
    fn a_root_that_does_more_than_choose() {
        bad("src/main.rs", "fn main() { zayavka::store::open() }", 1, "may not import `store`");
        good("src/main.rs", "fn main() { zayavka::cli::run() }");
    }

    #[test]
    fn a_domain_that_is_not_pure() {
        for path in ["tokio::spawn", "sea_orm::DbErr", "reqwest::Url", "std::fs::read", "std::env::var"] {
            bad("src/domain/form.rs", &format!("fn f() {{ {path}() }}"), 1, path);
        }
        bad("src/domain/form.rs", "use std::{fmt, time::{Duration, SystemTime}};", 1, "std::time::SystemTime");
        bad("src/domain/form.rs", "use crate::clock::SystemClock;", 1, "SystemClock");
        good("src/domain/form.rs", "use std::{fmt, time::Duration}; use crate::clock::Timestamp;");
    }

    #[test]
    fn a_door_opened_by_the_wrong_module() {
        bad("src/worker/mod.rs", "use sea_orm::DbErr;", 1, "may not open the door `sea_orm`");
        bad("src/worker/mod.rs", "use reqwest::Client;", 1, "may not open the door `reqwest`");
        bad("src/catalog/forms.rs", "use std::fs;", 1, "may not open the door `std::fs`");
        good("src/worker/mod.rs", "use reqwest::Url;");
    }

    #[test]
    fn the_whole_crate_and_a_module_without_a_level() {
        bad("src/store/mod.rs", "use crate::*;", 1, "imports the whole crate");
        bad("src/store/mod.rs", "use super::*;", 1, "imports the whole crate");
        bad("src/store/mod.rs", "use crate::helpers::x;", 1, "`helpers` has no level");
        bad("src/helpers/mod.rs", "use crate::store::x;", 1, "`helpers` has no level");
    }

    #[test]
    fn a_file_that_is_too_long() {
        let long = "// a line\n".repeat(401);
        bad("src/domain/form.rs", &long, 401, "401 production lines");
        bad("migration/src/lib.rs", &long, 401, "401 production lines");
        let tests = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "// a line\n".repeat(400), long);
        good("src/domain/form.rs", &tests);
        bad("src/domain/form.rs", &format!("{tests}fn after_the_tests() {{}}\n"), 401, "401 production lines");
    }

    #[test]
    fn words_comments_and_tests_are_no_imports() {
        good("src/store/mod.rs", "//! [`crate::worker`]\n/* use crate::worker; /* crate::worker::x */ */");
        good(
            "src/store/mod.rs",
            r####"const A: &str = "use crate::worker::x;"; const B: &str = r#"" crate::worker::x"#;"####,
        );
        good("src/store/mod.rs", "const Q: char = '\"'; const L: &'static str = \"'\"; const E: char = '\\'';");
        good("src/store/mod.rs", "#[cfg(test)]\nmod tests {\n use crate::worker::{A, B};\n fn f() { \"}\"; }\n}");
        good(
            "src/store/mod.rs",
            "#[cfg(test)]\nuse crate::worker::{A, B};\n#[cfg(test)] fn f() { crate::worker::x() }",
        );
        bad("src/store/mod.rs", "#[cfg(test)]\nuse crate::worker::{A, B};\nuse crate::worker::C;", 3, "`worker`");
        bad("src/store/mod.rs", "const Q: char = '\"'; use crate::worker::C; const P: char = '\"';", 1, "`worker`");
    }

    #[test]
    fn a_file_that_only_tests_see_is_left_alone() {
        let parent = Source { path: "src/store/slots.rs", text: "#[cfg(test)]\nmod tests;" };
        let child = Source { path: "src/store/slots/tests.rs", text: "use crate::worker::x;" };
        let grandchild = Source { path: "src/store/slots/tests/more.rs", text: "use crate::worker::x;" };
        let namesake = Source { path: "src/store/tests.rs", text: "use crate::worker::x;" };
        let found = violations(&[parent, child, grandchild, namesake], EXTERNS);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("src/store/tests.rs:1:"), "{found:?}");
    }
}
