//! Seeded bugs: each is one plausible mistake in the machine, in a figure, or in what is built around them. The walk must
//! catch every one; that is the test of the test.

use std::time::Duration;

use zayavka::{
    clock::Timestamp,
    domain::{
        delivery::{self, Delivery},
        operation::{self, Effect, Event, Ground, Operation, Policy, RejectedBy, ReviewReason, State, Step},
        outcome::Promise,
        ticket::Ticket,
    },
};

use super::scene::{self, Scene};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    // The operation machine.
    LeaseEndPends,
    LostPends,
    LostRejects,
    LostCreates,
    ExistsCreates,
    InFlightRejects,
    RefusedBeforeSettled,
    RefusedJudgedWhenRecorded,
    LateRefusedEndsRepeat,
    LateNotSentPends,
    LateCreatedIgnored,
    LateCreatedReplacesEnd,
    SeveralPicksFirst,
    CancelAfterAttempt,
    DecisionOutsideReview,
    LinkIsTrusted,
    ResendInBlind,
    AbsentUsedTwice,
    SettleFromTheBeginning,
    FoundIgnored,
    TwinNotWatched,
    WatchEndsByAnyLook,
    KeyedNotWatched,
    TwinNotReported,
    CaseNotOpened,
    CaseNotClosed,
    PlaceNotGivenBack,
    AttemptWithoutRow,
    LossNotShown,
    KeyChanges,
    // Figures.
    NoSettleWindow,
    SettleShorterThanLag,
    ResendAfterKeyLife,
    KeyLifeForgetsTheHold,
    NoPatience,
    ResendsForEver,
    // Around them.
    KeyPerAttempt,
    ClaimWithoutCompare,
    NoLeaseCheck,
    MissDatedByItsAnswer,
    SecondTapSecondOperation,
    StaleTapConfirms,
    ForeignTap,
    DoneBeforeEffects,
    EditWhileUnknown,
    // The outbox.
    OutboxLostPends,
    OutboxLeaseEndPends,
    OutboxLeaseEndSent,
    OutboxRepeatsAgain,
    OutboxGoneIsSent,
    OutboxOvertakesOnTheWire,
    OutboxWithoutOrder,
    OutboxNoPause,
    OutboxClaimWithoutCompare,
    OutboxSentComesBack,
    OutboxLateDoneEnds,
    CardKnownByLastAnswer,
    RepeatCountsAsTheNextCard,
}

/// All of them.
pub(crate) const ALL: &[Bug] = &[
    Bug::LeaseEndPends,
    Bug::LostPends,
    Bug::LostRejects,
    Bug::LostCreates,
    Bug::ExistsCreates,
    Bug::InFlightRejects,
    Bug::RefusedBeforeSettled,
    Bug::RefusedJudgedWhenRecorded,
    Bug::LateRefusedEndsRepeat,
    Bug::LateNotSentPends,
    Bug::LateCreatedIgnored,
    Bug::LateCreatedReplacesEnd,
    Bug::SeveralPicksFirst,
    Bug::CancelAfterAttempt,
    Bug::DecisionOutsideReview,
    Bug::LinkIsTrusted,
    Bug::ResendInBlind,
    Bug::AbsentUsedTwice,
    Bug::SettleFromTheBeginning,
    Bug::FoundIgnored,
    Bug::TwinNotWatched,
    Bug::WatchEndsByAnyLook,
    Bug::KeyedNotWatched,
    Bug::TwinNotReported,
    Bug::CaseNotOpened,
    Bug::CaseNotClosed,
    Bug::PlaceNotGivenBack,
    Bug::AttemptWithoutRow,
    Bug::LossNotShown,
    Bug::KeyChanges,
    Bug::NoSettleWindow,
    Bug::SettleShorterThanLag,
    Bug::ResendAfterKeyLife,
    Bug::KeyLifeForgetsTheHold,
    Bug::NoPatience,
    Bug::ResendsForEver,
    Bug::KeyPerAttempt,
    Bug::ClaimWithoutCompare,
    Bug::NoLeaseCheck,
    Bug::MissDatedByItsAnswer,
    Bug::SecondTapSecondOperation,
    Bug::StaleTapConfirms,
    Bug::ForeignTap,
    Bug::DoneBeforeEffects,
    Bug::EditWhileUnknown,
    Bug::OutboxLostPends,
    Bug::OutboxLeaseEndPends,
    Bug::OutboxLeaseEndSent,
    Bug::OutboxRepeatsAgain,
    Bug::OutboxGoneIsSent,
    Bug::OutboxOvertakesOnTheWire,
    Bug::OutboxWithoutOrder,
    Bug::OutboxNoPause,
    Bug::OutboxClaimWithoutCompare,
    Bug::OutboxSentComesBack,
    Bug::OutboxLateDoneEnds,
    Bug::CardKnownByLastAnswer,
    Bug::RepeatCountsAsTheNextCard,
];

