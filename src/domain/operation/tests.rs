//! Every (state, event) pair as one table, read line by line; and the cases that an exhaustive walk taught us.

use std::{fmt::Write as _, time::Duration};

use super::*;
use crate::domain::outcome::Promise;

const NOW: Timestamp = Timestamp(1_000_000_000);

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn ago(n: u64) -> Timestamp {
    NOW.minus(seconds(n))
}

fn ahead(n: u64) -> Timestamp {
    NOW.plus(seconds(n))
}

pub(super) fn policy(promise: Promise) -> Policy {
    Policy {
        promise,
        can_look: promise != Promise::Blind,
        key_life: (promise == Promise::Keyed).then_some(seconds(86_400)),
        request_timeout: seconds(10),
        lease: seconds(30),
        settle: seconds(120),
        looks: 3,
        spacing: seconds(20),
        on_absent: OnAbsent::Review,
        patience: seconds(3_600),
        look_patience: seconds(1_800),
        backoff_first: seconds(2),
        backoff_most: seconds(120),
        watch: seconds(3_600),
        tell_after: seconds(300),
    }
}

fn ticket(number: &str) -> Ticket {
    Ticket { id: number.to_owned(), number: number.to_owned(), url: None }
}

/// Confirmed a minute ago.
fn in_state(state: State, attempts: u32, on_wire: Option<OnWire>) -> Operation {
    let name = uuid::Uuid::nil();
    let ids = (OperationId(name), DraftId(name), ConfirmVersion(1), ExternalKey(name));
    let fresh = Operation::confirmed(ids.0, ids.1, ids.2, ids.3, ago(60), ago(60));
    let reviewed = matches!(state, State::Review { .. });
    Operation { state, attempts, on_wire, reviewed, ..fresh }
}

fn wire(attempts: u32, first: u64, last: u64) -> Option<OnWire> {
    Some(OnWire { attempts, first: ago(first), last: ago(last) })
}

fn sending(attempt: u32, ground: Ground, on_wire: Option<OnWire>) -> Operation {
    let state = State::Sending { attempt, lease_end: ahead(25), ground, began: ago(5) };
    in_state(state, attempt, on_wire)
}

fn unknown(misses: u32, candidate: Option<&str>, on_wire: Option<OnWire>) -> Operation {
    let candidate = candidate.map(|number| Candidate { number: number.to_owned(), by: 7, keyless: false });
    let (refused, silence) = (None, None);
    in_state(State::Unknown { since: ago(50), misses, due_at: ago(1), candidate, refused, silence }, 1, on_wire)
}

/// A repeat was refused, and nobody has seen yet whether the first attempt made it.
fn refused_repeat(misses: u32, on_wire: Option<OnWire>) -> Operation {
    let (candidate, refused) = (None, Some("no".to_owned()));
    let state = State::Unknown { since: ago(50), misses, due_at: ago(1), candidate, refused, silence: None };
    in_state(state, 2, on_wire)
}

/// Nobody has been able to look since so many seconds ago.
fn silent(since: u64, looks: u32) -> Operation {
    let silence = Some(Silence { since: ago(since), looks });
    let (candidate, refused) = (None, None);
    let state = State::Unknown { since: ago(4_000), misses: 0, due_at: ago(1), candidate, refused, silence };
    in_state(state, 1, wire(1, 90_000, 90_000))
}

fn review(reason: ReviewReason, attempts: u32, on_wire: Option<OnWire>) -> Operation {
    in_state(State::Review { since: ago(10), reason }, attempts, on_wire)
}

fn pending(ground: Ground, attempts: u32, on_wire: Option<OnWire>) -> Operation {
    in_state(State::Pending { due_at: ago(1), ground }, attempts, on_wire)
}

