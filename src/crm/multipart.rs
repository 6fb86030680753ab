//! `multipart/form-data` (RFC 7578): the fields of a request and its files as the parts of one body.
//!
//! The boundary is the hash of all parts, files by their own hashes and marks (which are made of the order's key). So the
//! same request is always the same bytes, and no field and no file can hold the line that would end it.

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

/// What every boundary begins with.
const BOUNDARY: &str = "zayavka-";

/// The file a part or a whole request carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried<'a> {
    /// What stands for its content.
    pub(super) mark: &'a str,
    pub(super) name: &'a str,
    pub(super) mime: &'a str,
    pub(super) sha256: &'a str,
}

/// One part.
#[derive(Debug, Clone)]
pub(super) struct Part<'a> {
    pub(super) name: String,
    pub(super) text: String,
    /// The file it is, whose mark is the text.
    pub(super) file: Option<Carried<'a>>,
}

impl<'a> Part<'a> {
    /// A part that is the file where its text is nothing but the file's mark.
    pub(super) fn new(name: String, text: String, file: Option<&Carried<'a>>) -> Self {
        let file = file.filter(|file| file.mark == text).copied();
        Self { name, text, file }
    }
}

/// A field's value as parts. What is no text is written as PHP and Rails read it: `name[key]`, `name[]`, and `name[0]`
/// for lists of lists and maps.
pub(super) fn flatten<'a>(name: String, value: Json, file: Option<&Carried<'a>>, into: &mut Vec<Part<'a>>) {
    match value {
        Json::Null => {}
        Json::String(text) => into.push(Part::new(name, text, file)),
        Json::Bool(_) | Json::Number(_) => into.push(Part::new(name, value.to_string(), file)),
        Json::Array(list) => {
            for (at, value) in list.into_iter().enumerate() {
                let place = if value.is_array() || value.is_object() { at.to_string() } else { String::new() };
                flatten(format!("{name}[{place}]"), value, file, into);
            }
        }
        Json::Object(map) => {
            for (key, value) in map {
                flatten(format!("{name}[{key}]"), value, file, into);
            }
        }
    }
}

/// The body and its media type.
pub(super) fn written(parts: &[Part<'_>]) -> (String, String) {
    let boundary = boundary(parts);
    // As browsers write it: what would end the quotes is percent-encoded.
    let quoted = |text: &str| text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let mut body = String::new();
    for part in parts {
        body.push_str(&format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&part.name)));
        if let Some(file) = &part.file {
            body.push_str(&format!("; filename=\"{}\"\r\nContent-Type: {}", quoted(file.name), file.mime));
        }
        body.push_str(&format!("\r\n\r\n{}\r\n", part.text));
    }
    body.push_str(&format!("--{boundary}--\r\n"));
    (body, format!("multipart/form-data; boundary={boundary}"))
}

fn boundary(parts: &[Part<'_>]) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.as_bytes());
        hash.update([0]);
    };
    for part in parts {
        add(&part.name);
        add(&part.text);
        if let Some(file) = &part.file {
            [file.name, file.mime, file.sha256].into_iter().for_each(&mut add);
        }
    }
    let hex: String = hash.finalize().iter().take(20).map(|byte| format!("{byte:02x}")).collect();
    format!("{BOUNDARY}{hex}")
}

/// The same body with one field more, in front; `None` where it is no body of parts. All else stays byte for byte.
pub(super) fn with_field(body: &str, name: &str, value: &str) -> Option<String> {
    // The fields of a form are percent-encoded and so have no line breaks: what begins so is never one.
    let (line, _) = body.split_once("\r\n").filter(|(line, _)| line.starts_with(&format!("--{BOUNDARY}")))?;
    let line = line.strip_suffix("--").unwrap_or(line);
    Some(format!("{line}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n{body}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn trees_become_fields_as_php_and_rails_read_them() {
        let mut parts = Vec::new();
        let value = json!({"id": 7, "on": true, "none": null, "tags": ["a", 2], "rows": [{"n": "x"}, ["y"]], "e": ""});
        flatten("case".to_owned(), value, None, &mut parts);
        let shown: Vec<_> = parts.iter().map(|part| format!("{}={}", part.name, part.text)).collect();
        let wanted =
            "case[id]=7 case[on]=true case[tags][]=a case[tags][]=2 case[rows][0][n]=x case[rows][1][]=y case[e]=";
        assert_eq!(
            shown.iter().map(String::as_str).collect::<std::collections::BTreeSet<_>>(),
            wanted.split(' ').collect()
        );
    }

    #[test]
    fn the_same_parts_are_the_same_bytes_and_another_file_is_another_boundary() {
        let file = Carried { mark: "M", name: "a\"b\r\n.pdf", mime: "application/pdf", sha256: "11" };
        let parts = |file: Carried<'static>| {
            vec![
                Part::new("subject".into(), "M and more".into(), Some(&file)),
                Part::new("f[1]".into(), "M".into(), Some(&file)),
            ]
        };
        let (body, kind) = written(&parts(file));
        assert_eq!((body.clone(), kind.clone()), written(&parts(file)));
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").expect("a boundary");
        assert_eq!(
            body,
            format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"subject\"\r\n\r\nM and more\r\n\
                 --{boundary}\r\nContent-Disposition: form-data; name=\"f[1]\"; filename=\"a%22b%0D%0A.pdf\"\r\n\
                 Content-Type: application/pdf\r\n\r\nM\r\n--{boundary}--\r\n"
            )
        );
        assert_ne!(kind, written(&parts(Carried { sha256: "12", ..file })).1);
        let more = with_field(&body, "api_token", "s").expect("parts");
        assert_eq!(
            more,
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"api_token\"\r\n\r\ns\r\n{body}")
        );
        let empty = with_field(&written(&[]).0, "api_token", "s").expect("parts");
        assert_eq!(empty.matches("--\r\n").count(), 1, "{empty}");
        assert_eq!(with_field("a=1", "api_token", "s"), None);
    }
}
