//! What time alone asks for at the desk: a take that is over, a case nobody has looked at, a person who waits long.
//!
//! It looks at stored state and writes rows, like every other loop. Each deed is one conditional write, so that of two
//! replicas one reminds.

use std::{sync::Arc, time::Duration};

use crate::{
    catalog::{
        texts::{Key, Texts},
        wording::{age, matter_words, visible},
    },
    clock::{Clock, Timestamp},
    domain::{
        delivery::OnUnknown,
        hours::WorkingHours,
        notice::{Notice, NoticeKind, Policies, Words},
        role::LiveRoster,
    },
    ids::{BotId, ChatId, UserId},
    store::{
        Store, StoreError, Tx,
        cases::{self, Case},
        journal, operations,
        outbox::{self, Letter, STAFF},
        steps,
    },
};

/// How many cases and people one look takes.
const BATCH: u64 = 1_000;

/// Cases named in one reminder; the rest are counted.
const NAMED: usize = 10;

/// How far reminders have gone.
const REVIEWERS: i32 = 1;
const OWNERS: i32 = 2;

/// The desk's own loop.
#[derive(Debug, Clone)]
pub struct Reminder {
    /// The database.
    pub store: Store,
    /// Whose desk.
    pub bot: BotId,
    /// Every sentence.
    pub texts: Arc<Texts>,
    /// Who is reminded; asked anew each time.
    pub roster: LiveRoster,
    /// When staff work.
    pub hours: WorkingHours,
    /// Working time after which reviewers are reminded.
    pub remind_after: Duration,
    /// Working time after which owners are.
    pub escalate_after: Duration,
    /// How long a person waits before they are told that it takes longer.
    pub client_update_after: Duration,
    /// What to do with each kind of message when nobody knows whether it arrived.
    pub on_unknown: Policies,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl Reminder {
    /// Does what is due now. Returns how much that was.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn tick(&self) -> Result<usize, StoreError> {
        // Read first, outside the writer: most of the time there is nothing to do.
        let now = self.clock.now();
        let reader = self.store.reader();
        let over = !cases::overheld(reader, self.bot, now, 1).await?.is_empty();
        let due = !self.due(cases::unreminded(reader, self.bot, now, BATCH).await?, now).is_empty();
        let before = now.minus(self.client_update_after);
        let waiting = !operations::untold(reader, self.bot, before, 1).await?.is_empty();
        if !(over || due || waiting) {
            return Ok(0);
        }
        let this = self.clone();
        self.store
            .write(move |tx| {
                let this = this.clone();
                async move {
                    let given_back = this.give_back(&tx, now).await?;
                    let reminded = this.remind(&tx, now).await?;
                    let told = this.tell_clients(&tx, now).await?;
                    steps::sweep(tx.as_ref(), this.bot, now).await?;
                    Ok(given_back + reminded + told)
                }
            })
            .await
    }

