//! Updates as they come: each is read alone, so that one nobody can read stops no other and is not lost.
//!
//! The Bot API is written by others and changes: an element may be nested deeper than our parser goes, hold half a
//! surrogate pair, or a number beyond all bounds. Of such a one the number is read, and the text is kept as it is.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// Where the text of an update stands that could not be read.
pub const UNREADABLE: &str = "unreadable";

/// The longest text kept of it, in bytes.
const KEPT: usize = 16 * 1024;

#[derive(Deserialize)]
struct Numbered {
    update_id: i64,
}

/// The `result` of an answer. A list in which something cannot be read is read element by element.
pub(super) fn result(raw: &RawValue) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(raw.get()) {
        return Some(value);
    }
    let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
    // An element without a number is nothing anybody can acknowledge: `null` keeps its place.
    Some(elements.into_iter().map(|element| update(element.get()).unwrap_or(Value::Null)).collect())
}

/// One update. `None` when not even its number can be read: such a one is none.
#[must_use]
pub fn update(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let Numbered { update_id } = serde_json::from_str(text).ok()?;
    let end = text.floor_char_boundary(KEPT);
    Some(json!({ "update_id": update_id, UNREADABLE: text.get(..end) }))
}

/// An update as it was stored. Characters of the number 0 are left out of all texts: they mean nothing, and PostgreSQL
/// takes none.
#[must_use]
pub fn stored(text: &str) -> Value {
    let mut update = serde_json::from_str(text).unwrap_or(Value::Null);
    if text.contains(r"\u0000") {
        leave_out_zeros(&mut update);
    }
    update
}

fn leave_out_zeros(value: &mut Value) {
    match value {
        Value::String(text) => text.retain(|c| c != '\0'),
        Value::Array(elements) => elements.iter_mut().for_each(leave_out_zeros),
        Value::Object(members) => members.values_mut().for_each(leave_out_zeros),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad() -> [String; 3] {
        let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
        [deep, r#""\ud800""#.to_owned(), "1e999".to_owned()]
    }

    #[test]
    fn an_element_nobody_can_read_leaves_its_number_and_its_neighbours() {
        for bad in bad() {
            let list = format!(r#"[{{"update_id":1,"a":1}}, {{"message":{bad},"update_id":2}}, 7, {{"update_id":3}}]"#);
            let raw = RawValue::from_string(list).unwrap();
            let read = result(&raw).unwrap();
            assert_eq!(read[0], json!({ "update_id": 1, "a": 1 }));
            assert_eq!((&read[1]["update_id"], &read[2], &read[3]["update_id"]), (&json!(2), &json!(7), &json!(3)));
            assert!(read[1][UNREADABLE].as_str().unwrap().contains(&bad), "{read}");
        }
    }

    #[test]
    fn what_has_no_number_is_no_update() {
        for bad in bad() {
            assert_eq!(update(&format!(r#"{{"message":{bad}}}"#)), None);
            assert_eq!(update(&format!(r#"{{"message":{bad},"update_id":"7"}}"#)), None);
        }
        assert_eq!(update("{"), None);
        assert_eq!(update(r#"{"update_id":7}"#), Some(json!({ "update_id": 7 })));
    }

    #[test]
    fn zeros_are_left_out_and_backslashes_stay() {
        let text = json!({ "a": ["x\0y", { "b": "\0" }], "c": "\\u0000" }).to_string();
        assert_eq!(stored(&text), json!({ "a": ["xy", { "b": "" }], "c": "\\u0000" }));
        assert_eq!(stored("{"), Value::Null);
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let text = format!(r#"{{"update_id":7,"message":["{}",1e999]}}"#, "я".repeat(KEPT));
        let read = update(&text).unwrap();
        let kept = read[UNREADABLE].as_str().unwrap();
        assert!(kept.len() <= KEPT && kept.len() > KEPT - 4, "{}", kept.len());
    }
}