impl Bug {
    /// The scenes where it is looked for, with so much bad luck: all of its kind, or the one that is made for it.
    pub(crate) fn scenes(self, trouble: u8) -> Vec<Scene> {
        let named = |name: &str, scenes: Vec<Scene>| scenes.into_iter().filter(|scene| scene.name == name).collect();
        let name = format!("{self:?}");
        if name.starts_with("Outbox") || name.starts_with("Card") || name.starts_with("RepeatCounts") {
            return scene::outbox(trouble);
        }
        match self {
            Self::SecondTapSecondOperation
            | Self::StaleTapConfirms
            | Self::ForeignTap
            | Self::DoneBeforeEffects
            | Self::EditWhileUnknown => scene::taps(trouble),
            Self::NoPatience | Self::ResendsForEver => scene::silences(),
            Self::RefusedJudgedWhenRecorded => named("keyed, refuses, held up", scene::deep(0)),
            Self::WatchEndsByAnyLook => named("keyed, watches, held up", scene::deep(0)),
            Self::KeyLifeForgetsTheHold => named("keyed, forgets, held up", scene::deep(0)),
            Self::SeveralPicksFirst | Self::ResendAfterKeyLife | Self::NoLeaseCheck => {
                named("keyed, forgets keys", scene::promises(trouble))
            }
            Self::AbsentUsedTwice
            | Self::SettleFromTheBeginning
            | Self::NoSettleWindow
            | Self::SettleShorterThanLag
            | Self::MissDatedByItsAnswer => named("searchable, resends", scene::promises(trouble)),
            _ => scene::promises(trouble),
        }
    }

    /// The figures, with the bug's own.
    pub(crate) fn policy(self, mut policy: Policy) -> Policy {
        match self {
            Self::NoSettleWindow => policy.settle = Duration::ZERO,
            Self::SettleShorterThanLag => policy.settle = Duration::from_millis(2),
            Self::ResendAfterKeyLife => policy.key_life = None,
            Self::KeyLifeForgetsTheHold => {
                policy.key_life = policy.key_life.map(|life| life + policy.settle);
            }
            Self::NoPatience => policy.patience = Duration::from_millis(40),
            Self::TwinNotWatched => policy.watch = Duration::ZERO,
            _ => {}
        }
        policy
    }

