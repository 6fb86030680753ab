//! An answer of the CRM and the questions a profile asks of it. Everything in it is untrusted.

use std::time::Duration;

use serde_json::Value as Json;

use crate::{
    catalog::profile::{
        model::{Same, Source, SourcePlace},
        path::{JsonPath, scalar},
        rule::{Condition, Rule, Subject, Test, Wanted},
        template::Scope,
    },
    clock::http_date,
};

/// A whole answer: status, headers, and the body read to its end.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    body: Vec<u8>,
    json: Option<Json>,
}

impl Answer {
    pub(super) fn new(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Self {
        // Some systems put a byte order mark before their JSON.
        let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&body);
        let json = serde_json::from_slice(text).ok();
        Self { status, headers, body, json }
    }

    /// The body, if it is JSON.
    pub(super) fn json(&self) -> Option<&Json> {
        self.json.as_ref()
    }

    /// What was seen, for the journal: nothing of the body but its kind and size.
    pub(super) fn seen(&self) -> String {
        let kind = match (&self.json, self.body.len()) {
            (_, 0) => "no body".to_owned(),
            (Some(_), bytes) => format!("JSON, {bytes} bytes"),
            (None, bytes) => format!("not JSON, {bytes} bytes"),
        };
        format!("HTTP {} ({kind})", self.status)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first rule that fits.
    pub(super) fn rule<'r>(&self, rules: &'r [Rule], scope: &Scope) -> Option<&'r Rule> {
        rules
            .iter()
            .find(|rule| rule.status.contains(self.status) && rule.conditions.iter().all(|c| self.holds(c, scope)))
    }

    fn holds(&self, condition: &Condition, scope: &Scope) -> bool {
        let body = String::from_utf8_lossy(&self.body);
        match &condition.subject {
            Subject::Body => test_text(&condition.test, &body, scope),
            Subject::Header(name) => match (&condition.test, self.header(name)) {
                (Test::Exists(wanted), found) => *wanted == found.is_some(),
                (test, Some(value)) => test_text(test, value, scope),
                (_, None) => false,
            },
            Subject::Path(path) => {
                let found = self.json().map(|json| path.select(json, scope)).unwrap_or_default();
                match &condition.test {
                    Test::Exists(wanted) => *wanted != found.is_empty(),
                    test => found.iter().any(|value| test_json(test, value, scope)),
                }
            }
        }
    }

    /// The first alternative that gives a text, looking for paths in `node`.
    pub(super) fn first(&self, sources: &[Source], node: Option<&Json>, scope: &Scope) -> Option<String> {
        sources.iter().find_map(|source| {
            let text = match &source.place {
                SourcePlace::Header(name) => self.header(name).map(ToOwned::to_owned),
                SourcePlace::Path(path) => node.and_then(|node| path.select(node, scope).into_iter().find_map(scalar)),
            }?;
            let cut = match &source.regex {
                Some(regex) => regex.cut(&text)?.to_owned(),
                None => text,
            };
            (!cut.is_empty()).then_some(cut)
        })
    }

    /// All texts of the first alternative that gives any, also out of lists and maps, for a message to people.
    pub(super) fn texts(&self, sources: &[Source], scope: &Scope) -> Vec<String> {
        let of = |source: &Source| match &source.place {
            SourcePlace::Path(path) if source.regex.is_none() => {
                let mut texts = Vec::new();
                let found = self.json().map(|json| path.select(json, scope)).unwrap_or_default();
                found.into_iter().for_each(|value| gather(value, &mut texts));
                texts
            }
            _ => self.first(std::slice::from_ref(source), self.json(), scope).into_iter().collect(),
        };
        sources.iter().map(of).find(|texts| !texts.is_empty()).unwrap_or_default()
    }

    /// How long the answer asks to wait: `Retry-After` in seconds or as a date, or what the profile reads.
    ///
    /// A date is compared with the answer's own `Date`, so that no clock of ours takes part.
    pub(super) fn wait(&self, seconds: &[Source], until: &[Source], scope: &Scope) -> Option<Duration> {
        const LONGEST: u64 = 86_400;
        let now = || self.header("date").and_then(http_date);
        let left = |moment: i64| now().map(|now| u64::try_from(moment - now).unwrap_or(0));
        let told = self.header("retry-after").map(str::trim);
        told.and_then(|text| text.parse::<u64>().ok().or_else(|| http_date(text).and_then(left)))
            .or_else(|| self.first(seconds, self.json(), scope)?.trim().parse().ok())
            .or_else(|| self.first(until, self.json(), scope)?.trim().parse().ok().and_then(left))
            .map(|seconds| Duration::from_secs(seconds.min(LONGEST)))
    }
}

