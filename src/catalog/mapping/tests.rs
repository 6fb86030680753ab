//! Tickets as they leave for the CRM.

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::{
    catalog::{forms, problem::Problems},
    clock::Timestamp,
    domain::answer::{Answer, Price},
};

fn form(ticket: &str) -> Form {
    let shipped = include_str!("../../../templates/forms/consultation.toml");
    let text = if ticket.is_empty() {
        shipped.to_owned()
    } else {
        format!("{}\n{ticket}", shipped.split("[ticket]").next().unwrap())
    };
    let mut problems = Problems::new();
    let form = forms::load("f.toml", &text, &mut problems);
    form.unwrap_or_else(|| panic!("{problems}"))
}

fn answers(name: &str) -> Answers {
    let mut answers = Answers::new();
    answers.set("name", Answer::Text(name.to_owned()));
    answers.set("phone", Answer::Phone("+79991234567".to_owned()));
    answers.set("email", Answer::Skipped);
    let price = Some(Price { amount: 3000, currency: "₽".to_owned() });
    answers.set("topic", Answer::Choice { id: "tax".to_owned(), label: "Налоги".to_owned(), price });
    answers.set("details", Answer::Text("left over from another branch".to_owned()));
    answers.set("consent", Answer::Consent { version: "v1".to_owned(), at: Timestamp(0) });
    answers
}

fn rendered(form: &Form, answers: &Answers, summary: &str) -> Result<TicketOrder, RenderError> {
    let key = ExternalKey(Uuid::from_u128(7));
    let client = ClientView { user_id: UserId(5), name: "Аня".into(), username: None, lang: "ru".into() };
    Renderer::default().render(form, answers, &client, (&Marker::of(key), key), summary)
}

#[test]
fn the_shipped_form_makes_a_ticket_with_the_marker_and_without_what_was_skipped() {
    let order = rendered(&form(""), &answers("Анна"), "Имя — Анна").unwrap();
    assert_eq!(order.subject, "Консультация: Анна");
    assert_eq!(order.body, format!("Имя — Анна\n\n{}", order.marker));
    assert_eq!(order.contact.name.as_deref(), Some("Анна"));
    assert_eq!(order.contact.phone.as_deref(), Some("+79991234567"));
    assert_eq!(order.contact.email, None);
    assert_eq!(order.fields, BTreeMap::from([("topic".to_owned(), "Налоги".to_owned())]));
}

#[test]
fn parts_conditions_and_filters_work_and_nothing_is_escaped() {
    let form = form(
        r#"[ticket]
subject = "{{ answers.name | upper }}\n{{ answers.topic.id }}"
body = """
{% if answers.topic.id == 'tax' %}T {{ answers.topic.amount }} {{ answers.topic.text }}{% endif %}
{% if answers.email %}mail{% else %}no mail{% endif %} {{ answers.email | default('-') }} {{ answers.slot.id }}
{{ answers.phone | digits }} {{ answers.consent.version }} {{ answers.consent.at }} {{ answers.details }}.
{{ client.user_id }} {{ client.name }} {{ client.username }} {{ client.lang }} {{ form.id }} {{ marker }}"""
[ticket.fields]
tail = "{{ answers.phone | replace('+7', '') }}"
empty = "{{ answers.email }} "
"#,
    );
    let order = rendered(&form, &answers("<b>&\"{{ key }}"), "").unwrap();
    assert_eq!(order.subject, "<B>&\"{{ KEY }} tax");
    assert_eq!(
        order.body.replace('\u{A0}', " "),
        format!(
            "T 3000 Налоги — 3 000 ₽\nno mail - \n79991234567 v1 1970-01-01T00:00:00Z .\n5 Аня  ru consultation {}",
            order.marker
        )
    );
    assert_eq!(order.fields, BTreeMap::from([("tail".to_owned(), "9991234567".to_owned())]));
}

