//! What may be done about a case, by whom, and what comes of it: the one place where staff decide, whether they tap,
//! type or sit at a shell.
//!
//! Every deed is bound to the case as its doer saw it, goes through the one door of its machine, and is the same when
//! it is done twice: of two people at once one wins, and the other hears who did what.

use super::{
    Staff,
    deed::{Actor, Deed, Ruling, Target},
};
use crate::{
    clock::Timestamp,
    domain::{
        delivery,
        notice::NoticeKind,
        operation::{Decision, Event, ReviewReason, State},
        review::Matter,
        role::Role,
        ticket::Ticket,
    },
    ids::{OperationId, UserId},
    store::{
        StoreError, Tx,
        cases::{self, Case, Taken},
        inbox, journal,
        operations::{self, Advanced, Stored},
        outbox, people, steps,
    },
};

impl Staff {
    /// Does it, or says why not. `rev` is the case's number its doer saw; absent when they named the case itself.
    /// Returns the ruling, and the operation a worker may go on with at once.
    ///
    /// # Errors
    /// [`StoreError`]; then nothing of it stands.
    pub async fn act(
        &self,
        tx: &Tx,
        actor: Actor,
        target: &Target,
        rev: Option<i64>,
        deed: &Deed,
        now: Timestamp,
    ) -> Result<(Ruling, Option<OperationId>), StoreError> {
        if let Some(no) = self.hindrance(tx, actor, target, rev, deed, now).await? {
            return Ok((no, None));
        }
        let Some(case) = &target.case else { return Ok((Ruling::NotWaiting, None)) };
        let by = actor.id;
        match (deed, &target.stored) {
            (Deed::Take, _) => {
                let until = now.plus(self.take_for);
                self.hand(tx, case, Some(Taken { by, until }), by, deed, now).await?;
                Ok((Ruling::Taken(until), None))
            }
            (Deed::HandBack, _) => {
                self.hand(tx, case, None, by, deed, now).await?;
                Ok((Ruling::HandedBack, None))
            }
            (Deed::SendAgain | Deed::LetGo | Deed::Replay, _) => self.settle(tx, case, by, deed, now).await,
            (_, None) => Ok((Ruling::NotThis, None)),
            (_, Some(stored)) => self.decide(tx, actor, case, stored, deed, now).await,
        }
    }

