//! What an installation says about its CRM, checked against what the profile asks for.

use std::{collections::BTreeMap, fmt, time::Duration};

use secrecy::{ExposeSecret, SecretString};

use super::{
    clean::Origin,
    figures,
    scope::{self, Secrets, Vars},
};
use crate::{
    catalog::profile::{
        Profile,
        model::{Auth, Request, Step, StepKind, Url},
        template::Scope,
    },
    config::{nearest, places::Places, problem::Problems},
};

/// What an installation says about its CRM.
#[derive(Clone)]
pub struct CrmSettings {
    /// Where these are written, for messages.
    pub places: Places,
    /// Values for the profile's variables, as text.
    pub vars: BTreeMap<String, String>,
    /// The profile's secrets.
    pub secrets: BTreeMap<String, SecretString>,
    /// The longest one exchange may take, answer included; shorter than the lease.
    pub request_timeout: Duration,
    /// The longest the connection may take to come about; never more than 3 s and three quarters of
    /// `request_timeout`.
    pub connect_timeout: Duration,
}

impl fmt::Debug for CrmSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrmSettings")
            .field("vars", &self.vars)
            .field("secrets", &self.secrets.keys().collect::<Vec<_>>())
            .field("request_timeout", &self.request_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .finish_non_exhaustive()
    }
}

/// The longest a connection may take, whatever the settings say.
const LONGEST_CONNECT: Duration = Duration::from_secs(3);

/// Settings that fit the profile.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) vars: Vars,
    pub(super) secrets: Secrets,
    /// Every address the profile sends to.
    pub(super) api: Vec<Origin>,
    /// Every address a link may lead to: those, and the profile's own link.
    pub(super) links: Vec<Origin>,
}

/// Checks the settings against the profile.
///
/// # Errors
/// Everything that does not fit, without the values.
pub(super) fn fit(profile: &Profile, settings: &CrmSettings) -> Result<Fitted, Problems> {
    let mut problems = Problems::new();
    let vars = vars(profile, settings, &mut problems);
    let secrets = secrets(profile, settings, &mut problems);
    let mut fitted = Fitted { vars, secrets, api: Vec::new(), links: Vec::new() };
    if problems.is_empty() {
        addresses(profile, settings, &mut fitted, &mut problems);
    }
    if problems.has_errors() { Err(problems) } else { Ok(fitted) }
}

fn vars(profile: &Profile, settings: &CrmSettings, problems: &mut Problems) -> Vars {
    let mut vars = Vars::new();
    let mut refuse = |setting: String, what: String, hint: String| {
        let (file, line) = settings.places.of(&setting);
        problems.error(file, line, what, hint);
    };
    for (name, var) in &profile.vars {
        let given = settings.vars.get(name).filter(|text| !text.is_empty()).or(var.default.as_ref());
        let Some(text) = given else {
            if var.required {
                refuse(format!("crm.vars.{name}"), format!("`crm.vars.{name}` is missing"), var.help.clone());
            }
            continue;
        };
        match var.refusal(text) {
            Some(why) => {
                refuse(format!("crm.vars.{name}"), format!("`crm.vars.{name}`: {why}"), var.help.clone());
            }
            None => {
                vars.insert(name.clone(), var.value(text));
            }
        }
    }
    for name in settings.vars.keys().filter(|name| !profile.vars.contains_key(*name)) {
        let hint = nearest::hint(name, profile.vars.keys().map(String::as_str));
        let what = format!("the profile `{}` has no variable `{name}`", profile.meta.name);
        refuse(format!("crm.vars.{name}"), what, hint);
    }
    vars
}

fn secrets(profile: &Profile, settings: &CrmSettings, problems: &mut Problems) -> Secrets {
    let mut refuse = |name: &str, what: String, hint: String| {
        let (file, line) = settings.places.of(&format!("crm.secrets.{name}"));
        problems.error(file, line, what, hint);
    };
    for (name, secret) in &profile.secrets {
        let text = settings.secrets.get(name).map(ExposeSecret::expose_secret).unwrap_or_default();
        if text.is_empty() && secret.optional {
            continue;
        }
        if text.is_empty() {
            refuse(name, format!("`crm.secrets.{name}` is missing"), secret.help.clone());
        } else if text.chars().any(char::is_control) || text.trim() != text {
            let what = format!("`crm.secrets.{name}` has spaces around it or a line break in it");
            refuse(name, what, "copy it again, without the line's end".to_owned());
        }
    }
    for name in settings.secrets.keys().filter(|name| !profile.secrets.contains_key(*name)) {
        let hint = nearest::hint(name, profile.secrets.keys().map(String::as_str));
        refuse(name, format!("the profile `{}` has no secret `{name}`", profile.meta.name), hint);
    }
    settings.secrets.clone()
}

impl CrmSettings {
    /// How long a connection may really take: a dead host must show as "not connected" well before the whole limit
    /// ends the exchange, or it would look like a lost answer.
    pub(super) fn connect_limit(&self, profile: &Profile) -> Duration {
        let shortest = figures::timeouts(profile).fold(self.request_timeout, Duration::min);
        self.connect_timeout.min(LONGEST_CONNECT).min(shortest * 3 / 4)
    }
}

/// The bases of all requests, which only variables of the installation can change.
fn addresses(profile: &Profile, settings: &CrmSettings, fitted: &mut Fitted, problems: &mut Problems) {
    let scope = scope::fixed(&fitted.vars);
    let (file, line) = settings.places.of("crm.vars.base_url");
    let mut refuse = |what: String, hint: &str| problems.error(&file, line, what, hint);
    let requests: Vec<&Request> = (profile.steps.iter().map(|step| &step.request))
        .chain(profile.lookups.iter().map(|lookup| &lookup.request))
        .chain(profile.verify.iter().map(|verify| &verify.request))
        .chain(profile.steps.iter().filter_map(own_lookup))
        .chain(profile.prerequisites.iter().filter_map(|wanted| wanted.ask.as_ref()))
        .chain(profile.attachments.step().map(|step| &step.request))
        .chain(profile.cleanup.as_ref())
        .collect();
    for request in requests {
        match origin(&request.url, &scope) {
            Ok(origin) => {
                if origin.is_open_wire() && !fitted.api.contains(&origin) {
                    let what = "the CRM is asked over plain http across the open network: anyone on the way sees all";
                    refuse(what.to_owned(), "an https:// address");
                }
                if !fitted.api.contains(&origin) {
                    fitted.api.push(origin);
                }
            }
            Err(what) => refuse(what, "see the variables of the profile"),
        }
    }
    if let Auth::Token(token) = &profile.auth {
        match origin(&token.request.url, &scope) {
            Ok(origin) if origin.is_open_wire() => {
                let what = "a token would be asked for over plain http across the open network";
                refuse(what.to_owned(), "an https:// address");
            }
            Ok(_) => {}
            Err(what) => refuse(what, "see the variables of the profile"),
        }
    }
    fitted.links = fitted.api.clone();
    if let Some(origin) = profile.link.as_ref().and_then(|link| origin(link, &scope).ok()) {
        fitted.links.push(origin);
    }
}

/// How a step's own record is looked for after a lost answer.
fn own_lookup(step: &Step) -> Option<&Request> {
    match &step.kind {
        StepKind::Make { lookup: Some(lookup), .. } => Some(&lookup.request),
        _ => None,
    }
}

pub(super) fn origin(url: &Url, scope: &Scope) -> Result<Origin, String> {
    let base = url.base.text(scope).map_err(|error| error.0)?;
    Origin::of(&base).ok_or_else(|| format!("`{}` does not come out as an address", url.base.source()))
}
