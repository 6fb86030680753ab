//! The outbox as Telegram and its people see it: pace, order, barriers, and what becomes of a message for each answer.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod answers;
mod barriers;
mod cards;
mod lanes;
mod pace;
mod soak;
mod stop;
mod table;
mod unreachable;
mod words;

use sea_orm::{ColumnTrait as _, EntityTrait as _, QueryFilter as _, QueryOrder as _};
use serde_json::Value;
use zayavka::{
    clock::Clock as _,
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

use crate::world::{BOT, World};

/// Puts words on their way to a chat, as a handler does; the service does not turn.
async fn put(world: &World, chat: i64, card: Option<&str>, kind: NoticeKind, texts: Vec<String>) {
    let (now, card) = (world.clock.now(), card.map(str::to_owned));
    let written = world.app().store.write(move |tx| {
        let (card, texts) = (card.clone(), texts.clone());
        async move {
            for text in texts {
                let letter = Letter {
                    bot: BOT,
                    chat: ChatId(chat),
                    thread: None,
                    kind,
                    card: card.clone(),
                    operation: None,
                    notice: Notice::Words(Words::plain(text)),
                    on_unknown: OnUnknown::Repeat,
                };
                outbox::put(tx.as_ref(), &letter, now).await?;
            }
            Ok(())
        }
    });
    written.await.unwrap_or_else(|error| panic!("{error}"));
}

/// Every row of a chat, in the order they were written.
async fn rows(world: &World, chat: i64) -> Vec<Model> {
    let found = Entity::find().filter(Column::ChatId.eq(chat)).order_by_asc(Column::Id);
    found.all(world.app().store.reader()).await.unwrap_or_else(|error| panic!("{error}"))
}

/// A number inside a row's body.
fn figure(row: &Model, name: &str) -> i64 {
    let body: Value = serde_json::from_str(&row.body).unwrap_or_default();
    body[name].as_i64().unwrap_or_else(|| panic!("{name}: {body}"))
}

/// When Telegram received each message or edit for a chat, milliseconds; all chats without one.
async fn moments(world: &World, chat: Option<i64>) -> Vec<i64> {
    let mut calls = world.calls("telegram", "sendMessage").await;
    calls.extend(world.calls("telegram", "editMessageText").await);
    let mut at: Vec<_> = calls
        .iter()
        .filter(|call| chat.is_none_or(|chat| call["params"]["chat_id"].as_i64() == Some(chat)))
        .filter_map(|call| call["at"].as_i64())
        .collect();
    at.sort_unstable();
    at
}

/// The most moments that any window of this length holds.
fn most_within(moments: &[i64], window: i64) -> usize {
    let within = |start: i64| moments.iter().filter(|at| (start..start + window).contains(*at)).count();
    moments.iter().map(|start| within(*start)).max().unwrap_or_default()
}
