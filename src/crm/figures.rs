//! What a profile promises and asks for in figures, after what is known of its proof.

use std::time::Duration;

use super::Crm;
use crate::{
    catalog::profile::{
        Profile,
        model::{Auth, Budgets, Lookup, Sees, StepKind, Verify},
        template::Template,
    },
    domain::{operation::OnAbsent, outcome::Promise, ticket::TicketOrder},
};

/// What a profile's file says of waiting and pace; the installation may override it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// How long after the last attempt a miss begins to count: as long as the slowest lookup needs.
    pub settle: Duration,
    /// The shortest wait after which a miss can prove anything: the CRM's longest work on a request nobody waits for any
    /// more, and the longest its lookups lag behind.
    pub floor: Duration,
    /// How many misses prove absence.
    pub looks: u32,
    /// The pause between two looks.
    pub spacing: Duration,
    /// How long after the first attempt the same key may be sent again, safety margin taken off; `None` is forever.
    pub key_ttl: Option<Duration>,
    /// What to do when the ticket is provably not there.
    pub on_absent: OnAbsent,
    /// Requests open at the same time.
    pub concurrency: u32,
    /// Requests a second over a long time.
    pub per_second: f64,
    /// Requests at once after a pause.
    pub burst: u32,
    /// Requests within any minute, hour, day.
    pub budgets: Budgets,
}

/// How many requests an act counts for in the CRM's own reckoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Making a ticket, with all its steps.
    pub create: u32,
    /// Looking for it by our key, by every lookup.
    pub look: u32,
    /// Checking a number that a person gave: by our key, then by reading that one ticket.
    pub check: u32,
}

impl Figures {
    /// The figures of a profile, whatever an installation has filled in.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        let (lookups, limits) = (&profile.lookups, profile.limits);
        let sure = profile.meta.verified.is_some();
        Self {
            settle: lookups.iter().map(|lookup| lookup.settle_after).max().unwrap_or(Duration::ZERO),
            floor: floor(profile),
            looks: lookups.iter().map(|lookup| lookup.misses).max().unwrap_or(1),
            spacing: lookups.iter().map(|lookup| lookup.spacing).max().unwrap_or(Duration::from_secs(20)),
            key_ttl: profile.dedupe.ttl,
            on_absent: if sure { profile.on_absent } else { OnAbsent::Review },
            concurrency: limits.concurrency,
            per_second: limits.per_second,
            burst: limits.burst,
            budgets: limits.budgets,
        }
    }
}

/// What makes a repeat harmless. An unverified profile is not believed in what would send again: its keyed claim counts as
/// searchable, or as blind where it has no lookup, so that a human settles the unknown.
#[must_use]
pub fn promise(profile: &Profile) -> Promise {
    match profile.meta.promise {
        Promise::Keyed if profile.meta.verified.is_some() => Promise::Keyed,
        Promise::Blind => Promise::Blind,
        _ if profile.lookups.is_empty() => Promise::Blind,
        _ => Promise::Searchable,
    }
}

/// Why sending again by itself could make a second ticket, with this settle window; `None` where it is as safe as the
/// profile can make it.
#[must_use]
pub fn resend_refusal(profile: &Profile, settle: Duration) -> Option<String> {
    let promise = promise(profile);
    if promise == Promise::Blind {
        return Some("this CRM can neither be searched nor refuses repeats".to_owned());
    }
    if profile.meta.verified.is_none() {
        return Some(format!(
            "the profile `{}` is unverified: nobody has seen that its lookups find what was made",
            profile.meta.name
        ));
    }
    let spots = Sees::blind_spots(lookups_that_decide(profile, promise));
    if !spots.is_empty() {
        return Some(format!(
            "no lookup of the profile `{}` is known to see {} tickets, so a miss does not prove that one was never made",
            profile.meta.name,
            spots.join(" and ")
        ));
    }
    let floor = floor(profile);
    (promise == Promise::Searchable && settle < floor).then(|| {
        format!("settle is {settle:?}, but a request given up on may go on for so long and show so late that a miss means something only after {floor:?}")
    })
}

/// The lookups whose miss would have a ticket made again; none where the CRM minds the key for ever.
fn lookups_that_decide(profile: &Profile, promise: Promise) -> &[Lookup] {
    if promise == Promise::Keyed && profile.dedupe.ttl.is_none() { &[] } else { &profile.lookups }
}

fn floor(profile: &Profile) -> Duration {
    let lag = profile.lookups.iter().map(|lookup| lookup.lag).max().unwrap_or(Duration::ZERO);
    profile.dedupe.server_max + lag
}

/// The longest one call may take: the installation's time, or a longer one of the profile's own.
#[must_use]
pub fn longest_call(profile: &Profile, usual: Duration) -> Duration {
    timeouts(profile).fold(usual, Duration::max)
}

/// The times of their own that requests of a profile have.
pub(super) fn timeouts(profile: &Profile) -> impl Iterator<Item = Duration> {
    let token = match &profile.auth {
        Auth::Token(token) => Some(&token.request),
        _ => None,
    };
    let own = profile.steps.iter().filter_map(|step| match &step.kind {
        StepKind::Make { lookup: Some(lookup), .. } => Some(&lookup.request),
        _ => None,
    });
    let all = profile.steps.iter().map(|step| &step.request).chain(own);
    let all = all.chain(profile.lookups.iter().map(|lookup| &lookup.request));
    let all = all.chain(profile.verify.iter().map(|verify| &verify.request));
    let all = all.chain(profile.prerequisites.iter().filter_map(|wanted| wanted.ask.as_ref()));
    let all = all.chain(profile.attachments.step().map(|step| &step.request)).chain(&profile.cleanup).chain(token);
    all.filter_map(|request| request.timeout)
}

impl Crm {
    /// What makes a repeat harmless: see [`promise`].
    #[must_use]
    pub fn promise(&self) -> Promise {
        promise(&self.profile)
    }

    /// The profile's own figures.
    #[must_use]
    pub fn figures(&self) -> Figures {
        Figures::of(&self.profile)
    }

    /// What each act costs.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let looking = self.profile.lookups.iter().map(|lookup| lookup.cost).sum::<u32>();
        let reading = self.profile.verify.as_ref().map_or(0, |verify: &Verify| verify.cost);
        Cost {
            create: self.profile.steps.iter().map(|step| step.cost).sum::<u32>().max(1),
            look: looking.max(1),
            check: (looking + reading).max(1),
        }
    }

    /// What making this ticket costs, with its files.
    #[must_use]
    pub fn cost_of(&self, order: Option<&TicketOrder>) -> u32 {
        let files = order.map_or(0, |order| u32::try_from(order.files.len()).unwrap_or(u32::MAX));
        self.cost().create.saturating_add(files.saturating_mul(self.profile.attachments.cost()))
    }

    /// Whether our key also travels in a header of the create: an idempotency key the CRM minds whatever becomes of its
    /// fields.
    #[must_use]
    pub fn key_is_a_header(&self) -> bool {
        let names_key = |value: &Template| value.names().iter().any(|name| name.starts_with("ext."));
        let ticket = self.profile.steps.iter().find(|step| step.is_ticket());
        ticket.is_some_and(|step| step.request.headers.iter().any(|(_, value)| names_key(value)))
    }
}
