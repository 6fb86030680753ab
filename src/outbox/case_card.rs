//! A case's card: what staff need to decide, and the buttons to do it with. Worded when it is sent, from the case and
//! its operation as they are then.

use super::Outbox;
use crate::{
    catalog::{
        texts::{Key, Texts},
        timeline::event_words,
        wording::{age, attempt_words, matter_words, state_words, trouble_words, visible},
    },
    clock::Timestamp,
    domain::{
        hours::WorkingHours,
        notice::{Button, Words},
        operation::State,
        review::{Matter, redact},
        ticket::Ticket,
    },
    ids::UserId,
    store::{
        Db, StoreError,
        cases::{self, Case},
        journal,
        operations::{self, Attempt, Stored},
        outbox, people, steps,
    },
    telegram::button::{CaseWish, Intent},
};

/// Most candidates and attempts a card lists.
const LISTED: usize = 5;

/// What a card is made of.
struct Card<'a> {
    outbox: &'a Outbox,
    db: &'a Db,
    lang: &'a str,
    case: &'a Case,
    stored: Option<&'a Stored>,
    now: Timestamp,
}

/// The card of a case; `None` when the case is gone.
pub(super) async fn case_card(
    outbox: &Outbox,
    db: &Db,
    case: i64,
    now: Timestamp,
) -> Result<Option<Words>, StoreError> {
    let Some(case) = cases::load(db, case).await? else { return Ok(None) };
    let stored = match case.operation {
        Some(operation) => operations::load(db, operation).await?,
        None => None,
    };
    let lang = outbox.texts.lang(None);
    let card = Card { outbox, db, lang, case: &case, stored: stored.as_ref(), now };
    if case.closed.is_some() { card.closed().await.map(Some) } else { card.open().await.map(Some) }
}

