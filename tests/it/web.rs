//! The HTTP surface over real HTTP: the webhook with Telegram's own behaviour, health, metrics, limits.

#![expect(clippy::unwrap_used, reason = "a test stops at its first surprise")]

mod bench;
mod many_taps;
mod polling;
mod refusals;

use std::{sync::Arc, time::Duration};

use bench::{ANNA, Bench, By, PATH, SECRET};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use zayavka::{
    app::lifecycle::Ending,
    clock::SystemClock,
    config::{Config, Receive},
    inbox::doubt::Doubt,
    web::{Receiving, Registration},
};

const SUBMIT: &str = "Отправить заявку";

fn is_up(status: StatusCode, _: &[String], _: &[String]) -> bool {
    status == StatusCode::OK
}

fn update(id: i64) -> String {
    json!({ "update_id": id, "message": { "message_id": id, "date": 1, "text": "/help",
        "chat": { "id": ANNA, "type": "private" }, "from": { "id": ANNA, "is_bot": false, "first_name": "Анна" } } })
    .to_string()
}

async fn updates(bench: &Bench) -> f64 {
    bench.metric("zayavka_updates_stored_total").await
}

#[tokio::test]
async fn by_webhook_two_taps_and_a_redelivery_make_one_ticket() {
    let mut bench = Bench::start(By::Webhook).await;
    bench.until_ready(is_up).await;
    let info = bench.bot("getWebhookInfo", json!({})).await;
    assert_eq!(info["url"], json!(bench.hook()));
    assert_eq!(info["allowed_updates"], json!(["message", "edited_message", "callback_query", "my_chat_member"]));

    bench.type_text("/start").await;
    bench.said("Как к вам обращаться?").await;
    bench.type_text("Анна").await;
    let summary = bench.said(SUBMIT).await;
    let (first, second) = (bench.tap(summary, SUBMIT).await, bench.tap(summary, SUBMIT).await);
    bench.answers(&[&first, &second]).await;
    assert_eq!(bench.tickets().await, 1);
    bench.said("№").await;

    let again = json!({ "update_id": first["update_ids"][0] });
    bench.sandbox(Method::POST, "/updates/redeliver", again).await;
    bench.until_brought().await;
    let late = bench.tap(summary, SUBMIT).await;
    assert!(bench.answers(&[&late]).await[0].contains('№'), "a tap after the end tells the number");
    assert_eq!(bench.tickets().await, 1);

    assert!(bench.metric("zayavka_crm_calls_total{outcome=\"created\"}").await >= 1.0);
    assert!(bench.metric("zayavka_tap_to_ticket_seconds_count").await >= 1.0);
    assert!(bench.metric("zayavka_taps_repeated_total").await >= 2.0);
    assert!(bench.metric("zayavka_updates_repeated_total").await >= 1.0);
    assert_eq!(bench.metric("zayavka_day_confirmed").await, 1.0);
    assert_eq!(bench.metric("zayavka_day_tickets").await, 1.0);
    assert!(bench.metric("zayavka_day_repeated_taps").await >= 2.0);
    assert_eq!(bench.metric("zayavka_day_unknown{settled=\"found\"}").await, 0.0);
    assert!(bench.metric("zayavka_day_tap_to_ticket_worst_milliseconds").await >= 0.0);
    assert_eq!(bench.metric("zayavka_operations{state=\"pending\"}").await, 0.0);
    assert_eq!(bench.metric("zayavka_ready").await, 1.0);

    assert_eq!(bench.ended().await, Ending::Drained);
    let info = bench.bot("getWebhookInfo", json!({})).await;
    assert_ne!(info["url"], "", "the webhook outlives the service: updates wait at Telegram");
}

#[tokio::test]
async fn what_waited_at_telegram_while_nobody_ran_is_brought_after_the_start() {
    let mut bench = Bench::new().await;
    bench.type_text("/start").await;
    bench.run(By::Webhook).await;
    bench.said("Как к вам обращаться?").await;
}

