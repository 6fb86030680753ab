//! The head of a profile: what it is, what it claims, what the installation must fill in, how fast it may go.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use super::super::{
    model::{
        Budgets, Confidence, Dedupe, Evidence, Expires, Ext, Limits, Meta, Repeat, Secret, Var, VarKind, Verified,
    },
    rule::Pattern,
};
use crate::{
    config::reader::{Item, Section},
    domain::outcome::Promise,
};

/// A name an installation can write as a TOML key and as part of an environment variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

pub(super) fn meta(root: &Section<'_>) -> Option<Meta> {
    let section = root.table_or_empty("profile");
    let name = section.required_string("name", "the file's name without .toml");
    if let Some(bad) = name.as_deref().filter(|name| !is_profile_name(name)) {
        section.error("name", format!("`{bad}` cannot be a profile's name"), "small letters, digits and dashes");
    }
    let system = section.required_string("system", "the product this is for");
    let versions = section.string("versions").unwrap_or_default();
    let profile_version = section.take("profile_version").and_then(|item| edition(&item));
    let words = [("keyed", Promise::Keyed), ("searchable", Promise::Searchable), ("blind", Promise::Blind)];
    let promise = section.one_of("promise", &words);
    if section.take("promise").is_none() {
        section.missing("promise", "keyed, searchable or blind: what makes a repeat harmless");
    }
    let evidence = section.tables("evidence").into_iter().filter_map(evidence).collect();
    let verified = section.table("verified").and_then(verified);
    section.finish();
    Some(Meta { name: name?, system: system?, versions, profile_version, promise: promise?, evidence, verified })
}

/// `3`, `"1.2"`, `"2026-11-30"`.
fn edition(item: &Item<'_>) -> Option<String> {
    let text = item.plain()?;
    let is_one =
        text.chars().any(char::is_alphanumeric) && text.chars().count() <= 40 && !text.contains(char::is_control);
    if !is_one {
        item.error(format!("`{}` is no version", item.label()), "3, \"1.2\", \"2026-11-30\"");
    }
    is_one.then_some(text)
}

fn is_profile_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn evidence(section: Section<'_>) -> Option<Evidence> {
    let claim = telling(&section, "claim", 3, "what is claimed, in one sentence");
    let source = telling(&section, "source", 3, "a page, a repository path, an issue, a measurement");
    let date = date(&section, "date");
    let confidence = section.one_of("confidence", &Confidence::WORDS);
    section.finish();
    Some(Evidence { claim: claim?, source: source?, date: date?, confidence })
}

fn verified(section: Section<'_>) -> Option<Verified> {
    let date = date(&section, "date");
    let against = telling(&section, "against", 2, "product and version it was tried with");
    let by = if section.has("by") { telling(&section, "by", 2, "who tried it: a name, a team") } else { None };
    section.finish();
    Some(Verified { date: date?, against: against?, by })
}

/// A text that says something: with fewer letters and digits than this, one of them a letter, it is a placeholder.
fn telling(section: &Section<'_>, key: &str, least: usize, hint: &str) -> Option<String> {
    let text = section.required_string(key, hint)?;
    let says = text.chars().filter(|letter| letter.is_alphanumeric()).count() >= least;
    let says = says && text.chars().any(char::is_alphabetic);
    if !says {
        section.error(key, format!("`{key}` is `{text}`, which says nothing"), hint);
    }
    says.then_some(text)
}

fn date(section: &Section<'_>, key: &str) -> Option<String> {
    let text = section.required_string(key, "\"YYYY-MM-DD\"")?;
    let is_date = is_date(&text);
    if !is_date {
        section.error(key, format!("`{text}` is no date"), "\"YYYY-MM-DD\"");
    }
    is_date.then_some(text)
}

/// A day of the calendar, written as ISO 8601 has it.
fn is_date(text: &str) -> bool {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(at, b)| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() });
    let part = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    let (year, month, day) = (part(0, 4), part(5, 7), part(8, 10));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    shape && (1..=days).contains(&day)
}

pub(super) fn vars(root: &Section<'_>) -> BTreeMap<String, Var> {
    let section = root.table_or_empty("vars");
    let mut vars = BTreeMap::new();
    for (name, item) in section.items() {
        check_name(&item, &name);
        if let Some(var) = item.section().and_then(var) {
            vars.insert(name, var);
        }
    }
    vars
}

fn check_name(item: &Item<'_>, name: &str) {
    if !is_name(name) {
        item.error(format!("`{name}` cannot be a name here"), "small letters, digits and underscores");
    }
}

fn var(section: Section<'_>) -> Option<Var> {
    let words = [("string", "string"), ("int", "int"), ("url", "url"), ("bool", "bool"), ("enum", "enum")];
    let word = if section.take("type").is_some() { section.one_of("type", &words) } else { Some("string") };
    let choices = section.strings("values");
    let kind = match word? {
        "int" => VarKind::Int,
        "url" => VarKind::Url,
        "bool" => VarKind::Bool,
        "enum" => {
            if choices.as_ref().is_none_or(Vec::is_empty) {
                section.missing("values", "the words to choose from");
            }
            VarKind::Enum(choices.clone().unwrap_or_default())
        }
        _ => VarKind::Text,
    };
    if choices.is_some() && !matches!(word, Some("enum")) {
        section.error(
            "values",
            "only a variable of type enum is one of several words",
            "type = \"enum\", or remove it",
        );
    }
    let default = section.take("default").and_then(|item| text_of(&item));
    let required = section.bool("required").unwrap_or(default.is_none());
    let pattern = section.string("pattern").and_then(|text| match Pattern::whole(&text) {
        Ok(pattern) => Some(pattern),
        Err(why) => {
            section.error("pattern", format!("bad pattern: {why}"), "a regular expression for the whole value");
            None
        }
    });
    let help = section.required_string("help", "what to put there, for the one who installs");
    let var = Var { kind, required, default, pattern, help: help? };
    if let Some(why) = var.default.as_deref().and_then(|text| var.refusal(text)) {
        section.error("default", format!("the default is not allowed: {why}"), "");
    }
    section.finish();
    Some(var)
}