fn states() -> Vec<(&'static str, Operation)> {
    let created = || State::Created { ticket: ticket("77") };
    let rejected = |by| State::Rejected { reason: "no".to_owned(), by };
    let watched = |operation| Operation { watch: Some(Watch { due_at: ago(1), until: ahead(600) }), ..operation };
    let mut lease_over = sending(1, Ground::First, None);
    lease_over.state = State::Sending { attempt: 1, lease_end: ago(1), ground: Ground::First, began: ago(31) };
    vec![
        ("freshly confirmed", pending(Ground::First, 0, None)),
        ("not sent once", pending(Ground::First, 1, None)),
        ("lost once, to go again under its key", pending(Ground::SameKey, 1, wire(1, 40, 30))),
        ("lost once, its key forgotten by now", pending(Ground::SameKey, 1, wire(1, 90_000, 90_000))),
        ("lost once, found absent, to go again", pending(Ground::Absent, 1, wire(1, 400, 390))),
        ("lost once, to go again by a human's word", pending(Ground::Decided, 1, wire(1, 400, 390))),
        ("first attempt under way", sending(1, Ground::First, None)),
        ("first attempt under way, lease over", lease_over),
        ("second attempt under way, the first lost just now", sending(2, Ground::SameKey, wire(1, 40, 30))),
        ("second attempt under way, the first lost long ago", sending(2, Ground::Absent, wire(1, 400, 390))),
        ("lost just now", unknown(0, None, wire(1, 40, 30))),
        ("lost long ago, two misses counted", unknown(2, None, wire(1, 400, 390))),
        ("lost long ago, a number named", unknown(0, Some("77"), wire(1, 400, 390))),
        ("a repeat refused, the first lost just now", refused_repeat(0, wire(1, 40, 30))),
        ("a repeat refused, two misses counted", refused_repeat(2, wire(1, 400, 390))),
        ("looked for in vain for long", silent(1_800, 3)),
        ("in review: absent", review(ReviewReason::Absent, 1, wire(1, 400, 390))),
        ("in review: lost twice", review(ReviewReason::NotResent, 2, wire(2, 400, 300))),
        ("in review: fits no request", review(ReviewReason::Unfit, 1, None)),
        ("in review: never sent", review(ReviewReason::NeverSent, 1, None)),
        (
            "in review: several",
            review(ReviewReason::Several { tickets: vec![ticket("77"), ticket("78")] }, 1, wire(1, 400, 390)),
        ),
        ("created", in_state(created(), 1, None)),
        ("created, watched for a twin", watched(in_state(created(), 2, wire(1, 400, 390)))),
        ("rejected by the CRM", in_state(rejected(RejectedBy::Crm), 1, None)),
        ("rejected by staff, watched for a twin", watched(in_state(rejected(RejectedBy::Staff), 1, wire(1, 400, 390)))),
        ("cancelled", in_state(State::Cancelled, 0, None)),
    ]
}

/// Every kind of event; answers for the latest attempt and for the first.
fn events(operation: &Operation) -> Vec<(String, Event)> {
    let mut all = Vec::new();
    let mut attempts = vec![operation.attempts.max(1), 1];
    attempts.dedup();
    for attempt in attempts {
        all.extend([
            Event::Created { attempt, ticket: ticket("77") },
            Event::Refused { attempt, message: "too long".to_owned() },
            Event::NotSent { attempt, retry_at: ahead(4) },
            Event::Unfit { attempt, detail: "{{ subject + 1 }}".to_owned() },
            Event::InFlight { attempt, retry_at: ahead(4) },
            Event::Exists { attempt },
            Event::Lost { attempt },
        ]);
    }
    all.extend([
        Event::Claimed { lease_end: ahead(30) },
        Event::LeaseEnded,
        Event::Found { tickets: vec![ticket("77")], asked_at: NOW },
        Event::Found { tickets: vec![ticket("77"), ticket("78")], asked_at: NOW },
        Event::Found { tickets: Vec::new(), asked_at: NOW },
        Event::Missed { asked_at: NOW },
        Event::Unsure { retry_at: ahead(20) },
        Event::LookImpossible,
        Event::CandidateStands { ticket: ticket("77") },
        Event::CandidateFalls { exists: true },
        Event::CandidateKeyless,
        Event::WaitedTooLong,
        Event::Decided(Decision::Link { number: "77".to_owned(), by: 7 }),
        Event::Decided(Decision::LinkKeyless { number: "77".to_owned(), by: 7 }),
        Event::Decided(Decision::LinkUnverified { ticket: ticket("77"), by: 7 }),
        Event::Decided(Decision::LookAgain { by: 7 }),
        Event::Decided(Decision::CreateAfterAll { by: 7, reason: "called back".to_owned() }),
        Event::Decided(Decision::Reject { by: 7, reason: "spam".to_owned() }),
        Event::Cancelled,
        Event::ClockSetBack { ahead: seconds(20) },
        Event::ClockSetForward { by: seconds(20) },
    ]);
    all.into_iter().map(|event| (label(&event), event)).collect()
}

