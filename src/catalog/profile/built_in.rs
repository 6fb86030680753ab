//! The profiles that ship inside the program; a file of the same name in `templates/crm` takes their place.

/// Name and text of every shipped profile, by name.
pub const ALL: &[(&str, &str)] = &[
    ("generic-blind", include_str!("../../../templates/crm/generic-blind.toml")),
    ("generic-keyed", include_str!("../../../templates/crm/generic-keyed.toml")),
    ("generic-searchable", include_str!("../../../templates/crm/generic-searchable.toml")),
    ("redmine", include_str!("../../../templates/crm/redmine.toml")),
    ("request-tracker", include_str!("../../../templates/crm/request-tracker.toml")),
];

/// The text of one shipped profile.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::profile;

    #[test]
    fn every_shipped_profile_loads_without_a_word() {
        for (name, text) in ALL {
            let file = format!("templates/crm/{name}.toml");
            let (profile, warnings) = profile::load(&file, text).unwrap_or_else(|problems| panic!("{problems}"));
            assert_eq!(warnings.to_string(), "");
            assert_eq!(profile.meta.name, *name);
        }
        assert!(ALL.is_sorted() && text("generic-keyed").is_some() && text("nosuch").is_none());
    }
}
