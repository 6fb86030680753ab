//! What is acknowledged is there, whatever the database does in between: a disk that fills up in the middle of traffic, a
//! process that is frozen in the middle of a transaction, two that stand in each other's way.

#![expect(clippy::unwrap_used, reason = "a test stops at its first surprise")]

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use sea_orm::{ConnectionTrait as _, EntityTrait as _};
use serde_json::json;
use tokio::sync::{Barrier, Notify};
use zayavka::{
    clock::Timestamp,
    ids::{BotId, UpdateId},
    store::{
        Store, StoreError,
        entity::inbox,
        inbox::{Arrival, Arrivals},
        settings,
    },
};

use crate::databases::{Database, Kind, on_both, run};

const NOW: Timestamp = Timestamp(1_796_030_962_000);

async fn prepared(db: &Database) -> Store {
    let store = Store::connect(&db.url).await.unwrap();
    store.migrate().await.unwrap();
    store
}

fn arrivals(numbers: impl IntoIterator<Item = i64>) -> Arrivals {
    let arrival = |number: i64| {
        let content = json!({ "update_id": number, "message": { "text": "x".repeat(2_000) } });
        Arrival::new(BotId(1), UpdateId(number), content.to_string(), number)
    };
    let lease_until = NOW.plus(Duration::from_secs(30));
    Arrivals { updates: numbers.into_iter().map(arrival).collect(), at: NOW, lease_until }
}

/// Stores an update, as the webhook does. Its number when it is acknowledged.
async fn bring(store: &Store, number: i64) -> Option<i64> {
    store.accept(arrivals([number])).await.ok().map(|_| number)
}

/// Stores something that is no update, as all else does.
async fn note(store: &Store, number: i64) -> Option<i64> {
    let name: &'static str = String::leak(format!("note.{number}"));
    let noted = store.write(move |tx| async move { settings::set(tx.as_ref(), name, &"x".repeat(2_000), NOW).await });
    noted.await.ok().map(|()| number)
}

/// What others see: through connections of their own.
async fn seen(url: &str) -> (BTreeSet<i64>, BTreeSet<i64>) {
    let other = Store::connect(url).await.unwrap();
    let updates = inbox::Entity::find().all(other.reader()).await.unwrap();
    let notes = zayavka::store::entity::settings::Entity::find().all(other.reader()).await.unwrap();
    other.close().await;
    let number = |name: &str| name.strip_prefix("note.").and_then(|number| number.parse().ok());
    (
        updates.into_iter().map(|row| row.update_id).collect(),
        notes.into_iter().filter_map(|row| number(&row.name)).collect(),
    )
}

