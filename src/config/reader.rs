//! A TOML file read with places: each mistake is recorded with its line, and reading goes on to find the next one.
//!
//! A [`Document`] is parsed once; a [`Section`] is one of its tables. A key that is asked for counts as known, and
//! [`Section::finish`] reports the keys nobody asked for. An [`Item`] is one value that knows its name and place.
//!
//! ```
//! use zayavka::config::reader::Document;
//!
//! let document = Document::parse("shop.toml", "name = 'Tea'\nprise = 3\n");
//! let shop = document.root();
//! assert_eq!(shop.string("name").as_deref(), Some("Tea"));
//! assert_eq!(shop.int("price", 0..=100), None);
//! shop.finish();
//! assert_eq!(document.into_problems().to_string(), "shop.toml:2: unknown key `prise` — did you mean `price`?");
//! ```

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    ops::{Range, RangeInclusive},
    time::Duration,
};

use toml::{Spanned, de::DeTable};

pub use super::item::Item;
use super::{
    item::Raw,
    nearest,
    overlay::Overlay,
    places::{Place, Places},
    problem::{Problem, Problems, Severity},
};

/// How many mistakes of syntax are told one by one.
const SYNTAX_ERRORS: usize = 5;

/// One parsed file and the mistakes found in it so far.
#[derive(Debug)]
pub struct Document<'t> {
    file: String,
    text: &'t str,
    root: Spanned<DeTable<'t>>,
    overlay: Overlay,
    /// The text itself is broken: what seems missing may be in the part that could not be read.
    broken: bool,
    /// The lines with broken syntax: what is read there is not what was meant.
    broken_lines: BTreeSet<u32>,
    places: RefCell<BTreeMap<String, Place>>,
    problems: RefCell<Problems>,
}

impl<'t> Document<'t> {
    /// Parses `text`; syntax errors become problems and what could be read is kept.
    #[must_use]
    pub fn parse(file: &str, text: &'t str) -> Self {
        Self::with_overlay(file, text, Overlay::default())
    }

    /// The same with environment variables over it.
    #[must_use]
    pub fn with_overlay(file: &str, text: &'t str, overlay: Overlay) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (root, errors) = DeTable::parse_recoverable(text);
        let mut document = Self {
            file: file.to_owned(),
            text,
            root,
            overlay,
            broken: !errors.is_empty(),
            broken_lines: BTreeSet::new(),
            places: RefCell::default(),
            problems: RefCell::default(),
        };
        for error in errors.iter().take(SYNTAX_ERRORS) {
            // Only the message: the error's own display quotes the line, and a line may hold a secret.
            document.error_at(error.span(), format!("not valid TOML: {}", error.message()), "");
        }
        if let Some(next) = errors.get(SYNTAX_ERRORS) {
            // One quote too few makes every line after it look wrong.
            let what = format!("not valid TOML from here on: {} more such mistakes", errors.len() - SYNTAX_ERRORS);
            document.error_at(next.span(), what, "mend the first one, the others may be gone then");
        }
        let lines = errors.iter().filter_map(toml::de::Error::span).map(|span| document.place(span.start).0);
        document.broken_lines = lines.collect();
        document
    }

