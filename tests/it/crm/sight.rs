//! What lookups do not see: an operator who would have a ticket made again is told, whatever the profile's own file says.

use std::time::Duration;

use zayavka::{
    catalog::profile::{self, built_in},
    crm::resend_refusal,
};

const MINUTE: Duration = Duration::from_secs(60);

fn refusal(name: &str, from: &str, to: &str) -> Option<String> {
    let text = built_in::text(name).expect("it ships");
    assert!(text.contains(from), "{name} has no `{from}`");
    let (profile, _) = profile::load(name, &text.replacen(from, to, 1)).unwrap_or_else(|problems| panic!("{problems}"));
    resend_refusal(&profile, MINUTE * 10)
}

#[test]
fn absence_is_no_reason_to_send_again_where_closed_tickets_are_not_seen() {
    let sees = "sees_closed = true\n";
    assert_eq!(refusal("generic-searchable", sees, sees), None);
    let unsaid = refusal("generic-searchable", sees, "").expect("refused");
    assert!(
        unsaid.contains("no lookup of the profile `generic-searchable` is known to see closed tickets"),
        "{unsaid}"
    );
    let hidden = refusal("generic-searchable", sees, "sees_closed = true\nsees_merged = false\n").expect("refused");
    assert!(hidden.contains("to see merged tickets"), "{hidden}");
    assert_eq!(refusal("redmine", sees, sees), None, "status_id=* shows closed issues");
    let request_tracker = refusal("request-tracker", sees, sees).expect("refused");
    assert!(request_tracker.contains("archived and merged"), "{request_tracker}");
}