/// A scalar of the file as the text an installation would write.
fn text_of(item: &Item<'_>) -> Option<String> {
    use toml::de::DeValue;
    match item.value()? {
        DeValue::Integer(_) => item.int(i64::MIN..=i64::MAX).map(|number| number.to_string()),
        DeValue::Boolean(on) => Some(on.to_string()),
        _ => item.string(),
    }
}

pub(super) fn secrets(root: &Section<'_>) -> BTreeMap<String, Secret> {
    let section = root.table_or_empty("secrets");
    let mut secrets = BTreeMap::new();
    for (name, item) in section.items() {
        check_name(&item, &name);
        if let Some(section) = item.section() {
            let help = section.required_string("help", "what to put there, for the one who installs");
            let optional = section.bool("optional").unwrap_or(false);
            let jwt = section.one_of("expires", &[("jwt", Expires::Jwt), ("never", Expires::Never)]);
            let after = section.duration("lives", Duration::from_secs(60)..=Duration::from_secs(3_650 * 86_400));
            if after.is_some() && jwt.is_some() {
                section.error("lives", "the secret's end is told in two ways", "either `expires` or `lives`");
            }
            section.finish();
            let expires = after.map(Expires::After).or(jwt).unwrap_or(Expires::Never);
            secrets.insert(name, Secret { help: help.unwrap_or_default(), expires, optional });
        }
    }
    secrets
}

pub(super) fn ext(root: &Section<'_>) -> Ext {
    let section = root.table_or_empty("ext");
    let token_prefix = section.string("token_prefix").unwrap_or_else(|| "z".to_owned());
    if !token_prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        section.error("token_prefix", "a token must stay one word in every search engine", "small letters and digits");
    }
    let max_len = section.int("max_len", 1..=1_000).and_then(|most| usize::try_from(most).ok()).unwrap_or(255);
    section.finish();
    Ext { token_prefix, max_len }
}

pub(super) fn limits(root: &Section<'_>) -> Limits {
    let section = root.table_or_empty("limits");
    let per_second = section.take("per_second").and_then(|item| rate(&item)).unwrap_or(5.0);
    let burst = count(&section, "burst", 1..=10_000).unwrap_or(5);
    let concurrency = count(&section, "concurrency", 1..=1_000).unwrap_or(1);
    let budget = |key, most| count(&section, key, 1..=most);
    let budgets = Budgets {
        per_minute: budget("per_minute", 600_000),
        per_hour: budget("per_hour", 36_000_000),
        per_day: budget("per_day", 864_000_000),
    };
    let given: Vec<_> = budgets.all().collect();
    for pair in given.windows(2) {
        if let [(shorter, _, fewer), (longer, _, more)] = pair
            && more < fewer
        {
            let what =
                format!("{more} in the longer time are fewer than the {fewer} of `{shorter}`, which never counts");
            section.error(longer, what, format!("remove `{shorter}`, or mend one of the two"));
        }
    }
    section.finish();
    Limits { per_second, burst, concurrency, budgets }
}

/// Requests a second, also below one: `0.4`.
fn rate(item: &Item<'_>) -> Option<f64> {
    use toml::de::DeValue;
    let text = match item.value()? {
        DeValue::Integer(number) => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => "",
    };
    let rate = text.parse::<f64>().ok().filter(|rate| (0.001..=10_000.0).contains(rate));
    if rate.is_none() {
        item.error(format!("`{}` must be a number of requests a second", item.label()), "0.001 to 10000");
    }
    rate
}

/// How many requests one counts for in the CRM's own reckoning; one where nothing is said.
pub(super) fn cost(section: &Section<'_>) -> u32 {
    count(section, "cost", 1..=1_000).unwrap_or(1)
}

pub(super) fn count(section: &Section<'_>, key: &str, range: RangeInclusive<i64>) -> Option<u32> {
    section.int(key, range).and_then(|number| u32::try_from(number).ok())
}

pub(super) fn dedupe(root: &Section<'_>) -> Dedupe {
    let section = root.table_or_empty("dedupe");
    let words = [
        ("returns_existing", Repeat::ReturnsExisting),
        ("refused", Repeat::Refused),
        ("updates", Repeat::Updates),
        ("duplicates", Repeat::Duplicates),
    ];
    let repeat = section.one_of("repeat", &words).unwrap_or(Repeat::Duplicates);
    let carrier = section.string("carrier").unwrap_or_default();
    let ttl = section.duration("ttl", Duration::from_secs(1)..=Duration::from_secs(3_650 * 86_400));
    let margin = section.duration("margin", Duration::ZERO..=Duration::from_secs(86_400));
    let margin = margin.unwrap_or(Duration::from_secs(60));
    let server_max = section.duration("server_max", Duration::ZERO..=Duration::from_secs(86_400));
    if ttl.is_some_and(|ttl| ttl <= margin) {
        section.error("ttl", "the key lives no longer than the safety margin", "a longer ttl or a shorter margin");
    }
    section.finish();
    let server_max = server_max.unwrap_or(Duration::from_secs(60));
    Dedupe { repeat, carrier, ttl: ttl.map(|ttl| ttl.saturating_sub(margin)), server_max }
}
