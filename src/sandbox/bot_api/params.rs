//! A call's parameters, however they were sent: query, form or JSON; and the refusals Telegram words.

use serde_json::{Map, Value, json};

use super::super::query;

/// "No" in Telegram's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) description: String,
}

impl Refusal {
    /// 400, with Telegram's prefix.
    pub(super) fn bad(words: impl AsRef<str>) -> Self {
        Self { code: 400, description: format!("Bad Request: {}", words.as_ref()) }
    }

    pub(super) fn forbidden(words: &str) -> Self {
        Self { code: 403, description: format!("Forbidden: {words}") }
    }

    pub(super) fn conflict(words: &str) -> Self {
        Self { code: 409, description: format!("Conflict: {words}") }
    }

    /// Telegram's JSON for it.
    pub(super) fn body(&self, retry_after: Option<u64>) -> String {
        let mut body = json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let Some(seconds) = retry_after {
            body["parameters"] = json!({ "retry_after": seconds });
        }
        body.to_string()
    }
}

/// The parameters of one call. A value that came as text is read as the type the method wants, as Telegram does.
#[derive(Debug, Clone, Default)]
pub(super) struct Params(Map<String, Value>);

impl Params {
    /// Reads query and body; the body's values win.
    ///
    /// # Errors
    /// For a body in a form that is not understood.
    pub(super) fn read(query_text: &str, content_type: &str, body: &[u8]) -> Result<Self, Refusal> {
        let mut map: Map<String, Value> =
            query(query_text).into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            _ if body.is_empty() => {}
            "application/json" => match serde_json::from_slice(body) {
                Ok(Value::Object(object)) => map.extend(object),
                _ => return Err(Refusal::bad("can't parse JSON object")),
            },
            "application/x-www-form-urlencoded" => match std::str::from_utf8(body) {
                Ok(form) => map.extend(query(form).into_iter().map(|(name, value)| (name, Value::String(value)))),
                Err(_) => return Err(Refusal::bad("strings must be encoded in UTF-8")),
            },
            other => {
                let words = format!("the sandbox reads JSON, forms and the query, not \"{other}\"");
                return Err(Refusal::bad(words));
            }
        }
        map.retain(|_, value| !value.is_null());
        Ok(Self(map))
    }

    /// Parameters from a JSON object (a webhook's answer that calls a method).
    pub(super) fn from_object(object: Map<String, Value>) -> Self {
        Self(object)
    }

    /// All of them, for the log.
    pub(super) fn json(&self) -> Value {
        Value::Object(self.0.clone())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Text; a number is taken as its digits.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        match self.0.get(name)? {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "1"),
            Some(Value::Number(number)) => number.as_i64() == Some(1),
            _ => false,
        }
    }

    /// A structure: JSON as such, or as text holding JSON. `None` if absent, `Err` with the parameter if unreadable.
    pub(super) fn structure(&self, name: &str) -> Result<Option<Value>, Refusal> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(text)
                .map(Some)
                .map_err(|_| Refusal::bad(format!("can't parse {} JSON object", name.replace('_', " ")))),
            Some(value) => Ok(Some(value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_a_query_and_json_mean_the_same() {
        let form = Params::read("", "application/x-www-form-urlencoded", b"chat_id=-5&text=a%2Bb+c&x=True").unwrap();
        let query = Params::read("chat_id=-5&text=a%2Bb%20c&x=1", "", b"").unwrap();
        let object = Params::read("", "application/json; charset=utf-8", br#"{"chat_id":-5,"text":"a+b c","x":true}"#);
        for params in [form, query, object.unwrap()] {
            assert_eq!(params.int("chat_id"), Some(-5));
            assert_eq!(params.text("text").as_deref(), Some("a+b c"));
            assert!(params.flag("x"));
        }
        assert!(Params::read("", "multipart/form-data; boundary=x", b"--x").is_err());
        assert!(Params::read("", "application/json", br#"{"text":"\ud800"}"#).is_err());
    }

    #[test]
    fn a_structure_may_be_text_holding_json() {
        let text = Params::read("", "application/json", br#"{"reply_markup":"{\"a\":1}","bad":"{"}"#).unwrap();
        assert_eq!(text.structure("reply_markup").unwrap(), Some(json!({ "a": 1 })));
        assert!(text.structure("bad").is_err());
        assert_eq!(text.structure("none").unwrap(), None);
    }
}
