//! The webhook: updates are posted to the bot instead of fetched by it.

use serde_json::Value;

use super::{book::Book, methods::Called, params::Refusal};

/// Where updates are posted.
#[derive(Debug)]
pub(super) struct Hook {}

/// `setWebhook`, `deleteWebhook`, `getWebhookInfo`.
pub(super) fn call(_book: &mut Book, _called: &Called<'_>) -> Result<Value, Refusal> {
    Err(Refusal::bad("bad webhook: not built yet"))
}
