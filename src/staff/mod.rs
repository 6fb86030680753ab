//! People who decide: commands and buttons of the staff, by numeric id, in the staff chat or in private.
//!
//! Rights are asked at each action. Every decision goes through the one door of the operation machine, in the same
//! transaction that marks the update done; of two people deciding at once, one wins and the other is told.

mod control;
mod decide;
mod queue;

use std::sync::Arc;

use crate::{
    catalog::{
        texts::{Key, Texts},
        wording::state_words,
    },
    clock::{Clock, Timestamp},
    domain::{
        delivery::OnUnknown,
        input::{Act, Chat, ChatKind, Handled, Input},
        notice::{Notice, NoticeKind, Words},
        operation::Policy,
        role::{Role, Roster},
    },
    ids::{BotId, ChatId, Marker, UserId},
    store::{
        StoreError, Tx, cards,
        operations::{self, Author, Stored},
        outbox::{self, Letter},
    },
    telegram::{
        BotName,
        button::Intent,
        render::{TEXT_LIMIT, split},
    },
};

/// The handlers and what they work with.
#[derive(Debug, Clone)]
pub struct Staff {
    /// Which bot speaks.
    pub bot: BotId,
    /// Its name: commands addressed to another bot are not ours.
    pub username: BotName,
    /// Who may do what, and where.
    pub roster: Arc<Roster>,
    /// Every sentence.
    pub texts: Arc<Texts>,
    /// The figures of the operation machine.
    pub policy: Arc<Policy>,
    /// Whether the CRM can be asked about a number.
    pub can_verify: bool,
    /// Policies for messages whose fate is unknown.
    pub author: Author,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// Commands that are the staff's; everybody else gets silence for them.
pub const COMMANDS: [&str; 11] =
    ["queue", "link", "look", "create", "reject", "show", "why", "pause", "resume", "shelf", "replay"];

/// One action being handled: who, with which role, where, when.
struct Shift<'a> {
    staff: &'a Staff,
    tx: &'a Tx,
    by: UserId,
    role: Role,
    chat: Chat,
    lang: &'a str,
    now: Timestamp,
}

impl Staff {
    /// Whether this input is the staff's to handle: a staff command or a case's button.
    #[must_use]
    pub fn is_theirs(&self, input: &Input) -> bool {
        match &input.act {
            Act::Command { name, .. } => COMMANDS.contains(&name.as_str()),
            Act::Tap { data: Some(data), .. } => matches!(Intent::decode(data), Some(Intent::Case { .. })),
            _ => false,
        }
    }

    /// Handles a staff command or button. Whoever is not staff gets silence, and an answered tap.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing of it stands.
    pub async fn handle(&self, tx: &Tx, input: &Input) -> Result<Handled, StoreError> {
        let lang = self.texts.lang(None);
        let refused = || match input.act {
            Act::Tap { .. } => Handled::toast(self.texts.say(lang, Key::TapNotAllowed, &[])),
            _ => Handled::quietly(),
        };
        let (Some(person), Some(chat)) = (&input.from, input.chat) else { return Ok(refused()) };
        let Some(role) = self.roster.role(person.id) else { return Ok(refused()) };
        // Elsewhere a command of theirs is not one: cases are not talked about in other groups.
        if chat.kind != ChatKind::Private && Some(chat.id) != self.home(tx).await? {
            return Ok(refused());
        }
        let shift = Shift { staff: self, tx, by: person.id, role, chat, lang, now: self.clock.now() };
        match &input.act {
            Act::Command { forwarded: true, .. } => Ok(Handled::quietly()),
            Act::Command { name, to, args, .. } => {
                if !self.username.is_addressed(to.as_deref()) {
                    return Ok(Handled::quietly());
                }
                shift.command(name, args).await
            }
            Act::Tap { data: Some(data), .. } => match Intent::decode(data) {
                Some(Intent::Case { case, rev, wish }) => shift.case_button(case, rev, wish).await,
                _ => Ok(refused()),
            },
            _ => Ok(Handled::quietly()),
        }
    }

    /// The staff chat under its number of today: a group that became a supergroup has a new one.
    async fn home(&self, tx: &Tx) -> Result<Option<ChatId>, StoreError> {
        let Some(chat) = self.roster.chat else { return Ok(None) };
        Ok(Some(cards::chat(tx.as_ref(), self.bot, chat).await?.0))
    }
}

impl Shift<'_> {
    async fn command(&self, name: &str, args: &str) -> Result<Handled, StoreError> {
        let decides = matches!(name, "link" | "look" | "create" | "reject" | "pause" | "resume" | "replay");
        if decides && self.role < Role::Reviewer {
            return self.say_key(Key::StaffNotYours).await;
        }
        match name {
            "queue" => self.queue(args).await,
            "link" => self.link(args).await,
            "look" => self.look(args).await,
            "create" => self.create(args).await,
            "reject" => self.reject(args).await,
            "show" => self.show(args).await,
            "why" => self.why(args).await,
            "pause" => self.pause().await,
            "resume" => self.resume().await,
            "shelf" => self.shelf().await,
            "replay" => self.replay(args).await,
            _ => self.say_key(Key::StaffHelp).await,
        }
    }

    fn text(&self, key: Key, args: &[(&str, &str)]) -> String {
        self.staff.texts.say(self.lang, key, args)
    }

    /// Answers where the command was given.
    async fn say(&self, text: String) -> Result<Handled, StoreError> {
        for part in split(&text, TEXT_LIMIT) {
            let letter = Letter {
                bot: self.staff.bot,
                chat: self.chat.id,
                thread: self.chat.thread,
                kind: NoticeKind::StaffReply,
                card: None,
                operation: None,
                notice: Notice::Words(Words::plain(part)),
                on_unknown: OnUnknown::Repeat,
            };
            outbox::put(self.tx.as_ref(), &letter, self.now).await?;
        }
        Ok(Handled::quietly())
    }

    async fn say_key(&self, key: Key) -> Result<Handled, StoreError> {
        self.say(self.text(key, &[])).await
    }

    /// The operation a marker names; `None` when the answer has been said already.
    async fn named(&self, marker: &str) -> Result<Option<Stored>, StoreError> {
        let found = match Marker::parse(marker) {
            Some(marker) => operations::by_marker(self.tx.as_ref(), self.staff.bot, &marker).await?,
            None => Vec::new(),
        };
        let mut found = found.into_iter();
        match (found.next(), found.len()) {
            (Some(only), 0) => Ok(Some(only)),
            (Some(_), more) => {
                let count = (more + 1).to_string();
                self.say(self.text(Key::StaffManyMarkers, &[("marker", marker), ("count", &count)])).await?;
                Ok(None)
            }
            (None, _) => {
                let shown = crate::catalog::wording::visible(marker);
                self.say(self.text(Key::StaffNoSuchMarker, &[("marker", &shown)])).await?;
                Ok(None)
            }
        }
    }

    fn state(&self, stored: &Stored) -> String {
        state_words(&self.staff.texts, self.lang, &stored.operation)
    }
}
