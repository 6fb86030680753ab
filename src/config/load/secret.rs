//! Secrets: written in place, or read from the file that `<key>_file` names (as containers and systemd hand them out).

use std::{collections::BTreeMap, path::Path};

use secrecy::SecretString;

use crate::config::{
    files,
    problem::Problems,
    reader::{Item, Section},
};

const FILE: &str = "_file";

/// The secret under `key`, or in the file that `<key>_file` names. A variable wins over the file's own keys.
pub(super) fn secret(section: &Section<'_>, key: &str) -> Option<SecretString> {
    let (inline, named) = (section.take(key), section.take(&format!("{key}{FILE}")));
    match (inline, named) {
        (Some(inline), Some(named)) if inline.is_env() == named.is_env() => {
            named.error(format!("`{}` and `{}` are both set", inline.label(), named.label()), "keep one of them");
            None
        }
        (Some(inline), Some(named)) if named.is_env() => from_file(&named).or_else(|| from_text(&inline)),
        (Some(inline), _) => from_text(&inline),
        (None, Some(named)) => from_file(&named),
        (None, None) => None,
    }
}

/// All secrets of a table whose keys are free.
pub(super) fn all(section: &Section<'_>) -> BTreeMap<String, SecretString> {
    let mut found = BTreeMap::new();
    for key in section.keys() {
        let name = key.strip_suffix(FILE).unwrap_or(&key).to_owned();
        if !found.contains_key(&name)
            && let Some(value) = secret(section, &name)
        {
            found.insert(name, value);
        }
    }
    found
}

fn from_text(item: &Item<'_>) -> Option<SecretString> {
    let text = item.string()?;
    if text.trim().is_empty() {
        item.error(format!("`{}` is empty", item.label()), "");
        return None;
    }
    Some(SecretString::from(text))
}

fn from_file(item: &Item<'_>) -> Option<SecretString> {
    let path = item.string()?;
    let mut problems = Problems::new();
    let text = files::read(Path::new(&path), &mut problems);
    for problem in problems.iter() {
        item.error(format!("`{}`: {} {}", item.label(), problem.file, problem.what), problem.hint.clone());
    }
    let text = text?;
    if text.trim().is_empty() {
        item.error(format!("`{}`: {path} is empty", item.label()), "");
        return None;
    }
    Some(SecretString::from(text.trim()))
}
