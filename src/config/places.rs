//! Where each setting was read, so that what is found out later still names its line.

use std::collections::BTreeMap;

/// The file and the line of a setting, or the variable it came from.
pub type Place = (String, Option<u32>);

/// The places of the settings of one file and its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    file: String,
    known: BTreeMap<String, Place>,
}

impl Places {
    /// The places in `file`, by the dotted names of the keys.
    #[must_use]
    pub fn new(file: &str, known: BTreeMap<String, Place>) -> Self {
        Self { file: file.to_owned(), known }
    }

    /// The place of a setting by its dotted name; of its table, or of the whole file, where it is not written.
    #[must_use]
    pub fn of(&self, setting: &str) -> Place {
        let mut name = setting;
        loop {
            let written = self.known.get(name).or_else(|| self.known.get(&format!("{name}_file")));
            match (written, name.rsplit_once('.')) {
                (Some(place), _) => return place.clone(),
                (None, Some((table, _))) => name = table,
                (None, None) => return (self.file.clone(), None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_by_its_name_its_file_or_its_table() {
        let known = [("crm", 1), ("crm.profile", 2), ("crm.secrets", 5), ("crm.secrets.token_file", 6)];
        let known = known.map(|(name, line)| (name.to_owned(), ("z.toml".to_owned(), Some(line)))).into();
        let places = Places::new("z.toml", known);
        for (setting, line) in [
            ("crm.profile", Some(2)),
            ("crm.secrets.token", Some(6)),
            ("crm.secrets.key", Some(5)),
            ("crm.vars.base_url", Some(1)),
            ("templates.dir", None),
        ] {
            assert_eq!(places.of(setting), ("z.toml".to_owned(), line), "{setting}");
        }
    }
}
