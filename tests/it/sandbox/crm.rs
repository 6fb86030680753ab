//! The fake CRM: tickets, keys, options, and every fault with the tickets counted.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;

use super::Bench;

#[tokio::test]
async fn a_ticket_is_created_once_found_and_kept_to_the_letter() {
    let bench = Bench::start().await;
    let sent = Bench::ticket("k1");
    let (status, made) = bench.create("k1", &sent).await.unwrap();
    assert_eq!((status.as_u16(), &made["number"], &made["id"]), (201, &json!("1001"), &json!("t-1001")));
    assert_eq!(bench.create("k1", &sent).await.unwrap(), (StatusCode::OK, made.clone()));
    assert_eq!(bench.find("k1").await, (StatusCode::OK, json!({ "items": [made] })));
    assert_eq!(bench.find("k2").await, (StatusCode::OK, json!({ "items": [] })));
    let kept = &bench.get("/crm/tickets").await["tickets"][0];
    for field in ["external_id", "marker", "subject", "body", "contact", "fields"] {
        assert_eq!(kept[field], sent[field], "{field}");
    }
    assert_eq!(kept["key"], "k1");
}

#[tokio::test]
async fn each_fault_makes_as_many_tickets_as_its_name_says() {
    // (what happens, further fields, whether an answer arrives and its status, tickets afterwards)
    let cases = [
        ("lose_answer", json!({}), None, 1),
        ("lose_request", json!({}), None, 0),
        ("half_answer", json!({}), None, 1),
        ("late", json!({ "ms": 60_000 }), None, 0),
        ("twice", json!({}), Some(201), 2),
        ("error_after", json!({}), Some(500), 1),
        ("error_after", json!({ "status": 504 }), Some(504), 1),
        ("error_before", json!({}), Some(500), 0),
        ("error_before", json!({ "status": 429, "retry_after": 7 }), Some(429), 0),
        ("error_before", json!({ "status": 502, "html": true }), Some(502), 0),
        ("error_before", json!({ "status": 400, "body": { "message": "нет такого поля" } }), Some(400), 0),
        ("delay", json!({ "ms": 1 }), Some(201), 1),
        ("hold", json!({ "ms": 1 }), Some(201), 1),
        ("refuse", json!({}), Some(422), 0),
        ("junk", json!({}), Some(200), 1),
    ];
    let bench = Bench::start().await;
    bench.post("/crm/options", json!({ "keyed": false })).await;
    for (deed, more, status, tickets) in cases {
        bench.delete("/crm/tickets").await;
        let mut rule = more.clone();
        rule["do"] = json!(deed);
        rule["on"] = json!("POST /tickets");
        bench.crm_fault(rule).await;
        let url = format!("{}/tickets", bench.world.crm_base_url());
        let request = bench.http.post(url).bearer_auth("sandbox-secret").json(&Bench::ticket(deed));
        let answer = request.send().await;
        let body = match answer {
            Ok(response) => {
                assert_eq!(Some(response.status().as_u16()), status.or(Some(201)), "{deed} {more}");
                let asked = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
                assert_eq!(asked, more["retry_after"].as_u64().map(|seconds| seconds.to_string()), "{deed}");
                response.text().await
            }
            Err(error) => Err(error),
        };
        match (&body, status) {
            // The request was on the wire: nothing here may look like "surely not sent".
            (Err(error), None) => assert!(!error.is_connect() && !error.is_timeout(), "{deed}: {error:?}"),
            (Ok(_), Some(_)) => {}
            other => panic!("{deed} {more}: {other:?}"),
        }
        let body = body.unwrap_or_default();
        if deed == "junk" || more["html"] == true {
            assert!(body.starts_with('<'), "{deed}: {body}");
        }
        if more["body"].is_object() {
            assert_eq!(body, more["body"].to_string());
        }
        assert_eq!(bench.count().await, tickets, "{deed} {more}");
        // The rule is used up: the next call goes its usual way.
        assert_eq!(bench.create("after", &Bench::ticket("after")).await.unwrap().0, 201, "{deed}");
    }
    let outcomes: Vec<_> = bench.calls("crm").await.iter().map(|call| call["outcome"].clone()).collect();
    for outcome in ["lost", "lost_request", "half", "late", "error_after", "error_before", "refused", "junk", "ok"] {
        assert!(outcomes.contains(&json!(outcome)), "{outcome} is not in {outcomes:?}");
    }
}

