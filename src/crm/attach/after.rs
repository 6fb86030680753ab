//! Files posted to a ticket that is there: each is noted before, so that one whose answer was lost is not posted again.

use super::{
    super::{files::NoFile, made::Made, steps::Run},
    name_of,
};
use crate::{
    catalog::profile::model::{Step, Way},
    domain::{
        attachment::{Attachment, LeftOut, MEGABYTE},
        ticket::Ticket,
    },
};

impl Run<'_> {
    /// Posts what is still to be posted to a ticket that is there. Whatever becomes of a file, the ticket stands.
    pub(in crate::crm) async fn attach_after(&self, ticket: &Ticket) {
        let Way::AfterCreate(step) = &self.crm.profile.attachments.way else { return };
        if self.order.files.is_empty() {
            return;
        }
        let saved = match self.store.load().await {
            Ok(saved) => saved,
            Err(why) => return tracing::warn!(why, "files cannot be attached: the steps made before cannot be read"),
        };
        for (at, file) in self.order.files.iter().enumerate() {
            let known = self.known(&saved, at);
            if known.done || known.left.is_some() {
                continue;
            }
            let left = if known.begun { Some(LeftOut::Unsure) } else { self.attach(step, at, file, ticket).await };
            if let Some(why) = left {
                // What cannot be stored is told all the same.
                drop(self.keep(at, "left_out", why.name()).await);
                self.store.note(at + 1, why).await;
            }
        }
    }

    /// Posts one file; why it is not there, if it is not known to be.
    async fn attach(&self, step: &Step, at: usize, file: &Attachment, ticket: &Ticket) -> Option<LeftOut> {
        if let Some(why) = self.refused_by_caps(at, file) {
            return Some(why);
        }
        let most = u64::from(self.crm.profile.attachments.max_size) * MEGABYTE;
        let bytes = match self.crm.source.fetch(file, most).await {
            Ok(bytes) => bytes,
            Err(NoFile::Gone) => return Some(LeftOut::Gone),
            Err(NoFile::TooLarge) => return Some(LeftOut::TooLarge),
            Err(NoFile::Later(_)) => return Some(LeftOut::Unreachable),
        };
        if !self.store.is_ours() {
            return Some(LeftOut::Unreachable);
        }
        match self.store.begin(&name_of(at), self.file_key(at)).await {
            Ok(true) => {}
            // Somebody else posts it at this moment.
            Ok(false) => return None,
            Err(_) => return Some(LeftOut::Unreachable),
        }
        match self.post(step, at, file, bytes, Some(ticket)).await {
            Ok(Made::Outputs(_)) => {
                drop(self.keep(at, "done", "yes").await);
                None
            }
            Ok(Made::Refused { .. } | Made::Auth { .. }) => Some(LeftOut::Refused),
            Ok(Made::Later { .. }) | Err(_) => Some(LeftOut::Unreachable),
            Ok(Made::Unsure { .. } | Made::Many { .. }) => Some(LeftOut::Unsure),
        }
    }
}
