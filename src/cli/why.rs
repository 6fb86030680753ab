//! `zayavka why`: what happened to one request, as a story and as rows.

use std::{collections::BTreeMap, path::Path};

use clap::Args;
use serde_json::json;

use super::{Exit, desk::Desk, queue};
use crate::{
    catalog::{
        timeline::timeline,
        wording::{attempt_words, state_words},
    },
    domain::review::redact,
    ids::UserId,
    store::{
        StoreError, journal,
        operations::{self, Stored},
        steps,
    },
};

#[derive(Debug, Args)]
pub(super) struct WhyArgs {
    /// A ticket's number, a marker, or an operation's id.
    name: String,
}

pub(super) async fn run(path: &Path, args: &WhyArgs, json: bool) -> Exit {
    let told = async {
        let desk = Desk::open(path, json).await?;
        let trouble = |error: StoreError| Desk::trouble(&error);
        let found = operations::named(desk.store.reader(), desk.staff.bot, &args.name).await.map_err(trouble)?;
        if found.is_empty() {
            eprintln!("{}: no ticket, marker or operation known here", args.name);
            return Err(Exit::NotWell);
        }
        for stored in &found {
            tell(&desk, stored).await.map_err(trouble)?;
        }
        Ok(Exit::Done)
    };
    match told.await {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn tell(desk: &Desk, stored: &Stored) -> Result<(), StoreError> {
    let (db, texts, lang) = (desk.store.reader(), &desk.staff.texts, desk.lang());
    let history = journal::of_operation(db, stored.operation.id).await?;
    let attempts = operations::attempts(db, stored.operation.id).await?;
    if desk.json {
        let lines: Vec<_> = history.iter().map(|line| json!({"at": line.at.rfc3339(), "entry": line.entry})).collect();
        let calls: Vec<_> = attempts
            .iter()
            .map(|attempt| {
                json!({
                    "attempt": attempt.attempt, "worker": attempt.worker, "began_at": attempt.began_at.rfc3339(),
                    "ended_at": attempt.ended_at.map(|at| at.rfc3339()), "outcome": attempt.outcome,
                    "detail": attempt.detail.as_deref().map(redact),
                })
            })
            .collect();
        println!("{}", json!({"operation": queue::operation(stored), "history": lines, "attempts": calls}));
        return Ok(());
    }
    println!("{}: {}", stored.marker, state_words(texts, lang, &stored.operation));
    println!("{} · {}", stored.form_title, stored.operation.id);
    let mut names = BTreeMap::new();
    for by in history.iter().filter_map(|line| line.entry.by) {
        names.insert(by, steps::name(db, desk.staff.bot, UserId(by)).await?);
    }
    let entries: Vec<_> = history.into_iter().map(|line| (line.at, line.entry)).collect();
    for line in timeline(texts, lang, &desk.staff.hours, &entries, &names) {
        println!("{line}");
    }
    for attempt in attempts {
        let outcome = attempt_words(texts, lang, attempt.outcome.as_deref());
        let detail = attempt.detail.as_deref().map(redact).unwrap_or_default();
        println!("  {}) {} {} {outcome} {detail}", attempt.attempt, attempt.began_at, attempt.worker);
    }
    Ok(())
}
