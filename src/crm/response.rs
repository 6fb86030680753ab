//! From an answer to what it proves: pure, by the profile's ordered rules. What no rule knows proves nothing.

use serde_json::Value as Json;

use super::{
    answer::{Answer, record_holds, record_is_blank},
    clean::{self, Origin},
    request,
    scope::{self, Vars},
};
use crate::{
    catalog::profile::{
        model::{Lookup, Match, Profile, Read, Step, StepKind, Unrelated, Verify},
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
        match self.made_ticket(&step.read, answer) {
            Ok(ticket) => Outcome::Created { ticket },
            Err(why) => lost(why),
        }
    }

    /// "Already there" names our ticket only where the answer shows our key beside it.
    fn exists(&self, step: &Step, answer: &Answer) -> Outcome {
        match (self.echo(&step.read, answer), self.made_ticket(&step.read, answer)) {
            (Some(true), Ok(ticket)) => Outcome::Created { ticket },
            _ => Outcome::Exists,
        }
    }

    /// Where a later step reads the number, the answer to the making need not name it.
    fn made_ticket(&self, read: &Read, answer: &Answer) -> Result<Ticket, &'static str> {
        let later = self.profile.steps.iter().any(|step| matches!(step.kind, StepKind::Read { .. }));
        if !later {
            return self.ticket(read, answer, answer.json());
        }
        let id = answer.first(&read.id, answer.json(), self.scope).and_then(clean::id);
        let id = id.ok_or("the answer names no ticket id")?;
        Ok(Ticket { number: id.clone(), url: self.link(&id, &id), id })
    }

    /// Whether the answer gives back our key; `None` if it gives back none.
    pub(super) fn echo(&self, read: &Read, answer: &Answer) -> Option<bool> {
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

    /// How many records a lookup's answer has.
    pub(super) fn count(&self, lookup: &Lookup, answer: &Answer) -> usize {
        answer
            .json()
            .and_then(|json| records(json, lookup.results.as_ref(), self.scope))
            .map_or(0, |records| records.len())
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
            Some(Some(false)) if !self.shows_nothing(verify, record) => Verified::Foreign,
            Some(Some(false)) => Verified::Keyless { ticket },
            // Nothing shows whose it is.
            Some(None) | None => Verified::Exists { ticket },
        }
    }

    /// Whether the key's field is there and empty, as in a ticket that a person made.
    fn shows_nothing(&self, verify: &Verify, record: &Json) -> bool {
        verify.matching.as_ref().is_some_and(|matching| record_is_blank(record, &matching.path, self.scope))
    }

    /// Without rules, 200 is the answer and all else proves nothing.
    pub(super) fn read_verdict<'r>(&self, rules: &'r [Rule], answer: &Answer) -> (Verdict, Option<&'r Rule>) {
        match answer.rule(rules, self.scope) {
            Some(rule) => (rule.verdict, Some(rule)),
            None if rules.is_empty() && answer.status == 200 => (Verdict::Answer, None),
            None => (Verdict::Ambiguous, None),
        }
    }

    /// `None`: the record shows nothing where our key should stand.
    fn is_ours(&self, matching: &Match, record: &Json) -> Option<bool> {
        let wanted = matching.equals.text(self.scope).ok().filter(|wanted| !wanted.is_empty())?;
        record_holds(record, &matching.path, &wanted, matching.same, self.scope)
    }

    fn ticket(&self, read: &Read, answer: &Answer, node: Option<&Json>) -> Result<Ticket, &'static str> {
        let id = answer.first(&read.id, node, self.scope).and_then(clean::id).ok_or("the answer names no ticket id")?;
        let number = if read.number.is_empty() {
            id.clone()
        } else {
            answer.first(&read.number, node, self.scope).ok_or("the answer names no ticket number")?
        };
        if !clean::is_number(self.profile, &number) {
            return Err("the ticket's number is none by the profile's pattern");
        }
        let told = answer.first(&read.url, node, self.scope).and_then(|url| clean::own_url(&url, self.origins));
        let url = told.or_else(|| self.link(&id, &number));
        Ok(Ticket { id, number, url })
    }

    pub(super) fn link(&self, id: &str, number: &str) -> Option<String> {
        let link = self.profile.link.as_ref()?;
        let address = request::address(link, &scope::fixed(self.vars), &scope::link(self.vars, id, number)).ok()?;
        clean::own_url(&address, self.origins)
    }

    /// What the CRM says to people, or at least the status.
    pub(super) fn message(&self, read: &Read, answer: &Answer) -> String {
        let said = clean::message(&answer.texts(&read.message, self.scope).join("; "));
        if said.is_empty() { format!("HTTP {}", answer.status) } else { said }
    }

    pub(super) fn wait(&self, rule: &Rule, read: &Read, answer: &Answer) -> Option<std::time::Duration> {
        answer.wait(&read.wait, &read.wait_until, self.scope).or(rule.wait)
    }
}

