//! An answer as templates see it: renders as its value, with parts behind a dot.

use std::{collections::BTreeMap, fmt, sync::Arc};

use minijinja::{
    Value,
    value::{Enumerator, Object, ObjectRepr},
};

use crate::domain::answer::{Answer, Answers};

/// The parts an answer can have; which ones it has depends on its kind.
pub(super) const PARTS: [&str; 8] = ["id", "label", "price", "amount", "version", "at", "zone", "text"];

/// The answers by field id; what was skipped is not there.
pub(super) fn values(answers: &Answers) -> Value {
    let shown = answers.iter().filter(|(_, answer)| **answer != Answer::Skipped);
    shown.map(|(id, answer)| (id.to_owned(), value(answer))).collect::<BTreeMap<_, _>>().into()
}

/// Plain answers are plain strings, so that templates can compare them; answers with parts are objects.
fn value(answer: &Answer) -> Value {
    match answer {
        Answer::Choice { .. } | Answer::Slot { .. } | Answer::Consent { .. } => {
            Value::from_object(Parts(answer.clone()))
        }
        Answer::Number(number) => Value::from(*number),
        other => Value::from(other.value()),
    }
}

#[derive(Debug)]
struct Parts(Answer);

impl Object for Parts {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let part = key.as_str()?;
        if part == "text" {
            return Some(Value::from(self.0.display()));
        }
        match (&self.0, part) {
            (Answer::Choice { id, .. } | Answer::Slot { id, .. }, "id") => Some(Value::from(id.as_str())),
            (Answer::Choice { label, .. } | Answer::Slot { label, .. }, "label") => Some(Value::from(label.as_str())),
            (Answer::Choice { price: Some(price), .. }, "price") => Some(Value::from(price.to_string())),
            (Answer::Choice { price: Some(price), .. }, "amount") => Some(Value::from(price.amount)),
            (Answer::Consent { version, .. }, "version") => Some(Value::from(version.as_str())),
            (Answer::Consent { at, .. }, "at") => Some(Value::from(at.rfc3339())),
            (Answer::Slot { begins: Some(begins), .. }, "at") => Some(Value::from(begins.at.rfc3339())),
            (Answer::Slot { begins: Some(begins), .. }, "zone") => Some(Value::from(begins.zone())),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.value())
    }
}
