//! Form files with nothing wrong and with everything wrong.

use super::*;
use crate::domain::form::FieldKind;

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

#[test]
fn a_question_for_files_says_how_many_how_large_and_which() {
    let text = include_str!("../../../templates/forms/consultation.toml");
    let with = |more: &str| {
        let field = format!("[[field]]\nid = \"papers\"\nkind = \"files\"\nask = \"?\"\n{more}\n[ticket]");
        text.replacen("[ticket]", &field, 1)
    };
    let mut problems = Problems::new();
    let form = load("f.toml", &with("types = [\"image/*\"]"), &mut problems).unwrap_or_else(|| panic!("{problems}"));
    let kind = form.field("papers").map(|field| field.kind.clone());
    assert_eq!(kind, Some(FieldKind::Files { max: 5, max_size: 20, types: vec!["image/*".to_owned()] }));
    for (wrong, said) in [
        ("max = 11", "max"),
        ("max_size = 21", "max_size"),
        ("types = []", "`types` takes no file at all"),
        ("types = [\"PDF\"]", "`PDF` is no media type"),
        ("region = \"RU\"", "region"),
    ] {
        let told = refused(&with(wrong));
        assert!(told.contains(said) && told.starts_with("f.toml:"), "{wrong}: {told}");
    }
}

#[test]
fn a_slot_that_is_a_time_is_a_moment_in_the_form_s_zone() {
    let text = include_str!("../../../templates/forms/consultation.toml");
    let loaded = |text: &str| {
        let mut problems = Problems::new();
        load("f.toml", text, &mut problems).unwrap_or_else(|| panic!("{problems}"))
    };
    let first = |form: &Form| match form.field("slot").map(|field| &field.kind) {
        Some(FieldKind::Slot { slots }) => slots[0].answer(),
        other => panic!("{other:?}"),
    };
    let shown = |form: &Form| first(form).display();
    let (usual, east) = (loaded(text), loaded(&format!("utc_offset = \"+05:00\"\n{text}")));
    assert_eq!(shown(&usual), "7 декабря, 10:00 (UTC+3)");
    assert_eq!(shown(&east), "7 декабря, 10:00 (UTC+5)");
    assert_eq!(first(&east).value(), "7 декабря, 10:00", "the ticket's own field is the label");
    assert_ne!(usual.version, east.version, "another zone is another form");
    let named = loaded(&text.replace("2026-12-07T10:00", "morning"));
    assert_eq!(shown(&named), "7 декабря, 10:00", "a name is no time");
    assert!(
        refused(&format!("utc_offset = \"Moscow\"\n{text}")).starts_with("f.toml:1: `utc_offset` cannot be `Moscow`")
    );
}

fn refused(text: &str) -> String {
    let mut problems = Problems::new();
    assert_eq!(load("f.toml", text, &mut problems), None);
    problems.to_string()
}

#[test]
fn the_contract_s_form_is_the_one_that_ships() {
    assert_eq!(
        include_str!("../../../tests/it/fixtures/contract/forms/consultation.toml"),
        include_str!("../../../templates/forms/consultation.toml")
    );
}

