//! `zayavka probe`: measures a CRM in a sandbox of the owner's: is our key kept, how soon is a record seen, what does a
//! repeat do. It makes records, and says so.

mod told;

use std::{path::Path, sync::Arc, time::Duration};

use clap::Args;
use secrecy::ExposeSecret as _;

use super::{Exit, complain, database::existing, sample};
use crate::{
    app::{self, Checked},
    clock::{Clock as _, SystemClock, SystemDice},
    config::Config,
    crm::{
        Crm, Prepared,
        limiter::{Admission, Limiter, Pace},
        steps::Forgetful,
    },
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
    #[serde(skip)]
    repeated: Repeated,
    left_behind: Vec<String>,
    /// Why it ended before it had made all its records.
    stopped: Option<String>,
    /// Absent where what was seen supports none.
    promise: Option<&'static str>,
    why: String,
    settle: Option<String>,
}

/// What a repeat proved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Repeated {
    /// It made nothing new, by the CRM's own word for a key it knows.
    Harmless,
    /// It was refused as if its content were bad: for its key or for something else, the profile's rules cannot tell.
    Refused,
    /// It made another ticket, or nothing is known.
    #[default]
    Unproved,
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
                told::show(&findings);
            }
            let unwell = findings.key_is_kept == Some(false) || findings.made.is_empty() || findings.stopped.is_some();
            if unwell { Exit::NotWell } else { Exit::Done }
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
    let mut asking = Asking::new(crm, args);
    let mut tickets: Vec<Ticket> = Vec::new();
    for at in 0..args.times {
        let one = Trial::new(&checked)?;
        match one.make(&mut asking).await {
            Ok(ticket) => {
                findings.made.push(ticket.number.clone());
                tickets.push(ticket);
            }
            Err(Failed { why, left }) if tickets.is_empty() && left.is_empty() => return Err(Stop::Crm(why)),
            // What was made before, and what may have been made now, is taken away all the same.
            Err(Failed { why, left }) => {
                tickets.extend(left);
                findings.stopped = Some(why);
                break;
            }
        }
        findings.seen_after_ms.extend(one.seen(&mut asking).await);
        if at == 0 {
            findings.key_is_kept = one.kept(&mut asking, tickets.first()).await;
            let (repeated, said, more) = one.repeat(&mut asking, tickets.first()).await;
            (findings.repeated, findings.repeat) = (repeated, said);
            tickets.extend(more);
        }
    }
    for ticket in &tickets {
        asking.turn(1).await;
        match crm.clean_up(ticket).await {
            Ok(true) => {}
            Ok(false) => findings.left_behind.push(ticket.number.clone()),
            Err(why) => findings.left_behind.push(format!("{} ({why})", ticket.number)),
        }
    }
    told::conclude(crm, args, &mut findings);
    Ok(findings)
}

/// A token that is asked for is the one the service keeps: to ask with the configuration's own refresh token could spend
/// it behind the service's back.
async fn with_kept_tokens(config: &Config, checked: Checked) -> Result<Checked, String> {
    if !checked.crm.needs_token() {
        return Ok(checked);
    }
    let store = match Store::connect(&existing(config.database.url.expose_secret())).await {
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

/// The CRM, asked no faster than its profile allows.
struct Asking<'a> {
    crm: &'a Crm,
    limiter: Limiter,
    patience: Duration,
}

impl<'a> Asking<'a> {
    fn new(crm: &'a Crm, args: &ProbeArgs) -> Self {
        let figures = crm.figures();
        let limiter = Limiter::new(Pace::of(&figures), SystemClock.now());
        Self { crm, limiter, patience: Duration::from_secs(args.patience) }
    }

    /// Waits until something may be asked that counts for `cost` requests.
    async fn turn(&mut self, cost: u32) {
        while let Admission::Wait { after, .. } = self.limiter.admit(SystemClock.now(), cost) {
            pause(after).await;
        }
    }

    /// Makes a record, and again where the CRM said that nothing was done and when to come back.
    async fn create(&mut self, prepared: &Prepared) -> Outcome {
        let mut left = self.patience;
        loop {
            self.turn(self.crm.cost().create).await;
            match self.crm.create(prepared, &Forgetful::default()).await {
                Outcome::NotSent { wait: Some(wait), .. } if wait <= left => {
                    left = left.saturating_sub(wait.max(Duration::from_secs(1)));
                    pause(wait).await;
                }
                other => return other,
            }
        }
    }

    async fn look(&mut self, order: &TicketOrder) -> Look {
        self.turn(self.crm.cost().look).await;
        self.crm.look(order.key, &order.marker).await
    }

    /// Asks again and again until the record is found: what was found, and after how many milliseconds.
    async fn find(&mut self, order: &TicketOrder) -> Option<(Vec<Ticket>, u64)> {
        if !self.crm.can_look() {
            return None;
        }
        let made = SystemClock.now();
        // Ever longer pauses: the same question in a quick row gets an address banned (amoCRM).
        let mut rest = Duration::from_millis(100);
        loop {
            let look = self.look(order).await;
            let after = SystemClock.now().since(made);
            match look {
                Look::Found { tickets } => {
                    return Some((tickets, u64::try_from(after.as_millis()).unwrap_or(u64::MAX)));
                }
                _ if after >= self.patience => return None,
                _ => pause(rest).await,
            }
            rest = (rest * 3 / 2).min(Duration::from_secs(15));
        }
    }
}

/// A CRM gives no signal of its own: it is asked again a while later.
async fn pause(length: Duration) {
    let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + length, Duration::from_secs(1));
    beat.tick().await;
}

