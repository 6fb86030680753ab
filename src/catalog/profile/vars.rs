//! The values an installation gives to a profile's variables: always text, checked here by type.

use serde_json::Value as Json;

use super::model::{Var, VarKind};

impl Var {
    /// Why a value is not allowed; `None` if it is. Never quotes the value.
    #[must_use]
    pub fn refusal(&self, text: &str) -> Option<String> {
        let wrong = match &self.kind {
            VarKind::Text => None,
            VarKind::Int => text.parse::<i64>().is_err().then(|| "a whole number".to_owned()),
            VarKind::Bool => (!matches!(text, "true" | "false")).then(|| "true or false".to_owned()),
            VarKind::Url => base_url_refusal(text).map(str::to_owned),
            VarKind::Enum(words) => (!words.iter().any(|word| word == text)).then(|| words.join(", ")),
        };
        if let Some(wanted) = wrong {
            return Some(format!("it must be {wanted}"));
        }
        let pattern = self.pattern.as_ref().filter(|pattern| !pattern.fits(text))?;
        Some(format!("it must fit `{}`", pattern.source()))
    }

    /// The value as templates see it.
    #[must_use]
    pub fn value(&self, text: &str) -> Json {
        match self.kind {
            VarKind::Int => text.parse::<i64>().map_or(Json::Null, Json::from),
            VarKind::Bool => Json::Bool(text == "true"),
            VarKind::Url => Json::from(text.trim_end_matches('/')),
            VarKind::Text | VarKind::Enum(_) => Json::from(text),
        }
    }
}

/// A base URL takes a path after it, so it must end in one: no query, no fragment, and no password that would leak.
fn base_url_refusal(text: &str) -> Option<&'static str> {
    let after = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(after) = after else { return Some("an address that begins with https:// or http://") };
    let host = after.split('/').next().unwrap_or_default();
    if host.is_empty() || host.contains('@') {
        return Some("an address with a host and without a user");
    }
    let odd =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '\\' | '{' | '}' | '<' | '>' | '"');
    after.contains(odd).then_some("an address without query, fragment and spaces")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(kind: VarKind) -> Var {
        Var { kind, required: true, default: None, pattern: None, help: String::new() }
    }

    #[test]
    fn values_are_checked_by_type() {
        let words = VarKind::Enum(vec!["lead".into(), "deal".into()]);
        for (kind, good, bad) in [
            (VarKind::Int, vec!["0", "-7", "42"], vec!["", "x", "1.5", "99999999999999999999"]),
            (VarKind::Bool, vec!["true", "false"], vec!["", "yes", "True"]),
            (words, vec!["lead"], vec!["", "Lead", "contact"]),
            (
                VarKind::Url,
                vec!["https://crm.example.ru", "http://127.0.0.1:9100/", "https://h/rt/REST/2.0"],
                vec![
                    "",
                    "crm.example.ru",
                    "ftp://h",
                    "https://",
                    "https://u:p@h",
                    "https://h?x=1",
                    "https://h/#a",
                    "https://h h",
                ],
            ),
        ] {
            let var = var(kind);
            for text in good {
                assert_eq!(var.refusal(text), None, "{text}");
            }
            for text in bad {
                assert!(var.refusal(text).is_some(), "{text}");
            }
        }
    }

    #[test]
    fn a_base_url_never_ends_in_a_slash() {
        assert_eq!(var(VarKind::Url).value("https://h/a//"), Json::from("https://h/a"));
        assert_eq!(var(VarKind::Int).value("5"), Json::from(5));
    }
}
