//! The plain bot, as one is written on a first day with teloxide and sea-orm: each tap is committed on its own, then
//! acknowledged; then it is answered, a card is shown, a ticket is made, its number is kept and written into the card. A
//! person sees the same as with the product.
//!
//! No queue, no outbox, no group commit, no retry: the measure of what all of that costs, and of what it saves.

use std::{env, net::SocketAddr, sync::Arc};

use axum::{Router, extract::State, http::StatusCode};
use sea_orm::{
    ActiveModelTrait as _,
    ActiveValue::{NotSet, Set},
    ConnectOptions, Database, DatabaseConnection,
};
use serde_json::{Value, json};
use teloxide::{
    prelude::*,
    types::{Update, UpdateKind},
};

use crate::{outside::TOKEN, place::run};

mod taps {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "taps")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub update_id: i64,
        pub user_id: i64,
        #[sea_orm(column_type = "Text")]
        pub payload: String,
        pub ticket: Option<String>,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

struct Plain {
    db: DatabaseConnection,
    /// Absent where only storing is measured.
    outside: Option<(Bot, reqwest::Client, String)>,
}

/// Its route over a database of its own; with an outside, it does the whole flow.
pub(crate) async fn router(database: &str, outside: Option<(&str, &str)>) -> Router {
    let mut options = ConnectOptions::new(format!("{database}?mode=rwc"));
    options.sqlx_logging(false).map_sqlx_sqlite_opts(|options| {
        options.pragma("journal_mode", "WAL").pragma("synchronous", "FULL").pragma("busy_timeout", "5000")
    });
    let db = Database::connect(options).await.expect("the plain bot's database");
    run(
        &db,
        "CREATE TABLE taps (id INTEGER PRIMARY KEY, update_id BIGINT UNIQUE, user_id BIGINT, payload TEXT, ticket TEXT)",
    )
    .await;
    let outside = outside.map(|(api, crm)| {
        let bot = Bot::new(TOKEN).set_api_url(api.parse().expect("an address"));
        (bot, reqwest::Client::new(), format!("{crm}/tickets"))
    });
    Router::new().fallback(receive).with_state(Arc::new(Plain { db, outside }))
}

async fn receive(State(plain): State<Arc<Plain>>, payload: String) -> StatusCode {
    let read = serde_json::from_str(&payload);
    let Ok(Update { id, kind: UpdateKind::CallbackQuery(query), .. }) = read else {
        return StatusCode::UNPROCESSABLE_ENTITY;
    };
    let user = i64::try_from(query.from.id.0).expect("a number of Telegram");
    let tap = taps::ActiveModel {
        id: NotSet,
        update_id: Set(i64::from(id.0)),
        user_id: Set(user),
        payload: Set(payload),
        ticket: Set(None),
    };
    let Ok(tap) = tap.insert(&plain.db).await else { return StatusCode::SERVICE_UNAVAILABLE };
    if plain.outside.is_some() {
        tokio::spawn(async move { go_on(&plain, tap, query).await });
    }
    StatusCode::OK
}

/// Answers the tap, shows the card, makes the ticket, keeps its number, tells it.
async fn go_on(plain: &Plain, tap: taps::Model, query: CallbackQuery) {
    let Some((bot, http, crm)) = &plain.outside else { return };
    bot.answer_callback_query(query.id).text("Заявка принята").await.expect("the answer is taken");
    let (user, card) = (ChatId(tap.user_id), "Заявка «Консультация»\n\nАнна\n\n");
    let shown = bot.send_message(user, format!("{card}Отправляем…")).await.expect("the message is taken");
    let order = json!({"external_id": tap.id.to_string(), "subject": "Анна", "body": "Как к вам обращаться? Анна"});
    let ticket = http.post(crm).json(&order).send().await.expect("the CRM answers");
    let ticket: Value = ticket.json().await.expect("a ticket");
    let number = ticket["number"].as_str().unwrap_or_default().to_owned();
    let mut kept: taps::ActiveModel = tap.into();
    kept.ticket = Set(Some(number.clone()));
    kept.update(&plain.db).await.expect("the number is kept");
    bot.edit_message_text(user, shown.id, format!("{card}Создана, № {number}")).await.expect("the edit is taken");
}

/// This program in its other role: `plain-bot DATABASE API CRM PORT`.
pub(crate) async fn process() {
    let given: Vec<String> = env::args().skip(2).collect();
    let [database, api, crm, port] = given.as_slice() else { panic!("plain-bot DATABASE API CRM PORT") };
    let at = SocketAddr::from(([127, 0, 0, 1], port.parse().expect("a port")));
    let router = router(database, Some((api, crm))).await;
    let listener = tokio::net::TcpListener::bind(at).await.expect("the port is free");
    axum::serve(listener, router).await.expect("it goes on");
}
