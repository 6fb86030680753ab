//! The profiles that ship inside the program; a file of the same name in `templates/crm` takes their place.

/// Name and text of every shipped profile, by name.
pub const ALL: &[(&str, &str)] = &[
    ("amocrm", include_str!("../../../templates/crm/amocrm.toml")),
    ("amocrm-oauth", include_str!("../../../templates/crm/amocrm-oauth.toml")),
    ("bitrix24-deal", include_str!("../../../templates/crm/bitrix24-deal.toml")),
    ("bitrix24-item", include_str!("../../../templates/crm/bitrix24-item.toml")),
    ("bitrix24-lead", include_str!("../../../templates/crm/bitrix24-lead.toml")),
    ("espocrm", include_str!("../../../templates/crm/espocrm.toml")),
    ("freshdesk", include_str!("../../../templates/crm/freshdesk.toml")),
    ("generic-blind", include_str!("../../../templates/crm/generic-blind.toml")),
    ("generic-keyed", include_str!("../../../templates/crm/generic-keyed.toml")),
    ("generic-searchable", include_str!("../../../templates/crm/generic-searchable.toml")),
    ("glpi", include_str!("../../../templates/crm/glpi.toml")),
    ("hubspot", include_str!("../../../templates/crm/hubspot.toml")),
    ("jira-service-management", include_str!("../../../templates/crm/jira-service-management.toml")),
    ("megaplan", include_str!("../../../templates/crm/megaplan.toml")),
    ("odoo", include_str!("../../../templates/crm/odoo.toml")),
    ("okdesk", include_str!("../../../templates/crm/okdesk.toml")),
    ("omnidesk", include_str!("../../../templates/crm/omnidesk.toml")),
    ("pipedrive", include_str!("../../../templates/crm/pipedrive.toml")),
    ("planfix", include_str!("../../../templates/crm/planfix.toml")),
    ("redmine", include_str!("../../../templates/crm/redmine.toml")),
    ("request-tracker", include_str!("../../../templates/crm/request-tracker.toml")),
    ("retailcrm", include_str!("../../../templates/crm/retailcrm.toml")),
    ("salesforce", include_str!("../../../templates/crm/salesforce.toml")),
    ("suitecrm", include_str!("../../../templates/crm/suitecrm.toml")),
    ("yandex-tracker", include_str!("../../../templates/crm/yandex-tracker.toml")),
    ("youtrack", include_str!("../../../templates/crm/youtrack.toml")),
    ("zammad", include_str!("../../../templates/crm/zammad.toml")),
    ("zendesk", include_str!("../../../templates/crm/zendesk.toml")),
    ("zoho", include_str!("../../../templates/crm/zoho.toml")),
];

/// The last day that any of them names.
pub const DATED: &str = "2026-11-30";

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
