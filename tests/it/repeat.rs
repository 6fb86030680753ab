//! Everything twice: every update is delivered twice, every button is tapped twice, every tick comes twice, the CRM
//! carries the call out and its answer is lost in each way there is, and Telegram's answers are lost too. One form is one
//! ticket all the same.

use std::time::Duration;

use serde_json::json;
use zayavka::domain::outcome::Promise;

use crate::{
    databases::on_all,
    world::{ANNA, SUBMIT, World},
};

/// What may become of the first call to the CRM, one loop each.
const CRM: [Option<&str>; 5] = [None, Some("lose_answer"), Some("half_answer"), Some("error_after"), Some("junk")];

/// What may become of the first call to Telegram that shows the card.
const TELEGRAM: [Option<&str>; 3] = [None, Some("lose_answer"), Some("half_answer")];

/// Taps the same button twice, turning twice after each.
async fn tap_twice(world: &mut World, label: &str) {
    let message = world.message_with(ANNA, label).await;
    world.press(ANNA, message, label).await;
    world.press(ANNA, message, label).await;
    world.settle().await;
    world.settle().await;
}

on_all! {
    async fn everything_comes_twice(db: Database, options: Options) {
        let blind = options.promise() == Promise::Blind;
        let mut world = World::with(db, options.places(1_000)).await;
        world.post("/telegram/options", json!({ "deliver_twice": true })).await;
        let mut expected = 0;
        for crm in CRM {
            for telegram in TELEGRAM {
                world.type_text(ANNA, "/new").await;
                world.type_text(ANNA, "Анна").await;
                world.share_contact(ANNA, "+79991234567").await;
                for label in ["Пропустить", "Налоги", "7 декабря, 11:00", "Даю согласие"] {
                    tap_twice(&mut world, label).await;
                }
                if let Some(what) = crm {
                    world.fault(json!({ "on": "POST /tickets", "do": what })).await;
                }
                if let Some(what) = telegram {
                    world.fault(json!({ "on": "sendMessage", "do": what })).await;
                }
                tap_twice(&mut world, SUBMIT).await;
                world.pass(Duration::from_secs(600)).await;
                expected += 1;
                assert_eq!(world.count().await, expected, "{crm:?}, {telegram:?}");
                let last = world.last_text(ANNA).await;
                if blind && crm.is_some() {
                    assert!(last.contains("на проверке у сотрудника"), "{crm:?}, {telegram:?}: {last}");
                    let number = 1_000 + expected;
                    let marker = world.marker(ANNA).await;
                    world.staff(&format!("/link {marker} {number} без проверки")).await;
                    // The decision repeated, as an impatient hand repeats it: nothing more comes of it.
                    world.staff(&format!("/link {marker} {number} без проверки")).await;
                    world.pass(Duration::from_secs(60)).await;
                }
                let last = world.last_text(ANNA).await;
                assert!(last.contains(&format!("№ {}", 1_000 + expected)), "{crm:?}, {telegram:?}: {last}");
                world.mend().await;
            }
        }
        world.finish().await;
    }
}
