//! What Telegram refuses in keyboards, in its own words. Pure.

use serde_json::{Map, Value};

use super::{params::Refusal, strict::units};

/// The most buttons of one keyboard.
const BUTTONS: usize = 100;
/// The largest keyboard, bytes of its JSON.
const MARKUP_BYTES: usize = 10_240;
/// The longest callback data, bytes.
const DATA_BYTES: usize = 64;

/// A keyboard that passed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Markup {
    /// Nothing was sent.
    #[default]
    None,
    /// Buttons under the message; rows as Telegram writes them.
    Inline(Value),
    /// Buttons instead of the keyboard, or their removal, or a forced reply.
    Reply(Value),
}

/// Reads `reply_markup`.
///
/// # Errors
/// For whatever Telegram would refuse.
pub(super) fn read(given: Option<Value>, private: bool) -> Result<Markup, Refusal> {
    let object = match given {
        None => return Ok(Markup::None),
        Some(Value::Object(object)) if object.is_empty() => return Ok(Markup::None),
        Some(Value::Object(object)) => object,
        Some(_) => return Err(Refusal::bad("object expected as reply markup")),
    };
    if let Some(rows) = object.get("inline_keyboard") {
        let rows = inline(rows, private)?;
        return Ok(if rows.is_empty() { Markup::None } else { Markup::Inline(Value::Array(rows)) });
    }
    if let Some(rows) = object.get("keyboard") {
        reply(rows, private)?;
        placeholder(&object)?;
        return Ok(Markup::Reply(Value::Object(object)));
    }
    if object.get("force_reply").and_then(Value::as_bool) == Some(true) {
        placeholder(&object)?;
        return Ok(Markup::Reply(Value::Object(object)));
    }
    if object.get("remove_keyboard").and_then(Value::as_bool) == Some(true) {
        return Ok(Markup::Reply(Value::Object(object)));
    }
    Ok(Markup::None)
}

fn rows(given: &Value, what: &str) -> Result<Vec<Vec<Value>>, Refusal> {
    let not_rows = || Refusal::bad(format!("field \"{what}\" of the reply markup must be an Array of Arrays"));
    let mut rows = Vec::new();
    for row in given.as_array().ok_or_else(not_rows)? {
        let row = row.as_array().ok_or_else(not_rows)?;
        if !row.is_empty() {
            rows.push(row.clone());
        }
    }
    let buttons: usize = rows.iter().map(Vec::len).sum();
    if buttons > BUTTONS || given.to_string().len() > MARKUP_BYTES {
        return Err(Refusal::bad("reply markup is too long"));
    }
    Ok(rows)
}

fn inline(given: &Value, private: bool) -> Result<Vec<Value>, Refusal> {
    let mut checked = Vec::new();
    for row in rows(given, "inline_keyboard")? {
        for button in &row {
            inline_button(button, private)?;
        }
        checked.push(Value::Array(row));
    }
    Ok(checked)
}

fn inline_button(button: &Value, private: bool) -> Result<(), Refusal> {
    let unreadable = |words: &str| Refusal::bad(format!("can't parse inline keyboard button: {words}"));
    let object = button.as_object().ok_or_else(|| unreadable("expected an Object"))?;
    if object.get("text").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(unreadable("Field \"text\" must be a non-empty String"));
    }
    if let Some(data) = object.get("callback_data") {
        let data = data.as_str().ok_or_else(|| unreadable("Field \"callback_data\" must be of type String"))?;
        let fits = (1..=DATA_BYTES).contains(&data.len());
        return if fits { Ok(()) } else { Err(Refusal::bad("BUTTON_DATA_INVALID")) };
    }
    if let Some(url) = object.get("url") {
        let url = url.as_str().unwrap_or_default();
        let known = ["http://", "https://", "tg://"].iter().any(|scheme| url.starts_with(scheme));
        return if known && url.len() > 8 { Ok(()) } else { Err(Refusal::bad("BUTTON_URL_INVALID")) };
    }
    if let Some(copy) = object.get("copy_text") {
        let length = units(copy["text"].as_str().unwrap_or_default());
        return if (1..=256).contains(&length) { Ok(()) } else { Err(Refusal::bad("BUTTON_COPY_TEXT_INVALID")) };
    }
    if object.contains_key("web_app") {
        return if private { Ok(()) } else { Err(Refusal::bad("BUTTON_TYPE_INVALID")) };
    }
    let others = ["login_url", "switch_inline_query", "switch_inline_query_current_chat"];
    if others.iter().any(|name| object.contains_key(*name)) {
        return Ok(());
    }
    Err(unreadable("Text buttons are unallowed in the inline keyboard"))
}

