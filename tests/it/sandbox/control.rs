//! The control API, the page's files, and the life of a world.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use reqwest::Method;
use serde_json::{Value, json};
use zayavka::sandbox::{BoxFuture, Listen, ServiceControl, ServiceStatus, StartError, World, WorldOptions};

use super::{Bench, STAFF};

/// A service that only counts.
#[derive(Default)]
struct Counted(Mutex<(bool, u32)>);

impl ServiceControl for Counted {
    fn kill(&self) -> BoxFuture<'_, Result<(), String>> {
        let running = std::mem::replace(&mut self.0.lock().unwrap().0, false);
        Box::pin(async move { if running { Ok(()) } else { Err("it does not run".to_owned()) } })
    }

    fn start(&self) -> BoxFuture<'_, Result<(), String>> {
        let mut state = self.0.lock().unwrap();
        *state = (true, state.1 + 1);
        Box::pin(std::future::ready(Ok(())))
    }

    fn status(&self) -> ServiceStatus {
        let (running, restarts) = *self.0.lock().unwrap();
        ServiceStatus { running, pid: running.then_some(4711), restarts }
    }
}

#[tokio::test]
async fn every_switch_is_shown_as_it_stands_and_does_what_it_says() {
    let bench = Bench::start().await;
    let names = [
        "crm_lose_answer",
        "crm_down",
        "crm_500_after_create",
        "crm_blind_lookup",
        "telegram_lose_answer",
        "deliver_twice",
    ];
    for name in names {
        let all = bench.post("/switches", json!({ "name": name, "on": true })).await;
        for other in names {
            assert_eq!(all[other], other == name, "{other} after {name}");
        }
        assert_eq!(bench.get("/state").await["switches"], all);
        bench.post("/switches", json!({ "name": name, "on": true })).await;
        let all = bench.post("/switches", json!({ "name": name, "on": false })).await;
        assert!(all.as_object().unwrap().values().all(|on| *on == false), "{name}: {all}");
    }
    bench.post("/switches", json!({ "name": "crm_lose_answer", "on": true })).await;
    for n in 1..=2 {
        assert!(bench.create(&format!("k{n}"), &Bench::ticket("k")).await.is_err());
        assert_eq!(bench.count().await, n);
    }
    bench.post("/switches", json!({ "name": "telegram_lose_answer", "on": true })).await;
    assert!(bench.try_bot("sendMessage", json!({ "chat_id": 101, "text": "a" })).await.is_err());
    assert_eq!(bench.cannot("/switches", json!({ "name": "crm_up", "on": true })).await.0, 400);
    // Clearing all rules clears those of the switches as well.
    bench.delete("/crm/faults").await;
    assert_eq!(bench.get("/switches").await["crm_lose_answer"], false);
}

#[tokio::test]
async fn the_service_is_killed_and_started_by_its_control() {
    let options = WorldOptions { service: Some(Arc::new(Counted::default())), ..WorldOptions::default() };
    let bench = Bench::with(options).await;
    assert_eq!(bench.get("/state").await["service"], json!({ "running": false, "pid": null, "restarts": 0 }));
    assert_eq!(bench.cannot("/service", json!({ "do": "kill" })).await, (409, "it does not run".to_owned()));
    bench.post("/service", json!({ "do": "start" })).await;
    let status = bench.post("/service", json!({ "do": "restart" })).await;
    assert_eq!(status, json!({ "running": true, "pid": 4711, "restarts": 2 }));
    bench.post("/service", json!({ "do": "kill" })).await;
    let status = bench.post("/service", json!({ "do": "restart" })).await;
    assert_eq!(status["running"], true, "one that was down is only started: {status}");
    bench.post("/service", json!({ "do": "kill" })).await;
    assert_eq!(bench.cannot("/service", json!({ "do": "dance" })).await.0, 400);
    let alone = Bench::start().await;
    assert_eq!(alone.cannot("/service", json!({ "do": "kill" })).await.0, 409);
    assert_eq!(alone.get("/state").await["service"], Value::Null);
}

