//! Every sentence a person reads, by key and language. Files are checked when loaded, so that saying one cannot fail.
//!
//! One text is one `section.key` of `templates/texts/<lang>.toml`; `{name}` is a placeholder, `{{` and `}}` are braces.
//! Arguments are put in as they are and never looked at again: an answer with braces stays an answer.

mod hint;
mod keys;
mod load;
mod pieces;
mod proof;
mod shape;

use std::collections::BTreeMap;

pub use keys::Key;
pub use load::{Sources, load};
use pieces::Pieces;
pub use shape::{Place, Proof};

/// Most UTF-16 units of the answer to a tap (Telegram's limit).
pub const LONGEST_TAP: usize = 200;

/// The texts of all languages.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    /// By language; each has every key, in the order of [`Key::ALL`].
    languages: BTreeMap<String, Vec<Pieces>>,
    default: String,
}

impl Texts {
    /// The text of a key with its arguments, in a language or else in the default one. Answers to taps are cut to
    /// what Telegram takes.
    #[must_use]
    pub fn say(&self, lang: &str, key: Key, args: &[(&str, &str)]) -> String {
        let table = self.languages.get(self.lang(Some(lang)));
        let Some(pieces) = table.and_then(|table| table.get(key as usize)) else {
            // Loading refuses an incomplete language: only an empty `Texts` (no language at all) comes here.
            return key.name().to_owned();
        };
        let text = pieces.fill(args);
        if key.place() == Place::Tap { cut(text, LONGEST_TAP) } else { text }
    }

    /// The language to speak to somebody whose Telegram says `code` (`ru`, `en-US`, …).
    #[must_use]
    pub fn lang(&self, code: Option<&str>) -> &str {
        let main = code.and_then(|code| code.split(['-', '_']).next()).unwrap_or("").to_lowercase();
        self.languages.get_key_value(&main).map_or(self.default.as_str(), |(lang, _)| lang)
    }

    /// The languages there are, by code.
    #[must_use]
    pub fn langs(&self) -> Vec<&str> {
        self.languages.keys().map(String::as_str).collect()
    }
}

/// At most `most` UTF-16 units, the last character `…` if anything was cut off.
fn cut(text: String, most: usize) -> String {
    if text.encode_utf16().count() <= most {
        return text;
    }
    let mut left = most.saturating_sub(1);
    let mut kept: String = text
        .chars()
        .take_while(|c| {
            let fits = c.len_utf16() <= left;
            left -= if fits { c.len_utf16() } else { 0 };
            fits
        })
        .collect();
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests;
