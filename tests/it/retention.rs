//! Retention with the clock in hand: what goes, what stays, and that a number outlives the answers.

use std::time::Duration;

use sea_orm::{
    ActiveValue::{NotSet, Set},
    ColumnTrait as _, EntityTrait as _, PaginatorTrait as _, QueryFilter as _,
};
use serde_json::json;
use zayavka::{
    clock::Clock as _,
    store::entity::{attempts, cards, cases, drafts, inbox, journal, operations, outbox, people},
};

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, BOT, OWNER, Options, STAFF, SUBMIT, World},
};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// How many rows a question finds.
macro_rules! count {
    ($world:expr, $table:ident $(, $condition:expr)*) => {{
        let rows = $table::Entity::find()$(.filter($condition))*;
        rows.count($world.app().store.reader()).await.unwrap_or_else(|error| panic!("{error}"))
    }};
}

/// An update's row that ended in the given state so long ago.
async fn put(world: &World, count: i64, state: &'static str, ago: Duration) {
    let at = world.clock.now().minus(ago).0;
    let row = move |n: i64| inbox::ActiveModel {
        id: NotSet,
        bot_id: Set(BOT.0),
        update_id: Set(-n),
        digest: Set(n),
        payload: Set((state == "shelved" || state == "new").then(|| "{\"update_id\":1}".to_owned())),
        lane: Set(0),
        state: Set(state.to_owned()),
        attempts: Set(3),
        lease_until: Set(0),
        error: Set(None),
        received_at: Set(at),
        done_at: Set((state != "new").then_some(at)),
    };
    let written = world.app().store.write(move |tx| async move {
        inbox::Entity::insert_many((1..=count).map(row)).exec(tx.as_ref()).await?;
        Ok(())
    });
    written.await.unwrap_or_else(|error| panic!("{error}"));
}