    /// A take that is over is everybody's case again.
    async fn give_back(&self, tx: &Tx, now: Timestamp) -> Result<usize, StoreError> {
        let mut count = 0;
        for case in cases::overheld(tx.as_ref(), self.bot, now, BATCH).await? {
            if cases::hand(tx.as_ref(), &case, None).await? {
                let by = case.taken.map(|taken| taken.by);
                journal::note(tx.as_ref(), case.operation, "take_expired", by, None, now).await?;
                cases::show(tx.as_ref(), self.bot, case.id, case.operation, OnUnknown::Repeat, now).await?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Of untaken cases, oldest first, those that have waited so much working time that somebody is to hear of it, with
    /// how far to go.
    fn due(&self, untaken: Vec<Case>, now: Timestamp) -> Vec<(Case, i32)> {
        if !self.hours.holds(now) {
            return Vec::new();
        }
        let level = |case: &Case| {
            let waited = self.hours.between(case.opened_at, now);
            if waited >= self.escalate_after {
                OWNERS
            } else if waited >= self.remind_after {
                REVIEWERS
            } else {
                0
            }
        };
        let leveled = untaken.into_iter().map(|case| {
            let level = level(&case);
            (case, level)
        });
        leveled.filter(|(case, level)| case.reminded < *level).collect()
    }

    /// One message about all that has waited: to reviewers in the staff chat, and later to owners in person too.
    async fn remind(&self, tx: &Tx, now: Timestamp) -> Result<usize, StoreError> {
        let (mut reviewers, mut owners) = (Vec::new(), Vec::new());
        for (case, level) in self.due(cases::unreminded(tx.as_ref(), self.bot, now, BATCH).await?, now) {
            if !cases::note_reminder(tx.as_ref(), case.id, case.reminded, level).await? {
                continue;
            }
            let event = if level == OWNERS { "escalated" } else { "reminded" };
            journal::note(tx.as_ref(), case.operation, event, None, None, now).await?;
            if level == OWNERS { owners.push(case) } else { reviewers.push(case) }
        }
        let roster = self.roster.now();
        if !reviewers.is_empty() {
            let called = if roster.reviewers.is_empty() { &roster.owners } else { &roster.reviewers };
            let text = self.digest(tx, Key::StaffRemind, called, &reviewers, now).await?;
            self.say(tx, STAFF, text, now).await?;
        }
        if !owners.is_empty() {
            let text = self.digest(tx, Key::StaffRemind, &roster.owners, &owners, now).await?;
            self.say(tx, STAFF, text, now).await?;
            let text = self.digest(tx, Key::StaffEscalate, &[], &owners, now).await?;
            for owner in &roster.owners {
                // An owner's own chat may be the staff chat: told once is enough.
                if roster.chat != Some(ChatId(owner.0)) {
                    self.say(tx, ChatId(owner.0), text.clone(), now).await?;
                }
            }
        }
        // A card shows how things stood when it was sent. Those named in the message are shown anew; all of them at once
        // would fill the chat for minutes.
        for case in reviewers.iter().take(NAMED).chain(owners.iter().take(NAMED)) {
            let unknown = self.on_unknown.of(NoticeKind::StaffCard);
            cases::show(tx.as_ref(), self.bot, case.id, case.operation, unknown, now).await?;
        }
        Ok(reviewers.len() + owners.len())
    }

    async fn digest(
        &self,
        tx: &Tx,
        key: Key,
        called: &[UserId],
        listed: &[Case],
        now: Timestamp,
    ) -> Result<String, StoreError> {
        let lang = self.texts.lang(None);
        let mut names = Vec::new();
        for user in called {
            names.push(visible(&steps::mention(tx.as_ref(), self.bot, *user).await?));
        }
        let mut lines = Vec::new();
        for case in listed.iter().take(NAMED) {
            let stored = match case.operation {
                Some(operation) => operations::load(tx.as_ref(), operation).await?,
                None => None,
            };
            let name = stored.map_or_else(|| format!("#{}", case.id), |stored| stored.marker.to_string());
            let age = age(&self.texts, lang, now, case.opened_at);
            let reason = matter_words(&self.texts, lang, &case.matter);
            let args = [("marker", name.as_str()), ("age", &age), ("reason", &reason)];
            lines.push(self.texts.say(lang, Key::StaffQueueLine, &args));
        }
        if listed.len() > NAMED {
            let more = (listed.len() - NAMED).to_string();
            lines.push(self.texts.say(lang, Key::StaffMore, &[("count", &more)]));
        }
        let (count, lines, names) = (listed.len().to_string(), lines.join("\n"), names.join(", "));
        let all = [("count", count.as_str()), ("lines", &lines), ("names", &names)];
        // The owners' own message calls on nobody.
        let args = if key == Key::StaffRemind { &all[..] } else { &all[..2] };
        Ok(self.texts.say(lang, key, args))
    }

    async fn say(&self, tx: &Tx, chat: ChatId, text: String, now: Timestamp) -> Result<(), StoreError> {
        let letter = Letter {
            bot: self.bot,
            chat,
            thread: None,
            kind: NoticeKind::StaffCard,
            card: None,
            operation: None,
            notice: Notice::Words(Words::plain(text)),
            // A reminder that may have come is not worth a second one.
            on_unknown: OnUnknown::Drop,
        };
        outbox::put(tx.as_ref(), &letter, now).await
    }

    /// A person who has waited long is told so, once: the row itself is the memory of it.
    async fn tell_clients(&self, tx: &Tx, now: Timestamp) -> Result<usize, StoreError> {
        let before = now.minus(self.client_update_after);
        let waiting = operations::untold(tx.as_ref(), self.bot, before, BATCH).await?;
        for (operation, chat) in waiting.iter().copied() {
            let letter = Letter {
                bot: self.bot,
                chat,
                thread: None,
                kind: NoticeKind::Waiting,
                card: None,
                operation: Some(operation),
                notice: Notice::Waiting { operation },
                on_unknown: self.on_unknown.of(NoticeKind::Waiting),
            };
            outbox::put(tx.as_ref(), &letter, now).await?;
            journal::note(tx.as_ref(), Some(operation), "told_waiting", None, None, now).await?;
        }
        Ok(waiting.len())
    }
}