    /// The machine's step, with the bug in it.
    pub(crate) fn step(
        self,
        before: &Operation,
        event: &Event,
        at: Timestamp,
        policy: &Policy,
        real: Option<Step>,
    ) -> Option<Step> {
        let late = event.attempt().is_some_and(
            |attempt| !matches!(before.state, State::Sending { attempt: current, .. } if current == attempt),
        );
        let current = event.attempt().is_some() && !late && matches!(before.state, State::Sending { .. });
        let Some(mut step) = real else {
            return match (self, event) {
                (Self::CancelAfterAttempt, Event::Cancelled)
                    if matches!(before.state, State::Pending { .. } | State::Unknown { .. }) =>
                {
                    Some(to(
                        before,
                        State::Cancelled,
                        vec![Effect::ShowCard, Effect::CloseCase, Effect::FreeSlot, Effect::ReopenDraft],
                    ))
                }
                (Self::DecisionOutsideReview, Event::Decided(operation::Decision::Reject { .. }))
                    if !before.state.is_final() =>
                {
                    Some(to(before, rejected(RejectedBy::Staff), ending()))
                }
                _ => None,
            };
        };
        let after = &mut step.operation;
        let pend = |ground| State::Pending { due_at: at, ground };
        match (self, event) {
            (Self::LeaseEndPends, Event::LeaseEnded) => after.state = pend(Ground::First),
            (Self::LostPends, Event::Lost { .. }) if current => after.state = pend(Ground::First),
            (Self::LostRejects, Event::Lost { .. }) if current => {
                return Some(to(before, rejected(RejectedBy::Crm), ending()));
            }
            (Self::LostCreates, Event::Lost { .. }) if current => {
                after.state = State::Created { ticket: nobodys() };
                step.effects.push(Effect::CloseCase);
            }
            (Self::ExistsCreates, Event::Exists { .. }) if current => {
                after.state = State::Created { ticket: nobodys() };
                step.effects.push(Effect::CloseCase);
            }
            (Self::InFlightRejects, Event::InFlight { .. }) if current => {
                return Some(to(before, rejected(RejectedBy::Crm), ending()));
            }
            (Self::RefusedBeforeSettled, Event::Refused { .. }) if current && !after.state.is_final() => {
                return Some(to(before, rejected(RejectedBy::Crm), ending()));
            }
            (Self::LateRefusedEndsRepeat, Event::Refused { .. }) if late && !after.state.is_final() => {
                return Some(to(before, rejected(RejectedBy::Crm), ending()));
            }
            (Self::LateNotSentPends, Event::NotSent { .. }) if late && !after.state.is_final() => {
                after.state = pend(Ground::First);
                after.on_wire = None;
                step.effects.push(Effect::ShowCard);
            }
            (Self::LateCreatedIgnored, Event::Created { .. }) if late => {
                return Some(to(before, before.state.clone(), vec![]));
            }
            (Self::LateCreatedReplacesEnd, Event::Created { ticket, .. }) if before.state.is_final() => {
                after.state = State::Created { ticket: ticket.clone() };
            }
            (Self::SeveralPicksFirst, Event::Found { tickets, .. })
                if tickets.len() > 1 && !before.state.is_final() =>
            {
                after.state = State::Created { ticket: tickets[0].clone() };
                step.effects.extend([Effect::ShowCard, Effect::CloseCase]);
            }
            (Self::LinkIsTrusted, Event::Decided(operation::Decision::Link { number, .. })) => {
                let ticket = Ticket { id: number.clone(), number: number.clone(), url: None };
                after.state = State::Created { ticket };
                step.effects.push(Effect::CloseCase);
            }
            (Self::ResendsForEver, Event::Missed { .. }) => {
                if let State::Review { reason: ReviewReason::Absent, .. } = after.state {
                    after.state = pend(Ground::Absent);
                    after.waiting_since = at;
                    step.effects.retain(|effect| !matches!(effect, Effect::OpenCase { .. }));
                }
            }
            (Self::ResendInBlind, Event::LookImpossible) => after.state = pend(Ground::First),
            (Self::AbsentUsedTwice, Event::NotSent { .. }) if current => {
                if let State::Sending { ground: Ground::Absent, .. } = before.state {
                    after.state = pend(Ground::Absent);
                }
            }
            (Self::SettleFromTheBeginning, Event::LeaseEnded) => {
                if let (State::Sending { began, .. }, Some(wire)) = (&before.state, &mut after.on_wire) {
                    wire.last = *began;
                }
            }
            (Self::FoundIgnored, Event::Found { .. }) if !matches!(before.state, State::Unknown { .. }) => return None,
            (Self::RefusedJudgedWhenRecorded, Event::Refused { .. })
                if current && !after.state.is_final() && at >= policy.settled_at(before.on_wire) =>
            {
                return Some(to(before, rejected(RejectedBy::Crm), ending()));
            }
            (Self::TwinNotWatched, _) => after.watch = None,
            (Self::KeyedNotWatched, _) if policy.promise == Promise::Keyed => after.watch = None,
            (Self::WatchEndsByAnyLook, Event::Found { .. } | Event::Unsure { .. })
                if before.watch.is_some_and(|watch| at >= watch.until) =>
            {
                after.watch = None;
            }
            (Self::TwinNotReported, _) => step.effects.retain(|effect| !matches!(effect, Effect::ReportTwin { .. })),
            (Self::CaseNotOpened, _) => step.effects.retain(|effect| !matches!(effect, Effect::OpenCase { .. })),
            (Self::CaseNotClosed, _) => step.effects.retain(|effect| *effect != Effect::CloseCase),
            (Self::PlaceNotGivenBack, _) => step.effects.retain(|effect| *effect != Effect::FreeSlot),
            (Self::AttemptWithoutRow, _) => {
                step.effects.retain(|effect| !matches!(effect, Effect::BeginAttempt { .. }))
            }
            (Self::LossNotShown, Event::Lost { .. }) => step.effects.retain(|effect| *effect != Effect::ShowCard),
            (Self::KeyChanges, Event::Claimed { .. }) => {
                after.key = zayavka::ids::ExternalKey(uuid::Uuid::from_u128(u128::from(after.attempts)));
            }
            _ => {}
        }
        Some(step)
    }

