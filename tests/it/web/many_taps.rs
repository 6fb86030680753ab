//! Somebody who taps again and again, as the service really runs.

use reqwest::Method;
use serde_json::json;

use super::{
    SUBMIT,
    bench::{Bench, By},
    is_up,
};

#[tokio::test]
async fn a_tap_is_answered_while_the_answer_to_the_last_one_hangs() {
    let mut bench = Bench::start(By::Webhook).await;
    bench.until_ready(is_up).await;
    bench.type_text("/start").await;
    bench.said("Как к вам обращаться?").await;
    bench.type_text("Анна").await;
    let summary = bench.said(SUBMIT).await;
    bench.sandbox(Method::POST, "/telegram/faults", json!({ "on": "answerCallbackQuery", "do": "hold" })).await;
    bench.tap(summary, SUBMIT).await;
    let again = bench.tap(summary, SUBMIT).await;
    bench.answers(&[&again]).await;
    // The first answer still waits; it has not been given up so that the second one could go.
    assert_eq!(bench.metric("zayavka_taps_total{answer=\"missed\"}").await, 0.0);
    bench.sandbox(Method::POST, "/telegram/release", json!({})).await;
    assert_eq!(bench.tickets().await, 1);
    bench.ended().await;
}