    /// The whole file as a section.
    #[must_use]
    pub fn root(&self) -> Section<'_> {
        Section {
            document: self,
            path: String::new(),
            span: None,
            table: Some(self.root.get_ref()),
            taken: RefCell::default(),
        }
    }

    /// The file's name as given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Line and column, from 1, of a byte offset in the text.
    #[must_use]
    pub fn place(&self, offset: usize) -> (u32, u32) {
        let before = self.text.get(..offset.min(self.text.len())).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }

    /// The start of a line (from 1) of the string written at `span`; the span's own start where there is no such line.
    pub(super) fn line_within(&self, span: Range<usize>, line: usize) -> Range<usize> {
        let written = self.text.get(span.clone()).unwrap_or_default();
        // A line break right after the opening quotes is not part of the string.
        let opened = ["\"\"\"\n", "'''\n", "\"\"\"\r\n", "'''\r\n"].iter().any(|open| written.starts_with(open));
        let skipped = (line + usize::from(opened)).saturating_sub(1);
        let start = match skipped {
            0 => Some(0),
            _ => written.match_indices('\n').nth(skipped - 1).map(|(at, _)| at + 1),
        };
        start.map_or(span.clone(), |start| span.start + start..span.end)
    }

    /// Records an error at a byte range of the text, or for the file as a whole.
    pub fn error_at(&self, span: Option<Range<usize>>, what: impl Into<String>, hint: impl Into<String>) {
        self.record(Severity::Error, span, what.into(), hint.into());
    }

    /// Records a warning at a byte range of the text, or for the file as a whole.
    pub fn warning_at(&self, span: Option<Range<usize>>, what: impl Into<String>, hint: impl Into<String>) {
        self.record(Severity::Warning, span, what.into(), hint.into());
    }

    fn record(&self, severity: Severity, span: Option<Range<usize>>, what: String, hint: String) {
        // A value that stands nowhere was put in the place of one that could not be read.
        let nowhere = span.as_ref().is_some_and(Range::is_empty);
        let place = span.map(|span| self.place(span.start));
        let (line, column) = (place.map(|p| p.0), place.map(|p| p.1));
        if line.is_some_and(|line| self.broken_lines.contains(&line)) || (nowhere && !self.broken_lines.is_empty()) {
            return;
        }
        self.problems.borrow_mut().0.push(Problem { severity, file: self.file.clone(), line, column, what, hint });
    }

    pub(super) fn problems(&self) -> &RefCell<Problems> {
        &self.problems
    }

    /// Whether the text is no TOML at all: then nothing more is said of what is in it.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    pub(super) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// Where every key was found that was asked for so far.
    #[must_use]
    pub fn places(&self) -> Places {
        Places::new(&self.file, self.places.borrow().clone())
    }

    /// The dotted names of all keys asked for so far, there or not.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.overlay.asked()
    }

    /// Whether an error was recorded so far.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.problems.borrow().has_errors()
    }

    /// Everything recorded, in reading order, with the environment variables that no key asked for.
    #[must_use]
    pub fn into_problems(self) -> Problems {
        let mut problems = self.problems.into_inner();
        self.overlay.report_unasked(&mut problems);
        problems.sort();
        problems
    }
}

/// One table of a document, also one that is not there (then every key of it is absent).
#[derive(Debug)]
pub struct Section<'d> {
    document: &'d Document<'d>,
    path: String,
    span: Option<Range<usize>>,
    table: Option<&'d DeTable<'d>>,
    taken: RefCell<BTreeSet<String>>,
}

impl<'d> Section<'d> {
    pub(super) fn of(
        document: &'d Document<'d>,
        path: String,
        span: Option<Range<usize>>,
        table: Option<&'d DeTable<'d>>,
    ) -> Self {
        Self { document, path, span, table, taken: RefCell::default() }
    }

    /// The dotted name of this table, empty for the whole file.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The document this section is part of.
    #[must_use]
    pub fn document(&self) -> &'d Document<'d> {
        self.document
    }

    /// Where the table is written; absent for the whole file and for a table that is not there.
    #[must_use]
    pub fn span(&self) -> Option<Range<usize>> {
        self.span.clone()
    }