/// Why a record was not made, and what may stand in the CRM all the same.
struct Failed {
    why: String,
    left: Vec<Ticket>,
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
        // Sample files are no files.
        order.files.clear();
        order.subject = format!("zayavka probe {}", order.marker);
        let prepared = checked.crm.prepare(&order).map_err(|error| crm(error.to_string()))?;
        Ok(Self { order, prepared })
    }

    async fn make(&self, asking: &mut Asking<'_>) -> Result<Ticket, Failed> {
        match asking.create(&self.prepared).await {
            Outcome::Created { ticket } => Ok(ticket),
            other => {
                let why = format!("the record could not be made: {}", in_words(&other));
                let unclear = matches!(other, Outcome::Lost { .. } | Outcome::InFlight { .. } | Outcome::Exists);
                let left = if unclear { asking.find(&self.order).await } else { None };
                Err(Failed { why, left: left.map(|(tickets, _)| tickets).unwrap_or_default() })
            }
        }
    }

    /// After how many milliseconds the record was found.
    async fn seen(&self, asking: &mut Asking<'_>) -> Option<u64> {
        asking.find(&self.order).await.map(|(_, after)| after)
    }

    /// Whether the record carries our key when it is read by its number.
    async fn kept(&self, asking: &mut Asking<'_>, ticket: Option<&Ticket>) -> Option<bool> {
        asking.turn(asking.crm.cost().check).await;
        match asking.crm.verify(&ticket?.number, self.order.key, &self.order.marker).await {
            Verified::Ours { .. } => Some(true),
            Verified::Exists { .. } | Verified::Keyless { .. } | Verified::Foreign => Some(false),
            // It was found by our key, so it carries it.
            Verified::Absent | Verified::Unsure { .. } | Verified::Impossible => match asking.look(&self.order).await {
                Look::Found { .. } => Some(true),
                _ => None,
            },
        }
    }

    /// Sends the very same create again: what that proves, what came of it in words, and what it made anew.
    async fn repeat(&self, asking: &mut Asking<'_>, first: Option<&Ticket>) -> (Repeated, String, Vec<Ticket>) {
        let is_first = |ticket: &Ticket| first.is_some_and(|first| first.id == ticket.id);
        let outcome = asking.create(&self.prepared).await;
        let repeated = match &outcome {
            Outcome::Created { ticket } if is_first(ticket) => Repeated::Harmless,
            Outcome::Exists => Repeated::Harmless,
            Outcome::Refused { .. } => Repeated::Refused,
            _ => Repeated::Unproved,
        };
        let said = match &outcome {
            Outcome::Created { ticket } if is_first(ticket) => "returns the ticket made before".to_owned(),
            Outcome::Created { ticket } => format!("makes another ticket: {}", ticket.number),
            other => in_words(other),
        };
        let mut made = match outcome {
            Outcome::Created { ticket } if !is_first(&ticket) => vec![ticket],
            _ => Vec::new(),
        };
        // Whatever it answered: what stands in the CRM under our key is what it did.
        if asking.crm.can_look()
            && let Look::Found { tickets } = asking.look(&self.order).await
        {
            let known: Vec<String> = made.iter().map(|ticket| ticket.id.clone()).collect();
            made.extend(tickets.into_iter().filter(|ticket| !is_first(ticket) && !known.contains(&ticket.id)));
        }
        match made.first() {
            Some(twin) if !said.starts_with("makes") => {
                let said = format!("makes another ticket, {}, though it says: it {said}", twin.number);
                (Repeated::Unproved, said, made)
            }
            _ => (repeated, said, made),
        }
    }
}

fn in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Created { ticket } => format!("makes {}", ticket.number),
        Outcome::Exists => "is refused, since the key is there".to_owned(),
        Outcome::InFlight { .. } => "is said to be still under way".to_owned(),
        Outcome::Refused { message } => format!("is refused for its content: {message}"),
        Outcome::Unfit { detail } => format!("nothing was sent: {detail}"),
        Outcome::AuthRefused { detail } => format!("the CRM does not accept our credentials: {detail}"),
        Outcome::NotSent { detail, .. } => format!("nothing was done: {detail}"),
        Outcome::Lost { detail } => format!("no answer that proves anything: {detail}"),
    }
}
