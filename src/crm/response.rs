//! From an answer to what it proves: pure, by the profile's ordered rules. What no rule knows proves nothing.

use serde_json::Value as Json;

use super::{
    answer::{Answer, record_holds},
    clean::{self, Origin},
    request,
    scope::{self, Vars},
};
use crate::{
    catalog::profile::{
        model::{Lookup, Match, Profile, Read, Step, Unrelated, Verify},
        path::JsonPath,
        rule::{Rule, Verdict},
        template::Scope,
    },
    domain::{
        outcome::{Look, Outcome, Verified},
        ticket::Ticket,
    },
};

/// What reading an answer needs besides the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) profile: &'a Profile,
    pub(super) vars: &'a Vars,
    /// Where links may lead.
    pub(super) origins: &'a [Origin],
    /// Our key and marker, for rules and matches.
    pub(super) scope: &'a Scope,
    /// Our key as texts a CRM may give back: every writing of it.
    pub(super) keys: &'a [String],
}

impl Reader<'_> {
    /// What the answer to a create proves.
    pub(super) fn outcome(&self, step: &Step, answer: &Answer) -> Outcome {
        let Some(rule) = answer.rule(&step.outcome, self.scope) else {
            return Outcome::Lost { detail: format!("{}: no rule of the profile knows this answer", answer.seen()) };
        };
        let wait = || self.wait(rule, &step.read, answer);
        match rule.verdict {
            Verdict::Created => self.created(step, answer),
            Verdict::Exists => self.exists(step, answer),
            Verdict::InFlight => Outcome::InFlight { wait: wait() },
            Verdict::Refused => Outcome::Refused { message: self.message(&step.read, answer) },
            Verdict::Auth => Outcome::AuthRefused { detail: self.message(&step.read, answer) },
            Verdict::Throttled => Outcome::NotSent { detail: format!("{}: throttled", answer.seen()), wait: wait() },
            Verdict::NotExecuted => {
                Outcome::NotSent { detail: format!("{}: not executed", answer.seen()), wait: wait() }
            }
            Verdict::KeyMismatch => {
                Outcome::Lost { detail: format!("{}: the key was used with another content before", answer.seen()) }
            }
            Verdict::Ambiguous | Verdict::Answer | Verdict::NotFound => Outcome::Lost { detail: answer.seen() },
        }
    }

    /// A success is believed only if it names a ticket, and not one under another key.
    fn created(&self, step: &Step, answer: &Answer) -> Outcome {
        let lost = |why: &str| Outcome::Lost { detail: format!("{}: {why}", answer.seen()) };
        if self.echo(&step.read, answer) == Some(false) {
            return lost("the answer carries another key than ours");
        }
        match self.ticket(&step.read, answer, answer.json()) {
            Ok(ticket) => Outcome::Created { ticket },
            Err(why) => lost(why),
        }
    }

    /// "Already there" names our ticket only where the answer shows our key beside it.
    fn exists(&self, step: &Step, answer: &Answer) -> Outcome {
        match (self.echo(&step.read, answer), self.ticket(&step.read, answer, answer.json())) {
            (Some(true), Ok(ticket)) => Outcome::Created { ticket },
            _ => Outcome::Exists,
        }
    }

    /// Whether the answer gives back our key; `None` if it gives back none.
    fn echo(&self, read: &Read, answer: &Answer) -> Option<bool> {
        let echo = answer.first(&read.echo, answer.json(), self.scope)?;
        Some(self.keys.iter().any(|key| key.eq_ignore_ascii_case(&echo)))
    }

    /// What a lookup's answer proves.
    pub(super) fn look(&self, lookup: &Lookup, answer: &Answer) -> Look {
        let unsure = |why: &str, wait| Look::Unsure {
            detail: format!("lookup `{}`: {}: {why}", lookup.name, answer.seen()),
            wait,
        };
        match self.read_verdict(&lookup.outcome, answer) {
            (Verdict::Answer, _) => {}
            (Verdict::NotFound, _) => return Look::Missed,
            (Verdict::Auth, _) => return unsure("the CRM does not accept our credentials", None),
            (Verdict::Throttled, rule) => {
                return unsure("throttled", rule.and_then(|rule| self.wait(rule, &lookup.read, answer)));
            }
            _ => return unsure("not the answer the profile declares", None),
        }
        let Some(records) = answer.json().and_then(|json| records(json, lookup.results.as_ref(), self.scope)) else {
            return unsure("the answer holds no list of records", None);
        };
        let (mut ours, mut others, mut unmarked) = (Vec::new(), 0_usize, 0_usize);
        for record in records {
            match self.is_ours(&lookup.matching, record) {
                Some(true) => ours.push(record),
                Some(false) => others += 1,
                None => unmarked += 1,
            }
        }
        if ours.is_empty() {
            return match (unmarked, others, lookup.unrelated) {
                (0, 0, _) | (0, _, Unrelated::Ignore) => Look::Missed,
                (0, _, Unrelated::Unsure) => unsure("records of others came: the CRM ignored our filter", None),
                _ => unsure("records came that do not show the field with our key", None),
            };
        }
        let tickets: Result<Vec<Ticket>, &str> =
            ours.into_iter().map(|record| self.ticket(&lookup.read, answer, Some(record))).collect();
        match tickets {
            Ok(tickets) => Look::Found { tickets: oldest_first(tickets) },
            Err(why) => unsure(why, None),
        }
    }

    /// What the CRM says of one ticket asked for by number.
    pub(super) fn verified(&self, verify: &Verify, number: &str, answer: &Answer) -> Verified {
        let unsure = |why: &str| Verified::Unsure { detail: format!("{}: {why}", answer.seen()) };
        match self.read_verdict(&verify.outcome, answer).0 {
            Verdict::Answer => {}
            Verdict::NotFound => return Verified::Absent,
            Verdict::Auth => return unsure("the CRM does not accept our credentials"),
            Verdict::Throttled => return unsure("throttled"),
            _ => return unsure("not the answer the profile declares"),
        }
        let record = answer.json().and_then(|json| match &verify.record {
            Some(path) => path.select(json, self.scope).into_iter().next(),
            None => Some(json),
        });
        let Some(record) = record.filter(|record| record.is_object()) else {
            return unsure("the answer holds no record");
        };
        let ticket = match self.ticket(&verify.read, answer, Some(record)) {
            Ok(ticket) => ticket,
            Err(why) => return unsure(why),
        };
        if ticket.number != number && ticket.id != number {
            return unsure("the answer is about another ticket");
        }
        match verify.matching.as_ref().map(|matching| self.is_ours(matching, record)) {
            Some(Some(true)) => Verified::Ours { ticket },
            Some(Some(false)) => Verified::Foreign,
            // Nothing shows whose it is.
            Some(None) | None => Verified::Exists { ticket },
        }
    }

    /// Without rules, 200 is the answer and all else proves nothing.
    fn read_verdict<'r>(&self, rules: &'r [Rule], answer: &Answer) -> (Verdict, Option<&'r Rule>) {
        match answer.rule(rules, self.scope) {
            Some(rule) => (rule.verdict, Some(rule)),
            None if rules.is_empty() && answer.status == 200 => (Verdict::Answer, None),
            None => (Verdict::Ambiguous, None),
        }
    }

    /// `None`: the record shows nothing where our key should stand.
    fn is_ours(&self, matching: &Match, record: &Json) -> Option<bool> {
        let wanted = matching.equals.text(self.scope).ok().filter(|wanted| !wanted.is_empty())?;
        record_holds(record, &matching.path, &wanted, matching.ignore_case, self.scope)
    }

    fn ticket(&self, read: &Read, answer: &Answer, node: Option<&Json>) -> Result<Ticket, &'static str> {
        let id = answer.first(&read.id, node, self.scope).and_then(clean::id).ok_or("the answer names no ticket id")?;
        let number = if read.number.is_empty() {
            id.clone()
        } else {
            answer.first(&read.number, node, self.scope).ok_or("the answer names no ticket number")?
        };
        if !self.profile.number.fits(&number) {
            return Err("the ticket's number is none by the profile's pattern");
        }
        let told = answer.first(&read.url, node, self.scope).and_then(|url| clean::own_url(&url, self.origins));
        let url = told.or_else(|| self.link(&id, &number));
        Ok(Ticket { id, number, url })
    }

    fn link(&self, id: &str, number: &str) -> Option<String> {
        let link = self.profile.link.as_ref()?;
        let address = request::address(link, &scope::fixed(self.vars), &scope::link(self.vars, id, number)).ok()?;
        clean::own_url(&address, self.origins)
    }

    /// What the CRM says to people, or at least the status.
    fn message(&self, read: &Read, answer: &Answer) -> String {
        let said = clean::message(&answer.texts(&read.message, self.scope).join("; "));
        if said.is_empty() { format!("HTTP {}", answer.status) } else { said }
    }

    fn wait(&self, rule: &Rule, read: &Read, answer: &Answer) -> Option<std::time::Duration> {
        answer.wait(&read.wait, &read.wait_until, self.scope).or(rule.wait)
    }
}

/// The records of an answer: a list, or a map of them; without a path the answer is the one record.
fn records<'a>(json: &'a Json, results: Option<&JsonPath>, scope: &Scope) -> Option<Vec<&'a Json>> {
    let Some(path) = results else {
        return json.is_object().then(|| vec![json]);
    };
    match path.select(json, scope).into_iter().next()? {
        Json::Array(list) => Some(list.iter().collect()),
        // Some systems key their records by id, and send an empty list for none.
        Json::Object(map) => Some(map.values().filter(|value| value.is_object()).collect()),
        _ => None,
    }
}

/// By number where all ids are numbers; otherwise the CRM's own order stays.
fn oldest_first(mut tickets: Vec<Ticket>) -> Vec<Ticket> {
    let number = |ticket: &Ticket| ticket.id.parse::<u128>().ok();
    if tickets.iter().all(|ticket| number(ticket).is_some()) {
        tickets.sort_by_key(number);
    }
    tickets.dedup_by(|a, b| a.id == b.id);
    tickets
}
