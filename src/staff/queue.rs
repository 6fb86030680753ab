//! Looking: the queue, one case, why it is one, what is where, the day in figures.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

use super::{
    Shift,
    deed::{Deed, Target},
    typed::{self, Asked},
};
use crate::{
    catalog::{
        texts::Key,
        timeline::timeline,
        wording::{age, matter_words, span, state_words, visible},
    },
    domain::{
        input::Handled,
        notice::{Button, Notice, Words},
        review::{WORDS, redact},
    },
    ids::{MessageId, UserId},
    store::{
        StoreError, cards,
        cases::{self, Case, Filter},
        figures, journal,
        operations::{self, Stored},
        outbox::{self, Letter},
        settings,
    },
    telegram::button::{Hand, Intent},
};

/// Cases on one page.
const PAGE: u64 = 10;

/// What the name of a message that shows a page of the queue begins with.
const PAGES: &str = "page:";

/// Operations `/find` lists.
const FOUND: u64 = 10;

impl Shift<'_> {
    /// The queue, oldest first.
    pub(super) async fn queue(&self, args: &str) -> Result<Handled, StoreError> {
        match typed::asked(args) {
            Some(asked) => {
                let mut page = self.page(&asked).await?;
                page.text = self.under_pause(page.text).await?;
                self.say_page(page).await?;
                Ok(Handled::quietly())
            }
            None => self.say(self.text(Key::StaffUsageQueue, &[("words", &WORDS.join(", "))])).await,
        }
    }

    /// Another page, in the same message: but a button's data can be forged, and nothing else is written over. Under
    /// any other message, and under a page nobody remembers, the page comes as a new message.
    pub(super) async fn turn_page(&self, asked: &Asked, message: Option<MessageId>) -> Result<Handled, StoreError> {
        let words = self.page(asked).await?;
        let card = match message {
            Some(message) => self.card_at(message).await?,
            None => None,
        };
        match card.filter(|card| card.starts_with(PAGES)) {
            Some(page) => outbox::put(self.tx.as_ref(), &self.letter(words, Some(page)), self.now).await?,
            None => self.say_page(words).await?,
        }
        Ok(Handled::toast(self.text(Key::TapDone, &[])))
    }

    /// A page at the end of the chat; its person's pages are turned there from now on.
    async fn say_page(&self, words: Words) -> Result<(), StoreError> {
        let name = format!("{PAGES}{}:{}:{}", self.staff.bot, self.chat.id, self.actor.id);
        cards::forget(self.tx.as_ref(), &name).await?;
        self.say_parts(words, Some(name)).await
    }

    async fn page(&self, asked: &Asked) -> Result<Words, StoreError> {
        let (db, bot) = (self.tx.as_ref(), self.staff.bot);
        let given = |word: &str| (!word.is_empty()).then(|| word.to_owned());
        let taken_by = match asked.hand {
            Hand::Mine => Some(self.actor.id),
            Hand::Of(user) => Some(user),
            Hand::Any | Hand::Nobody => None,
        };
        let untaken = asked.hand == Hand::Nobody;
        let filter = Filter { form: given(&asked.form), word: given(&asked.reason), taken_by, untaken };
        let total = cases::count_open(db, bot, &filter).await?;
        if total == 0 {
            let all = filter == Filter::default();
            return Ok(Words::plain(self.text(if all { Key::StaffQueueEmpty } else { Key::StaffQueueNothing }, &[])));
        }
        // A page that has emptied meanwhile shows the last one there is.
        let last = total.div_ceil(PAGE);
        let page = u64::from(asked.page).clamp(1, last);
        let mut text = self.text(Key::StaffQueueHead, &[("count", &total.to_string())]);
        for case in cases::queue(db, bot, &filter, (page - 1) * PAGE, PAGE).await? {
            text.push('\n');
            text.push_str(&self.line(&case).await?);
        }
        let left = total.saturating_sub(page * PAGE);
        if left > 0 {
            text.push('\n');
            text.push_str(&self.text(Key::StaffMore, &[("count", &left.to_string())]));
        }
        let turn = |key: Key, page: u64| {
            let page = u32::try_from(page).unwrap_or(1);
            let intent =
                Intent::Queue { page, hand: asked.hand, reason: asked.reason.clone(), form: asked.form.clone() };
            Button::data(self.text(key, &[]), intent.encode())
        };
        let mut row = Vec::new();
        if page > 1 {
            row.push(turn(Key::StaffButtonOlder, page - 1));
        }
        if page < last {
            row.push(turn(Key::StaffButtonNewer, page + 1));
        }
        Ok(Words::with_buttons(text, if row.is_empty() { Vec::new() } else { vec![row] }))
    }

    async fn line(&self, case: &Case) -> Result<String, StoreError> {
        let stored = match case.operation {
            Some(operation) => operations::load(self.tx.as_ref(), operation).await?,
            None => None,
        };
        let name = Target { case: Some(case.clone()), stored }.name();
        let age = age(&self.staff.texts, self.lang, self.now, case.opened_at);
        let reason = matter_words(&self.staff.texts, self.lang, &case.matter);
        let mut line = self.text(Key::StaffQueueLine, &[("marker", &name), ("age", &age), ("reason", &reason)]);
        if let Some(taken) = case.holder(self.now) {
            let by = visible(&self.staff.called(self.tx, taken.by).await?);
            line.push_str(&self.text(Key::StaffQueueTaken, &[("name", &by)]));
        }
        Ok(line)
    }

    /// A case's card anew, at the end of the staff chat, and where it was asked for; or where its operation stands.
    pub(super) async fn show(&self, args: &str) -> Result<Handled, StoreError> {
        let Some((target, _)) = self.target_for(args, &Deed::Take, Key::StaffUsageShow).await? else {
            return Ok(Handled::quietly());
        };
        let Some(case) = target.case.as_ref().filter(|case| case.closed.is_none()) else {
            let state = target.stored.as_ref().map_or_else(|| "—".to_owned(), |stored| self.state(stored));
            return self.say(self.text(Key::StaffWhyHead, &[("marker", &target.name()), ("state", &state)])).await;
        };
        // A fresh message, which the card's edits follow from now on.
        cards::forget(self.tx.as_ref(), &case.card()).await?;
        let unknown = crate::domain::delivery::OnUnknown::Repeat;
        cases::show(self.tx.as_ref(), self.staff.bot, case.id, case.operation, unknown, self.now).await?;
        if Some(self.chat.id) != self.staff.home(self.tx).await? {
            // A copy for whoever asked elsewhere: as the case is when it is sent, and not edited afterwards.
            let notice = match case.operation {
                Some(operation) => Notice::Case { operation, case: case.id },
                None => Notice::Desk { case: case.id },
            };
            let copy = Letter { operation: case.operation, notice, ..self.letter(Words::plain(""), None) };
            outbox::put(self.tx.as_ref(), &copy, self.now).await?;
        }
        Ok(Handled::quietly())
    }

    pub(super) async fn why(&self, args: &str) -> Result<Handled, StoreError> {
        match self.operation_for(args, Key::StaffUsageShow).await? {
            Some(stored) => self.tell_why(&stored).await,
            None => Ok(Handled::quietly()),
        }
    }

    /// The history from the journal, as a story.
    pub(super) async fn tell_why(&self, stored: &Stored) -> Result<Handled, StoreError> {
        let args = [("marker", stored.marker.as_str()), ("state", &self.state(stored))];
        let mut text = self.text(Key::StaffWhyHead, &args);
        let history = journal::of_operation(self.tx.as_ref(), stored.operation.id).await?;
        let mut names = BTreeMap::new();
        for by in history.iter().filter_map(|line| line.entry.by) {
            if let Entry::Vacant(unknown) = names.entry(by) {
                unknown.insert(self.staff.called(self.tx, UserId(by)).await?);
            }
        }
        let entries: Vec<_> = history.into_iter().map(|line| (line.at, line.entry)).collect();
        for line in timeline(&self.staff.texts, self.lang, &self.staff.hours, &entries, &names) {
            text.push('\n');
            text.push_str(&line);
        }
        self.say(text).await
    }

    /// Operations by number, marker, the end of a telephone number, or a name.
    pub(super) async fn find(&self, args: &str) -> Result<Handled, StoreError> {
        let wanted = args.trim();
        if wanted.is_empty() {
            return self.say_key(Key::StaffUsageFind).await;
        }
        // One more than is shown tells that there are more.
        let mut found = operations::find(self.tx.as_ref(), self.staff.bot, wanted, FOUND + 1).await?;
        let is_cut = found.len() as u64 > FOUND;
        found.truncate(usize::try_from(FOUND).unwrap_or(usize::MAX));
        if found.is_empty() {
            return self.say(self.text(Key::StaffFindNone, &[("text", &visible(wanted))])).await;
        }
        let lines = found.iter().map(|stored| {
            let name = stored.client_name.as_deref().map_or_else(|| stored.user.to_string(), visible);
            let tail = stored.client_phone.as_deref().map(redact).unwrap_or_default();
            let client = if tail.is_empty() { name } else { format!("{name}, {tail}") };
            let args = [
                ("marker", stored.marker.as_str()),
                ("state", &self.state(stored)),
                ("form", &stored.form_title),
                ("client", &client),
                ("age", &age(&self.staff.texts, self.lang, self.now, stored.operation.confirmed_at)),
            ];
            self.text(Key::StaffFindLine, &args)
        });
        let more = is_cut.then(|| self.text(Key::StaffFindMore, &[("shown", &FOUND.to_string())]));
        self.say(lines.chain(more).collect::<Vec<_>>().join("\n")).await
    }

    /// Today in figures.
    pub(super) async fn stats(&self) -> Result<Handled, StoreError> {
        let since = self.staff.hours.day_of(self.now);
        let day = figures::since(self.tx.as_ref(), self.staff.bot, since, self.now).await?;
        let (number, took) = (|n: u64| n.to_string(), |ms: Option<u64>| self.took(ms));
        let settled = day.settled;
        let args = [
            ("since", self.staff.hours.short(since)),
            ("confirmed", number(day.confirmed)),
            ("tickets", number(day.tickets)),
            ("repeats", number(day.repeats)),
            ("unknown", number(day.unknown)),
            ("found", number(settled.found)),
            ("answered", number(settled.answered)),
            ("by_staff", number(settled.by_staff)),
            ("rejected", number(settled.rejected)),
            ("open", number(settled.open)),
            ("median", took(day.median_ms)),
            ("worst", took(day.worst_ms)),
            ("queue", number(day.open_cases)),
            ("oldest", took(day.oldest_case_ms)),
        ];
        let args: Vec<_> = args.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.say(self.under_pause(self.text(Key::StaffStats, &args)).await?).await
    }

    /// A pause explains much of what a queue or a day's figures show: it goes before them.
    async fn under_pause(&self, text: String) -> Result<String, StoreError> {
        let paused = settings::get(self.tx.as_ref(), settings::PAUSED).await?.is_some();
        Ok(if paused { format!("{}\n\n{text}", self.text(Key::StaffPaused, &[])) } else { text })
    }

    fn took(&self, millis: Option<u64>) -> String {
        millis
            .map_or_else(|| "—".to_owned(), |millis| span(&self.staff.texts, self.lang, Duration::from_millis(millis)))
    }

    fn state(&self, stored: &Stored) -> String {
        state_words(&self.staff.texts, self.lang, &stored.operation)
    }
}
