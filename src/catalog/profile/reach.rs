//! Which rule of an ordered list can ever be the first that fits. What is found here is certain: a rule is called
//! unreachable only where its own conditions say so, whatever an answer may look like.

use super::rule::{Condition, Rule, StatusSet, Subject, Test, Wanted};

/// Why a rule can never decide anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dead {
    /// Every answer it fits is taken by rules before it.
    Taken,
    /// No answer fits it: its own conditions exclude each other, or one of them can hold of nothing.
    Never,
}

/// Whether a rule can be reached behind these earlier ones.
pub(super) fn dead(earlier: &[Rule], rule: &Rule) -> Option<Dead> {
    if rule.conditions.iter().any(holds_never) || excludes_itself(&rule.conditions) {
        return Some(Dead::Never);
    }
    // What is left of each earlier rule for answers that this one fits.
    let left: Vec<(&StatusSet, Vec<&Condition>)> = earlier
        .iter()
        .map(|earlier| {
            let open = earlier.conditions.iter().filter(|held| !rule.conditions.iter().any(|own| implies(own, held)));
            (&earlier.status, open.collect())
        })
        .collect();
    let mut taken = StatusSet::empty();
    for (at, (status, open)) in left.iter().enumerate() {
        match open.as_slice() {
            [] => taken = taken.union(status),
            // "It is there" and "it is not there" take all answers between them.
            [one] => {
                for (other_status, other) in left.iter().take(at) {
                    if matches!(other.as_slice(), [other] if are_opposites(one, other)) {
                        taken = taken.union(&status.intersection(other_status));
                    }
                }
            }
            _ => {}
        }
    }
    taken.covers(&rule.status).then_some(Dead::Taken)
}

fn holds_never(condition: &Condition) -> bool {
    match &condition.test {
        Test::OneOf(list) => list.is_empty(),
        Test::Contains(part) => part.literal() == Some(""),
        _ => false,
    }
}

fn excludes_itself(conditions: &[Condition]) -> bool {
    let needs = |condition: &Condition| condition.test != Test::Exists(false);
    conditions
        .iter()
        .filter(|absent| !needs(absent))
        .any(|absent| conditions.iter().any(|other| needs(other) && is_within(&other.subject, &absent.subject)))
}

fn are_opposites(one: &Condition, other: &Condition) -> bool {
    let there = |condition: &Condition| match condition.test {
        Test::Exists(there) => Some(there),
        _ => None,
    };
    one.subject == other.subject && there(one).zip(there(other)).is_some_and(|(one, other)| one != other)
}

/// Whether `inner` is `outer` or stands inside of it: where there is something at `a.b`, there is something at `a`.
fn is_within(inner: &Subject, outer: &Subject) -> bool {
    match (inner, outer) {
        (Subject::Path(inner), Subject::Path(outer)) => inner.begins_with(outer),
        _ => inner == outer,
    }
}

/// Whether `other` holds of every answer that `one` holds of.
fn implies(one: &Condition, other: &Condition) -> bool {
    if one == other {
        return true;
    }
    match (&one.test, &other.test) {
        (Test::Exists(false), Test::Exists(false)) => is_within(&other.subject, &one.subject),
        (Test::Exists(false), _) | (_, Test::Exists(false)) => false,
        (_, Test::Exists(true)) => is_within(&one.subject, &other.subject),
        (one_test, other_test) if one.subject == other.subject => test_implies(one_test, other_test),
        _ => false,
    }
}

fn test_implies(one: &Test, other: &Test) -> bool {
    match one {
        Test::Equals(wanted) => value_fits(wanted, other),
        Test::OneOf(list) => !list.is_empty() && list.iter().all(|wanted| value_fits(wanted, other)),
        Test::Contains(part) => match other {
            Test::Contains(smaller) => match (part.literal(), smaller.literal()) {
                (Some(part), Some(smaller)) => !smaller.is_empty() && part.contains(smaller),
                _ => false,
            },
            _ => false,
        },
        Test::Exists(_) | Test::Matches(_) => false,
    }
}

