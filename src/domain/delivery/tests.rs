//! Every (state, event) pair as one table, read line by line; and the cases that an exhaustive walk taught us.

use std::{fmt::Write as _, time::Duration};

use super::*;

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

fn policy(second_unknown: GiveUp) -> Policy {
    Policy {
        request_timeout: seconds(30),
        lease: seconds(40),
        pause: seconds(60),
        pause_most: seconds(600),
        repeats: 1,
        second_unknown,
    }
}

const REPEAT: Kind = Kind::New { on_unknown: OnUnknown::Repeat };
const KINDS: [(&str, Kind); 4] = [
    ("edit", Kind::Edit),
    ("repeat", REPEAT),
    ("review", Kind::New { on_unknown: OnUnknown::Review }),
    ("drop", Kind::New { on_unknown: OnUnknown::Drop }),
];

/// A state with its attempts, repeats and whether an earlier call has turned out to have arrived.
fn states() -> Vec<(&'static str, State, u32, u32, bool)> {
    let sending = |attempt, lease_end| State::Sending { attempt, lease_end };
    let unknown = |due_at| State::Unknown { since: ago(100), due_at };
    vec![
        ("freshly written", State::Pending { due_at: ago(1) }, 0, 0, false),
        ("to wait still", State::Pending { due_at: ahead(9) }, 1, 0, false),
        ("to be repeated", State::Pending { due_at: ago(1) }, 1, 1, false),
        ("under way", sending(1, ahead(20)), 1, 0, false),
        ("under way, lease over", sending(1, ago(1)), 1, 0, false),
        ("repeat under way", sending(2, ahead(20)), 2, 1, false),
        ("repeat under way, the first call has arrived", sending(2, ahead(20)), 2, 1, true),
        ("lost just now", unknown(Some(ahead(30))), 1, 0, false),
        ("lost, pause over", unknown(Some(ago(1))), 1, 0, false),
        ("repeat lost, pause over", unknown(Some(ago(1))), 2, 1, false),
        ("repeat lost, pause over, the first call has arrived", unknown(Some(ago(1))), 2, 1, true),
        ("in front of a human", unknown(None), 1, 0, false),
        ("sent", State::Sent { message_id: Some(MessageId(5)) }, 1, 0, false),
        ("sent, number unknown", State::Sent { message_id: None }, 1, 0, false),
        ("dropped", State::Dropped { why: DropReason::Unconfirmed }, 1, 0, false),
    ]
}

fn events(attempts: u32) -> Vec<Event> {
    let mut all = Vec::new();
    let mut which = vec![attempts.max(1), 1];
    which.dedup();
    for attempt in which {
        all.extend([
            Event::Done { attempt, message_id: Some(MessageId(6)) },
            Event::NotSent { attempt, retry_at: ahead(4) },
            Event::Throttled { attempt, until: ahead(17) },
            Event::Moved { attempt, to: ChatId(-100) },
            Event::Misconfigured { attempt, retry_at: ahead(60), detail: "401".to_owned() },
            Event::Gone { attempt },
            Event::ChatRefused { attempt, detail: "blocked".to_owned() },
            Event::RowRefused { attempt, detail: "too long".to_owned() },
            Event::NoTopic { attempt, detail: "closed".to_owned() },
            Event::Lost { attempt },
        ]);
    }
    all.extend([
        Event::Claimed { lease_end: ahead(40) },
        Event::LeaseEnded,
        Event::PauseOver,
        Event::Overtaken,
        Event::Unreachable,
        Event::ClockSetBack { most: ahead(20) },
        Event::Decided(Decision::SendAgain { by: 7 }),
        Event::Decided(Decision::LetGo { by: 7 }),
    ]);
    all
}

fn when(moment: Timestamp) -> String {
    format!("{:+}s", (moment.0 - NOW.0) / 1_000)
}

fn show(delivery: &Delivery) -> String {
    let state = match &delivery.state {
        State::Pending { due_at } => format!("pending from {}", when(*due_at)),
        State::Sending { attempt, lease_end } => format!("sending #{attempt} until {}", when(*lease_end)),
        State::Unknown { due_at: Some(due_at), .. } => format!("unknown until {}", when(*due_at)),
        State::Unknown { due_at: None, .. } => "unknown, for a human".to_owned(),
        State::Sent { message_id } => format!("sent {:?}", message_id.map(|id| id.0)),
        State::Dropped { why } => format!("dropped {why:?}"),
    };
    let topicless = if delivery.topicless { ", topicless" } else { "" };
    let arrived = if delivery.arrived.is_some() { ", arrived" } else { "" };
    format!("{state} (calls {}, repeats {}{arrived}{topicless})", delivery.attempts, delivery.repeats)
}

