//! Outcome rules: what a status, a header or a place in the body means. The first rule that fits counts; where none
//! fits, nothing was proved.

use std::time::Duration;

use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;

use super::{path::JsonPath, template::Template};

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// A ticket was made, or the one made before was named (create only).
    Created,
    /// The key is there already (create only).
    Exists,
    /// An earlier request with this key is still running (create only).
    InFlight,
    /// The content was refused for good (create only).
    Refused,
    /// The credentials were refused; nothing was done.
    Auth,
    /// Too many requests; nothing was done.
    Throttled,
    /// Nothing was done, by the CRM's own word.
    NotExecuted,
    /// The key was used with another content before (create only).
    KeyMismatch,
    /// The answer to the question asked (reads only).
    Answer,
    /// There is no such record (reads only).
    NotFound,
    /// Nothing is proved, said aloud so that a later, wider rule does not take it.
    Ambiguous,
}

/// The words of a create's rules.
pub const CREATE_WORDS: &[(&str, Verdict)] = &[
    ("created", Verdict::Created),
    ("exists", Verdict::Exists),
    ("in_flight", Verdict::InFlight),
    ("refused", Verdict::Refused),
    ("auth", Verdict::Auth),
    ("throttled", Verdict::Throttled),
    ("not_executed", Verdict::NotExecuted),
    ("key_mismatch", Verdict::KeyMismatch),
    ("ambiguous", Verdict::Ambiguous),
];

/// The words of a read's rules.
pub const READ_WORDS: &[(&str, Verdict)] = &[
    ("answer", Verdict::Answer),
    ("not_found", Verdict::NotFound),
    ("auth", Verdict::Auth),
    ("throttled", Verdict::Throttled),
    ("ambiguous", Verdict::Ambiguous),
];

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Which statuses it looks at.
    pub status: StatusSet,
    /// What must all hold.
    pub conditions: Vec<Condition>,
    /// What it then means.
    pub verdict: Verdict,
    /// How long to wait where the answer itself does not say.
    pub wait: Option<Duration>,
}

/// One thing that must hold of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// What is looked at.
    pub subject: Subject,
    /// What must hold of it.
    pub test: Test,
}

/// What a condition looks at.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A path into the JSON body; a body that is no JSON has nothing at any path.
    Path(JsonPath),
    /// A header, by its name in lower case.
    Header(String),
    /// The body as text.
    Body,
}

/// What must hold; of several values at a path, one is enough.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// There is something, also null or empty; or there is nothing.
    Exists(bool),
    /// It equals this text (rendered), number or truth value.
    Equals(Wanted),
    /// It equals one of these.
    OneOf(Vec<Wanted>),
    /// Its text fits the pattern somewhere.
    Matches(Pattern),
    /// Its text contains this.
    Contains(Template),
}

/// A value a condition compares with.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// Text, also against a number with these digits.
    Text(Template),
    /// A number, true or false as it stands.
    Fixed(Json),
}

/// A set of HTTP statuses.
#[derive(Clone, PartialEq, Eq)]
pub struct StatusSet([u64; 8]);

impl std::fmt::Debug for StatusSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries((FIRST..=LAST).filter(|&status| self.contains(status))).finish()
    }
}

const FIRST: u16 = 100;
const LAST: u16 = 599;

impl StatusSet {
    /// No status.
    #[must_use]
    pub fn empty() -> Self {
        Self([0; 8])
    }

    /// Adds `from..=to`; statuses no HTTP answer has are left out.
    pub fn insert(&mut self, from: u16, to: u16) {
        for status in from.max(FIRST)..=to.min(LAST) {
            let at = usize::from(status - FIRST);
            if let Some(word) = self.0.get_mut(at / 64) {
                *word |= 1 << (at % 64);
            }
        }
    }

    /// Whether a status is in it.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        if !(FIRST..=LAST).contains(&status) {
            return false;
        }
        let at = usize::from(status - FIRST);
        self.0.get(at / 64).is_some_and(|word| word & (1 << (at % 64)) != 0)
    }

    /// Whether all of `other` is in it.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| theirs & !mine == 0)
    }

    /// Both together.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for (mine, theirs) in all.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
        all
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = self.clone();
        for (mine, theirs) in both.0.iter_mut().zip(other.0) {
            *mine &= theirs;
        }
        both
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

/// A regular expression that knows its source. Matching takes time linear in the text, so untrusted text is safe.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: String,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Pattern {
    /// A pattern that may fit anywhere in a text.
    ///
    /// # Errors
    /// It is no regular expression, or a huge one.
    pub fn anywhere(source: &str) -> Result<Self, String> {
        Self::compile(source, source)
    }

    /// A pattern the whole text must fit.
    ///
    /// # Errors
    /// It is no regular expression, or a huge one.
    pub fn whole(source: &str) -> Result<Self, String> {
        Self::compile(source, &format!(r"\A(?:{source})\z"))
    }

    fn compile(source: &str, text: &str) -> Result<Self, String> {
        let build = |text: &str| {
            RegexBuilder::new(text).size_limit(1 << 18).build().map_err(|error| {
                // The library draws several lines; the last one says what is wrong.
                let said = error.to_string();
                let last = said.lines().last().unwrap_or("no regular expression").trim();
                last.trim_start_matches("error: ").to_owned()
            })
        };
        // First as it stands: `a)|(b` must not become whole by what is put around it.
        build(source)?;
        Ok(Self { source: source.to_owned(), regex: build(text)? })
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the text fits.
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The first group of the first match, or the whole match where there is no group.
    #[must_use]
    pub fn cut<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.regex.captures(text)?;
        found.get(1).or_else(|| found.get(0)).map(|part| part.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(from: u16, to: u16) -> StatusSet {
        let mut set = StatusSet::empty();
        set.insert(from, to);
        set
    }

    #[test]
    fn status_sets_know_what_they_cover() {
        let success = set(200, 299);
        assert!(success.contains(200) && success.contains(299) && !success.contains(300) && !success.contains(199));
        assert!(success.covers(&set(201, 201)) && !set(201, 201).covers(&success));
        assert!(set(200, 249).union(&set(250, 299)).covers(&success));
        assert!(!success.contains(0) && !success.contains(u16::MAX) && set(1, 99).is_empty());
        assert!(set(0, u16::MAX).contains(599));
    }

    #[test]
    fn a_whole_pattern_lets_nothing_stand_around_it() {
        let number = Pattern::whole("[0-9]{1,9}|N").expect("a pattern");
        for text in ["1", "123456789", "N"] {
            assert!(number.fits(text), "{text}");
        }
        for text in ["", "1\n", " 1", "1234567890", "N1", "１"] {
            assert!(!number.fits(text), "{text:?}");
        }
        assert!(
            Pattern::whole("(").is_err()
                && Pattern::whole("a)|(?:b").is_err()
                && Pattern::anywhere("a{9999999}").is_err()
        );
        assert_eq!(Pattern::anywhere(r"ID: (\d+)").expect("a pattern").cut("Existing ID: 77."), Some("77"));
        assert_eq!(Pattern::anywhere(r"\d+$").expect("a pattern").cut("/tickets/78"), Some("78"));
    }
}
