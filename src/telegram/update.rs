//! Updates as they come: each is read alone, so that one nobody can read stops no other and is not lost.
//!
//! The Bot API is written by others and changes: an element may be nested deeper than our parser goes, hold half a
//! surrogate pair, or a number beyond all bounds. Of such a one the number is read, and the text is kept as it is.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::ordered::Ordered;
use crate::ids::UpdateId;

/// Where the text of an update stands that could not be read.
pub const UNREADABLE: &str = "unreadable";

/// The longest text kept of it, in bytes.
const KEPT: usize = 16 * 1024;

/// An update as it came: what intake needs to know of it, and what is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Its number.
    pub number: UpdateId,
    /// Whose turn it is: the sender's number, or the chat's, or 0.
    pub lane: i64,
    /// Its JSON, with the keys of each object in order: the same content has the same text.
    pub text: String,
}

#[derive(Deserialize)]
struct Numbered {
    update_id: i64,
}

impl Update {
    /// Reads one update. `None` when not even its number can be read: such a one cannot be acknowledged and is none.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if let Ok(content) = serde_json::from_str::<Ordered<'_>>(text) {
            return Self::of(&content, text.len());
        }
        let Numbered { update_id } = serde_json::from_str(text).ok()?;
        let end = text.floor_char_boundary(KEPT);
        let kept = json!({ "update_id": update_id, UNREADABLE: text.get(..end) });
        Some(Self { number: UpdateId(update_id), lane: 0, text: kept.to_string() })
    }

    fn of(content: &Ordered<'_>, size: usize) -> Option<Self> {
        let number = content.get("update_id").and_then(Ordered::number)?;
        let is_body = |value: &&Ordered<'_>| matches!(value, Ordered::Object(_));
        let others = content.members().iter().filter(|(key, _)| key != "update_id").map(|(_, value)| value);
        let body = others.into_iter().find(is_body);
        let id_of = |name: &str| body.and_then(|body| body.get(name)).and_then(|who| who.get("id")?.number());
        let lane = id_of("from").or_else(|| id_of("chat")).unwrap_or(0);
        Some(Self { number: UpdateId(number), lane, text: content.text(size) })
    }
}

impl TryFrom<&Value> for Update {
    type Error = &'static str;

    fn try_from(value: &Value) -> Result<Self, Self::Error> {
        Self::read(&value.to_string()).ok_or("an update has a number")
    }
}

/// The updates of a `getUpdates` answer's result, in order; in the place of what is no update, nothing. `None` when it
/// is no list.
#[must_use]
pub fn list(text: &str) -> Option<Vec<Option<Update>>> {
    if let Ok(list) = serde_json::from_str::<Vec<Ordered<'_>>>(text) {
        let size = text.len() / list.len().max(1);
        return Some(list.iter().map(|content| Update::of(content, size)).collect());
    }
    // One that cannot be read must not hide the others.
    let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    Some(list.into_iter().map(|element| Update::read(element.get())).collect())
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

    fn number(update: Option<&Update>) -> Option<i64> {
        update.map(|update| update.number.0)
    }

    fn kept(update: &Update) -> String {
        stored(&update.text)[UNREADABLE].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn an_element_nobody_can_read_leaves_its_number_and_its_neighbours() {
        for bad in bad() {
            let text = format!(r#"[{{"update_id":1,"a":1}}, {{"message":{bad},"update_id":2}}, 7, {{"update_id":3}}]"#);
            let read = list(&text).unwrap();
            let numbers: Vec<_> = read.iter().map(|update| number(update.as_ref())).collect();
            assert_eq!(numbers, [Some(1), Some(2), None, Some(3)]);
            assert_eq!(read[0].as_ref().unwrap().text, r#"{"a":1,"update_id":1}"#);
            assert!(kept(read[1].as_ref().unwrap()).contains(&bad), "{read:?}");
        }
        assert_eq!((list("{}"), list("[")), (None, None));
    }

    #[test]
    fn what_has_no_number_is_no_update() {
        for bad in bad() {
            assert_eq!(Update::read(&format!(r#"{{"message":{bad}}}"#)), None);
            assert_eq!(Update::read(&format!(r#"{{"message":{bad},"update_id":"7"}}"#)), None);
        }
        for none in ["{", "[]", "null", r#"{"update_id":"x"}"#, r#"{"update_id":1.5}"#] {
            assert_eq!(Update::read(none), None, "{none}");
        }
        let shortest = Update { number: UpdateId(7), lane: 0, text: r#"{"update_id":7}"#.to_owned() };
        assert_eq!(Update::read(r#"{"update_id":7}"#), Some(shortest));
    }

    #[test]
    fn whose_turn_it_is_says_the_sender_or_the_chat() {
        for (text, lane) in [
            (r#"{"update_id":1,"callback_query":{"id":"c","from":{"id":7},"message":{"chat":{"id":8}}}}"#, 7),
            (r#"{"update_id":1,"message":{"from":[],"chat":{"id":-8}}}"#, -8),
            (r#"{"new":{"from":{"id":9}},"update_id":1}"#, 9),
            (r#"{"update_id":1,"message":{"chat":5,"from":{"id":"7"}}}"#, 0),
            (r#"{"update_id":1,"message":null}"#, 0),
        ] {
            assert_eq!(Update::read(text).map(|update| update.lane), Some(lane), "{text}");
        }
    }

    #[test]
    fn the_same_content_is_the_same_update_whatever_the_order_of_its_keys() {
        let one = Update::read(r#"{"update_id": 7, "message": {"text": "а", "chat": {"id": 1}}}"#);
        assert!(one.is_some());
        assert_eq!(one, Update::read(r#"{"message":{"chat":{"id":1},"text":"\u0430"},"update_id":7}"#));
        assert_ne!(one, Update::read(r#"{"update_id": 7, "message": {"text": "б", "chat": {"id": 1}}}"#));
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
        let kept = kept(&Update::read(&text).unwrap());
        assert!(kept.len() <= KEPT && kept.len() > KEPT - 4, "{}", kept.len());
    }
}