impl Card<'_> {
    fn texts(&self) -> &Texts {
        &self.outbox.texts
    }

    fn say(&self, key: Key, args: &[(&str, &str)]) -> String {
        self.texts().say(self.lang, key, args)
    }

    /// What staff call the case: its marker, or its number.
    fn name(&self) -> String {
        case_name(self.case, self.stored)
    }

    fn state(&self) -> String {
        self.stored.map_or_else(|| "—".to_owned(), |stored| state_words(self.texts(), self.lang, &stored.operation))
    }

    async fn closed(&self) -> Result<Words, StoreError> {
        let name = self.name();
        let Matter::Review { .. } = self.case.matter else {
            let closed = self.case.closed.as_ref();
            let by = closed.and_then(|closed| closed.by.zip(closed.how.as_deref()));
            return Ok(Words::plain(match by {
                Some((by, how)) => {
                    let how = event_words(self.texts(), self.lang, how);
                    let by = visible(&self.called(by).await?);
                    self.say(Key::StaffCaseClosed, &[("case", &name), ("how", &how), ("name", &by)])
                }
                None => self.say(Key::StaffCaseClosedItself, &[("case", &name)]),
            }));
        };
        let mut text = self.say(Key::StaffCaseSettled, &[("marker", &name), ("state", &self.state())]);
        if let Some(decided) = self.decided().await? {
            text.push('\n');
            text.push_str(&decided);
        }
        Ok(Words::plain(text))
    }

    /// Who decided last while the case was open, and what; nobody did when it settled by itself.
    async fn decided(&self) -> Result<Option<String>, StoreError> {
        let Some(stored) = self.stored else { return Ok(None) };
        let last = journal::last_decision(self.db, stored.operation.id).await?;
        let Some(line) = last.filter(|line| line.at >= self.case.opened_at) else { return Ok(None) };
        let Some(by) = line.entry.by else { return Ok(None) };
        let name = visible(&self.called(crate::ids::UserId(by)).await?);
        let what = event_words(self.texts(), self.lang, &line.entry.event);
        Ok(Some(self.say(Key::StaffCaseDecided, &[("name", &name), ("what", &what)])))
    }

    async fn open(&self) -> Result<Words, StoreError> {
        let mut text = self.head().await?;
        let candidates = self.candidates();
        if !candidates.is_empty() {
            text.push_str("\n\n");
            text.push_str(&self.say(Key::StaffCaseCandidates, &[("list", &candidates.join("\n"))]));
        }
        if let Some(taken) = self.case.holder(self.now) {
            let name = visible(&self.called(taken.by).await?);
            let until = self.outbox.hours.short(taken.until);
            text.push_str("\n\n");
            text.push_str(&self.say(Key::StaffCaseTaken, &[("name", &name), ("until", &until)]));
        }
        if let Some((by, reason)) = &self.case.asked {
            let name = visible(&self.called(*by).await?);
            text.push_str("\n\n");
            text.push_str(&self.say(Key::StaffCaseAsked, &[("name", &name), ("reason", &visible(reason))]));
        }
        if self.is_under_way() {
            // What was decided is being carried out: nothing to press meanwhile.
            return Ok(Words::plain(format!("{text}\n\n{}", self.state())));
        }
        Ok(Words::with_buttons(text, self.buttons()))
    }

    async fn head(&self) -> Result<String, StoreError> {
        let (case, reason) = (self.name(), matter_words(self.texts(), self.lang, &self.case.matter));
        // An age is as old as the showing; the moment beside it stays true.
        let (opened_at, opened) = self.since(self.case.opened_at);
        let (case, reason) = (("case", case.as_str()), ("reason", reason.as_str()));
        let (since, age) = (("since", opened_at.as_str()), ("age", opened.as_str()));
        let Some(stored) = self.stored else {
            let row = self.case.matter.subject();
            if let Matter::Undelivered { .. } = self.case.matter {
                let client = self.hearer(row).await?;
                return Ok(self.say(Key::StaffCaseUnheard, &[case, reason, ("client", &client), age, since]));
            }
            return Ok(self.say(Key::StaffCaseShelved, &[case, reason, ("row", &row.to_string()), age, since]));
        };
        let (form, client) = (("form", stored.form_title.as_str()), client(stored));
        let client = ("client", client.as_str());
        Ok(match &self.case.matter {
            Matter::Undelivered { .. } | Matter::Shelved { .. } => {
                self.say(Key::StaffCaseUndelivered, &[case, reason, client, ("state", &self.state()), age, since])
            }
            Matter::Twin { .. } => self.say(Key::StaffCaseTwin, &[case, reason, form, client, age, since]),
            Matter::Review { .. } => {
                let attempts = operations::attempts(self.db, stored.operation.id).await?;
                let answers = answers(self.texts(), self.lang, &self.outbox.hours, &attempts);
                let (sent, answer) = (sent(stored), in_a_card(&answers));
                let (confirmed_at, waits) = self.since(stored.operation.confirmed_at);
                let waits = [("age", waits.as_str()), ("since", &confirmed_at)];
                let open = [("opened", opened.as_str()), ("opened_at", &opened_at)];
                let rest = [("marker", case.1), ("sent", &sent), ("answer", &answer)];
                self.say(Key::StaffCase, &[&[form, reason, client], &rest[..], &waits, &open].concat())
            }
        })
    }

    /// A moment in staff's own time, and how long ago it is.
    fn since(&self, moment: Timestamp) -> (String, String) {
        (self.outbox.hours.short(moment), age(self.texts(), self.lang, self.now, moment))
    }

    /// Who should have heard a message about no operation: their name, or their chat's number.
    async fn hearer(&self, row: i64) -> Result<String, StoreError> {
        let Some(row) = outbox::load(self.db, row).await? else { return Ok("—".to_owned()) };
        // A private chat has its person's number.
        let name = people::name(self.db, row.bot, UserId(row.chat.0)).await?;
        Ok(name.map_or_else(|| row.chat.to_string(), |name| visible(&name)))
    }

    fn candidates(&self) -> Vec<String> {
        let line = |ticket: &Ticket| match &ticket.url {
            Some(url) => format!("№ {} — {url}", ticket.number),
            None => format!("№ {}", ticket.number),
        };
        let all = self.case.matter.candidates();
        let mut lines: Vec<_> = all.iter().take(LISTED).map(line).collect();
        if all.len() > LISTED {
            let more = (all.len() - LISTED).to_string();
            lines.push(self.say(Key::StaffMore, &[("count", &more)]));
        }
        lines
    }

    async fn called(&self, user: UserId) -> Result<String, StoreError> {
        steps::name(self.db, self.outbox.bot, user).await
    }

    fn is_under_way(&self) -> bool {
        let review = matches!(self.case.matter, Matter::Review { .. });
        review && self.stored.is_some_and(|stored| !matches!(stored.operation.state, State::Review { .. }))
    }

    fn button(&self, key: Key, wish: CaseWish) -> Button {
        let intent = Intent::Case { case: self.case.id, rev: self.case.rev, wish };
        Button::data(self.say(key, &[]), intent.encode())
    }

    fn buttons(&self) -> Vec<Vec<Button>> {
        let mut rows = Vec::new();
        let hand = match self.case.holder(self.now) {
            Some(_) => self.button(Key::StaffButtonHandBack, CaseWish::HandBack),
            None => self.button(Key::StaffButtonTake, CaseWish::Take),
        };
        match &self.case.matter {
            Matter::Review { .. } => {
                if self.case.asked.is_some() {
                    rows.push(vec![self.button(Key::StaffButtonConsent, CaseWish::Consent)]);
                }
                if self.case.matter.keyless().is_some() {
                    rows.push(vec![self.button(Key::StaffButtonKeyless, CaseWish::Keyless)]);
                }
                let mut first = vec![hand];
                if self.outbox.can_look {
                    first.push(self.button(Key::StaffButtonLook, CaseWish::LookAgain));
                }
                rows.push(first);
                let number = self.button(Key::StaffButtonLink, CaseWish::AskNumber);
                rows.push(vec![number, self.button(Key::StaffButtonCreate, CaseWish::AskCreate)]);
                let why = self.button(Key::StaffButtonWhy, CaseWish::Why);
                rows.push(vec![self.button(Key::StaffButtonReject, CaseWish::AskReject), why]);
            }
            Matter::Twin { .. } => {
                rows.push(vec![hand, self.button(Key::StaffButtonSettled, CaseWish::LetGo)]);
                rows.push(vec![self.button(Key::StaffButtonWhy, CaseWish::Why)]);
            }
            Matter::Undelivered { .. } => {
                rows.push(vec![hand, self.button(Key::StaffButtonSendAgain, CaseWish::SendAgain)]);
                let mut last = vec![self.button(Key::StaffButtonLetGo, CaseWish::LetGo)];
                if self.stored.is_some() {
                    last.push(self.button(Key::StaffButtonWhy, CaseWish::Why));
                }
                rows.push(last);
            }
            Matter::Shelved { .. } => {
                rows.push(vec![hand, self.button(Key::StaffButtonReplay, CaseWish::Replay)]);
                rows.push(vec![self.button(Key::StaffButtonLetGo, CaseWish::LetGo)]);
            }
        }
        if let Some(stored) = self.stored {
            rows.push(vec![Button::copy(stored.marker.to_string(), stored.marker.as_str())]);
        }
        rows
    }
}