    /// Why a deed cannot be done, if it cannot: asked before a conversation begins, and again before the deed.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn hindrance(
        &self,
        tx: &Tx,
        actor: Actor,
        target: &Target,
        rev: Option<i64>,
        deed: &Deed,
        now: Timestamp,
    ) -> Result<Option<Ruling>, StoreError> {
        let needed = if matches!(deed, Deed::LinkUnchecked { .. }) { Role::Owner } else { Role::Reviewer };
        if actor.role < needed {
            return Ok(Some(Ruling::NotAllowed));
        }
        let Some(case) = &target.case else {
            // It may be before a human all the same, as a case of another kind.
            let waits =
                target.stored.as_ref().is_some_and(|stored| matches!(stored.operation.state, State::Review { .. }));
            let other = matches!(deed, Deed::SendAgain | Deed::LetGo | Deed::Replay);
            return if waits && other {
                Ok(Some(Ruling::NotThis))
            } else {
                self.late(tx, actor.id, target, deed).await.map(Some)
            };
        };
        if !deed.fits(&case.matter) {
            return Ok(Some(Ruling::NotThis));
        }
        let holder = case.holder(now);
        let reviewed = !matches!(case.matter, Matter::Review { .. })
            || target.stored.as_ref().is_some_and(|stored| matches!(stored.operation.state, State::Review { .. }));
        let hands = matches!(deed, Deed::Take | Deed::HandBack);
        if case.closed.is_some() || !(reviewed || hands) {
            return self.late(tx, actor.id, target, deed).await.map(Some);
        }
        match deed {
            Deed::Take if holder.is_some_and(|holder| holder.by == actor.id) => return Ok(Some(Ruling::AlreadyYours)),
            Deed::HandBack if holder.is_none_or(|holder| holder.by != actor.id && actor.role < Role::Owner) => {
                return Ok(Some(Ruling::NotTaken));
            }
            _ => {}
        }
        // An owner may step in; a second person's consent is asked of anybody.
        if let Some(holder) = holder
            && holder.by != actor.id
            && actor.role < Role::Owner
            && !self.is_consent(actor, case, deed)
        {
            return Ok(Some(Ruling::Held(holder.by, holder.until)));
        }
        if rev.is_some_and(|rev| rev != case.rev) {
            return Ok(Some(Ruling::Changed));
        }
        if let (Deed::SendAgain, Matter::Undelivered { row, .. }) = (deed, &case.matter)
            && self.is_away(tx, *row).await?
        {
            return Ok(Some(Ruling::ClientAway));
        }
        Ok(None)
    }

    /// Whether a message would not even be tried: its person has stopped the bot.
    async fn is_away(&self, tx: &Tx, row: i64) -> Result<bool, StoreError> {
        let Some(row) = outbox::load(tx.as_ref(), row).await? else { return Ok(false) };
        // A private chat has its person's number.
        Ok(row.chat.0 > 0 && !people::is_reachable(tx.as_ref(), row.bot, UserId(row.chat.0)).await?)
    }

    /// Whether a deed agrees to what somebody else asked for.
    fn is_consent(&self, actor: Actor, case: &Case, deed: &Deed) -> bool {
        let asked_by_another = case.asked.as_ref().is_some_and(|(by, _)| *by != actor.id);
        match deed {
            Deed::Consent => true,
            Deed::Create { .. } => self.second_person && asked_by_another,
            _ => false,
        }
    }

    /// Somebody was quicker, or it settled by itself.
    async fn late(&self, tx: &Tx, by: UserId, target: &Target, deed: &Deed) -> Result<Ruling, StoreError> {
        let closed = target.case.as_ref().and_then(|case| case.closed.as_ref());
        if let Some((who, how)) = closed.and_then(|closed| closed.by.zip(closed.how.clone())) {
            let same = target.case.as_ref().is_some_and(|case| who == by && how == deed.event_on(&case.matter));
            return Ok(if same { Ruling::AlreadyYours } else { Ruling::Decided(who, how) });
        }
        let Some(stored) = &target.stored else { return Ok(Ruling::NotWaiting) };
        let Some(line) = journal::last_decision(tx.as_ref(), stored.operation.id).await? else {
            return Ok(Ruling::NotWaiting);
        };
        let Some(who) = line.entry.by.map(UserId) else { return Ok(Ruling::NotWaiting) };
        let mut same = who == by && line.entry.event == deed.event();
        // A deed without a number is any of its kind.
        if let Deed::Link { number } | Deed::LinkKeyless { number } | Deed::LinkUnchecked { number } = deed
            && !number.is_empty()
        {
            let linked = line.entry.detail.as_deref().and_then(|detail| detail.strip_prefix("ticket "));
            same &= linked.and_then(|rest| rest.split(',').next()) == Some(number.as_str());
        }
        Ok(if same { Ruling::AlreadyYours } else { Ruling::Decided(who, line.entry.event) })
    }

    async fn hand(
        &self,
        tx: &Tx,
        case: &Case,
        to: Option<Taken>,
        by: UserId,
        deed: &Deed,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if !cases::hand(tx.as_ref(), case, to).await? {
            return Err(StoreError::Stale("cases"));
        }
        journal::note(tx.as_ref(), case.operation, deed.event(), Some(by), about(case), now).await?;
        self.show(tx, case, now).await
    }

    /// Closes a case about a message, an update or a twin.
    async fn settle(
        &self,
        tx: &Tx,
        case: &Case,
        by: UserId,
        deed: &Deed,
        now: Timestamp,
    ) -> Result<(Ruling, Option<OperationId>), StoreError> {
        let event = deed.event_on(&case.matter);
        if !cases::settle(tx.as_ref(), case, by, event, now).await? {
            return Err(StoreError::Stale("cases"));
        }
        let db = tx.as_ref();
        let ruling = match (&case.matter, deed) {
            (Matter::Undelivered { row, .. }, deed) => {
                let again = *deed == Deed::SendAgain;
                self.settle_message(tx, *row, by, again, now).await?;
                if again { Ruling::SendingAgain } else { Ruling::LeftAlone }
            }
            (Matter::Shelved { row, .. }, Deed::Replay) => {
                inbox::replay(db, *row).await?;
                Ruling::Replaying
            }
            (Matter::Shelved { row, .. }, _) => {
                inbox::put_away(db, *row).await?;
                Ruling::LeftAlone
            }
            _ => Ruling::LeftAlone,
        };
        journal::note(db, case.operation, event, Some(by), about(case), now).await?;
        self.show(tx, case, now).await?;
        Ok((ruling, None))
    }

    /// A message whose fate is unknown is decided through its machine; one that ended is written anew.
    async fn settle_message(
        &self,
        tx: &Tx,
        row: i64,
        by: UserId,
        again: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(row) = outbox::load(tx.as_ref(), row).await? else { return Ok(()) };
        if matches!(row.delivery.state, delivery::State::Unknown { due_at: None, .. }) {
            let decision = match again {
                true => delivery::Decision::SendAgain { by: by.0 },
                false => delivery::Decision::LetGo { by: by.0 },
            };
            let event = delivery::Event::Decided(decision);
            let decided = outbox::advance(tx.as_ref(), row.id, row.rev, &event, now, &self.delivery).await?;
            return match decided {
                outbox::Advanced::Stale => Err(StoreError::Stale("outbox")),
                outbox::Advanced::Moved(_) | outbox::Advanced::Illegal(_) => Ok(()),
            };
        }
        if again && row.delivery.state.is_final() {
            outbox::send_anew(tx.as_ref(), &row, now).await?;
        }
        Ok(())
    }

    async fn decide(
        &self,
        tx: &Tx,
        actor: Actor,
        case: &Case,
        stored: &Stored,
        deed: &Deed,
        now: Timestamp,
    ) -> Result<(Ruling, Option<OperationId>), StoreError> {
        let by = actor.id.0;
        let (decision, ruling) = match deed {
            Deed::Link { number } | Deed::LinkKeyless { number } | Deed::LinkUnchecked { number } => {
                if let Some(no) = self.number_hindrance(tx, case, stored, deed, number).await? {
                    return Ok((no, None));
                }
                let number = number.clone();
                match deed {
                    Deed::LinkUnchecked { .. } => {
                        let ticket = Ticket { id: number.clone(), number: number.clone(), url: None };
                        (Decision::LinkUnverified { ticket, by }, Ruling::LinkedUnchecked(number))
                    }
                    Deed::LinkKeyless { .. } if was_shown_keyless(case, &number, actor) => {
                        (Decision::LinkKeyless { number: number.clone(), by }, Ruling::LinkingKeyless(number))
                    }
                    // Nobody says of a number what the CRM has not shown them yet: it is asked first.
                    _ => (Decision::Link { number: number.clone(), by }, Ruling::Linking(number)),
                }
            }
            Deed::LookAgain if !self.policy.can_look => return Ok((Ruling::NoSearch, None)),
            Deed::LookAgain => (Decision::LookAgain { by }, Ruling::Looking),
            Deed::Create { reason } if self.second_person => match &case.asked {
                // Whoever wants the same for a reason of their own consents.
                Some((asked, first)) if *asked != actor.id => {
                    let reason = format!("{first}; {reason}");
                    (Decision::CreateAfterAll { by, reason }, Ruling::Creating)
                }
                _ => return self.ask(tx, actor.id, case, reason, now).await,
            },
            Deed::Create { reason } => (Decision::CreateAfterAll { by, reason: reason.clone() }, Ruling::Creating),
            Deed::Consent => match &case.asked {
                None => return Ok((Ruling::Changed, None)),
                Some((asked, _)) if *asked == actor.id => return Ok((Ruling::NeedsAnother, None)),
                Some((_, reason)) => (Decision::CreateAfterAll { by, reason: reason.clone() }, Ruling::Creating),
            },
            Deed::Reject { reason } => (Decision::Reject { by, reason: reason.clone() }, Ruling::Rejected),
            Deed::Take | Deed::HandBack | Deed::SendAgain | Deed::LetGo | Deed::Replay => {
                return Ok((Ruling::NotThis, None));
            }
        };
        let (id, rev) = (stored.operation.id, Some(stored.rev));
        let event = Event::Decided(decision);
        match operations::advance(tx.as_ref(), id, rev, &event, now, &self.policy, &self.author).await? {
            Advanced::Moved(_) => Ok((ruling, Some(id))),
            // Another replica decided between our look and our write: handle it anew, on what stands then.
            Advanced::Stale => Err(StoreError::Stale("operations")),
            Advanced::Illegal(_) | Advanced::Gone => Ok((Ruling::NotWaiting, None)),
        }
    }

    async fn number_hindrance(
        &self,
        tx: &Tx,
        case: &Case,
        stored: &Stored,
        deed: &Deed,
        number: &str,
    ) -> Result<Option<Ruling>, StoreError> {
        let linked = operations::by_ticket_number(tx.as_ref(), self.bot, number).await?;
        if let Some(other) = linked.iter().find(|other| other.operation.id != stored.operation.id) {
            return Ok(Some(Ruling::LinkedElsewhere(number.to_owned(), other.marker.to_string())));
        }
        // What the CRM could not be asked about just now may be linked unchecked, though it usually can be asked.
        let tried = matches!(&case.matter,
            Matter::Review { reason: ReviewReason::Unchecked { number: tried } | ReviewReason::Keyless { number: tried, .. } }
                if tried == number);
        Ok(match deed {
            Deed::Link { .. } | Deed::LinkKeyless { .. } if !self.can_verify => {
                Some(Ruling::CannotCheck(number.to_owned()))
            }
            Deed::LinkUnchecked { .. } if self.can_verify && !tried => Some(Ruling::CheckFirst(number.to_owned())),
            _ => None,
        })
    }

    /// "Create after all" where it takes two: asked for now, done with another person's consent.
    async fn ask(
        &self,
        tx: &Tx,
        by: UserId,
        case: &Case,
        reason: &str,
        now: Timestamp,
    ) -> Result<(Ruling, Option<OperationId>), StoreError> {
        if case.asked.as_ref().is_some_and(|(asked, _)| *asked == by) {
            return Ok((Ruling::AlreadyYours, None));
        }
        if !cases::ask(tx.as_ref(), case, by, reason).await? {
            return Err(StoreError::Stale("cases"));
        }
        let detail = Some(reason.to_owned());
        journal::note(tx.as_ref(), case.operation, "asked_consent", Some(by), detail, now).await?;
        self.show(tx, case, now).await?;
        Ok((Ruling::Asked, None))
    }

    /// The case's card, as it is when it is sent.
    async fn show(&self, tx: &Tx, case: &Case, now: Timestamp) -> Result<(), StoreError> {
        let unknown = self.author.on_unknown.of(NoticeKind::StaffCard);
        cases::show(tx.as_ref(), self.bot, case.id, case.operation, unknown, now).await
    }

    /// The case of an operation that a deed is about: the open one that it fits, or the last one it fitted.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn target(&self, tx: &Tx, stored: Stored, deed: &Deed) -> Result<Target, StoreError> {
        let all = cases::of_operation(tx.as_ref(), stored.operation.id).await?;
        let mut fitting: Vec<_> = all.into_iter().filter(|case| deed.fits(&case.matter)).collect();
        let open = fitting.iter().position(|case| case.closed.is_none());
        let case = match open {
            Some(place) => Some(fitting.swap_remove(place)),
            None => fitting.pop(),
        };
        Ok(Target { case, stored: Some(stored) })
    }

    /// What somebody of the staff is called.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be used.
    pub async fn called(&self, tx: &Tx, user: UserId) -> Result<String, StoreError> {
        steps::name(tx.as_ref(), self.bot, user).await
    }
}

/// Whether the CRM has shown this number without a key of ours to whoever named it; an owner answers for anybody.
fn was_shown_keyless(case: &Case, number: &str, actor: Actor) -> bool {
    matches!(&case.matter, Matter::Review { reason: ReviewReason::Keyless { number: shown, by } }
        if shown == number && (*by == actor.id.0 || actor.role == Role::Owner))
}

/// Which row a case is about, for the journal of what is about no operation.
fn about(case: &Case) -> Option<String> {
    match &case.matter {
        Matter::Review { .. } | Matter::Twin { .. } => None,
        matter => Some(format!("{} row {}", matter.kind(), matter.subject())),
    }
}
