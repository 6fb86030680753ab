//! Form files with nothing wrong and with everything wrong.

use super::*;

#[test]
fn the_shipped_form_loads() {
    let mut problems = Problems::new();
    let form = load("consultation.toml", include_str!("../../../templates/forms/consultation.toml"), &mut problems);
    assert_eq!(problems.to_string(), "");
    let form = form.unwrap();
    let ids: Vec<&str> = form.fields.iter().map(|field| field.id.as_str()).collect();
    assert_eq!(ids, ["name", "phone", "email", "topic", "details", "slot", "consent"]);
    assert_eq!(form.version.0.len(), 16);
}
