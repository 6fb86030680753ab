//! Lines 1 to 3: updates at the route in this process, bytes in to committed, beside the fastest that the database takes
//! the same rows by.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes},
    http::Request,
};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use sea_orm::{ConnectionTrait as _, DbBackend, Statement, TransactionTrait as _, Value};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use tokio::task::JoinSet;
use zayavka::telegram::update;

use crate::{
    door::Door,
    load::{PATH, SECRET},
    measure::{in_turn, rate},
    mould::tap,
    place::{Database, Ground},
    report::{Line, Report},
};

/// Requests under way at once: enough to fill the writer's groups twice over.
const UNDER_WAY: usize = 512;

/// What one transaction of the raw baseline holds on SQLite: as much as one of the product's at most.
const GROUP: usize = 256;

/// Connections of the raw baseline on PostgreSQL.
const RAW_CLIENTS: usize = 4;

pub(crate) async fn sqlite(ground: &Ground, report: &mut Report, round: usize) {
    let taps = taps(ground.sizes.taps);
    let product = async || {
        let database = ground.sqlite();
        let app = ground.app(&database).await;
        let route = at_the_route(Door::new(app), &taps).await;
        let database = ground.sqlite();
        let app = ground.app(&database).await;
        let batches = batches(&app, &taps).await;
        (route, batches)
    };
    let baseline = async || {
        let mut took = Vec::new();
        for group in [GROUP, 100] {
            let database = migrated(ground, ground.sqlite()).await;
            let db = database.connect().await;
            let statements: Vec<_> = rows(&taps).chunks(group).map(|rows| insert(DbBackend::Sqlite, rows)).collect();
            let began = Instant::now();
            for statement in statements {
                let tx = db.begin().await.expect("a transaction");
                tx.execute_raw(statement).await.expect("rows are written");
                tx.commit().await.expect("a commit");
            }
            took.push(began.elapsed());
        }
        (took[0], took[1])
    };
    let ((at_route, in_batches), (raw, raw_batches)) = in_turn(round, product, baseline).await;
    let count = taps.len();
    for (line, ours, raw) in [(Line::RouteSqlite, at_route, raw), (Line::BatchSqlite, in_batches, raw_batches)] {
        let (ours, raw) = (rate(count, ours), rate(count, raw));
        report.add(round, line, ours / raw, &format!("{ours:.0} and {raw:.0} taps/s"));
    }
}

pub(crate) async fn postgres(ground: &Ground, report: &mut Report, round: usize) {
    let taps = taps(ground.sizes.taps);
    let product = async || {
        let app = ground.app(&ground.postgres().await).await;
        at_the_route(Door::new(app), &taps).await
    };
    let baseline = async || {
        let database = migrated(ground, ground.postgres().await).await;
        let statements: Vec<_> = rows(&taps).chunks(64).map(|rows| insert(DbBackend::Postgres, rows)).collect();
        let statements = Arc::new(Mutex::new(statements));
        let mut connections = Vec::new();
        for _ in 0..RAW_CLIENTS {
            connections.push(database.connect().await);
        }
        let began = Instant::now();
        let mut running = JoinSet::new();
        for db in connections {
            let statements = Arc::clone(&statements);
            let next = move || statements.lock().expect("no panic").pop();
            running.spawn(async move {
                while let Some(statement) = next() {
                    db.execute_raw(statement).await.expect("rows are written");
                }
            });
        }
        running.join_all().await;
        began.elapsed()
    };
    let (ours, raw) = in_turn(round, product, baseline).await;
    let (ours, raw) = (rate(taps.len(), ours), rate(taps.len(), raw));
    report.add(round, Line::RoutePostgres, ours / raw, &format!("{ours:.0} and {raw:.0} taps/s"));
}

/// Taps of many people on buttons that are not theirs to press: stored as any other.
pub(crate) fn taps(count: usize) -> Arc<Vec<String>> {
    let data = "s0197f0c4b2c87d7d9c1b2a3f4e5d6c7b.7.1";
    let number = |i: usize| i64::try_from(i).expect("a number");
    Arc::new((0..count).map(|i| tap(700_000_000 + number(i), 5_000_000 + number(i % 20_000), data)).collect())
}

async fn at_the_route(door: Door, taps: &Arc<Vec<String>>) -> Duration {
    let router = TowerToHyperService::new(door.router());
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..UNDER_WAY {
        let (router, next, taps) = (router.clone(), Arc::clone(&next), Arc::clone(taps));
        running.spawn(async move {
            while let Some(tap) = taps.get(next.fetch_add(1, Ordering::Relaxed)) {
                let request = Request::post(PATH)
                    .header("X-Telegram-Bot-Api-Secret-Token", SECRET)
                    .body(Body::from(Bytes::copy_from_slice(tap.as_bytes())))
                    .expect("a request");
                assert_eq!(router.call(request).await.expect("an answer").status(), 200);
            }
        });
    }
    running.join_all().await;
    began.elapsed()
}

/// Batches as `getUpdates` brings them: one after another, each stored before the next is asked for.
async fn batches(app: &zayavka::app::App, taps: &[String]) -> Duration {
    let answers: Vec<String> = taps.chunks(100).map(|batch| format!("[{}]", batch.join(","))).collect();
    let began = Instant::now();
    for answer in &answers {
        let updates: Vec<_> = update::list(answer).expect("a list").into_iter().flatten().collect();
        let count = updates.len();
        let fresh = app.inbox.accept(updates).await.expect("they are stored");
        assert_eq!((fresh.len(), count), (count, 100.min(taps.len())));
    }
    began.elapsed()
}

async fn migrated(ground: &Ground, database: Database) -> Database {
    ground.app(&database).await.store.close().await;
    database
}

/// The values that the product stores for the same updates.
fn rows(taps: &[String]) -> Vec<Vec<Value>> {
    let row = |tap: &String| {
        let update: Json = serde_json::from_str(tap).expect("an update");
        let payload = update.to_string();
        vec![
            1_000_000_001_i64.into(),
            update["update_id"].as_i64().into(),
            fingerprint(&payload).into(),
            payload.into(),
            update["callback_query"]["from"]["id"].as_i64().into(),
            "new".into(),
            1_i32.into(),
            1_796_030_992_000_i64.into(),
            1_796_030_962_000_i64.into(),
        ]
    };
    taps.iter().map(row).collect()
}

/// As spread as the product's own.
fn fingerprint(payload: &str) -> i64 {
    let hash = Sha256::digest(payload.as_bytes());
    i64::from_le_bytes(std::array::from_fn(|n| hash[n]))
}

/// One statement for all of them. Its text depends on their number alone, so that it is prepared once.
fn insert(backend: DbBackend, rows: &[Vec<Value>]) -> Statement {
    let place = |n: usize| if backend == DbBackend::Postgres { format!("${n}") } else { "?".to_owned() };
    let mut sql = String::from(
        "INSERT INTO inbox (bot_id, update_id, digest, payload, lane, state, attempts, lease_until, received_at) VALUES ",
    );
    let width = rows.first().map_or(0, Vec::len);
    for (n, _) in rows.iter().enumerate() {
        let places: Vec<_> = (1..=width).map(|column| place(n * width + column)).collect();
        sql.push_str(if n == 0 { "(" } else { ", (" });
        sql.push_str(&places.join(", "));
        sql.push(')');
    }
    Statement::from_sql_and_values(backend, sql, rows.iter().flatten().cloned())
}
