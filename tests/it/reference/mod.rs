//! Random acts and faults against a reference: every event goes through the store's one door on a real database, and
//! through the pure machine on a copy in memory; after each one both must stand in the same place, with the same rows.
//!
//! Acts: confirming twice, two workers claiming, answers of the current, of an earlier and of no attempt, each perhaps
//! twice, ended leases, looks, decisions, withdrawal, and writes on a state read long ago. CI has 50 000 transitions
//! taken on each database, those that were refused or came too late not counted; `ZAYAVKA_TRANSITIONS` sets another number,
//! `ZAYAVKA_SEED` repeats a run.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod acts;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use acts::Acts;
use futures_util::{StreamExt as _, stream};
use zayavka::{
    clock::{Dice, SeededDice, SystemDice, Timestamp},
    domain::{
        operation::{Effect, Event, OnAbsent, Operation, Policy, State, step},
        outcome::Promise,
    },
    ids::{BotId, ChatId, ConfirmVersion, DraftId, ExternalKey, Marker, OperationId, UserId},
    store::{
        Store, journal,
        operations::{self, Advanced, Author, Stored},
    },
};

use crate::databases::on_both;

const BOT: BotId = BotId(1);

/// Most events for one operation before the next one begins.
const LIFE: usize = 25;

/// Operations alive at the same time: their writes meet in the same groups.
const AT_ONCE: usize = 192;

/// What a run counted, by event word: a run in which something never happened proves nothing about it.
#[derive(Debug, Default)]
struct Counted {
    moved: BTreeMap<&'static str, usize>,
    illegal: usize,
    stale: usize,
}

