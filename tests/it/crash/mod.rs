//! Die at every point where a process may die, start again on what was stored, and look into the CRM.
//!
//! A point is a moment before or after a commit or a call (`zayavka::points`). The happy path, from the tap on
//! «Отправить заявку» to the number in the client's chat, is run once to count its points; then once for each point,
//! dying there. After the restart the clock is moved until nothing is unfinished. What counts is read in the fake CRM
//! and in the client's chat, not in our own words.
//!
//! `ZAYAVKA_CRASH=long` runs every ordered pair on every promise and both databases, not only on the sample CI runs.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod bench;

use bench::{Bench, Life, Promise};

use crate::databases::Kind;

/// The happy path with a CRM that behaves.
const PLAIN: &[&str] = &[];

/// What else may go wrong in the same run: the answer lost after the ticket was made, or the request lost before.
const LOST_ANSWER: &[&str] = &[r#"{"on":"POST /tickets","do":"lose_answer"}"#];
const LOST_REQUEST: &[&str] = &[r#"{"on":"POST /tickets","do":"lose_request"}"#];
const ERROR_AFTER: &[&str] = &[r#"{"on":"POST /tickets","do":"error_after"}"#];

/// Dies at each point of the path once. Returns how many points there were.
async fn die_at_every_point(kind: Kind, promise: Promise, faults: &[&str]) -> usize {
    let bench = Bench::prepare(kind, promise).await;
    let points = bench.run(&[], faults).await.points;
    assert!(points >= 12, "a path of only {points} points is not the whole path");
    for point in 1..=points {
        let life = bench.run(&[point], faults).await;
        life.must_be_honest(&format!("{kind:?} {promise:?} {faults:?}, died at point {point} of {points}"));
    }
    bench.end().await;
    points
}

macro_rules! matrix {
    ($($name:ident: $promise:expr, $faults:expr;)*) => {
        mod sqlite {
            use super::*;
            $(#[tokio::test]
            async fn $name() {
                let points = die_at_every_point(Kind::Sqlite, $promise, $faults).await;
                println!("{:>40} {points:>3} points", stringify!($name));
            })*
        }
        mod postgres {
            use super::*;
            $(#[tokio::test]
            async fn $name() {
                let points = die_at_every_point(Kind::Postgres, $promise, $faults).await;
                println!("{:>40} {points:>3} points", stringify!($name));
            })*
        }
    };
}

matrix! {
    keyed_plain: Promise::Keyed, PLAIN;
    keyed_lost_answer: Promise::Keyed, LOST_ANSWER;
    keyed_lost_request: Promise::Keyed, LOST_REQUEST;
    keyed_error_after_creating: Promise::Keyed, ERROR_AFTER;
    searchable_plain: Promise::Searchable, PLAIN;
    searchable_lost_answer: Promise::Searchable, LOST_ANSWER;
    searchable_lost_request: Promise::Searchable, LOST_REQUEST;
    searchable_error_after_creating: Promise::Searchable, ERROR_AFTER;
    blind_plain: Promise::Blind, PLAIN;
    blind_lost_answer: Promise::Blind, LOST_ANSWER;
    blind_lost_request: Promise::Blind, LOST_REQUEST;
    blind_error_after_creating: Promise::Blind, ERROR_AFTER;
}

/// Dies at one point, and after the restart at another one, counted from the restart.
#[tokio::test]
async fn every_ordered_pair_of_points_on_the_happy_path() {
    let long = std::env::var("ZAYAVKA_CRASH").is_ok_and(|value| value == "long");
    let promises: &[Promise] =
        if long { &[Promise::Keyed, Promise::Searchable, Promise::Blind] } else { &[Promise::Searchable] };
    let kinds: &[Kind] = if long { &[Kind::Sqlite, Kind::Postgres] } else { &[Kind::Sqlite] };
    let mut pairs = 0;
    for (kind, promise) in kinds.iter().flat_map(|kind| promises.iter().map(move |promise| (*kind, *promise))) {
        let bench = Bench::prepare(kind, promise).await;
        let points = bench.run(&[], PLAIN).await.points;
        for first in 1..=points {
            for second in 1..=points {
                // CI takes every third pair, another third in each row.
                if !long && (first + second) % 3 != 0 {
                    continue;
                }
                let life = bench.run(&[first, second], PLAIN).await;
                life.must_be_honest(&format!(
                    "{kind:?} {promise:?}, died at point {first}, then at point {second} of the next life"
                ));
                pairs += 1;
                if life.deaths < 2 {
                    // The second life was shorter than that: later points are not reached either.
                    break;
                }
            }
        }
        bench.end().await;
        println!("{kind:?} {promise:?}: {points} points, {pairs} pairs so far");
    }
    println!("{pairs} pairs, and after each of them the client knows");
    assert!(pairs > 100);
}

/// The checker itself: it must notice a second ticket, a lost one and a lie.
#[test]
fn the_checker_bites() {
    let good = Life {
        promise: Promise::Searchable,
        points: 20,
        deaths: 1,
        tickets: 1,
        states: vec!["created".to_owned()],
        texts: vec!["Заявка № 1001 создана.".to_owned()],
        numbers: vec!["1001".to_owned()],
        unfinished: 0,
    };
    good.must_be_honest("good");
    for bad in [
        Life { tickets: 2, ..good.clone() },
        Life { tickets: 0, numbers: vec![], ..good.clone() },
        Life { unfinished: 1, ..good.clone() },
        Life { states: vec!["pending".to_owned()], ..good.clone() },
        Life { states: vec![], ..good.clone() },
        Life { texts: vec!["Отправляем заявку.".to_owned()], ..good.clone() },
        Life { texts: vec!["Отправляем заявку.".to_owned()], deaths: 2, ..good.clone() },
        Life { texts: vec!["Заявка № 1002 создана.".to_owned()], ..good.clone() },
    ] {
        let caught = std::panic::catch_unwind(|| bad.must_be_honest("bad"));
        assert!(caught.is_err(), "not noticed: {bad:?}");
    }
}
