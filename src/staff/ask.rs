//! Conversations: a button asks for a number, a reason or a second tap, and the next message of that person answers it.
//! What is waited for is in the database, bound to the case as it was, and forgets itself after a while.

use super::{
    Shift,
    deed::{Deed, Ruling, Target},
    question::{Answered, Asked, CREATE, NUMBER, REJECT, Shown, seal},
    typed::{self, How, Number},
};
use crate::{
    catalog::{texts::Key, wording::visible},
    domain::{
        input::Handled,
        notice::{Button, Words},
        role::Role,
    },
    ids::MessageId,
    store::{
        StoreError, cases,
        operations::{self, Stored},
        steps::{self, Step},
    },
    telegram::button::{CaseWish, Intent},
};

/// What is waited for, as its word in the database: a second tap.
const UNCHECKED: &str = "unchecked";
const SURE: &str = "sure";

/// Ready reasons, each with what it is a reason for: a button's number tells both.
const READY: [(&str, Key); 5] = [
    (CREATE, Key::StaffReadyCreate1),
    (CREATE, Key::StaffReadyCreate2),
    (REJECT, Key::StaffReadyReject1),
    (REJECT, Key::StaffReadyReject2),
    (REJECT, Key::StaffReadyReject3),
];

/// Most candidates offered as buttons.
const CANDIDATES: usize = 8;

