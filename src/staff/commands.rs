//! Commands about one case: `/take`, `/link` and the rest. The case is named by its marker or number, or by the card that
//! the command answers.

use super::{
    COMMANDS, Shift,
    deed::{Deed, Target},
    typed,
};
use crate::{
    catalog::{texts::Key, wording::visible},
    domain::input::{ChatKind, Handled},
    ids::Marker,
    store::{
        StoreError, cards,
        operations::{self, Stored},
    },
};

/// What a command is about, with the rest of its words.
enum Named<'a> {
    /// An operation, by its marker.
    Operation(Box<Stored>, &'a str),
    /// A case, by its number or its card.
    Case(Box<Target>, &'a str),
    /// Nothing was named.
    Nothing,
    /// The answer has been said already.
    Said,
}

impl Shift<'_> {
    pub(super) async fn command(&self, name: &str, args: &str) -> Result<Handled, StoreError> {
        if name == "cancel" {
            return self.give_up().await;
        }
        if name == "help" {
            return self.help().await;
        }
        let needed = COMMANDS.iter().find(|(known, _)| *known == name).map(|(_, role)| *role);
        if needed.is_none_or(|needed| self.actor.role < needed) {
            return self.say_key(Key::StaffNotYours).await;
        }
        match name {
            "queue" => self.queue(args).await,
            "find" => self.find(args).await,
            "stats" => self.stats().await,
            "pause" => self.pause().await,
            "resume" => self.resume().await,
            "shelf" => self.shelf().await,
            "replay" => self.replay(args).await,
            "show" => self.show(args).await,
            "why" => self.why(args).await,
            "take" => self.plain(args, Deed::Take, Key::StaffUsageTake).await,
            "hand_back" => self.plain(args, Deed::HandBack, Key::StaffUsageTake).await,
            "look" => self.plain(args, Deed::LookAgain, Key::StaffUsageLook).await,
            "resend" => self.plain(args, Deed::SendAgain, Key::StaffUsageShow).await,
            "let_go" => self.plain(args, Deed::LetGo, Key::StaffUsageShow).await,
            "link" => self.link(args).await,
            "create" => self.create(args).await,
            "reject" => self.reject(args).await,
            _ => self.say_key(Key::StaffHelp).await,
        }
    }

    /// What staff may do; in private also what everybody may.
    async fn help(&self) -> Result<Handled, StoreError> {
        let desk = self.text(Key::StaffHelp, &[]);
        if self.chat.kind != ChatKind::Private {
            return self.say(desk).await;
        }
        self.say(format!("{}\n\n{desk}", self.text(Key::DialogHelp, &[]))).await
    }

    /// A deed that needs nothing but its case.
    async fn plain(&self, args: &str, deed: Deed, usage: Key) -> Result<Handled, StoreError> {
        match self.target_for(args, &deed, usage).await? {
            Some((target, _)) => self.commanded(&target, &deed).await,
            None => Ok(Handled::quietly()),
        }
    }

    async fn link(&self, args: &str) -> Result<Handled, StoreError> {
        let any = Deed::Link { number: String::new() };
        let Some((target, rest)) = self.target_for(args, &any, Key::StaffUsageLink).await? else {
            return Ok(Handled::quietly());
        };
        let Some(typed) = typed::number(rest) else { return self.say_key(Key::StaffUsageLink).await };
        let number = typed.number;
        let deed = if typed.unchecked { Deed::LinkUnchecked { number } } else { Deed::Link { number } };
        self.commanded(&target, &deed).await
    }

    /// Nothing is created at a command: the risk is shown, and a second tap by the same person does it.
    async fn create(&self, args: &str) -> Result<Handled, StoreError> {
        let any = Deed::Create { reason: String::new() };
        let Some((target, rest)) = self.target_for(args, &any, Key::StaffUsageCreate).await? else {
            return Ok(Handled::quietly());
        };
        let Some(reason) = typed::reason(rest) else { return self.say_key(Key::StaffReasonWanted).await };
        if let Some(no) = self.staff.hindrance(self.tx, self.actor, &target, None, &any, self.now).await? {
            return self.say(self.staff.ruling_words(self.tx, self.lang, &target, &no).await?).await;
        }
        let rev = target.case.as_ref().map_or(0, |case| case.rev);
        self.ask_sure(&target, rev, reason, true).await?;
        Ok(Handled::quietly())
    }

    async fn reject(&self, args: &str) -> Result<Handled, StoreError> {
        let any = Deed::Reject { reason: String::new() };
        let Some((target, rest)) = self.target_for(args, &any, Key::StaffUsageReject).await? else {
            return Ok(Handled::quietly());
        };
        let Some(reason) = typed::reason(rest) else { return self.say_key(Key::StaffReasonWanted).await };
        self.commanded(&target, &Deed::Reject { reason }).await
    }

    /// Does it, and answers where the command was given.
    pub(super) async fn commanded(&self, target: &Target, deed: &Deed) -> Result<Handled, StoreError> {
        let (ruling, go_on) = self.staff.act(self.tx, self.actor, target, None, deed, self.now).await?;
        let words = self.staff.ruling_words(self.tx, self.lang, target, &ruling).await?;
        self.say(words).await?;
        Ok(Handled { toast: None, send_now: go_on.into_iter().collect() })
    }

    /// The case a deed is about, with the rest of the command; `None` when the answer has been said already.
    pub(super) async fn target_for<'a>(
        &self,
        args: &'a str,
        deed: &Deed,
        usage: Key,
    ) -> Result<Option<(Target, &'a str)>, StoreError> {
        Ok(match self.named(args).await? {
            Named::Operation(stored, rest) => Some((self.staff.target(self.tx, *stored, deed).await?, rest)),
            Named::Case(target, rest) => Some((*target, rest)),
            Named::Nothing => {
                self.say_key(usage).await?;
                None
            }
            Named::Said => None,
        })
    }

    /// The operation a command is about, if it is about one; `None` when the answer has been said already.
    pub(super) async fn operation_for(&self, args: &str, usage: Key) -> Result<Option<Stored>, StoreError> {
        Ok(match self.named(args).await? {
            Named::Operation(stored, _) => Some(*stored),
            Named::Case(target, _) => match target.stored {
                Some(stored) => Some(stored),
                None => {
                    self.say(self.text(Key::StaffNotThis, &[("case", &target.name())])).await?;
                    None
                }
            },
            Named::Nothing => {
                self.say_key(usage).await?;
                None
            }
            Named::Said => None,
        })
    }

    async fn named<'a>(&self, args: &'a str) -> Result<Named<'a>, StoreError> {
        let (first, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
        if let Some(marker) = Marker::parse(first) {
            return self.by_marker(&marker, rest.trim()).await;
        }
        if let Some(card) = self.card_answered().await? {
            return Ok(Named::Case(Box::new(card), args));
        }
        if let Some(number) = first.strip_prefix('#').and_then(|digits| digits.parse().ok()) {
            return Ok(match self.target_of(number).await? {
                Some(target) => Named::Case(Box::new(target), rest.trim()),
                None => {
                    self.say(self.text(Key::StaffNoSuchCase, &[("case", first)])).await?;
                    Named::Said
                }
            });
        }
        if args.is_empty() {
            return Ok(Named::Nothing);
        }
        self.say(self.text(Key::StaffNoSuchMarker, &[("marker", &visible(first))])).await?;
        Ok(Named::Said)
    }

    async fn by_marker<'a>(&self, marker: &Marker, rest: &'a str) -> Result<Named<'a>, StoreError> {
        let mut found = operations::by_marker(self.tx.as_ref(), self.staff.bot, marker).await?.into_iter();
        let text = match (found.next(), found.len()) {
            (Some(only), 0) => return Ok(Named::Operation(Box::new(only), rest)),
            (Some(_), more) => {
                let count = (more + 1).to_string();
                self.text(Key::StaffManyMarkers, &[("marker", marker.as_str()), ("count", &count)])
            }
            (None, _) => self.text(Key::StaffNoSuchMarker, &[("marker", marker.as_str())]),
        };
        self.say(text).await?;
        Ok(Named::Said)
    }

    /// The case whose card the command answers.
    async fn card_answered(&self) -> Result<Option<Target>, StoreError> {
        let Some(message) = self.reply_to else { return Ok(None) };
        let card = cards::by_message(self.tx.as_ref(), self.staff.bot, self.chat.id, message).await?;
        let number = card.as_deref().and_then(|card| card.strip_prefix("case:")).and_then(|id| id.parse().ok());
        match number {
            Some(number) => self.target_of(number).await,
            None => Ok(None),
        }
    }
}