#[tokio::test]
async fn by_webhook_a_tap_that_waited_through_an_outage_counts_and_is_not_answered() {
    let mut bench = Bench::start(By::Webhook).await;
    bench.type_text("/start").await;
    bench.said("Как к вам обращаться?").await;
    bench.type_text("Анна").await;
    let summary = bench.said(SUBMIT).await;
    assert_eq!(bench.ended().await, Ending::Drained);
    // Two minutes ago, as far as anybody has left word: no tap is lost yet, and none can be answered any more.
    let app = bench.build(By::Webhook, "127.0.0.1:9".parse().unwrap()).await;
    let mark =
        (format!("receiving.proven:{}", app.config.telegram.bot_id), app.clock.now().minus(Duration::from_secs(120)));
    let marked = app.store.write(move |tx| {
        let mark = mark.clone();
        async move { zayavka::store::settings::set(tx.as_ref(), &mark.0, &mark.1.0.to_string(), mark.1).await }
    });
    marked.await.unwrap();
    app.store.clone().close().await;
    drop(app);
    let waited = bench.tap(summary, SUBMIT).await;
    bench.run(By::Webhook).await;
    assert_eq!(bench.tickets().await, 1);
    bench.said("№").await;
    let acks = bench.sandbox(Method::GET, "/acks", json!({})).await;
    let ack = acks["acks"].as_array().unwrap().iter().find(|ack| ack["callback_id"] == waited["callback_id"]);
    // An answer would have come before the call to the CRM.
    assert_eq!(ack.unwrap()["outcome"], "open", "nobody waits for it: {acks}");
}

/// What the service said to Telegram by this method, in order.
async fn said_to_telegram(bench: &Bench, method: &str) -> Vec<Value> {
    let log = bench.sandbox(Method::GET, "/telegram/log", json!({})).await;
    let calls = log["calls"].as_array().unwrap().iter().filter(|call| call["method"] == method);
    calls.map(|call| call["params"].clone()).collect()
}

#[tokio::test]
async fn what_waited_is_dropped_once_where_an_operator_asks_for_it() {
    for by in [By::Webhook, By::Polling] {
        let mut bench = Bench::new().await;
        for text in ["/start", "раз", "два"] {
            bench.type_text(text).await;
        }
        // A first contact that does not work drops nothing, so that it is asked for again.
        let method = if by == By::Webhook { "setWebhook" } else { "getUpdates" };
        let fault = json!({ "on": method, "do": "error_before", "status": 502, "html": true });
        bench.sandbox(Method::POST, "/telegram/faults", fault).await;
        bench.run_as(by, true).await;
        bench.until_ready(is_up).await;
        bench.type_text("/start").await;
        bench.said("Как к вам обращаться?").await;
        bench.type_text("Анна").await;
        bench.said(SUBMIT).await;
        let chat = bench.sandbox(Method::GET, &format!("/chats/{ANNA}/messages"), json!({})).await;
        let ours = chat["messages"].as_array().unwrap().iter().filter(|message| message["from"]["bot"] == true);
        assert_eq!(ours.count(), 2, "one answer to each that came later: {chat}");
        let said = said_to_telegram(&bench, method).await;
        let drops: Vec<_> = said
            .iter()
            .map(|params| {
                let params = params.to_string();
                params.contains("drop_pending_updates")
                    || params.contains("\"offset\":-1")
                    || params.contains("\"offset\":\"-1\"")
            })
            .collect();
        assert_eq!(&drops[..2], [true, true], "{said:?}");
        assert!(!drops[2..].contains(&true), "{said:?}");
        assert_eq!(bench.ended().await, Ending::Drained);
    }
}

#[test]
fn dropping_where_somebody_else_sets_the_webhook_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let config = r#"
[telegram]
token = "123456:TEST"
receive = "webhook"
[telegram.webhook]
url = "https://bot.example.ru/telegram"
secret_token = "s3cret"
register = false
[database]
url = "sqlite://none.db"
[crm]
profile = "generic-keyed"
[crm.vars]
base_url = "http://127.0.0.1:9100"
[crm.secrets]
token = "secret"
"#;
    std::fs::write(folder.path().join("zayavka.toml"), config).unwrap();
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_zayavka"))
        .args(["run", "--drop-pending-updates-once"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("telegram.webhook.register"), "{said}");
    assert!(!folder.path().join("none.db").exists(), "it never came so far");
}

