//! The ways through a form: which questions are asked, for every combination of answers its conditions tell apart.

use std::collections::BTreeSet;

use super::{
    answer::{Answer, Answers},
    form::{Field, FieldKind, Form},
};

/// Most ways that are listed: a form with more is read by its conditions.
pub const MOST_WAYS: usize = 64;

/// Most combinations of answers that are tried.
const MOST_TRIED: usize = 4096;

/// One way through a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Answers that lead along it, one to every question it asks.
    pub answers: Answers,
    /// The questions, in order, by their ids.
    pub asked: Vec<String>,
    /// Of these the ones a condition looks at: what decides that it is this way.
    pub decides: Vec<String>,
}

/// All ways through a form that ask different questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ways {
    /// At most [`MOST_WAYS`].
    pub ways: Vec<Way>,
    /// Whether these are all.
    pub complete: bool,
}

/// Finds the ways through a form; `samples` holds one good answer to every question.
#[must_use]
pub fn ways(form: &Form, samples: &Answers) -> Ways {
    let mut search = Search { form, samples, found: Ways { ways: Vec::new(), complete: true }, tried: 0 };
    search.from(0, &Answers::new());
    search.found
}

struct Search<'a> {
    form: &'a Form,
    samples: &'a Answers,
    found: Ways,
    tried: usize,
}

impl Search<'_> {
    fn from(&mut self, place: usize, given: &Answers) {
        if !self.found.complete {
            return;
        }
        let Some(field) = self.form.fields.get(place) else { return self.end(given) };
        if field.when.as_ref().is_some_and(|when| !when.holds(given)) {
            return self.from(place + 1, given);
        }
        for answer in self.answers_to(field) {
            let mut given = given.clone();
            given.set(field.id.clone(), answer);
            self.from(place + 1, &given);
        }
    }

    fn end(&mut self, given: &Answers) {
        self.tried += 1;
        let asked: Vec<String> = self.form.asked(given).into_iter().map(|field| field.id.clone()).collect();
        if !self.found.ways.iter().any(|way| way.asked == asked) {
            if self.found.ways.len() == MOST_WAYS {
                self.found.complete = false;
                return;
            }
            let decides = asked.iter().filter(|id| self.is_looked_at(id)).cloned().collect();
            self.found.ways.push(Way { answers: given.clone(), asked, decides });
        }
        self.found.complete &= self.tried < MOST_TRIED;
    }

    fn is_looked_at(&self, id: &str) -> bool {
        let conditions = self.form.fields.iter().filter_map(|field| field.when.as_ref());
        conditions.flat_map(super::condition::Condition::fields).any(|word| word.text == id)
    }

    /// One answer where nothing depends on it; otherwise each one a condition names, one that none names, and a skip.
    fn answers_to(&self, field: &Field) -> Vec<Answer> {
        let sample = self.samples.get(&field.id).cloned().unwrap_or(Answer::Skipped);
        if !self.is_looked_at(&field.id) {
            return vec![sample];
        }
        let conditions = self.form.fields.iter().filter_map(|field| field.when.as_ref());
        let named: BTreeSet<&str> = conditions
            .flat_map(super::condition::Condition::literals)
            .filter(|(of, _)| of.text == field.id)
            .map(|(_, literal)| literal.text.as_str())
            .collect();
        let mut answers = match &field.kind {
            FieldKind::Choice { choices } => {
                some(choices.iter().map(|choice| (named.contains(choice.id.as_str()), choice.answer())))
            }
            FieldKind::Slot { slots } => {
                some(slots.iter().map(|slot| (named.contains(slot.id.as_str()), slot.answer())))
            }
            FieldKind::Consent { .. } => vec![sample],
            kind => {
                let written = named.iter().filter_map(|literal| written(kind, literal));
                let mut answers = vec![sample];
                answers.extend(written.filter(|answer| !answers.contains(answer)).collect::<Vec<_>>());
                answers
            }
        };
        if field.optional {
            answers.push(Answer::Skipped);
        }
        answers
    }
}

