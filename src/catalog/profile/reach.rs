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
    let absent = |absent: &Condition| {
        !needs(absent) && conditions.iter().any(|other| needs(other) && is_within(&other.subject, &absent.subject))
    };
    conditions.iter().any(|condition| absent(condition) || leaves_no_value(condition, conditions))
}

/// Whether none of the values a condition asks for passes what the others ask of the same place. Where a path leads to
/// several values, each condition may be met by another one.
fn leaves_no_value(condition: &Condition, all: &[Condition]) -> bool {
    let values: Vec<&Wanted> = match &condition.test {
        Test::Equals(wanted) => vec![wanted],
        Test::OneOf(list) => list.iter().collect(),
        _ => return false,
    };
    let one = match &condition.subject {
        Subject::Path(path) => path.leads_to_one(),
        Subject::Header(_) => true,
        Subject::Body => false,
    };
    let others = || all.iter().filter(|other| other.test != Test::Exists(false));
    let passes = |value: &Wanted| {
        others().filter(|other| is_same(&other.subject, &condition.subject)).all(|other| may_fit(value, &other.test))
    };
    // A text, a number and a truth value have nothing inside.
    let needs_inside = || {
        others()
            .any(|other| is_within(&other.subject, &condition.subject) && !is_same(&other.subject, &condition.subject))
    };
    one && (!values.into_iter().any(passes) || needs_inside())
}

/// Whether some answer's value could equal `wanted` and pass the test; what only an answer or an order shows may do so.
fn may_fit(wanted: &Wanted, test: &Test) -> bool {
    let Some(text) = text_of(wanted) else { return true };
    match test {
        Test::Exists(there) => *there,
        Test::Equals(other) => text_of(other).is_none_or(|other| other == text),
        Test::OneOf(list) => list.iter().any(|other| text_of(other).is_none_or(|other| other == text)),
        Test::Matches(pattern) => pattern.fits(&text),
        Test::Contains(part) => part.literal().is_none_or(|part| text.contains(part)),
    }
}

/// A wanted value as text, where it is the same for every order.
fn text_of(wanted: &Wanted) -> Option<String> {
    match wanted {
        Wanted::Text(template) => template.literal().map(ToOwned::to_owned),
        Wanted::Fixed(value) => Some(value.to_string()),
    }
}

fn is_same(one: &Subject, other: &Subject) -> bool {
    is_within(one, other) && is_within(other, one)
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

    fn header(test: Test) -> Condition {
        Condition { subject: Subject::Header("retry-after".into()), test }
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
    fn conditions_that_one_answer_can_meet_together_are_no_contradiction() {
        for conditions in [
            // Several values: one meets the one, another the other.
            vec![path("e[*].code", is("A")), path("e[*].code", is("B"))],
            vec![path("e[kind=x].code", is("A")), path("e[kind=x].code", is("B"))],
            vec![path("e.code", is("A")), path("e.kind", is("B"))],
            vec![path("e", is("A")), path("e", one_of(&["A", "B"]))],
            vec![path("e", is("A1")), path("e", matches("[0-9]")), path("e", Test::Contains(text("A")))],
            vec![path("e", is("A")), path("e", is("{{ marker }}"))],
            vec![path("e", is("{{ marker }}")), path("e", matches("^X$"))],
            // A number equals its own text.
            vec![path("e", Test::Equals(Wanted::Fixed(1.into()))), path("e", is("1"))],
            vec![path("e", is("A")), path("e", Test::Exists(true))],
            vec![header(is("5")), header(Test::Exists(true)), header(matches("[0-9]"))],
        ] {
            assert_eq!(dead(&[], &rule(&[200], conditions.clone())), None, "{conditions:?}");
        }
    }

    #[test]
    fn a_rule_that_nothing_can_fit_is_dead() {
        for conditions in [
            vec![path("e", Test::Exists(false)), path("e", is("X"))],
            vec![path("e.code", is("X")), path("e", Test::Exists(false))],
            vec![path("e", one_of(&[]))],
            vec![path("e.code", is("A")), path("e.code", is("B"))],
            vec![path("e.code", is("A")), path("$.e.code", one_of(&["B", "C"]))],
            vec![path("e", one_of(&["A", "B"])), path("e", matches("^X"))],
            vec![path("e", matches("^X$")), path("e", is("VALIDATION"))],
            vec![path("e", is("A")), path("e", Test::Contains(text("B")))],
            vec![path("e", Test::Equals(Wanted::Fixed(true.into()))), path("e", is("false"))],
            vec![path("e", is("A")), path("e.code", Test::Exists(true))],
            vec![path("e[0]", is("A")), path("e[0]", is("B"))],
            vec![header(is("5")), header(is("6"))],
            vec![header(is("5")), header(matches("[a-z]"))],
            vec![Condition { subject: Subject::Body, test: Test::Contains(text("")) }],
        ] {
            assert_eq!(dead(&[], &rule(&[200], conditions.clone())), Some(Dead::Never), "{conditions:?}");
        }
    }
}