impl Shift<'_> {
    /// The answer to what was asked.
    pub(super) async fn answer(&self, text: &str) -> Result<Handled, StoreError> {
        let step = match self.answered().await? {
            Some(Answered::Question(step)) => step,
            Some(Answered::Earlier { below: true }) => return self.say_key(Key::StaffAskBelow).await,
            Some(Answered::Earlier { below: false }) => return self.say_key(Key::StaffAskOver).await,
            None => return Ok(Handled::quietly()),
        };
        let Some(target) = self.target_of(step.case).await? else {
            self.end(step.case, self.no_such_case(step.case), true).await?;
            return Ok(Handled::quietly());
        };
        match step.what.as_str() {
            NUMBER => match self.staff.number(text) {
                Some(Number { number, how: How::Keyless }) => {
                    self.conclude(&target, step.rev, &Deed::LinkKeyless { number }, true).await
                }
                Some(typed) => self.number_given(&target, step.rev, typed.number, true).await,
                None => {
                    let key = Key::StaffAskNumberAgain;
                    let text = self.text(key, &[("name", &self.called()), ("case", &target.name())]);
                    let asked = Asked { case: step.case, rev: step.rev, what: NUMBER, data: None };
                    self.ask(asked, Words { text, keyboard: self.wants_answer() }, true).await?;
                    Ok(Handled::quietly())
                }
            },
            CREATE | REJECT => match typed::reason(text) {
                Ok(reason) => self.reason_given(&target, &step, reason, true).await,
                Err(why) => self.no_reason(why).await,
            },
            _ => Ok(Handled::quietly()),
        }
    }

    /// `/cancel` in the middle of a conversation: whatever was asked, nothing is waited for any more.
    pub(super) async fn give_up(&self) -> Result<Handled, StoreError> {
        let steps = steps::all(self.tx.as_ref(), self.place(), self.now).await?;
        for step in steps.iter().skip(1) {
            steps::forget(self.tx.as_ref(), self.place(), step.case).await?;
        }
        let text = self.text(Key::StaffAskCancelled, &[("name", &self.called())]);
        match steps.first() {
            Some(newest) => self.end(newest.case, text, true).await?,
            None => return self.say(text).await,
        }
        Ok(Handled::quietly())
    }

    /// Asks for the number.
    pub(super) async fn ask_number(&self, target: &Target, rev: i64) -> Result<Handled, StoreError> {
        let deed = Deed::Link { number: String::new() };
        if let Some(no) = self.cannot_begin(target, rev, &deed).await? {
            return Ok(no);
        }
        if !self.staff.can_verify && self.actor.role < Role::Owner {
            // Nobody is asked for what will not be taken.
            return Ok(Handled::toast(self.text(Key::StaffOwnerOnly, &[])));
        }
        let Some(case) = &target.case else { return Ok(Handled::quietly()) };
        let text = self.text(Key::StaffAskNumber, &[("name", &self.called()), ("case", &target.name())]);
        let candidates = case.matter.candidates().iter().take(CANDIDATES).zip(0_u32..).map(|(ticket, n)| {
            let wish = Intent::Case { case: case.id, rev, wish: CaseWish::Candidate(n) };
            vec![Button::data(format!("№ {}", visible(&ticket.number)), wish.encode())]
        });
        let rows: Vec<_> = candidates.collect();
        let keyboard = if rows.is_empty() { self.wants_answer() } else { self.with_cancel(rows, case.id, rev) };
        let asked = Asked { case: case.id, rev, what: NUMBER, data: None };
        self.ask(asked, Words { text, keyboard }, true).await?;
        Ok(Handled::toast(self.text(Key::TapDone, &[])))
    }

    /// Asks why it is to be created after all, with the risk in words.
    pub(super) async fn ask_create(&self, target: &Target, rev: i64) -> Result<Handled, StoreError> {
        let deed = Deed::Create { reason: String::new() };
        self.ask_reason(target, rev, &deed, CREATE).await
    }

    /// Asks why it is to be rejected.
    pub(super) async fn ask_reject(&self, target: &Target, rev: i64) -> Result<Handled, StoreError> {
        let deed = Deed::Reject { reason: String::new() };
        self.ask_reason(target, rev, &deed, REJECT).await
    }

    async fn ask_reason(&self, target: &Target, rev: i64, deed: &Deed, what: &str) -> Result<Handled, StoreError> {
        if let Some(no) = self.cannot_begin(target, rev, deed).await? {
            return Ok(no);
        }
        let (Some(case), Some(stored)) = (&target.case, &target.stored) else { return Ok(Handled::quietly()) };
        let (called, name) = (self.called(), target.name());
        let args = [("name", called.as_str()), ("case", name.as_str())];
        let text = if what == CREATE {
            let risk = self.risk(stored);
            self.text(Key::StaffAskCreate, &[args[0], args[1], ("risk", &risk)])
        } else {
            self.text(Key::StaffAskReject, &args)
        };
        let ready = READY.iter().zip(0_u32..).filter(|((reason_to, _), _)| *reason_to == what);
        let rows = ready.map(|((_, key), n)| {
            let wish = Intent::Case { case: case.id, rev, wish: CaseWish::Reason(n) };
            vec![Button::data(self.text(*key, &[]), wish.encode())]
        });
        let keyboard = self.with_cancel(rows.collect(), case.id, rev);
        self.ask(Asked { case: case.id, rev, what, data: None }, Words { text, keyboard }, true).await?;
        Ok(Handled::toast(self.text(Key::TapDone, &[])))
    }

    /// What may happen when it is created after all.
    fn risk(&self, stored: &Stored) -> String {
        let key = match (stored.operation.on_wire.is_some(), self.staff.policy.can_look) {
            (false, _) => Key::StaffRiskNone,
            (true, true) => Key::StaffRiskMayExist,
            (true, false) => Key::StaffRiskUnseen,
        };
        self.text(key, &[])
    }

    /// A tap under a question: what it answers is what this very person was asked about this very case.
    pub(super) async fn tap_on_question(
        &self,
        target: &Target,
        rev: i64,
        wish: CaseWish,
        message: Option<MessageId>,
    ) -> Result<Handled, StoreError> {
        let Some(case) = &target.case else { return Ok(Handled::toast(self.text(Key::StaffAskOver, &[]))) };
        let shown = self.shown(case.id, message).await?;
        let step = steps::find(self.tx.as_ref(), self.place(), case.id, self.now).await?;
        let step = match (step, shown) {
            (Some(step), Shown::Present) if step.rev == rev => step,
            (Some(_), Shown::Earlier) => return Ok(Handled::toast(self.text(Key::StaffAskBelow, &[]))),
            (None, Shown::Foreign) => return Ok(Handled::toast(self.text(Key::StaffAskForeign, &[]))),
            _ => return self.tap_on_answered(target, rev, wish).await,
        };
        match (wish, step.what.as_str()) {
            (CaseWish::Cancel, _) => {
                let text = self.text(Key::StaffAskCancelled, &[("name", &self.called())]);
                self.end(case.id, text, false).await?;
                Ok(Handled::toast(self.text(Key::TapDone, &[])))
            }
            (CaseWish::Candidate(n), NUMBER) => {
                let ticket = usize::try_from(n).ok().and_then(|n| case.matter.candidates().get(n));
                let Some(ticket) = ticket else {
                    return Ok(Handled::toast(self.text(Key::StaffChanged, &[("case", &target.name())])));
                };
                self.number_given(target, rev, ticket.number.clone(), false).await
            }
            (CaseWish::Reason(n), what @ (CREATE | REJECT)) => {
                let ready = usize::try_from(n).ok().and_then(|n| READY.get(n));
                let Some((_, key)) = ready.filter(|(reason_to, _)| *reason_to == what) else {
                    return Ok(Handled::toast(self.text(Key::StaffAskBelow, &[])));
                };
                self.reason_given(target, &step, self.text(*key, &[]), false).await
            }
            (CaseWish::Sure(of), SURE) if step.data.as_deref().is_some_and(|reason| seal(reason) == of) => {
                let reason = step.data.unwrap_or_default();
                self.conclude(target, rev, &Deed::Create { reason }, false).await
            }
            (CaseWish::Unchecked(of), UNCHECKED) if step.data.as_deref().is_some_and(|number| seal(number) == of) => {
                let number = step.data.unwrap_or_default();
                self.conclude(target, rev, &Deed::LinkUnchecked { number }, false).await
            }
            // Asked anew with another reason or number: nobody agrees to what they have not read.
            (CaseWish::Sure(_), SURE) | (CaseWish::Unchecked(_), UNCHECKED) => {
                Ok(Handled::toast(self.text(Key::StaffAskBelow, &[])))
            }
            // A double tap on what this question was asked after: the first one has done all there is to do.
            (CaseWish::Reason(_), SURE) | (CaseWish::Candidate(_), UNCHECKED) => {
                Ok(Handled::toast(self.text(Key::TapDone, &[])))
            }
            _ => self.tap_on_answered(target, rev, wish).await,
        }
    }

    /// A tap under a question that waits for nothing any more: a double tap hears that it is done, and by whom.
    async fn tap_on_answered(&self, target: &Target, rev: i64, wish: CaseWish) -> Result<Handled, StoreError> {
        let asked_by = target.case.as_ref().filter(|case| case.closed.is_none()).and_then(|case| case.asked.as_ref());
        let (create, reject) = (Deed::Create { reason: String::new() }, Deed::Reject { reason: String::new() });
        let deeds = match wish {
            CaseWish::Sure(_) if asked_by.is_some_and(|(by, _)| *by == self.actor.id) => {
                let words = self.staff.ruling_words(self.tx, self.lang, target, &Ruling::AlreadyYours).await?;
                return Ok(Handled::toast(words));
            }
            CaseWish::Sure(_) => vec![create],
            CaseWish::Reason(_) => vec![create, reject],
            CaseWish::Candidate(_) => vec![Deed::Link { number: String::new() }],
            CaseWish::Unchecked(_) => vec![Deed::LinkUnchecked { number: String::new() }],
            _ => vec![reject, create, Deed::Link { number: String::new() }],
        };
        let mut rulings = Vec::new();
        for deed in &deeds {
            rulings.extend(self.staff.hindrance(self.tx, self.actor, target, Some(rev), deed, self.now).await?);
        }
        let settled = |ruling: &&Ruling| matches!(ruling, Ruling::Decided(..) | Ruling::NotWaiting);
        let own = rulings.iter().find(|ruling| **ruling == Ruling::AlreadyYours);
        match own.or_else(|| rulings.iter().find(settled)) {
            Some(ruling) => Ok(Handled::toast(self.staff.ruling_words(self.tx, self.lang, target, ruling).await?)),
            None if wish == CaseWish::Cancel => {
                Ok(Handled::toast(self.text(Key::StaffAskCancelled, &[("name", &self.called())])))
            }
            None => Ok(Handled::toast(self.text(Key::StaffAskOver, &[]))),
        }
    }

    /// A reason: a rejection is done with it, a creation is asked about once more.
    async fn reason_given(
        &self,
        target: &Target,
        step: &Step,
        reason: String,
        fresh: bool,
    ) -> Result<Handled, StoreError> {
        if step.what == REJECT {
            return self.conclude(target, step.rev, &Deed::Reject { reason }, fresh).await;
        }
        self.ask_sure(target, step.rev, reason, fresh).await
    }

    /// The second tap: the risk once more, with the reason.
    pub(super) async fn ask_sure(
        &self,
        target: &Target,
        rev: i64,
        reason: String,
        fresh: bool,
    ) -> Result<Handled, StoreError> {
        let (Some(case), Some(stored)) = (&target.case, &target.stored) else { return Ok(Handled::quietly()) };
        let deed = Deed::Create { reason: reason.clone() };
        if let Some(no) = self.staff.hindrance(self.tx, self.actor, target, Some(rev), &deed, self.now).await? {
            return self.ended(target, &no, fresh).await;
        }
        let (called, name, risk) = (self.called(), target.name(), self.risk(stored));
        let args = [("name", called.as_str()), ("case", &name), ("risk", &risk), ("reason", &reason)];
        let text = self.text(Key::StaffAskSure, &args);
        let sure = Intent::Case { case: case.id, rev, wish: CaseWish::Sure(seal(&reason)) };
        let rows = vec![vec![Button::data(self.text(Key::StaffButtonSure, &[]), sure.encode())]];
        let keyboard = self.with_cancel(rows, case.id, rev);
        let asked = Asked { case: case.id, rev, what: SURE, data: Some(reason.clone()) };
        self.ask(asked, Words { text, keyboard }, fresh).await?;
        Ok(Handled::toast(self.text(Key::TapDone, &[])))
    }

    /// A number: checked in the CRM; where that cannot be, an owner is asked whether to link it all the same.
    async fn number_given(
        &self,
        target: &Target,
        rev: i64,
        number: String,
        fresh: bool,
    ) -> Result<Handled, StoreError> {
        let deed = Deed::Link { number: number.clone() };
        let (ruling, go_on) = self.staff.act(self.tx, self.actor, target, Some(rev), &deed, self.now).await?;
        if let (Ruling::CannotCheck(_), Role::Owner, Some(case)) = (&ruling, self.actor.role, &target.case) {
            let (called, name) = (self.called(), target.name());
            let args = [("name", called.as_str()), ("case", &name), ("number", &number)];
            let text = self.text(Key::StaffAskUnchecked, &args);
            let yes = Intent::Case { case: case.id, rev, wish: CaseWish::Unchecked(seal(&number)) };
            let rows = vec![vec![Button::data(self.text(Key::StaffButtonUnchecked, &[]), yes.encode())]];
            let asked = Asked { case: case.id, rev, what: UNCHECKED, data: Some(number.clone()) };
            self.ask(asked, Words { text, keyboard: self.with_cancel(rows, case.id, rev) }, fresh).await?;
            return Ok(Handled::toast(self.text(Key::TapDone, &[])));
        }
        let mut handled = self.ended(target, &ruling, fresh).await?;
        handled.send_now.extend(go_on);
        Ok(handled)
    }

    async fn conclude(&self, target: &Target, rev: i64, deed: &Deed, fresh: bool) -> Result<Handled, StoreError> {
        let (ruling, go_on) = self.staff.act(self.tx, self.actor, target, Some(rev), deed, self.now).await?;
        let mut handled = self.ended(target, &ruling, fresh).await?;
        handled.send_now.extend(go_on);
        Ok(handled)
    }

    async fn ended(&self, target: &Target, ruling: &Ruling, fresh: bool) -> Result<Handled, StoreError> {
        let text = self.staff.ruling_words(self.tx, self.lang, target, ruling).await?;
        match &target.case {
            Some(case) => self.end(case.id, text.clone(), fresh).await?,
            None => drop(self.say(text.clone()).await?),
        }
        Ok(Handled::toast(text))
    }

    /// The answer to a tap that cannot begin a conversation.
    async fn cannot_begin(&self, target: &Target, rev: i64, deed: &Deed) -> Result<Option<Handled>, StoreError> {
        let no = self.staff.hindrance(self.tx, self.actor, target, Some(rev), deed, self.now).await?;
        let Some(no) = no else { return Ok(None) };
        Ok(Some(Handled::toast(self.staff.ruling_words(self.tx, self.lang, target, &no).await?)))
    }

    pub(super) fn no_such_case(&self, case: i64) -> String {
        self.text(Key::StaffNoSuchCase, &[("case", &format!("#{case}"))])
    }

    /// A case of ours with its operation.
    pub(super) async fn target_of(&self, case: i64) -> Result<Option<Target>, StoreError> {
        let Some(case) = cases::load_of(self.tx.as_ref(), self.staff.bot, case).await? else { return Ok(None) };
        let stored = match case.operation {
            Some(operation) => operations::load(self.tx.as_ref(), operation).await?,
            None => None,
        };
        Ok(Some(Target { case: Some(case), stored }))
    }
}
