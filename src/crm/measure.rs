//! Questions to a CRM outside of any create: what an installation must see to, and taking a trial's record away.

use super::{Crm, auth::Wire, scope, settings, transport::Heard};
use crate::{
    catalog::profile::{model::Auth, rule::Verdict},
    domain::{outcome::Look, ticket::Ticket},
    ids::{BotId, ConfirmVersion, DraftId, ExternalKey, Marker},
};

impl Crm {
    /// What the installation must see to, each with the CRM's own word where it can be asked: `Err` says why not.
    pub async fn prerequisites(&self) -> Vec<(String, Option<Result<(), String>>)> {
        let key = ExternalKey::derive(BotId(0), DraftId(uuid::Uuid::nil()), ConfirmVersion(0));
        let scope = scope::find(&self.fitted.vars, &self.profile.ext, key, &Marker::of(key));
        let mut said = Vec::new();
        for wanted in &self.profile.prerequisites {
            let Some(request) = &wanted.ask else {
                said.push((wanted.text.clone(), None));
                continue;
            };
            let well = match self.ask(request, &scope).await {
                Heard::Answer(answer) => match answer.rule(&wanted.outcome, &scope) {
                    Some(rule) if rule.verdict == Verdict::Answer => Ok(()),
                    _ => Err(format!("{}: not so", answer.seen())),
                },
                Heard::NotSent(why) | Heard::Lost(why) => Err(self.hush(why)),
            };
            said.push((wanted.text.clone(), Some(well)));
        }
        said
    }

    /// Looks for a key that no ticket has, which shows that the CRM can be asked at all. `None` where the profile has
    /// nothing to ask with.
    pub async fn answers(&self) -> Option<Result<(), String>> {
        let key = ExternalKey::derive(BotId(0), DraftId(uuid::Uuid::nil()), ConfirmVersion(0));
        match self.look(key, &Marker::of(key)).await {
            Look::Missed | Look::Found { .. } => Some(Ok(())),
            Look::Unsure { detail, .. } => Some(Err(detail)),
            Look::Impossible => None,
        }
    }

    /// Whether the address that tickets are made at can be reached: `HEAD` of its root, without credentials. By HTTP that
    /// changes nothing (RFC 9110, 9.2.1), and any answer shows that name, connection and certificate are well.
    ///
    /// # Errors
    /// Why it cannot, in words, with the address.
    pub async fn reaches(&self) -> Result<String, String> {
        let step = self.profile.steps.iter().find(|step| step.is_ticket());
        let origin = step.map(|step| settings::origin(&step.request.url, &scope::fixed(&self.fitted.vars)));
        let origin = origin.unwrap_or_else(|| Err("the profile makes no ticket".to_owned()))?;
        let url = format!("{origin}/");
        let (method, headers) = ("HEAD".to_owned(), Vec::new());
        let wire = Wire { method, url, headers, basic: None, body: None, filled: None };
        match self.transport.exchange(wire, None).await {
            Heard::Answer(_) => Ok(origin.to_string()),
            Heard::NotSent(why) => Err(format!("{origin} cannot be reached: {}", self.hush(why))),
            Heard::Lost(why) => Err(format!("{origin} takes connections and does not answer: {}", self.hush(why))),
        }
    }

    /// Whether requests need a token that is asked for and kept in the database.
    #[must_use]
    pub fn needs_token(&self) -> bool {
        matches!(self.profile.auth, Auth::Token(_))
    }

    /// Whether asking for a token may spend the refresh token it is asked with.
    #[must_use]
    pub fn spends_refresh_tokens(&self) -> bool {
        matches!(&self.profile.auth, Auth::Token(auth) if auth.first_refresh.is_some())
    }

    /// Takes a trial's ticket away, as the profile says how. `false` where it does not say.
    ///
    /// # Errors
    /// The CRM did not agree, in words.
    pub async fn clean_up(&self, ticket: &Ticket) -> Result<bool, String> {
        let Some(request) = &self.profile.cleanup else { return Ok(false) };
        let scope = scope::link(&self.fitted.vars, &ticket.id, &ticket.number);
        match self.ask(request, &scope).await {
            Heard::Answer(answer) if (200..300).contains(&answer.status) => Ok(true),
            Heard::Answer(answer) => Err(answer.seen()),
            Heard::NotSent(why) | Heard::Lost(why) => Err(self.hush(why)),
        }
    }

    /// A mark of the profile and the installation's variables: what was learnt of one set-up holds for it alone.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        use sha2::{Digest as _, Sha256};
        let text = format!("{} {:?}", self.profile.meta.name, self.fitted.vars);
        Sha256::digest(text).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}
