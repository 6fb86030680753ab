//! Faults on order: rules that say which call goes wrong and how. Pure bookkeeping; `stage` acts them out.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What happens to a call that a rule hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Deed {
    /// Carried out, then the connection is closed without an answer.
    LoseAnswer,
    /// The connection is closed, nothing is carried out.
    LoseRequest,
    /// Carried out, half of the answer's body is sent, then the connection is closed.
    HalfAnswer,
    /// Received, but carried out only when released or after `ms`; then answered.
    Hold,
    /// The connection is closed at once; carried out after `ms` or when released.
    Late,
    /// Carried out twice, answered with the second answer.
    Twice,
    /// Carried out, then answered with `status` (500).
    ErrorAfter,
    /// Answered with `status` (500), nothing carried out.
    ErrorBefore,
    /// Waits `ms`, then goes on as usual.
    Delay,
    /// Refused as invalid, nothing carried out.
    Refuse,
    /// Carried out, answered 200 with a page of HTML.
    Junk,
}

/// One fault on order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// `POST /tickets`, `sendMessage`, or `*`; letter case does not matter.
    pub(super) on: String,
    /// The first matching call it hits, counted from the making of the rule; from 1.
    #[serde(default = "one")]
    pub(super) from: u32,
    /// How many calls it hits; 0 means for ever.
    #[serde(default = "one")]
    pub(super) times: u32,
    /// What happens.
    #[serde(rename = "do")]
    pub(super) deed: Deed,
    /// The status of the error deeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    /// Seconds in the `Retry-After` header and in Telegram's `parameters.retry_after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_after: Option<u64>,
    /// The body of the error deeds: text is sent as it is, anything else as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Value>,
    /// Whether the error deeds answer with a page of HTML, as a proxy does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) html: bool,
    /// Milliseconds of the waiting deeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ms: Option<u64>,
}

fn one() -> u32 {
    1
}

impl Rule {
    /// A rule that hits every call until it is removed.
    pub(super) fn sticky(on: &str, deed: Deed) -> Self {
        Self {
            on: on.to_owned(),
            from: 1,
            times: 0,
            deed,
            status: None,
            retry_after: None,
            body: None,
            html: false,
            ms: None,
        }
    }

    fn problem(&self) -> Option<&'static str> {
        if self.on.trim().is_empty() {
            Some("`on` is empty: name a method or a route, or \"*\"")
        } else if self.from == 0 {
            Some("`from` counts calls from 1")
        } else if self.status.is_some_and(|status| !(200..=599).contains(&status)) {
            Some("`status` is an HTTP status from 200 to 599")
        } else if self.deed == Deed::Delay && self.ms.is_none() {
            Some("\"delay\" needs `ms`")
        } else {
            None
        }
    }

    /// A route matches its own name and everything below it: `GET /tickets` also `GET /tickets/1001`.
    fn matches(&self, name: &str) -> bool {
        let on = self.on.trim();
        if on == "*" || on.eq_ignore_ascii_case(name) {
            return true;
        }
        let Some((start, rest)) = name.split_at_checked(on.len()) else { return false };
        start.eq_ignore_ascii_case(on) && rest.starts_with('/')
    }
}

#[derive(Debug)]
struct Kept {
    id: u64,
    /// The page's switch that made it, if one did.
    switch: Option<&'static str>,
    rule: Rule,
    seen: u32,
    hits: u32,
}

impl Kept {
    fn json(&self) -> Value {
        let mut shown = json!(self.rule);
        shown["id"] = json!(self.id);
        shown["seen"] = json!(self.seen);
        shown["hits"] = json!(self.hits);
        if let Some(switch) = self.switch {
            shown["switch"] = json!(switch);
        }
        shown
    }
}

/// The rules of one server, in the order they were made; the first that hits wins.
#[derive(Debug, Default)]
pub(super) struct Plan {
    rules: Vec<Kept>,
    last_id: u64,
}

impl Plan {
    /// Keeps a rule and shows it with its `id`.
    ///
    /// # Errors
    /// In words, if the rule can never mean anything.
    pub(super) fn add(&mut self, rule: Rule, switch: Option<&'static str>) -> Result<Value, String> {
        if let Some(problem) = rule.problem() {
            return Err(format!("the fault rule was not taken: {problem}"));
        }
        self.last_id += 1;
        let kept = Kept { id: self.last_id, switch, rule, seen: 0, hits: 0 };
        let shown = kept.json();
        self.rules.push(kept);
        Ok(shown)
    }

