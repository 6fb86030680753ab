//! The outbox's transition table, and what a stored row needs next.

use super::{
    Arrived, Decision, Delivery, DropReason, Effect, Entry, Event, GiveUp, Kind, NextAction, OnUnknown, Policy, State,
    Step,
};
use crate::{
    clock::Timestamp,
    ids::{ChatId, MessageId},
};

/// This event has no meaning in this state; nothing changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Illegal {
    /// The state's word.
    pub state: &'static str,
    /// The event's word.
    pub event: &'static str,
}

impl std::fmt::Display for Illegal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` has no meaning for a delivery that is `{}`", self.event, self.state)
    }
}

impl std::error::Error for Illegal {}

/// Whether an event, by its word, is what happens to every message: not worth a line of the history.
#[must_use]
pub fn is_ordinary(event: &str) -> bool {
    matches!(event, "claimed" | "done" | "not_sent" | "throttled" | "overtaken")
}

/// The next action for `delivery` at `now`.
#[must_use]
pub fn next_action(delivery: &Delivery, now: Timestamp) -> NextAction {
    let Some(due_at) = delivery.due_at() else { return NextAction::Nothing };
    match delivery.state {
        _ if now < due_at => NextAction::Wait(due_at),
        State::Pending { .. } => NextAction::Send,
        State::Sending { .. } => NextAction::Tell(Event::LeaseEnded),
        State::Unknown { .. } => NextAction::Tell(Event::PauseOver),
        State::Sent { .. } | State::Dropped { .. } => NextAction::Nothing,
    }
}

/// Carries one event out at the moment `at`.
///
/// # Errors
/// [`Illegal`] when the event has no meaning in the delivery's state, or answers a call that never began.
pub fn step(delivery: &Delivery, event: &Event, at: Timestamp, policy: &Policy) -> Result<Step, Illegal> {
    let illegal = Illegal { state: delivery.state.name(), event: event.name() };
    if event.attempt().is_some_and(|attempt| attempt == 0 || attempt > delivery.attempts) {
        return Err(illegal);
    }
    let mut turn = Turn { before: delivery, after: delivery.clone(), effects: Vec::new(), at, policy, detail: None };
    let taken = if event.attempt().is_some() { turn.answer(event) } else { turn.own(event) };
    if taken.is_some() { Ok(turn.finish(event)) } else { Err(illegal) }
}

/// One step being taken. `Some(())` from a handler means taken, `None` means illegal.
struct Turn<'a> {
    before: &'a Delivery,
    after: Delivery,
    effects: Vec<Effect>,
    at: Timestamp,
    policy: &'a Policy,
    detail: Option<String>,
}

impl Turn<'_> {
    fn finish(mut self, event: &Event) -> Step {
        let by = match event {
            Event::Decided(Decision::SendAgain { by } | Decision::LetGo { by }) => Some(*by),
            _ => None,
        };
        let entry = Entry {
            event: event.name().to_owned(),
            from: self.before.state.name().to_owned(),
            to: self.after.state.name().to_owned(),
            by,
            detail: self.detail.take().or_else(|| event.attempt().map(|attempt| format!("attempt {attempt}"))),
        };
        self.effects.insert(0, Effect::Record(entry));
        Step { delivery: self.after, effects: self.effects }
    }

    /// What time, a newer row or a person did.
    fn own(&mut self, event: &Event) -> Option<()> {
        match (&self.before.state, event) {
            (State::Pending { due_at }, Event::Claimed { lease_end }) if self.at >= *due_at => {
                let attempt = self.before.attempts + 1;
                self.after.attempts = attempt;
                self.after.state = State::Sending { attempt, lease_end: *lease_end };
                self.detail = Some(format!("attempt {attempt}"));
            }
            // Only what is not on the wire: that may land after the newer one. A card's repeat is overtaken like its edit:
            // the newer row says more, and one message less is shown.
            (State::Pending { .. }, Event::Overtaken) => self.drop_as(DropReason::Overtaken),
            (State::Pending { .. }, Event::Unreachable) => {
                self.drop_as(DropReason::Unreachable { detail: "known since an earlier message".to_owned() });
            }
            (State::Sending { lease_end, .. }, Event::LeaseEnded) if self.at >= *lease_end => {
                // The sender may have begun writing until its lease ended, by its own clock or by ours.
                self.become_unknown(self.at.max(*lease_end).plus(self.policy.request_timeout));
            }
            (State::Unknown { due_at: Some(due_at), .. }, Event::PauseOver) if self.at >= *due_at => self.pause_over(),
            (_, Event::ClockSetBack { most }) if self.before.due_at().is_some_and(|due_at| due_at > *most) => {
                match &mut self.after.state {
                    State::Pending { due_at } => *due_at = self.at,
                    State::Sending { lease_end, .. } => *lease_end = *most,
                    State::Unknown { due_at, .. } => *due_at = Some(*most),
                    State::Sent { .. } | State::Dropped { .. } => {}
                }
            }
            (State::Unknown { due_at: None, .. }, Event::Decided(decision)) => {
                match decision {
                    Decision::SendAgain { .. } => self.repeat(),
                    Decision::LetGo { .. } => self.drop_as(DropReason::ByStaff),
                }
                self.effects.push(Effect::CloseCase);
            }
            _ => return None,
        }
        Some(())
    }

    /// Telegram's answer to a call, in time or late.
    ///
    /// "Done" settles the matter whichever call it answers, once no later one can land. The rest speaks for the latest call only, and only while
    /// that one is under way or unknown; otherwise it is recorded and changes nothing.
    fn answer(&mut self, event: &Event) -> Option<()> {
        if let Event::Done { attempt, message_id } = event {
            self.done(*attempt, *message_id);
            return Some(());
        }
        if matches!(event, Event::Gone { .. }) && self.before.kind != Kind::Edit {
            return None;
        }
        let under_way = matches!(self.before.state, State::Sending { .. });
        let unknown = matches!(self.before.state, State::Unknown { .. });
        if event.attempt() != Some(self.before.attempts) || !(under_way || unknown) {
            return Some(());
        }
        if let Event::Lost { .. } = event {
            if under_way {
                self.become_unknown(self.at);
            }
            return Some(());
        }
        // The open case is settled first: what follows may open another.
        if matches!(self.before.state, State::Unknown { due_at: None, .. }) {
            self.effects.push(Effect::CloseCase);
        }
        self.proved_not_sent(event)
    }

    fn done(&mut self, attempt: u32, message_id: Option<MessageId>) {
        self.detail = message_id.map(|id| format!("message {id}"));
        let known = matches!(self.before.state, State::Sent { message_id: Some(_) });
        if let (Some(message_id), false, Kind::New { .. }) = (message_id, known, self.before.kind) {
            self.effects.push(Effect::KnowMessage { message_id });
        }
        match self.before.state {
            State::Sent { .. } | State::Dropped { .. } => {}
            // A later call may still land: if this row ended now, a newer edit could be sent and be undone by it.
            State::Sending { .. } | State::Unknown { due_at: Some(_), .. } if attempt < self.before.attempts => {
                self.after.arrived = Some(Arrived { message_id });
            }
            State::Unknown { due_at: None, .. } => {
                self.after.state = State::Sent { message_id };
                self.effects.push(Effect::CloseCase);
            }
            State::Pending { .. } | State::Sending { .. } | State::Unknown { .. } => {
                self.after.state = State::Sent { message_id };
            }
        }
    }

    /// This call made nothing; what entitled us to it still holds.
    fn proved_not_sent(&mut self, event: &Event) -> Option<()> {
        match event {
            Event::NotSent { retry_at, .. } => self.pend(*retry_at),
            Event::Throttled { until, .. } => {
                self.pend(*until);
                self.effects.push(Effect::HoldChat { until: *until });
            }
            Event::Moved { to, .. } => self.moved(*to),
            Event::Misconfigured { retry_at, detail, .. } => {
                self.pend(*retry_at);
                self.effects.push(Effect::Alert { detail: detail.clone() });
            }
            Event::Gone { .. } => {
                self.drop_as(DropReason::Gone);
                self.effects.push(Effect::SendInstead);
            }
            Event::ChatRefused { detail, .. } => {
                self.detail = Some(detail.clone());
                self.drop_unless_arrived(DropReason::Unreachable { detail: detail.clone() });
                self.effects.push(Effect::MarkUnreachable { detail: detail.clone() });
            }
            Event::NoTopic { detail, .. } if !self.before.topicless => {
                self.detail = Some(detail.clone());
                self.after.topicless = true;
                self.pend(self.at);
                self.effects.push(Effect::Alert { detail: detail.clone() });
            }
            Event::RowRefused { detail, .. } | Event::NoTopic { detail, .. } => {
                self.detail = Some(detail.clone());
                if self.drop_unless_arrived(DropReason::Refused { detail: detail.clone() }) {
                    self.effects.push(Effect::OpenCase);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn moved(&mut self, to: ChatId) {
        self.pend(self.at);
        self.effects.push(Effect::FollowChat { to });
    }

    /// Waiting to be sent, unless an earlier call has done it.
    fn pend(&mut self, due_at: Timestamp) {
        self.after.state = self.arrived().unwrap_or(State::Pending { due_at });
    }

    fn drop_as(&mut self, why: DropReason) {
        self.after.state = State::Dropped { why };
    }

    /// Whether it is dropped: what an earlier call has done stays done.
    fn drop_unless_arrived(&mut self, why: DropReason) -> bool {
        let arrived = self.arrived();
        let dropped = arrived.is_none();
        self.after.state = arrived.unwrap_or(State::Dropped { why });
        dropped
    }

    fn arrived(&self) -> Option<State> {
        self.before.arrived.map(|Arrived { message_id }| State::Sent { message_id })
    }

    /// It may have arrived, written at `until` at the latest.
    fn become_unknown(&mut self, until: Timestamp) {
        let due_at = until.plus(self.policy.pause_after(self.before.repeats));
        self.after.state = State::Unknown { since: self.at, due_at: Some(due_at) };
    }

    fn pause_over(&mut self) {
        if let Some(sent) = self.arrived() {
            self.after.state = sent;
            return;
        }
        let Kind::New { on_unknown } = self.before.kind else {
            self.repeat();
            return;
        };
        match (on_unknown, self.policy.second_unknown) {
            (OnUnknown::Repeat, _) if self.before.repeats < self.policy.repeats => self.repeat(),
            (OnUnknown::Review, _) | (OnUnknown::Repeat, GiveUp::Review) => {
                if let State::Unknown { due_at, .. } = &mut self.after.state {
                    *due_at = None;
                }
                self.effects.push(Effect::OpenCase);
            }
            (OnUnknown::Drop, _) | (OnUnknown::Repeat, GiveUp::Drop) => self.drop_as(DropReason::Unconfirmed),
        }
    }

    /// Waiting to be sent again; the repeat is on record before it can be made.
    fn repeat(&mut self) {
        self.after.repeats = self.before.repeats.saturating_add(1);
        self.detail = Some(format!("repeat {}", self.after.repeats));
        self.pend(self.at);
    }
}

impl Event {
    /// The event's one word, for journals and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Claimed { .. } => "claimed",
            Self::Done { .. } => "done",
            Self::NotSent { .. } => "not_sent",
            Self::Throttled { .. } => "throttled",
            Self::Moved { .. } => "moved",
            Self::Misconfigured { .. } => "misconfigured",
            Self::Gone { .. } => "gone",
            Self::ChatRefused { .. } => "chat_refused",
            Self::RowRefused { .. } => "row_refused",
            Self::NoTopic { .. } => "no_topic",
            Self::Lost { .. } => "lost",
            Self::LeaseEnded => "lease_ended",
            Self::PauseOver => "pause_over",
            Self::Overtaken => "overtaken",
            Self::Unreachable => "unreachable",
            Self::ClockSetBack { .. } => "clock_set_back",
            Self::Decided(Decision::SendAgain { .. }) => "decided_send_again",
            Self::Decided(Decision::LetGo { .. }) => "decided_let_go",
        }
    }

    /// The call an answer belongs to.
    #[must_use]
    pub fn attempt(&self) -> Option<u32> {
        match self {
            Self::Done { attempt, .. }
            | Self::NotSent { attempt, .. }
            | Self::Throttled { attempt, .. }
            | Self::Moved { attempt, .. }
            | Self::Misconfigured { attempt, .. }
            | Self::Gone { attempt }
            | Self::ChatRefused { attempt, .. }
            | Self::RowRefused { attempt, .. }
            | Self::NoTopic { attempt, .. }
            | Self::Lost { attempt } => Some(*attempt),
            Self::Claimed { .. }
            | Self::LeaseEnded
            | Self::PauseOver
            | Self::Overtaken
            | Self::Unreachable
            | Self::ClockSetBack { .. }
            | Self::Decided(_) => None,
        }
    }
}