/// The records of an answer: a list, or a map of them; without a path the answer is the one record.
pub(super) fn records<'a>(json: &'a Json, results: Option<&JsonPath>, scope: &Scope) -> Option<Vec<&'a Json>> {
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

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::{
        catalog::profile,
        ids::{ExternalKey, Marker},
    };

    /// A system that answers in all the odd ways real ones do.
    const ODD: &str = r#"
        auth.kind = "none"
        number.pattern = "[A-Z]*-?[0-9]{1,20}"
        link.url = "{{ vars.base_url }}/view/{{ id }}?n={{ number }}#t/{{ number }}"
        [profile]
        name = "odd"
        system = "Odd"
        promise = "searchable"
        [vars.base_url]
        type = "url"
        help = "h"
        [vars.field]
        type = "int"
        help = "h"
        [[step]]
        name = "create"
        request = { url = "{{ vars.base_url }}/t", body = { key = "{{ ext.token }}" } }
        [step.read]
        id = ["result.item.id", "result", { header = "Location", regex = "/([0-9]+)$" }, { path = "message", regex = "Existing ID: ([0-9]+)" }]
        echo = ["result.item.fields[id={{ vars.field }}].value", "echo"]
        message = ["error_description", "errors"]
        wait_until = "time.operating_reset_at"
        [[step.outcome]]
        status = "any"
        where = [{ path = "error", in = ["QUERY_LIMIT_EXCEEDED", "OPERATION_TIME_LIMIT"] }]
        is = "throttled"
        wait = "2s"
        [[step.outcome]]
        status = "any"
        where = [{ path = "error", equals = "NOT_DONE" }]
        is = "not_executed"
        [[step.outcome]]
        status = 409
        where = [{ header = "X-Status-Reason", equals = "duplicate" }]
        is = "exists"
        [[step.outcome]]
        status = 409
        where = [{ body_contains = "{{ ext.token }}" }]
        is = "exists"
        [[step.outcome]]
        status = 400
        where = [{ path = "code", equals = 7 }]
        is = "key_mismatch"
        [[step.outcome]]
        status = [200, 400]
        where = [{ path = "error", exists = true }]
        is = "refused"
        [[step.outcome]]
        status = "2xx"
        is = "created"
        [[lookup]]
        name = "direct"
        request = { url = "{{ vars.base_url }}/t/{{ ext.token }}" }
        outcome = [{ status = 200, is = "answer" }, { status = 404, where = [{ path = "error", matches = "(?i)not.found" }], is = "not_found" }]
        match = { path = ["fields[id={{ vars.field }}].value", "origin"], equals = "{{ ext.token }}", ignore_case = true }
        read = { id = "id" }
        [[lookup]]
        name = "search"
        request = { url = "{{ vars.base_url }}/s", query = { q = "{{ ext.token }}" } }
        results = "list"
        unrelated = "ignore"
        match = { path = "origin", equals = "{{ ext.token }}" }
        read = { id = "id", number = "no" }
    "#;

    const TOKEN: &str = "z0000000000000000000000000000002a";

    fn with<T>(check: impl FnOnce(&Reader<'_>) -> T) -> T {
        static PROFILE: LazyLock<Profile> =
            LazyLock::new(|| profile::load("odd.toml", ODD).unwrap_or_else(|problems| panic!("{problems}")).0);
        let profile = &*PROFILE;
        let vars = Vars::from([("base_url".into(), json!("https://crm.ru")), ("field".into(), json!(6))]);
        let key = ExternalKey(Uuid::from_u128(42));
        let scope = scope::find(&vars, &profile.ext, key, &Marker::of(key));
        let keys = scope::writings(&profile.ext, key);
        let origins = [Origin::of("https://crm.ru").expect("an address")];
        check(&Reader { profile, vars: &vars, origins: &origins, scope: &scope, keys: &keys })
    }

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Answer::new(status, headers, body.as_bytes().to_vec())
    }

    fn outcome(status: u16, headers: &[(&str, &str)], body: &str) -> String {
        with(|reader| format!("{:?}", reader.outcome(&reader.profile.steps[0], &answer(status, headers, body))))
    }

    #[test]
    fn a_create_is_read_in_every_shape() {
        let ours = format!(r#"{{"message":"Contact exists. Existing ID: 77","echo":"{TOKEN}"}}"#);
        let location = ("location", "https://crm.ru/t/78");
        let reset = r#"{"error":"OPERATION_TIME_LIMIT","time":{"operating_reset_at":784111800}}"#;
        type Row<'a> = (&'a str, u16, &'a [(&'a str, &'a str)], &'a str, &'a str);
        let cases: [Row<'_>; 20] = [
            ("a bare number", 200, &[], r#"{"result":123}"#, r#"id: "123""#),
            ("a nested id", 200, &[], r#"{"result":{"item":{"id":"L-9"}}}"#, r#"number: "L-9""#),
            ("an id in a header", 201, &[location], "", r#"url: Some("https://crm.ru/view/78?n=78#t/78")"#),
            ("a mark before the JSON", 200, &[], "\u{feff}{\"result\":5}", "Created"),
            (
                "our key in a list of fields",
                200,
                &[],
                &format!(r#"{{"result":{{"item":{{"id":1,"fields":[{{"id":6,"value":"{TOKEN}"}}]}}}}}}"#),
                "Created",
            ),
            (
                "another key in that list",
                200,
                &[],
                r#"{"result":{"item":{"id":1,"fields":[{"id":6,"value":"zz"}]}}}"#,
                "another key",
            ),
            ("an id that is no number", 200, &[], r#"{"result":"DROP TABLE"}"#, "Lost"),
            ("a fraction", 200, &[], r#"{"result":1.5}"#, "Lost"),
            ("an empty id", 200, &[], r#"{"result":""}"#, "Lost"),
            (
                "200 with an error",
                200,
                &[],
                r#"{"error":"ACCESS","error_description":"Access denied."}"#,
                r#"Refused { message: "Access denied." }"#,
            ),
            (
                "an empty error is an error",
                400,
                &[],
                r#"{"error":"","error_description":""}"#,
                r#"Refused { message: "HTTP 400" }"#,
            ),
            (
                "errors in a tree",
                400,
                &[],
                r#"{"error":1,"errors":{"a":["нет темы"],"b":{"c":"плохо"}}}"#,
                r#"Refused { message: "нет темы; плохо" }"#,
            ),
            ("throttled inside 200", 200, &[], r#"{"error":"QUERY_LIMIT_EXCEEDED"}"#, "wait: Some(2s)"),
            ("throttled until a moment", 429, &[("date", "Sun, 06 Nov 1994 08:49:37 GMT")], reset, "wait: Some(23s)"),
            ("not done", 500, &[], r#"{"error":"NOT_DONE"}"#, "NotSent"),
            ("a duplicate of somebody", 409, &[("x-status-reason", "duplicate")], r#"[{"id":1}]"#, "Exists"),
            ("ours exists and is named", 409, &[], &ours, r#"Created { ticket: Ticket { id: "77""#),
            ("a conflict without our key", 409, &[], r#"{"message":"Existing ID: 77"}"#, "Lost"),
            ("the key with another content", 400, &[], r#"{"code":7,"error":"x"}"#, "Lost"),
            ("nobody's status", 302, &[location], r#"{"result":1}"#, "Lost"),
        ];
        for (name, status, headers, body, wanted) in cases {
            let said = outcome(status, headers, body);
            assert!(said.contains(wanted), "{name}: {said}");
        }
    }

    #[test]
    fn a_lookup_is_read_in_every_shape() {
        let look = |at: usize, status, body: &str| {
            with(|reader| format!("{:?}", reader.look(&reader.profile.lookups[at], &answer(status, &[], body))))
        };
        let direct = format!(r#"{{"id":7,"fields":[{{"id":6,"value":"{}"}}]}}"#, TOKEN.to_uppercase());
        let hit = format!(r#"{{"id":"10","no":10,"origin":"{TOKEN}"}}"#);
        let cases: [(&str, usize, u16, String, &str); 13] = [
            ("a direct read, case changed", 0, 200, direct, "Found"),
            ("a direct read, not found", 0, 404, r#"{"error":"Not found"}"#.into(), "Missed"),
            ("a 404 of somebody else", 0, 404, "<html>".into(), "Unsure"),
            ("a direct read of another", 0, 200, r#"{"id":7,"origin":"other"}"#.into(), "Unsure"),
            ("a direct read of a list", 0, 200, "[]".into(), "Unsure"),
            ("a list", 1, 200, format!(r#"{{"list":[{hit}]}}"#), "Found"),
            ("a map by id", 1, 200, format!(r#"{{"list":{{"10":{hit},"total_count":1}}}}"#), "Found"),
            ("an empty map", 1, 200, r#"{"list":{}}"#.into(), "Missed"),
            ("a word search with others", 1, 200, r#"{"list":[{"id":1,"no":1,"origin":"x"}]}"#.into(), "Missed"),
            ("a null where the key stands", 1, 200, r#"{"list":[{"id":1,"no":1,"origin":null}]}"#.into(), "Missed"),
            ("a record that hides the key", 1, 200, r#"{"list":[{"id":1,"no":1}]}"#.into(), "Unsure"),
            ("no list", 1, 200, r#"{"error":"x"}"#.into(), "Unsure"),
            ("a list that is a text", 1, 200, r#"{"list":"none"}"#.into(), "Unsure"),
        ];
        for (name, at, status, body, wanted) in cases {
            let said = look(at, status, &body);
            assert!(said.starts_with(wanted), "{name}: {said}");
        }
    }

    #[test]
    fn the_same_ticket_twice_in_a_list_is_one_ticket() {
        let hit = |id: &str| format!(r#"{{"id":"{id}","no":"{id}","origin":"{TOKEN}"}}"#);
        let body = format!(r#"{{"list":[{},{},{}]}}"#, hit("100"), hit("9"), hit("100"));
        let Look::Found { tickets } = with(|reader| reader.look(&reader.profile.lookups[1], &answer(200, &[], &body)))
        else {
            panic!("found")
        };
        assert_eq!(tickets.iter().map(|ticket| ticket.id.as_str()).collect::<Vec<_>>(), ["9", "100"]);
    }

    proptest::proptest! {
        #[test]
        fn no_answer_whatsoever_breaks_the_reader(status in 0_u16..700, body in ".*", wrap in 0_u8..3) {
            let body = match wrap {
                0 => body,
                1 => json!({"result": body, "error": body, "list": [body]}).to_string(),
                _ => json!([{"list": {"a": {"origin": body}}}]).to_string(),
            };
            with(|reader| {
                let answer = answer(status, &[("retry-after", &body), ("date", &body)], &body);
                let _ = reader.outcome(&reader.profile.steps[0], &answer);
                for lookup in &reader.profile.lookups {
                    let found = matches!(reader.look(lookup, &answer), Look::Found { .. });
                    assert!(!found);
                }
            });
        }
    }
}
