//! `zayavka probe`: measures a CRM in a sandbox of the owner's: is our key kept, how soon is a record seen, what does a
//! repeat do. It makes records, and says so.

use std::{path::Path, sync::Arc, time::Duration};

use clap::Args;
use secrecy::ExposeSecret as _;

use super::{Exit, complain, sample};
use crate::{
    app::{self, Checked},
    clock::{Clock as _, SystemClock, SystemDice, Timestamp},
    config::{Config, duration},
    crm::{Crm, Prepared, steps::Forgetful},
    domain::{
        outcome::{Look, Outcome, Verified},
        ticket::{Ticket, TicketOrder},
    },
    ids::{BotId, ConfirmVersion, DraftId, ExternalKey},
    store::Store,
};

#[derive(Debug, Args)]
pub(super) struct ProbeArgs {
    /// Yes, in the CRM of this configuration; they are marked, and taken away where the profile knows how.
    #[arg(long)]
    i_understand_it_creates_records: bool,
    /// How many records are made to measure how soon each is seen.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    times: u32,
    /// How long one is waited for, in seconds.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    patience: u64,
}

/// What was learnt.
#[derive(Debug, Default, serde::Serialize)]
struct Findings {
    profile: String,
    prerequisites: Vec<Prerequisite>,
    made: Vec<String>,
    /// Milliseconds from a record's making to its being found, one each.
    seen_after_ms: Vec<u64>,
    /// Whether a record read back carries our key.
    key_is_kept: Option<bool>,
    /// What the same create does when it comes again.
    repeat: String,
    left_behind: Vec<String>,
    promise: &'static str,
    why: String,
    settle: Option<String>,
}

#[derive(Debug, serde::Serialize)]
struct Prerequisite {
    text: String,
    /// Absent where nobody can ask the CRM.
    well: Option<bool>,
    said: String,
}