/// All texts and numbers below a value, in order.
fn gather(value: &Json, into: &mut Vec<String>) {
    match value {
        Json::Array(list) => list.iter().for_each(|value| gather(value, into)),
        Json::Object(map) => map.values().for_each(|value| gather(value, into)),
        other => into.extend(scalar(other).filter(|text| !text.trim().is_empty())),
    }
}

fn test_text(test: &Test, text: &str, scope: &Scope) -> bool {
    match test {
        Test::Exists(wanted) => *wanted != text.is_empty(),
        Test::Equals(wanted) => equals_text(wanted, text, scope),
        Test::OneOf(list) => list.iter().any(|wanted| equals_text(wanted, text, scope)),
        Test::Matches(pattern) => pattern.fits(text),
        Test::Contains(part) => part.text(scope).is_ok_and(|part| !part.is_empty() && text.contains(&part)),
    }
}

fn equals_text(wanted: &Wanted, text: &str, scope: &Scope) -> bool {
    match wanted {
        Wanted::Text(template) => template.text(scope).is_ok_and(|wanted| wanted == text),
        Wanted::Fixed(value) => {
            let written = value.to_string();
            written == text
        }
    }
}

fn test_json(test: &Test, value: &Json, scope: &Scope) -> bool {
    let same = |wanted: &Wanted| match wanted {
        Wanted::Fixed(fixed) => fixed == value,
        Wanted::Text(_) => scalar(value).is_some_and(|text| equals_text(wanted, &text, scope)),
    };
    match test {
        Test::Equals(wanted) => same(wanted),
        Test::OneOf(list) => list.iter().any(same),
        other => scalar(value).is_some_and(|text| test_text(other, &text, scope)),
    }
}

/// Whether a record holds a text at a path. `None`: it has nothing there at all.
pub(super) fn record_holds(record: &Json, paths: &[JsonPath], wanted: &str, same: Same, scope: &Scope) -> Option<bool> {
    let found: Vec<&Json> = paths.iter().flat_map(|path| path.select(record, scope)).collect();
    let is_same = |text: String| match same {
        Same::Exact => text == wanted,
        Same::IgnoreCase => text.to_lowercase() == wanted.to_lowercase(),
        Same::Contains => text.contains(wanted),
        Same::Digits => last_digits(&text).is_some_and(|digits| Some(digits) == last_digits(wanted)),
    };
    (!found.is_empty()).then(|| found.into_iter().filter_map(scalar).any(is_same))
}

/// Whether a record has the places and nothing in them: a ticket made by hand leaves the key's field empty, which some
/// systems write as `null`, some as an empty text, Odoo as `false`.
pub(super) fn record_is_blank(record: &Json, paths: &[JsonPath], scope: &Scope) -> bool {
    let blank = |value: &Json| value.is_null() || *value == Json::Bool(false) || value.as_str() == Some("");
    paths.iter().flat_map(|path| path.select(record, scope)).all(blank)
}

/// The last ten digits of a telephone number: `+7 999…` and `8 999…` are one. Fewer than seven are no number.
fn last_digits(text: &str) -> Option<String> {
    let digits: Vec<char> = text.chars().filter(char::is_ascii_digit).collect();
    (digits.len() >= 7).then(|| digits.iter().skip(digits.len().saturating_sub(10)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&str, &str)]) -> Answer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Answer::new(429, headers, br#"{"time":{"reset_at":784111800,"wait":"7"}}"#.to_vec())
    }

    fn path(text: &str) -> Vec<Source> {
        vec![Source { place: SourcePlace::Path(JsonPath::parse(text).expect("a path")), regex: None }]
    }

    #[test]
    fn dates_of_http_are_read_and_junk_is_not() {
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date("Mon, 29 Feb 2100 00:00:00 GMT"), http_date("Mon, 01 Mar 2100 00:00:00 GMT"));
        for junk in ["", "soon", "Sun, 06 Nov", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 xx:49:37 GMT"] {
            assert_eq!(http_date(junk), None, "{junk}");
        }
    }

    #[test]
    fn a_wait_is_read_in_every_form_and_capped() {
        let scope = Scope::new(&serde_json::json!({}));
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let seconds = |answer: &Answer| answer.wait(&[], &[], &scope).map(|wait| wait.as_secs());
        assert_eq!(seconds(&answer(&[("retry-after", "120")])), Some(120));
        assert_eq!(seconds(&answer(&[("retry-after", "99999999999")])), Some(86_400));
        assert_eq!(seconds(&answer(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"), date])), Some(60));
        assert_eq!(seconds(&answer(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), date])), Some(0));
        assert_eq!(seconds(&answer(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")])), None);
        assert_eq!(seconds(&answer(&[("retry-after", "-5")])), None);
        let read = answer(&[date]).wait(&path("time.wait"), &[], &scope);
        assert_eq!(read, Some(Duration::from_secs(7)));
        let until = answer(&[date]).wait(&[], &path("time.reset_at"), &scope);
        assert_eq!(until, Some(Duration::from_secs(23)));
    }
}