fn label(event: &Event) -> String {
    match event {
        Event::Found { tickets, .. } => format!("found {}", tickets.len()),
        other => other.attempt().map_or_else(|| other.name().to_owned(), |n| format!("{} #{n}", other.name())),
    }
}

fn when(moment: Timestamp) -> String {
    format!("{:+}s", (moment.0 - NOW.0) / 1_000)
}

fn show(operation: &Operation) -> String {
    let mut text = match &operation.state {
        State::Pending { due_at, ground } => format!("pending {ground:?} from {}", when(*due_at)),
        State::Sending { attempt, lease_end, ground, .. } => {
            format!("sending #{attempt} {ground:?} until {}", when(*lease_end))
        }
        State::Unknown { misses, due_at, candidate, refused, silence, .. } => {
            let candidate = candidate.as_ref().map_or(String::new(), |named| {
                format!(", check {}{}", named.number, if named.keyless { " though keyless" } else { "" })
            });
            let refused = refused.as_ref().map_or(String::new(), |message| format!(", a repeat refused: {message}"));
            let silence = silence.map_or(String::new(), |silence| {
                format!(", {} looks in vain since {}", silence.looks, when(silence.since))
            });
            format!("unknown, misses {misses}, from {}{candidate}{refused}{silence}", when(*due_at))
        }
        State::Review { reason, .. } => match reason {
            ReviewReason::Several { tickets } => format!("review Several({})", tickets.len()),
            ReviewReason::BadNumber { number, exists } => format!("review BadNumber({number}, exists: {exists})"),
            ReviewReason::Unchecked { number } => format!("review Unchecked({number})"),
            ReviewReason::RefusedRepeat { message } => format!("review RefusedRepeat({message})"),
            ReviewReason::Keyless { number, by } => format!("review Keyless({number}, named by {by})"),
            plain => format!("review {plain:?}"),
        },
        State::Created { ticket } => format!("created {}", ticket.number),
        State::Rejected { reason, by } => format!("rejected by {by:?}: {reason}"),
        State::Cancelled => "cancelled".to_owned(),
    };
    if let Some(wire) = operation.on_wire {
        let _ = write!(text, " | {} on the wire, last {}", wire.attempts, when(wire.last));
    }
    if let Some(watch) = operation.watch {
        let _ = write!(text, " | watch {} to {}", when(watch.due_at), when(watch.until));
    }
    text
}

fn show_effect(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Record(_) => return None,
        Effect::BeginAttempt { attempt, .. } => format!("begin #{attempt}"),
        Effect::EndAttempt { attempt, end } => format!("end #{attempt} {}", end.name()),
        Effect::ShowCard => "card".to_owned(),
        Effect::TellOutcome => "tell".to_owned(),
        Effect::OpenCase { .. } => "open case".to_owned(),
        Effect::ShowCase => "show case".to_owned(),
        Effect::CloseCase => "close case".to_owned(),
        Effect::ReportTwin { tickets } => format!("report twin ({})", tickets.len()),
        Effect::FreeSlot => "free slot".to_owned(),
        Effect::ReopenDraft => "reopen draft".to_owned(),
    })
}

fn line(operation: &Operation, event: &Event, policy: &Policy) -> Option<String> {
    let taken = step(operation, event, NOW, policy).ok()?;
    assert!(matches!(taken.effects.first(), Some(Effect::Record(_))), "every step is recorded");
    let effects: Vec<_> = taken.effects.iter().filter_map(show_effect).collect();
    let after = if taken.operation == *operation { "(same)".to_owned() } else { show(&taken.operation) };
    Some(format!("{after}  [{}]", effects.join(", ")))
}

