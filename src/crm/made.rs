//! What the answers to the steps around a ticket's own request say: records found, made, read again.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value as Json;

use super::{
    answer::{Answer, record_holds},
    clean,
    response::{Reader, records},
};
use crate::{
    catalog::profile::{
        model::{Find, Many, Step},
        path::JsonPath,
        rule::Verdict,
        template::Scope,
    },
    domain::ticket::Ticket,
};

/// What a step before the ticket's came to. Nothing of the ticket has gone out yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    /// What it gives to later steps; nothing where nothing was found.
    Outputs(BTreeMap<String, String>),
    /// Nobody knows what came of it.
    Unsure { detail: String },
    /// Refused for good.
    Refused { message: String },
    /// Not now.
    Later { detail: String, wait: Option<Duration> },
    /// The credentials were refused.
    Auth { detail: String },
    /// Several records fit, and a person has to choose.
    Many { detail: String },
}

impl Reader<'_> {
    /// The record a step looked for; `scope` has the order in it, for what a record must hold.
    pub(super) fn found(&self, step: &Step, find: &Find, answer: &Answer, scope: &Scope) -> Made {
        let (verdict, rule) = self.read_verdict(&step.outcome, answer);
        match verdict {
            Verdict::Answer => {}
            Verdict::NotFound => return Made::Outputs(BTreeMap::new()),
            Verdict::Auth => return Made::Auth { detail: self.message(&step.read, answer) },
            Verdict::Throttled => {
                let wait = rule.and_then(|rule| self.wait(rule, &step.read, answer));
                return Made::Later { detail: format!("{}: throttled", answer.seen()), wait };
            }
            _ => return Made::Unsure { detail: answer.seen() },
        }
        let Some(all) = answer.json().and_then(|json| records(json, find.results.as_ref(), self.scope)) else {
            return Made::Unsure { detail: format!("{}: no list of records", answer.seen()) };
        };
        let fits = |record: &&Json| match &find.matching {
            None => true,
            Some(matching) => matching.equals.text(scope).is_ok_and(|wanted| {
                !wanted.is_empty() && record_holds(record, &matching.path, &wanted, matching.same, scope) == Some(true)
            }),
        };
        let fitting: Vec<&Json> = all.into_iter().filter(fits).collect();
        match (fitting.as_slice(), find.many) {
            ([], _) | ([_, _, ..], Many::None) => Made::Outputs(BTreeMap::new()),
            ([one], _) => self.outputs(step, answer, one),
            ([_, _, ..], Many::Human) => Made::Many {
                detail: format!(
                    "{} records fit step `{}`: merge them, then have the ticket made",
                    fitting.len(),
                    step.name
                ),
            },
            (several, many) => match self.chosen(step, answer, several, many) {
                Some(record) => self.outputs(step, answer, record),
                None => Made::Outputs(BTreeMap::new()),
            },
        }
    }

    /// By number where all ids are numbers, otherwise by the CRM's own order.
    fn chosen<'j>(&self, step: &Step, answer: &Answer, several: &[&'j Json], many: Many) -> Option<&'j Json> {
        let id = |record: &Json| answer.first(&step.read.id, Some(record), self.scope)?.parse::<u128>().ok();
        let numbered: Option<Vec<(u128, &'j Json)>> =
            several.iter().map(|record| Some((id(record)?, *record))).collect();
        match (numbered, many) {
            (Some(all), Many::Oldest) => all.into_iter().min_by_key(|(id, _)| *id).map(|(_, record)| record),
            (Some(all), _) => all.into_iter().max_by_key(|(id, _)| *id).map(|(_, record)| record),
            (None, Many::Oldest) => several.first().copied(),
            (None, _) => several.last().copied(),
        }
    }

    /// What making a record came to.
    pub(super) fn made(&self, step: &Step, answer: &Answer) -> Made {
        let Some(rule) = answer.rule(&step.outcome, self.scope) else {
            return Made::Unsure { detail: format!("{}: no rule of the profile knows this answer", answer.seen()) };
        };
        let wait = || self.wait(rule, &step.read, answer);
        match rule.verdict {
            Verdict::Created | Verdict::Exists => match answer.json() {
                Some(json) => self.outputs(step, answer, json),
                None => self.outputs(step, answer, &Json::Null),
            },
            Verdict::Refused => Made::Refused { message: self.message(&step.read, answer) },
            Verdict::Auth => Made::Auth { detail: self.message(&step.read, answer) },
            Verdict::Throttled | Verdict::NotExecuted | Verdict::InFlight => {
                Made::Later { detail: format!("{}: not now", answer.seen()), wait: wait() }
            }
            _ => Made::Unsure { detail: answer.seen() },
        }
    }

    /// What a request for one file came to; only a profile that needs it reads an id, or the address it can be had from.
    pub(super) fn filed(&self, step: &Step, answer: &Answer, address: bool) -> Made {
        let made = answer.rule(&step.outcome, self.scope).is_some_and(|rule| rule.verdict == Verdict::Created);
        if made && address {
            let url = answer.first(&step.read.url, answer.json(), self.scope).and_then(clean::address);
            return match url {
                Some(url) => Made::Outputs(BTreeMap::from([("id".to_owned(), url)])),
                None => Made::Unsure { detail: format!("{}: the answer names no address of the file", answer.seen()) },
            };
        }
        if made && step.read.id.is_empty() { Made::Outputs(BTreeMap::new()) } else { self.made(step, answer) }
    }

    /// The outputs of a record; one without an id is no record.
    fn outputs(&self, step: &Step, answer: &Answer, record: &Json) -> Made {
        let of = |sources: &[_]| answer.first(sources, Some(record), self.scope).and_then(clean::id);
        let Some(id) = of(&step.read.id) else {
            return Made::Unsure { detail: format!("{}: the answer names no id", answer.seen()) };
        };
        let more = step.outputs.iter().filter_map(|(name, sources)| Some((name.clone(), of(sources)?)));
        Made::Outputs(more.chain([("id".to_owned(), id)]).collect())
    }

    /// The ticket just made, as it was read again.
    pub(super) fn reread(
        &self,
        step: &Step,
        record: Option<&JsonPath>,
        ticket: Option<&Ticket>,
        answer: &Answer,
    ) -> Result<Ticket, String> {
        let unsure = |why: &str| format!("{}: {why}", answer.seen());
        if self.read_verdict(&step.outcome, answer).0 != Verdict::Answer {
            return Err(unsure("not the answer the profile declares"));
        }
        let record = answer.json().and_then(|json| match record {
            Some(path) => path.select(json, self.scope).into_iter().next(),
            None => Some(json),
        });
        let record = record.filter(|record| record.is_object()).ok_or_else(|| unsure("the answer holds no record"))?;
        let known = ticket.ok_or_else(|| unsure("no ticket was made before"))?;
        let read = |sources: &[_]| answer.first(sources, Some(record), self.scope);
        if !step.read.id.is_empty() && read(&step.read.id).as_deref() != Some(known.id.as_str()) {
            return Err(unsure("the answer is about another ticket"));
        }
        let number = read(&step.read.number).filter(|number| clean::is_number(self.profile, number));
        let number = number.ok_or_else(|| unsure("the answer names no ticket number"))?;
        Ok(Ticket { url: self.link(&known.id, &number).or_else(|| known.url.clone()), id: known.id.clone(), number })
    }
}
