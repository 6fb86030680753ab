//! A file somebody attached: what Telegram calls it, never its bytes.

use serde::{Deserialize, Serialize};

use super::blank;

/// Most files of one question, and of one ticket's question with several: an album holds as many.
pub const MOST_FILES: u32 = 10;
/// The largest file the Bot API lets a bot read, in megabytes. Source: Bot API, `getFile`.
pub const LARGEST_FILE: u32 = 20;
/// Bytes of a megabyte, as Telegram counts.
pub const MEGABYTE: u64 = 1 << 20;
/// Most characters kept of a file's name.
const LONGEST_NAME: usize = 100;

/// A file as Telegram names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What the file is asked for by; good for this bot only.
    pub file_id: String,
    /// What tells that two are the same file.
    pub unique_id: String,
    /// Its cleaned name; absent for a photo, which has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its size in bytes, if Telegram says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its media type, as the sender's device claims.
    pub mime: String,
}

impl Attachment {
    /// What it is called for people; `photo` is the word for one without a name.
    #[must_use]
    pub fn label<'a>(&'a self, photo: &'a str) -> &'a str {
        self.name.as_deref().unwrap_or(photo)
    }

    /// What it is called as the n-th file of a ticket, counted from 1.
    #[must_use]
    pub fn file_name(&self, n: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("photo_{n}.jpg"))
    }

    /// Whether its type is one of these (`image/*`, `application/pdf`); any will do where there are none.
    #[must_use]
    pub fn is_one_of(&self, types: &[String]) -> bool {
        types.is_empty()
            || types.iter().any(|wanted| match wanted.strip_suffix('*') {
                Some(kind) => self.mime.starts_with(kind),
                None => self.mime == *wanted,
            })
    }

    /// Whether it is known to be larger than so many megabytes.
    #[must_use]
    pub fn is_larger_than(&self, megabytes: u32) -> bool {
        self.size.is_some_and(|size| size > u64::from(megabytes) * MEGABYTE)
    }
}

/// Why a file is not with its ticket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOut {
    /// The CRM takes no files.
    NotTaken,
    /// More than the CRM takes.
    TooMany,
    /// Larger than may be sent.
    TooLarge,
    /// Of a type the CRM does not take.
    WrongType,
    /// Nobody has it any more.
    Gone,
    /// It could not be fetched or handed over in time.
    #[default]
    Unreachable,
    /// The CRM refused it.
    Refused,
    /// Its answer was lost: it may be there.
    Unsure,
}

impl LeftOut {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::NotTaken,
        Self::TooMany,
        Self::TooLarge,
        Self::WrongType,
        Self::Gone,
        Self::Unreachable,
        Self::Refused,
        Self::Unsure,
    ];

    /// The word in the database and the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotTaken => "not_taken",
            Self::TooMany => "too_many",
            Self::TooLarge => "too_large",
            Self::WrongType => "wrong_type",
            Self::Gone => "gone",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Unsure => "unsure",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.name() == word)
    }
}

/// The names of files, one after another.
#[must_use]
pub fn names(files: &[Attachment]) -> String {
    let names: Vec<_> = files.iter().enumerate().map(|(at, file)| file.file_name(at + 1)).collect();
    names.join(", ")
}

/// A name that is safe to show and to send: no folders, nothing invisible, not too long, its ending kept.
#[must_use]
pub fn clean_name(given: &str) -> Option<String> {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let visible: String = last
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| *c == ' ' || (!blank::is_invisible(*c) && !"\"<>|:*?".contains(*c)))
        .collect();
    let visible = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = visible.trim_matches(|c: char| c == ' ' || c == '.');
    if name.is_empty() {
        return None;
    }
    let length = name.chars().count();
    if length <= LONGEST_NAME {
        return Some(name.to_owned());
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| ending.chars().count() <= 10);
    let ending = ending.map(|ending| format!(".{ending}")).unwrap_or_default();
    let kept = LONGEST_NAME - ending.chars().count();
    Some(name.chars().take(kept).chain(ending.chars()).collect())
}

/// A media type in small letters; whatever is none is unknown bytes.
#[must_use]
pub fn clean_mime(given: Option<&str>) -> String {
    let given = given.unwrap_or_default().trim().to_ascii_lowercase();
    if is_mime(&given) && !given.ends_with('*') { given } else { "application/octet-stream".to_owned() }
}

/// Whether a text is a media type (RFC 6838), or all of a kind: `image/*`.
#[must_use]
pub fn is_mime(text: &str) -> bool {
    let word = |part: &str| {
        (1..=64).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"!#$&^_.+-".contains(&b))
    };
    text.split_once('/').is_some_and(|(kind, sub)| word(kind) && (sub == "*" || word(sub)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_outside_becomes_one_that_can_be_shown() {
        for (given, kept) in [
            ("паспорт.jpg", Some("паспорт.jpg")),
            ("../../etc/passwd", Some("passwd")),
            ("C:\\Users\\a\\скан.pdf", Some("скан.pdf")),
            ("a\r\nX-Evil: 1.pdf", Some("a X-Evil 1.pdf")),
            ("счёт\u{202e}fdp.exe", Some("счётfdp.exe")),
            ("\"quoted\".txt", Some("quoted.txt")),
            ("...", None),
            ("", None),
        ] {
            assert_eq!(clean_name(given).as_deref(), kept, "{given:?}");
        }
        let long = clean_name(&format!("{}.docx", "я".repeat(300))).unwrap();
        assert!(long.chars().count() == 100 && long.ends_with("я.docx"), "{long}");
    }

    #[test]
    fn types_fit_as_a_whole_or_by_kind() {
        let file = |mime: &str| Attachment {
            file_id: "f".into(),
            unique_id: "u".into(),
            name: None,
            size: Some(3 * MEGABYTE + 1),
            mime: clean_mime(Some(mime)),
        };
        let types = ["image/*".to_owned(), "application/pdf".to_owned()];
        assert!(file("image/png").is_one_of(&types) && file("Application/PDF").is_one_of(&types));
        assert!(!file("text/html").is_one_of(&types) && !file("imagex/png").is_one_of(&types));
        assert!(file("text/html").is_one_of(&[]));
        assert_eq!(file("no type").mime, "application/octet-stream");
        assert_eq!(file("image/*").mime, "application/octet-stream");
        assert!(file("image/png").is_larger_than(3) && !file("image/png").is_larger_than(4));
    }
}
