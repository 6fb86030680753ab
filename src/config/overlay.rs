//! Environment variables laid over a file: `ZAYAVKA_TELEGRAM__TOKEN` is `token` of `[telegram]`.
//!
//! The environment comes in as a map; reading the process's own is the caller's affair. Each variable knows
//! whether a key asked for it, so that a mistyped name is reported instead of ignored.

use std::{cell::RefCell, collections::BTreeMap, collections::BTreeSet};

use super::{nearest, problem::Problems};

/// What a variable's name starts with to be ours.
pub const PREFIX: &str = "ZAYAVKA_";
/// What stands in a name where the file has a dot. Names without it are not keys (no key lives outside a table).
const DOT: &str = "__";

/// Variables by the path of the key they stand for.
#[derive(Debug, Default)]
pub struct Overlay {
    by_path: BTreeMap<String, (String, String)>,
    asked: RefCell<BTreeSet<String>>,
}

impl Overlay {
    /// Picks our variables out of `env`.
    #[must_use]
    pub fn new(env: &BTreeMap<String, String>) -> Self {
        let by_path = env
            .iter()
            .filter_map(|(name, value)| {
                let rest = name.strip_prefix(PREFIX)?;
                let path = rest.contains(DOT).then(|| rest.replace(DOT, ".").to_lowercase())?;
                Some((path, (name.clone(), value.clone())))
            })
            .collect();
        Self { by_path, asked: RefCell::default() }
    }

    /// The variable for the key at `path`: its name and value.
    pub(super) fn get(&self, path: &str) -> Option<(&str, &str)> {
        self.asked.borrow_mut().insert(path.to_owned());
        self.by_path.get(path).map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The keys that variables give to the table at `path`, whatever they are called.
    pub(super) fn keys_under(&self, path: &str) -> Vec<String> {
        self.by_path
            .keys()
            .filter_map(|p| p.strip_prefix(path)?.strip_prefix('.'))
            .filter(|key| !key.contains('.'))
            .map(str::to_owned)
            .collect()
    }

    /// The paths of all keys asked for so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.borrow().iter().cloned().collect()
    }

    /// Reports the variables no key asked for.
    pub(super) fn report_unasked(&self, problems: &mut Problems) {
        let asked = self.asked.borrow();
        for (path, (name, _)) in &self.by_path {
            if !asked.contains(path) {
                let hint = nearest::nearest(path, asked.iter().map(String::as_str)).map_or_else(
                    || "unset it; the names are those of the keys, with __ for the dot".to_owned(),
                    |near| format!("did you mean {}?", variable(near)),
                );
                problems.error("environment", None, format!("{name} is no known key"), hint);
            }
        }
    }
}

/// The name of the variable for the key at `path`.
#[must_use]
pub fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', DOT).to_uppercase())
}
