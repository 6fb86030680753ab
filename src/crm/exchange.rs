//! One request on its way out and back: credentials and files join it, its time is set, an ended session is noticed.

use std::time::Duration;

use super::{
    Crm,
    answer::Answer,
    auth,
    clean::Origin,
    files::{self, Contents},
    request::Rendered,
    scope,
    settings::Fitted,
    steps::StepStore,
    tokens::{Asking, Bearer, NoToken},
    transport::Heard,
};
use crate::{
    catalog::profile::model::{Auth, TokenAuth},
    domain::outcome::Outcome,
};

/// How long one exchange may take.
#[derive(Clone, Copy)]
pub(super) struct Within<'a> {
    /// The profile's own time for this request.
    pub(super) own: Option<Duration>,
    /// Where the attempt is kept whose lease it must not outlive.
    pub(super) store: Option<&'a dyn StepStore>,
}

impl Within<'_> {
    /// The shorter of the request's time and what is left of the lease; `None` where nothing is.
    fn limit(self, usual: Duration) -> Option<Duration> {
        let limit = self.store.map_or(Duration::MAX, StepStore::left).min(self.own.unwrap_or(usual));
        (!limit.is_zero()).then_some(limit)
    }
}

/// How soon a create is tried again with a new token.
const WITH_A_NEW_TOKEN: Duration = Duration::from_secs(1);

impl Crm {
    /// Sends a request with credentials. `Err` is what a create that got no further ended in.
    pub(super) async fn exchange(&self, request: Rendered, within: Within<'_>) -> Result<Heard, Outcome> {
        self.exchange_with(request, &Contents::new(), within).await
    }

    /// The same, with the files that go in the places of their marks.
    pub(super) async fn exchange_with(
        &self,
        mut request: Rendered,
        contents: &Contents,
        within: Within<'_>,
    ) -> Result<Heard, Outcome> {
        let not_sent = |detail: &str, wait| Outcome::NotSent { detail: detail.to_owned(), wait };
        // A stored request may be older than the settings: credentials go to the CRM they belong to, nowhere else.
        if !Origin::of(&request.url).is_some_and(|origin| self.fitted.api.contains(&origin)) {
            return Err(not_sent("the request was prepared for another address than the CRM now has", None));
        }
        let token = self.token().await.map_err(|none| match none {
            NoToken::Refused(detail) => Outcome::AuthRefused { detail },
            NoToken::Later { why, wait } => not_sent(&why, wait),
        })?;
        if let Some(base) = &token.base {
            request.url = moved(&request.url, base);
        }
        let insets = std::mem::take(&mut request.insets);
        let mut wire = auth::authorize(request, &self.credentials(&self.fitted.secrets, &token.token))
            .map_err(|error| not_sent(&error.0, None))?;
        if !insets.is_empty() {
            let filled = files::filled(wire.body.as_deref().unwrap_or_default(), &insets, contents);
            wire.filled = Some(filled.ok_or_else(|| not_sent("a file of the request is not at hand", None))?);
        }
        // Fetching files and a token takes time, and a call must not outlive its lease.
        let limit =
            within.limit(self.usual).ok_or_else(|| not_sent("held up past its own lease before writing", None))?;
        let heard = self.transport.exchange(wire, Some(limit)).await;
        if let (Heard::Answer(answer), Auth::Token(auth)) = (&heard, &self.profile.auth) {
            self.session(auth, &token, answer).await?;
        }
        Ok(heard)
    }

    /// Whether an answer says that the token has ended: then the request was not carried out, and goes again with a new one.
    /// A token that was fresh is not the reason: then the credentials are no good.
    async fn session(&self, auth: &TokenAuth, token: &Bearer, answer: &Answer) -> Result<(), Outcome> {
        let declared = answer.rule(&auth.relogin, &scope::fixed(&self.fitted.vars)).is_some();
        if answer.status != 401 && !declared {
            return Ok(());
        }
        if self.tokens.refused(&token.token, &self.fitted.secrets).await {
            let detail = "the CRM refused the token; a new one is asked for".to_owned();
            return Err(Outcome::NotSent { detail, wait: Some(WITH_A_NEW_TOKEN) });
        }
        // What 401 means then is for the rules of the step to say.
        if declared { Err(Outcome::AuthRefused { detail: answer.seen() }) } else { Ok(()) }
    }

    /// The token for a request; empty where the profile works without one.
    async fn token(&self) -> Result<Bearer, NoToken> {
        let Auth::Token(auth) = &self.profile.auth else { return Ok(Bearer::default()) };
        let Fitted { vars, secrets, .. } = &self.fitted;
        self.tokens.token(Asking { auth, vars, secrets, transport: &self.transport }).await
    }
}

/// The same address at another origin: everything after the host stays byte for byte.
fn moved(url: &str, origin: &str) -> String {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest.find(['/', '?']).map_or("", |at| &rest[at..]));
    format!("{origin}{rest}")
}
