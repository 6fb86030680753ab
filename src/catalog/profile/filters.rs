//! Named filters: forms a value must take in one CRM or another, and the quoting of query languages.
//!
//! A literal filter (`soql`, `jql`, `ticket_sql`, …) returns the value with its quotes, so that a profile cannot
//! forget them: `CF.{TgRef} = {{ ext.token | ticket_sql }}`.

use minijinja::{Environment, Error, ErrorKind, Value, value::ValueKind};

use super::template::base64;

/// Teaches an engine all filters of the profile format.
pub(super) fn add_to(engine: &mut Environment<'_>) {
    engine.add_filter("digits", |text: String| text.chars().filter(char::is_ascii_digit).collect::<String>());
    engine.add_filter("without_plus", |text: String| text.trim_start_matches('+').to_owned());
    engine.add_filter("one_line", |text: String| text.split_whitespace().collect::<Vec<_>>().join(" "));
    engine.add_filter("chars", |text: String, most: usize| text.chars().take(most).collect::<String>());
    engine.add_filter("bytes", first_bytes);
    engine.add_filter("html", |text: String| html(&text));
    engine.add_filter("html_lines", |text: String| html(&text).replace("\r\n", "\n").replace('\n', "<br>\n"));
    engine.add_filter("base64", |text: String| base64(text.as_bytes()));
    engine.add_filter("yes_no", |on: bool| if on { "Y" } else { "N" });
    engine.add_filter("one_zero", |on: bool| if on { "1" } else { "0" });
    engine.add_filter("pairs", pairs);
    engine.add_filter("with", with);
    engine.add_filter("each", each);
    engine.add_filter("ticket_sql", |text: String| quoted(&text, '\'', &['\\', '\'']));
    engine.add_filter("soql", |text: String| quoted(&text, '\'', &['\\', '\'', '"']));
    engine.add_filter("coql", |text: String| quoted(&text, '\'', &['\\', '\'']));
    engine.add_filter("jql", |text: String| quoted(&text, '"', &['\\', '"']));
    engine.add_filter("rsql", |text: String| quoted(&text, '"', &['\\', '"']));
}

/// The longest beginning of at most `most` bytes that does not cut a character.
fn first_bytes(text: String, most: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    text[..end].to_owned()
}

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// A literal of a query language. Control characters become spaces: none of these languages can carry them safely.
fn quoted(text: &str, quote: char, escaped: &[char]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for letter in text.chars() {
        if escaped.contains(&letter) {
            out.push('\\');
        }
        out.push(if letter.is_control() { ' ' } else { letter });
    }
    out.push(quote);
    out
}

/// `{a: 1}` as `[{"id": "a", "value": 1}]`: the shape in which many systems take custom fields. A whole number as
/// name becomes a number where `number` is set.
fn pairs(map: Value, name: &str, value: &str, number: Option<bool>) -> Result<Value, Error> {
    if map.is_undefined() || map.is_none() {
        return Ok(Value::from(Vec::<Value>::new()));
    }
    if map.kind() != ValueKind::Map {
        return Err(Error::new(ErrorKind::InvalidOperation, "pairs works on a map"));
    }
    let mut list = Vec::new();
    for key in map.try_iter()? {
        let held = map.get_item(&key)?;
        let whole = key.as_str().filter(|_| number == Some(true)).and_then(|text| text.parse::<i64>().ok());
        let key = whole.map_or(key, Value::from);
        list.push(Value::from_pairs([(name.to_owned(), key), (value.to_owned(), held)]));
    }
    Ok(Value::from(list))
}