    /// Removes one rule; false if there is none of this id.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        let before = self.rules.len();
        self.rules.retain(|kept| kept.id != id);
        self.rules.len() < before
    }

    /// Removes all rules, those of switches too: they then show "off".
    pub(super) fn clear(&mut self) {
        self.rules.clear();
    }

    /// Removes the rules a switch made.
    pub(super) fn remove_switch(&mut self, name: &str) {
        self.rules.retain(|kept| kept.switch != Some(name));
    }

    /// Whether a switch's rule is in force.
    pub(super) fn has_switch(&self, name: &str) -> bool {
        self.rules.iter().any(|kept| kept.switch == Some(name))
    }

    /// All rules with the calls they saw and hit.
    pub(super) fn json(&self) -> Value {
        json!({ "rules": self.rules.iter().map(Kept::json).collect::<Vec<_>>() })
    }

    /// The rule that hits this call, if any. Every matching rule counts the call, also where an earlier one hits.
    pub(super) fn pick(&mut self, name: &str) -> Option<Rule> {
        let mut hit = None;
        for kept in self.rules.iter_mut().filter(|kept| kept.rule.matches(name)) {
            kept.seen = kept.seen.saturating_add(1);
            let past = kept.seen >= kept.rule.from;
            let left = kept.rule.times == 0 || kept.hits < kept.rule.times;
            if past && left && hit.is_none() {
                kept.hits = kept.hits.saturating_add(1);
                hit = Some(kept.rule.clone());
            }
        }
        hit
    }
}

/// The rules of a request body: one rule, `{"rules": [...]}`, or the bare list.
///
/// # Errors
/// In words, with the place, for anything else.
pub(super) fn read(body: &[u8]) -> Result<(Vec<Rule>, bool), String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Many {
        rules: Vec<Rule>,
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let many = value.is_array() || value.get("rules").is_some();
    let rules = if value.is_array() {
        serde_json::from_value(value)
    } else if many {
        serde_json::from_value::<Many>(value).map(|many| many.rules)
    } else {
        serde_json::from_value::<Rule>(value).map(|rule| vec![rule])
    };
    rules.map(|rules| (rules, many)).map_err(|error| format!("the fault rule was not understood: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        let (rules, _) = read(text.as_bytes()).unwrap();
        rules.into_iter().next().unwrap()
    }

    #[test]
    fn rules_come_one_by_one_or_as_a_list() {
        let one = r#"{"on":"post /tickets","do":"lose_answer"}"#;
        for (body, count, many) in [
            (one.to_owned(), 1, false),
            (format!("[{one},{one}]"), 2, true),
            ("[]".to_owned(), 0, true),
            (format!(r#"{{"rules":[{one}]}}"#), 1, true),
        ] {
            let (rules, is_many) = read(body.as_bytes()).unwrap();
            assert_eq!((rules.len(), is_many), (count, many), "{body}");
        }
        assert!(read(b"[1]").unwrap_err().contains("the fault rule was not understood"));
    }

    #[test]
    fn the_second_and_third_call_are_hit_then_no_more() {
        let mut plan = Plan::default();
        plan.add(rule(r#"{"on":"post /TICKETS","from":2,"times":2,"do":"lose_answer"}"#), None).unwrap();
        let hits: Vec<_> = (0..5).map(|_| plan.pick("POST /tickets").is_some()).collect();
        assert_eq!(hits, [false, true, true, false, false]);
        assert_eq!(plan.json()["rules"][0]["hits"], 2);
        assert_eq!(plan.json()["rules"][0]["seen"], 5);
    }

    #[test]
    fn a_route_hits_what_lies_below_it_and_nothing_beside_it() {
        let get = rule(r#"{"on":"GET /tickets","do":"error_before"}"#);
        assert!(get.matches("GET /tickets") && get.matches("GET /tickets/1001"));
        assert!(!get.matches("GET /ticketsx") && !get.matches("POST /tickets") && !get.matches("GET /тикеты"));
        assert!(rule(r#"{"on":"*","do":"junk"}"#).matches("sendMessage"));
    }

    #[test]
    fn a_rule_that_means_nothing_is_refused_in_words() {
        for (text, word) in [
            (r#"{"on":"","do":"junk"}"#, "`on`"),
            (r#"{"on":"*","do":"junk","from":0}"#, "`from`"),
            (r#"{"on":"*","do":"error_after","status":99}"#, "`status`"),
            (r#"{"on":"*","do":"delay"}"#, "`ms`"),
        ] {
            let refused = Plan::default().add(rule(text), None).unwrap_err();
            assert!(refused.contains(word), "{refused}");
        }
        assert!(read(br#"{"on":"*","do":"explode"}"#).unwrap_err().contains("explode"));
        assert!(read(br#"{"on":"*","do":"junk","tmes":2}"#).unwrap_err().contains("tmes"));
        assert!(read(b"[").unwrap_err().contains("not JSON"));
    }

    #[test]
    fn two_rules_count_the_same_calls_and_the_first_wins() {
        let mut plan = Plan::default();
        plan.add(rule(r#"{"on":"*","do":"junk"}"#), None).unwrap();
        plan.add(rule(r#"{"on":"sendMessage","from":2,"do":"twice"}"#), None).unwrap();
        assert_eq!(plan.pick("sendMessage").unwrap().deed, Deed::Junk);
        assert_eq!(plan.pick("sendmessage").unwrap().deed, Deed::Twice);
        assert!(plan.pick("sendMessage").is_none());
    }
}
