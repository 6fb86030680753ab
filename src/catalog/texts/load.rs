//! Reads text files and refuses what must not be said.

use std::collections::BTreeMap;

use super::{LONGEST_TAP, Texts, keys::Key, pieces::Pieces, proof, shape::Place};
use crate::{
    catalog::problem::Problems,
    config::{
        nearest, places,
        reader::{Document, Item},
    },
    domain::blank,
};

/// Most UTF-16 units of a message's own words: what is put into it must fit into Telegram's 4096 too.
const LONGEST_MESSAGE: usize = 3500;
/// Most characters of a button.
const LONGEST_BUTTON: usize = 64;
/// How long an argument may be taken to be where the whole must fit a tap's answer.
const ARGUMENT: usize = 24;
/// So many missing texts are told one by one; more would bury every other mistake.
const MISSING_ONE_BY_ONE: usize = 20;
/// The submit button's words are the contract's: people, scripts and pages find it by them.
const SUBMIT: (&str, &str) = ("ru", "Отправить заявку");

/// Text files by language: each file's name and content.
pub type Sources = BTreeMap<String, (String, String)>;

/// Texts from the files that ship; a file of the operator's `own` replaces the one of its language, whole. `default` is the
/// default language, with the place that names it. What is wrong is added to `problems`; with an error in any file there
/// are no texts.
#[must_use]
pub fn load(
    shipped: &Sources,
    own: &Sources,
    default: (&str, places::Place),
    problems: &mut Problems,
) -> Option<Texts> {
    let mut languages: BTreeMap<String, Vec<Pieces>> = BTreeMap::new();
    let mut sound = true;
    let replaced = shipped.iter().filter(|(lang, _)| !own.contains_key(*lang));
    for (lang, (file, text)) in replaced.chain(own) {
        let document = Document::parse(file, text);
        let table = language(&document, lang);
        sound &= !document.has_errors();
        problems.append(document.into_problems());
        languages.insert(lang.clone(), table);
    }
    let (default, (file, line)) = default;
    if !languages.contains_key(default) {
        let known: Vec<&str> = languages.keys().map(String::as_str).collect();
        let what = format!("there is no file of texts for the default language `{default}`");
        let hint =
            format!("there are: {}; a further one is texts/{default}.toml in the templates folder", known.join(", "));
        problems.error(file, line, what, hint);
        sound = false;
    }
    sound.then(|| Texts { languages, default: default.to_owned() })
}

/// All texts of one file, in the order of [`Key::ALL`]. What is missing or wrong is recorded.
fn language(document: &Document<'_>, lang: &str) -> Vec<Pieces> {
    let root = document.root();
    let mut sections = BTreeMap::new();
    for key in Key::ALL {
        let (section, _) = key.split();
        sections.entry(section).or_insert_with(|| root.table_or_empty(section));
    }
    let mut table = Vec::with_capacity(Key::ALL.len());
    let mut missing = Vec::new();
    for key in Key::ALL {
        let (section_name, name) = key.split();
        let item = sections.get(section_name).and_then(|section| section.take(name));
        if item.is_none() {
            missing.push(*key);
        }
        table.push(item.and_then(|item| text(&item, *key, lang)).unwrap_or_default());
    }
    if missing.len() <= MISSING_ONE_BY_ONE {
        for key in missing {
            let (section, name) = key.split();
            if let Some(section) = sections.get(section) {
                section.missing(name, format!("a text with {}", args_hint(key)));
            }
        }
    } else if !document.is_broken() {
        let names: Vec<&str> = missing.iter().map(|key| key.name()).collect();
        let what = format!("{} texts are missing: {}", names.len(), names.join(", "));
        document.error_at(None, what, "begin with a copy of the file that ships, and change what you want");
    }
    for (_, section) in sections {
        section.finish();
    }
    root.finish();
    table
}

fn args_hint(key: Key) -> String {
    let names: Vec<String> = key.args().iter().map(|arg| format!("{{{}}}", arg.trim_end_matches('?'))).collect();
    if names.is_empty() { "no placeholder".to_owned() } else { names.join(", ") }
}

/// One text, checked against what its key allows.
fn text(item: &Item<'_>, key: Key, lang: &str) -> Option<Pieces> {
    let text = item.string()?;
    let pieces = match Pieces::parse(&text) {
        Ok(pieces) => pieces,
        Err(what) => {
            item.error(format!("`{}`: {what}", item.label()), "{name} is a placeholder; a brace itself is {{ or }}");
            return None;
        }
    };
    if blank::is_blank(&text) && key != Key::CardCreatedLink {
        item.error(format!("`{}` shows nothing", item.label()), "write what the person should read");
    }
    placeholders(item, key, &pieces);
    length(item, key, &text, &pieces);
    let has_number = pieces.placeholders().any(|name| name == "number");
    if let Some(what) = proof::overclaim(&pieces.words(), key.proves(), has_number) {
        item.error(format!("`{}`: {what}", item.label()), "say what is known in this state, and nothing more");
    }
    if key == Key::DialogSubmitButton && lang == SUBMIT.0 && text != SUBMIT.1 {
        item.error(format!("`{}` must be «{}»", item.label(), SUBMIT.1), "scripts and pages find the button by it");
    }
    Some(pieces)
}

fn placeholders(item: &Item<'_>, key: Key, pieces: &Pieces) {
    let allowed: Vec<&str> = key.args().iter().map(|arg| arg.trim_end_matches('?')).collect();
    for name in pieces.placeholders() {
        if !allowed.contains(&name) {
            let hint = nearest::hint(name, allowed.iter().copied());
            let hint = if hint.is_empty() { "this text has no placeholders".to_owned() } else { hint };
            item.error(format!("`{}`: unknown placeholder {{{name}}}", item.label()), hint);
        }
    }
    for name in key.args().iter().filter(|arg| !arg.ends_with('?')) {
        if !pieces.placeholders().any(|used| used == *name) {
            item.error(format!("`{}`: {{{name}}} is missing", item.label()), "the person needs it here");
        }
    }
}

fn length(item: &Item<'_>, key: Key, text: &str, pieces: &Pieces) {
    let units = text.encode_utf16().count();
    let with_args = pieces.words().encode_utf16().count() + ARGUMENT * pieces.placeholders().count();
    let (length, most, unit) = match key.place() {
        Place::Message => (units, LONGEST_MESSAGE, "UTF-16 units"),
        Place::Tap => (with_args, LONGEST_TAP, "UTF-16 units, arguments included"),
        Place::Button => (text.chars().count(), LONGEST_BUTTON, "characters"),
    };
    if length > most {
        item.error(format!("`{}` is too long: {length}", item.label()), format!("at most {most} {unit}"));
    }
}