on_both! {
    async fn answers_go_early_and_the_number_stays_until_its_own_end(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        let summary = world.message_with(ANNA, SUBMIT).await;
        let shown = world.messages(ANNA).await.into_iter().find(|message| message.id == summary);
        let data = shown.map(|message| message.data(SUBMIT)).unwrap_or_default();
        let submit = json!({ "message_id": summary, "button": data, "raw": true });
        let tap = world.act(ANNA, "tap", submit.clone()).await["update_ids"][0].clone();
        world.settle().await;
        world.type_text(BORIS, "/start").await;
        world.type_text(BORIS, "Борис").await;
        let taps = inbox::Column::BotId.eq(BOT.0);
        let stored = count!(world, inbox, taps.clone());
        assert!(stored > 5);
        assert_eq!(count!(world, inbox, inbox::Column::Payload.is_not_null()), 0, "content goes with the handling");
        assert!(count!(world, outbox, outbox::Column::Notice.contains("Анна")) > 0);

        world.advance(3 * DAY - HOUR).await;
        assert!(count!(world, outbox, outbox::Column::Notice.contains("Анна")) > 0, "not yet");
        world.advance(2 * HOUR).await;
        assert_eq!(count!(world, outbox, outbox::Column::OperationId.is_null()), 0, "what was said goes after three days");
        assert!(count!(world, outbox, outbox::Column::OperationId.is_not_null()) > 0);
        assert_eq!(count!(world, inbox, taps.clone()), stored, "numbers stay, to know a repeat");
        world.post("/updates/redeliver", json!({ "update_id": tap })).await;
        world.settle().await;
        assert_eq!(count!(world, inbox, taps.clone()), stored, "a repeat is known");
        world.advance(5 * DAY).await;
        assert_eq!(count!(world, inbox, taps), 0, "after a week they go");

        world.advance(23 * DAY).await;
        let open = drafts::Column::UserId.eq(BORIS);
        let idle = drafts::Entity::find().filter(open.clone()).one(world.app().store.reader()).await;
        let idle = idle.unwrap_or_else(|error| panic!("{error}")).unwrap_or_else(|| panic!("it is closed, not gone"));
        assert_eq!((idle.state.as_str(), idle.answers.as_str()), ("cancelled", "{}"));
        world.advance(31 * DAY).await;
        assert_eq!(count!(world, drafts, open), 0);

        let order = operations::Column::TicketOrder.is_not_null();
        assert_eq!(count!(world, operations, order.clone()), 1);
        world.advance(30 * DAY).await;
        assert_eq!(count!(world, operations, order), 0, "answers go after ninety days");
        assert_eq!(count!(world, operations, operations::Column::ClientName.is_not_null()), 0);
        assert_eq!(count!(world, operations, operations::Column::Prepared.is_not_null()), 0);
        assert_eq!(count!(world, drafts, drafts::Column::Answers.ne("{}")), 0);
        assert_eq!(count!(world, people, people::Column::Name.ne("")), 0);
        assert_eq!(count!(world, outbox), 0);
        assert!(world.tap_as(ANNA, submit.clone()).await.contains("№ 1001"), "a repeat tap still finds its number");
        assert_eq!(world.count().await, 1);

        assert!(count!(world, journal) > 3);
        world.advance(275 * DAY).await;
        assert_eq!(count!(world, journal, journal::Column::Event.eq("confirmed")), 0);
        assert!(world.tap_as(ANNA, submit.clone()).await.contains("№ 1001"));

        world.advance(727 * DAY).await;
        assert!(world.tap_as(ANNA, submit.clone()).await.contains("№ 1001"), "up to its last day");
        world.advance(3 * DAY).await;
        assert_eq!(count!(world, operations) + count!(world, drafts) + count!(world, attempts), 0);
        assert_eq!(count!(world, cards) + count!(world, cases), 0);
        assert!(!world.tap_as(ANNA, submit).await.contains("1001"));
        assert_eq!(world.count().await, 1, "and makes nothing");
        world.finish().await;
    }

    async fn what_is_open_is_kept_however_old_it_is(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_request" })).await;
        world.submit(ANNA).await;
        world.pass(Duration::from_secs(120)).await;
        assert_eq!(world.state(ANNA).await, "review");
        let lines = count!(world, journal);
        put(&world, 1, "shelved", Duration::ZERO).await;
        world.advance(1_200 * DAY).await;
        assert_eq!(count!(world, operations, operations::Column::TicketOrder.is_not_null()), 1);
        assert!(count!(world, journal) >= lines);
        assert!(count!(world, people, people::Column::Name.ne("")) > 0, "staff must know who waits");
        let marker = world.marker(ANNA).await;
        world.act(OWNER, "text", json!({ "text": format!("/reject {marker} поздно"), "chat": STAFF })).await;
        world.settle().await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("rejected", 0));
        let words = world.said(ANNA).await.join("\n");
        assert!(words.contains("Анна"), "she may go on from her answers: {words}");
        world.finish().await;
    }

    async fn what_lies_on_the_shelf_loses_its_content_after_three_days(db: Database) {
        let mut world = World::with(db, Options::searchable().set("retention.updates", "30d")).await;
        put(&world, 1, "shelved", Duration::ZERO).await;
        let content = inbox::Column::Payload.is_not_null();
        world.advance(3 * DAY - HOUR).await;
        assert_eq!(count!(world, inbox, content.clone()), 1);
        world.advance(2 * HOUR).await;
        assert_eq!(count!(world, inbox, content), 0, "whatever `retention.updates` says");
        let row = world.staff("/shelf").await;
        let row: String = row.chars().take_while(char::is_ascii_digit).collect();
        assert!(world.staff(&format!("/replay {row}")).await.contains("нет"), "there is nothing to handle");
        world.finish().await;
    }

    async fn erasing_goes_in_small_chunks_and_one_process_does_it(db: Database) {
        let mut world = World::new(db).await;
        put(&world, 450, "done", 8 * DAY).await;
        let other = world.replica().await;
        // The first look of a start has been; the next comes with time.
        world.clock.advance(Duration::from_secs(601));
        let tick = async |app: &zayavka::app::App| app.retainer.tick().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(tick(world.app()).await, 200);
        assert_eq!(tick(&other.app).await, 0, "somebody else is at it");
        assert_eq!(tick(world.app()).await, 200);
        world.clock.advance(Duration::from_secs(61));
        assert_eq!(tick(&other.app).await, 50, "who does not come again loses the work to another");
        assert_eq!(count!(world, inbox), 0);
        assert_eq!(tick(world.app()).await, 0);
        world.finish().await;
    }
}
