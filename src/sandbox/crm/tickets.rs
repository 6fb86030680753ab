//! The fake CRM's tickets and its memory of idempotency keys. Pure bookkeeping.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::clock::Timestamp;

/// The first ticket's number.
const FIRST_NUMBER: u64 = 1001;

/// One ticket, every field as it was received.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    pub(super) number: u64,
    pub(super) at: Timestamp,
    /// From when a lookup sees it.
    visible_at: Timestamp,
    /// The idempotency key it was made with, if any.
    key: Option<String>,
    /// The whole creating request.
    request: Value,
}

impl Ticket {
    /// What the CRM answers about it.
    pub(super) fn answer(&self, base_url: &str) -> Value {
        json!({
            "id": self.id(),
            "number": self.number.to_string(),
            "url": format!("{base_url}/tickets/{}", self.number),
            "external_id": self.request["external_id"],
        })
    }

    /// What the control API shows of it.
    pub(super) fn json(&self) -> Value {
        let mut shown = json!({
            "number": self.number.to_string(),
            "id": self.id(),
            "at": self.at,
            "key": self.key,
        });
        for field in ["external_id", "marker", "subject", "body", "contact", "fields"] {
            shown[field] = self.request[field].clone();
        }
        shown
    }

    fn id(&self) -> String {
        format!("t-{}", self.number)
    }
}

/// What a key stands for.
#[derive(Debug)]
enum Known {
    /// A call with it is being handled.
    InHand,
    /// It made this ticket, from this body.
    Made { number: u64, body: Vec<u8> },
}

/// What a creating call led to.
#[derive(Debug)]
pub(super) enum Made {
    /// A new ticket.
    New(Ticket),
    /// The ticket this key made before.
    Again(Ticket),
    /// The key was used with another body.
    KeyReused,
    /// The content is not acceptable, in words.
    Invalid(&'static str),
}

/// All tickets, and all keys seen.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    tickets: Vec<Ticket>,
    /// Places of the tickets by external key: load tests look up among very many.
    by_external_id: HashMap<String, Vec<usize>>,
    keys: HashMap<String, Known>,
    made: u64,
    /// How many tickets were cleared away: number and place differ by them.
    cleared: u64,
}

impl Tickets {
    /// Takes a key in hand; false while another call has it there.
    pub(super) fn take(&mut self, key: &str) -> bool {
        match self.keys.get(key) {
            Some(Known::InHand) => false,
            Some(Known::Made { .. }) => true,
            None => {
                self.keys.insert(key.to_owned(), Known::InHand);
                true
            }
        }
    }

    /// Creates a ticket, or answers with what the key made before.
    pub(super) fn create(&mut self, key: Option<&str>, keyed: bool, body: &[u8], at: Timestamp, lag_ms: u64) -> Made {
        let remembered = key.filter(|_| keyed);
        if let Some(Known::Made { number, body: first }) = remembered.and_then(|key| self.keys.get(key)) {
            if first != body {
                return Made::KeyReused;
            }
            // A ticket that was cleared away in the meantime is made anew below.
            if let Some(ticket) = self.by_number(*number) {
                return Made::Again(ticket.clone());
            }
        }
        let request = match acceptable(body) {
            Ok(request) => request,
            Err(words) => {
                if let Some(key) = remembered {
                    self.keys.remove(key);
                }
                return Made::Invalid(words);
            }
        };
        let number = FIRST_NUMBER + self.made;
        self.made += 1;
        let visible_at = at.plus(std::time::Duration::from_millis(lag_ms));
        let ticket = Ticket { number, at, visible_at, key: key.map(str::to_owned), request };
        if let Some(key) = remembered {
            self.keys.insert(key.to_owned(), Known::Made { number, body: body.to_vec() });
        }
        if let Some(external_id) = ticket.request["external_id"].as_str() {
            self.by_external_id.entry(external_id.to_owned()).or_default().push(self.tickets.len());
        }
        self.tickets.push(ticket.clone());
        Made::New(ticket)
    }

