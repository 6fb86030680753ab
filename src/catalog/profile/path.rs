//! Paths into a JSON answer: `result.items[0].id`, `list[*].key`, `custom_fields[id={{ vars.field }}].value`.
//!
//! `$` is the whole answer (some systems answer with a bare number), `[*]` any element of a list or any value of a
//! map (some systems key their lists by id), `["a.b"]` a name with odd characters or values, `[name=value]` the elements whose
//! `name` is that value.

use serde_json::Value as Json;

use super::template::{Place, Scope, Template};

/// One path, parsed when it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath {
    source: String,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Name(String),
    /// A quoted name with values in it.
    Named(Template),
    Index(usize),
    Any,
    Where {
        name: String,
        value: Template,
    },
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// What is wrong with it, for the profile's author.
    pub fn parse(source: &str) -> Result<Self, String> {
        let mut segments = Vec::new();
        let mut rest = source.trim();
        if rest.is_empty() {
            return Err("the path is empty; `$` means the whole answer".to_owned());
        }
        rest = rest.strip_prefix('$').unwrap_or(rest);
        while !rest.is_empty() {
            let (segment, after) = match rest.strip_prefix('[') {
                Some(inside) => bracket(inside)?,
                None => name(rest.strip_prefix('.').unwrap_or(rest))?,
            };
            segments.push(segment);
            rest = after;
        }
        Ok(Self { source: source.to_owned(), segments })
    }

    /// The path as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it leads on from where `other` leads to.
    #[must_use]
    pub fn begins_with(&self, other: &Self) -> bool {
        self.segments.starts_with(&other.segments)
    }

    /// Whether it leads to one value at most, whatever the answer.
    #[must_use]
    pub fn leads_to_one(&self) -> bool {
        !self.segments.iter().any(|segment| matches!(segment, Segment::Any | Segment::Where { .. }))
    }

    /// The templates inside, for the check of names.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Where { value, .. } | Segment::Named(value) => Some(value),
            _ => None,
        })
    }

    /// Everything in `json` the path leads to, in the answer's order; empty where it leads nowhere.
    #[must_use]
    pub fn select<'a>(&self, json: &'a Json, scope: &Scope) -> Vec<&'a Json> {
        let mut found = vec![json];
        for segment in &self.segments {
            found = match segment {
                Segment::Name(name) => found.into_iter().filter_map(|value| value.get(name)).collect(),
                Segment::Named(name) => {
                    let name = name.text(scope).ok();
                    found.into_iter().filter_map(|value| value.get(name.as_deref()?)).collect()
                }
                Segment::Index(at) => found.into_iter().filter_map(|value| value.get(at)).collect(),
                Segment::Any => found.into_iter().flat_map(elements).collect(),
                Segment::Where { name, value } => {
                    // A value that cannot be written equals nothing.
                    let wanted = value.text(scope).ok();
                    let same = |element: &&Json| element.get(name).and_then(scalar) == wanted && wanted.is_some();
                    found.into_iter().flat_map(elements).filter(same).collect()
                }
            };
        }
        found
    }
}

/// A string or a whole number as text: what a CRM's ids and numbers are. Anything else is none.
///
/// Numbers beyond 2^53 keep all their digits; a number with a fraction or an exponent is not an id.
#[must_use]
pub fn scalar(json: &Json) -> Option<String> {
    match json {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

/// The elements of a list, or the values of a map.
fn elements(json: &Json) -> Vec<&Json> {
    match json {
        Json::Array(list) => list.iter().collect(),
        Json::Object(map) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn name(rest: &str) -> Result<(Segment, &str), String> {
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    match rest.split_at(end) {
        ("", _) => Err("a name is missing between two dots".to_owned()),
        (name, after) => Ok((Segment::Name(name.to_owned()), after)),
    }
}

fn bracket(inside: &str) -> Result<(Segment, &str), String> {
    if let Some(quoted) = inside.strip_prefix('"') {
        let (name, after) = quoted.split_once("\"]").ok_or("`[\"` has no `\"]`")?;
        if !name.contains("{{") {
            return Ok((Segment::Name(name.to_owned()), after));
        }
        let name = Template::parse(name, Place::Text).map_err(|bad| bad.0)?;
        return Ok((Segment::Named(name), after));
    }
    let (text, after) = inside.split_once(']').ok_or("`[` has no `]`")?;
    let text = text.trim();
    if text == "*" {
        return Ok((Segment::Any, after));
    }
    if let Some((name, value)) = text.split_once('=') {
        let value = Template::parse(value.trim(), Place::Text).map_err(|bad| bad.0)?;
        return Ok((Segment::Where { name: name.trim().to_owned(), value }, after));
    }
    let at = text.parse().map_err(|_| format!("`[{text}]` is no index, no `*`, no `name=value`"))?;
    Ok((Segment::Index(at), after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_all_shapes_systems_answer_with() {
        let answer = json!({
            "result": {"items": [{"id": 9_007_199_254_740_993_u64}, {"id": "x"}]},
            "issue": {"custom_fields": [{"id": 5, "value": "no"}, {"id": 6, "value": "yes"}]},
            "by_id": {"17": {"n": 1}, "18": {"n": 2}},
            "a.b": {"c d": true},
        });
        let scope = Scope::new(&json!({"vars": {"field": 6, "how": "id"}}));
        let cases = [
            ("result.items[0].id", vec![json!(9_007_199_254_740_993_u64)]),
            ("result.items[*].id", vec![json!(9_007_199_254_740_993_u64), json!("x")]),
            ("issue.custom_fields[id={{ vars.field }}].value", vec![json!("yes")]),
            ("issue.custom_fields[id=7].value", vec![]),
            ("by_id[*].n", vec![json!(1), json!(2)]),
            ("by_id.18.n", vec![json!(2)]),
            ("[\"a.b\"][\"c d\"]", vec![json!(true)]),
            ("$.by_id.17.n", vec![json!(1)]),
            ("nowhere.at.all[3]", vec![]),
            ("[\"by_{{ vars.how }}\"].17.n", vec![json!(1)]),
        ];
        for (source, wanted) in cases {
            let path = JsonPath::parse(source).expect("it parses");
            let found: Vec<_> = path.select(&answer, &scope).into_iter().cloned().collect();
            assert_eq!(found, wanted, "{source}");
        }
        assert_eq!(JsonPath::parse("$").expect("it parses").select(&json!(123), &scope), [&json!(123)]);
    }

    #[test]
    fn only_strings_and_whole_numbers_name_a_ticket() {
        assert_eq!(scalar(&json!(18_446_744_073_709_551_615_u64)).as_deref(), Some("18446744073709551615"));
        assert_eq!(scalar(&json!(-3)).as_deref(), Some("-3"));
        for odd in [json!(1.5), json!(1e30), json!(true), json!(null), json!([1]), json!({})] {
            assert_eq!(scalar(&odd), None, "{odd}");
        }
    }

    #[test]
    fn broken_paths_are_found_when_loading() {
        for source in ["", "a..b", "a[", "a[x]", "a[\"b]", "a[id={{ x]", "."] {
            assert!(JsonPath::parse(source).is_err(), "{source}");
        }
    }
}