    /// The outbox's step, with the bug in it.
    pub(crate) fn delivery_step(
        self,
        before: &Delivery,
        event: &delivery::Event,
        at: Timestamp,
        real: Option<delivery::Step>,
    ) -> Option<delivery::Step> {
        use delivery::{DropReason, Event, Kind, State};
        let is_new = matches!(before.kind, Kind::New { .. });
        let pending = State::Pending { due_at: at };
        let Some(mut step) = real else {
            if self == Self::OutboxOvertakesOnTheWire && *event == Event::Overtaken && !before.state.is_final() {
                let mut delivery = before.clone();
                delivery.state = State::Dropped { why: DropReason::Overtaken };
                return Some(delivery::Step { delivery, effects: Vec::new() });
            }
            return None;
        };
        let after = &mut step.delivery;
        match (self, event) {
            (Self::OutboxLostPends, Event::Lost { .. }) if is_new && !before.state.is_final() => after.state = pending,
            (Self::OutboxLeaseEndPends, Event::LeaseEnded) => after.state = pending,
            (Self::OutboxLeaseEndSent, Event::LeaseEnded) => after.state = State::Sent { message_id: None },
            (Self::OutboxRepeatsAgain, Event::PauseOver) if is_new => {
                after.state = pending;
                after.repeats = before.repeats + 1;
            }
            (Self::OutboxGoneIsSent, Event::Gone { .. }) => {
                after.state = State::Sent { message_id: None };
                step.effects.clear();
            }
            (Self::OutboxNoPause, Event::Lost { .. } | Event::LeaseEnded) => {
                if let State::Unknown { due_at: Some(due_at), .. } = &mut after.state {
                    *due_at = at;
                }
            }
            (Self::OutboxLateDoneEnds, Event::Done { message_id, .. }) if !before.state.is_final() => {
                after.state = State::Sent { message_id: *message_id };
            }
            (Self::OutboxSentComesBack, Event::Done { .. }) if before.state.is_final() => after.state = pending,
            (Self::OutboxSentComesBack, Event::Lost { .. }) if before.state.is_final() => after.state = pending,
            _ => {}
        }
        Some(step)
    }
}

fn to(before: &Operation, state: State, effects: Vec<Effect>) -> Step {
    Step { operation: Operation { state, watch: None, ..before.clone() }, effects }
}

fn rejected(by: RejectedBy) -> State {
    State::Rejected { reason: String::new(), by }
}

fn ending() -> Vec<Effect> {
    vec![Effect::ShowCard, Effect::CloseCase, Effect::FreeSlot, Effect::ReopenDraft]
}

fn nobodys() -> Ticket {
    Ticket { id: "99".to_owned(), number: "99".to_owned(), url: None }
}
