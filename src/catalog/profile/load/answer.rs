//! The reading half of a profile: where an answer holds what we need, and the ordered rules for what it means.

use serde_json::Value as Json;
use std::time::Duration;
use toml::de::DeValue;

use super::{
    super::{
        model::{Match, Read, Same, Source, SourcePlace},
        path::JsonPath,
        reach::{self, Dead},
        rule::{Condition, Pattern, Rule, StatusSet, Subject, Test, Verdict, Wanted},
        template::Place,
    },
    meta,
    names::{Names, Use},
};
use crate::config::reader::{Item, Section};

/// The longest a fixed wait may be.
const LONGEST_WAIT: Duration = Duration::from_secs(86_400);

pub(super) fn read(parent: &Section<'_>, names: &Names, purpose: Use) -> Read {
    let Some(section) = parent.table("read") else { return Read::default() };
    let list = |key: &str| section.take(key).map(|item| sources(item, names, purpose)).unwrap_or_default();
    let read = Read {
        id: list("id"),
        number: list("number"),
        url: list("url"),
        echo: list("echo"),
        message: list("message"),
        wait: list("wait"),
        wait_until: list("wait_until"),
    };
    section.finish();
    read
}

/// Alternatives; one path alone may be written without brackets.
pub(super) fn sources(item: Item<'_>, names: &Names, purpose: Use) -> Vec<Source> {
    let items = if matches!(item.value(), Some(DeValue::Array(_))) { item.items() } else { Some(vec![item]) };
    items.unwrap_or_default().iter().filter_map(|item| source(item, names, purpose)).collect()
}

/// What a step gives to later ones, beside `id`.
pub(super) fn outputs(parent: &Section<'_>, names: &Names) -> Vec<(String, Vec<Source>)> {
    let Some(section) = parent.table("outputs") else { return Vec::new() };
    let outputs = section.items().into_iter().map(|(name, item)| {
        if !meta::is_name(&name) {
            item.error(format!("`{name}` cannot be an output's name"), "small letters, digits and underscores");
        }
        (name, sources(item, names, Use::Find))
    });
    let outputs = outputs.collect();
    section.finish();
    outputs
}

fn source(item: &Item<'_>, names: &Names, purpose: Use) -> Option<Source> {
    if matches!(item.value(), Some(DeValue::String(_))) {
        return Some(Source { place: SourcePlace::Path(path(item, names, purpose)?), regex: None });
    }
    let section = item.section()?;
    let place = place(&section, names, purpose);
    let regex = section.take("regex").map(|item| pattern(&item));
    section.finish();
    let regex = match regex {
        Some(read) => Some(read?),
        None => None,
    };
    Some(Source { place: place?, regex })
}

fn place(section: &Section<'_>, names: &Names, purpose: Use) -> Option<SourcePlace> {
    match (section.take("path"), section.take("header")) {
        (Some(item), None) => path(&item, names, purpose).map(SourcePlace::Path),
        (None, Some(item)) => item.string().map(|name| SourcePlace::Header(name.to_ascii_lowercase())),
        (None, None) => {
            section.missing("path", "either `path` or `header`");
            None
        }
        (Some(_), Some(item)) => {
            item.error("either `path` or `header`, not both", "two sources are two entries of the list");
            None
        }
    }
}

pub(super) fn path(item: &Item<'_>, names: &Names, purpose: Use) -> Option<JsonPath> {
    let text = item.string()?;
    match JsonPath::parse(&text) {
        Ok(path) => {
            path.templates().for_each(|template| names.check(item, template, purpose));
            Some(path)
        }
        Err(why) => {
            item.error(format!("`{}` is no path: {why}", item.label()), "such as `result.items[0].id`");
            None
        }
    }
}

fn pattern(item: &Item<'_>) -> Option<Pattern> {
    Pattern::anywhere(&item.string()?)
        .map_err(|why| item.error(format!("bad pattern: {why}"), "a regular expression"))
        .ok()
}

pub(super) fn rules(parent: &Section<'_>, names: &Names, purpose: Use, words: &[(&str, Verdict)]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for section in parent.tables("outcome") {
        let status = statuses(&section);
        let conditions: Vec<Condition> =
            section.tables("where").into_iter().filter_map(|section| condition(section, names, purpose)).collect();
        let verdict = section.one_of("is", words);
        if section.take("is").is_none() {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            section.missing("is", words.join(", "));
        }
        let wait = section.duration("wait", Duration::ZERO..=LONGEST_WAIT);
        if let Some((status, verdict)) = status.zip(verdict) {
            let rule = Rule { status, conditions, verdict, wait };
            check_reachable(&section, &rules, &rule);
            rules.push(rule);
        }
        section.finish();
    }
    rules
}

/// Answers that mean "the session has ended, nothing was done": after one of them the request goes again.
pub(super) fn endings(parent: &Section<'_>, names: &Names) -> Vec<Rule> {
    let mut rules = Vec::new();
    for section in parent.tables("relogin_on") {
        let status = statuses(&section);
        let conditions: Vec<Condition> =
            section.tables("where").into_iter().filter_map(|section| condition(section, names, Use::Fixed)).collect();
        if let Some(status) = status {
            // Words of the CRM prove that nothing was done; a status alone does so only where it says who asks.
            if conditions.is_empty() && !(100..=599).all(|code| !status.contains(code) || code == 401) {
                let hint = "where = [{ path = \"error.code\", equals = \"session_expired\" }]";
                section.error("status", "this status alone does not prove that the session has ended", hint);
            }
            rules.push(Rule { status, conditions, verdict: Verdict::Auth, wait: None });
        }
        section.finish();
    }
    rules
}

