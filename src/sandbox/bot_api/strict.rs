//! What Telegram refuses in a text and its entities, in its own words. Pure.

use serde_json::Value;

use super::params::{Params, Refusal};

/// The longest message text, UTF-16 units (the stricter reading of Telegram's "characters").
pub(super) const TEXT_UNITS: usize = 4096;
/// The longest raw text, bytes.
const RAW_TEXT_BYTES: usize = 32_768;

const ENTITY_TYPES: [&str; 20] = [
    "mention",
    "hashtag",
    "cashtag",
    "bot_command",
    "url",
    "email",
    "phone_number",
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "expandable_blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
    "custom_emoji",
    "date_time",
];

/// The length Telegram counts, UTF-16 units.
pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

fn is_invisible(c: char) -> bool {
    let format = matches!(c, '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}');
    format || c.is_whitespace() || c.is_control()
}

/// The text of a message with its checked entities (`Value::Null` for none).
///
/// # Errors
/// For an empty, invisible or too long text, and for entities that do not fit it.
pub(super) fn text(params: &Params) -> Result<(String, Value), Refusal> {
    let text = params.text("text").unwrap_or_default();
    if text.is_empty() {
        return Err(Refusal::bad("message text is empty"));
    }
    if text.len() > RAW_TEXT_BYTES {
        return Err(Refusal::bad("text is too long"));
    }
    let (text, entities) = match params.text("parse_mode").unwrap_or_default().to_ascii_lowercase().as_str() {
        "" => {
            let entities = entities(&text, params.structure("entities")?)?;
            (text, entities)
        }
        "html" => super::html::parse(&text)?,
        other => return Err(Refusal::bad(format!("the sandbox does not read parse_mode \"{other}\", only HTML"))),
    };
    if text.chars().all(is_invisible) {
        return Err(Refusal::bad("text must be non-empty"));
    }
    if units(&text) > TEXT_UNITS {
        return Err(Refusal::bad("message is too long"));
    }
    Ok((text, entities))
}

fn entities(text: &str, given: Option<Value>) -> Result<Value, Refusal> {
    let given = match given {
        None => return Ok(Value::Null),
        Some(Value::Array(list)) if list.is_empty() => return Ok(Value::Null),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(Refusal::bad("can't parse entities: expected an Array of MessageEntity")),
    };
    let all: Vec<u16> = text.encode_utf16().collect();
    for entity in &given {
        let kind = entity["type"].as_str().unwrap_or_default();
        if !ENTITY_TYPES.contains(&kind) {
            return Err(Refusal::bad("can't parse MessageEntity: unsupported type specified"));
        }
        let place = |field: &str| entity[field].as_u64().and_then(|place| usize::try_from(place).ok());
        let (Some(offset), Some(length)) = (place("offset"), place("length").filter(|length| *length > 0)) else {
            return Err(Refusal::bad("can't parse MessageEntity: offset and length must be positive integers"));
        };
        let end = offset.saturating_add(length);
        if end > all.len() {
            return Err(Refusal::bad(format!(
                "entity beginning at UTF-16 offset {offset} ends after the end of the text at UTF-16 offset {end}"
            )));
        }
        // The second half of a pair cannot begin or follow an entity.
        if [offset, end].iter().any(|edge| all.get(*edge).is_some_and(|unit| (0xdc00..0xe000).contains(unit))) {
            return Err(Refusal::bad(format!(
                "entity beginning at UTF-16 offset {offset} begins or ends in a middle of a UTF-16 symbol"
            )));
        }
        if kind == "text_link" && entity["url"].as_str().unwrap_or_default().is_empty() {
            return Err(Refusal::bad("can't parse MessageEntity: a text_link needs an url"));
        }
    }
    Ok(Value::Array(given))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(body: Value) -> Result<(String, Value), String> {
        let Value::Object(object) = body else { unreachable!() };
        text(&Params::from_object(object)).map_err(|refusal| refusal.description)
    }

    #[test]
    fn a_text_of_exactly_the_limit_goes_one_unit_more_does_not() {
        assert!(check(json!({ "text": "я".repeat(4096) })).is_ok());
        assert_eq!(check(json!({ "text": "я".repeat(4097) })).unwrap_err(), "Bad Request: message is too long");
        // An emoji outside the basic plane counts twice.
        assert!(check(json!({ "text": "😀".repeat(2048) })).is_ok());
        assert_eq!(check(json!({ "text": "😀".repeat(2049) })).unwrap_err(), "Bad Request: message is too long");
        assert_eq!(check(json!({ "text": "a".repeat(32_769) })).unwrap_err(), "Bad Request: text is too long");
    }

    #[test]
    fn an_empty_or_invisible_text_is_refused() {
        assert_eq!(check(json!({})).unwrap_err(), "Bad Request: message text is empty");
        assert_eq!(check(json!({ "text": "" })).unwrap_err(), "Bad Request: message text is empty");
        for text in ["   ", "\u{200b}\u{2060}", "\n\t", "\u{2800}"] {
            assert_eq!(check(json!({ "text": text })).unwrap_err(), "Bad Request: text must be non-empty", "{text:?}");
        }
    }

    #[test]
    fn entities_must_lie_inside_the_text_and_not_split_a_symbol() {
        let with = |offset: i64, length: i64| {
            check(json!({ "text": "a😀b", "entities": [{ "type": "bold", "offset": offset, "length": length }] }))
        };
        assert!(with(0, 4).is_ok() && with(1, 2).is_ok());
        assert!(with(0, 5).unwrap_err().contains("ends after the end of the text"));
        assert!(with(2, 1).unwrap_err().contains("in a middle"));
        assert!(with(0, 2).unwrap_err().contains("in a middle"));
        assert!(with(0, 0).is_err() && with(-1, 1).is_err());
        assert!(check(json!({ "text": "a", "entities": [{ "type": "x", "offset": 0, "length": 1 }] })).is_err());
    }
}
