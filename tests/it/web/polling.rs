//! Long polling as it really runs: what goes wrong at Telegram's side is told in readiness, tried again calmly, and holds
//! nobody back.

use reqwest::Method;
use serde_json::{Value, json};
use zayavka::inbox::poll::Poller;

use super::{
    bench::{ANNA, Bench, By},
    is_up,
};

fn message(update: i64, text: &str) -> Value {
    json!({ "update_id": update, "message": { "message_id": update, "date": 1, "text": text,
        "chat": { "id": ANNA, "type": "private" }, "from": { "id": ANNA, "is_bot": false, "first_name": "Анна" } } })
}

async fn polls(bench: &Bench) -> usize {
    let log = bench.sandbox(Method::GET, "/telegram/log", json!({})).await;
    log["calls"].as_array().unwrap().iter().filter(|call| call["method"] == "getUpdates").count()
}

#[tokio::test]
async fn pages_of_html_and_half_bodies_are_survived() {
    survives(&[
        json!({ "on": "getUpdates", "do": "error_before", "status": 502, "html": true }),
        json!({ "on": "getUpdates", "do": "half_answer" }),
        json!({ "on": "getUpdates", "do": "junk" }),
    ])
    .await;
}

#[tokio::test]
async fn lost_polls_and_answers_without_a_list_are_survived() {
    survives(&[
        json!({ "on": "getUpdates", "do": "lose_answer" }),
        json!({ "on": "getUpdates", "do": "error_before", "status": 200, "body": { "ok": true, "result": {} } }),
    ])
    .await;
}

/// The pauses between polls grow with each fault in a row, so that there are only a few of them.
async fn survives(faults: &[Value]) {
    let mut bench = Bench::new().await;
    for fault in faults {
        bench.sandbox(Method::POST, "/telegram/faults", fault.clone()).await;
    }
    bench.type_text("/start").await;
    bench.run(By::Polling).await;
    bench.said("Как к вам обращаться?").await;
    bench.until_ready(is_up).await;
    bench.type_text("Анна").await;
    bench.said("Отправить заявку").await;
}

#[tokio::test]
async fn an_element_that_is_no_update_and_kinds_from_the_future_hold_nobody_back() {
    let mut bench = Bench::new().await;
    let batch = json!([
        { "update_id": "seven" }, 5, null, { "message": {} },
        { "update_id": 70, "hologram": { "from": { "id": ANNA } } },
        { "update_id": 71, "message": { "message_id": 1, "chat": 5, "from": [] } },
        message(72, "/start"),
    ]);
    let answer =
        json!({ "on": "getUpdates", "do": "error_before", "status": 200, "body": { "ok": true, "result": batch } });
    bench.sandbox(Method::POST, "/telegram/faults", answer).await;
    bench.run(By::Polling).await;
    bench.said("Как к вам обращаться?").await;
    bench.until_ready(is_up).await;
}

#[tokio::test]
async fn a_server_that_never_gives_a_number_is_not_asked_in_a_hot_loop() {
    let mut bench = Bench::new().await;
    let answer = json!({ "ok": true, "result": [{ "message": {} }] });
    let fault = json!({ "on": "getUpdates", "do": "error_before", "status": 200, "body": answer, "times": 0 });
    bench.sandbox(Method::POST, "/telegram/faults", fault).await;
    bench.run(By::Polling).await;
    bench.until_ready(|status, reasons, _| status == 503 && reasons.iter().any(|why| why.contains("no number"))).await;
    // Readiness is asked every 20 ms here; a hot loop would have polled as often.
    assert!(polls(&bench).await <= 3, "{}", polls(&bench).await);
}

#[tokio::test]
async fn a_server_that_gives_one_batch_for_ever_is_not_asked_in_a_hot_loop() {
    let mut bench = Bench::new().await;
    let answer = json!({ "ok": true, "result": [message(72, "/start")] });
    let fault = json!({ "on": "getUpdates", "do": "error_before", "status": 200, "body": answer, "times": 0 });
    bench.sandbox(Method::POST, "/telegram/faults", fault).await;
    bench.run(By::Polling).await;
    bench.said("Как к вам обращаться?").await;
    // Each time readiness is asked, which takes less than the pause: a hot loop would have polled as often.
    let mut times: Vec<i64> = Vec::new();
    while times.len() < 3 {
        bench.until_ready(is_up).await;
        let log = bench.sandbox(Method::GET, "/telegram/log", json!({})).await;
        let polls = log["calls"].as_array().unwrap().iter().filter(|call| call["method"] == "getUpdates");
        times = polls.map(|call| call["at"].as_i64().unwrap()).collect();
    }
    // The first brought news, the second none.
    assert!(times[2] - times[1] >= 900, "{times:?}");
}

#[tokio::test]
async fn a_batch_too_long_to_be_read_is_asked_for_in_smaller_ones() {
    let bench = Bench::new().await;
    // 20 MB: more than is read of one answer.
    let mut update = message(1, &"х".repeat(250_000));
    update.as_object_mut().unwrap().remove("update_id");
    for _ in 0..40 {
        bench.sandbox(Method::POST, "/updates/raw", update.clone()).await;
    }
    let app = bench.build(By::Polling, "127.0.0.1:9".parse().unwrap()).await;
    let mut poller = Poller::default();
    let mut came = Vec::new();
    for _ in 0..5 {
        came.push(app.take_in(&mut poller).await.map(|rows| rows.len()));
    }
    let too_long = || Err("a poll broke off: the answer is too long".to_owned());
    assert_eq!(came, [too_long(), too_long(), Ok(25), Ok(15), Ok(0)]);
    let log = bench.sandbox(Method::GET, "/telegram/log", json!({})).await;
    let polls = log["calls"].as_array().unwrap().iter().filter(|call| call["method"] == "getUpdates");
    let limits: Vec<_> = polls.map(|call| call["params"]["limit"].to_string().replace('"', "")).collect();
    assert_eq!(limits, ["100", "50", "25", "25", "50"], "and for more again when nothing is left");
}

#[tokio::test]
async fn another_poller_is_explained_in_readiness_until_it_is_gone() {
    let bench = Bench::start(By::Polling).await;
    bench.until_ready(is_up).await;
    // Telegram gives the updates to whoever asked last, and tells the first one so.
    // Whose poll comes between the other's is told so instead: then it asks again.
    while bench.asked("getUpdates", json!({ "timeout": 0 })).await["ok"] != true {}
    bench
        .until_ready(|status, reasons, _| {
            status == 503 && reasons.iter().any(|why| why.contains("another process polls"))
        })
        .await;
    bench.type_text("/start").await;
    bench.said("Как к вам обращаться?").await;
    bench.until_ready(is_up).await;
}