pub(super) async fn run(path: &Path, args: &ProbeArgs, json: bool) -> Exit {
    if !args.i_understand_it_creates_records {
        eprintln!("probe makes records in the CRM of {}: run it against a sandbox of yours, with", path.display());
        eprintln!("  zayavka probe --i-understand-it-creates-records");
        return Exit::Usage;
    }
    let config = match super::load(path) {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    match probe(&config, args).await {
        Ok(findings) => {
            if json {
                println!("{}", serde_json::to_string(&findings).unwrap_or_default());
            } else {
                show(&findings);
            }
            if findings.key_is_kept == Some(false) || findings.made.is_empty() { Exit::NotWell } else { Exit::Done }
        }
        Err(Stop::Config(exit)) => exit,
        Err(Stop::Crm(why)) => {
            eprintln!("{why}");
            Exit::NotWell
        }
    }
}

/// Why nothing could be learnt.
enum Stop {
    Config(Exit),
    Crm(String),
}

async fn probe(config: &Config, args: &ProbeArgs) -> Result<Findings, Stop> {
    let checked = app::check(config).map_err(|problems| {
        complain(&problems);
        Stop::Config(Exit::Usage)
    })?;
    let checked = with_kept_tokens(config, checked).await.map_err(Stop::Crm)?;
    let crm = &checked.crm;
    let mut findings = Findings { profile: crm.profile().meta.name.clone(), ..Findings::default() };
    for (text, well) in crm.prerequisites().await {
        let said = match &well {
            Some(Err(why)) => why.clone(),
            _ => String::new(),
        };
        findings.prerequisites.push(Prerequisite { text, well: well.map(|well| well.is_ok()), said });
    }
    let mut tickets = Vec::new();
    for _ in 0..args.times {
        let one = Trial::new(&checked)?;
        tickets.extend(one.make(crm, &mut findings).await.map_err(Stop::Crm)?);
        one.seen(crm, Duration::from_secs(args.patience), &mut findings).await;
        if tickets.len() == 1 {
            findings.key_is_kept = one.kept(crm, tickets.first()).await;
            tickets.extend(one.repeat(crm, tickets.first().cloned(), &mut findings).await);
        }
    }
    for ticket in &tickets {
        match crm.clean_up(ticket).await {
            Ok(true) => {}
            Ok(false) => findings.left_behind.push(ticket.number.clone()),
            Err(why) => findings.left_behind.push(format!("{} ({why})", ticket.number)),
        }
    }
    conclude(crm, args, &mut findings);
    Ok(findings)
}

/// A token that is asked for is the one the service keeps: to ask with the configuration's own refresh token could spend
/// it behind the service's back.
async fn with_kept_tokens(config: &Config, checked: Checked) -> Result<Checked, String> {
    if !checked.crm.needs_token() {
        return Ok(checked);
    }
    let store = match Store::connect(config.database.url.expose_secret()).await {
        Ok(store) if store.pending_migrations().await.is_ok_and(|pending| pending.is_empty()) => store,
        _ if checked.crm.spends_refresh_tokens() => {
            return Err("this CRM's refresh token may be good for one use, and the next one is kept in the database, \
                        which is not there or not up to date: `zayavka migrate up` first"
                .to_owned());
        }
        _ => return Ok(checked),
    };
    let tokens = super::kept_tokens(config, store);
    Ok(Checked { crm: checked.crm.with_tokens(Arc::new(tokens)), ..checked })
}

/// One record and the request that makes it.
struct Trial {
    order: TicketOrder,
    prepared: Prepared,
}

impl Trial {
    fn new(checked: &Checked) -> Result<Self, Stop> {
        let crm = |why: String| Stop::Crm(why);
        let form = checked.catalog.forms.first().ok_or_else(|| crm("there is no form".to_owned()))?;
        // A key of its own for each trial, and none that a draft of the service could have.
        let draft = DraftId::new(SystemClock.now(), &SystemDice);
        let key = ExternalKey::derive(BotId(0), draft, ConfirmVersion(0));
        let mut order = sample::order(&checked.catalog, form, key).map_err(crm)?;
        order.subject = format!("zayavka probe {}", order.marker);
        let prepared = checked.crm.prepare(&order).map_err(|error| crm(error.to_string()))?;
        Ok(Self { order, prepared })
    }

    async fn make(&self, crm: &Crm, findings: &mut Findings) -> Result<Option<Ticket>, String> {
        match crm.create(&self.prepared, &Forgetful::default()).await {
            Outcome::Created { ticket } => {
                findings.made.push(ticket.number.clone());
                Ok(Some(ticket))
            }
            other => Err(format!("the record could not be made: {other:?}")),
        }
    }

    /// Asks again and again until the record is found.
    async fn seen(&self, crm: &Crm, patience: Duration, findings: &mut Findings) {
        if !crm.can_look() {
            return;
        }
        let made = SystemClock.now();
        let pause = Duration::from_secs_f64(1.0 / crm.figures().per_second).max(Duration::from_millis(100));
        let mut beat = tokio::time::interval(pause);
        loop {
            beat.tick().await;
            let look = crm.look(self.order.key, &self.order.marker).await;
            let after = SystemClock.now().since(made);
            if matches!(look, Look::Found { .. }) {
                findings.seen_after_ms.push(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
                return;
            }
            if after >= patience {
                return;
            }
        }
    }

    /// Whether the record carries our key when it is read by its number.
    async fn kept(&self, crm: &Crm, ticket: Option<&Ticket>) -> Option<bool> {
        match crm.verify(&ticket?.number, self.order.key, &self.order.marker).await {
            Verified::Ours { .. } => Some(true),
            Verified::Exists { .. } | Verified::Keyless { .. } | Verified::Foreign => Some(false),
            Verified::Absent | Verified::Unsure { .. } | Verified::Impossible => None,
        }
    }

    /// Sends the very same create again; returns the second ticket, if it makes one.
    async fn repeat(&self, crm: &Crm, first: Option<Ticket>, findings: &mut Findings) -> Option<Ticket> {
        let outcome = crm.create(&self.prepared, &Forgetful::default()).await;
        let (said, twin) = match outcome {
            Outcome::Created { ticket } if first.as_ref().is_some_and(|first| first.id == ticket.id) => {
                ("returns the ticket made before".to_owned(), None)
            }
            Outcome::Created { ticket } => (format!("makes another ticket: {}", ticket.number), Some(ticket)),
            Outcome::Exists => ("is refused, since the key is there".to_owned(), None),
            other => (format!("{other:?}"), None),
        };
        findings.repeat = said;
        twin
    }
}

/// The promise that what was seen supports.
fn conclude(crm: &Crm, args: &ProbeArgs, findings: &mut Findings) {
    let all_seen = findings.seen_after_ms.len() == findings.made.len() && !findings.made.is_empty();
    let harmless = findings.repeat.starts_with("returns") || findings.repeat.starts_with("is refused");
    let kept = findings.key_is_kept != Some(false);
    (findings.promise, findings.why) = match (harmless && kept, all_seen && kept) {
        (true, _) => ("keyed", "the same create again made nothing new".to_owned()),
        (false, true) => ("searchable", "every record was found by our key".to_owned()),
        _ if !kept => ("blind", "the record came back without our key: its field is dropped".to_owned()),
        _ => ("blind", format!("not every record was found by our key within {} s", args.patience)),
    };
    if let Some(slowest) = findings.seen_after_ms.iter().max() {
        // Ten times the slowest seen, on top of how long the CRM may go on with a request nobody waits for.
        let settle = crm.figures().floor + Duration::from_millis(slowest.saturating_mul(10));
        findings.settle = Some(duration::show(Duration::from_secs(settle.as_secs() + 1)));
    }
}

fn show(findings: &Findings) {
    for wanted in &findings.prerequisites {
        let word = match wanted.well {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "look",
        };
        println!("{word:5} {} {}", wanted.text, wanted.said);
    }
    println!("made              {}", findings.made.join(", "));
    let seen: Vec<_> = findings.seen_after_ms.iter().map(|ms| format!("{ms} ms")).collect();
    println!("found by our key  after {}", if seen.is_empty() { "never".to_owned() } else { seen.join(", ") });
    let kept = match findings.key_is_kept {
        Some(true) => "yes",
        Some(false) => "NO: the CRM dropped the field",
        None => "cannot be read back",
    };
    println!("our key is kept   {kept}");
    println!("a repeat          {}", findings.repeat);
    if !findings.left_behind.is_empty() {
        println!("left behind       {} (take them away by hand)", findings.left_behind.join(", "));
    }
    println!("\nThis supports the promise `{}`: {}.", findings.promise, findings.why);
    if let Some(settle) = &findings.settle {
        println!(
            "Figures for zayavka.toml:\n\n[crm.reconcile]\nsettle = \"{settle}\"\nlooks = 3\nspacing = \"20s\"\non_absent = \"review\""
        );
    }
    let day = Timestamp(SystemClock.now().0).rfc3339();
    let day = day.get(..10).unwrap_or_default();
    println!("\nFor the profile's own file:\n\nverified = {{ date = \"{day}\", against = \"…\" }}");
}
