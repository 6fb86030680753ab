//! Each error Telegram is known to give to the answer of a tap: the spinner's own business. The tap's deed stands, it is
//! answered once, and nobody is thought to be away for it.

use serde_json::{Value, json};
use zayavka::{ids::UserId, store::people};

use crate::{
    databases::{Kind, run},
    world::{BOT, World},
};

/// Every fault, as the world is told it.
fn faults() -> Vec<Value> {
    let refused = |code: u16, says: &str, parameters: Value| {
        let body = json!({ "ok": false, "error_code": code, "description": says, "parameters": parameters });
        json!({ "do": "error_before", "status": code, "body": body })
    };
    let too_old = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    vec![
        refused(400, too_old, json!({})),
        refused(400, "Bad Request: QUERY_ID_INVALID", json!({})),
        refused(400, "Bad Request: words nobody has seen yet", json!({})),
        refused(429, "Too Many Requests: retry after 40", json!({ "retry_after": 40 })),
        refused(401, "Unauthorized", json!({})),
        refused(403, "Forbidden: bot was blocked by the user", json!({})),
        refused(404, "Not Found", json!({})),
        refused(500, "Internal Server Error: restart", json!({})),
        json!({ "do": "error_before", "status": 502, "html": true }),
        json!({ "do": "half_answer" }),
        json!({ "do": "lose_answer" }),
        json!({ "do": "lose_request" }),
    ]
}

#[tokio::test]
async fn whatever_becomes_of_a_tap_s_answer_its_deed_stands_and_it_is_answered_once() {
    run(Kind::Sqlite, |db| async {
        let mut world = World::new(db).await;
        for (mut fault, user) in faults().into_iter().zip(30_000..) {
            world.type_text(user, "/start").await;
            world.type_text(user, "Анна").await;
            world.share_contact(user, "+79000000101").await;
            let (message, before) =
                (world.message_with(user, "Пропустить").await, world.calls("telegram", "answerCallbackQuery").await);
            fault["on"] = json!("answerCallbackQuery");
            world.fault(fault.clone()).await;
            let callback = world.press(user, message, "Пропустить").await;
            world.settle().await;
            world.pass(std::time::Duration::from_secs(120)).await;
            let calls = world.calls("telegram", "answerCallbackQuery").await;
            assert_eq!(calls.len(), before.len() + 1, "{fault}: {callback}");
            assert!(world.last_text(user).await.contains("Тема"), "{fault}: {}", world.last_text(user).await);
            let reachable = people::is_reachable(world.app().store.reader(), BOT, UserId(user)).await;
            assert_eq!(reachable.ok(), Some(true), "{fault}");
        }
        world.finish().await;
    })
    .await;
}