/// Whether a value that equals `wanted` passes the test.
fn value_fits(wanted: &Wanted, test: &Test) -> bool {
    let text = match wanted {
        Wanted::Text(template) => template.literal().map(ToOwned::to_owned),
        Wanted::Fixed(value) => value.is_i64().then(|| value.to_string()),
    };
    match test {
        Test::Equals(other) => wanted == other,
        Test::OneOf(list) => list.contains(wanted),
        Test::Matches(pattern) => text.is_some_and(|text| pattern.fits(&text)),
        Test::Contains(part) => {
            let part = part.literal().filter(|part| !part.is_empty());
            text.zip(part).is_some_and(|(text, part)| text.contains(part))
        }
        Test::Exists(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::profile::{
        path::JsonPath,
        rule::{Pattern, Verdict},
        template::{Place, Template},
    };

    fn text(text: &str) -> Template {
        Template::parse(text, Place::Text).expect("a template")
    }

    fn path(path: &str, test: Test) -> Condition {
        Condition { subject: Subject::Path(JsonPath::parse(path).expect("a path")), test }
    }

    fn is(value: &str) -> Test {
        Test::Equals(Wanted::Text(text(value)))
    }

    fn one_of(values: &[&str]) -> Test {
        Test::OneOf(values.iter().map(|value| Wanted::Text(text(value))).collect())
    }

    fn matches(pattern: &str) -> Test {
        Test::Matches(Pattern::anywhere(pattern).expect("a pattern"))
    }

    fn rule(statuses: &[u16], conditions: Vec<Condition>) -> Rule {
        let mut status = StatusSet::empty();
        statuses.iter().for_each(|&one| status.insert(one, one));
        Rule { status, conditions, verdict: Verdict::Ambiguous, wait: None }
    }

    #[test]
    fn a_rule_whose_answers_are_all_taken_is_dead() {
        let there = |place: &str| path(place, Test::Exists(true));
        let gone = |place: &str| path(place, Test::Exists(false));
        let header = |test: Test| Condition { subject: Subject::Header("retry-after".into()), test };
        let body = |part: &str| Condition { subject: Subject::Body, test: Test::Contains(text(part)) };
        let cases: Vec<(&str, Vec<Rule>, Rule)> = vec![
            (
                "there, then a value",
                vec![rule(&[200], vec![there("error")])],
                rule(&[200], vec![path("error", is("X"))]),
            ),
            (
                "there, then deeper",
                vec![rule(&[200], vec![there("error")])],
                rule(&[200], vec![path("error.code", is("X"))]),
            ),
            (
                "there, then inside a list",
                vec![rule(&[200], vec![there("e")])],
                rule(&[200], vec![path("e[*].code", matches("x"))]),
            ),
            (
                "not there, then deeper not there",
                vec![rule(&[200], vec![gone("e")])],
                rule(&[200], vec![gone("e"), gone("e.code")]),
            ),
            (
                "one of, then one",
                vec![rule(&[400], vec![path("c", one_of(&["A", "B"]))])],
                rule(&[400], vec![path("c", is("B"))]),
            ),
            (
                "one of, then fewer",
                vec![rule(&[400], vec![path("c", one_of(&["A", "B"]))])],
                rule(&[400], vec![path("c", one_of(&["B"]))]),
            ),
            (
                "a pattern, then its value",
                vec![rule(&[400], vec![path("c", matches("(?i)denied"))])],
                rule(&[400], vec![path("c", is("Access Denied"))]),
            ),
            (
                "a header, then its value",
                vec![rule(&[429], vec![header(Test::Exists(true))])],
                rule(&[429], vec![header(is("5"))]),
            ),
            (
                "a part, then a longer one",
                vec![rule(&[500], vec![body("limit")])],
                rule(&[500], vec![body("over limit")]),
            ),
            (
                "two statuses, one after the other",
                vec![rule(&[200], vec![there("e")]), rule(&[201], vec![there("e")])],
                rule(&[200, 201], vec![there("e")]),
            ),
            (
                "there and not there",
                vec![rule(&[200], vec![there("e")]), rule(&[200], vec![gone("e")])],
                rule(&[200], vec![]),
            ),
            (
                "there and not there of what is left",
                vec![rule(&[200, 201], vec![there("e")]), rule(&[200], vec![gone("e"), there("id")])],
                rule(&[200], vec![path("id", is("5"))]),
            ),
        ];
        for (name, earlier, last) in cases {
            assert_eq!(dead(&earlier, &last), Some(Dead::Taken), "{name}");
            assert_eq!(dead(&[], &last), None, "{name}, alone");
        }
    }

    #[test]
    fn a_rule_that_still_has_answers_is_alive() {
        let there = |place: &str| path(place, Test::Exists(true));
        let gone = |place: &str| path(place, Test::Exists(false));
        let cases: Vec<(&str, Vec<Rule>, Rule)> = vec![
            ("a value, then there", vec![rule(&[200], vec![path("e", is("X"))])], rule(&[200], vec![there("e")])),
            ("another status", vec![rule(&[200], vec![there("e")])], rule(&[200, 201], vec![there("e")])),
            ("another place", vec![rule(&[200], vec![there("error")])], rule(&[200], vec![path("errors", is("X"))])),
            ("deeper, then there", vec![rule(&[200], vec![there("e.code")])], rule(&[200], vec![there("e")])),
            ("another value", vec![rule(&[200], vec![path("e", is("X"))])], rule(&[200], vec![path("e", is("Y"))])),
            (
                "a value of ours",
                vec![rule(&[200], vec![path("e", matches("x"))])],
                rule(&[200], vec![path("e", is("{{ marker }}"))]),
            ),
            (
                "there and not there, at different statuses",
                vec![rule(&[200], vec![there("e")]), rule(&[201], vec![gone("e")])],
                rule(&[200, 201], vec![]),
            ),
            (
                "there and not there of different places",
                vec![rule(&[200], vec![there("e")]), rule(&[200], vec![gone("f")])],
                rule(&[200], vec![]),
            ),
        ];
        for (name, earlier, last) in cases {
            assert_eq!(dead(&earlier, &last), None, "{name}");
        }
    }

    #[test]
    fn a_rule_that_nothing_can_fit_is_dead() {
        for conditions in [
            vec![path("e", Test::Exists(false)), path("e", is("X"))],
            vec![path("e.code", is("X")), path("e", Test::Exists(false))],
            vec![path("e", one_of(&[]))],
            vec![Condition { subject: Subject::Body, test: Test::Contains(text("")) }],
        ] {
            assert_eq!(dead(&[], &rule(&[200], conditions.clone())), Some(Dead::Never), "{conditions:?}");
        }
    }
}
