//! Decisions: link, look again, create after all, reject.

use super::Shift;
use crate::{
    catalog::{texts::Key, wording::visible},
    domain::{
        input::Handled,
        operation::{Decision, Event, State},
        role::Role,
        ticket::Ticket,
    },
    store::{
        StoreError, cases,
        operations::{self, Advanced, Stored},
    },
    telegram::button::CaseWish,
};

/// Longest reason kept.
const REASON: usize = 500;

impl Shift<'_> {
    pub(super) async fn link(&self, args: &str) -> Result<Handled, StoreError> {
        let Some((marker, typed)) = args.split_once(char::is_whitespace) else {
            return self.say_key(Key::StaffUsageLink).await;
        };
        let Some(number) = ticket_number(typed) else { return self.say_key(Key::StaffUsageLink).await };
        let Some(stored) = self.named(marker).await? else { return Ok(Handled::quietly()) };
        let linked = operations::by_ticket_number(self.tx.as_ref(), self.staff.bot, &number).await?;
        if let Some(other) = linked.iter().find(|other| other.operation.id != stored.operation.id) {
            let args = [("number", number.as_str()), ("marker", other.marker.as_str())];
            return self.say(self.text(Key::StaffAlreadyLinked, &args)).await;
        }
        let by = self.by.0;
        if self.staff.can_verify {
            let done = self.text(Key::StaffDoneLink, &[("marker", stored.marker.as_str()), ("number", &number)]);
            return self.decide(&stored, Decision::Link { number, by }, done).await;
        }
        if self.role < Role::Owner {
            return self.say_key(Key::StaffOwnerOnly).await;
        }
        let ticket = Ticket { id: number.clone(), number, url: None };
        let done =
            self.text(Key::StaffDoneUnchecked, &[("marker", stored.marker.as_str()), ("number", &ticket.number)]);
        self.decide(&stored, Decision::LinkUnverified { ticket, by }, done).await
    }

    pub(super) async fn look(&self, args: &str) -> Result<Handled, StoreError> {
        if args.is_empty() {
            return self.say_key(Key::StaffUsageLook).await;
        }
        let Some(stored) = self.named(args).await? else { return Ok(Handled::quietly()) };
        if !self.staff.policy.can_look {
            return self.say_key(Key::StaffNoSearch).await;
        }
        let done = self.text(Key::StaffDoneLook, &[("marker", stored.marker.as_str())]);
        self.decide(&stored, Decision::LookAgain { by: self.by.0 }, done).await
    }

    pub(super) async fn create(&self, args: &str) -> Result<Handled, StoreError> {
        let Some((marker, reason)) = with_reason(args) else { return self.say_key(Key::StaffUsageCreate).await };
        let Some(stored) = self.named(marker).await? else { return Ok(Handled::quietly()) };
        let Some(reason) = reason else { return self.say_key(Key::StaffReasonWanted).await };
        let done = self.text(Key::StaffDoneCreate, &[("marker", stored.marker.as_str())]);
        self.decide(&stored, Decision::CreateAfterAll { by: self.by.0, reason }, done).await
    }

    pub(super) async fn reject(&self, args: &str) -> Result<Handled, StoreError> {
        let Some((marker, reason)) = with_reason(args) else { return self.say_key(Key::StaffUsageReject).await };
        let Some(stored) = self.named(marker).await? else { return Ok(Handled::quietly()) };
        let Some(reason) = reason else { return self.say_key(Key::StaffReasonWanted).await };
        let done = self.text(Key::StaffDoneReject, &[("marker", stored.marker.as_str())]);
        self.decide(&stored, Decision::Reject { by: self.by.0, reason }, done).await
    }

    /// Brings a decision to the one door and says what became of it.
    async fn decide(&self, stored: &Stored, decision: Decision, done: String) -> Result<Handled, StoreError> {
        if !matches!(stored.operation.state, State::Review { .. }) {
            return self.not_in_review(stored).await;
        }
        match self.advance(stored, decision).await? {
            Some(after) => {
                self.say(done).await?;
                Ok(Handled { toast: None, send_now: vec![after.operation.id] })
            }
            None => self.not_in_review(stored).await,
        }
    }

    async fn advance(&self, stored: &Stored, decision: Decision) -> Result<Option<Stored>, StoreError> {
        let (id, rev, staff) = (stored.operation.id, Some(stored.rev), self.staff);
        let event = Event::Decided(decision);
        let taken =
            operations::advance(self.tx.as_ref(), id, rev, &event, self.now, &staff.policy, &staff.author).await?;
        match taken {
            Advanced::Moved(after) => Ok(Some(*after)),
            // Another replica decided between our look and our write: handle the update anew, on what stands then.
            Advanced::Stale => Err(StoreError::Stale("operations")),
            Advanced::Illegal(_) | Advanced::Gone => Ok(None),
        }
    }

    async fn not_in_review(&self, stored: &Stored) -> Result<Handled, StoreError> {
        let args = [("marker", stored.marker.as_str()), ("state", &self.state(stored))];
        self.say(self.text(Key::StaffNotInReview, &args)).await
    }

    /// A button of a case's card, bound to the case as it was then.
    pub(super) async fn case_button(&self, case: i64, rev: i64, wish: CaseWish) -> Result<Handled, StoreError> {
        let toast = |text: String| Ok(Handled::toast(text));
        let Some(case) = cases::load(self.tx.as_ref(), case).await? else {
            return toast(self.text(Key::TapGone, &[]));
        };
        let Some(stored) = operations::load(self.tx.as_ref(), case.operation).await? else {
            return toast(self.text(Key::TapGone, &[]));
        };
        match wish {
            CaseWish::Why => {
                self.tell_why(&stored).await?;
                toast(self.text(Key::TapDone, &[]))
            }
            CaseWish::LookAgain if self.role < Role::Reviewer => toast(self.text(Key::TapNotAllowed, &[])),
            CaseWish::LookAgain => {
                let late = [("marker", stored.marker.as_str()), ("state", &self.state(&stored))];
                if case.rev != rev || !matches!(stored.operation.state, State::Review { .. }) {
                    return toast(self.text(Key::StaffTooLate, &late));
                }
                match self.advance(&stored, Decision::LookAgain { by: self.by.0 }).await? {
                    Some(after) => Ok(Handled {
                        toast: Some(self.text(Key::StaffDoneLook, &[("marker", stored.marker.as_str())])),
                        send_now: vec![after.operation.id],
                    }),
                    None => toast(self.text(Key::StaffTooLate, &late)),
                }
            }
        }
    }
}