#[tokio::test]
async fn a_lost_answer_is_not_asked_for_again_behind_the_callers_back() {
    let bench = Bench::start().await;
    // A client that keeps its connections, as most do.
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let create = |key: &str| {
        let url = format!("{}/tickets", bench.world.crm_base_url());
        http.post(url).bearer_auth("sandbox-secret").header("Idempotency-Key", key).json(&Bench::ticket(key)).send()
    };
    create("k1").await.unwrap().text().await.unwrap();
    for deed in ["lose_answer", "lose_request"] {
        bench.crm_fault(json!({ "on": "POST /tickets", "do": deed })).await;
        let before = bench.calls("crm").await.len();
        let error = create(deed).await.unwrap_err();
        assert!(!error.is_connect(), "{error:?}");
        assert_eq!(bench.calls("crm").await.len(), before + 1, "{deed}");
    }
    assert_eq!(bench.count().await, 2);
}

#[tokio::test]
async fn the_second_call_is_the_one_that_goes_wrong() {
    let bench = Bench::start().await;
    let rule = json!({ "on": "post /tickets", "from": 2, "times": 2, "do": "error_before", "status": 503 });
    let id = bench.crm_fault(rule).await["id"].clone();
    let mut seen = Vec::new();
    for n in 0..4 {
        let key = format!("k{n}");
        seen.push(bench.create(&key, &Bench::ticket(&key)).await.unwrap().0.as_u16());
    }
    assert_eq!(seen, [201, 503, 503, 201]);
    let rules = bench.get("/crm/faults").await;
    assert_eq!((&rules["rules"][0]["hits"], &rules["rules"][0]["seen"]), (&json!(2), &json!(4)));
    assert_eq!(bench.delete(&format!("/crm/faults/{id}")).await, json!({ "removed": id }));
    assert_eq!(bench.get("/crm/faults").await, json!({ "rules": [] }));
}