/// What staff call a case: the marker of what it is about, or its own number.
fn case_name(case: &Case, stored: Option<&Stored>) -> String {
    stored.map_or_else(|| format!("#{}", case.id), |stored| stored.marker.to_string())
}

/// What came back, the latest attempts, an attempt an entry; redacted.
#[must_use]
pub fn answers(texts: &Texts, lang: &str, hours: &WorkingHours, attempts: &[Attempt]) -> Vec<String> {
    let latest = attempts.iter().skip(attempts.len().saturating_sub(LISTED));
    let line = |attempt: &Attempt| {
        let mut outcome = attempt_words(texts, lang, attempt.outcome.as_deref());
        let mut apart = String::new();
        if let Some(detail) = &attempt.detail {
            let shown = redact(&visible(detail));
            match trouble_words(texts, lang, attempt.outcome.as_deref(), detail) {
                Some(words) => {
                    outcome.push_str(&format!(": {words}"));
                    apart = format!("\n{}", texts.say(lang, Key::AttemptDetail, &[("detail", &shown)]));
                }
                None => outcome.push_str(&format!(" ({shown})")),
            }
        }
        let (n, time) = (attempt.attempt.to_string(), hours.short(attempt.began_at));
        texts.say(lang, Key::StaffAttemptLine, &[("n", &n), ("time", &time), ("outcome", &outcome)]) + &apart
    };
    latest.map(line).collect()
}

/// A single answer stands beside its label, several stand below it.
fn in_a_card(answers: &[String]) -> String {
    match answers {
        [] => "—".to_owned(),
        [only] => only.clone(),
        several => format!("\n{}", several.join("\n")),
    }
}

/// Who waits: the name to search the CRM by, and the end of the telephone number to tell namesakes apart.
#[must_use]
pub fn client(stored: &Stored) -> String {
    let name = stored.client_name.as_deref().map_or_else(|| stored.user.to_string(), visible);
    match stored.client_phone.as_deref().map(redact) {
        Some(tail) if !tail.is_empty() => format!("{name}, {tail}"),
        _ => name,
    }
}

/// What the CRM was asked to make, without what may be personal beyond its subject line.
#[must_use]
pub fn sent(stored: &Stored) -> String {
    let Some(order) = &stored.order else { return "—".to_owned() };
    let mut text = redact(&visible(&order.subject));
    for (name, value) in order.fields.iter().take(LISTED) {
        text.push_str(&format!("\n  {}: {}", visible(name), redact(&visible(value))));
    }
    text
}
