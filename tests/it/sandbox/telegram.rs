//! The Bot API emulator: strictness, the queue, taps and their answers.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::{Bench, STAFF};

#[tokio::test]
async fn a_typed_text_a_question_a_tap_and_its_answer() {
    let bench = Bench::start().await;
    let me = bench.bot("getMe", json!({})).await;
    assert_eq!(me["id"], 1_000_000_001);
    let acted = bench.post("/clients/101/text", json!({ "text": "/start форма" })).await;
    let updates = bench.updates(0).await;
    assert_eq!(updates.len(), 1);
    let message = &updates[0]["message"];
    assert_eq!(updates[0]["update_id"], acted["update_ids"][0]);
    assert_eq!(message["from"]["first_name"], "Анна");
    assert_eq!(message["chat"], json!({ "id": 101, "type": "private", "first_name": "Анна", "last_name": "Смирнова" }));
    assert_eq!(message["entities"], json!([{ "type": "bot_command", "offset": 0, "length": 6 }]));
    assert_eq!(message["date"], 1_796_030_962);

    let keyboard = json!({ "inline_keyboard": [[{ "text": "Отправить заявку", "callback_data": "s:1" }]] });
    let sent = bench.bot("sendMessage", json!({ "chat_id": 101, "text": "Сводка", "reply_markup": keyboard })).await;
    let next = updates[0]["update_id"].as_i64().unwrap() + 1;
    let tap = json!({ "message_id": sent["message_id"], "button": "Отправить заявку" });
    let tapped = bench.post("/clients/101/tap", tap).await;
    let updates = bench.updates(next).await;
    let query = &updates[0]["callback_query"];
    assert_eq!((&query["data"], &query["from"]["id"]), (&json!("s:1"), &json!(101)));
    assert_eq!(query["message"], sent);
    assert_eq!(query["id"], tapped["callback_id"]);

    bench.clock.advance(Duration::from_millis(300));
    bench.bot("answerCallbackQuery", json!({ "callback_query_id": query["id"], "text": "принято" })).await;
    let ack = &bench.get("/acks").await["acks"][0];
    assert_eq!((&ack["text"], &ack["outcome"]), (&json!("принято"), &json!("answered")));
    assert_eq!(ack["answered_at"].as_i64().unwrap() - ack["tapped_at"].as_i64().unwrap(), 300);

    let edit = json!({ "chat_id": 101, "message_id": sent["message_id"], "text": "Принято" });
    bench.bot("editMessageText", edit).await;
    let shown = &bench.get("/chats/101/messages").await["messages"][1];
    assert_eq!((&shown["text"], &shown["keyboard"]), (&json!("Принято"), &Value::Null));
    assert_eq!(shown["edits"][0]["text"], "Сводка");
    assert_eq!(shown["edits"][0]["keyboard"], json!([[{ "text": "Отправить заявку", "data": "s:1" }]]));
}