#[tokio::test]
async fn a_held_ticket_is_created_although_its_caller_has_given_up() {
    let bench = Bench::start().await;
    bench.crm_fault(json!({ "on": "POST /tickets", "do": "hold" })).await;
    let url = format!("{}/tickets", bench.world.crm_base_url());
    let request = bench.http.post(url).bearer_auth("sandbox-secret").header("Idempotency-Key", "k1");
    let given_up = request.json(&Bench::ticket("k1")).timeout(Duration::from_millis(50)).send().await;
    assert!(given_up.unwrap_err().is_timeout());
    assert_eq!(bench.count().await, 0);
    // The CRM still has the first call in hand, and says so.
    assert_eq!(bench.create("k1", &Bench::ticket("k1")).await.unwrap().0, StatusCode::CONFLICT);
    bench.post("/crm/release", json!({})).await;
    bench.until("the held ticket", async || bench.count().await == 1).await;
    let (status, made) = bench.create("k1", &Bench::ticket("k1")).await.unwrap();
    assert_eq!((status, &made["number"]), (StatusCode::OK, &json!("1001")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_at_once_with_one_key_make_one_ticket() {
    let bench = std::sync::Arc::new(Bench::start().await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let bench = std::sync::Arc::clone(&bench);
        calls.spawn(async move { bench.create("k1", &Bench::ticket("k1")).await.unwrap() });
    }
    let answers = calls.join_all().await;
    let made = answers.iter().filter(|(status, _)| *status == StatusCode::CREATED).count();
    assert_eq!((made, bench.count().await), (1, 1));
    assert!(answers.iter().all(|(status, _)| [200, 201, 409].contains(&status.as_u16())));
}

#[tokio::test]
async fn a_late_request_lands_after_its_repeat() {
    for (keyed, tickets) in [(true, 1), (false, 2)] {
        let bench = Bench::start().await;
        bench.post("/crm/options", json!({ "keyed": keyed })).await;
        bench.crm_fault(json!({ "on": "POST /tickets", "do": "late" })).await;
        assert!(bench.create("k1", &Bench::ticket("k1")).await.is_err());
        assert_eq!(bench.create("k1", &Bench::ticket("k1")).await.unwrap().0, 201);
        bench.post("/crm/release", json!({})).await;
        let landed = if keyed { "again" } else { "ticket" };
        bench.until("the late request", async || bench.calls("crm").await[0][landed].is_string()).await;
        assert_eq!(bench.count().await, tickets, "keyed: {keyed}");
    }
}

#[tokio::test]
async fn a_key_with_another_body_is_refused_and_a_wrong_token_too() {
    let bench = Bench::start().await;
    bench.create("k1", &Bench::ticket("k1")).await.unwrap();
    let mut other = Bench::ticket("k1");
    other["body"] = json!("другое");
    let (status, words) = bench.create("k1", &other).await.unwrap();
    assert_eq!(status, 422);
    assert_eq!(words, json!({ "message": "idempotency key reused with another body" }));
    let mut empty = Bench::ticket("k2");
    empty["subject"] = json!(" ");
    assert_eq!(bench.create("k2", &empty).await.unwrap().0, 422);
    // A refused content does not use its key up.
    assert_eq!(bench.create("k2", &Bench::ticket("k2")).await.unwrap().0, 201);
    let url = format!("{}/tickets", bench.world.crm_base_url());
    let wrong = bench.http.post(url).bearer_auth("guess").json(&Bench::ticket("k3")).send().await.unwrap();
    assert_eq!(wrong.status(), 401);
    assert_eq!(bench.count().await, 2);
}

#[tokio::test]
async fn a_lookup_may_lag_behind_be_blind_or_be_absent() {
    let bench = Bench::start().await;
    bench.post("/crm/options", json!({ "index_lag_ms": 5_000 })).await;
    bench.create("k1", &Bench::ticket("k1")).await.unwrap();
    assert_eq!(bench.find("k1").await.1["items"], json!([]));
    bench.clock.advance(Duration::from_millis(5_000));
    assert_eq!(bench.find("k1").await.1["items"][0]["number"], "1001");
    bench.post("/switches", json!({ "name": "crm_blind_lookup", "on": true })).await;
    assert_eq!(bench.find("k1").await.0, 500);
    bench.post("/switches", json!({ "name": "crm_blind_lookup", "on": false })).await;
    assert_eq!(bench.find("k1").await.0, 200);
    let answer = bench.post("/crm/options", json!({ "lookup": false })).await;
    assert_eq!(answer, json!({ "keyed": true, "index_lag_ms": 5_000, "lookup": false, "down": false }));
    assert_eq!(bench.find("k1").await.0, 404);
}

#[tokio::test]
async fn without_keys_and_fields_a_repeat_is_a_second_ticket() {
    let bench = Bench::start().await;
    bench.post("/crm/options", json!({ "keyed": false })).await;
    bench.create("k1", &Bench::ticket("k1")).await.unwrap();
    bench.create("k1", &Bench::ticket("k1")).await.unwrap();
    assert_eq!(bench.find("k1").await.1["items"].as_array().unwrap().len(), 2);
    assert_eq!(bench.delete("/crm/tickets").await["count"], 0);
    // Numbers go on: one number never means two tickets.
    assert_eq!(bench.create("k1", &Bench::ticket("k1")).await.unwrap().1["number"], "1003");
}

#[tokio::test]
async fn a_crm_that_is_down_refuses_connections_and_comes_back_at_the_same_address() {
    let bench = Bench::start().await;
    let before = bench.world.crm_base_url();
    for _ in 0..3 {
        bench.post("/crm/down", json!({ "down": true })).await;
        let error = bench.create("k1", &Bench::ticket("k1")).await.unwrap_err();
        assert!(error.is_connect(), "{error:?}");
        assert_eq!(bench.get("/switches").await["crm_down"], true);
        bench.post("/crm/down", json!({ "down": false })).await;
        assert!(bench.create("k1", &Bench::ticket("k1")).await.unwrap().0.is_success());
    }
    assert_eq!(bench.world.crm_base_url(), before);
    assert_eq!(bench.count().await, 1);
}

#[tokio::test]
async fn a_connection_kept_open_dies_when_the_crm_goes_down() {
    let bench = Bench::start().await;
    bench.crm_fault(json!({ "on": "GET /tickets", "do": "hold" })).await;
    let held = async {
        let url = format!("{}/tickets?external_id=k1", bench.world.crm_base_url());
        bench.http.get(url).bearer_auth("sandbox-secret").send().await
    };
    let down = async {
        bench.until("the held call", async || !bench.calls("crm").await.is_empty()).await;
        bench.post("/crm/down", json!({ "down": true })).await;
    };
    let (held, ()) = tokio::join!(held, down);
    let error = held.unwrap_err();
    assert!(!error.is_connect() && !error.is_timeout(), "{error:?}");
}

#[tokio::test]
async fn the_log_tells_what_became_of_each_call() {
    let bench = Bench::start().await;
    bench.create("k1", &Bench::ticket("k1")).await.unwrap();
    bench.crm_fault(json!({ "on": "*", "do": "lose_answer" })).await;
    assert!(bench.create("k2", &Bench::ticket("k2")).await.is_err());
    bench.find("k2").await;
    let calls = bench.calls("crm").await;
    let told: Vec<_> = calls
        .iter()
        .map(|call| json!([call["seq"], call["method"], call["path"], call["key"], call["outcome"], call["ticket"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!([1, "POST", "/tickets", "k1", "ok", "1001"]),
            json!([2, "POST", "/tickets", "k2", "lost", "1002"]),
            json!([3, "GET", "/tickets?external_id=k2", null, "ok", null]),
        ]
    );
}