/// Those that are named, and the first that is not, in the form's order.
fn some(all: impl Iterator<Item = (bool, Answer)>) -> Vec<Answer> {
    let mut other = false;
    all.filter(|(named, _)| *named || !std::mem::replace(&mut other, true)).map(|(_, answer)| answer).collect()
}

fn written(kind: &FieldKind, literal: &str) -> Option<Answer> {
    match kind {
        FieldKind::Text { .. } => Some(Answer::Text(literal.to_owned())),
        FieldKind::Phone { .. } => Some(Answer::Phone(literal.to_owned())),
        FieldKind::Email => Some(Answer::Email(literal.to_owned())),
        FieldKind::Date => Some(Answer::Date(literal.to_owned())),
        FieldKind::Number { .. } => literal.parse().ok().map(Answer::Number),
        FieldKind::Choice { .. } | FieldKind::Slot { .. } | FieldKind::Consent { .. } | FieldKind::Files { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::form::{Choice, FormVersion, TicketTemplate, tests::field};

    fn choice(ids: &[&str]) -> FieldKind {
        let one = |id: &&str| Choice { id: (*id).to_owned(), label: id.to_uppercase(), price: None };
        FieldKind::Choice { choices: ids.iter().map(one).collect() }
    }

    fn form(fields: Vec<Field>) -> Form {
        let (id, title, intro) = ("f".to_owned(), "F".to_owned(), String::new());
        let ticket = TicketTemplate::default();
        Form { id, version: FormVersion(String::new()), title, intro, fields, ticket }.sealed()
    }

    fn text() -> FieldKind {
        FieldKind::Text { min: 1, max: 100 }
    }

    fn samples(form: &Form) -> Answers {
        let mut given = Answers::new();
        for field in &form.fields {
            let answer = match &field.kind {
                FieldKind::Choice { choices } => choices[0].answer(),
                FieldKind::Number { min, .. } => Answer::Number(*min),
                _ => Answer::Text("Text".to_owned()),
            };
            given.set(field.id.clone(), answer);
        }
        given
    }

    fn asked(form: &Form) -> Vec<String> {
        ways(form, &samples(form)).ways.iter().map(|way| way.asked.join(" ")).collect()
    }

    #[test]
    fn every_answer_that_decides_gives_a_way_and_no_other_does() {
        let form = form(vec![
            field("topic", choice(&["tax", "law", "other", "none"]), None),
            field("which", text(), Some("topic == 'other'")),
            field("law", text(), Some("topic in ['law', 'other']")),
            field("end", text(), None),
        ]);
        assert_eq!(asked(&form), ["topic end", "topic law end", "topic which law end"]);
        let found = ways(&form, &samples(&form));
        assert!(found.complete && found.ways.iter().all(|way| way.decides == ["topic"]));
    }

    #[test]
    fn a_skip_and_a_written_answer_decide_too() {
        let mut mail = field("mail", text(), None);
        mail.optional = true;
        let form = form(vec![
            mail,
            field("age", FieldKind::Number { min: 1, max: 99 }, None),
            field("copy", text(), Some("answered(mail)")),
            field("child", text(), Some("age == 7")),
        ]);
        let found = asked(&form);
        assert_eq!(found, ["mail age copy", "mail age copy child", "mail age", "mail age child"]);
    }

    #[test]
    fn too_many_ways_are_cut_and_said_to_be() {
        let mut fields = Vec::new();
        for n in 0..8 {
            fields.push(field(&format!("a{n}"), choice(&["x", "y"]), None));
        }
        for n in 0..8 {
            fields.push(field(&format!("b{n}"), text(), Some(&format!("a{n} == 'x'"))));
        }
        let form = form(fields);
        let found = ways(&form, &samples(&form));
        assert_eq!((found.ways.len(), found.complete), (MOST_WAYS, false));
    }
}
