//! People who decide: commands and buttons of the staff, by numeric id, in the staff chat or in private.
//!
//! Rights are asked at each action. What may be done is in [`deed`], what comes of it in `acts`; the rest of this module
//! is how it is asked for: by a command, a button, or the next message in a conversation. Everything a handler does is in
//! the transaction that marks its update done.

mod acts;
mod ask;
mod commands;
mod control;
pub mod deed;
mod menus;
mod question;
mod queue;
mod taps;
pub mod typed;
mod words;

use std::{sync::Arc, time::Duration};

use crate::{
    catalog::{
        profile::rule::Pattern,
        texts::{Key, Texts},
    },
    clock::{Clock, Timestamp},
    domain::{
        delivery,
        hours::WorkingHours,
        input::{Act, Chat, ChatKind, Handled, Input, Person, Reply},
        notice::{Keyboard, Notice, NoticeKind, Words},
        operation::Policy,
        role::{LiveRoster, Role},
    },
    ids::{BotId, ChatId, MessageId},
    store::{
        StoreError, Tx, cards, lanes,
        operations::Author,
        outbox::{self, Letter},
        people, steps,
    },
    telegram::{
        BotName,
        button::Intent,
        render::{TEXT_LIMIT, split},
    },
};
use deed::Actor;
pub use menus::Menus;
use typed::Number;

/// The handlers and what they work with.
#[derive(Debug, Clone)]
pub struct Staff {
    /// Which bot speaks.
    pub bot: BotId,
    /// Its name: commands addressed to another bot are not ours.
    pub username: BotName,
    /// Who may do what, and where; asked anew at each action.
    pub roster: LiveRoster,
    /// Every sentence.
    pub texts: Arc<Texts>,
    /// The figures of the operation machine.
    pub policy: Arc<Policy>,
    /// The figures of the delivery machine.
    pub delivery: delivery::Policy,
    /// What a ticket's number looks like in the CRM.
    pub number: Pattern,
    /// Whether the CRM can be asked about a number.
    pub can_verify: bool,
    /// Whether "create after all" needs another person's consent.
    pub second_person: bool,
    /// How long a case taken is its taker's alone.
    pub take_for: Duration,
    /// Staff's own time, for what they read.
    pub hours: WorkingHours,
    /// Whose command menus are in place.
    pub menus: Menus,
    /// Policies for messages whose fate is unknown.
    pub author: Author,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// Commands that are the staff's, each with the least role that may use it; everybody else gets silence for them.
pub const COMMANDS: [(&str, Role); 17] = [
    ("queue", Role::Viewer),
    ("take", Role::Reviewer),
    ("hand_back", Role::Reviewer),
    ("link", Role::Reviewer),
    ("look", Role::Reviewer),
    ("create", Role::Reviewer),
    ("reject", Role::Reviewer),
    ("resend", Role::Reviewer),
    ("let_go", Role::Reviewer),
    ("show", Role::Viewer),
    ("why", Role::Viewer),
    ("find", Role::Viewer),
    ("stats", Role::Viewer),
    ("shelf", Role::Viewer),
    ("replay", Role::Reviewer),
    ("pause", Role::Reviewer),
    ("resume", Role::Reviewer),
];

/// One action being handled: who, with which role, where, when.
struct Shift<'a> {
    staff: &'a Staff,
    tx: &'a Tx,
    person: &'a Person,
    actor: Actor,
    /// Where, under the number of today.
    chat: Chat,
    /// The number it came with: messages are numbered anew where a group became a supergroup.
    heard_in: ChatId,
    reply_to: Option<&'a Reply>,
    lang: &'a str,
    now: Timestamp,
}

impl Staff {
    /// Whether this input is the staff's to handle: a staff command or a button of theirs.
    #[must_use]
    pub fn is_theirs(&self, input: &Input) -> bool {
        match &input.act {
            Act::Command { name, .. } => COMMANDS.iter().any(|(known, _)| known == name),
            Act::Tap { data: Some(data), .. } => {
                matches!(Intent::decode(data), Some(Intent::Case { .. } | Intent::Queue { .. }))
            }
            _ => false,
        }
    }

    /// Notes who writes: somebody of the staff who opens their chat with the bot gets a menu there.
    pub fn meet(&self, input: &Input) {
        let private = input.chat.is_some_and(|chat| chat.kind == ChatKind::Private);
        if let Some(person) = input.from.as_ref().filter(|_| private)
            && self.roster.now().role(person.id).is_some()
        {
            self.menus.met(person.id);
        }
    }

