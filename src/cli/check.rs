//! `zayavka check`: every problem at once, what the CRM can promise, and the exact request each form would send.

use std::{path::Path, time::Duration};

use super::{Exit, complain, file, sample, unsound};
use crate::{
    app::{self, Checked},
    catalog::profile::{
        Profile, built_in,
        model::{Attachments, Lookup, Meta, Sees, Way},
    },
    clock::{Clock as _, SystemClock},
    config::{self, Config, duration, files, problem::Problems, reader::Document},
    crm::{DryRun, Expiry, Unfit},
    domain::{form::Form, operation::OnAbsent, outcome::Promise},
    ids::{BotId, ConfirmVersion, DraftId, ExternalKey},
};

/// How long before its end a credential is spoken of.
const SOON: Duration = Duration::from_secs(21 * 86_400);

pub(super) fn run(path: &Path, json: bool) -> Exit {
    let read = Config::read(file(path), &config::environment());
    // What cannot be read at all cannot be checked.
    let unwell = if read.is_err() && !is_readable(path) { Exit::Usage } else { Exit::NotWell };
    match read.and_then(|config| app::check(&config)) {
        Ok(checked) => {
            let shown = shown(&checked);
            let unfit = unfit_of(&checked, &shown);
            if unfit.has_errors() {
                let mut all = checked.warnings.clone();
                all.append(unfit);
                if json {
                    println!("{}", unsound(&all));
                } else {
                    complain(&all);
                }
                return Exit::NotWell;
            }
            complain(&checked.warnings);
            let notes = notes(&checked);
            if json {
                println!("{}", report(&checked, &shown, &notes))
            } else {
                show(&checked, &shown, &notes)
            }
            Exit::Done
        }
        Err(problems) => {
            if json {
                println!("{}", unsound(&problems));
            } else {
                complain(&problems);
            }
            unwell
        }
    }
}

fn is_readable(path: &Path) -> bool {
    file(path).is_none_or(|path| files::read(path, &mut Problems::new()).is_some())
}

fn show(checked: &Checked, shown: &[Shown], notes: &[String]) {
    for (form, request) in shown {
        println!("Form {form}: its ticket, with sample answers and without secrets:");
        println!("{}", indented(request.as_ref().map_or("", |run| &run.text)));
    }
    let (policy, profile) = (&checked.policy, checked.crm.profile());
    println!("CRM profile {}: {}", profile.meta.name, in_words(checked.crm.promise(), policy.on_absent));
    for line in edition(&profile.meta) {
        println!("  {line}");
    }
    if checked.crm.can_look() {
        let absent = match policy.on_absent {
            OnAbsent::Review => "a human decides",
            OnAbsent::Resend => "it is made again",
        };
        println!(
            "  A lost one is looked for {} times, {} apart, from {} on; if it is not there, {absent}.",
            policy.looks,
            duration::show(policy.spacing),
            duration::show(policy.settle)
        );
    }
    for lookup in &profile.lookups {
        println!("  Lookup {}: {}", lookup.name, sight(lookup.sees));
    }
    for known in &profile.meta.evidence {
        let how = known.confidence.map(|known| format!("{}: ", known.name())).unwrap_or_default();
        println!("  Known: {} ({how}{}, {})", known.claim, known.source, known.date);
    }
    println!("  Files: {}", files(&profile.attachments));
    for wanted in &profile.prerequisites {
        println!("  Needed: {}", wanted.text);
    }
    for note in notes {
        println!("  Note: {note}");
    }
    let forms: Vec<_> = checked.catalog.forms.iter().map(|form| form.id.as_str()).collect();
    println!("All is well: {} form(s): {}.", forms.len(), forms.join(", "));
}

/// Which edition of the profile it is, and who tried it against what.
fn edition(meta: &Meta) -> Vec<String> {
    let version = meta.profile_version.iter().map(|version| format!("Profile version: {version}."));
    let verified = meta.verified.iter().map(|verified| {
        let by = verified.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        format!("Tried: {}{by}, against {}.", verified.date, verified.against)
    });
    version.chain(verified).collect()
}

/// Which tickets a lookup finds that are no longer where they were made.
fn sight(sees: Sees) -> String {
    let words = sees.all().map(|(word, sees)| match sees {
        Some(true) => format!("sees {word} tickets"),
        Some(false) => format!("does not see {word} ones"),
        None => format!("whether it sees {word} ones nobody has said"),
    });
    words.join("; ")
}

/// What becomes of attached files.
fn files(caps: &Attachments) -> String {
    let how = match caps.way {
        Way::None => return "none are taken; a ticket's text names them.".to_owned(),
        Way::Inline => "within the ticket's request",
        Way::Multipart(_) => "as parts of the ticket's request",
        Way::Upload(_) => "uploaded before the ticket",
        Way::Urls(_) => "uploaded before the ticket, which names their addresses",
        Way::AfterCreate(_) => "posted once the ticket is there",
    };
    let without =
        if caps.required { "the ticket waits for them" } else { "the ticket goes without one that cannot be had" };
    format!("up to {} of {} MB, {how}; {without}.", caps.max_files, caps.max_size)
}

