//! From what the operator wrote to parts that fit together: every problem at once, before anything starts.

use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    catalog::{
        Catalog, FileField, folder,
        profile::{self, Profile, model::Way},
        texts::Key,
    },
    clock::{Clock as _, SystemClock},
    config::{Config, problem::Problems},
    crm::{self, Crm, CrmSettings, Figures, FileWords},
    domain::{
        attachment::LeftOut,
        delivery,
        operation::{OnAbsent, Policy},
        outcome::Promise,
    },
};

/// How long a tap's answer may take before a worker sends its operation without waiting for it.
pub const ACK_GRACE: Duration = Duration::from_millis(3_500);

/// The folder of templates where none is named.
const TEMPLATES: &str = "templates";

/// Parts that were checked together.
#[derive(Debug)]
pub struct Checked {
    /// Forms and texts.
    pub catalog: Arc<Catalog>,
    /// The CRM.
    pub crm: Crm,
    /// The figures of the operation machine.
    pub policy: Policy,
    /// What the operator should look at; nothing that stops the start.
    pub warnings: Problems,
}

/// Loads and cross-checks forms, texts and the CRM profile.
///
/// # Errors
/// Every problem of every file.
pub fn check(config: &Config) -> Result<Checked, Problems> {
    let mut problems = config.warnings.clone();
    let place = |setting: &str| config.places.of(setting);
    let dir = templates(config, &mut problems);
    let now = SystemClock.now();
    let catalog = Catalog::load_for(dir, &config.templates.language, place("templates.language"), &mut problems);
    let profile = match profile::open(&config.crm.profile, dir, place("crm.profile"), now) {
        Ok((profile, warnings)) => {
            problems.append(warnings);
            Some(Arc::new(profile))
        }
        Err(found) => {
            problems.append(found);
            None
        }
    };
    problems.append(profile::others(&config.crm.profile, dir, now));
    let crm = profile.as_ref().and_then(|profile| fit(config, Arc::clone(profile), &mut problems));
    let crm = crm.map(|crm| match &catalog {
        Some(catalog) => crm.with_file_words(file_words(catalog)),
        None => crm,
    });
    if let (Some(catalog), Some(crm)) = (&catalog, &crm) {
        catalog.file_fields.iter().for_each(|field| fit_files(field, crm, &mut problems));
    }
    // The figures also where the rest does not fit: a mistake must not hide behind another one.
    let policy = profile.as_ref().map_or_else(|| written(config), |profile| policy(config, profile));
    problems.append_unsaid(figures(config, &policy));
    if policy.on_absent == OnAbsent::Resend
        && let Some(why) = profile.as_ref().and_then(|profile| crm::resend_refusal(profile, policy.settle))
    {
        let what = format!("`crm.reconcile.on_absent` is \"resend\", which could make a second ticket: {why}");
        let mut refused = Problems::new();
        let (file, line) = place("crm.reconcile.on_absent");
        refused.error(file, line, what, "\"review\": a person decides");
        problems.append_unsaid(refused);
    }
    for (setting, what) in delivery_policy(config).problems() {
        let (file, line) = place(setting);
        problems.error(file, line, format!("`{setting}` {what}"), "");
    }
    match (catalog, crm) {
        (Some(catalog), Some(crm)) if !problems.has_errors() => {
            Ok(Checked { catalog: Arc::new(catalog), crm, policy, warnings: problems })
        }
        _ => Err(problems),
    }
}

/// A question for files of which some could not reach the ticket.
fn fit_files(field: &FileField, crm: &Crm, problems: &mut Problems) {
    let profile = crm.profile();
    let (name, caps) = (&profile.meta.name, &profile.attachments);
    let mut warn = |what: String, hint: &str| problems.warning(field.file.clone(), field.line, what, hint);
    if caps.way == Way::None {
        let what = format!("`{}` asks for files, but the CRM profile `{name}` takes none", field.id);
        return warn(
            what,
            "the ticket's text names them, and they stay in the chat; [attachments] in a profile sends them",
        );
    }
    if field.max > caps.max_files || field.max_size > caps.max_size {
        let (asked, taken) = ((field.max, field.max_size), (caps.max_files, caps.max_size));
        let what = format!(
            "`{}` takes {} files of {} MB, the CRM profile `{name}` {} of {} MB",
            field.id, asked.0, asked.1, taken.0, taken.1
        );
        warn(what, "max and max_size of the field: what is over is left out of the ticket");
    }
}