#[test]
fn a_subject_is_one_line_of_bounded_length_and_never_empty() {
    let form = form("[ticket]\nsubject = \"{{ answers.name }}\"\nbody = \"x\"\n");
    let subject = |name: &str| rendered(&form, &answers(name), "").unwrap().subject;
    assert_eq!(subject("a\r\nb\u{2028}c\n\nd"), "a b c d");
    let long = subject(&"я".repeat(300));
    assert_eq!((long.chars().count(), long.ends_with('…')), (255, true));
    assert!(subject("\u{200B}").starts_with("Консультация Z-"));
}

#[test]
fn a_template_without_end_is_refused_when_the_form_is_loaded() {
    let depth = 9;
    let endless = format!("{}x{}", "{% for a in answers %}".repeat(depth), "{% endfor %}".repeat(depth));
    let mistakes = check(&endless, &form("").fields);
    assert!(mistakes.iter().any(|mistake| mistake.what.contains("too many steps")), "{mistakes:?}");
}

#[test]
fn mistakes_in_templates_are_named_with_what_was_meant() {
    let said: Vec<String> = [
        "{{ answers.nam }}",
        "{{ name }}",
        "{{ answers.topic.labl }}",
        "{{ sumary }}",
        "{{ client.nmae }}",
        "{{ answers.name | shout }}",
        "{{ answers.name | truncate('x') }}",
        "line\n{% if %}",
        "{% include 'x' %}",
        "{{ range(5) }}",
        "{{ answers.name.upper() }}",
        "a\n{% if answers.topic == 'tax' %}x{% endif %}",
    ]
    .iter()
    .map(|source| {
        let said: Vec<String> =
            check(source, &form("").fields).iter().map(|m| format!("{}: {} — {}", m.line, m.what, m.hint)).collect();
        format!("{} → {}", source.replace('\n', "⏎"), said.join(" | "))
    })
    .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    {{ answers.nam }} → 1: no field is called `nam` — did you mean `name`?
    {{ name }} → 1: `name` is unknown here — write answers.name
    {{ answers.topic.labl }} → 1: an answer has no `labl` — did you mean `label`?
    {{ sumary }} → 1: `sumary` is unknown here — did you mean `summary`?
    {{ client.nmae }} → 1: `client.nmae` is unknown here — did you mean `client.name`?
    {{ answers.name | shout }} → 1: unknown filter: filter shout is unknown — filters: lower, upper, trim, oneline, digits, truncate, replace, default
    {{ answers.name | truncate('x') }} → 1: a value cannot be used like this: cannot convert string to usize — filters: lower, upper, trim, oneline, digits, truncate, replace, default
    line⏎{% if %} → 2: not a valid template: unexpected end of block — {% if answers.email %}…{% endif %}
    {% include 'x' %} → 1: not a valid template: unknown statement include — {% if answers.email %}…{% endif %}
    {{ range(5) }} → 1: `range` is unknown here — known here: summary, marker, key, form.id, form.title, form.version, client.user_id, client.name, client.username, client.lang, answers
    {{ answers.name.upper() }} → 1: an answer has no `upper` — known here: id, label, price, amount, version, at, zone, text
    a⏎{% if answers.topic == 'tax' %}x{% endif %} → 2: `answers.topic` is compared as a whole and never equal — write answers.topic.id or answers.topic.label
    ");
}

proptest! {
    #[test]
    fn the_characters_of_an_answer_reach_the_ticket_unchanged(name in "\\PC{1,80}") {
        prop_assume!(!blank::is_blank(&name));
        let form = form("[ticket]\nsubject = \"s\"\nbody = \"{{ answers.name }}|{{ summary }}\"\n[ticket.contact]\nname = \"{{ answers.name }}\"\n");
        let order = rendered(&form, &answers(&name), &name).unwrap();
        let expected = [&name, "|", &name, "\n\n", order.marker.as_str()].concat();
        prop_assert_eq!(order.body, expected);
        prop_assert_eq!(order.contact.name, Some(name));
    }
}
