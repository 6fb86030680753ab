//! Commands about one case: `/take`, `/link` and the rest. The case is named by its marker or number, or by the card that
//! the command answers.

use super::{
    COMMANDS, Shift,
    deed::{Deed, Target},
    typed::{self, How, NoReason, REASON},
};
use crate::{
    catalog::{
        texts::Key,
        wording::{age, state_words, visible},
    },
    domain::input::{ChatKind, Handled},
    ids::{Marker, OperationId},
    store::{
        StoreError, cases,
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
        if !self.may(name) {
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
            "resend" => self.plain(args, Deed::SendAgain, Key::StaffUsageResend).await,
            "let_go" => self.plain(args, Deed::LetGo, Key::StaffUsageResend).await,
            "link" => self.link(args).await,
            "create" => self.create(args).await,
            "reject" => self.reject(args).await,
            "cancel" => self.give_up().await,
            _ => self.help().await,
        }
    }

    /// Whether the role of this moment reaches that far; what is no command of the staff's is anybody's.
    fn may(&self, name: &str) -> bool {
        COMMANDS.iter().find(|(known, _)| *known == name).is_none_or(|(_, needed)| self.actor.role >= *needed)
    }

    /// What this person may use; in private, where they may also fill in forms, that too.
    async fn help(&self) -> Result<Handled, StoreError> {
        let lines = COMMANDS.iter().filter(|(name, _)| self.may(name)).filter_map(|(name, _)| {
            let key = Key::ALL.iter().find(|key| key.split() == ("menu", name))?;
            Some(format!("/{name} — {}", self.text(*key, &[])))
        });
        let lines = lines.collect::<Vec<_>>().join("\n");
        let mut text = self.text(Key::StaffHelp, &[("commands", &lines)]);
        if self.chat.kind == ChatKind::Private {
            text = format!("{text}\n\n{}", self.text(Key::DialogHelp, &[]));
        }
        self.say(text).await
    }

    /// A deed that needs nothing but its case.
    async fn plain(&self, args: &str, deed: Deed, usage: Key) -> Result<Handled, StoreError> {
        match self.target_for(args, &deed, usage).await? {
            Some((target, "")) => self.commanded(&target, &deed).await,
            // Whoever names two must not believe that both were meant.
            Some((_, rest)) => {
                let usage = self.text(usage, &[]);
                let args = [("rest", &*visible(rest)), ("usage", &usage)];
                self.say(self.text(Key::StaffOneAtATime, &args)).await
            }
            None => Ok(Handled::quietly()),
        }
    }

    async fn link(&self, args: &str) -> Result<Handled, StoreError> {
        let any = Deed::Link { number: String::new() };
        let Some((target, rest)) = self.target_for(args, &any, Key::StaffUsageLink).await? else {
            return Ok(Handled::quietly());
        };
        let Some(typed) = self.staff.number(rest) else {
            if rest.is_empty() {
                return self.say_key(Key::StaffUsageLink).await;
            }
            let usage = self.text(Key::StaffUsageLink, &[]);
            let args = [("number", &*visible(rest)), ("usage", &usage)];
            return self.say(self.text(Key::StaffNotANumber, &args)).await;
        };
        let number = typed.number;
        let deed = match typed.how {
            How::Checked => Deed::Link { number },
            How::Keyless => Deed::LinkKeyless { number },
            How::Unchecked => Deed::LinkUnchecked { number },
        };
        self.commanded(&target, &deed).await
    }

    /// Nothing is created at a command: the risk is shown, and a second tap by the same person does it.
    async fn create(&self, args: &str) -> Result<Handled, StoreError> {
        let any = Deed::Create { reason: String::new() };
        let Some((target, rest)) = self.target_for(args, &any, Key::StaffUsageCreate).await? else {
            return Ok(Handled::quietly());
        };
        let reason = match typed::reason(rest) {
            Ok(reason) => reason,
            Err(why) => return self.no_reason(why).await,
        };
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
        let reason = match typed::reason(rest) {
            Ok(reason) => reason,
            Err(why) => return self.no_reason(why).await,
        };
        self.commanded(&target, &Deed::Reject { reason }).await
    }

    pub(super) async fn no_reason(&self, why: NoReason) -> Result<Handled, StoreError> {
        match why {
            NoReason::Empty => self.say_key(Key::StaffReasonWanted).await,
            NoReason::TooLong(got) => {
                let (most, got) = (REASON.to_string(), got.to_string());
                self.say(self.text(Key::StaffReasonTooLong, &[("max", &most), ("got", &got)])).await
            }
        }
    }

    /// Does it, and answers where the command was given.
    pub(super) async fn commanded(&self, target: &Target, deed: &Deed) -> Result<Handled, StoreError> {
        let (ruling, go_on) = self.staff.act(self.tx, self.actor, target, None, deed, self.now).await?;
        let words = self.staff.ruling_words(self.tx, self.lang, target, &ruling).await?;
        self.say(words).await?;
        Ok(Handled { send_now: go_on.into_iter().collect(), ..Handled::default() })
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
        if let Some(marker) = self.reply_to.and_then(|reply| reply.marker.as_ref()) {
            return self.by_marker(marker, args).await;
        }
        if let Ok(id) = first.parse() {
            let stored = operations::load(self.tx.as_ref(), OperationId(id)).await?;
            if let Some(stored) = stored.filter(|stored| stored.bot == self.staff.bot) {
                return Ok(Named::Operation(Box::new(stored), rest.trim()));
            }
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
        // A ticket's number is no code, and an answer to some other message names nothing: the usage says what does.
        if args.is_empty() || self.reply_to.is_some() || first.starts_with(|c: char| c.is_ascii_digit() || c == '№') {
            return Ok(Named::Nothing);
        }
        self.say(self.text(Key::StaffNoSuchMarker, &[("marker", &visible(first))])).await?;
        Ok(Named::Said)
    }

    async fn by_marker<'a>(&self, marker: &Marker, rest: &'a str) -> Result<Named<'a>, StoreError> {
        let mut found = operations::by_marker(self.tx.as_ref(), self.staff.bot, marker).await?;
        let text = match found.len() {
            0 => self.text(Key::StaffNoSuchMarker, &[("marker", marker.as_str())]),
            1 => match found.pop() {
                Some(only) => return Ok(Named::Operation(Box::new(only), rest)),
                None => return Ok(Named::Nothing),
            },
            count => {
                let mut lines = Vec::new();
                for stored in &found {
                    lines.push(self.told_apart(stored).await?);
                }
                let (count, list) = (count.to_string(), lines.join("\n"));
                let args = [("marker", marker.as_str()), ("count", &count), ("list", &list)];
                self.text(Key::StaffManyMarkers, &args)
            }
        };
        self.say(text).await?;
        Ok(Named::Said)
    }

    /// An operation among others of the same marker: its open case's number, or its own id, and what tells them apart.
    async fn told_apart(&self, stored: &Stored) -> Result<String, StoreError> {
        let all = cases::of_operation(self.tx.as_ref(), stored.operation.id).await?;
        let open = all.iter().find(|case| case.closed.is_none());
        let name = open.map_or_else(|| stored.operation.id.to_string(), |case| format!("#{}", case.id));
        let state = state_words(&self.staff.texts, self.lang, &stored.operation);
        let age = age(&self.staff.texts, self.lang, self.now, stored.operation.confirmed_at);
        Ok(format!("{name} · {state} · {} · {age}", stored.form_title))
    }

    /// The case whose card the command answers: the present one, or an older copy, which its buttons tell of.
    async fn card_answered(&self) -> Result<Option<Target>, StoreError> {
        let Some(reply) = self.reply_to else { return Ok(None) };
        let card = self.card_at(reply.message).await?;
        let number = card.as_deref().and_then(|card| card.strip_prefix("case:")).and_then(|id| id.parse().ok());
        match number.or(reply.case) {
            Some(number) => self.target_of(number).await,
            None => Ok(None),
        }
    }
}
