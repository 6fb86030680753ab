//! `zayavka doctor`: how the installation stands (`live`), and one question about two tickets.
//!
//! `zayavka doctor duplicate`: two tickets that look like one request. The three causes there can be are told apart by
//! what is stored: the update that confirmed each, the worker and the time of each call, how each call ended. A ticket that
//! only the CRM knows is asked for there (`stranger`).

mod live;
mod stranger;

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{Exit, desk::Desk, queue};
use crate::{
    domain::review::redact,
    store::{
        StoreError, cases, inbox,
        inbox::Seen,
        journal,
        operations::{self, Attempt, Stored},
    },
};

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// How long another process that polls with our token is listened for, in seconds; one that was cut off is back after
    /// five.
    #[arg(long, value_name = "SECONDS", default_value_t = 12, value_parser = clap::value_parser!(u64).range(..=50))]
    listen: u64,
    #[command(subcommand)]
    what: Option<DoctorCommand>,
}

#[derive(Debug, Subcommand)]
enum DoctorCommand {
    /// Why there are two: the same update twice, two workers, a lost answer, or two honest requests.
    Duplicate {
        /// A ticket's number, a marker, or an operation's id.
        a: String,
        /// The other one.
        b: String,
    },
}

/// Why there are two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// One update was handled as two.
    SameUpdate,
    /// Two calls were under way at the same time.
    TwoWorkers,
    /// A call whose answer nobody had was followed by another one.
    LostAnswer,
    /// The CRM, or something on the way to it, carried one call out twice.
    OneCall,
    /// Nothing of ours links them.
    None,
}

impl Cause {
    fn name(self) -> &'static str {
        match self {
            Self::SameUpdate => "same_update",
            Self::TwoWorkers => "two_workers",
            Self::LostAnswer => "lost_answer",
            Self::OneCall => "carried_out_twice",
            Self::None => "none",
        }
    }
}

/// An operation with all that is stored about how it came about and was sent.
struct Evidence {
    stored: Stored,
    attempts: Vec<Attempt>,
    /// The updates behind its confirmation.
    updates: Vec<Seen>,
}