#[tokio::test]
async fn the_state_holds_all_that_the_page_shows() {
    let bench = Bench::start().await;
    bench.post("/clients/102/text", json!({ "text": "привет" })).await;
    let keyboard =
        json!({ "one_time_keyboard": true, "keyboard": [["Да", { "text": "Телефон", "request_contact": true }]] });
    bench.bot("sendMessage", json!({ "chat_id": 102, "text": "Номер?", "reply_markup": keyboard })).await;
    bench.create("k1", &Bench::ticket("k1")).await.unwrap();
    let state = bench.get("/state").await;
    assert_eq!(state["chats"]["101"], json!({ "title": "Анна Смирнова", "messages": [] }));
    let messages = &state["chats"]["102"]["messages"];
    assert_eq!(messages[0]["from"], json!({ "id": 102, "name": "Борис Петров", "bot": false }));
    assert_eq!((&messages[1]["from"]["bot"], &messages[1]["at"]), (&json!(true), &json!(1_796_030_962_000_i64)));
    let rows = json!([[{ "text": "Да", "contact": false }, { "text": "Телефон", "contact": true }]]);
    assert_eq!(messages[1]["reply_keyboard"], json!({ "rows": rows, "one_time": true }));
    assert_eq!(state["chats"][STAFF.to_string()]["title"], "Сотрудники");
    assert_eq!((&state["count"], &state["pending_updates"]), (&json!(1), &json!(1)));
    assert_eq!(state["tickets"][0]["number"], "1001");
    let lines: Vec<_> = state["log"].as_array().unwrap().iter().map(|line| line["line"].clone()).collect();
    assert_eq!(lines, ["sendMessage → ok", "POST /tickets → ok"]);
}

#[tokio::test]
async fn an_event_comes_at_once_and_after_each_change() {
    let bench = Bench::start().await;
    let mut events = bench.http.get(format!("{}/sandbox/events", bench.world.api_url())).send().await.unwrap();
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let mut next = async || {
        let chunk = tokio::time::timeout(Duration::from_secs(10), events.chunk()).await.unwrap().unwrap().unwrap();
        String::from_utf8(chunk.to_vec()).unwrap()
    };
    let first = next().await;
    assert!(first.starts_with("event: state\ndata: ") && first.ends_with("\n\n"), "{first}");
    for n in 0..20 {
        bench.post("/clients/101/text", json!({ "text": n.to_string() })).await;
    }
    let mut count = 0;
    loop {
        let event = next().await;
        count += 1;
        let seq: u64 = event.trim().rsplit(' ').next().unwrap().parse().unwrap();
        if seq >= bench.get("/state").await["seq"].as_u64().unwrap() {
            break;
        }
    }
    assert!(count < 20, "twenty quick changes are told together, not in {count} events");
}

#[tokio::test]
async fn the_page_is_served_from_the_binary_and_closed_to_strangers() {
    let bench = Bench::start().await;
    let kinds = [
        ("/", "text/html"),
        ("/style.css", "text/css"),
        ("/app.js", "text/javascript"),
        ("/i18n.js", "text/javascript"),
        ("/favicon.svg", "image/svg+xml"),
    ];
    for (path, kind) in kinds {
        let response = bench.http.get(format!("{}{path}", bench.world.api_url())).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let header = |name: &str| response.headers()[name].to_str().unwrap();
        assert!(header("content-type").starts_with(kind), "{path}");
        assert_eq!((header("content-security-policy"), header("cache-control")), ("default-src 'self'", "no-store"));
    }
    let url = format!("{}/sandbox/state", bench.world.api_url());
    let foreign = bench.http.get(&url).header("origin", "http://evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), 403);
    let rebound = bench.http.get(&url).header("host", "evil.example").send().await.unwrap();
    assert_eq!(rebound.status(), 403);
    let own = bench.http.get(&url).header("origin", bench.world.api_url()).send().await.unwrap();
    assert_eq!(own.status(), 200);
}

#[tokio::test]
async fn every_file_the_page_asks_for_is_there() {
    let bench = Bench::start().await;
    let mut wanted = vec!["/".to_owned()];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(path) = wanted.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let response = bench.http.get(format!("{}{path}", bench.world.api_url())).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let text = response.text().await.unwrap();
        // What stands between these and the next quote is a path of ours.
        for before in ["src=\"/", "href=\"/", "from \"./", "from \"/", "import \"./", "import \"/"] {
            let paths = text.split(before).skip(1).filter_map(|rest| rest.split('"').next());
            wanted.extend(paths.map(|path| format!("/{path}")));
        }
    }
    assert!(seen.len() > 4, "{seen:?}");
}

