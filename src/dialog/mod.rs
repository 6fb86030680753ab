//! People who fill in a form: from `/start` to the tap on «Отправить заявку», and what they may ask afterwards.
//!
//! Every handler runs inside the transaction that marks its update done: the draft, the operation and what is said are
//! stored together or not at all. A tap that was handled before finds its result and only reads.

mod commands;
mod confirm;
mod files;
mod fill;
mod own;
pub mod preview;
mod screens;

use std::{sync::Arc, time::Duration};

use crate::{
    catalog::{
        Catalog,
        texts::{Key, Texts},
    },
    clock::{Clock, Dice, Timestamp},
    domain::{
        delivery::{self, OnUnknown},
        draft::Draft,
        form::Form,
        input::{Act, Chat, ChatKind, Handled, Input, Person},
        notice::{Notice, NoticeKind, Words},
        operation::Policy,
    },
    ids::{BotId, ChatId, OperationId, UserId},
    store::{
        StoreError, Tx, backlog, cases,
        operations::{self, Author, Starter},
        outbox::{self, Letter},
        people,
    },
    telegram::{BotName, button::Intent},
};

/// What one person may have open and send.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Drafts open at a time.
    pub open_drafts: u64,
    /// Versions confirmed within an hour.
    pub submissions_per_hour: u64,
}

/// The handlers and what they work with.
#[derive(Debug, Clone)]
pub struct Dialog {
    /// Which bot speaks.
    pub bot: BotId,
    /// Its name, for links.
    pub username: BotName,
    /// Forms and texts.
    pub catalog: Arc<Catalog>,
    /// What one person may do.
    pub limits: Limits,
    /// How long a fresh operation leaves its tap time to be answered before any worker may send it by itself.
    pub ack_grace: Duration,
    /// Who begins the first attempt with the tap itself, where it can.
    pub starter: Arc<dyn Starter>,
    /// The figures of the operation machine.
    pub policy: Arc<Policy>,
    /// The figures of the delivery machine.
    pub delivery: delivery::Policy,
    /// Policies for messages whose fate is unknown.
    pub author: Author,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub dice: Arc<dyn Dice>,
}

/// One input being handled: who, where, in which language, when.
struct Visit<'a> {
    dialog: &'a Dialog,
    tx: &'a Tx,
    person: &'a Person,
    chat: ChatId,
    lang: String,
    now: Timestamp,
    /// When what is said here may go out: a moment later for what was written long ago.
    said_at: Timestamp,
    /// The album this is an item of.
    album: Option<&'a str>,
}

/// Words written longer ago than this waited for us: their person looks at one answer to all of them. Long enough for
/// a clock of ours that is wrong.
const WRITTEN_LONG_AGO: Duration = Duration::from_secs(120);

/// Telegram keeps words for a day: a date older than this says nothing.
const KEPT_AT_MOST: Duration = Duration::from_secs(48 * 3_600);

/// How long an answer to old words waits for an answer to the next of them, which takes its place.
const ANSWER_RESTS: Duration = Duration::from_secs(2);

impl Dialog {
    /// Handles what a person did in a private chat, or a tap wherever it was made.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing of it stands.
    pub async fn handle(&self, tx: &Tx, input: &Input) -> Result<Handled, StoreError> {
        let Some(person) = &input.from else { return Ok(Handled::quietly()) };
        let now = self.clock.now();
        let lang = self.catalog.texts.lang(person.lang.as_deref()).to_owned();
        let album = if let Act::Media { album, .. } = &input.act { album.as_deref() } else { None };
        // A private chat has its person's number: a tap without a chat still knows where to answer.
        let waited = input.sent_at.map(|at| now.since(at));
        let is_old = waited.is_some_and(|waited| (WRITTEN_LONG_AGO..KEPT_AT_MOST).contains(&waited));
        let said_at = if is_old { now.plus(ANSWER_RESTS) } else { now };
        let visit = Visit { dialog: self, tx, person, chat: ChatId(person.id.0), lang, now, said_at, album };
        let private = input.chat.is_none_or(|chat| chat.kind == ChatKind::Private && chat.id == visit.chat);
        if !private && !matches!(input.act, Act::Tap { .. }) {
            // Nothing is kept of whom the bot meets in groups, nor says a group whether a person can be written to.
            return visit.outside(input.chat, &input.act).await;
        }
        if input.act == Act::Blocked(true) {
            people::set_reachable(tx.as_ref(), self.bot, person.id, false).await?;
            return Ok(Handled::quietly());
        }
        if people::seen(tx.as_ref(), self.bot, person, &visit.lang, now).await? {
            visit.show_latest().await?;
        }
        if !is_old {
            return visit.act(&input.act).await;
        }
        let before = backlog::newest(tx.as_ref(), self.bot, visit.chat).await?;
        let handled = visit.act(&input.act).await?;
        backlog::replace_resting(tx.as_ref(), self.bot, visit.chat, before, now, &self.delivery).await?;
        Ok(handled)
    }
}

