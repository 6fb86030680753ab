//! `zayavka ops`: what staff can do in chat, for a shell; the same desk, for the day Telegram is down.

use std::{path::Path, sync::Arc};

use clap::{Args, Subcommand};

use super::{
    Exit,
    desk::{Desk, target},
    person, queue,
};
use crate::{
    domain::role::Role,
    staff::{
        deed::{Deed, Ruling},
        typed::{self, NoReason},
    },
    store::{inbox, settings},
};

#[derive(Debug, Args)]
pub(super) struct OpsArgs {
    /// Who decides: a numeric id of `[staff]`.
    #[arg(long = "as", global = true, value_name = "ID")]
    who: Option<i64>,
    #[command(subcommand)]
    command: OpsCommand,
}

#[derive(Debug, Subcommand)]
enum OpsCommand {
    /// The queue, oldest first.
    List(queue::ListArgs),
    /// A case or an operation: what it is about, where it stands.
    Show(Named),
    /// Operations by number, marker, the end of a telephone number, or a name.
    Find {
        /// What to look for.
        text: String,
    },
    /// Today in figures.
    Stats,
    /// Work on a case alone for a while.
    Take(Named),
    /// Let others work on a case.
    HandBack(Named),
    /// This number is its ticket; the CRM is asked.
    Link {
        /// Marker, operation or #case.
        name: String,
        /// The ticket's number, as the CRM shows it.
        number: String,
        /// Link it although nobody can check it; owners only.
        #[arg(long)]
        unverified: bool,
        /// Link it although the CRM has shown that it carries no key of ours.
        #[arg(long, conflicts_with = "unverified")]
        keyless: bool,
    },
    /// Search the CRM once more.
    Look(Named),
    /// Create it although it may exist. Says the risk; does it with --yes.
    Create {
        /// Marker, operation or #case.
        name: String,
        /// Why; kept in the journal.
        #[arg(required = true)]
        reason: Vec<String>,
        /// The risk is understood.
        #[arg(long)]
        yes: bool,
    },
    /// Consent to what somebody else asked to create.
    Consent(Named),
    /// No ticket for this version.
    Reject {
        /// Marker, operation or #case.
        name: String,
        /// Why; the client reads it.
        #[arg(required = true)]
        reason: Vec<String>,
    },
    /// Send a message again that did not arrive.
    Resend(Named),
    /// Leave a message, an update or a twin as it is.
    LetGo(Named),
    /// All that is stored about a person, as JSON.
    Export(person::Person),
    /// Erase a person's answers and names; keys and ticket numbers stay.
    Erase(person::Person),
    /// Updates that could not be handled.
    Shelf,
    /// Handle an update of the shelf again.
    Replay {
        /// The row, as `ops shelf` lists it.
        row: i64,
    },
    /// Stop sending to the CRM.
    Pause,
    /// Go on sending to the CRM.
    Resume,
}

#[derive(Debug, Args)]
struct Named {
    /// Marker, operation, ticket or #case.
    name: String,
}