pub(super) async fn run(path: &Path, args: &DoctorArgs, json: bool) -> Exit {
    let done = match &args.what {
        None => live::run(path, args.listen, json).await,
        Some(DoctorCommand::Duplicate { a, b }) => duplicate(path, a, b, json).await,
    };
    match done {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn duplicate(path: &Path, a: &str, b: &str, json: bool) -> Result<Exit, Exit> {
    let desk = Desk::open(path, json).await?;
    match (evidence(&desk, a).await?, evidence(&desk, b).await?) {
        (Ok(a), Ok(b)) => {
            let (cause, why) = cause(&a, &b);
            tell(json, cause, &why, &[&a, &b]);
        }
        (Ok(known), Err(words)) => stranger::judge(path, &desk, (b, &words), &known).await?,
        (Err(words), Ok(known)) => stranger::judge(path, &desk, (a, &words), &known).await?,
        (Err(words), Err(more)) => {
            eprintln!("{words}\n{more}");
            return Err(Exit::NotWell);
        }
    }
    Ok(Exit::Done)
}

/// The cause, with the rows that show it.
fn tell(json: bool, cause: Cause, why: &str, known: &[&Evidence]) {
    if json {
        let known: Vec<_> = known.iter().map(|evidence| evidence.json()).collect();
        println!("{}", json!({"cause": cause.name(), "why": why, "operations": known}));
        return;
    }
    println!("{}: {why}", cause.name());
    let mut shown = None;
    for evidence in known {
        if shown.replace(evidence.stored.operation.id) != Some(evidence.stored.operation.id) {
            evidence.print();
        }
    }
}

/// The operation a name belongs to; a ticket nobody linked is looked for among the tickets that cases tell of. Words where
/// there is none.
async fn evidence(desk: &Desk, name: &str) -> Result<Result<Evidence, String>, Exit> {
    let (db, bot) = (desk.store.reader(), desk.staff.bot);
    let trouble = |error: StoreError| Desk::trouble(&error);
    let mut found = operations::named(db, bot, name).await.map_err(trouble)?;
    if found.is_empty() {
        let number = name.trim_start_matches(['#', '№']).trim();
        for operation in cases::naming_ticket(db, bot, number).await.map_err(trouble)? {
            found.extend(operations::load(db, operation).await.map_err(trouble)?);
        }
    }
    let stored = match super::desk::one(found, name) {
        Ok(stored) => stored,
        Err(words) => return Ok(Err(words)),
    };
    let id = stored.operation.id;
    let attempts = operations::attempts(db, id).await.map_err(trouble)?;
    let mut updates = Vec::new();
    let history = journal::of_operation(db, id).await.map_err(trouble)?;
    // The first update noted is the one that confirmed it; the others brought decisions.
    let confirmed_by = history.iter().find(|line| line.entry.event == journal::BY_UPDATE);
    if let Some(update) = confirmed_by.and_then(|line| line.entry.detail.as_deref()).and_then(update_of) {
        updates = inbox::seen(db, bot, update).await.map_err(trouble)?;
    }
    Ok(Ok(Evidence { stored, attempts, updates }))
}

fn update_of(detail: &str) -> Option<i64> {
    detail.strip_prefix("update ")?.split(' ').next()?.parse().ok()
}

/// The three-way test.
fn cause(a: &Evidence, b: &Evidence) -> (Cause, String) {
    if a.stored.operation.id == b.stored.operation.id {
        return of_one(a);
    }
    let same = a.updates.iter().find(|seen| b.updates.iter().any(|other| other.update == seen.update));
    if let Some(seen) = same {
        return (Cause::SameUpdate, format!("both were confirmed by update {}, handled more than once", seen.update));
    }
    let (one, other) = (&a.stored.operation, &b.stored.operation);
    if one.draft == other.draft {
        let why = format!(
            "two honest requests: one form confirmed twice, as version {} and version {}, after changes in between",
            one.version, other.version
        );
        return (Cause::None, why);
    }
    let who = if a.stored.user == b.stored.user { "one person confirmed two forms" } else { "two people" };
    (Cause::None, format!("two honest requests: {who}; different drafts, different updates, different keys"))
}

/// Two tickets of one operation: more than one call was made for it.
fn of_one(evidence: &Evidence) -> (Cause, String) {
    let attempts = &evidence.attempts;
    for pair in attempts.windows(2) {
        let [first, second] = pair else { continue };
        let overlapping = first.ended_at.is_none_or(|ended| second.began_at < ended);
        if overlapping && first.worker != second.worker {
            let why = format!(
                "attempt {} of {} had not ended when {} began attempt {}",
                first.attempt, first.worker, second.worker, second.attempt
            );
            return (Cause::TwoWorkers, why);
        }
    }
    let unanswered = |attempt: &&Attempt| {
        matches!(attempt.outcome.as_deref(), None | Some("lost" | "lease_ended" | "in_flight" | "exists"))
    };
    let before_last = attempts.len().saturating_sub(1);
    if let Some(lost) = attempts.iter().take(before_last).find(unanswered) {
        let why = format!("attempt {} had no answer that proves anything, and another one followed", lost.attempt);
        return (Cause::LostAnswer, why);
    }
    let late = attempts.len() > 1
        && attempts.iter().filter(|attempt| attempt.outcome.as_deref() == Some("created")).count() > 1;
    if late {
        return (Cause::LostAnswer, "more than one attempt was answered with a ticket, one of them late".to_owned());
    }
    let calls = attempts.len();
    (Cause::None, format!("one operation, {calls} call(s) to the CRM, none of which explains a second ticket"))
}

impl Evidence {
    fn json(&self) -> Value {
        let attempts = self.attempts.iter().map(|attempt| {
            json!({
                "attempt": attempt.attempt, "worker": attempt.worker, "began_at": attempt.began_at.rfc3339(),
                "ended_at": attempt.ended_at.map(|at| at.rfc3339()), "outcome": attempt.outcome,
                "detail": attempt.detail.as_deref().map(redact),
            })
        });
        let updates = self.updates.iter().map(|seen| {
            json!({"row": seen.row, "update": seen.update, "state": seen.state, "received_at": seen.received_at.rfc3339()})
        });
        json!({
            "operation": queue::operation(&self.stored), "key": self.stored.operation.key,
            "attempts": attempts.collect::<Vec<_>>(), "updates": updates.collect::<Vec<_>>(),
        })
    }

    fn print(&self) {
        let operation = &self.stored.operation;
        println!(
            "{} · {} · {} · version {}",
            self.stored.marker,
            operation.id,
            operation.state.name(),
            operation.version
        );
        println!("  key {}", operation.key);
        for seen in &self.updates {
            println!("  update {} · row {} · {} · {}", seen.update, seen.row, seen.received_at, seen.state);
        }
        for attempt in &self.attempts {
            let ended = attempt.ended_at.map_or_else(|| "—".to_owned(), |at| at.rfc3339());
            let outcome = attempt.outcome.as_deref().unwrap_or("open");
            println!(
                "  attempt {} · {} · {} to {ended} · {outcome}",
                attempt.attempt, attempt.worker, attempt.began_at
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Timestamp,
        domain::operation::Operation,
        ids::{BotId, ChatId, ConfirmVersion, DraftId, ExternalKey, Marker, OperationId, UpdateId, UserId},
    };

    fn evidence(draft: u128, version: u32, attempts: &[(&str, i64, Option<i64>, &str)], update: i64) -> Evidence {
        let (draft, version, at) = (DraftId(uuid::Uuid::from_u128(draft)), ConfirmVersion(version), Timestamp(0));
        let key = ExternalKey::derive(BotId(1), draft, version);
        let id = OperationId(key.0);
        let attempts = attempts.iter().zip(1..).map(|((worker, began, ended, outcome), attempt)| Attempt {
            attempt,
            worker: (*worker).to_owned(),
            began_at: Timestamp(*began),
            ended_at: ended.map(Timestamp),
            outcome: (!outcome.is_empty()).then(|| (*outcome).to_owned()),
            detail: None,
        });
        let seen = Seen { row: update, update: UpdateId(update), state: "done".into(), received_at: at };
        Evidence {
            stored: Stored {
                operation: Operation::confirmed(id, draft, version, key, at, at),
                rev: 0,
                bot: BotId(1),
                user: UserId(7),
                chat: ChatId(7),
                lang: "ru".into(),
                form: "f".into(),
                form_title: "F".into(),
                marker: Marker::of(key),
                order: None,
                prepared: None,
                client_name: None,
                client_phone: None,
                slot: None,
            },
            attempts: attempts.collect(),
            updates: vec![seen],
        }
    }

    #[test]
    fn the_three_causes_are_told_apart() {
        let lost = evidence(1, 1, &[("a", 0, Some(10), "lost"), ("a", 20, Some(30), "created")], 1);
        let restarted = evidence(1, 1, &[("a", 0, Some(10), "lease_ended"), ("b", 20, Some(30), "created")], 1);
        let racing = evidence(1, 1, &[("a", 0, Some(25), "created"), ("b", 20, Some(30), "created")], 1);
        let once = evidence(1, 1, &[("a", 0, Some(10), "created")], 1);
        let next = evidence(1, 2, &[("a", 0, Some(10), "created")], 2);
        let again = evidence(2, 1, &[("a", 0, Some(10), "created")], 1);
        let other = evidence(3, 1, &[("a", 0, Some(10), "created")], 3);
        for (a, b, expected) in [
            (&lost, &lost, Cause::LostAnswer),
            (&restarted, &restarted, Cause::LostAnswer),
            (&racing, &racing, Cause::TwoWorkers),
            (&once, &once, Cause::None),
            (&once, &again, Cause::SameUpdate),
            (&once, &next, Cause::None),
            (&once, &other, Cause::None),
        ] {
            let (found, why) = cause(a, b);
            assert_eq!(found, expected, "{why}");
        }
    }
}
