//! A clean stop: what is under way is finished within a limit, and nothing stays as if its call were still being made.

use std::time::Duration;

use sea_orm::{EntityTrait as _, QuerySelect as _};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;
use zayavka::{
    app::lifecycle::{self, Ending},
    store::entity::{operations, outbox},
};

use crate::{
    databases::{Database, on_both},
    world::{ANNA, Options, SUBMIT, World},
};

/// The service as `zayavka run` runs it.
struct Running {
    stop: CancellationToken,
    ending: JoinSet<Ending>,
}

async fn run(world: &mut World) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|error| panic!("{error}"));
    let (app, stop) = (world.take_app(), CancellationToken::new());
    let mut ending = JoinSet::new();
    ending.spawn(lifecycle::run_at(app, listener, stop.clone()));
    Running { stop, ending }
}

impl Running {
    async fn ends(mut self) -> Ending {
        match self.ending.join_next().await {
            Some(Ok(ending)) => ending,
            other => panic!("{other:?}"),
        }
    }
}

/// How many operations and messages stand as `sending`.
async fn sending(world: &World) -> usize {
    let reader = world.app().store.reader();
    let operations: Vec<String> = operations::Entity::find()
        .select_only()
        .column(operations::Column::State)
        .into_tuple()
        .all(reader)
        .await
        .unwrap();
    let messages: Vec<String> =
        outbox::Entity::find().select_only().column(outbox::Column::State).into_tuple().all(reader).await.unwrap();
    operations.iter().chain(&messages).filter(|state| *state == "sending").count()
}

async fn a_stop_while_something_is_held(db: Database, on: &str, server: &str, released: bool) {
    let mut world = World::with(db, Options::keyed().set("worker.drain", "1500ms")).await;
    world.fill_in(ANNA).await;
    let summary = world.message_with(ANNA, SUBMIT).await;
    world.fault(json!({ "on": on, "do": "hold" })).await;
    let method = if server == "crm" { "POST /tickets" } else { on };
    let before = world.calls(server, method).await.len();
    let running = run(&mut world).await;
    world.press(ANNA, summary, SUBMIT).await;
    world.until("the held call", async |world| world.calls(server, method).await.len() > before).await;
    running.stop.cancel();
    if released {
        world.post(&format!("/{server}/release"), json!({})).await;
    }
    let ending = running.ends().await;
    assert_eq!(ending, if released { Ending::Drained } else { Ending::CutShort });
    world.start().await;
    assert_eq!(sending(&world).await, 0, "nothing stays as if it were being sent");
    if released {
        assert!(world.last_text(ANNA).await.contains("№ 1001 создана"), "what was under way was finished");
    } else {
        world.post(&format!("/{server}/release"), json!({})).await;
    }
    world.pass(Duration::from_secs(600)).await;
    assert_eq!((world.state(ANNA).await, world.count().await), ("created", 1));
    assert!(world.last_text(ANNA).await.contains("№ 1001 создана"));
    world.finish().await;
}

on_both! {
    async fn a_message_under_way_is_finished(db: Database) {
        a_stop_while_something_is_held(db, "sendMessage", "telegram", true).await;
    }

    async fn a_message_that_is_not_answered_in_time_counts_as_unknown(db: Database) {
        a_stop_while_something_is_held(db, "sendMessage", "telegram", false).await;
    }

    async fn a_request_under_way_is_finished(db: Database) {
        a_stop_while_something_is_held(db, "POST /tickets", "crm", true).await;
    }

    async fn a_request_that_is_not_answered_in_time_counts_as_unknown(db: Database) {
        a_stop_while_something_is_held(db, "POST /tickets", "crm", false).await;
    }
}
