//! From what the operator wrote to parts that fit together: every problem at once, before anything starts.

use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    catalog::{Catalog, folder, profile},
    config::{
        Config,
        problem::{Problem, Problems},
    },
    crm::{Crm, CrmSettings},
    domain::{
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
    let catalog = Catalog::load_for(dir, &config.templates.language, place("templates.language"), &mut problems);
    let crm = match profile::open(&config.crm.profile, dir, place("crm.profile")) {
        Ok((profile, warnings)) => {
            problems.append(warnings);
            let settings = CrmSettings {
                places: config.places.clone(),
                vars: config.crm.vars.clone(),
                secrets: config.crm.secrets.clone(),
                request_timeout: config.crm.request_timeout,
                connect_timeout: config.crm.connect_timeout,
            };
            match Crm::new(Arc::new(profile), settings) {
                Ok(crm) => Some(crm),
                Err(found) => {
                    problems.append(found);
                    None
                }
            }
        }
        Err(found) => {
            problems.append(found);
            None
        }
    };
    let policy = crm.as_ref().map(|crm| policy(config, crm));
    for problem in policy.iter().flat_map(Policy::problems) {
        let (file, line) = place(problem.setting);
        // What the settings alone show to be wrong has been said.
        let said = |known: &Problem| known.what.starts_with(&format!("`{}`", problem.setting));
        if !config.warnings.iter().any(said) {
            problems.error(file, line, format!("`{}` {}", problem.setting, problem.what), problem.hint);
        }
    }
    if let (Some(crm), Some(policy)) = (&crm, &policy)
        && policy.on_absent == OnAbsent::Resend
        && let Some(why) = crm.resend_refusal(policy.settle)
    {
        let what = format!("`crm.reconcile.on_absent` is \"resend\", which could make a second ticket: {why}");
        let (file, line) = place("crm.reconcile.on_absent");
        problems.error(file, line, what, "\"review\": a person decides");
    }
    for (setting, what) in delivery_policy(config).problems() {
        let (file, line) = place(setting);
        problems.error(file, line, format!("`{setting}` {what}"), "");
    }
    match (catalog, crm, policy) {
        (Some(catalog), Some(crm), Some(policy)) if !problems.has_errors() => {
            Ok(Checked { catalog: Arc::new(catalog), crm, policy, warnings: problems })
        }
        _ => Err(problems),
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

/// The profile's own figures with the operator's over them.
fn policy(config: &Config, crm: &Crm) -> Policy {
    let (figures, over) = (crm.figures(), config.crm.reconcile);
    let promise = crm.promise();
    Policy {
        promise,
        can_look: crm.can_look(),
        key_life: if promise == Promise::Keyed { figures.key_ttl } else { None },
        request_timeout: config.crm.request_timeout,
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
