//! What a tap costs at the database: each statement is a trip, on SQLite to another thread and back, on PostgreSQL to the
//! server and back. The list is read line by line, so that none comes back unnoticed.

use std::{fs, path::Path};

use zayavka::inbox::Ended;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, SUBMIT, World},
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Verb and table of each statement.
fn trips(asked: &[String]) -> Vec<String> {
    let word = |text: &str| text.trim_matches(|c: char| !c.is_alphanumeric() && c != '_').to_owned();
    let trip = |sql: &String| {
        let mut words = sql.split_whitespace();
        let verb = words.next().unwrap_or_default().to_owned();
        let before = if verb == "SELECT" { "FROM" } else { "INTO" };
        let table = match verb.as_str() {
            "UPDATE" => words.next(),
            // What stands within is a question of its own.
            _ => {
                let mut depth = 0_i32;
                let mut last = "";
                let mut found = None;
                for next in words {
                    if last == before && depth == 0 {
                        found = Some(next);
                        break;
                    }
                    depth += next.matches('(').count() as i32 - next.matches(')').count() as i32;
                    last = next;
                }
                found
            }
        };
        format!("{verb} {}", word(table.unwrap_or_default()))
    };
    asked.iter().map(trip).collect()
}

on_both! {
    async fn a_tap_makes_few_trips_from_its_bytes_to_the_number_in_the_card(db: Database) {
        let mut world = World::new(db).await;
        // What the first ticket of an installation costs more.
        world.apply(BORIS).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let callback = world.press(ANNA, summary, SUBMIT).await;
        world.asked();
        let rows = world.take_in().await;
        let stored = trips(&world.asked());
        let row = rows.first().unwrap_or_else(|| panic!("no tap"));
        let Ended::Done(named) = world.app().inbox.handle(row).await else { panic!("the tap was not handled") };
        let confirmed = trips(&world.asked());
        for operation in named {
            world.app().worker.go_on(operation).await.unwrap_or_else(|error| panic!("{error}"));
        }
        let created = trips(&world.asked());
        let ready = world.app().outbox.queue.drain();
        assert_eq!(ready.len(), 1, "the card leaves with the commit that stores the number");
        for ready in ready {
            world.app().outbox.speak(ready).await;
        }
        let said = trips(&world.asked());
        assert_eq!(world.toast(&callback).await, "Принято, отправляем заявку.");
        assert_eq!(world.last_text(ANNA).await.lines().next(), Some("Заявка № 1002 создана."));
        assert_eq!(stored, ["INSERT inbox"]);
        assert_eq!(
            confirmed,
            [
                "UPDATE inbox",
                "INSERT people",
                "SELECT drafts",
                // Only where the form has places.
                "INSERT slots",
                "UPDATE slots",
                "UPDATE drafts",
                "INSERT operations",
                "INSERT attempts",
                "INSERT chats",
                "INSERT outbox",
                "INSERT journal",
            ]
        );
        assert_eq!(
            created,
            [
                "UPDATE operations",
                "INSERT journal",
                "UPDATE attempts",
                "INSERT chats",
                "SELECT outbox",
                "SELECT pace",
                "UPDATE outbox",
                "INSERT pace",
                "UPDATE chats",
            ]
        );
        assert_eq!(said, ["SELECT chats", "UPDATE outbox", "INSERT cards", "SELECT outbox", "UPDATE chats"]);
        world.finish().await;
    }
}

/// The texts in quotes of a line.
fn quoted(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

fn sources(folder: &Path, into: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap_or_else(|error| panic!("{error}")).path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            into.push((path.display().to_string(), text));
        }
    }
}

/// SQLite prepares a statement anew whenever a parameter is bound that a partial index asks for, and PostgreSQL uses no
/// such index for it: the word must stand in the statement's own text (`entity::is`).
#[test]
fn what_a_partial_index_asks_for_is_never_a_parameter() {
    let (mut steps, mut code) = (Vec::new(), Vec::new());
    sources(&Path::new(ROOT).join("migration/src"), &mut steps);
    sources(&Path::new(ROOT).join("src"), &mut code);
    let conditions: Vec<(String, String)> = steps
        .iter()
        .flat_map(|(_, text)| text.lines())
        .map(quoted)
        .filter(|texts| texts.len() == 4 && texts[3].contains('\''))
        .map(|texts| (texts[1].to_owned(), texts[3].split(' ').next().unwrap_or_default().to_owned()))
        .collect();
    assert!(conditions.len() >= 5, "{conditions:?}");
    let mut wrong = Vec::new();
    for (table, column) in conditions {
        let capital = column.chars().next().unwrap_or_default().to_uppercase().collect::<String>();
        let name = format!("{table}::Column::{capital}{}", column.get(1..).unwrap_or_default());
        for (path, text) in &code {
            let bound =
                |line: &&str| [".eq(", ".ne(", ".is_in("].iter().any(|by| line.contains(&format!("{name}{by}")));
            wrong.extend(text.lines().filter(bound).map(|line| format!("{path}: {}", line.trim())));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