pub(super) async fn run(path: &Path, args: OpsArgs, json: bool) -> Exit {
    match act(path, args, json).await {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn act(path: &Path, args: OpsArgs, json: bool) -> Result<Exit, Exit> {
    let desk = Desk::open(path, json).await?;
    let who = args.who;
    match args.command {
        OpsCommand::List(list) => queue::list(&desk, &list, who).await,
        OpsCommand::Show(named) => queue::show(&desk, &named.name).await,
        OpsCommand::Find { text } => queue::find(&desk, &text).await,
        OpsCommand::Stats => queue::stats(&desk).await,
        OpsCommand::Take(named) => decide(&desk, who, named.name, Deed::Take).await,
        OpsCommand::HandBack(named) => decide(&desk, who, named.name, Deed::HandBack).await,
        OpsCommand::Link { name, number, unverified, keyless } => {
            let Some(number) = desk.staff.ticket(&number) else {
                eprintln!("`{number}` is not a ticket's number: give it as the CRM shows it, `1001`, or a link to it");
                return Err(Exit::Usage);
            };
            let deed = match (unverified, keyless) {
                (true, _) => Deed::LinkUnchecked { number },
                (_, true) => Deed::LinkKeyless { number },
                _ => Deed::Link { number },
            };
            decide(&desk, who, name, deed).await
        }
        OpsCommand::Look(named) => decide(&desk, who, named.name, Deed::LookAgain).await,
        OpsCommand::Create { name, reason, yes } => {
            if !yes {
                // The second tap of the chat.
                eprintln!(
                    "If the earlier attempt arrived after all, the CRM will hold two tickets. Say --yes to create it."
                );
                return Err(Exit::Usage);
            }
            decide(&desk, who, name, Deed::Create { reason: in_words(&reason)? }).await
        }
        OpsCommand::Consent(named) => decide(&desk, who, named.name, Deed::Consent).await,
        OpsCommand::Reject { name, reason } => {
            decide(&desk, who, name, Deed::Reject { reason: in_words(&reason)? }).await
        }
        OpsCommand::Resend(named) => decide(&desk, who, named.name, Deed::SendAgain).await,
        OpsCommand::LetGo(named) => decide(&desk, who, named.name, Deed::LetGo).await,
        OpsCommand::Export(who_is) => person::export(&desk, who, &who_is).await,
        OpsCommand::Erase(who_is) => person::erase(&desk, who, &who_is).await,
        OpsCommand::Shelf => queue::shelf(&desk).await,
        OpsCommand::Replay { row } => replay(&desk, who, row).await,
        OpsCommand::Pause => pause(&desk, who, settings::PAUSED_BY_STAFF).await,
        OpsCommand::Resume => pause(&desk, who, "").await,
    }
}

/// A reason as staff may give one in chat.
fn in_words(typed: &[String]) -> Result<String, Exit> {
    typed::reason(&typed.join(" ")).map_err(|why| {
        match why {
            NoReason::Empty => eprintln!("the reason shows nothing: say in words why"),
            NoReason::TooLong(length) => {
                eprintln!("the reason has {length} characters, {} fit: say it shorter", typed::REASON);
            }
        }
        Exit::Usage
    })
}

/// Brings a deed to the desk. Done and "done already" end well; anything else is told, and is not.
async fn decide(desk: &Desk, who: Option<i64>, name: String, deed: Deed) -> Result<Exit, Exit> {
    let actor = desk.actor(who, Role::Reviewer)?;
    let (staff, now) = (Arc::clone(&desk.staff), desk.now());
    let shared = Arc::new((name, deed, desk.lang().to_owned()));
    let decided = desk.store.write(move |tx| {
        let (staff, shared) = (Arc::clone(&staff), Arc::clone(&shared));
        async move {
            let (name, deed, lang) = shared.as_ref();
            let target = match target(&staff, &tx, name, deed).await? {
                Ok(target) => target,
                Err(words) => return Ok(Err(words)),
            };
            let (ruling, _) = staff.act(&tx, actor, &target, None, deed, now).await?;
            let words = staff.ruling_words(&tx, lang, &target, &ruling).await?;
            Ok(Ok((target.name(), ruling, words)))
        }
    });
    match decided.await.map_err(|error| Desk::trouble(&error))? {
        Err(words) => {
            eprintln!("{words}");
            Err(Exit::NotWell)
        }
        Ok((case, ruling, words)) => {
            let done = ruling.is_done() || ruling == Ruling::AlreadyYours;
            if desk.json {
                let said = serde_json::json!({"case": case, "done": done, "said": words, "outcome": ruling});
                println!("{said}");
            } else {
                println!("{words}");
            }
            Ok(if done { Exit::Done } else { Exit::NotWell })
        }
    }
}

async fn replay(desk: &Desk, who: Option<i64>, row: i64) -> Result<Exit, Exit> {
    let known = crate::store::cases::about_row(desk.store.reader(), desk.staff.bot, "shelved", row).await;
    if let Some(case) = known.map_err(|error| Desk::trouble(&error))?.pop() {
        return decide(desk, who, format!("#{}", case.id), Deed::Replay).await;
    }
    desk.actor(who, Role::Reviewer)?;
    let replayed = desk.store.write(move |tx| async move { inbox::replay(tx.as_ref(), row).await });
    if replayed.await.map_err(|error| Desk::trouble(&error))? {
        println!("row {row} is being handled once more");
        return Ok(Exit::Done);
    }
    eprintln!("there is no {row} on the shelf: `zayavka ops shelf` lists what is");
    Err(Exit::NotWell)
}

async fn pause(desk: &Desk, who: Option<i64>, value: &'static str) -> Result<Exit, Exit> {
    use crate::{catalog::texts::Key, store::journal};
    let (actor, now) = (desk.actor(who, Role::Reviewer)?, desk.now());
    let set = desk.store.write(move |tx| async move {
        settings::set(tx.as_ref(), settings::PAUSED, value, now).await?;
        let event = if value.is_empty() { "resumed" } else { "paused" };
        journal::note(tx.as_ref(), None, event, Some(actor.id), None, now).await
    });
    set.await.map_err(|error| Desk::trouble(&error))?;
    let key = if value.is_empty() { Key::StaffResumed } else { Key::StaffPaused };
    if desk.json {
        println!("{}", serde_json::json!({"paused": !value.is_empty()}));
    } else {
        println!("{}", desk.staff.texts.say(desk.lang(), key, &[]));
    }
    Ok(Exit::Done)
}
