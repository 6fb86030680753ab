//! A ticket that a person named by its number: is it the one that was made?

use super::{Crm, clean};
use crate::{
    domain::outcome::{Look, Verified},
    ids::{ExternalKey, Marker},
};

impl Crm {
    /// Whether a number that a person gives can be checked at all: by our key, or by reading that one ticket.
    #[must_use]
    pub fn can_check(&self) -> bool {
        self.can_verify() || self.can_look()
    }

    /// Checks a number that a person gave. Our own key is asked for first: where the CRM shows the ticket that carries it,
    /// its number is beyond doubt, also in a CRM that cannot show one ticket by its number.
    pub async fn named(&self, number: &str, key: ExternalKey, marker: &Marker) -> Verified {
        if !clean::is_number(&self.profile, number) {
            return Verified::Absent;
        }
        if self.can_look()
            && let Look::Found { tickets } = self.look(key, marker).await
            && let Some(ticket) = tickets.into_iter().find(|ticket| ticket.number == number || ticket.id == number)
        {
            return Verified::Ours { ticket };
        }
        match self.verify(number, key, marker).await {
            Verified::Impossible if self.can_look() => Verified::Unsure {
                detail: "no ticket with our key has this number, and the CRM cannot be asked for one by its number"
                    .to_owned(),
            },
            said => said,
        }
    }
}