#[test]
fn every_mistake_of_a_form_is_reported_at_its_line() {
    let text = r#"id = "Моя форма"
titel = "x"
intro = " "

[[field]]
id = "name"
kind = "txt"
ask = "?"
min = 1

[[field]]
id = "name"
kind = "text"
min = 10
max = 5
lenght = 3
ask = "Имя?"

[[field]]
id = "topic"
kind = "choice"
ask = "Тема?"
choices = [
  { id = "tax", label = "Налоги", price = -1 },
  { id = "tax", label = "налоги" },
  { id = "a b", label = "01234567890123456789012345678901234567890123456789012345678901234" },
  { label = "без id", colour = "red" },
]

[[field]]
id = "details"
kind = "text"
ask = "Что?"
when = "topic = 'other'"

[[field]]
id = "more"
kind = "number"
ask = "Сколько?"
when = "topic == 'taxi' or later == 'x' or topik == 'tax'"

[[field]]
id = "later"
kind = "slot"
ask = "Когда?"
slots = [ { id = "1", label = "Утро" }, { id = "2", label = "Вечер", places = 0 } ]

[[field]]
id = "in"
kind = "phone"
ask = "Телефон?"
region = "XX"

[[field]]
id = "none"
kind = "choice"
ask = "?"
choices = []

[[field]]
id = "ok"
kind = "consent"

[ticket]
body = """
{{ summary }}
{{ answers.nmae }}
{{ client.nick }}
{{ answers.topic.cost }}
"""
[ticket.contact]
name = "{{ answers.name "
fax = "x"
[ticket.fields]
n = 5
x = "{{ name | shout }}"
"#;
    insta::assert_snapshot!(refused(text), @r#"
    f.toml: `title` is missing — what people call this form
    f.toml:1: `Моя форма` cannot be an id — 1 to 32 of a-z, 0-9, _ and -
    f.toml:2: unknown key `titel` — did you mean `title`?
    f.toml:3: `intro` shows nothing — write something, or leave the key out
    f.toml:7: `field[1].kind` cannot be `txt` — did you mean `text`?
    f.toml:12: there are two fields `name` — an answer is kept under its field's id
    f.toml:14: min 10 is above max 5 — nothing could be answered
    f.toml:16: unknown key `lenght` in [field[2]] — known here: ask, id, kind, max, min, optional, when
    f.toml:24: `field[3].choices[1].price` is -1, out of range — 0 to 1000000000000
    f.toml:25: `tax` is offered twice — each needs its own id
    f.toml:25: two are called `налоги` — people choose by the label
    f.toml:26: `a b` cannot be an id — 1 to 40 of A-Z, a-z, 0-9, _ . : + and -
    f.toml:26: `field[3].choices[3].label` has 65 characters — at most 64
    f.toml:27: `field[3].choices[4].id` is missing — { id = "…", label = "…" }
    f.toml:27: unknown key `colour` in [field[3].choices[4]] — known here: id, label, price
    f.toml:34: `when`: `=` compares nothing; write `==` (column 7) — for example: topic == 'other' and not answered(email)
    f.toml:40: `when` asks about `later`, which does not come earlier — a condition looks only at the questions before its own
    f.toml:40: `when` asks about `topik`, which no field is called — did you mean `topic`?
    f.toml:40: `when` compares `topic` with 'taxi', which it can never be — did you mean `tax`?
    f.toml:46: `field[6].slots[1].places` is missing — how many people it takes: places = 1
    f.toml:46: `field[6].slots[2].places` is 0, out of range — 1 to 100000
    f.toml:49: `in` cannot name a field — it is a word of the `when` language
    f.toml:52: `field[7].region` cannot be `XX` — known here: RU, KZ, BY, UA, UZ, KG, AM, US
    f.toml:58: `choices` offers nothing — at least one
    f.toml:60: `field[9].ask` is missing — the question
    f.toml:60: `field[9].text` is missing — what is consented to, with its edition
    f.toml:64: `ticket.subject` is missing — a template, such as "{{ form.title }}: {{ answers.name }}" or "{{ summary }}"
    f.toml:67: `ticket.body`: no field is called `nmae` — did you mean `name`?
    f.toml:68: `ticket.body`: `client.nick` is unknown here — did you mean `client.name`?
    f.toml:69: `ticket.body`: an answer has no `cost` — known here: id, label, price, amount, version, at, zone, text
    f.toml:72: `ticket.contact.name`: not a valid template: unexpected end of input, expected end of variable block — {{ answers.name }}
    f.toml:73: unknown key `fax` in [ticket.contact] — known here: email, name, phone
    f.toml:75: `ticket.fields.n` must be a string (in quotes), this is a whole number
    f.toml:76: `ticket.fields.x`: `name` is unknown here — write answers.name
    "#);
}

#[test]
fn a_form_without_anything_says_what_it_needs() {
    insta::assert_snapshot!(refused(""), @r#"
    f.toml: `id` is missing — a short name for links and logs: id = "consultation"
    f.toml: `title` is missing — what people call this form
    f.toml: `field` is missing — at least one question: [[field]] with id, kind and ask
    f.toml: `ticket` is missing — [ticket] with subject and body says how the answers become a ticket
    "#);
}

#[test]
fn a_broken_file_is_reported_at_the_break() {
    insta::assert_snapshot!(refused("id = \"a\"\ntitle = \"b\n[[field]\nid = 'x'\n"), @r#"
    f.toml:2: not valid TOML: invalid basic string, expected `"`
    f.toml:3: not valid TOML: unclosed array table, expected `]`
    f.toml:4: not valid TOML: duplicate key
    "#);
}