#[test]
fn every_pair_of_state_and_event() {
    let promises = [("keyed", Promise::Keyed), ("searchable", Promise::Searchable), ("blind", Promise::Blind)];
    let mut table = String::new();
    for (name, operation) in states() {
        let _ = writeln!(table, "{name}: {}", show(&operation));
        let mut illegal = Vec::new();
        for (label, event) in events(&operation) {
            let mut groups: Vec<(Vec<&str>, Option<String>)> = Vec::new();
            for (promise, of) in promises {
                let line = line(&operation, &event, &policy(of));
                match groups.iter_mut().find(|(_, known)| *known == line) {
                    Some((promises, _)) => promises.push(promise),
                    None => groups.push((vec![promise], line)),
                }
            }
            for (promises, line) in groups {
                let which = if promises.len() == 3 { String::new() } else { format!(" ({})", promises.join(", ")) };
                match line {
                    Some(line) => {
                        let _ = writeln!(table, "  {:44} {line}", format!("{label}{which}"));
                    }
                    None => illegal.push(format!("{label}{which}")),
                }
            }
        }
        let _ = writeln!(table, "  illegal: {}\n", illegal.join(", "));
    }
    insta::assert_snapshot!(table);
}

fn take(operation: &Operation, event: &Event, at: Timestamp, policy: &Policy) -> Operation {
    match step(operation, event, at, policy) {
        Ok(taken) => taken.operation,
        Err(illegal) => panic!("{illegal}"),
    }
}

#[test]
fn an_answer_to_an_attempt_that_never_began_is_illegal_everywhere() {
    for (_, operation) in states() {
        for attempt in [0, operation.attempts + 1] {
            let event = Event::Lost { attempt };
            assert!(step(&operation, &event, NOW, &policy(Promise::Keyed)).is_err(), "{operation:?}");
        }
    }
}

#[test]
fn the_end_stays_the_end_whatever_comes() {
    for (name, operation) in states().into_iter().filter(|(_, operation)| operation.state.is_final()) {
        for (_, event) in events(&operation) {
            if let Ok(taken) = step(&operation, &event, NOW, &policy(Promise::Searchable)) {
                assert_eq!(taken.operation.state, operation.state, "{name}: {event:?}");
            }
        }
    }
}

#[test]
fn a_refused_repeat_is_not_final_however_late_its_answer_is_recorded() {
    // It was refused while the first attempt could still land, and recorded after it could not.
    let operation = sending(2, Ground::SameKey, wire(1, 40, 30));
    let refused = Event::Refused { attempt: 2, message: "no".to_owned() };
    let after = take(&operation, &refused, ahead(10_000), &policy(Promise::Keyed));
    assert_eq!(after.state.name(), "unknown");
}

#[test]
fn a_repeat_refused_after_absence_was_found_is_final() {
    let operation = sending(2, Ground::Absent, wire(1, 400, 390));
    let refused = Event::Refused { attempt: 2, message: "no".to_owned() };
    assert_eq!(take(&operation, &refused, NOW, &policy(Promise::Searchable)).state.name(), "rejected");
}

#[test]
fn a_refused_repeat_is_final_only_once_looking_found_nothing_after_the_settle_window() {
    let refused = Event::Refused { attempt: 2, message: "taken".to_owned() };
    for promise in [Promise::Keyed, Promise::Searchable] {
        let policy = policy(promise);
        for ground in [Ground::SameKey, Ground::Decided] {
            let (mut operation, mut looks) = (take(&sending(2, ground, wire(1, 400, 390)), &refused, NOW, &policy), 0);
            let mut now = NOW;
            while let State::Unknown { due_at, .. } = operation.state {
                now = now.max(due_at);
                assert_eq!(next_action(&operation, now, &policy), NextAction::Look, "it is not sent again");
                operation = take(&operation, &Event::Missed { asked_at: now }, now, &policy);
                looks += 1;
            }
            let reason = "taken".to_owned();
            assert_eq!((operation.state, looks), (State::Rejected { reason, by: RejectedBy::Crm }, policy.looks));
        }
    }
}