    /// Whether this input is the staff's because of who sends it: `/help`, or the answer to something they were asked:
    /// their next message in private, their reply to the question or the card in a group.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn awaits(&self, tx: &Tx, input: &Input) -> Result<bool, StoreError> {
        let is_answer = match &input.act {
            Act::Text { .. } => true,
            Act::Command { name, .. } => name == "cancel",
            _ => false,
        };
        // Everybody asks for help with the same word; what they hear depends on who they are.
        if let Act::Command { name, to, forwarded: false, .. } = &input.act
            && name == "help"
            && self.username.is_addressed(to.as_deref())
        {
            return Ok(self.shift(tx, input).await?.is_some());
        }
        if !is_answer {
            return Ok(false);
        }
        match self.shift(tx, input).await? {
            Some(shift) => shift.is_awaited(&input.act).await,
            None => Ok(false),
        }
    }

    /// Handles a staff command, button or answer. Whoever is not staff gets silence, and an answered tap.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing of it stands.
    pub async fn handle(&self, tx: &Tx, input: &Input) -> Result<Handled, StoreError> {
        let refused = || match input.act {
            Act::Tap { .. } => Handled::toast(self.texts.say(self.texts.lang(None), Key::TapNotAllowed, &[])),
            _ => Handled::quietly(),
        };
        let Some(shift) = self.shift(tx, input).await? else { return Ok(refused()) };
        steps::meet(tx.as_ref(), self.bot, shift.person, shift.now).await?;
        if shift.chat.kind == ChatKind::Private {
            // Whoever writes can be written to.
            people::set_reachable(tx.as_ref(), self.bot, shift.person.id, true).await?;
        }
        match &input.act {
            Act::Command { forwarded: true, .. } => Ok(Handled::quietly()),
            Act::Command { name, to, args, .. } => {
                if !self.username.is_addressed(to.as_deref()) {
                    return Ok(Handled::quietly());
                }
                shift.command(name, args).await
            }
            Act::Tap { data: Some(data), message, .. } => match Intent::decode(data) {
                Some(Intent::Case { case, rev, wish }) => shift.tap(case, rev, wish, *message).await,
                Some(Intent::Queue { page, hand, reason, form }) => {
                    let asked = typed::Asked { page, hand, reason, form };
                    shift.turn_page(&asked, *message).await
                }
                _ => Ok(refused()),
            },
            Act::Text { text } => shift.answer(text).await,
            _ => Ok(Handled::quietly()),
        }
    }

    /// A ticket's number as staff typed it; `None` for what can be none in this CRM.
    #[must_use]
    pub fn ticket(&self, typed: &str) -> Option<String> {
        typed::ticket(typed).filter(|number| self.number.fits(number))
    }

    /// The same with the word that says how it is to be linked.
    fn number(&self, typed: &str) -> Option<Number> {
        typed::number(typed).filter(|typed| self.number.fits(&typed.number))
    }

    /// Who acts, with the role they have at this moment; `None` for whoever is not staff, or not where staff are heard.
    async fn shift<'a>(&'a self, tx: &'a Tx, input: &'a Input) -> Result<Option<Shift<'a>>, StoreError> {
        let (Some(person), Some(mut chat)) = (&input.from, input.chat) else { return Ok(None) };
        let Some(role) = self.roster.now().role(person.id) else { return Ok(None) };
        // Elsewhere a command of theirs is not one: cases are not talked about in other groups.
        let heard_in = chat.id;
        if chat.kind != ChatKind::Private {
            // Cards from before a group became a supergroup are there, and tapped, under the old number.
            chat.id = lanes::today(tx.as_ref(), self.bot, chat.id).await?;
            if Some(chat.id) != self.home(tx).await? {
                return Ok(None);
            }
        }
        let actor = Actor { id: person.id, role };
        let (lang, now) = (self.texts.lang(None), self.clock.now());
        let reply_to = input.reply_to.as_ref();
        Ok(Some(Shift { staff: self, tx, person, actor, chat, heard_in, reply_to, lang, now }))
    }

    /// The staff chat under its number of today: a group that became a supergroup has a new one.
    async fn home(&self, tx: &Tx) -> Result<Option<ChatId>, StoreError> {
        let Some(chat) = self.roster.now().chat else { return Ok(None) };
        Ok(Some(lanes::today(tx.as_ref(), self.bot, chat).await?))
    }
}

impl Shift<'_> {
    fn text(&self, key: Key, args: &[(&str, &str)]) -> String {
        self.staff.texts.say(self.lang, key, args)
    }

    /// The name of the card that a message is, if it is one and is known.
    async fn card_at(&self, message: MessageId) -> Result<Option<String>, StoreError> {
        cards::by_message(self.tx.as_ref(), self.staff.bot, self.heard_in, message).await
    }

    fn letter(&self, words: Words, card: Option<String>) -> Letter {
        Letter {
            bot: self.staff.bot,
            chat: self.chat.id,
            thread: self.chat.thread,
            kind: NoticeKind::StaffReply,
            card,
            operation: None,
            notice: Notice::Words(words),
            on_unknown: self.staff.author.on_unknown.of(NoticeKind::StaffReply),
        }
    }

    /// Answers where the command was given.
    async fn say(&self, text: String) -> Result<Handled, StoreError> {
        self.say_parts(Words::plain(text), None).await?;
        Ok(Handled::quietly())
    }

    /// The same with buttons, which stand under the last part of a long text; that part is the card, if it is one.
    async fn say_parts(&self, words: Words, card: Option<String>) -> Result<(), StoreError> {
        let mut parts = split(&words.text, TEXT_LIMIT);
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            outbox::put(self.tx.as_ref(), &self.letter(Words::plain(part), None), self.now).await?;
        }
        let last = Words { text: last, keyboard: words.keyboard };
        outbox::put(self.tx.as_ref(), &self.letter(last, card), self.now).await
    }

    async fn say_key(&self, key: Key) -> Result<Handled, StoreError> {
        self.say(self.text(key, &[])).await
    }

    /// How the person is called on: by `@name` where they have one, so that only they are asked to answer.
    fn called(&self) -> String {
        match &self.person.username {
            Some(username) => format!("@{username}"),
            None => crate::catalog::wording::visible(&self.person.name),
        }
    }

    /// Makes the next message an answer: needed in groups, where the bot sees no others.
    fn wants_answer(&self) -> Keyboard {
        let named_only = self.chat.kind != ChatKind::Private && self.person.username.is_some();
        Keyboard::Answer { named_only }
    }
}