/// Marker and reason; the reason is missing when nothing visible was written.
fn with_reason(args: &str) -> Option<(&str, Option<String>)> {
    if args.is_empty() {
        return None;
    }
    let (marker, reason) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let reason: String = visible(reason.trim()).chars().take(REASON).collect();
    Some((marker, (!reason.trim().is_empty()).then_some(reason)))
}

/// A ticket's number as people paste it: `1001`, `#1001`, `№ 1001`, or the last part of a link.
fn ticket_number(typed: &str) -> Option<String> {
    let typed = typed.trim().trim_matches(|c| matches!(c, '<' | '>' | '"' | '«' | '»' | '.' | ','));
    let part = if typed.contains("://") {
        let path = typed.split(['?', '#']).next().unwrap_or(typed).trim_end_matches('/');
        path.rsplit('/').next().unwrap_or_default()
    } else {
        typed
    };
    let number = part.trim_start_matches(['#', '№']).trim_start_matches("No").trim_start_matches('.').trim();
    let plain = !number.is_empty() && number.len() <= 64 && !number.contains(char::is_whitespace);
    (plain && number.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | ':' | '.')))
        .then(|| number.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_people_paste_it() {
        for (typed, number) in [
            ("1001", Some("1001")),
            (" #1001", Some("1001")),
            ("№ 1001", Some("1001")),
            ("№1001.", Some("1001")),
            ("https://crm.example.ru/tickets/1001", Some("1001")),
            ("<https://crm.example.ru/tickets/1001/?tab=a#x>", Some("1001")),
            ("HD-17", Some("HD-17")),
            ("", None),
            ("#", None),
            ("10 01", None),
            ("1001;DROP", None),
        ] {
            assert_eq!(ticket_number(typed).as_deref(), number, "{typed}");
        }
    }
}