fn report(checked: &Checked, shown: &[Shown], notes: &[String]) -> serde_json::Value {
    let forms: Vec<_> = checked.catalog.forms.iter().map(|form| form.id.as_str()).collect();
    let text = |request: &Result<DryRun, String>| request.as_ref().map_or("", |run| &run.text).into();
    let requests: serde_json::Map<_, _> = shown.iter().map(|(form, request)| (form.clone(), text(request))).collect();
    let profile = checked.crm.profile();
    serde_json::json!({
        "ok": true,
        "forms": forms,
        "languages": checked.catalog.texts.langs(),
        "profile": profile.meta.name,
        "promise": checked.crm.promise(),
        "profile_version": profile.meta.profile_version,
        "verified": profile.meta.verified.as_ref().map(|verified| &verified.against),
        "verified_on": profile.meta.verified.as_ref().map(|verified| &verified.date),
        "verified_by": profile.meta.verified.as_ref().and_then(|verified| verified.by.as_ref()),
        "settle_ms": u64::try_from(checked.policy.settle.as_millis()).unwrap_or(u64::MAX),
        "looks": checked.policy.looks,
        "on_absent": checked.policy.on_absent,
        "per_second": checked.crm.figures().per_second,
        "per_minute": profile.limits.budgets.per_minute,
        "per_hour": profile.limits.budgets.per_hour,
        "per_day": profile.limits.budgets.per_day,
        "lookups": profile.lookups.iter().map(looking).collect::<Vec<_>>(),
        "files": files(&profile.attachments),
        "prerequisites": profile.prerequisites.iter().map(|wanted| &wanted.text).collect::<Vec<_>>(),
        "requests": requests,
        "notes": notes,
        "details": checked.warnings.0,
    })
}

fn looking(lookup: &Lookup) -> serde_json::Value {
    let Sees { closed, archived, merged } = lookup.sees;
    serde_json::json!({"name": lookup.name, "sees_closed": closed, "sees_archived": archived, "sees_merged": merged})
}

/// A form's id, and what it would send.
type Shown = (String, Result<DryRun, String>);

/// The requests of each form; the key is one that no draft ever has.
fn shown(checked: &Checked) -> Vec<Shown> {
    let key = ExternalKey::derive(BotId(0), DraftId(uuid::Uuid::nil()), ConfirmVersion(0));
    let run = |form: &Form| sample::order(&checked.catalog, form, key).map(|order| checked.crm.dry_run(&order));
    checked.catalog.forms.iter().map(|form| (form.id.clone(), run(form))).collect()
}

/// What can never be sent: nobody should learn of it from a client's ticket.
pub(super) fn unfit(checked: &Checked) -> Problems {
    unfit_of(checked, &shown(checked))
}

fn unfit_of(checked: &Checked, shown: &[Shown]) -> Problems {
    let (mut problems, profile) = (Problems::new(), checked.crm.profile());
    let mut told: Vec<&Unfit> = Vec::new();
    for (form, request) in shown {
        match request {
            Ok(run) => told.extend(&run.unfit),
            Err(why) => problems.error(format!("forms/{form}.toml"), None, why.clone(), "a template of [ticket]"),
        }
    }
    let mut seen: Vec<&Unfit> = Vec::new();
    for one in told {
        // Two forms meet the same mistake.
        if seen.contains(&one) {
            continue;
        }
        seen.push(one);
        let place = one.name.as_ref().map_or_else(|| one.table.to_owned(), |name| format!("{} `{name}`", one.table));
        let what = format!("{place}: nothing can be sent with sample answers: {}", one.why);
        problems.error(profile.file.clone(), line_of(profile, one), what, "what the template makes of its values");
    }
    problems
}

/// Where the table of such a request begins.
fn line_of(profile: &Profile, unfit: &Unfit) -> Option<u32> {
    let own = files::read(Path::new(&profile.file), &mut Problems::new());
    let text = own.or_else(|| built_in::text(&profile.meta.name).map(str::to_owned))?;
    let document = Document::parse(&profile.file, &text);
    let root = document.root();
    match &unfit.name {
        Some(name) => root.tables(unfit.table).iter().find(|table| table.peek("name").as_ref() == Some(name))?.line(),
        None => root.table(unfit.table)?.line(),
    }
}

/// What an operator should know, though nothing is wrong.
fn notes(checked: &Checked) -> Vec<String> {
    let meta = &checked.crm.profile().meta;
    let mut notes = Vec::new();
    if meta.verified.is_none() {
        let claim = match (meta.promise, checked.crm.promise()) {
            (claimed, given) if claimed == given => "",
            _ => " What it claims of repeats is not relied on.",
        };
        notes.push(format!(
            "the profile is unverified: written from documents, not tried against a live system; a human settles the unknown.{claim} `zayavka probe` tries it."
        ));
    }
    notes.extend(checked.crm.expiries().iter().filter_map(expiry));
    notes
}

fn expiry(expiry: &Expiry) -> Option<String> {
    if let Some(days) = expiry.days {
        return Some(format!(
            "`crm.secrets.{}` lives {days} days from its making: put a new one in time",
            expiry.secret
        ));
    }
    let at = expiry.at?;
    let now = SystemClock.now();
    if at <= now {
        return Some(format!("`crm.secrets.{}` ended at {at}", expiry.secret));
    }
    (at <= now.plus(SOON)).then(|| format!("`crm.secrets.{}` ends at {at}: put a new one in time", expiry.secret))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn in_words(promise: Promise, on_absent: OnAbsent) -> &'static str {
    match promise {
        Promise::Searchable if on_absent == OnAbsent::Resend => {
            "searchable. A lost answer is looked up by our key; what cannot be found is made again, once."
        }
        Promise::Keyed => "keyed. A lost answer is asked for again under the same key: at most one ticket.",
        Promise::Searchable => {
            "searchable. A lost answer is looked up by our key; what cannot be found goes to a human, never twice by itself."
        }
        Promise::Blind => "blind. It can neither be searched nor refuses repeats: every lost answer goes to a human.",
    }
}