impl Visit<'_> {
    async fn act(&self, act: &Act) -> Result<Handled, StoreError> {
        match act {
            Act::Tap { data, .. } => self.tap(data.as_deref()).await,
            Act::Command { forwarded: true, .. } => self.say_key(Key::DialogForwardedCommand).await,
            Act::Command { name, to, args, .. } => {
                if !self.dialog.username.is_addressed(to.as_deref()) {
                    return Ok(Handled::quietly());
                }
                self.command(name, args).await
            }
            Act::Text { .. } | Act::Contact { .. } | Act::Media { .. } => self.message(act).await,
            Act::Edited => self.edited().await,
            Act::Blocked(_) | Act::ChatMoved { .. } | Act::Ignored { .. } => Ok(Handled::quietly()),
        }
    }

    fn texts(&self) -> &Texts {
        &self.dialog.catalog.texts
    }

    fn text(&self, key: Key, args: &[(&str, &str)]) -> String {
        self.texts().say(&self.lang, key, args)
    }

    fn form(&self, draft: &Draft) -> Option<Arc<Form>> {
        self.dialog.catalog.form(&draft.form).map(Arc::clone)
    }

    fn user(&self) -> UserId {
        self.person.id
    }

    /// Puts words on their way to this person.
    async fn say(&self, words: Words) -> Result<(), StoreError> {
        self.say_on(None, words).await
    }

    /// Answers a message; an album comes item by item and gets one answer, which the next items find said already.
    async fn reply(&self, words: Words) -> Result<(), StoreError> {
        self.say_on(self.album.map(|album| format!("album:{}:{album}", self.user())), words).await
    }

    async fn say_on(&self, card: Option<String>, words: Words) -> Result<(), StoreError> {
        let letter = Letter {
            bot: self.dialog.bot,
            chat: self.chat,
            thread: None,
            kind: NoticeKind::Dialog,
            card,
            operation: None,
            notice: Notice::Words(words),
            on_unknown: self.dialog.author.on_unknown.of(NoticeKind::Dialog),
        };
        outbox::put(self.tx.as_ref(), &letter, self.said_at).await
    }

    async fn say_key(&self, key: Key) -> Result<Handled, StoreError> {
        self.reply(Words::plain(self.text(key, &[]))).await?;
        Ok(Handled::quietly())
    }

    /// A tap's intent decides; what no button of ours carries is answered and changes nothing.
    async fn tap(&self, data: Option<&str>) -> Result<Handled, StoreError> {
        match data.and_then(Intent::decode) {
            Some(Intent::Submit { draft, revision, version }) => self.submit(draft, revision, version).await,
            Some(Intent::Draft { draft, revision, wish }) => self.wish(draft, revision, wish).await,
            Some(Intent::Begin { form }) => self.begin_tapped(&form).await,
            Some(Intent::Case { .. } | Intent::Queue { .. }) => Ok(Handled::toast(self.text(Key::TapNotAllowed, &[]))),
            None => Ok(Handled::toast(self.text(Key::TapStale, &[]))),
        }
    }

    /// In a group only a call by name is answered, with the way to the private chat.
    async fn outside(&self, chat: Option<Chat>, act: &Act) -> Result<Handled, StoreError> {
        let (Some(chat), Act::Command { name, to: Some(to), .. }) = (chat, act) else { return Ok(Handled::quietly()) };
        let asked = self.dialog.username.is_addressed(Some(to)) && matches!(name.as_str(), "start" | "new" | "help");
        let Some(username) = self.dialog.username.get().filter(|_| asked && chat.kind == ChatKind::Group) else {
            return Ok(Handled::quietly());
        };
        let link = format!("https://t.me/{username}?start");
        let letter = Letter {
            bot: self.dialog.bot,
            chat: chat.id,
            thread: chat.thread,
            kind: NoticeKind::Dialog,
            card: None,
            operation: None,
            notice: Notice::Words(Words::plain(self.text(Key::DialogGroupHint, &[("link", &link)]))),
            on_unknown: OnUnknown::Drop,
        };
        outbox::put(self.tx.as_ref(), &letter, self.now).await?;
        Ok(Handled::quietly())
    }

    /// A person who could not be reached hears where their latest operations stand.
    async fn show_latest(&self) -> Result<(), StoreError> {
        for stored in operations::of_person(self.tx.as_ref(), self.dialog.bot, self.user(), 3).await? {
            let id = stored.operation.id;
            self.show_card(id, self.now).await?;
            for case in cases::undelivered(self.tx.as_ref(), id).await? {
                cases::settle_itself(self.tx.as_ref(), self.dialog.bot, &case, self.now).await?;
            }
        }
        Ok(())
    }

    /// Shows where an operation stands, from `due_at` on or as soon as there is more to say.
    async fn show_card(&self, operation: OperationId, due_at: Timestamp) -> Result<(), StoreError> {
        outbox::put_at(self.tx.as_ref(), &self.card(operation), self.now, due_at).await
    }

    fn card(&self, operation: OperationId) -> Letter {
        Letter {
            bot: self.dialog.bot,
            chat: self.chat,
            thread: None,
            kind: NoticeKind::Card,
            card: Some(format!("operation:{operation}")),
            operation: Some(operation),
            notice: Notice::Card { operation },
            on_unknown: self.dialog.author.on_unknown.of(NoticeKind::Card),
        }
    }
}