/// What a ticket's text says of files that are not with it, in the language of the installation.
fn file_words(catalog: &Catalog) -> FileWords {
    let texts = &catalog.texts;
    let lang = texts.lang(None);
    let places = [("name", "{name}"), ("reason", "{reason}")];
    FileWords {
        sentence: texts.say(lang, Key::TicketFileLeftOut, &places),
        reasons: LeftOut::ALL.into_iter().map(|why| (why, texts.left_out(lang, why))).collect(),
    }
}

/// The operator's folder of templates. It may be absent; of one that was named that is said, or the shipped files would
/// serve in its place and nobody would know.
fn templates<'c>(config: &'c Config, problems: &mut Problems) -> Option<&'c Path> {
    let dir = config.templates.dir.as_path();
    if dir.is_dir() {
        folder::report_unread(dir, problems);
        return Some(dir);
    }
    let (file, line) = config.places.of("templates.dir");
    let named = format!("`templates.dir` {}", dir.display());
    let hint =
        "the folder with your forms/, texts/ and crm/; a relative path is read from the folder the service runs in";
    if dir.exists() {
        problems.error(file, line, format!("{named}: is a file, not a folder"), hint);
    } else if dir != Path::new(TEMPLATES) {
        problems.warning(file, line, format!("{named}: is not there, only what ships serves"), hint);
    }
    None
}

/// The CRM with what the operator filled in for it; what of that does not fit is a problem, once.
fn fit(config: &Config, profile: Arc<Profile>, problems: &mut Problems) -> Option<Crm> {
    let settings = CrmSettings {
        places: config.places.clone(),
        vars: config.crm.vars.clone(),
        secrets: config.crm.secrets.clone(),
        request_timeout: config.crm.request_timeout,
        connect_timeout: config.crm.connect_timeout,
    };
    Crm::new(profile, settings).map_err(|found| problems.append_unsaid(found)).ok()
}

/// What is wrong with the figures, at their places.
fn figures(config: &Config, policy: &Policy) -> Problems {
    let mut found = Problems::new();
    for problem in policy.problems() {
        let (file, line) = config.places.of(problem.setting);
        found.error(file, line, format!("`{}` {}", problem.setting, problem.what), problem.hint);
    }
    found
}

/// The figures as they are written, for a profile that nobody could read: what the profile would say stands where nothing
/// is wrong with it.
fn written(config: &Config) -> Policy {
    let (crm, over) = (&config.crm, config.crm.reconcile);
    let settle = over.settle.unwrap_or(crm.request_timeout);
    Policy {
        promise: Promise::Searchable,
        can_look: true,
        key_life: None,
        request_timeout: crm.request_timeout,
        lease: crm.lease,
        settle,
        looks: over.looks.unwrap_or(1),
        spacing: over.spacing.unwrap_or(Duration::from_secs(1)),
        on_absent: over.on_absent.unwrap_or(OnAbsent::Review),
        patience: over.patience,
        look_patience: over.look_patience,
        backoff_first: crm.lease,
        backoff_most: crm.lease,
        watch: if over.settle.is_some() { over.watch } else { over.watch.max(settle) },
        tell_after: config.notices.tell_after,
    }
}

/// The profile's own figures with the operator's over them.
fn policy(config: &Config, profile: &Profile) -> Policy {
    let (figures, over) = (Figures::of(profile), config.crm.reconcile);
    let promise = crm::promise(profile);
    Policy {
        promise,
        can_look: !profile.lookups.is_empty(),
        key_life: if promise == Promise::Keyed { figures.key_ttl } else { None },
        request_timeout: crm::longest_call(profile, config.crm.request_timeout),
        lease: config.crm.lease,
        settle: over.settle.unwrap_or(figures.settle),
        looks: over.looks.unwrap_or(figures.looks),
        spacing: over.spacing.unwrap_or(figures.spacing),
        on_absent: over.on_absent.unwrap_or(if promise == Promise::Blind {
            OnAbsent::Review
        } else {
            figures.on_absent
        }),
        patience: over.patience,
        look_patience: over.look_patience,
        backoff_first: Duration::from_secs(2).min(config.crm.lease),
        backoff_most: Duration::from_secs(120),
        watch: over.watch,
        tell_after: config.notices.tell_after,
    }
}

/// The figures of the delivery machine: a send that Telegram holds back may be answered only after many seconds.
#[must_use]
pub fn delivery_policy(config: &Config) -> delivery::Policy {
    let timeout = config.telegram.request_timeout;
    delivery::Policy {
        request_timeout: timeout,
        lease: timeout + timeout / 4 + Duration::from_secs(1),
        pause: config.notices.pause.unwrap_or(timeout + timeout / 4),
        pause_most: (timeout * 8).max(config.notices.pause.unwrap_or_default()),
        repeats: 1,
        second_unknown: delivery::GiveUp::Drop,
    }
}
