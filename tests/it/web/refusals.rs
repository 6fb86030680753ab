//! Each error Telegram is known to give to what the service says of itself at its start, and what it means there.

use std::{sync::Arc, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};
use zayavka::{
    clock::SystemClock,
    config::Receive,
    web::{Receiving, Registration},
};

use super::{
    bench::{Bench, By},
    is_up,
};

/// A refusal in Telegram's own words.
fn refused(code: u16, says: &str, parameters: Value) -> Value {
    let body = json!({ "ok": false, "error_code": code, "description": says, "parameters": parameters });
    json!({ "do": "error_before", "status": code, "body": body })
}

#[tokio::test]
async fn what_each_error_of_setting_the_webhook_means() {
    let bench = Bench::new().await;
    let app = bench.build(By::Webhook, "127.0.0.1:9".parse().unwrap()).await;
    let Receive::Webhook(webhook) = app.config.telegram.receive.clone() else { panic!("a webhook") };
    let (token, address) = ("check telegram.token and telegram.api_url", "check telegram.webhook");
    let second = Duration::from_secs(1);
    for (mut fault, operator, hint, pause) in [
        (refused(400, "Bad Request: bad webhook: IP address 127.0.0.1 is reserved", json!({})), true, address, second),
        (refused(400, "Bad Request: bad webhook: HTTPS URL must be provided", json!({})), true, address, second),
        (refused(400, "Logged out", json!({})), true, token, second),
        (refused(401, "Unauthorized: invalid token specified", json!({})), true, token, second),
        (refused(404, "Not Found", json!({})), true, token, second),
        (refused(421, "Misdirected Request", json!({})), true, token, second),
        (refused(429, "Too Many Requests: retry after 7", json!({ "retry_after": 7 })), false, "429", 7 * second),
        (refused(429, "Too Many Requests", json!({})), false, "429", second),
        (refused(500, "Internal Server Error: restart", json!({})), false, "restart", second),
        (json!({ "do": "error_before", "status": 502, "html": true }), false, "HTTP 502", second),
        (json!({ "do": "half_answer" }), false, "could not be set", second),
        (json!({ "do": "lose_answer" }), false, "could not be set", second),
        (json!({ "do": "lose_request" }), false, "could not be set", second),
    ] {
        let receiving = Arc::new(Receiving::by_webhook(Arc::new(SystemClock)));
        let (telegram, clock) = (app.telegram.clone(), Arc::new(SystemClock));
        let mut registration = Registration::new(webhook.clone(), telegram, Arc::clone(&receiving), clock);
        fault["on"] = json!("setWebhook");
        bench.sandbox(Method::POST, "/telegram/faults", fault.clone()).await;
        assert_eq!(registration.step().await, pause, "{fault}");
        let reasons = receiving.verdict().reasons;
        // What waiting may mend is told beside what waiting is for.
        assert_eq!(reasons.len(), if operator { 1 } else { 2 }, "{fault}: {reasons:?}");
        assert!(reasons.last().is_some_and(|why| why.contains(hint)), "{fault}: {reasons:?}");
        // It is tried again all the same: whoever mends it need not restart anything.
        assert_eq!(registration.step().await, Duration::from_secs(60), "{fault}");
        assert_eq!(receiving.verdict().reasons, [""; 0], "{fault}");
    }
}

#[tokio::test]
async fn no_error_of_setting_a_menu_keeps_the_service_from_its_work() {
    for mut fault in [
        refused(400, "Bad Request: chat not found", json!({})),
        refused(400, "Bad Request: BOT_COMMAND_INVALID", json!({})),
        refused(403, "Forbidden: bot was blocked by the user", json!({})),
        refused(429, "Too Many Requests: retry after 40", json!({ "retry_after": 40 })),
        refused(500, "Internal Server Error: restart", json!({})),
        json!({ "do": "error_before", "status": 502, "html": true }),
        json!({ "do": "lose_request" }),
    ] {
        let mut bench = Bench::new().await;
        (fault["on"], fault["times"]) = (json!("setMyCommands"), json!(0));
        bench.sandbox(Method::POST, "/telegram/faults", fault.clone()).await;
        bench.run(By::Polling).await;
        bench.until_ready(is_up).await;
        bench
            .until("a menu", async || {
                let log = bench.sandbox(Method::GET, "/telegram/log", json!({})).await;
                log["calls"].as_array().unwrap().iter().any(|call| call["method"] == "setMyCommands").then_some(())
            })
            .await;
        bench.type_text("/start").await;
        bench.said("Как к вам обращаться?").await;
    }
}