    /// The tickets with this external key that a lookup at `now` sees.
    pub(super) fn find(&self, external_id: &str, now: Timestamp) -> impl Iterator<Item = &Ticket> {
        let places = self.by_external_id.get(external_id).into_iter().flatten();
        places.filter_map(|place| self.tickets.get(*place)).filter(move |ticket| ticket.visible_at <= now)
    }

    pub(super) fn by_number(&self, number: u64) -> Option<&Ticket> {
        let place = number.checked_sub(FIRST_NUMBER + self.cleared)?;
        self.tickets.get(usize::try_from(place).ok()?)
    }

    pub(super) fn len(&self) -> usize {
        self.tickets.len()
    }

    /// All tickets, oldest first, as the control API shows them.
    pub(super) fn json(&self) -> Vec<Value> {
        self.tickets.iter().map(Ticket::json).collect()
    }

    /// Forgets all tickets and keys; numbers go on, so that no number ever means two tickets.
    pub(super) fn clear(&mut self) {
        self.cleared = self.made;
        self.tickets.clear();
        self.by_external_id.clear();
        self.keys.clear();
    }
}

fn acceptable(body: &[u8]) -> Result<Value, &'static str> {
    let request: Value = serde_json::from_slice(body).map_err(|_| "the body is not JSON")?;
    if !request.is_object() {
        return Err("the body is not an object");
    }
    match request["subject"].as_str() {
        Some(subject) if !subject.trim().is_empty() => Ok(request),
        _ => Err("subject is required"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(0);

    fn body(external_id: &str) -> Vec<u8> {
        json!({ "external_id": external_id, "subject": "s" }).to_string().into_bytes()
    }

    fn number(made: &Made) -> Option<u64> {
        match made {
            Made::New(ticket) | Made::Again(ticket) => Some(ticket.number),
            Made::KeyReused | Made::Invalid(_) => None,
        }
    }

    #[test]
    fn tickets_are_found_by_number_and_key_also_after_a_clearing() {
        let mut tickets = Tickets::default();
        tickets.create(None, true, &body("a"), NOW, 0);
        tickets.clear();
        tickets.create(None, true, &body("b"), NOW, 0);
        tickets.create(None, true, &body("b"), NOW, 0);
        let found: Vec<_> = tickets.find("b", NOW).map(|ticket| ticket.number).collect();
        assert_eq!(found, [1002, 1003]);
        assert_eq!(tickets.by_number(1003).map(|ticket| ticket.number), Some(1003));
        assert!(tickets.by_number(1001).is_none() && tickets.by_number(1004).is_none());
        assert_eq!(tickets.find("a", NOW).count(), 0);
    }

    #[test]
    fn a_key_makes_one_ticket_and_stays_with_its_body() {
        let mut tickets = Tickets::default();
        assert!(tickets.take("k") && !tickets.take("k"), "a key in hand is not taken twice");
        assert_eq!(number(&tickets.create(Some("k"), true, &body("a"), NOW, 0)), Some(1001));
        assert!(tickets.take("k"));
        assert!(matches!(tickets.create(Some("k"), true, &body("a"), NOW, 0), Made::Again(_)));
        assert!(matches!(tickets.create(Some("k"), true, &body("b"), NOW, 0), Made::KeyReused));
        assert_eq!(number(&tickets.create(Some("k"), false, &body("b"), NOW, 0)), Some(1002));
    }

    #[test]
    fn what_is_no_ticket_is_refused() {
        let mut tickets = Tickets::default();
        for wrong in ["", "[]", "{}", r#"{"subject":" "}"#, r#"{"subject":5}"#] {
            assert!(matches!(tickets.create(Some("k"), true, wrong.as_bytes(), NOW, 0), Made::Invalid(_)), "{wrong}");
        }
        assert_eq!(tickets.len(), 0);
    }
}