#[test]
fn a_refused_repeat_is_for_a_human_where_nobody_can_look() {
    let refused = Event::Refused { attempt: 2, message: "taken".to_owned() };
    for promise in [Promise::Keyed, Promise::Blind] {
        let policy = Policy { can_look: false, ..policy(promise) };
        let after = take(&sending(2, Ground::Decided, wire(1, 400, 390)), &refused, NOW, &policy);
        let reason = ReviewReason::RefusedRepeat { message: "taken".to_owned() };
        assert_eq!(after.state, State::Review { since: NOW, reason });
    }
}

#[test]
fn only_several_looks_in_vain_over_the_whole_patience_are_a_silence() {
    let (policy, unsure) = (policy(Promise::Searchable), Event::Unsure { retry_at: ahead(20) });
    for (operation, state) in [
        // After a night in which nobody looked.
        (Operation { confirmed_at: ago(36_000), ..unknown(0, None, wire(1, 36_000, 36_000)) }, "unknown"),
        (silent(36_000, 1), "unknown"),
        (silent(1_799, 3), "unknown"),
        (silent(1_800, 2), "review"),
    ] {
        assert_eq!(take(&operation, &unsure, NOW, &policy).state.name(), state, "{operation:?}");
    }
    // An answer in between ends it.
    let answered = take(&silent(1_800, 3), &Event::Missed { asked_at: NOW }, NOW, &policy);
    assert_eq!(take(&answered, &unsure, NOW, &policy).state.name(), "unknown");
}

#[test]
fn a_ticket_that_a_late_look_found_settles_it_wherever_it_has_got_to() {
    let found = Event::Found { tickets: vec![ticket("77")], asked_at: ago(5) };
    for operation in [
        pending(Ground::SameKey, 1, wire(1, 40, 30)),
        pending(Ground::Decided, 1, wire(1, 400, 390)),
        sending(2, Ground::SameKey, wire(1, 40, 30)),
        review(ReviewReason::Absent, 1, wire(1, 400, 390)),
    ] {
        assert_eq!(take(&operation, &found, NOW, &policy(Promise::Keyed)).state.name(), "created", "{operation:?}");
    }
}

