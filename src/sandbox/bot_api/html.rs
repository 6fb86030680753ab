//! Telegram's HTML style: tags become entities, wrong ones are refused with their place.

use serde_json::{Value, json};

use super::{params::Refusal, strict::units};

/// An open tag: its entity and where its text began.
struct Open {
    tag: String,
    entity: Option<Value>,
    from: usize,
}

fn refused(words: impl AsRef<str>) -> Refusal {
    Refusal::bad(format!("can't parse entities: {}", words.as_ref()))
}

/// The plain text and its entities (`Value::Null` for none).
///
/// # Errors
/// For an unknown, unclosed or unexpected tag.
pub(super) fn parse(source: &str) -> Result<(String, Value), Refusal> {
    let mut text = String::with_capacity(source.len());
    let mut entities = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let at = source.len() - rest.len();
        match next {
            '<' => {
                let Some((inside, after)) = rest[1..].split_once('>') else {
                    return Err(refused(format!("unclosed start tag at byte offset {at}")));
                };
                rest = after;
                match inside.strip_prefix('/') {
                    Some(name) => close(name, at, &text, &mut open, &mut entities)?,
                    None => open.push(start(inside, at, units(&text))?),
                }
            }
            '&' => {
                let (decoded, length) = reference(rest).unwrap_or(('&', 1));
                text.push(decoded);
                rest = &rest[length..];
            }
            other => {
                text.push(other);
                rest = &rest[other.len_utf8()..];
            }
        }
    }
    if let Some(tag) = open.last() {
        return Err(refused(format!("can't find end tag corresponding to start tag \"{}\"", tag.tag)));
    }
    entities.sort_by_key(|entity: &Value| entity["offset"].as_u64());
    Ok((text, if entities.is_empty() { Value::Null } else { Value::Array(entities) }))
}

fn start(inside: &str, at: usize, from: usize) -> Result<Open, Refusal> {
    let (name, attributes) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
    let tag = name.to_ascii_lowercase();
    let value = |attribute: &str| {
        let (_, after) = attributes.split_once(&format!("{attribute}=\""))?;
        after.split_once('"').map(|(value, _)| value.replace("&amp;", "&").replace("&quot;", "\""))
    };
    let entity = match tag.as_str() {
        "b" | "strong" => Some(json!({ "type": "bold" })),
        "i" | "em" => Some(json!({ "type": "italic" })),
        "u" | "ins" => Some(json!({ "type": "underline" })),
        "s" | "strike" | "del" => Some(json!({ "type": "strikethrough" })),
        "code" => Some(json!({ "type": "code" })),
        "pre" => Some(json!({ "type": "pre" })),
        "tg-spoiler" => Some(json!({ "type": "spoiler" })),
        "blockquote" => Some(json!({ "type": "blockquote" })),
        // A link without an address is shown as its text.
        "a" => value("href").map(|url| json!({ "type": "text_link", "url": url })),
        _ => return Err(refused(format!("unsupported start tag \"{tag}\" at byte offset {at}"))),
    };
    Ok(Open { tag, entity, from })
}

fn close(name: &str, at: usize, text: &str, open: &mut Vec<Open>, entities: &mut Vec<Value>) -> Result<(), Refusal> {
    let Some(tag) = open.pop() else {
        return Err(refused(format!("unexpected end tag at byte offset {at}")));
    };
    let name = name.trim().to_ascii_lowercase();
    if !name.is_empty() && name != tag.tag {
        let expected = &tag.tag;
        return Err(refused(format!(
            "unmatched end tag at byte offset {at}, expected \"</{expected}>\", found \"</{name}>\""
        )));
    }
    let length = units(text) - tag.from;
    if let (Some(mut entity), true) = (tag.entity, length > 0) {
        entity["offset"] = json!(tag.from);
        entity["length"] = json!(length);
        entities.push(entity);
    }
    Ok(())
}

/// The four named references Telegram knows and numeric ones; anything else is text.
fn reference(rest: &str) -> Option<(char, usize)> {
    let (name, _) = rest[1..].split_once(';')?;
    let decoded = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|c| *c != '\0')?
        }
    };
    Some((decoded, name.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_become_entities_counted_in_utf16_units() {
        let (text, entities) =
            parse("😀<b>Заявка <i>№&#160;1</i></b> &lt;x&gt; &nope; <a href=\"https://a.b/?c=1&amp;d\">тут</a>")
                .unwrap();
        assert_eq!(text, "😀Заявка №\u{a0}1 <x> &nope; тут");
        assert_eq!(
            entities,
            json!([
                { "type": "bold", "offset": 2, "length": 10 },
                { "type": "italic", "offset": 9, "length": 3 },
                { "type": "text_link", "url": "https://a.b/?c=1&d", "offset": 24, "length": 3 },
            ])
        );
    }

    #[test]
    fn wrong_markup_is_refused_with_its_place() {
        for (source, words) in [
            ("a <x>b</x>", "unsupported start tag \"x\" at byte offset 2"),
            ("<b>a", "can't find end tag"),
            ("a</b>", "unexpected end tag at byte offset 1"),
            ("<b>a</i>", "unmatched end tag"),
            ("1 < 2", "unclosed start tag at byte offset 2"),
        ] {
            let refusal = parse(source).unwrap_err();
            assert!(refusal.description.starts_with("Bad Request: can't parse entities: "), "{}", refusal.description);
            assert!(refusal.description.contains(words), "{}", refusal.description);
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_written_entities_lie_inside_the_text(source in "(<|/|>|&|;|#|b|a href=\"x\"|i| |я|😀|lt|x1f600){0,24}") {
            if let Ok((text, entities)) = parse(&source) {
                let length = units(&text) as u64;
                for entity in entities.as_array().into_iter().flatten() {
                    let end = entity["offset"].as_u64().unwrap() + entity["length"].as_u64().unwrap();
                    assert!(end <= length, "{source:?} gave {entity} over {length}");
                }
            }
        }
    }
}