#[tokio::test]
async fn what_cannot_be_done_is_said_in_words() {
    let bench = Bench::start().await;
    for (path, body, status, word) in [
        ("/clients/101/text", json!({}), 400, "text"),
        ("/clients/101/text", json!({ "txet": "a" }), 400, "txet"),
        ("/clients/anna/text", json!({ "text": "a" }), 400, "anna"),
        ("/clients/-5/text", json!({ "text": "a" }), 400, "-5"),
        ("/clients/101/dance", json!({}), 400, "dance"),
        ("/clients/101/tap", json!({ "button": "a" }), 400, "message_id"),
        ("/clients/101/edit", json!({ "message_id": 9, "text": "a" }), 400, "9"),
        ("/clients/101/photo", json!({ "count": 11 }), 400, "count"),
        ("/crm/faults", json!({ "on": "*", "do": "explode" }), 400, "explode"),
        ("/mail/faults", json!({ "on": "*", "do": "junk" }), 404, "mail"),
        ("/crm/options", json!({ "key": true }), 400, "key"),
        ("/crm/down", json!({}), 400, "down"),
        ("/nowhere", json!({}), 404, "nowhere"),
    ] {
        let (got, words) = bench.cannot(path, body).await;
        assert_eq!(got, status, "{path}: {words}");
        assert!(words.contains(word), "{path}: {words}");
    }
    let url = format!("{}/sandbox/updates/raw", bench.world.api_url());
    let huge = bench.http.post(url).body("x".repeat(1024 * 1024 + 1)).send().await.unwrap();
    assert_eq!(huge.status(), 413);
    let url = format!("{}/sandbox/chats/5/messages", bench.world.api_url());
    assert_eq!(bench.http.get(url).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn a_world_takes_its_ports_and_gives_them_back() {
    let world = World::start(WorldOptions { listen: Listen::Free, ..WorldOptions::default() }).await.unwrap();
    let addr = world.addr();
    assert_eq!(world.page_url(), format!("http://{addr}/"));
    let crm: std::net::SocketAddr = world.crm_base_url().strip_prefix("http://").unwrap().parse().unwrap();
    let again = World::start(WorldOptions { listen: Listen::Exact(addr), ..WorldOptions::default() }).await;
    assert!(matches!(again, Err(StartError::Listen { at, .. }) if at == addr));
    world.stop().await;
    for addr in [addr, crm] {
        drop(tokio::net::TcpListener::bind(addr).await.unwrap());
    }
    let outside = Listen::Exact("0.0.0.0:0".parse().unwrap());
    let error = World::start(WorldOptions { listen: outside, ..WorldOptions::default() }).await.unwrap_err();
    assert!(error.to_string().contains("loopback"), "{error}");
    let token = WorldOptions { listen: Listen::Free, token: "no token".to_owned(), ..WorldOptions::default() };
    assert!(matches!(World::start(token).await, Err(StartError::Token)));
    let fallback = World::start(WorldOptions::default()).await.unwrap();
    let second = World::start(WorldOptions::default()).await.unwrap();
    assert_ne!(fallback.addr(), second.addr());
}

#[tokio::test]
async fn a_dropped_world_refuses_connections() {
    let bench = Bench::start().await;
    let Bench { world, http, .. } = bench;
    let urls = [world.page_url(), format!("{}/tickets", world.crm_base_url())];
    drop(world);
    for url in urls {
        // The runtime drops an aborted task a moment later.
        while http.get(&url).send().await.is_ok() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_world_for_somebody_elses_service_takes_its_token_and_its_group() {
    let group = -1_001_234_567_890_i64;
    for open in [true, false] {
        let bench = Bench::with(WorldOptions { open, ..WorldOptions::default() }).await;
        let url = format!("{}/tickets?external_id=none", bench.world.crm_base_url());
        let asked = async |token: &str| bench.http.get(&url).bearer_auth(token).send().await.unwrap().status();
        assert_eq!(asked("whatever-they-set").await, if open { 200 } else { 401 });
        assert_eq!(bench.http.get(&url).send().await.unwrap().status(), 401, "a token there must be");
        let said = async |chat: i64| {
            bench.try_bot("sendMessage", json!({ "chat_id": chat, "text": "Случай" })).await.unwrap()["ok"] == true
        };
        assert_eq!(said(group).await, open);
        assert!(!said(424_242).await, "a person has to come first");
        let typed =
            bench.call(Method::POST, "/sandbox/clients/1/text", json!({ "text": "/queue", "chat": group - 1 })).await;
        assert_eq!(typed.0, if open { 200 } else { 400 }, "{}", typed.1);
    }
}
