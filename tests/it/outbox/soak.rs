//! Ten thousand messages to a thousand chats through an emulator full of faults, at the default pace, the clock in the
//! test's hand. What Telegram received and shows at the end is compared with what is on record.

use std::collections::{BTreeMap, HashMap};

use sea_orm::{ColumnTrait as _, EntityTrait as _, QueryFilter as _};
use serde_json::{Value, json};
use zayavka::{
    clock::{Clock as _, Dice as _, SeededDice},
    domain::{
        delivery::OnUnknown,
        notice::{Notice, NoticeKind, Words},
    },
    ids::ChatId,
    store::{
        entity::outbox::{Column, Entity, Model},
        outbox::{self, Letter},
    },
};

use super::{figure, most_within};
use crate::{
    databases::{Database, Kind, run},
    world::{BOT, Options, World},
};

const CHATS: i64 = 1_000;
const EACH: i64 = 10;
const FIRST: i64 = 700_000;

/// Every third second or so, one call goes wrong in one of these ways.
fn fault(dice: &SeededDice) -> Value {
    let from = 1 + dice.below(25);
    let mut rule = match dice.below(8) {
        0 => json!({ "do": "lose_answer" }),
        1 => json!({ "do": "lose_request" }),
        2 => json!({ "do": "half_answer" }),
        3 => json!({ "do": "junk" }),
        4 => json!({ "do": "error_after", "status": 502, "html": true }),
        5 | 6 => json!({ "do": "error_before", "status": 429, "retry_after": 7 }),
        _ => json!({ "do": "error_before", "status": 401 }),
    };
    rule["on"] = json!("sendMessage");
    rule["from"] = json!(from);
    rule
}

/// Whether a call's fault leaves open what became of it.
fn is_open(call: &Value) -> bool {
    matches!(call["outcome"].as_str(), Some("lost" | "lost_request" | "half" | "junk" | "error_after"))
}

async fn write_all(world: &World) {
    let now = world.clock.now();
    for n in 0..EACH {
        for block in 0..CHATS / 250 {
            let written = world.app().store.write(move |tx| async move {
                for chat in block * 250..(block + 1) * 250 {
                    let letter = Letter {
                        bot: BOT,
                        chat: ChatId(FIRST + chat),
                        thread: None,
                        kind: NoticeKind::Dialog,
                        card: None,
                        operation: None,
                        notice: Notice::Words(Words::plain(format!("{chat}:{n}"))),
                        on_unknown: OnUnknown::Repeat,
                    };
                    outbox::put(tx.as_ref(), &letter, now).await?;
                }
                Ok(())
            });
            written.await.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

async fn soak(db: Database) {
    let set = [("pace.per_chat", "1"), ("pace.burst", "3"), ("pace.overall", "30")];
    let options = set.into_iter().fold(Options::searchable(), |options, (path, value)| options.set(path, value));
    let world = World::with(db, options).await;
    for chat in 0..CHATS {
        // Their updates stay at Telegram: this is about what is sent.
        world.act(FIRST + chat, "text", json!({ "text": "…" })).await;
    }
    write_all(&world).await;
    let dice = SeededDice::new(5);
    let mut moments = 0;
    loop {
        if dice.below(3) == 0 {
            world.fault(fault(&dice)).await;
        }
        let app = world.app();
        app.outbox.tick().await.unwrap_or_else(|error| panic!("{error}"));
        let Some(next) = app.outbox.due().await.unwrap_or_else(|error| panic!("{error}")).again_at else { break };
        moments += 1;
        assert!(moments < 20_000, "it goes on and on");
        world.clock.set(next);
    }
    world.mend().await;
    judge(&world).await;
    world.finish().await;
}

async fn judge(world: &World) {
    let calls = world.calls("telegram", "sendMessage").await;
    let mut by_text: HashMap<&str, Vec<&Value>> = HashMap::new();
    let mut by_chat: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let (mut all, mut kinds) = (Vec::new(), BTreeMap::<String, usize>::new());
    for call in &calls {
        let (chat, at) = (call["params"]["chat_id"].as_i64().unwrap(), call["at"].as_i64().unwrap());
        by_text.entry(call["params"]["text"].as_str().unwrap()).or_default().push(call);
        by_chat.entry(chat).or_default().push(at);
        all.push(at);
        *kinds.entry(call["outcome"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    // Pace, as Telegram saw it.
    let fullest = by_chat.values().map(|at| most_within(at, 3_000)).max().unwrap_or_default();
    let busiest = most_within(&all, 1_000);
    assert!(fullest <= 3, "{fullest} messages into one chat within three seconds");
    assert!(busiest <= 30, "{busiest} messages within one second");
    let rows = Entity::find().filter(Column::ChatId.gte(FIRST)).all(world.app().store.reader()).await.unwrap();
    assert_eq!(rows.len() as i64, CHATS * EACH);
    let mut counts = Counts::default();
    for row in &rows {
        counts.row(row, &by_text);
    }
    for chat in 0..CHATS {
        counts.chat(chat, &world.said(FIRST + chat).await);
    }
    println!(
        "soak: {} messages to {CHATS} chats, {} calls {kinds:?}; {} sent, {} let go after their one repeat was lost too; \
         {} repeats on record, {} made; {} messages seen twice; fullest chat {fullest} in 3 s, busiest second {busiest}",
        rows.len(),
        calls.len(),
        counts.sent,
        counts.dropped,
        counts.recorded,
        counts.made,
        counts.twice
    );
    assert_eq!(counts.recorded, counts.made, "each repeat is on record, and each on record was made");
    assert!(counts.recorded > 20, "too few faults to prove anything: {}", counts.recorded);
}

#[derive(Default)]
struct Counts {
    sent: usize,
    dropped: usize,
    recorded: i64,
    made: i64,
    twice: usize,
}

impl Counts {
    fn row(&mut self, row: &Model, by_text: &HashMap<&str, Vec<&Value>>) {
        let notice: Value = serde_json::from_str(&row.notice).unwrap();
        let text = notice["text"].as_str().unwrap();
        let calls = by_text.get(text).map(Vec::as_slice).unwrap_or_default();
        let repeats = figure(row, "repeats");
        assert!(repeats <= 1, "{text}: its kind allows one repeat, {repeats} are on record");
        assert_eq!(figure(row, "attempts") as usize, calls.len(), "{text}: each call is on record");
        match row.state.as_str() {
            "sent" => self.sent += 1,
            "dropped" if repeats == 1 => self.dropped += 1,
            other => panic!("{text} ended as {other}"),
        }
        self.recorded += repeats;
        // A call whose fate was open and that another one followed was repeated.
        let open = calls.iter().enumerate().filter(|(at, call)| is_open(call) && at + 1 < calls.len());
        self.made += open.count() as i64;
    }

    fn chat(&mut self, chat: i64, said: &[String]) {
        let mut last = -1;
        for text in said {
            let (whose, n) = text.split_once(':').unwrap();
            let n: i64 = n.parse().unwrap();
            assert_eq!(whose, chat.to_string());
            assert!(n >= last, "chat {chat}: {n} after {last}");
            self.twice += usize::from(n == last);
            last = n;
        }
    }
}

#[tokio::test]
async fn ten_thousand_messages_to_a_thousand_chats() {
    run(Kind::Sqlite, soak).await;
}
