//! Rows as the product itself makes them, to be multiplied: a form at its summary, an operation that waits, one that has
//! ended. People fill in forms here by acts; only their number is made by SQL.

use sea_orm::{ActiveModelTrait as _, DatabaseConnection, DbBackend, EntityTrait as _, IntoActiveModel as _};
use serde_json::json;
use uuid::Uuid;
use zayavka::{
    app::App,
    clock::{Clock as _, SystemClock, SystemDice},
    ids::{ConfirmVersion, DraftId},
    store::{
        entity::{drafts, operations},
        settings,
    },
    telegram::{button::Intent, update::Update},
};

use crate::place::{Ground, run};

/// The person of the mould; others are counted from [`FIRST_PERSON`].
const PERSON: i64 = 77;
const FIRST_PERSON: i64 = 1_000_000;

#[derive(Default)]
pub(crate) struct Mould {
    draft: Option<drafts::Model>,
    pending: Option<operations::Model>,
    created: Option<operations::Model>,
}

/// A person and the button under their summary.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) id: i64,
    pub(crate) button: String,
}

/// A message a person types.
pub(crate) fn message(update: i64, user: i64, text: &str) -> String {
    let message = json!({
        "message_id": update, "date": 1_796_030_962, "text": text,
        "from": {"id": user, "is_bot": false, "first_name": "Анна", "language_code": "ru"},
        "chat": {"id": user, "type": "private", "first_name": "Анна"},
    });
    // The number comes first, as Telegram writes it.
    format!(r#"{{"update_id":{update},"message":{message}}}"#)
}

/// A tap, as large as real ones are: it brings the message it was made under.
pub(crate) fn tap(update: i64, user: i64, data: &str) -> String {
    let label = |text: &str| json!([{"text": text, "callback_data": data}]);
    let query = json!({
        "id": update.to_string(), "chat_instance": "-3782746287364", "data": data,
        "from": {"id": user, "is_bot": false, "first_name": "Анна", "last_name": "Петрова", "username": "anna_p",
            "language_code": "ru"},
        "message": {
            "message_id": 4211, "date": 1_796_030_962,
            "from": {"id": 1_000_000_001, "is_bot": true, "first_name": "Бот", "username": "bench_bot"},
            "chat": {"id": user, "type": "private", "first_name": "Анна", "last_name": "Петрова"},
            "text": "Проверьте, всё ли верно.\n\nКак к вам обращаться? Анна\nТема: консультация по договору\n\n\
                Если всё верно, отправьте заявку.",
            "reply_markup": {"inline_keyboard": [label("Отправить заявку"), label("Изменить"), label("Отменить")]},
        },
    });
    format!(r#"{{"update_id":{update},"callback_query":{query}}}"#)
}

/// What a product's part does with one update, from its bytes to the end of its handling.
pub(crate) async fn act(app: &App, update: &str) {
    let update = Update::read(update).expect("an update");
    for row in app.inbox.accept(vec![update]).await.expect("it is stored") {
        app.inbox.handle(&row).await;
    }
}

impl Mould {
    pub(crate) async fn make(ground: &Ground) -> Self {
        let database = ground.sqlite();
        let app = ground.app(&database).await;
        for (update, text) in [(1, "/start"), (2, "Анна")] {
            act(&app, &message(update, PERSON, text)).await;
        }
        let draft = drafts::Entity::find().one(app.store.reader()).await.expect("drafts are read").expect("a draft");
        // A tap begins its own attempt, unless sending is paused.
        let pause = async |why: &'static str| {
            let now = SystemClock.now();
            let set =
                app.store.write(move |tx| async move { settings::set(tx.as_ref(), settings::PAUSED, why, now).await });
            set.await.expect("it is paused or goes on");
        };
        pause(settings::PAUSED_BY_STAFF).await;
        act(&app, &tap(3, PERSON, &button(&draft, draft.id))).await;
        let operation = async || operations::Entity::find().one(app.store.reader()).await.expect("operations are read");
        let pending = operation().await.expect("the tap made an operation");
        pause("").await;
        app.worker.go_on(zayavka::ids::OperationId(pending.id)).await.expect("it is sent");
        let created = operation().await.expect("an operation");
        assert_eq!((pending.state.as_str(), created.state.as_str()), ("pending", "created"));
        app.store.clone().close().await;
        Self { draft: Some(draft), pending: Some(pending), created: Some(created) }
    }

    /// Gives `count` new people a summary each.
    pub(crate) async fn people(&self, db: &DatabaseConnection, count: usize) -> Vec<Person> {
        let draft = self.draft.as_ref().expect("the mould is made");
        let mut people = Vec::new();
        let mut rows = Vec::new();
        for id in (FIRST_PERSON..).take(count) {
            let key = DraftId::new(SystemClock.now(), &SystemDice).0;
            rows.push(
                drafts::Model { id: key, user_id: id, chat_id: id, ..draft.clone() }.into_active_model().reset_all(),
            );
            people.push(Person { id, button: button(draft, key) });
        }
        for chunk in rows.chunks(200) {
            let inserted = drafts::Entity::insert_many(chunk.to_vec()).exec_without_returning(db).await;
            inserted.expect("drafts are written");
        }
        people
    }

    /// Makes operations `from..=to` that wait to be sent, all of them due.
    pub(crate) async fn queue(&self, db: &DatabaseConnection, from: u64, to: u64) {
        self.multiply(db, self.pending.as_ref(), from, to).await;
    }

    /// Makes operations `from..=to` that have ended well and whose answers retention has erased.
    pub(crate) async fn history(&self, db: &DatabaseConnection, from: u64, to: u64) {
        let created = self.created.clone().expect("the mould is made");
        let erased =
            operations::Model { ticket_order: None, prepared: None, client_name: None, client_phone: None, ..created };
        self.multiply(db, Some(&erased), from, to).await;
        // With each of them came an update and went a message: both tables only grow, too.
        let bot = erased.bot_id;
        let inbox = format!(
            "INSERT INTO inbox (bot_id, update_id, digest, lane, state, attempts, lease_until, received_at, done_at) \
             SELECT {bot}, i, i * 2654435761, {FIRST_PERSON} + i % 1000000, 'done', 1, 0, i, i"
        );
        let outbox = format!(
            "INSERT INTO outbox (bot_id, chat_id, kind, card, operation_id, notice, state, body, rev, priority, message_id, \
             created_at, ended_at) SELECT {bot}, {FIRST_PERSON} + i % 1000000, 'card', 'operation:' || i, {}, '{{}}', 'sent', \
             '{{}}', 2, 0, i, i, i",
            key(db, 1)
        );
        for insert in [inbox, outbox] {
            run(db, &series(db, &insert, from, to)).await;
        }
    }

    async fn multiply(&self, db: &DatabaseConnection, model: Option<&operations::Model>, from: u64, to: u64) {
        let model = model.expect("the mould is made");
        let sqlite = db.get_database_backend() == DbBackend::Sqlite;
        // The operation's own texts name it: each row's name its own.
        let own = |body: &str| {
            let mut sql = quoted(body);
            for (space, old) in [(1, model.id), (2, model.draft_id), (3, model.external_key)] {
                sql = format!("replace({sql}, '{old}', {})", text(db, space));
            }
            sql
        };
        // Spread like the hash it stands for.
        let mixed = "((i * 2654435761) & 4294967295)";
        let hex =
            if sqlite { format!("printf('%08X', {mixed})") } else { format!("upper(lpad(to_hex({mixed}), 8, '0'))") };
        let due = model.due_at.map_or("NULL".to_owned(), |due| format!("{due} - 10000000 + i"));
        let number = model.ticket_number.as_ref().map_or("NULL".to_owned(), |_| "'T-' || i".to_owned());
        let ended = model.ended_at.map_or("NULL".to_owned(), |ended| ended.to_string());
        let order = model.ticket_order.as_deref().map_or("NULL".to_owned(), own);
        let (name, phone) = (optional(model.client_name.as_deref()), optional(model.client_phone.as_deref()));
        let select = format!(
            "SELECT {id}, {draft}, {version}, {bot}, {FIRST_PERSON} + i % 1000000, {FIRST_PERSON} + i % 1000000, '{lang}', \
             '{form}', {title}, {key}, 'Z-' || substr({hex}, 1, 4) || '-' || substr({hex}, 5), '{state}', {body}, {rev}, \
             {due}, {number}, {confirmed} - 10000000 + i, {ended}, {order}, NULL, {name}, {phone}, NULL, NULL",
            id = key(db, 1),
            draft = key(db, 2),
            key = key(db, 3),
            version = model.version,
            bot = model.bot_id,
            lang = model.lang,
            form = model.form_id,
            title = quoted(&model.form_title),
            state = model.state,
            body = own(&model.body),
            rev = model.rev,
            confirmed = model.confirmed_at,
        );
        let into = "INSERT INTO operations (id, draft_id, version, bot_id, user_id, chat_id, lang, form_id, form_title, \
            external_key, marker, state, body, rev, due_at, ticket_number, confirmed_at, ended_at, ticket_order, prepared, \
            client_name, client_phone, slot_form, slot_id)";
        run(db, &series(db, &format!("{into} {select}"), from, to)).await;
        if !sqlite {
            // In a server that is up for longer, autovacuum has done so.
            run(db, "ANALYZE operations").await;
        }
    }
}

/// The key of the made row `i`, as text; one space of them a column.
fn text(db: &DatabaseConnection, space: u8) -> String {
    let sqlite = db.get_database_backend() == DbBackend::Sqlite;
    let hex = if sqlite { "printf('%012x', i)" } else { "lpad(to_hex(i), 12, '0')" };
    format!("('0000000{space}-0000-7000-8000-' || {hex})")
}

/// The same, as the database stores it.
fn key(db: &DatabaseConnection, space: u8) -> String {
    let text = text(db, space);
    if db.get_database_backend() == DbBackend::Sqlite { format!("unhex({text}, '-')") } else { format!("{text}::uuid") }
}

/// An insert for each `i` from a number to a number.
fn series(db: &DatabaseConnection, insert: &str, from: u64, to: u64) -> String {
    if db.get_database_backend() == DbBackend::Sqlite {
        format!("WITH RECURSIVE n(i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i < {to}) {insert} FROM n")
    } else {
        format!("{insert} FROM generate_series({from}::bigint, {to}::bigint) AS n(i)")
    }
}

/// The id of a made operation.
pub(crate) fn operation(i: u64) -> zayavka::ids::OperationId {
    zayavka::ids::OperationId(Uuid::parse_str(&format!("00000001-0000-7000-8000-{i:012x}")).expect("a UUID"))
}

fn button(draft: &drafts::Model, id: Uuid) -> String {
    let version = ConfirmVersion(u32::try_from(draft.version).expect("a version"));
    Intent::Submit { draft: DraftId(id), revision: draft.revision, version }.encode()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn optional(text: Option<&str>) -> String {
    text.map_or("NULL".to_owned(), quoted)
}