#[tokio::test]
async fn what_telegram_refuses_is_refused_in_its_words() {
    let bench = Bench::start().await;
    let data = |data: String| json!({ "inline_keyboard": [[{ "text": "a", "callback_data": data }]] });
    let many = json!({ "inline_keyboard": vec![vec![json!({ "text": "a", "callback_data": "b" })]; 101] });
    let contact = json!({ "keyboard": [[{ "text": "a", "request_contact": true }]] });
    let bold = |length: usize| json!([{ "type": "bold", "offset": 0, "length": length }]);
    let send = |more: Value| {
        let mut params = json!({ "chat_id": 101, "text": "a" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("sendMessage", params)
    };
    let cases = [
        (send(json!({ "text": "" })), "message text is empty"),
        (send(json!({ "text": " \u{200b}" })), "text must be non-empty"),
        (send(json!({ "text": "я".repeat(4097) })), "message is too long"),
        (send(json!({ "text": "😀".repeat(2049) })), "message is too long"),
        (send(json!({ "text": "<b>a", "parse_mode": "HTML" })), "can't parse entities: can't find end tag"),
        (send(json!({ "reply_markup": data("x".repeat(65)) })), "BUTTON_DATA_INVALID"),
        (send(json!({ "reply_markup": data("ю".repeat(33)) })), "BUTTON_DATA_INVALID"),
        (send(json!({ "reply_markup": data(String::new()) })), "BUTTON_DATA_INVALID"),
        (send(json!({ "reply_markup": many })), "reply markup is too long"),
        (send(json!({ "reply_markup": "{" })), "can't parse reply markup JSON object"),
        (send(json!({ "chat_id": STAFF, "reply_markup": contact })), "phone number can be requested in private"),
        (send(json!({ "entities": bold(2) })), "entity beginning at UTF-16 offset 0 ends after the end"),
        (send(json!({ "chat_id": 777 })), "chat not found"),
        (send(json!({ "chat_id": "@nobody" })), "chat not found"),
        (send(json!({ "chat_id": null })), "chat_id is empty"),
        (send(json!({ "chat_id": STAFF, "message_thread_id": 1 })), "message thread not found"),
        (send(json!({ "reply_parameters": { "message_id": 99 } })), "message to be replied not found"),
        (("editMessageText", json!({ "chat_id": 101, "message_id": 99, "text": "a" })), "message to edit not found"),
        (("editMessageText", json!({ "inline_message_id": "x", "text": "a" })), "MESSAGE_ID_INVALID"),
        (("deleteMessage", json!({ "chat_id": 101, "message_id": 99 })), "message to delete not found"),
        (("sendChatAction", json!({ "chat_id": 101, "action": "dancing" })), "wrong parameter action"),
        (("getFile", json!({ "file_id": "x" })), "invalid file_id"),
        (("answerCallbackQuery", json!({ "callback_query_id": "1" })), "query is too old and response timeout"),
        (("answerCallbackQuery", json!({ "callback_query_id": "1", "text": "я".repeat(201) })), "MESSAGE_TOO_LONG"),
        (("setWebhook", json!({ "url": "https://example.org/hook" })), "bad webhook: "),
        (("setWebhook", json!({ "url": "http://127.0.0.1:1/", "secret_token": "a b" })), "secret token contains"),
    ];
    for ((method, params), words) in cases {
        let (code, description) = bench.refused(method, params.clone()).await;
        assert_eq!(code, 400, "{method} {params}");
        assert!(description.starts_with(&format!("Bad Request: {words}")), "{method} {params}: {description}");
    }
    assert_eq!(bench.refused("sendDice", json!({})).await, (404, "Not Found: method not found".to_owned()));
    for token in ["1:x", "abc:SANDBOX-token", "", "1000000001:sand box"] {
        let url = format!("{}/bot{token}/getMe", bench.world.api_url());
        let response = bench.http.get(url).send().await.unwrap();
        assert_eq!(response.status(), 401, "{token}");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer, json!({ "ok": false, "error_code": 401, "description": "Unauthorized" }));
    }
}

#[tokio::test]
async fn what_lies_just_inside_the_limits_goes_through() {
    let bench = Bench::start().await;
    let data = json!({ "inline_keyboard": [[{ "text": "a", "callback_data": "ю".repeat(32) }]] });
    bench.bot("sendMessage", json!({ "chat_id": 101, "text": "я".repeat(4096), "reply_markup": data })).await;
    let lenient = json!({ "message_id": 99, "allow_sending_without_reply": true });
    bench.bot("sendMessage", json!({ "chat_id": 101, "text": "a", "reply_parameters": lenient })).await;
    let sent = bench.bot("SENDMESSAGE", json!({ "chat_id": "101", "text": "<b>a</b>", "parse_mode": "HTML" })).await;
    assert_eq!(sent["entities"], json!([{ "type": "bold", "offset": 0, "length": 1 }]));
    let form = [("chat_id", "101"), ("text", "из формы"), ("reply_markup", r#"{"remove_keyboard":true}"#)];
    let answer = bench.http.post(bench.bot_url("sendMessage")).form(&form).send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap()["result"]["text"], "из формы");
    let answer = bench.http.get(bench.bot_url("sendMessage")).query(&form).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let shown = bench.get("/chats/101/messages").await;
    assert_eq!(shown["messages"][4]["reply_keyboard"], json!({ "remove": true }));
    bench.bot("sendChatAction", json!({ "chat_id": STAFF, "action": "typing" })).await;
    let commands = json!([{ "command": "new", "description": "Новая заявка" }]);
    bench.bot("setMyCommands", json!({ "commands": commands })).await;
    assert_eq!(bench.bot("getMyCommands", json!({})).await, commands);
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_refused_and_one_without_keyboard_removes_it() {
    let bench = Bench::start().await;
    let keyboard = json!({ "inline_keyboard": [[{ "text": "a", "callback_data": "b" }]] });
    let sent = bench.bot("sendMessage", json!({ "chat_id": 101, "text": "a", "reply_markup": keyboard })).await;
    let edit = |text: &str, markup: &Value| json!({ "chat_id": 101, "message_id": sent["message_id"], "text": text, "reply_markup": markup });
    let same = bench.refused("editMessageText", edit("a", &keyboard)).await;
    assert_eq!(
        same,
        (
            400,
            "Bad Request: message is not modified: specified new message content and reply markup are exactly the same \
             as a current content and reply markup of the message"
                .to_owned()
        )
    );
    let bare = bench.bot("editMessageText", edit("a", &Value::Null)).await;
    assert_eq!(bare.get("reply_markup"), None);
    assert!(bench.refused("editMessageText", edit("a", &Value::Null)).await.1.contains("not modified"));
    let only_keyboard = json!({ "chat_id": 101, "message_id": sent["message_id"], "reply_markup": keyboard });
    bench.bot("editMessageReplyMarkup", only_keyboard.clone()).await;
    assert!(bench.refused("editMessageReplyMarkup", only_keyboard).await.1.contains("not modified"));
    let typed = bench.post("/clients/101/text", json!({ "text": "моё" })).await;
    let foreign = json!({ "chat_id": 101, "message_id": typed["message_id"], "text": "x" });
    assert!(bench.refused("editMessageText", foreign).await.1.contains("message can't be edited"));
    bench.bot("deleteMessage", json!({ "chat_id": 101, "message_id": sent["message_id"] })).await;
    assert!(bench.refused("editMessageText", edit("b", &keyboard)).await.1.contains("message to edit not found"));
}

#[tokio::test]
async fn messages_older_than_two_days_cannot_be_deleted() {
    let bench = Bench::start().await;
    let sent = bench.bot("sendMessage", json!({ "chat_id": 101, "text": "a" })).await;
    let which = json!({ "chat_id": 101, "message_id": sent["message_id"] });
    bench.clock.advance(Duration::from_secs(48 * 3_600 + 1));
    assert!(bench.refused("deleteMessage", which).await.1.contains("message can't be deleted"));
}

#[tokio::test]
async fn an_offset_confirms_and_a_negative_one_forgets() {
    let bench = Bench::start().await;
    let mut ids = Vec::new();
    for text in ["1", "2", "3"] {
        let acted = bench.post("/clients/101/text", json!({ "text": text })).await;
        ids.push(acted["update_ids"][0].as_i64().unwrap());
    }
    assert_eq!(ids, [ids[0], ids[0] + 1, ids[0] + 2]);
    let seen = async |offset: i64| -> Vec<i64> {
        bench.updates(offset).await.iter().map(|update| update["update_id"].as_i64().unwrap()).collect()
    };
    assert_eq!(seen(0).await, ids);
    assert_eq!(seen(ids[0]).await, ids);
    assert_eq!(seen(ids[1]).await, ids[1..]);
    assert_eq!(seen(0).await, ids[1..]);
    assert_eq!(bench.bot("getUpdates", json!({ "limit": 1 })).await.as_array().unwrap().len(), 1);
    assert_eq!(seen(ids[2] + 1_000).await, ids[1..], "an offset out of range is answered from the head");
    assert_eq!(seen(-1).await, ids[2..]);
    assert_eq!(seen(0).await, ids[2..]);
    assert_eq!(bench.get("/state").await["pending_updates"], 1);
    assert_eq!(seen(ids[2] + 1).await, [0; 0]);
}

#[tokio::test]
async fn a_waiting_poll_ends_with_the_first_update() {
    let bench = Bench::start().await;
    let poll = bench.bot("getUpdates", json!({ "timeout": 50 }));
    let type_in = async {
        bench.until("the poll", async || !bench.calls("telegram").await.is_empty()).await;
        bench.post("/clients/102/text", json!({ "text": "да" })).await
    };
    let (updates, _) = tokio::join!(poll, type_in);
    assert_eq!(updates[0]["message"]["text"], "да");
}

#[tokio::test]
async fn the_newer_poller_wins_and_a_webhook_ends_all_polling() {
    let bench = Bench::start().await;
    let older = bench.refused("getUpdates", json!({ "timeout": 50 }));
    let newer = async {
        bench.until("the first poll", async || !bench.calls("telegram").await.is_empty()).await;
        bench.refused("getUpdates", json!({ "timeout": 50 })).await
    };
    let hook = async {
        bench.until("the second poll", async || bench.calls("telegram").await.len() == 2).await;
        bench.bot("setWebhook", json!({ "url": "http://127.0.0.1:9/" })).await;
    };
    let (older, newer, ()) = tokio::join!(older, newer, hook);
    let other = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
    assert_eq!(older, (409, other.to_owned()));
    assert_eq!(newer, (409, "Conflict: terminated by setWebhook request".to_owned()));
    let (code, words) = bench.refused("getUpdates", json!({})).await;
    assert_eq!((code, words.starts_with("Conflict: can't use getUpdates method while webhook is active")), (409, true));
    bench.bot("deleteWebhook", json!({})).await;
    assert!(bench.updates(0).await.is_empty());
}

#[tokio::test]
async fn only_wanted_kinds_are_queued_and_the_list_stays() {
    let bench = Bench::start().await;
    bench.bot("getUpdates", json!({ "allowed_updates": ["callback_query"] })).await;
    assert_eq!(bench.post("/clients/101/text", json!({ "text": "a" })).await["update_ids"], json!([]));
    bench.bot("getUpdates", json!({})).await;
    assert_eq!(bench.post("/clients/101/text", json!({ "text": "a" })).await["update_ids"], json!([]));
    bench.bot("getUpdates", json!({ "allowed_updates": [] })).await;
    assert_eq!(bench.post("/clients/101/text", json!({ "text": "a" })).await["update_ids"][0], 700_000_001);
}

#[tokio::test]
async fn a_tap_finds_its_button_by_label_by_data_and_in_earlier_keyboards() {
    let bench = Bench::start().await;
    let keyboard = |label: &str, data: &str| json!({ "inline_keyboard": [[{ "text": label, "callback_data": data }]] });
    let first = keyboard("Отправить", "s:1");
    let sent = bench.bot("sendMessage", json!({ "chat_id": 101, "text": "v1", "reply_markup": first })).await;
    let id = sent["message_id"].clone();
    let second = keyboard("Отправить", "s:2");
    bench
        .bot("editMessageText", json!({ "chat_id": 101, "message_id": id, "text": "v2", "reply_markup": second }))
        .await;
    let third = keyboard("Ещё", "m");
    bench
        .bot("editMessageText", json!({ "chat_id": 101, "message_id": id, "text": "v3", "reply_markup": third }))
        .await;
    for button in ["Ещё", "m", "Отправить", "s:2", "s:1"] {
        bench.post("/clients/101/tap", json!({ "message_id": id, "button": button })).await;
    }
    let updates = bench.updates(0).await;
    let data: Vec<_> = updates.iter().map(|update| update["callback_query"]["data"].as_str().unwrap()).collect();
    assert_eq!(data, ["m", "m", "s:2", "s:2", "s:1"]);
    // What the tap carries is the message as it is now.
    assert_eq!(updates[4]["callback_query"]["message"]["text"], "v3");
    let ids: std::collections::BTreeSet<_> =
        updates.iter().map(|update| update["callback_query"]["id"].to_string()).collect();
    assert_eq!(ids.len(), 5, "every press has an id of its own");
}

#[tokio::test]
async fn a_button_in_place_of_the_keyboard_types_its_words() {
    let bench = Bench::start().await;
    let keyboard = json!({ "keyboard": [[{ "text": "Контакт", "request_contact": true }], [{ "text": "Назад" }]] });
    let sent = bench.bot("sendMessage", json!({ "chat_id": 101, "text": "?", "reply_markup": keyboard })).await;
    let tap = |button: &str| json!({ "message_id": sent["message_id"], "button": button });
    bench.post("/clients/101/tap", tap("Назад")).await;
    assert_eq!(bench.updates(0).await[0]["message"]["text"], "Назад");
    let (status, _) = bench.call(Method::POST, "/sandbox/clients/101/tap", tap("Контакт")).await;
    assert_eq!(status, 400, "a contact is shared by an act of its own");
}

#[tokio::test]
async fn a_tap_may_be_forged_its_message_inaccessible_or_absent() {
    let bench = Bench::start().await;
    let keyboard = json!({ "inline_keyboard": [[{ "text": "a", "callback_data": "b" }]] });
    let sent = bench.bot("sendMessage", json!({ "chat_id": 101, "text": "t", "reply_markup": keyboard })).await;
    let id = sent["message_id"].clone();
    let (status, words) = bench.cannot("/clients/101/tap", json!({ "message_id": id, "button": "x" })).await;
    assert_eq!((status, words.contains("no button \"x\"")), (400, true), "{words}");
    bench.post("/clients/101/tap", json!({ "message_id": id, "button": "x", "raw": true })).await;
    // Somebody else's tap on a message of this chat: only a modified client can send it.
    let foreign = json!({ "message_id": id, "button": "b", "chat": 101 });
    bench.post("/clients/102/tap", foreign).await;
    bench.post("/clients/101/tap", json!({ "message_id": id, "button": "a", "message": "inaccessible" })).await;
    bench.post("/clients/101/tap", json!({ "message_id": id, "button": "a", "message": "absent" })).await;
    bench.bot("deleteMessage", json!({ "chat_id": 101, "message_id": id })).await;
    bench.post("/clients/101/tap", json!({ "message_id": id, "button": "a" })).await;
    bench.post("/clients/101/tap", json!({ "message_id": 4_000, "button": "z", "raw": true })).await;
    let updates = bench.updates(0).await;
    let query = |n: usize| &updates[n]["callback_query"];
    assert_eq!(query(0)["data"], "x");
    assert_eq!((&query(1)["from"]["id"], &query(1)["message"]["chat"]["id"]), (&json!(102), &json!(101)));
    let old = &query(2)["message"];
    assert_eq!((&old["date"], &old["message_id"], old.get("text")), (&json!(0), &id, None));
    assert_eq!((query(3).get("message"), query(3)["inline_message_id"].is_string()), (None, true));
    assert_eq!(query(4)["message"]["date"], 0);
    assert_eq!(query(5)["message"]["message_id"], 4_000);
}

#[tokio::test]
async fn a_tap_is_answered_once_and_within_fifteen_seconds() {
    let bench = Bench::start().await;
    let keyboard = json!({ "inline_keyboard": [[{ "text": "a", "callback_data": "b" }]] });
    let sent = bench.bot("sendMessage", json!({ "chat_id": 101, "text": "t", "reply_markup": keyboard })).await;
    let tap = async || {
        let tapped = bench.post("/clients/101/tap", json!({ "message_id": sent["message_id"], "button": "a" })).await;
        json!({ "callback_query_id": tapped["callback_id"], "text": "да", "show_alert": true })
    };
    let too_old = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    let first = tap().await;
    bench.bot("answerCallbackQuery", first.clone()).await;
    assert_eq!(bench.refused("answerCallbackQuery", first).await, (400, too_old.to_owned()));
    let second = tap().await;
    let _third = tap().await;
    bench.clock.advance(Duration::from_millis(15_001));
    assert_eq!(bench.refused("answerCallbackQuery", second).await, (400, too_old.to_owned()));
    tap().await;
    let acks = bench.get("/acks").await;
    let told: Vec<_> = acks["acks"].as_array().unwrap().iter().map(|ack| ack["outcome"].clone()).collect();
    assert_eq!(told, ["answered", "late", "expired", "open"]);
    assert_eq!((&acks["acks"][0]["alert"], &acks["acks"][3]["answered_at"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn taps_die_in_the_queue_after_150_seconds_and_texts_after_a_day() {
    let bench = Bench::start().await;
    bench.post("/clients/101/tap", json!({ "message_id": 1, "button": "x", "raw": true })).await;
    bench.post("/clients/101/text", json!({ "text": "a" })).await;
    bench.clock.advance(Duration::from_secs(150));
    assert_eq!(bench.updates(0).await.len(), 1);
    bench.clock.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(bench.updates(0).await.len(), 0);
}

#[tokio::test]
async fn an_update_comes_again_to_the_letter() {
    let bench = Bench::start().await;
    let acted = bench.post("/clients/101/text", json!({ "text": "раз" })).await;
    let id = acted["update_ids"][0].as_i64().unwrap();
    let first = bench.updates(0).await;
    assert!(bench.updates(id + 1).await.is_empty());
    bench.post("/clients/101/edit", json!({ "message_id": acted["message_id"], "text": "два" })).await;
    bench.post("/updates/redeliver", json!({ "update_id": id })).await;
    let again = bench.updates(id + 1).await;
    assert_eq!((again.len(), &again[0]), (2, &first[0]));
    assert_eq!(again[1]["edited_message"]["text"], "два");
    assert!(bench.updates(id + 2).await.is_empty());
    assert_eq!(bench.cannot("/updates/redeliver", json!({ "update_id": 5 })).await.0, 404);
}

#[tokio::test]
async fn deliver_twice_gives_each_update_once_more_after_it_was_confirmed() {
    let bench = Bench::start().await;
    bench.post("/telegram/options", json!({ "deliver_twice": true })).await;
    let acted = bench.post("/clients/101/text", json!({ "text": "раз" })).await;
    bench.post("/switches", json!({ "name": "deliver_twice", "on": false })).await;
    bench.post("/clients/101/text", json!({ "text": "два" })).await;
    let id = acted["update_ids"][0].as_i64().unwrap();
    let texts = async |offset: i64| -> Vec<Value> {
        bench.updates(offset).await.iter().map(|update| update["message"]["text"].clone()).collect()
    };
    assert_eq!(texts(0).await, ["раз", "два"]);
    assert_eq!(texts(0).await, ["раз", "два"]);
    assert_eq!(texts(id + 2).await, ["раз"]);
    assert_eq!(texts(id + 2).await, [Value::Null; 0]);
}

#[tokio::test]
async fn any_update_can_be_put_in_and_numbers_can_start_elsewhere() {
    let bench = Bench::start().await;
    let raw = r#"{"poll_of_the_future":{"z":1,"a":[2,{"text":"\u0430"}]}}"#;
    let url = format!("{}/sandbox/updates/raw", bench.world.api_url());
    assert_eq!(bench.http.post(&url).body(raw).send().await.unwrap().status(), 200);
    let text = bench.http.get(bench.bot_url("getUpdates")).send().await.unwrap().text().await.unwrap();
    let same = raw.strip_prefix('{').unwrap();
    assert_eq!(text, format!(r#"{{"ok":true,"result":[{{"update_id":700000001,{same}]}}"#), "to the letter");
    for wrong in ["[]", "{", r#"{"update_id":1}"#] {
        assert_eq!(bench.http.post(&url).body(wrong).send().await.unwrap().status(), 400, "{wrong}");
    }
    assert_eq!(bench.cannot("/telegram/options", json!({ "next_update_id": 5 })).await.0, 409);
    bench.updates(700_000_002).await;
    bench.post("/telegram/options", json!({ "next_update_id": 5 })).await;
    bench.post("/clients/101/text", json!({ "text": "a" })).await;
    assert_eq!(bench.updates(700_000_002).await[0]["update_id"], 5);
}

#[tokio::test]
async fn who_blocked_the_bot_gets_nothing_until_unblocking() {
    let bench = Bench::start().await;
    bench.post("/clients/101/block", json!({})).await;
    let hello = json!({ "chat_id": 101, "text": "a" });
    let blocked = (403, "Forbidden: bot was blocked by the user".to_owned());
    assert_eq!(bench.refused("sendMessage", hello.clone()).await, blocked);
    bench.post("/clients/101/unblock", json!({})).await;
    bench.bot("sendMessage", hello).await;
    let updates = bench.updates(0).await;
    let change = |n: usize| {
        let change = &updates[n]["my_chat_member"];
        (change["old_chat_member"]["status"].clone(), change["new_chat_member"]["status"].clone())
    };
    assert_eq!(change(0), (json!("member"), json!("kicked")));
    assert_eq!(change(1), (json!("kicked"), json!("member")));
    assert_eq!(bench.post("/clients/101/unblock", json!({})).await["update_ids"], json!([]));
}

#[tokio::test]
async fn people_send_contacts_photos_albums_stickers_and_forwards() {
    let bench = Bench::start().await;
    bench.post("/clients/101/contact", json!({ "phone": "79000000001" })).await;
    bench.post("/clients/101/contact", json!({ "phone": "79000000002", "user_id": 102 })).await;
    bench.post("/clients/101/contact", json!({ "phone": "79000000003", "user_id": null })).await;
    let photo = bench.post("/clients/101/photo", json!({ "caption": "дом", "count": 2 })).await;
    assert_eq!(photo["update_ids"].as_array().unwrap().len(), 2);
    bench.post("/clients/101/sticker", json!({})).await;
    bench.post("/clients/101/voice", json!({})).await;
    bench.post("/clients/555/start", json!({ "payload": "f_1", "name": "Вера", "lang": "en" })).await;
    bench.post("/clients/101/text", json!({ "text": "/start", "forwarded": true })).await;
    let updates = bench.updates(0).await;
    let message = |n: usize| &updates[n]["message"];
    assert_eq!(message(0)["contact"], json!({ "phone_number": "79000000001", "first_name": "Анна", "user_id": 101 }));
    assert_eq!(message(1)["contact"]["user_id"], 102);
    assert_eq!(message(2)["contact"].get("user_id"), None);
    assert_eq!((&message(3)["caption"], message(4).get("caption")), (&json!("дом"), None));
    assert_eq!(message(3)["media_group_id"], message(4)["media_group_id"]);
    let file = bench.bot("getFile", json!({ "file_id": message(3)["photo"][2]["file_id"] })).await;
    assert_eq!((&file["file_path"], &file["file_size"]), (&json!("photos/file_1"), &json!(122_880)));
    assert!(message(5)["sticker"].is_object() && message(6)["voice"].is_object());
    assert_eq!((&message(7)["text"], &message(7)["from"]["language_code"]), (&json!("/start f_1"), &json!("en")));
    assert_eq!(message(7)["from"]["first_name"], "Вера");
    assert_eq!(message(8)["forward_origin"]["type"], "hidden_user");
    let kinds: Vec<_> = bench.get("/chats/101/messages").await["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["contact", "contact", "contact", "photo", "photo", "sticker", "voice", "text"]);
}

#[tokio::test]
async fn in_the_group_the_bot_sees_commands_and_answers_to_itself() {
    let bench = Bench::start().await;
    let say = async |text: &str, more: Value| {
        let mut act = json!({ "text": text, "chat": STAFF });
        act.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bench.post("/clients/9001/text", act).await["update_ids"].as_array().unwrap().len()
    };
    let card = bench.bot("sendMessage", json!({ "chat_id": STAFF, "text": "случай" })).await;
    assert_eq!(say("просто так", json!({})).await, 0);
    assert_eq!(say("/queue", json!({})).await, 1);
    assert_eq!(say("/queue@Zayavka_Sandbox_BOT", json!({})).await, 1);
    assert_eq!(say("/queue@other_bot", json!({})).await, 0);
    assert_eq!(say("причина", json!({ "reply_to": card["message_id"] })).await, 1);
    assert_eq!(say("/queue", json!({ "sender_chat": STAFF, "thread": 7 })).await, 1);
    bench.post("/telegram/options", json!({ "privacy": false })).await;
    assert_eq!(say("просто так", json!({})).await, 1);
    let updates = bench.updates(0).await;
    assert_eq!(updates[0]["message"]["from"]["first_name"], "Ольга");
    assert_eq!(updates[2]["message"]["reply_to_message"]["message_id"], card["message_id"]);
    let anonymous = &updates[3]["message"];
    assert_eq!((&anonymous["from"]["id"], &anonymous["sender_chat"]["id"]), (&json!(1_087_968_824), &json!(STAFF)));
    assert_eq!((&anonymous["message_thread_id"], &anonymous["is_topic_message"]), (&json!(7), &json!(true)));
    // The topic is known now; the chat says that it is a forum.
    bench.bot("sendMessage", json!({ "chat_id": STAFF, "message_thread_id": 7, "text": "в теме" })).await;
    assert_eq!(bench.bot("getChat", json!({ "chat_id": STAFF })).await["is_forum"], true);
    assert_eq!(bench.cannot("/clients/101/text", json!({ "text": "a", "chat": 102 })).await.0, 400);
}

#[tokio::test]
async fn faults_hit_the_bot_api_too() {
    let bench = Bench::start().await;
    let hello = json!({ "chat_id": 101, "text": "a" });
    let fault = async |rule: Value| {
        bench.post("/telegram/faults", rule).await;
    };
    fault(json!({ "on": "SendMessage", "do": "lose_answer" })).await;
    let error = bench.try_bot("sendMessage", hello.clone()).await.unwrap_err();
    assert!(!error.is_connect() && !error.is_timeout(), "{error:?}");
    fault(json!({ "on": "sendMessage", "do": "lose_request" })).await;
    assert!(bench.try_bot("sendMessage", hello.clone()).await.is_err());
    fault(json!({ "on": "sendMessage", "do": "half_answer" })).await;
    assert!(bench.try_bot("sendMessage", hello.clone()).await.is_err());
    fault(json!({ "on": "sendMessage", "do": "error_before", "status": 429, "retry_after": 3 })).await;
    let flood = bench.try_bot("sendMessage", hello.clone()).await.unwrap();
    assert_eq!(
        flood,
        json!({ "ok": false, "error_code": 429, "description": "Too Many Requests: retry after 3",
            "parameters": { "retry_after": 3 } })
    );
    fault(json!({ "on": "*", "do": "error_after" })).await;
    assert_eq!(bench.refused("sendMessage", hello.clone()).await, (500, "Internal Server Error".to_owned()));
    // Carried out: the lost, the half and the failed one.
    assert_eq!(bench.get("/chats/101/messages").await["messages"].as_array().unwrap().len(), 3);
    let outcomes: Vec<_> = bench.calls("telegram").await.iter().map(|call| call["outcome"].clone()).collect();
    assert_eq!(outcomes, ["lost", "lost_request", "half", "error_before", "error_after"]);
    assert_eq!(bench.calls("telegram").await[0]["params"], hello);
}

#[tokio::test]
async fn a_poll_whose_answer_is_lost_still_confirms() {
    let bench = Bench::start().await;
    let acted = bench.post("/clients/101/text", json!({ "text": "a" })).await;
    let id = acted["update_ids"][0].as_i64().unwrap();
    bench.post("/telegram/faults", json!({ "on": "getUpdates", "do": "lose_answer" })).await;
    assert!(bench.try_bot("getUpdates", json!({})).await.is_err());
    assert_eq!(bench.updates(0).await.len(), 1, "what was not confirmed comes again");
    bench.post("/telegram/faults", json!({ "on": "getUpdates", "do": "lose_answer" })).await;
    assert!(bench.try_bot("getUpdates", json!({ "offset": id + 1 })).await.is_err());
    assert_eq!(bench.updates(0).await.len(), 0);
}

#[tokio::test]
async fn a_real_client_library_reads_what_the_emulator_writes() {
    use teloxide::prelude::*;

    let bench = Bench::start().await;
    let client = teloxide::net::default_reqwest_settings().no_proxy().build().unwrap();
    let bot = Bot::with_client(bench.world.token(), client).set_api_url(bench.world.api_url().parse().unwrap());
    assert_eq!(bot.get_me().await.unwrap().id.0, 1_000_000_001);
    bench.post("/clients/101/text", json!({ "text": "/start" })).await;
    bench.post("/clients/101/contact", json!({ "phone": "79000000001" })).await;
    bench.post("/clients/101/photo", json!({ "caption": "дом" })).await;
    bench.post("/clients/101/sticker", json!({})).await;
    bench.post("/clients/101/block", json!({})).await;
    bench.post("/clients/101/unblock", json!({})).await;
    let keyboard = teloxide::types::InlineKeyboardMarkup::new([[teloxide::types::InlineKeyboardButton::callback(
        "Отправить заявку",
        "s:1",
    )]]);
    let sent = bot.send_message(ChatId(101), "Сводка").reply_markup(keyboard).await.unwrap();
    bench.post("/clients/101/tap", json!({ "message_id": sent.id.0, "button": "Отправить заявку" })).await;
    let old = json!({ "message_id": sent.id.0, "button": "s:1", "message": "inaccessible" });
    bench.post("/clients/101/tap", old).await;
    bench.post("/clients/9001/text", json!({ "text": "/queue", "chat": STAFF, "sender_chat": STAFF })).await;
    let updates = bot.get_updates().timeout(1).await.unwrap();
    assert_eq!(updates.len(), 9);
    for update in &updates {
        assert!(!matches!(update.kind, teloxide::types::UpdateKind::Error(_)), "{update:?}");
    }
    let teloxide::types::UpdateKind::CallbackQuery(query) = &updates[6].kind else { panic!("{:?}", updates[6]) };
    bot.answer_callback_query(query.id.clone()).text("принято").await.unwrap();
    bot.edit_message_text(ChatId(101), sent.id, "Принято").await.unwrap();
    let again = bot.edit_message_text(ChatId(101), sent.id, "Принято").await.unwrap_err();
    let not_modified = teloxide::RequestError::Api(teloxide::ApiError::MessageNotModified);
    assert_eq!(format!("{again:?}"), format!("{not_modified:?}"));
    let staff = bot.get_chat(ChatId(STAFF)).await.unwrap();
    assert!(staff.is_supergroup());
    assert!(bot.get_chat(ChatId(101)).await.unwrap().is_private());
    assert_eq!(bot.get_webhook_info().await.unwrap().pending_update_count, 9);
}