/// A list of maps with other names: `files | each({'data': 'content'})`; one of their values alone by its name:
/// `files | each('token')`. An empty list stays one.
fn each(list: Value, shape: Value) -> Result<Value, Error> {
    let mut out = Vec::new();
    if list.is_undefined() || list.is_none() {
        return Ok(Value::from(out));
    }
    for one in list.try_iter()? {
        if shape.as_str().is_some() {
            out.push(one.get_item(&shape)?);
            continue;
        }
        if shape.kind() != ValueKind::Map {
            return Err(Error::new(ErrorKind::InvalidOperation, "each takes a name, or a map of names"));
        }
        let mut pairs = Vec::new();
        for name in shape.try_iter()? {
            pairs.push((name.to_string(), one.get_item(&shape.get_item(&name)?)?));
        }
        out.push(Value::from_pairs(pairs));
    }
    Ok(Value::from(out))
}

/// A map with one more name in it; nothing is a map without names.
fn with(map: Value, name: Value, value: Value) -> Result<Value, Error> {
    let mut pairs = Vec::new();
    if !(map.is_undefined() || map.is_none()) {
        if map.kind() != ValueKind::Map {
            return Err(Error::new(ErrorKind::InvalidOperation, "with works on a map"));
        }
        for key in map.try_iter()? {
            let held = map.get_item(&key)?;
            pairs.push((key.to_string(), held));
        }
    }
    let nothing = value.is_undefined() || value.is_none() || value.len() == Some(0);
    if !nothing {
        pairs.push((name.to_string(), value));
    }
    Ok(Value::from_pairs(pairs))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::template::{Place, Scope, Template};

    #[test]
    fn filters_give_the_forms_systems_ask_for() {
        let scope = Scope::new(&json!({
            "phone": "+7 (999) 123-45-67", "text": "Ёж & <ёлка>\nещё", "quote": "O'Re\"il\\ly\n", "on": true,
            "fields": {"25": "a", "topic": "b"},
            "files": [{"name": "a.jpg", "content": "AA=="}, {"name": "b", "content": ""}],
        }));
        let cases = [
            ("{{ phone | digits }}", json!("79991234567")),
            ("{{ phone | without_plus }}", json!("7 (999) 123-45-67")),
            ("{{ text | one_line }}", json!("Ёж & <ёлка> ещё")),
            ("{{ text | chars(2) }}", json!("Ёж")),
            ("{{ text | bytes(3) }}", json!("Ё")),
            ("{{ text | html_lines }}", json!("Ёж &amp; &lt;ёлка&gt;<br>\nещё")),
            ("{{ 'a' | base64 }}{{ 'ab' | base64 }}{{ 'Ёж?' | base64 }}", json!("YQ==YWI=0IHQtj8=")),
            ("{{ on | yes_no }}", json!("Y")),
            ("{{ not on | one_zero }}", json!(false)),
            ("{{ quote | ticket_sql }}", json!("'O\\'Re\"il\\\\ly '")),
            ("{{ quote | soql }}", json!("'O\\'Re\\\"il\\\\ly '")),
            ("{{ quote | jql }}", json!("\"O'Re\\\"il\\\\ly \"")),
            (
                "{{ fields | pairs('id', 'value', true) }}",
                json!([{"id": 25, "value": "a"}, {"id": "topic", "value": "b"}]),
            ),
            ("{{ fields | with('cf', phone | digits) }}", json!({"25": "a", "topic": "b", "cf": "79991234567"})),
            ("{{ files | each('name') }}", json!(["a.jpg", "b"])),
            (
                "{{ files | each({'mime-name': 'name', 'data': 'content'}) }}",
                json!([{"mime-name": "a.jpg", "data": "AA=="}, {"mime-name": "b", "data": ""}]),
            ),
            ("{{ absent | with('cf', 'x') | with('none', absent) }}", json!({"cf": "x"})),
            ("{{ fields | pairs('id', 'value') }}", json!([{"id": "25", "value": "a"}, {"id": "topic", "value": "b"}])),
        ];
        for (source, wanted) in cases {
            let template = Template::parse(source, Place::Text).expect("it parses");
            assert_eq!(template.json(&scope).expect("it renders"), Some(wanted), "{source}");
        }
    }
}