fn show_effect(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Record(_) => return None,
        Effect::KnowMessage { message_id } => format!("know message {message_id}"),
        Effect::SendInstead => "send instead".to_owned(),
        Effect::MarkUnreachable { .. } => "mark unreachable".to_owned(),
        Effect::HoldChat { until } => format!("hold chat until {}", when(*until)),
        Effect::FollowChat { to } => format!("follow chat to {to}"),
        Effect::Alert { .. } => "alert".to_owned(),
        Effect::OpenCase => "open case".to_owned(),
        Effect::CloseCase => "close case".to_owned(),
    })
}

fn line(delivery: &Delivery, event: &Event) -> Option<String> {
    let taken = step(delivery, event, NOW, &policy(GiveUp::Review)).ok()?;
    assert!(matches!(taken.effects.first(), Some(Effect::Record(_))), "every step is recorded");
    let effects: Vec<_> = taken.effects.iter().filter_map(show_effect).collect();
    let after = if taken.delivery == *delivery { "(same)".to_owned() } else { show(&taken.delivery) };
    Some(format!("{after}  [{}]", effects.join(", ")))
}

#[test]
fn every_pair_of_state_and_event() {
    let mut table = String::new();
    for (name, state, attempts, repeats, arrived) in states() {
        let of = |kind| Delivery {
            kind,
            state: state.clone(),
            attempts,
            repeats,
            arrived: arrived.then_some(Arrived { message_id: Some(MessageId(5)) }),
            topicless: false,
        };
        let _ = writeln!(table, "{name}: {}", show(&of(Kind::Edit)));
        let mut illegal = Vec::new();
        for event in events(attempts) {
            let label = event.attempt().map_or_else(|| event.name().to_owned(), |n| format!("{} #{n}", event.name()));
            let mut groups: Vec<(Vec<&str>, Option<String>)> = Vec::new();
            for (kind_name, kind) in KINDS {
                let line = line(&of(kind), &event);
                match groups.iter_mut().find(|(_, known)| *known == line) {
                    Some((kinds, _)) => kinds.push(kind_name),
                    None => groups.push((vec![kind_name], line)),
                }
            }
            for (kinds, line) in groups {
                let which = if kinds.len() == KINDS.len() { String::new() } else { format!(" ({})", kinds.join(", ")) };
                match line {
                    Some(line) => {
                        let _ = writeln!(table, "  {:40} {line}", format!("{label}{which}"));
                    }
                    None => illegal.push(format!("{label}{which}")),
                }
            }
        }
        let _ = writeln!(table, "  illegal: {}\n", illegal.join(", "));
    }
    insta::assert_snapshot!(table);
}

fn take(delivery: &Delivery, event: &Event, at: Timestamp) -> Delivery {
    match step(delivery, event, at, &policy(GiveUp::Drop)) {
        Ok(taken) => taken.delivery,
        Err(illegal) => panic!("{illegal}"),
    }
}

/// Tells the row what time decides until it is to be sent or ends; gives the moment reached.
fn wait(delivery: &mut Delivery, mut now: Timestamp) -> Timestamp {
    loop {
        match next_action(delivery, now) {
            NextAction::Wait(until) => now = until,
            NextAction::Tell(event) => *delivery = take(delivery, &event, now),
            NextAction::Send | NextAction::Nothing => return now,
        }
    }
}

#[test]
fn a_message_is_repeated_once_and_the_repeat_is_on_record_before_it_is_made() {
    let mut delivery = Delivery::new(REPEAT, NOW);
    let mut now = NOW;
    for repeats in 0..2 {
        assert_eq!((delivery.repeats, delivery.state.name()), (repeats, "pending"));
        delivery = take(&delivery, &Event::Claimed { lease_end: now.plus(seconds(40)) }, now);
        delivery = take(&delivery, &Event::Lost { attempt: delivery.attempts }, now);
        now = wait(&mut delivery, now);
    }
    assert_eq!(delivery.state, State::Dropped { why: DropReason::Unconfirmed });
}