#[tokio::test]
async fn a_disk_that_fills_up_in_the_middle_of_traffic_takes_nothing_acknowledged_with_it() {
    run(Kind::Sqlite, async |db: Database| {
        let store = prepared(&db).await;
        assert!(bring(&store, 1).await.is_some());
        // The file may grow by a few pages more: then it is for SQLite as if the disk were full.
        let limit = store.write(|tx| async move {
            let pages = tx.query_one_raw(sea_orm::Statement::from_string(
                sea_orm::DbBackend::Sqlite,
                "PRAGMA page_count".to_owned(),
            ));
            let pages: i64 = pages.await?.map_or(Ok(0), |row| row.try_get_by_index(0))?;
            tx.execute_unprepared(&format!("PRAGMA max_page_count = {}", pages + 40)).await?;
            Ok(())
        });
        limit.await.unwrap();
        let traffic = (2..400).map(async |number| {
            let store = &store;
            if number % 3 == 0 { (None, note(store, number).await) } else { (bring(store, number).await, None) }
        });
        let said: Vec<_> = join_all(traffic).await;
        let later = join_all((1_000..1_050).map(|number| bring(&store, number))).await;
        assert!(later.iter().all(Option::is_some), "there is room again: what comes is taken");
        let updates: BTreeSet<_> =
            said.iter().filter_map(|(update, _)| *update).chain(later.into_iter().flatten()).collect();
        let notes: BTreeSet<_> = said.iter().filter_map(|(_, note)| *note).collect();
        assert!(updates.len() + notes.len() < 448, "the disk was full for a while");
        let (stored, noted) = seen(&db.url).await;
        assert_eq!(updates.difference(&stored).collect::<Vec<_>>(), Vec::<&i64>::new(), "acknowledged and not there");
        assert_eq!(notes.difference(&noted).collect::<Vec<_>>(), Vec::<&i64>::new(), "acknowledged and not there");
        assert!(!store.is_stuck());
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_process_frozen_in_the_middle_of_a_transaction_holds_the_others_up_for_seconds() {
    run(Kind::Postgres, async |db: Database| {
        let (frozen, other) = (prepared(&db).await, Store::connect(&db.url).await.unwrap());
        let holds = Arc::new(Notify::new());
        let told = Arc::clone(&holds);
        let freeze = frozen.write(move |tx| {
            let told = Arc::clone(&told);
            async move {
                settings::set(tx.as_ref(), "both", "frozen", NOW).await?;
                told.notify_one();
                std::future::pending::<Result<(), StoreError>>().await
            }
        });
        let goes_on = async {
            holds.notified().await;
            other.write(|tx| async move { settings::set(tx.as_ref(), "both", "other", NOW).await }).await
        };
        let done = tokio::select! {
            _ = freeze => panic!("it is frozen"),
            done = tokio::time::timeout(Duration::from_secs(30), goes_on) => done,
        };
        done.expect("the server ends what stands still").unwrap();
        assert_eq!(settings::get(other.reader(), "both").await.unwrap().as_deref(), Some("other"));
        other.close().await;
    })
    .await;
}

/// Changes two rows in this order; the first time, both sides hold their first row before they go for the second.
async fn crosswise(store: &Store, rows: [&'static str; 2], met: Arc<Barrier>) -> Result<(), StoreError> {
    let first_time = Arc::new(AtomicBool::new(true));
    store
        .write(move |tx| {
            let (met, first_time) = (Arc::clone(&met), Arc::clone(&first_time));
            async move {
                settings::set(tx.as_ref(), rows[0], rows[0], NOW).await?;
                if first_time.swap(false, Ordering::Relaxed) {
                    met.wait().await;
                }
                settings::set(tx.as_ref(), rows[1], rows[0], NOW).await
            }
        })
        .await
}

#[tokio::test]
async fn of_two_in_each_others_way_both_get_through() {
    run(Kind::Postgres, async |db: Database| {
        let (one, two) = (prepared(&db).await, Store::connect(&db.url).await.unwrap());
        let met = Arc::new(Barrier::new(2));
        let (a, b) = tokio::join!(
            crosswise(&one, ["left", "right"], Arc::clone(&met)),
            crosswise(&two, ["right", "left"], Arc::clone(&met)),
        );
        a.unwrap();
        b.unwrap();
        one.close().await;
        two.close().await;
    })
    .await;
}

on_both! {
    /// Whoever brought an update handles the row that it was told: another one's would be marked done instead.
    async fn each_fresh_update_comes_back_with_its_own_row_among_repeats(db: Database) {
        let store = prepared(&db).await;
        let mut known = BTreeSet::new();
        // Parts of all sizes: new ones alone, repeats alone, repeats before, between and after new ones, one twice in a part.
        for (first, count, step) in [(1, 1, 1), (1, 1, 1), (1, 3, 1), (10, 100, 1), (5, 120, 7), (1, 256, 1), (200, 700, 3), (890, 9, 1), (0, 300, 5)] {
            let numbers: Vec<i64> = (0..count).map(|n| first + n * step).collect();
            let groups = numbers.chunks(90).map(|part| arrivals(part.iter().copied().chain(part.first().copied())));
            let stored = join_all(groups.map(|group| store.accept(group))).await;
            for fresh in stored.into_iter().flat_map(Result::unwrap) {
                let row = inbox::Entity::find_by_id(fresh.row).one(store.reader()).await.unwrap().unwrap();
                assert_eq!((row.update_id, row.payload), (fresh.update.0, Some(fresh.payload)));
                assert!(known.insert(fresh.update.0), "{} came back twice", fresh.update.0);
            }
            assert!(numbers.iter().all(|number| known.contains(number)), "all of {numbers:?} are stored");
        }
        let rows = inbox::Entity::find().all(store.reader()).await.unwrap();
        assert_eq!(rows.len(), known.len());
        store.close().await;
    }
}
