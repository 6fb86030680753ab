//! Whether the CRM keeps our key. Many drop a field they do not know without a word, and then every lookup says "not
//! there". So the first ticket of an installation is read back, once; if it does not show our key, staff are told and no
//! search counts for anything from then on, until a ticket made later shows the key.

use super::Worker;
use crate::{
    domain::{
        notice::{Alert, Notice, NoticeKind},
        outcome::{Look, Verified},
        ticket::Ticket,
    },
    store::{
        StoreError,
        operations::Stored,
        outbox::{self, Letter, STAFF},
        settings,
    },
};

/// What is known of our key in this CRM: `kept <set-up>` or `dropped <set-up>`.
const KEY_IN_CRM: &str = "crm.key";

impl Worker {
    /// Reads the ticket just made back, unless it is known that the CRM keeps our key.
    pub(super) async fn read_back(&self, stored: &Stored, ticket: &Ticket) -> Result<(), StoreError> {
        if self.crm.has_echoed() || !self.crm.can_look() {
            return Ok(());
        }
        let known = settings::get(self.store.reader(), KEY_IN_CRM).await?;
        let kept = format!("kept {}", self.crm.fingerprint());
        if known.as_deref() == Some(kept.as_str()) {
            return Ok(());
        }
        let (key, marker) = (stored.operation.key, &stored.marker);
        let said = match self.crm.verify(&ticket.number, key, marker).await {
            // A CRM that cannot show one ticket may still show those with our key.
            Verified::Absent | Verified::Unsure { .. } | Verified::Impossible => match self.crm.look(key, marker).await
            {
                Look::Found { tickets } if tickets.iter().any(|found| found.id == ticket.id) => {
                    Verified::Ours { ticket: ticket.clone() }
                }
                _ => Verified::Impossible,
            },
            said => said,
        };
        match said {
            Verified::Ours { .. } => self.key_is_kept().await,
            Verified::Exists { ticket } | Verified::Keyless { ticket } => {
                self.key_is_dropped(Alert::KeyDropped { number: ticket.number }).await
            }
            Verified::Foreign => self.key_is_dropped(Alert::KeyDropped { number: ticket.number.clone() }).await,
            // It could not be asked, or shows no single ticket and not yet this one: it is looked for later.
            Verified::Absent | Verified::Unsure { .. } | Verified::Impossible => {
                self.await_ticket(stored, ticket).await
            }
        }
    }

    /// Remembers that the CRM keeps our key.
    pub(super) async fn key_is_kept(&self) -> Result<(), StoreError> {
        let (kept, now) = (format!("kept {}", self.crm.fingerprint()), self.clock.now());
        let write = self.store.write(move |tx| {
            let kept = kept.clone();
            async move { settings::set(tx.as_ref(), KEY_IN_CRM, &kept, now).await }
        });
        write.await
    }

    /// Remembers it and tells staff, once for this set-up.
    pub(super) async fn key_is_dropped(&self, about: Alert) -> Result<(), StoreError> {
        let dropped = format!("dropped {}", self.crm.fingerprint());
        if settings::get(self.store.reader(), KEY_IN_CRM).await?.as_deref() == Some(dropped.as_str()) {
            return Ok(());
        }
        tracing::error!(?about, "the CRM does not keep our key: lookups cannot find what was made");
        let (bot, now) = (self.bot, self.clock.now());
        let unknown = self.author.on_unknown.of(NoticeKind::StaffCard);
        let write = self.store.write(move |tx| {
            let (dropped, about) = (dropped.clone(), about.clone());
            async move {
                // Of two replicas that saw it at once one tells.
                if settings::get(tx.as_ref(), KEY_IN_CRM).await?.as_deref() == Some(dropped.as_str()) {
                    return Ok(());
                }
                settings::set(tx.as_ref(), KEY_IN_CRM, &dropped, now).await?;
                let letter = Letter {
                    bot,
                    chat: STAFF,
                    thread: None,
                    kind: NoticeKind::StaffCard,
                    card: None,
                    operation: None,
                    notice: Notice::Alert { about },
                    on_unknown: unknown,
                };
                outbox::put(tx.as_ref(), &letter, now).await
            }
        });
        write.await
    }

    /// Whether a ticket read back has shown that this CRM does not keep our key.
    pub(super) async fn key_is_known_dropped(&self) -> Result<bool, StoreError> {
        let known = settings::get(self.store.reader(), KEY_IN_CRM).await?;
        Ok(known.is_some_and(|known| known == format!("dropped {}", self.crm.fingerprint())))
    }
}