    /// The line of the table, from 1.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.span.as_ref().map(|span| self.document.place(span.start).0)
    }

    /// The keys that are there, in the order of the file, with those from the environment last.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let mut placed: Vec<_> =
            self.table.into_iter().flatten().map(|(key, _)| (key.span().start, key.get_ref().to_string())).collect();
        placed.sort();
        let mut keys: Vec<String> = placed.into_iter().map(|(_, key)| key).collect();
        for key in self.document.overlay().keys_under(&self.path) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// The value of a key, whatever its type; the key counts as known from now on.
    #[must_use]
    pub fn take(&self, key: &str) -> Option<Item<'d>> {
        self.taken.borrow_mut().insert(key.to_owned());
        let label = self.label(key);
        let raw = match self.document.overlay().get(&label) {
            Some((name, text)) => Raw::Env { name, text },
            None => Raw::File(self.table?.get(key)?),
        };
        let item = Item::new(self.document, label, raw);
        self.document.places.borrow_mut().insert(item.label().to_owned(), item.place());
        Some(item)
    }

    /// Whether the key is there, whatever its value.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.take(key).is_some()
    }

    /// A string of the file, without a word if it is something else; whether the key is known here does not change.
    #[must_use]
    pub fn peek(&self, key: &str) -> Option<String> {
        self.table?.get(key)?.get_ref().as_str().map(str::to_owned)
    }

    /// Counts every key as known: for a table that makes no sense as a whole.
    pub fn take_all(&self) {
        self.taken.borrow_mut().extend(self.keys());
    }

    /// Every key with its value, for tables whose keys are free.
    #[must_use]
    pub fn items(&self) -> Vec<(String, Item<'d>)> {
        self.keys().into_iter().filter_map(|key| self.take(&key).map(|item| (key, item))).collect()
    }

    /// A string.
    #[must_use]
    pub fn string(&self, key: &str) -> Option<String> {
        self.take(key)?.string()
    }

    /// A string that must be there.
    #[must_use]
    pub fn required_string(&self, key: &str, hint: &str) -> Option<String> {
        let item = self.take(key);
        if item.is_none() {
            self.missing(key, hint);
        }
        item?.string()
    }

    /// A whole number within `range`.
    #[must_use]
    pub fn int(&self, key: &str, range: RangeInclusive<i64>) -> Option<i64> {
        self.take(key)?.int(range)
    }

    /// `true` or `false`.
    #[must_use]
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.take(key)?.bool()
    }

    /// A duration within `range`.
    #[must_use]
    pub fn duration(&self, key: &str, range: RangeInclusive<Duration>) -> Option<Duration> {
        self.take(key)?.duration(range)
    }

    /// One of a few words, by what each means.
    #[must_use]
    pub fn one_of<T: Clone>(&self, key: &str, words: &[(&str, T)]) -> Option<T> {
        self.take(key)?.one_of(words)
    }

    /// A list of strings.
    #[must_use]
    pub fn strings(&self, key: &str) -> Option<Vec<String>> {
        Some(self.take(key)?.items()?.iter().filter_map(Item::string).collect())
    }

    /// A list of whole numbers, each within `range`.
    #[must_use]
    pub fn ints(&self, key: &str, range: RangeInclusive<i64>) -> Option<Vec<i64>> {
        Some(self.take(key)?.items()?.iter().filter_map(|item| item.int(range.clone())).collect())
    }

    /// A table inside this one, if it is there.
    #[must_use]
    pub fn table(&self, key: &str) -> Option<Section<'d>> {
        self.take(key)?.section()
    }

    /// A table inside this one; one that is not there reads as empty (the environment may still fill it).
    #[must_use]
    pub fn table_or_empty(&self, key: &str) -> Section<'d> {
        self.table(key).unwrap_or_else(|| Self::of(self.document, self.label(key), None, None))
    }

    /// An array of tables (`[[key]]`); empty if it is not there.
    #[must_use]
    pub fn tables(&self, key: &str) -> Vec<Section<'d>> {
        let items = self.take(key).and_then(|item| item.items()).unwrap_or_default();
        items.iter().filter_map(Item::section).collect()
    }

    /// Records that a key which must be there is not.
    pub fn missing(&self, key: &str, hint: impl Into<String>) {
        if !self.document.is_broken() {
            self.document.error_at(self.span(), format!("`{}` is missing", self.label(key)), hint);
        }
    }

    /// Records an error at a key of this table, or at the table if the key is not there.
    pub fn error(&self, key: &str, what: impl Into<String>, hint: impl Into<String>) {
        match self.take(key) {
            Some(item) => item.error(what, hint),
            None if self.document.is_broken() => {}
            None => self.document.error_at(self.span(), what, hint),
        }
    }

    /// Records something to look at, at a key of this table, or at the table if the key is not there.
    pub fn warning(&self, key: &str, what: impl Into<String>, hint: impl Into<String>) {
        match self.take(key) {
            Some(item) => item.warning(what, hint),
            None if self.document.is_broken() => {}
            None => self.document.warning_at(self.span(), what, hint),
        }
    }

    /// Reports every key of this table that nobody asked for.
    pub fn finish(self) {
        let taken = self.taken.borrow();
        for (key, _) in self.table.into_iter().flatten() {
            if !taken.contains(key.get_ref().as_ref()) {
                let place = if self.path.is_empty() { String::new() } else { format!(" in [{}]", self.path) };
                let hint = nearest::hint(key.get_ref(), taken.iter().map(String::as_str));
                self.document.error_at(Some(key.span()), format!("unknown key `{}`{place}", key.get_ref()), hint);
            }
        }
    }

    fn label(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(text: &str, read: impl Fn(&Section<'_>)) -> String {
        let document = Document::parse("f.toml", text);
        let root = document.root();
        read(&root);
        root.finish();
        document.into_problems().to_string()
    }

    #[test]
    fn every_mistake_is_reported_with_its_line() {
        let text = "\u{feff}name = 3\ncount = 900\nwait = \"10\"\nlist = ['a', 2]\nmode = 'fast'\nflag = 'yes'\n\n[inner]\nlabl = 'x'\n";
        let said = problems_of(text, |root| {
            let _ = root.required_string("name", "");
            let _ = root.int("count", 1..=256);
            let _ = root.duration("wait", Duration::ZERO..=Duration::from_secs(60));
            let _ = root.strings("list");
            let _ = root.one_of("mode", &[("first", 1), ("last", 2)]);
            let _ = root.bool("flag");
            let _ = root.required_string("token", "put it in");
            let inner = root.table_or_empty("inner");
            let _ = inner.string("label");
            inner.finish();
        });
        insta::assert_snapshot!(said, @r#"
        f.toml: `token` is missing — put it in
        f.toml:1: `name` must be a string (in quotes), this is a whole number
        f.toml:2: `count` is 900, out of range — 1 to 256
        f.toml:3: `wait` is not a duration: `10` — a whole number and a unit in quotes: "500ms", "10s", "5m", "3h", "90d"
        f.toml:4: `list[2]` must be a string (in quotes), this is a whole number
        f.toml:5: `mode` cannot be `fast` — did you mean `last`?
        f.toml:6: `flag` must be true or false, this is a string
        f.toml:9: unknown key `labl` in [inner] — did you mean `label`?
        "#);
    }

    #[test]
    fn syntax_errors_come_with_their_lines_and_hide_no_other_mistake() {
        let text = "token = \"123:SECRET\nname = 1\ncount =\n[a]\nx = 1\nx = 2\n[[b]\n";
        let said = problems_of(text, |root| {
            let _ = root.required_string("name", "");
            let _ = root.required_string("gone", "");
            let _ = root.take("token");
            let _ = root.take("count");
            let _ = root.take("a");
            let _ = root.take("b");
        });
        assert!(!said.contains("SECRET"), "{said}");
        insta::assert_snapshot!(said, @r#"
        f.toml:1: not valid TOML: invalid basic string, expected `"`
        f.toml:2: `name` must be a string (in quotes), this is a whole number
        f.toml:3: not valid TOML: string values must be quoted, expected literal string
        f.toml:6: not valid TOML: duplicate key
        f.toml:7: not valid TOML: unclosed array table, expected `]`
        "#);
    }

    #[test]
    fn of_a_value_that_could_not_be_read_only_its_syntax_is_told() {
        let said = problems_of("name = 1\n[a]\nburst = = 10\nother = 900\n", |root| {
            let _ = root.string("name");
            let a = root.table_or_empty("a");
            let _ = a.int("burst", 1..=100);
            let _ = a.int("other", 1..=100);
        });
        insta::assert_snapshot!(said, @r#"
        f.toml:1: `name` must be a string (in quotes), this is a whole number
        f.toml:3: not valid TOML: extra `=`, expected nothing
        f.toml:3: not valid TOML: unexpected key or value, expected newline, `#`
        f.toml:4: `a.other` is 900, out of range — 1 to 100
        "#);
    }

    #[test]
    fn the_environment_wins_and_its_mistakes_name_the_variable() {
        let env = BTreeMap::from(
            [
                ("ZAYAVKA_A__COUNT", "7"),
                ("ZAYAVKA_A__IDS", "1, 2,x"),
                ("ZAYAVKA_A__COUTN", "7"),
                ("ZAYAVKA_TEST_URL", "left alone"),
                ("HOME", "/"),
            ]
            .map(|(k, v)| (k.to_owned(), v.to_owned())),
        );
        let document = Document::with_overlay("f.toml", "[a]\ncount = 1\n", Overlay::new(&env));
        let a = document.root().table_or_empty("a");
        assert_eq!(a.int("count", 0..=9), Some(7));
        assert_eq!(a.ints("ids", 0..=9), Some(vec![1, 2]));
        a.finish();
        insta::assert_snapshot!(document.into_problems().to_string(), @r"
        environment: ZAYAVKA_A__COUTN is no known key — did you mean ZAYAVKA_A__COUNT?
        environment ZAYAVKA_A__IDS: `a.ids[3]` is not a whole number we can hold — 0 to 9
        ");
    }

    #[test]
    fn one_quote_too_few_is_not_told_a_hundred_times() {
        let text = format!("open = {{ a = 1\n{}", "key = \"value\"\n".repeat(100));
        let said = Document::parse("f.toml", &text).into_problems().to_string();
        assert_eq!(said.lines().count(), 6, "{said}");
        assert!(said.contains("not valid TOML from here on: ") && said.contains("mend the first one"), "{said}");
    }
}