#[tokio::test]
async fn only_the_right_secret_opens_and_nothing_else_is_read() {
    let bench = Bench::start(By::Webhook).await;
    let before = updates(&bench).await;
    let header = "X-Telegram-Bot-Api-Secret-Token";
    let post = || bench.http.post(bench.hook()).body(update(1));
    for (what, request) in [
        ("none", post()),
        ("an empty one", post().header(header, "")),
        ("a wrong one", post().header(header, "s3cret_for-testS")),
        ("the beginning", post().header(header, &SECRET[..5])),
        ("a longer one", post().header(header, format!("{SECRET}x"))),
        ("two", post().header(header, SECRET).header(header, "x")),
    ] {
        assert_eq!(request.send().await.unwrap().status(), 401, "{what}");
    }
    // Answered although its body never comes.
    let answer = raw(&bench, &format!("POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert_eq!(updates(&bench).await, before);
    assert!(bench.metric("zayavka_webhook_denied_total").await >= 7.0);
    assert_eq!(bench.bring(update(1)).await.status(), 200);
}

#[tokio::test]
async fn an_empty_secret_is_refused_when_the_configuration_is_read() {
    let bench = Bench::new().await;
    let without = bench.config(By::Webhook, "127.0.0.1:1".parse().unwrap(), SECRET);
    let without = without.replace(&format!("secret_token = \"{SECRET}\"\n"), "");
    let problems = Config::parse("zayavka.toml", &without, &std::collections::BTreeMap::new()).unwrap_err().to_string();
    assert!(problems.contains("`telegram.webhook.secret_token` is missing"), "{problems}");
    let text = bench.config(By::Webhook, "127.0.0.1:1".parse().unwrap(), "");
    let problems = Config::parse("zayavka.toml", &text, &std::collections::BTreeMap::new()).unwrap_err().to_string();
    assert!(problems.contains("secret_token"), "{problems}");
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_announced_or_not() {
    let bench = Bench::start(By::Webhook).await;
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Telegram-Bot-Api-Secret-Token: {SECRET}\r\n");
    let limit = 1024 * 1024;
    let announced = raw(&bench, &format!("{head}Content-Length: {}\r\n\r\n", limit + 1)).await;
    assert!(announced.starts_with("HTTP/1.1 413 "), "{announced}");
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n", limit + 1, " ".repeat(limit + 1));
    let found_out = raw(&bench, &chunked).await;
    assert!(found_out.starts_with("HTTP/1.1 413 "), "{found_out}");
    // As long as it may be, it is taken: JSON may be followed by blanks.
    let mut longest = update(2);
    longest.push_str(&" ".repeat(limit - longest.len()));
    assert_eq!(bench.bring(longest).await.status(), 200);
}

#[tokio::test]
async fn a_body_that_dawdles_is_given_up() {
    let bench = Bench::start(By::Webhook).await;
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Telegram-Bot-Api-Secret-Token: {SECRET}\r\n");
    let answer = raw(&bench, &format!("{head}Content-Length: 100\r\n\r\n{{")).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn what_is_no_update_is_acknowledged_and_holds_nobody_back() {
    let bench = Bench::start(By::Webhook).await;
    let before = bench.metric("zayavka_updates_poison_total").await;
    let bodies: [Vec<u8>; 7] = [
        b"".to_vec(),
        b"<html>".to_vec(),
        b"{\"update_id\": ".to_vec(),
        b"[1]".to_vec(),
        b"{\"message\": {}}".to_vec(),
        b"{\"update_id\": 1e40}".to_vec(),
        b"{\"update_id\": 1, \"x\": ".to_vec(),
    ];
    for body in bodies {
        let words = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let response = bench.bring(body).await;
        assert_eq!((response.status().as_u16(), response.text().await.unwrap()), (200, String::new()), "{words}");
    }
    assert!(bench.metric("zayavka_updates_poison_total").await >= before + 7.0);
    // What has a number is not lost, however little else can be read of it.
    let deep = format!("{{\"update_id\": 5, \"message\": {}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let half = r#"{"update_id": 6, "message": {"text": "\ud800"}}"#.to_owned();
    for body in [deep, half] {
        let stored = updates(&bench).await;
        assert_eq!(bench.bring(body).await.status(), 200);
        assert!(updates(&bench).await > stored);
    }
    // A kind that nobody knows yet is an update all the same.
    let stored = updates(&bench).await;
    assert_eq!(
        bench.bring(json!({ "update_id": 7, "hologram": { "from": { "id": 1 } } }).to_string()).await.status(),
        200
    );
    assert!(updates(&bench).await > stored);
}

#[tokio::test]
async fn an_update_brought_twice_at_once_is_stored_once_and_both_are_acknowledged() {
    let bench = Bench::start(By::Webhook).await;
    let before = bench.metric("zayavka_updates_repeated_total").await;
    let (one, two) = tokio::join!(bench.bring(update(40)), bench.bring(update(40)));
    assert_eq!((one.status(), two.status()), (StatusCode::OK, StatusCode::OK));
    assert!(bench.metric("zayavka_updates_repeated_total").await > before);
    bench.until_ready(is_up).await;
}

#[tokio::test]
async fn routes_and_methods_are_fixed() {
    let bench = Bench::start(By::Webhook).await;
    let hook = bench.http.get(bench.hook()).header("X-Telegram-Bot-Api-Secret-Token", SECRET).send().await.unwrap();
    assert_eq!(hook.status(), 405);
    for path in ["/", "/telegram", "/:telegram", "/:telegram/x", &format!("{PATH}/"), "/health", "/admin"] {
        assert_eq!(bench.get(path).await.status(), 404, "{path}");
    }
    assert!(bench.metric("zayavka_unknown_paths_total").await >= 7.0);
    let live = bench.get("/health/live").await;
    assert_eq!((live.status().as_u16(), live.text().await.unwrap().as_str()), (200, "alive\n"));
    let metrics = bench.get("/metrics").await;
    assert_eq!(metrics.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let post = bench.http.post(format!("http://{}/metrics", bench.at())).send().await.unwrap();
    assert_eq!(post.status(), 405);
}

#[tokio::test]
async fn by_polling_there_is_no_webhook_route() {
    let bench = Bench::start(By::Polling).await;
    assert_eq!(bench.bring(update(1)).await.status(), 404);
}

#[tokio::test]
async fn while_draining_telegram_is_told_to_come_again_and_what_is_under_way_is_finished() {
    let mut bench = Bench::start(By::Webhook).await;
    bench.until_ready(is_up).await;
    // The CRM holds a create call back: the drain has something to wait for.
    bench.sandbox(Method::POST, "/crm/faults", json!({ "on": "POST /tickets", "do": "hold" })).await;
    bench.type_text("/start").await;
    bench.said("Как к вам обращаться?").await;
    bench.type_text("Анна").await;
    let summary = bench.said(SUBMIT).await;
    bench.tap(summary, SUBMIT).await;
    bench
        .until("the held call", async || {
            let log = bench.sandbox(Method::GET, "/crm/log", json!({})).await;
            log["calls"].as_array().unwrap().iter().any(|call| call["method"] == "POST").then_some(())
        })
        .await;

    bench.drain();
    let put_off = bench.bring(update(99)).await;
    assert_eq!((put_off.status().as_u16(), &put_off.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    let (status, reasons, _) = bench.ready().await;
    assert_eq!(status, 503);
    assert!(reasons[0].contains("draining"), "{reasons:?}");
    assert_eq!(bench.get("/health/live").await.status(), 200, "it still turns");
    // What Telegram has meanwhile waits there.
    bench.type_text("ещё").await;

    bench.sandbox(Method::POST, "/crm/release", json!({})).await;
    assert_eq!(bench.ended().await, Ending::Drained);
    assert_eq!(bench.tickets().await, 1);
    let state = bench.sandbox(Method::GET, "/state", json!({})).await;
    assert_eq!(state["pending_updates"], 1);
}

#[tokio::test]
async fn a_webhook_that_telegram_refuses_at_first_is_set_again_until_it_stands() {
    let mut bench = Bench::new().await;
    let lost = json!({ "on": "setWebhook", "do": "error_before", "status": 502, "html": true, "times": 2 });
    bench.sandbox(Method::POST, "/telegram/faults", lost).await;
    bench.run(By::Webhook).await;
    bench
        .until_ready(|status, reasons, _| status == 503 && reasons.iter().any(|why| why.contains("could not be set")))
        .await;
    bench.until_ready(is_up).await;
    assert_eq!(bench.bot("getWebhookInfo", json!({})).await["url"], json!(bench.hook()));
}

#[tokio::test]
async fn a_webhook_nobody_set_is_told_in_readiness() {
    let bench = Bench::start(By::ForeignHand).await;
    bench.until_ready(|status, reasons, _| status == 503 && reasons[0].contains("no webhook is set")).await;
    assert_eq!(
        bench.bot("getWebhookInfo", json!({})).await["url"],
        "",
        "with register = false nobody but them sets it"
    );
}

#[tokio::test]
async fn a_stolen_webhook_is_told_until_it_is_ours_again() {
    let bench = Bench::new().await;
    let ours = "127.0.0.1:9".parse().unwrap();
    let app = bench.build(By::Webhook, ours).await;
    let Receive::Webhook(webhook) = app.config.telegram.receive.clone() else { panic!("a webhook") };
    let receiving = Arc::new(Receiving::by_webhook(Arc::new(SystemClock)));
    let clock = Arc::new(SystemClock);
    let mut registration = Registration::new(webhook, app.telegram.clone(), Arc::clone(&receiving), clock);
    let minute = Duration::from_secs(60);
    assert_eq!(registration.step().await, minute);
    assert_eq!(receiving.verdict().reasons, [""; 0]);

    bench.bot("setWebhook", json!({ "url": "http://127.0.0.1:10/secret-path" })).await;
    assert_eq!(registration.step().await, minute);
    let told = receiving.verdict().reasons;
    assert!(told[0].contains("points to another address (host 127.0.0.1)"), "{told:?}");
    assert!(!told[0].contains("secret-path"), "an address may be a secret of its own: {told:?}");
    let info = bench.bot("getWebhookInfo", json!({})).await;
    assert_eq!(info["url"], "http://127.0.0.1:10/secret-path", "two that set it back would fight for ever");

    bench.bot("deleteWebhook", json!({})).await;
    registration.step().await;
    assert!(receiving.verdict().reasons[0].contains("no webhook is set"));
    // A Telegram that cannot be asked says nothing new.
    bench.sandbox(Method::POST, "/telegram/faults", json!({ "on": "getWebhookInfo", "do": "error_before" })).await;
    registration.step().await;
    assert!(receiving.verdict().reasons[0].contains("no webhook is set"));

    bench.bot("setWebhook", json!({ "url": format!("http://{ours}{PATH}") })).await;
    registration.step().await;
    assert_eq!(receiving.verdict().reasons, [""; 0]);
}

#[tokio::test]
async fn failing_deliveries_a_growing_backlog_and_a_short_list_are_warnings() {
    let bench = Bench::new().await;
    // Nobody listens there: every delivery fails.
    let app = bench.build(By::ForeignHand, "127.0.0.1:9".parse().unwrap()).await;
    let Receive::Webhook(webhook) = app.config.telegram.receive.clone() else { panic!("a webhook") };
    let receiving = Arc::new(Receiving::by_webhook(Arc::new(SystemClock)));
    let clock = Arc::new(SystemClock);
    let mut registration = Registration::new(webhook.clone(), app.telegram.clone(), Arc::clone(&receiving), clock);
    bench.bot("setWebhook", json!({ "url": webhook.url, "allowed_updates": ["message"] })).await;
    for text in ["раз", "два", "три"] {
        bench.type_text(text).await;
        bench
            .until("a failed delivery", async || {
                let info = bench.bot("getWebhookInfo", json!({})).await;
                info["last_error_message"].is_string().then_some(())
            })
            .await;
        registration.step().await;
    }
    let verdict = receiving.verdict();
    assert_eq!(verdict.reasons, [""; 0], "out of the balancer nothing could arrive at all");
    let told = verdict.warnings.join("\n");
    for words in [
        "could not bring an update lately: Connection refused",
        "3 updates wait at Telegram",
        "not to bring edited_message, callback_query",
    ] {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
}

#[tokio::test]
async fn a_large_backlog_at_telegram_is_a_warning_from_the_start_and_a_gauge() {
    let bench = Bench::new().await;
    let app = bench.build(By::Webhook, "127.0.0.1:9".parse().unwrap()).await;
    let Receive::Webhook(webhook) = app.config.telegram.receive.clone() else { panic!("a webhook") };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let receiving = Arc::new(Receiving::by_webhook(Arc::new(SystemClock)));
    let web = zayavka::web::Web {
        inbox: app.inbox.clone(),
        hook: None,
        receiving: Arc::clone(&receiving),
        stop: CancellationToken::new(),
    };
    let mut served = JoinSet::new();
    served.spawn(zayavka::web::serve(listener, web, CancellationToken::new()));
    let gauge = async || {
        let page = bench.http.get(format!("http://{at}/metrics")).send().await.unwrap().text().await.unwrap();
        page.lines().find(|line| line.starts_with("zayavka_telegram_pending_updates ")).map(str::to_owned)
    };
    assert_eq!(gauge().await, None, "nobody has asked yet");
    for (pending, warning) in
        [(50_000, Some("50000 updates wait at Telegram")), (1_000, Some("1000 updates wait")), (999, None)]
    {
        let info = json!({ "ok": true, "result": { "url": webhook.url, "pending_update_count": pending } });
        let fault = json!({ "on": "getWebhookInfo", "do": "error_before", "status": 200, "body": info });
        bench.sandbox(Method::POST, "/telegram/faults", fault).await;
        let clock = Arc::new(SystemClock);
        Registration::new(webhook.clone(), app.telegram.clone(), Arc::clone(&receiving), clock).step().await;
        let verdict = receiving.verdict();
        assert_eq!(verdict.reasons, [""; 0]);
        assert_eq!(verdict.warnings.len(), usize::from(warning.is_some()), "{verdict:?}");
        assert!(warning.is_none_or(|words| verdict.warnings[0].contains(words)), "{verdict:?}");
        assert_eq!(gauge().await, Some(format!("zayavka_telegram_pending_updates {pending}")));
    }
}

#[tokio::test]
async fn a_webhook_set_elsewhere_stops_polling_and_readiness_says_so() {
    let bench = Bench::start(By::Polling).await;
    bench.until_ready(is_up).await;
    bench.bot("setWebhook", json!({ "url": "http://127.0.0.1:10/theirs" })).await;
    bench.until_ready(|status, reasons, _| status == 503 && reasons[0].contains("this bot has a webhook")).await;
}

#[tokio::test]
async fn ready_by_polling_without_waiting_for_an_update() {
    let mut bench = Bench::new().await;
    bench
        .sandbox(Method::POST, "/telegram/faults", json!({ "on": "getUpdates", "do": "error_before", "status": 502 }))
        .await;
    bench.run(By::Polling).await;
    bench.until_ready(|status, reasons, _| status == 503 && !reasons.is_empty()).await;
    bench.until_ready(is_up).await;
    assert_eq!(bench.ended().await, Ending::Drained);
}

#[tokio::test]
async fn a_pause_of_sending_is_a_warning_and_a_dead_database_is_a_reason() {
    let bench = Bench::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let app = bench.build(By::Polling, at).await;
    let receiving = Arc::new(Receiving::by_polling(Arc::new(SystemClock)));
    receiving.works(Vec::new());
    let web = zayavka::web::Web { inbox: app.inbox.clone(), hook: None, receiving, stop: CancellationToken::new() };
    let mut served = JoinSet::new();
    served.spawn(zayavka::web::serve(listener, web, CancellationToken::new()));
    let ask = async || -> (u16, Value) {
        let response = bench.http.get(format!("http://{at}/health/ready")).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    };
    assert_eq!(ask().await, (200, json!({ "ready": true, "reasons": [], "warnings": [] })));
    let paused = app.store.write(|tx| async move {
        use zayavka::{clock::Timestamp, store::settings};
        settings::set(tx.as_ref(), settings::PAUSED, settings::PAUSED_FOR_CREDENTIALS, Timestamp(1)).await
    });
    paused.await.unwrap();
    let (status, told) = ask().await;
    assert_eq!((status, told["warnings"].as_array().unwrap().len()), (200, 1), "{told}");
    app.store.clone().close().await;
    let (status, told) = ask().await;
    assert_eq!((status, &told["reasons"]), (503, &json!(["the database does not answer"])));
    let page = bench.http.get(format!("http://{at}/metrics")).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.text().await.unwrap().contains("zayavka_database_up 0\n"));
}

#[tokio::test]
async fn nothing_stored_is_503_and_telegram_brings_it_again() {
    let bench = Bench::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let app = bench.build(By::Webhook, at).await;
    let Receive::Webhook(webhook) = &app.config.telegram.receive else { panic!("a webhook") };
    let (rows, mut incoming) = tokio::sync::mpsc::channel(1);
    let hook = zayavka::web::Hook::new(webhook, rows.downgrade(), Arc::new(Doubt::unknown()));
    let receiving = Arc::new(Receiving::by_webhook(Arc::new(SystemClock)));
    let web =
        zayavka::web::Web { inbox: app.inbox.clone(), hook: Some(hook), receiving, stop: CancellationToken::new() };
    let mut served = JoinSet::new();
    served.spawn(zayavka::web::serve(listener, web, CancellationToken::new()));
    let bring = async |id: i64| {
        let request = bench.http.post(format!("http://{at}{PATH}")).header("X-Telegram-Bot-Api-Secret-Token", SECRET);
        request.body(update(id)).send().await.unwrap()
    };
    // A channel that nobody empties loses nothing and does not keep Telegram waiting for ever.
    for id in 1..=3 {
        assert_eq!(bring(id).await.status(), 200);
    }
    assert_eq!(incoming.recv().await.unwrap()[0].update.0, 1);
    assert_eq!(zayavka::store::inbox::open_rows(app.store.reader()).await.unwrap(), 3);
    // Intake has given up its sender: it drains, whatever else stands.
    drop(rows);
    let put_off = bring(4).await;
    assert_eq!((put_off.status().as_u16(), &put_off.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    assert_eq!(zayavka::store::inbox::open_rows(app.store.reader()).await.unwrap(), 3);
}

/// Sends bytes and reads until the service has said all it will; a connection that is cut after the answer is fine.
async fn raw(bench: &Bench, bytes: &str) -> String {
    let mut stream = TcpStream::connect(bench.at()).await.unwrap();
    // The service may stop reading before all is written.
    drop(stream.write_all(bytes.as_bytes()).await);
    let mut answer = vec![0; 256];
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut answer)).await.unwrap().unwrap_or(0);
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

#[tokio::test]
async fn another_poller_with_the_same_token_is_told_in_readiness() {
    let mut bench = Bench::start(By::Polling).await;
    bench.until_ready(is_up).await;
    let said = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
    let body = json!({ "ok": false, "error_code": 409, "description": said });
    let rule = json!({ "on": "getUpdates", "do": "error_before", "status": 409, "body": body, "times": 0 });
    bench.sandbox(Method::POST, "/telegram/faults", rule).await;
    // Ends the poll that is under way.
    bench.type_text("/help").await;
    bench.until_ready(|status, reasons, _| status == 503 && reasons[0].contains("another process polls")).await;
    bench.sandbox(Method::DELETE, "/telegram/faults", json!({})).await;
    // Only a long poll shows that the other one is gone; this update ends it.
    bench.type_text("/help").await;
    bench.until_ready(is_up).await;
    assert_eq!(bench.ended().await, Ending::Drained);
}
