//! Attached files: their bytes from Telegram, and those of a ticket that was found after its answer was lost.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};

use super::{Worker, kept::OperationSteps};
use crate::{
    clock::Timestamp,
    crm::{FileSource, NoFile},
    domain::{
        attachment::Attachment,
        operation::{Ground, State},
        ticket::Ticket,
    },
    store::operations::Stored,
    telegram::{Telegram, files::Fetched},
};

/// Files as Telegram keeps them.
#[derive(Debug)]
pub struct TelegramFiles(pub Telegram);

impl FileSource for TelegramFiles {
    fn fetch<'a>(&'a self, file: &'a Attachment, most: u64) -> BoxFuture<'a, Result<Vec<u8>, NoFile>> {
        async move {
            match self.0.file(&file.file_id, most).await {
                Fetched::Bytes(bytes) => Ok(bytes),
                Fetched::Gone => Err(NoFile::Gone),
                Fetched::TooLarge => Err(NoFile::TooLarge),
                Fetched::Later(why) => Err(NoFile::Later(why)),
            }
        }
        .boxed()
    }
}

impl Worker {
    /// Where an attempt of an operation keeps what its steps give.
    pub(super) fn steps(&self, stored: &Stored, began: Timestamp, lease_end: Timestamp) -> OperationSteps {
        let (store, clock) = (self.store.clone(), Arc::clone(&self.clock));
        // A step that could not end within the lease is left to the next attempt.
        let last_start = lease_end.minus(self.policy.request_timeout);
        // Only a repeat under the CRM's own key has to be what the CRM saw before.
        let may_differ = !matches!(stored.operation.state, State::Sending { ground: Ground::SameKey, .. });
        OperationSteps { store, operation: stored.operation.id, began, last_start, lease_end, clock, may_differ }
    }

    /// Posts the files of a ticket that was found or linked before anybody is told of it, so that a process that dies
    /// meanwhile finds the ticket again and goes on.
    pub(super) async fn attach(&self, stored: &Stored, ticket: &Ticket) {
        let Some(order) = stored.order.as_ref().filter(|order| !order.files.is_empty()) else { return };
        if !self.crm.attaches_after() {
            return;
        }
        let now = self.clock.now();
        let steps = self.steps(stored, now, now.plus(self.policy.lease));
        self.crm.attach(order, ticket, &steps).await;
    }
}