fn check_reachable(section: &Section<'_>, earlier: &[Rule], rule: &Rule) {
    let (what, hint) = match reach::dead(earlier, rule) {
        None => return,
        Some(Dead::Taken) => (
            "this rule is never reached: earlier ones take all its answers",
            "the first rule that fits counts: put the narrower one first",
        ),
        Some(Dead::Never) => (
            "no answer can ever fit this rule: its conditions exclude each other, or one of them holds of nothing",
            "mend the conditions in `where`, or remove the rule",
        ),
    };
    section.document().error_at(section.span(), what, hint);
}

/// `201`, `"2xx"`, `"500-504"`, `"any"`, or a list of these.
fn statuses(section: &Section<'_>) -> Option<StatusSet> {
    let Some(item) = section.take("status") else {
        section.missing("status", "a status, a list of them, \"2xx\", \"500-504\" or \"any\"");
        return None;
    };
    let items = if matches!(item.value(), Some(DeValue::Array(_))) { item.items()? } else { vec![item.clone()] };
    let mut set = StatusSet::empty();
    for item in &items {
        let range = match item.value() {
            Some(DeValue::Integer(_)) => item.int(100..=599).and_then(|n| u16::try_from(n).ok()).map(|n| (n, n)),
            _ => item.string().and_then(|text| {
                let range = status_range(&text);
                if range.is_none() {
                    item.error(format!("`{text}` is no status"), "201, \"2xx\", \"500-504\", \"any\"");
                }
                range
            }),
        };
        if let Some((from, to)) = range {
            set.insert(from, to);
        }
    }
    (!set.is_empty()).then_some(set)
}

fn status_range(text: &str) -> Option<(u16, u16)> {
    if text == "any" {
        return Some((100, 599));
    }
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some((class * 100, class * 100 + 99));
    }
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let range = (from.parse().ok()?, to.parse().ok()?);
    (100 <= range.0 && range.0 <= range.1 && range.1 <= 599).then_some(range)
}

fn condition(section: Section<'_>, names: &Names, purpose: Use) -> Option<Condition> {
    let subject = if let Some(item) = section.take("body_contains") {
        let text = names.template(&item, Place::Text, purpose);
        section.finish();
        return Some(Condition { subject: Subject::Body, test: Test::Contains(text?) });
    } else {
        match place(&section, names, purpose) {
            Some(SourcePlace::Path(path)) => Some(Subject::Path(path)),
            Some(SourcePlace::Header(name)) => Some(Subject::Header(name)),
            None => None,
        }
    };
    let mut tests = Vec::new();
    if let Some(on) = section.bool("exists") {
        tests.push(Test::Exists(on));
    }
    if let Some(item) = section.take("equals") {
        tests.extend(wanted(&item, names, purpose).map(Test::Equals));
    }
    if let Some(items) = section.take("in").and_then(|item| item.items()) {
        tests.push(Test::OneOf(items.iter().filter_map(|item| wanted(item, names, purpose)).collect()));
    }
    if let Some(item) = section.take("matches") {
        tests.extend(pattern(&item).map(Test::Matches));
    }
    if let Some(item) = section.take("contains") {
        tests.extend(names.template(&item, Place::Text, purpose).map(Test::Contains));
    }
    if tests.len() != 1 {
        let hint = "one of `exists`, `equals`, `in`, `matches`, `contains`";
        section.document().error_at(section.span(), "a condition holds exactly one test", hint);
    }
    section.finish();
    Some(Condition { subject: subject?, test: tests.into_iter().next()? })
}

fn wanted(item: &Item<'_>, names: &Names, purpose: Use) -> Option<Wanted> {
    match item.value()? {
        DeValue::Boolean(on) => Some(Wanted::Fixed(Json::Bool(*on))),
        DeValue::Integer(_) => item.int(i64::MIN..=i64::MAX).map(|number| Wanted::Fixed(Json::from(number))),
        _ => names.template(item, Place::Text, purpose).map(Wanted::Text),
    }
}

pub(super) fn matching(parent: &Section<'_>, names: &Names, purpose: Use) -> Option<Match> {
    let section = parent.table("match")?;
    let paths = match section.take("path") {
        None => {
            section.missing("path", "where a record holds our key");
            Vec::new()
        }
        Some(item) if matches!(item.value(), Some(DeValue::Array(_))) => item.items().unwrap_or_default(),
        Some(item) => vec![item],
    };
    if paths.is_empty() && section.has("path") {
        section.error("path", "no place is named where a record holds our key", "path = \"external_id\"");
    }
    let path: Vec<JsonPath> = paths.iter().filter_map(|item| path(item, names, purpose)).collect();
    let item = section.take("equals");
    if item.is_none() {
        section.missing("equals", "\"{{ ext.uuid }}\" or \"{{ ext.token }}\": our key as it was sent");
    }
    let equals = item.and_then(|item| {
        let equals = names.template(&item, Place::Text, purpose)?;
        if purpose != Use::Create && !equals.names().iter().any(|name| name.starts_with("ext.")) {
            item.error("a match that does not hold our key matches anybody's record", "use ext.uuid or ext.token");
        }
        Some(equals)
    });
    let ways = [("ignore_case", Same::IgnoreCase), ("digits", Same::Digits), ("contains", Same::Contains)];
    let mut same = ways.into_iter().filter(|(key, _)| section.bool(key).unwrap_or(false)).map(|(_, same)| same);
    let (first, second) = (same.next(), same.next());
    if second.is_some() {
        section.error("path", "one way of comparing, not several", "`ignore_case`, `digits` or `contains`");
    }
    let same = first.unwrap_or(Same::Exact);
    section.finish();
    (!path.is_empty()).then_some(Match { path, equals: equals?, same })
}