fn reply(given: &Value, private: bool) -> Result<(), Refusal> {
    let rows = rows(given, "keyboard")?;
    for button in rows.iter().flatten() {
        let text = button.as_str().or_else(|| button["text"].as_str()).unwrap_or_default();
        if text.is_empty() {
            return Err(Refusal::bad("can't parse keyboard button: Field \"text\" must be a non-empty String"));
        }
        let asks = |field: &str| button[field].as_bool() == Some(true);
        if !private && asks("request_contact") {
            return Err(Refusal::bad("phone number can be requested in private chats only"));
        }
        if !private && asks("request_location") {
            return Err(Refusal::bad("location can be requested in private chats only"));
        }
    }
    if rows.is_empty() { Err(Refusal::bad("reply keyboard must be non-empty")) } else { Ok(()) }
}

fn placeholder(object: &Map<String, Value>) -> Result<(), Refusal> {
    match object.get("input_field_placeholder") {
        None => Ok(()),
        Some(text) if (1..=64).contains(&units(text.as_str().unwrap_or_default())) => Ok(()),
        Some(_) => Err(Refusal::bad("input field placeholder must be from 1 to 64 characters long")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(button: Value, private: bool) -> Result<Markup, String> {
        read(Some(json!({ "inline_keyboard": [[button]] })), private).map_err(|refusal| refusal.description)
    }

    #[test]
    fn callback_data_is_counted_in_bytes() {
        assert!(one(json!({ "text": "a", "callback_data": "x".repeat(64) }), true).is_ok());
        assert!(one(json!({ "text": "a", "callback_data": "ю".repeat(32) }), true).is_ok());
        for data in ["x".repeat(65), "ю".repeat(33), String::new()] {
            let refusal = one(json!({ "text": "a", "callback_data": data }), true).unwrap_err();
            assert_eq!(refusal, "Bad Request: BUTTON_DATA_INVALID");
        }
    }

    #[test]
    fn too_many_buttons_or_bytes_are_refused() {
        let rows = |count: usize| json!({ "inline_keyboard": vec![vec![json!({ "text": "a", "callback_data": "b" })]; count] });
        assert!(read(Some(rows(100)), true).is_ok());
        assert_eq!(read(Some(rows(101)), true).unwrap_err().description, "Bad Request: reply markup is too long");
        let long = json!({ "inline_keyboard": [[{ "text": "a".repeat(11_000), "callback_data": "b" }]] });
        assert_eq!(read(Some(long), true).unwrap_err().description, "Bad Request: reply markup is too long");
    }

    #[test]
    fn each_button_needs_words_and_a_deed() {
        assert!(one(json!({ "text": "", "callback_data": "b" }), true).is_err());
        assert!(one(json!({ "text": "a" }), true).unwrap_err().contains("Text buttons are unallowed"));
        assert!(one(json!({ "text": "a", "url": "javascript:x" }), true).unwrap_err().contains("BUTTON_URL_INVALID"));
        assert!(one(json!({ "text": "a", "copy_text": { "text": "1001" } }), false).is_ok());
        assert!(one(json!({ "text": "a", "copy_text": { "text": "" } }), false).is_err());
        assert!(one(json!({ "text": "a", "web_app": { "url": "https://a" } }), false).is_err());
    }

    #[test]
    fn a_contact_can_be_asked_for_in_private_only() {
        let keyboard = json!({ "keyboard": [[{ "text": "Телефон", "request_contact": true }]] });
        assert!(matches!(read(Some(keyboard.clone()), true), Ok(Markup::Reply(_))));
        let refusal = read(Some(keyboard), false).unwrap_err();
        assert_eq!(refusal.description, "Bad Request: phone number can be requested in private chats only");
        let long = json!({ "force_reply": true, "input_field_placeholder": "x".repeat(65) });
        assert!(read(Some(long), true).is_err());
        assert_eq!(read(Some(json!({ "inline_keyboard": [] })), true).unwrap(), Markup::None);
    }
}