#[test]
fn a_message_is_repeated_as_often_as_its_figures_say() {
    for most in 0..4 {
        let policy = Policy { repeats: most, ..policy(GiveUp::Drop) };
        let take = |delivery: &Delivery, event: &Event, at| step(delivery, event, at, &policy).unwrap().delivery;
        let mut delivery = Delivery::new(REPEAT, NOW);
        let mut now = NOW;
        while !delivery.state.is_final() {
            delivery = match next_action(&delivery, now) {
                NextAction::Wait(until) => {
                    now = until;
                    continue;
                }
                NextAction::Tell(event) => take(&delivery, &event, now),
                NextAction::Send => take(&delivery, &Event::Claimed { lease_end: now.plus(seconds(40)) }, now),
                NextAction::Nothing => panic!("{delivery:?}"),
            };
        }
        assert_eq!(delivery.state, State::Dropped { why: DropReason::Unconfirmed });
        assert_eq!((delivery.attempts, delivery.repeats), (most + 1, most));
    }
}

#[test]
fn a_late_done_does_not_end_a_row_whose_repeat_may_still_land() {
    // Ended now, it would let a newer edit pass, which the repeat would then undo.
    let mut delivery = Delivery { attempts: 1, repeats: 1, ..Delivery::new(Kind::Edit, NOW) };
    delivery = take(&delivery, &Event::Claimed { lease_end: ahead(40) }, NOW);
    delivery = take(&delivery, &Event::Done { attempt: 1, message_id: Some(MessageId(5)) }, NOW);
    assert_eq!((delivery.state.name(), delivery.holds_back()), ("sending", true));
    // And no third call is made for it.
    delivery = take(&delivery, &Event::Lost { attempt: 2 }, NOW);
    wait(&mut delivery, NOW);
    assert_eq!(delivery.state, State::Sent { message_id: Some(MessageId(5)) });
}

#[test]
fn a_row_whose_topic_is_gone_goes_once_without_it() {
    let no_topic = |attempt| Event::NoTopic { attempt, detail: "TOPIC_CLOSED".to_owned() };
    let mut delivery = take(&Delivery::new(REPEAT, NOW), &Event::Claimed { lease_end: ahead(40) }, NOW);
    delivery = take(&delivery, &no_topic(1), NOW);
    assert_eq!((delivery.state.name(), delivery.topicless), ("pending", true));
    delivery = take(&delivery, &Event::Claimed { lease_end: ahead(40) }, NOW);
    delivery = take(&delivery, &no_topic(2), NOW);
    assert_eq!(delivery.state, State::Dropped { why: DropReason::Refused { detail: "TOPIC_CLOSED".to_owned() } });
}

#[test]
fn the_end_stays_the_end_whatever_comes() {
    for (_, kind) in KINDS {
        for (name, state, attempts, repeats, _) in states().into_iter().filter(|(_, state, ..)| state.is_final()) {
            let delivery = Delivery { kind, state, attempts, repeats, arrived: None, topicless: false };
            for event in events(attempts) {
                if let Ok(taken) = step(&delivery, &event, NOW, &policy(GiveUp::Drop)) {
                    assert_eq!(taken.delivery.state, delivery.state, "{name}: {event:?}");
                }
            }
        }
    }
}

#[test]
fn only_what_is_on_its_way_by_itself_holds_the_next_row_back() {
    let human = State::Unknown { since: NOW, due_at: None };
    assert!(!Delivery { state: human, ..Delivery::new(REPEAT, NOW) }.holds_back());
    assert!(Delivery::new(REPEAT, NOW).holds_back());
}

#[test]
fn figures_that_do_not_fit_together_are_refused() {
    let whole = || policy(GiveUp::Drop);
    let settings = |policy: Policy| policy.problems().into_iter().map(|(setting, _)| setting).collect::<Vec<_>>();
    assert_eq!(settings(whole()), Vec::<&str>::new());
    assert_eq!(settings(Policy { lease: seconds(30), ..whole() }), ["telegram.lease"]);
    assert_eq!(settings(Policy { pause: seconds(29), ..whole() }), ["notices.pause"]);
    assert_eq!(settings(Policy { pause_most: seconds(59), ..whole() }), ["telegram.pause_most"]);
}

#[test]
fn a_row_stored_before_arrivals_were_kept_can_be_read() {
    let old = r#"{"kind":{"kind":"edit"},"state":{"state":"pending","due_at":1},"attempts":0,"repeats":0}"#;
    assert_eq!(serde_json::from_str::<Delivery>(old).unwrap(), Delivery::new(Kind::Edit, Timestamp(1)));
}
