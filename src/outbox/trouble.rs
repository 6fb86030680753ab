//! What staff are told of messages that were not delivered.

use super::Outbox;
use crate::{
    clock::Timestamp,
    domain::{
        notice::{Alert, Notice, NoticeKind},
        review::{Hindrance, Matter},
    },
    store::{
        StoreError, Tx, cases, operations,
        outbox::{self, Letter, Row, STAFF},
        settings,
    },
};

/// Which topic staff have been told of: one telling for each.
const TOPIC_GONE: &str = "telegram.topic_gone";

impl Outbox {
    /// Brings a message that was not delivered before staff; a message to staff never asks for another one.
    pub(super) async fn alert(
        &self,
        tx: &Tx,
        row: &Row,
        because: Hindrance,
        detail: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let why = because.word();
        tracing::warn!(outbox.id = row.id, outbox.kind = row.kind, why, detail, "a message was not delivered");
        if row.chat == STAFF || NoticeKind::named(&row.kind).is_to_staff() {
            return Ok(());
        }
        let may_have_arrived = because == Hindrance::Unconfirmed;
        let db = tx.as_ref();
        let stored = match row.operation {
            Some(operation) => operations::load(db, operation).await?,
            None => None,
        };
        // One case tells that a person cannot be reached, however many messages do not reach them.
        let known = match row.operation {
            Some(operation) if !may_have_arrived => cases::undelivered(db, operation).await?,
            _ => Vec::new(),
        };
        if !known.is_empty() {
            return Ok(());
        }
        let (kind, why) = (row.kind.clone(), detail.to_owned());
        let matter = Matter::Undelivered { row: row.id, kind, because, why, may_have_arrived };
        let about = stored.as_ref().map(|stored| (stored.operation.id, stored.form.as_str()));
        let new = cases::New { bot: self.bot, about, matter: &matter };
        cases::raise(db, new, self.on_unknown.of(NoticeKind::StaffCard), now).await.map(drop)
    }

    /// Tells staff, once, that a topic takes no messages any more.
    pub(super) async fn flag_topic(&self, tx: &Tx, row: &Row, now: Timestamp) -> Result<(), StoreError> {
        let Some(thread) = row.thread else { return Ok(()) };
        tracing::warn!(chat = row.chat.0, thread, "a topic is closed or gone: writing to the chat itself");
        let which = format!("{}:{thread}", row.chat);
        if settings::get(tx.as_ref(), TOPIC_GONE).await?.as_deref() == Some(which.as_str()) {
            return Ok(());
        }
        settings::set(tx.as_ref(), TOPIC_GONE, &which, now).await?;
        let kind = NoticeKind::StaffCard;
        let letter = Letter {
            bot: self.bot,
            chat: STAFF,
            thread: None,
            kind,
            card: None,
            operation: None,
            notice: Notice::Alert { about: Alert::TopicGone { chat: row.chat.0, thread } },
            on_unknown: self.on_unknown.of(kind),
        };
        outbox::put(tx.as_ref(), &letter, now).await
    }
}
