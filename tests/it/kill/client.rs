//! People around the service, acting only through the emulator: clients who apply and tap several times, a member of
//! staff who settles what stands before a human, and the eyes of the checker.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::timeout;
use zayavka::{
    clock::{Dice, SeededDice},
    sandbox::World,
};

const SUBMIT: &str = "Отправить заявку";

/// The second tap that creates after all.
const CREATE: &str = "Да, создать";

/// What an open case offers.
const AFTER_ALL: &str = "Создать всё же";

/// How long a person waits for an answer. Longer than a message's pause after a death, and its repeat.
const PATIENCE: Duration = Duration::from_secs(20);

/// The emulator and the fake CRM, as anybody may use them.
#[derive(Clone)]
pub struct Outside {
    http: reqwest::Client,
    base: String,
}

impl Outside {
    pub fn of(world: &World) -> Self {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(30)).build().unwrap();
        Self { http, base: format!("http://{}", world.addr()) }
    }

    async fn get(&self, path: &str) -> Value {
        self.http.get(format!("{}{path}", self.base)).send().await.unwrap().json().await.unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.http.post(format!("{}{path}", self.base)).json(body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{path} {body}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    pub async fn state(&self) -> Value {
        self.get("/sandbox/state").await
    }

    pub async fn tickets(&self) -> Vec<Value> {
        self.get("/sandbox/crm/tickets").await["tickets"].as_array().unwrap().clone()
    }

    async fn messages(&self, chat: i64) -> Vec<Value> {
        self.get(&format!("/sandbox/chats/{chat}/messages")).await["messages"].as_array().cloned().unwrap_or_default()
    }

    /// How a chat stands, for a failure's report.
    pub async fn last_words(&self, chat: i64) -> String {
        let mut told = format!("chat {chat}:");
        for message in self.messages(chat).await.iter().rev().take(6).rev() {
            let who = if message["from"]["bot"] == true { "bot" } else { "person" };
            let buttons = message["keyboard"].as_array().map_or(0, Vec::len);
            told.push_str(&format!("\n  {} {who} ({buttons} rows): {}", message["message_id"], message["text"]));
        }
        told
    }

    /// Waits until the world says so; the emulator's own stream tells when to look again.
    async fn until<T>(&self, mut seen: impl AsyncFnMut() -> Option<T>) -> T {
        let mut changes = self
            .http
            .get(format!("{}/sandbox/events", self.base))
            .timeout(Duration::from_secs(600))
            .send()
            .await
            .unwrap();
        loop {
            if let Some(value) = seen().await {
                return value;
            }
            // A change, or half a second: a stream that ended is opened anew.
            match timeout(Duration::from_millis(500), changes.chunk()).await {
                Ok(Ok(Some(_))) | Err(_) => {}
                Ok(_) => changes = self.http.get(format!("{}/sandbox/events", self.base)).send().await.unwrap(),
            }
        }
    }

    /// Whether the service polls within the limit: then it is up.
    pub async fn hears_from_the_service(&self, limit: Duration) -> bool {
        let polls = async || {
            let log = self.get("/sandbox/telegram/log").await;
            log["calls"]
                .as_array()
                .map_or(0, |calls| calls.iter().filter(|call| call["method"] == "getUpdates").count())
        };
        let before = polls().await;
        timeout(limit, self.until(async || (polls().await > before).then_some(()))).await.is_ok()
    }

    /// One random fault, for one call.
    pub async fn trouble(&self, dice: &SeededDice) {
        let faults = [
            ("crm", json!({"on": "POST /tickets", "do": "lose_answer"})),
            ("crm", json!({"on": "POST /tickets", "do": "lose_request"})),
            ("crm", json!({"on": "POST /tickets", "do": "error_after"})),
            ("crm", json!({"on": "POST /tickets", "do": "half_answer"})),
            ("crm", json!({"on": "POST /tickets", "do": "delay", "ms": 300})),
            ("crm", json!({"on": "GET /tickets", "do": "error_before", "status": 500})),
            ("telegram", json!({"on": "sendMessage", "do": "lose_answer"})),
            ("telegram", json!({"on": "editMessageText", "do": "lose_answer"})),
            ("telegram", json!({"on": "getUpdates", "do": "lose_answer"})),
        ];
        let (server, fault) = &faults[usize::try_from(dice.below(faults.len() as u64)).unwrap()];
        self.post(&format!("/sandbox/{server}/faults"), fault).await;
    }

    pub async fn calm_down(&self) {
        for server in ["crm", "telegram"] {
            self.http.delete(format!("{}/sandbox/{server}/faults", self.base)).send().await.unwrap();
        }
    }

    /// Texts that say «создана» with a number the CRM does not hold.
    pub async fn false_claims(&self) -> Vec<String> {
        let numbers: BTreeSet<String> =
            self.tickets().await.iter().map(|ticket| ticket["number"].as_str().unwrap().to_owned()).collect();
        let log = self.get("/sandbox/telegram/log").await;
        let texts = log["calls"].as_array().unwrap().iter().filter_map(|call| call["params"]["text"].as_str());
        texts
            // Whether it was made is a question, not a claim.
            .filter(|text| {
                text.replace("создана ли", "").contains("создана")
                    && !numbers.iter().any(|n| text.contains(&format!("№ {n}")))
            })
            .map(str::to_owned)
            .collect()
    }
}

/// A person who applies, taps several times, waits for the number, and applies again.
pub struct Client {
    outside: Outside,
    user: i64,
    dice: Arc<SeededDice>,
}

impl Client {
    pub fn new(outside: Outside, user: i64, dice: Arc<SeededDice>) -> Self {
        Self { outside, user, dice }
    }

    /// Returns how many forms were confirmed.
    pub async fn apply_again_and_again(self, enough: Arc<AtomicBool>) -> usize {
        let mut confirmed = 0;
        while !enough.load(Ordering::SeqCst) {
            self.apply().await;
            confirmed += 1;
        }
        confirmed
    }

    /// One form, from the first word to the number. Two deaths may cost a question (Telegram cannot be asked whether it
    /// arrived, and is not told a third time); then a person begins anew, as people do.
    async fn apply(&self) {
        let number = loop {
            match timeout(PATIENCE, self.fill_in()).await {
                Ok(summary) => break summary,
                Err(_) => continue,
            }
        };
        for _ in 0..=self.dice.below(3) {
            self.tap(number, SUBMIT).await;
        }
        // Whoever hears nothing taps again: it must change nothing, and says where things stand.
        while timeout(PATIENCE, self.knows(number)).await.is_err() {
            self.tap(number, SUBMIT).await;
        }
        // The old button later: it must change nothing.
        self.tap(number, SUBMIT).await;
    }

    /// Answers both questions; the summary's message.
    async fn fill_in(&self) -> i64 {
        let since = self.text("/new").await;
        self.seen(since, "обращаться", None).await;
        let since = self.text("Анна").await;
        let choice = self.seen(since, "Тема", Some("А")).await;
        self.tap(choice, "А").await;
        self.seen(choice, "Проверьте", Some(SUBMIT)).await
    }

    /// Waits until this person was told of the ticket: by a message, or by the answer to a tap on the summary.
    async fn knows(&self, summary: i64) {
        self.outside
            .until(async || {
                let told = self.find(summary, "создана", None).await.is_some();
                let state = if told { Value::Null } else { self.outside.state().await };
                let answered = state["acks"].as_array().into_iter().flatten().any(|ack| {
                    ack["chat"] == self.user
                        && ack["message_id"] == summary
                        && ack["text"].as_str().is_some_and(|text| text.contains("уже создана"))
                });
                (told || answered).then_some(())
            })
            .await;
    }

    async fn text(&self, text: &str) -> i64 {
        let sent = self.outside.post(&format!("/sandbox/clients/{}/text", self.user), &json!({"text": text})).await;
        sent["message_id"].as_i64().unwrap()
    }

    async fn tap(&self, message: i64, label: &str) {
        let tap = json!({"message_id": message, "button": label});
        self.outside.post(&format!("/sandbox/clients/{}/tap", self.user), &tap).await;
    }

    /// Waits for a message of the bot after `since` that says this, with this button; its number.
    async fn seen(&self, since: i64, words: &str, button: Option<&str>) -> i64 {
        self.outside.until(async || self.find(since, words, button).await).await
    }

    /// The newest message of the bot after `since` that says this, with this button.
    async fn find(&self, since: i64, words: &str, button: Option<&str>) -> Option<i64> {
        let messages = self.outside.messages(self.user).await;
        let found = messages.into_iter().rev().find(|message| {
            let rows = message["keyboard"].as_array().into_iter().flatten();
            let mut buttons = rows.flat_map(|row| row.as_array().into_iter().flatten());
            message["from"]["bot"] == true
                && message["message_id"].as_i64() > Some(since)
                && message["text"].as_str().is_some_and(|text| text.contains(words))
                && button.is_none_or(|label| buttons.any(|shown| shown["text"] == label))
        });
        found?["message_id"].as_i64()
    }
}

/// A member of staff: whatever stands before a human was looked for in vain, so it is created after all.
pub async fn settle_cases(outside: Outside, chat: i64) {
    let mut settled = BTreeSet::new();
    loop {
        let open = outside.until(async || {
            let messages = outside.messages(chat).await;
            messages.iter().filter(|message| message["from"]["bot"] == true).find_map(|message| {
                let number = message["message_id"].as_i64()?;
                let keyboard = message["keyboard"].to_string();
                // A card is edited in place: each of its editions counts for itself.
                let edition = (number, message["edits"].as_array().map_or(0, Vec::len));
                let asks = keyboard.contains(CREATE);
                let text = message["text"].as_str().unwrap_or_default();
                let marker = text.split_whitespace().find(|word| word.starts_with("Z-")).unwrap_or_default();
                let marker = marker.trim_end_matches([':', '.', ',']).to_owned();
                let fresh = (asks || keyboard.contains(AFTER_ALL)) && !settled.contains(&edition);
                fresh.then_some((edition, (!asks).then_some(marker)))
            })
        });
        // Nothing new for a while: whatever is still open is taken up again, as a question may have died with its process.
        let Ok(open) = timeout(PATIENCE, open).await else {
            settled.clear();
            continue;
        };
        let (edition, marker) = open;
        match marker {
            Some(marker) => {
                let text = format!("/create {marker} нет в CRM");
                outside.post("/sandbox/clients/9001/text", &json!({"chat": chat, "text": text})).await;
            }
            None => {
                let tap = json!({"chat": chat, "message_id": edition.0, "button": CREATE});
                outside.post("/sandbox/clients/9001/tap", &tap).await;
            }
        }
        settled.insert(edition);
    }
}