#[test]
fn a_crm_that_loses_every_answer_is_asked_ever_more_seldom_and_then_a_human_is() {
    let policy = Policy { can_look: false, ..policy(Promise::Keyed) };
    let (mut operation, mut now, mut calls) = (pending(Ground::First, 0, None), NOW, Vec::new());
    while operation.state.name() != "review" {
        match next_action(&operation, now, &policy) {
            NextAction::Send => {
                calls.push(now);
                operation = take(&operation, &Event::Claimed { lease_end: now.plus(policy.lease) }, now, &policy);
                operation = take(&operation, &Event::Lost { attempt: operation.attempts }, now, &policy);
            }
            NextAction::Tell(event) => operation = take(&operation, &event, now, &policy),
            NextAction::Wait(until) => now = until,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(operation.state, State::Review { since: now, reason: ReviewReason::NotResent });
    assert!(calls.windows(2).all(|pair| pair[1].since(pair[0]) >= policy.backoff_first));
    assert!((10..60).contains(&calls.len()), "{} calls within an hour", calls.len());
}

#[test]
fn a_crm_that_is_always_busy_with_an_earlier_request_ends_with_a_human() {
    let policy = Policy { key_life: None, ..policy(Promise::Keyed) };
    let busy = Event::InFlight { attempt: 2, retry_at: ahead(4_000) };
    let operation = sending(2, Ground::SameKey, wire(1, 40, 30));
    assert_eq!(take(&operation, &busy, NOW, &policy).state.name(), "pending");
    assert_eq!(take(&operation, &busy, ahead(3_600), &policy).state.name(), "review");
}

#[test]
fn two_replicas_that_look_at_once_count_as_one_miss() {
    let policy = policy(Promise::Searchable);
    let first = take(&unknown(0, None, wire(1, 400, 390)), &Event::Missed { asked_at: NOW }, NOW, &policy);
    let second = take(&first, &Event::Missed { asked_at: NOW }, NOW, &policy);
    assert_eq!(second, first);
}

#[test]
fn not_sent_heard_twice_does_not_take_the_case_from_a_human() {
    let operation = review(ReviewReason::NeverSent, 1, None);
    let again = Event::NotSent { attempt: 1, retry_at: NOW };
    assert_eq!(take(&operation, &again, NOW, &policy(Promise::Keyed)).state, operation.state);
}

#[test]
fn a_late_no_does_not_outweigh_tickets_that_were_seen_or_named() {
    for operation in [
        unknown(0, Some("77"), wire(1, 400, 390)),
        review(ReviewReason::Several { tickets: vec![ticket("77"), ticket("78")] }, 1, wire(1, 400, 390)),
        review(ReviewReason::ExistsUnseen, 1, wire(1, 400, 390)),
    ] {
        for late in
            [Event::NotSent { attempt: 1, retry_at: NOW }, Event::Refused { attempt: 1, message: "no".to_owned() }]
        {
            assert_eq!(take(&operation, &late, NOW, &policy(Promise::Searchable)).state, operation.state);
        }
    }
}

#[test]
fn what_staff_reject_or_link_by_hand_is_watched_while_an_attempt_may_land() {
    for promise in [Promise::Keyed, Promise::Searchable] {
        let policy = policy(promise);
        let operation = review(ReviewReason::Absent, 1, wire(1, 400, 390));
        let reject = Event::Decided(Decision::Reject { by: 7, reason: "spam".to_owned() });
        assert!(take(&operation, &reject, NOW, &policy).watch.is_some());
        let stands = Event::CandidateStands { ticket: ticket("9") };
        assert!(take(&unknown(0, Some("9"), wire(1, 400, 390)), &stands, NOW, &policy).watch.is_some());
    }
}

#[test]
fn a_watch_looks_often_at_first_then_seldom_and_once_more_at_its_end() {
    for (spacing, watch) in [(20, 86_400), (1, 30 * 86_400), (20, 30), (600, 3_600)] {
        let policy = Policy { spacing: seconds(spacing), watch: seconds(watch), ..policy(Promise::Searchable) };
        let reject = Event::Decided(Decision::Reject { by: 7, reason: "spam".to_owned() });
        let mut operation = take(&review(ReviewReason::Absent, 1, wire(1, 400, 390)), &reject, NOW, &policy);
        let mut looks = Vec::new();
        while let Some(Watch { due_at, .. }) = operation.watch {
            looks.push(due_at.since(NOW).as_secs());
            operation = take(&operation, &Event::Missed { asked_at: due_at }, due_at, &policy);
        }
        assert_eq!((looks[0], looks.last()), (spacing, Some(&watch)), "{looks:?}");
        assert!(looks.len() <= 50 && looks.is_sorted(), "{looks:?}");
        if watch == 86_400 {
            assert_eq!(looks.iter().filter(|at| **at <= 600).count(), 8, "{looks:?}");
            assert_eq!(looks.len(), 25, "{looks:?}");
        }
    }
}

#[test]
fn absence_leads_to_one_repeat_and_then_to_a_human() {
    let policy = Policy { on_absent: OnAbsent::Resend, ..policy(Promise::Searchable) };
    let missed = Event::Missed { asked_at: NOW };
    let once = take(&unknown(2, None, wire(1, 400, 390)), &missed, NOW, &policy);
    assert_eq!(once.state, State::Pending { due_at: NOW, ground: Ground::Absent });
    let twice = take(&unknown(2, None, wire(2, 400, 390)), &missed, NOW, &policy);
    assert_eq!(twice.state.name(), "review");
}

#[test]
fn a_repeat_that_can_never_be_sent_ends_with_a_human_though_absence_is_found_anew_each_time() {
    let policy = Policy { on_absent: OnAbsent::Resend, ..policy(Promise::Searchable) };
    let (mut operation, mut now) = (unknown(0, None, wire(1, 40, 30)), NOW);
    let end = NOW.plus(policy.patience * 2);
    while operation.state.name() != "review" && now < end {
        match next_action(&operation, now, &policy) {
            NextAction::Look => operation = take(&operation, &Event::Missed { asked_at: now }, now, &policy),
            NextAction::Send => {
                operation = take(&operation, &Event::Claimed { lease_end: now.plus(policy.lease) }, now, &policy);
                let not_sent = Event::NotSent { attempt: operation.attempts, retry_at: now.plus(seconds(4)) };
                operation = take(&operation, &not_sent, now, &policy);
            }
            NextAction::Wait(until) => now = until,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(operation.state, State::Review { since: now, reason: ReviewReason::NotResent });
}

#[test]
fn absence_found_too_long_ago_is_looked_up_again() {
    let policy = Policy { on_absent: OnAbsent::Resend, ..policy(Promise::Searchable) };
    let operation = pending(Ground::Absent, 1, wire(1, 400, 390));
    assert_eq!(next_action(&operation, NOW, &policy), NextAction::Send);
    assert_eq!(next_action(&operation, ahead(300), &policy), NextAction::Tell(Event::WaitedTooLong));
    assert_eq!(take(&operation, &Event::WaitedTooLong, ahead(300), &policy).state.name(), "unknown");
}

#[test]
fn a_look_out_ends_only_with_a_look_that_was_made_at_its_end() {
    let policy = policy(Promise::Searchable);
    let watch = Some(Watch { due_at: ago(1), until: NOW });
    let operation = Operation { watch, ..in_state(State::Created { ticket: ticket("77") }, 2, wire(1, 400, 390)) };
    let found = |asked_at| Event::Found { tickets: vec![ticket("77")], asked_at };
    assert!(take(&operation, &found(ago(1)), ahead(60), &policy).watch.is_some());
    assert!(take(&operation, &Event::Unsure { retry_at: ahead(80) }, ahead(60), &policy).watch.is_some());
    assert!(take(&operation, &found(NOW), ahead(60), &policy).watch.is_none());
    // A CRM that has gone away is not asked for ever.
    assert!(take(&operation, &Event::Unsure { retry_at: NOW }, ahead(3_600), &policy).watch.is_none());
}

#[test]
fn a_key_is_used_only_while_its_repeat_would_land_within_its_life() {
    let policy = Policy { key_life: Some(seconds(200)), ..policy(Promise::Keyed) };
    // Lease 30 s and 120 s of being held: 150 s after the claim is the latest moment it can land.
    assert!(policy.key_lives(wire(1, 49, 49), NOW));
    assert!(!policy.key_lives(wire(1, 50, 50), NOW));
}

#[test]
fn figures_that_do_not_fit_together_are_refused() {
    let whole = || policy(Promise::Searchable);
    let settings = |policy: Policy| policy.problems().into_iter().map(|problem| problem.setting).collect::<Vec<_>>();
    assert_eq!(settings(whole()), Vec::<&str>::new());
    assert_eq!(settings(Policy { lease: seconds(10), ..whole() }), ["crm.lease"]);
    assert_eq!(settings(Policy { looks: 0, ..whole() }), ["crm.reconcile.looks"]);
    assert_eq!(settings(Policy { spacing: Duration::ZERO, ..whole() }), ["crm.reconcile.spacing"]);
    assert_eq!(settings(Policy { settle: seconds(9), ..whole() }), ["crm.reconcile.settle"]);
    assert_eq!(settings(Policy { watch: seconds(119), ..whole() }), ["crm.reconcile.watch"]);
    let resend = Policy { on_absent: OnAbsent::Resend, ..policy(Promise::Blind) };
    assert_eq!(settings(resend), ["crm.reconcile.on_absent"]);
    assert_eq!(settings(Policy { key_life: Some(seconds(150)), ..policy(Promise::Keyed) }), ["crm.lease"]);
}

#[test]
fn an_operation_survives_the_trip_to_the_database() {
    for (_, operation) in states() {
        let stored = serde_json::to_string(&operation).unwrap();
        assert_eq!(serde_json::from_str::<Operation>(&stored).unwrap(), operation);
    }
}