on_both! {
    async fn random_acts(db: Database) {
        let wanted: usize = std::env::var("ZAYAVKA_TRANSITIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(50_000);
        let seed = std::env::var("ZAYAVKA_SEED").ok().and_then(|n| n.parse().ok());
        let seed: u64 = seed.unwrap_or_else(|| SystemDice.below(u64::MAX));
        println!("ZAYAVKA_SEED={seed}");
        let store = Store::connect(&db.url).await.unwrap();
        store.migrate().await.unwrap();
        let made = AtomicUsize::new(0);
        let mut lives = stream::iter((0..).take_while(|_| made.load(Ordering::SeqCst) < wanted))
            .map(|life: u64| live(store.clone(), seed.wrapping_add(life)))
            .buffer_unordered(AT_ONCE);
        let mut all = Counted::default();
        while let Some(one) = lives.next().await {
            made.fetch_add(one.moved.values().sum::<usize>(), Ordering::SeqCst);
            for (event, n) in one.moved {
                *all.moved.entry(event).or_default() += n;
            }
            all.illegal += one.illegal;
            all.stale += one.stale;
        }
        drop(lives);
        let moved: usize = all.moved.values().sum();
        println!("{moved} transitions taken, beside them {} refused and {} stale: {:?}", all.illegal, all.stale, all.moved);
        assert!(moved >= wanted);
        assert!(wanted < 10_000 || (all.illegal > wanted / 50 && all.stale > wanted / 50), "the acts are too tame");
        for event in ["claimed", "created", "refused", "not_sent", "in_flight", "exists", "lost", "lease_ended", "found",
            "missed", "unsure", "look_impossible", "candidate_stands", "candidate_falls", "decided_link",
            "decided_look_again", "decided_create_after_all", "decided_reject", "cancelled"] {
            assert!(wanted < 10_000 || all.moved.contains_key(event), "`{event}` was never taken: the acts are too tame");
        }
        store.close().await;
    }
}

/// One operation's life: the store and the reference side by side.
async fn live(store: Store, seed: u64) -> Counted {
    let dice = Arc::new(SeededDice::new(seed));
    let policy = Arc::new(policy(&dice));
    let mut acts = Acts::new(Arc::clone(&dice));
    let mut now = Timestamp(1_796_000_000_000);
    let mut reference = confirm(&store, &dice, now).await;
    let mut history: Vec<String> = Vec::new();
    let (mut counted, mut rev, mut lines, mut begun) = (Counted::default(), 0_i64, 1_usize, 0_u32);
    let mut after_the_end = 0;
    for _ in 0..LIFE {
        // One more after the end: it must stay the end.
        after_the_end += usize::from(reference.state.is_final() && reference.watch.is_none());
        if after_the_end > 1 {
            break;
        }
        now = acts.later(now);
        let event = acts.next(&reference, now, &policy);
        // Now and then somebody writes on what they read long ago.
        let stale = acts.one_in(12) && rev > 0;
        let read_at = if stale { rev - 1 } else { rev };
        history.push(format!("{now} {event:?}{}", if stale { " (read long ago)" } else { "" }));
        let advanced = advance(&store, reference.id, read_at, &event, now, &policy).await;
        match (advanced, step(&reference, &event, now, &policy)) {
            (Advanced::Stale, _) if stale => counted.stale += 1,
            (Advanced::Illegal(_), Err(_)) if !stale => counted.illegal += 1,
            (Advanced::Moved(stored), Ok(taken)) if !stale => {
                assert_eq!(stored.operation, taken.operation, "seed {seed}: {history:#?}");
                assert!(
                    !reference.state.is_final() || taken.operation.state == reference.state,
                    "seed {seed}: the end is the end: {history:#?}"
                );
                begun +=
                    u32::try_from(taken.effects.iter().filter(|e| matches!(e, Effect::BeginAttempt { .. })).count())
                        .unwrap();
                reference = taken.operation;
                rev += 1;
                lines += 1;
                *counted.moved.entry(event.name()).or_default() += 1;
            }
            (advanced, expected) => {
                panic!("seed {seed}: the store says {advanced:?}, the machine {expected:?}: {history:#?}")
            }
        }
    }
    let stored = operations::load(store.reader(), reference.id).await.unwrap().unwrap();
    assert_eq!((&stored.operation, stored.rev), (&reference, rev), "seed {seed}: {history:#?}");
    let attempts = operations::attempts(store.reader(), reference.id).await.unwrap();
    assert_eq!(
        (attempts.len(), reference.attempts),
        (begun as usize, begun),
        "seed {seed}: a row for each attempt: {history:#?}"
    );
    let journal = journal::of_operation(store.reader(), reference.id).await.unwrap();
    assert_eq!(journal.len(), lines, "seed {seed}: a line for each step: {history:#?}");
    counted
}

/// Confirms a draft twice: one operation, whoever comes second.
async fn confirm(store: &Store, dice: &SeededDice, now: Timestamp) -> Operation {
    let draft = DraftId::new(now, dice);
    let key = ExternalKey::derive(BOT, draft, ConfirmVersion(1));
    let fresh = || Stored {
        operation: Operation::confirmed(OperationId::new(now, dice), draft, ConfirmVersion(1), key, now, now),
        rev: 0,
        bot: BOT,
        user: UserId(7),
        chat: ChatId(7),
        lang: "ru".to_owned(),
        form: "f".to_owned(),
        form_title: "F".to_owned(),
        marker: Marker::of(key),
        order: None,
        prepared: None,
        client_name: None,
        client_phone: None,
        slot: None,
    };
    let insert = async |stored: Stored| {
        let stored = Arc::new(stored);
        store
            .write(move |tx| {
                let stored = Arc::clone(&stored);
                async move { operations::insert_once(tx.as_ref(), &stored, now).await }
            })
            .await
            .unwrap()
    };
    let (one, two) = (fresh(), fresh());
    let first = one.operation.clone();
    assert!(insert(one).await, "the first confirmation stands");
    assert!(!insert(two).await, "the second one finds it");
    let stored = operations::by_draft_version(store.reader(), draft, ConfirmVersion(1)).await.unwrap().unwrap();
    assert_eq!(stored.operation, first);
    first
}

async fn advance(
    store: &Store,
    id: OperationId,
    rev: i64,
    event: &Event,
    at: Timestamp,
    policy: &Arc<Policy>,
) -> Advanced {
    let (event, policy) = (Arc::new(event.clone()), Arc::clone(policy));
    store
        .write(move |tx| {
            let (event, policy) = (Arc::clone(&event), Arc::clone(&policy));
            async move { operations::advance(tx.as_ref(), id, Some(rev), &event, at, &policy, &Author::default()).await }
        })
        .await
        .unwrap()
}

fn policy(dice: &SeededDice) -> Policy {
    let promise = [Promise::Keyed, Promise::Searchable, Promise::Blind][usize::try_from(dice.below(3)).unwrap()];
    let seconds = Duration::from_secs;
    Policy {
        promise,
        can_look: promise == Promise::Searchable || (promise == Promise::Keyed && dice.below(2) == 0),
        key_life: (promise == Promise::Keyed && dice.below(2) == 0).then_some(seconds(90)),
        request_timeout: seconds(4),
        lease: seconds(8),
        settle: seconds(10),
        looks: 2,
        spacing: seconds(3),
        on_absent: if promise != Promise::Blind && dice.below(3) == 0 { OnAbsent::Resend } else { OnAbsent::Review },
        patience: seconds(60),
        look_patience: seconds(40),
        backoff_first: seconds(2),
        backoff_most: seconds(30),
        watch: seconds(60),
        tell_after: seconds(20),
    }
}

/// A state's word, for events that only some states take.
fn is(operation: &Operation, word: &str) -> bool {
    let State::Pending { .. } = operation.state else { return operation.state.name() == word };
    word == "pending"
}
