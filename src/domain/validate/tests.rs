//! Replies as people send them, and any others.

use proptest::prelude::*;

use super::*;
use crate::domain::{answer::Price, form::tests::field};

const NOW: Timestamp = Timestamp(1_796_030_962_000);

fn said(kind: FieldKind, reply: &Reply) -> Result<Answer, Hint> {
    validate(&field("f", kind, None), reply, NOW)
}

fn typed(kind: FieldKind, text: &str) -> Result<Answer, Hint> {
    said(kind, &Reply::Text(text.to_owned()))
}

fn words_kind() -> FieldKind {
    FieldKind::Text { min: 2, max: 10 }
}

fn phone_kind() -> FieldKind {
    FieldKind::Phone { region: Some("RU".to_owned()) }
}

fn choice_kind() -> FieldKind {
    let choice = |id: &str, label: &str, amount: Option<i64>| Choice {
        id: id.to_owned(),
        label: label.to_owned(),
        price: amount.map(|amount| Price { amount, currency: "₽".to_owned() }),
    };
    FieldKind::Choice {
        choices: vec![choice("tax", "Налоги", Some(3000)), choice("more", "Ещё  что-то", None)]
    }
}

#[test]
fn text_is_kept_exactly_but_for_outer_white_space() {
    for kept in ["Анна", "👩\u{200D}🚀 е\u{301}", "مرحبا", "\u{202E}abc\u{202C}", "a  b\n\tc", "<b>&amp;", "{{ x }}"]
    {
        let answer = typed(FieldKind::Text { min: 1, max: 100 }, &format!("  {kept}\n"));
        assert_eq!(answer, Ok(Answer::Text(kept.to_owned())));
    }
}

#[test]
fn text_that_is_no_answer_gets_the_hint_that_helps() {
    for (text, hint) in [
        ("", Hint::Empty),
        (" \n ", Hint::Empty),
        ("\u{200B}\u{2060}\u{3164}", Hint::Invisible),
        ("\0", Hint::Empty),
        ("я", Hint::TooShort { min: 2 }),
        ("12345678901", Hint::TooLong { max: 10, got: 11 }),
    ] {
        assert_eq!(typed(words_kind(), text), Err(hint), "{text:?}");
    }
    let photo = Reply::Other("photo".to_owned());
    assert_eq!(said(words_kind(), &photo), Err(Hint::TextWanted { got: "photo".to_owned() }));
    assert_eq!(said(choice_kind(), &photo), Err(Hint::PressAButton));
}

#[test]
fn a_phone_is_typed_or_shared_and_must_be_ones_own() {
    let contact = |phone: &str, own| Reply::Contact { phone: phone.to_owned(), own };
    let number = Ok(Answer::Phone("+79991234567".to_owned()));
    assert_eq!(typed(phone_kind(), "8 (999) 123-45-67"), number);
    assert_eq!(said(phone_kind(), &contact("79991234567", true)), number);
    assert_eq!(said(phone_kind(), &contact("79991234567", false)), Err(Hint::ForeignContact));
    assert_eq!(said(words_kind(), &contact("79991234567", true)), Err(Hint::TextWanted { got: "contact".into() }));
    assert_eq!(typed(phone_kind(), "позвоните мне"), Err(Hint::NotAPhone));
}

#[test]
fn a_mail_address_is_taken_as_given_with_its_domain_in_lower_case() {
    for (text, kept) in [
        ("Anna.B+x@Example.RU", "Anna.B+x@example.ru"),
        (" a@b.co ", "a@b.co"),
        ("почта@пример.рф", "почта@пример.рф"),
        ("o'neil@mail.example.com", "o'neil@mail.example.com"),
    ] {
        assert_eq!(typed(FieldKind::Email, text), Ok(Answer::Email(kept.to_owned())), "{text}");
    }
    for text in
        ["a", "a@b", "@b.ru", "a@", "a b@c.ru", "a@b..ru", "a@-b.ru", "a..b@c.ru", "a@1.2.3.4", "a@b.r", "a@@b.ru"]
    {
        assert_eq!(typed(FieldKind::Email, text), Err(Hint::NotAnEmail), "{text}");
    }
    assert_eq!(typed(FieldKind::Email, &format!("{}@b.ru", "a".repeat(65))), Err(Hint::NotAnEmail));
}

#[test]
fn a_choice_is_tapped_or_typed_by_label_or_number() {
    for text in ["Налоги", " налоги ", "НАЛОГИ", "1", "1.", "Налоги — 3 000 ₽"] {
        let answer = typed(choice_kind(), text).map(|answer| answer.compared());
        assert_eq!(answer, Ok(Some("tax".to_owned())), "{text}");
    }
    for text in ["2", "еще что-то", "Ещё что-то"] {
        assert_eq!(typed(choice_kind(), text).map(|a| a.compared()), Ok(Some("more".to_owned())), "{text}");
    }
    for text in ["0", "3", "нет", "-1"] {
        assert_eq!(typed(choice_kind(), text), Err(Hint::NotAChoice), "{text}");
    }
    let tapped = said(choice_kind(), &Reply::Choice("tax".to_owned())).map(|answer| answer.display());
    assert_eq!(tapped.map(|shown| shown.replace('\u{A0}', " ")), Ok("Налоги — 3 000 ₽".to_owned()));
    assert_eq!(said(choice_kind(), &Reply::Choice("gone".to_owned())), Err(Hint::NotAChoice));
}

#[test]
fn consent_is_given_by_its_button_only_and_remembers_what_and_when() {
    let kind = || FieldKind::Consent { text: "t".into(), version: "v1".into() };
    assert_eq!(said(kind(), &Reply::Consent(true)), Ok(Answer::Consent { version: "v1".into(), at: NOW }));
    assert_eq!(said(kind(), &Reply::Consent(false)), Err(Hint::ConsentRefused));
    assert_eq!(typed(kind(), "да"), Err(Hint::PressAButton));
}

#[test]
fn only_an_optional_question_can_be_passed_over() {
    let mut question = field("f", words_kind(), None);
    assert_eq!(validate(&question, &Reply::Skip, NOW), Err(Hint::CannotSkip));
    question.optional = true;
    assert_eq!(validate(&question, &Reply::Skip, NOW), Ok(Answer::Skipped));
}

#[test]
fn numbers_and_days_are_read_as_people_write_them() {
    let number = |text| typed(FieldKind::Number { min: -5, max: 10_000 }, text);
    for (text, read) in [("7", 7), (" +7 ", 7), ("−5", -5), ("1 000", 1000), ("１２", 12), ("٣", 3)] {
        assert_eq!(number(text), Ok(Answer::Number(read)), "{text}");
    }
    assert_eq!(number("10001"), Err(Hint::OutOfRange { min: -5, max: 10_000 }));
    for text in ["", "семь", "1.5", "--1", "99999999999999999999"] {
        assert!(matches!(number(text), Err(Hint::NotANumber | Hint::Empty)), "{text}");
    }
    for text in ["2026-12-07", "07.12.2026", "7.12.2026", "٢٠٢٦-١٢-٠٧"] {
        assert_eq!(typed(FieldKind::Date, text), Ok(Answer::Date("2026-12-07".to_owned())), "{text}");
    }
    assert_eq!(typed(FieldKind::Date, "29.02.2028"), Ok(Answer::Date("2028-02-29".to_owned())));
    for text in ["29.02.2026", "31.04.2026", "7/12/2026", "7.12.26", "завтра", "2026-13-01", "0.1.2026", "1.1.2026.1"]
    {
        assert_eq!(typed(FieldKind::Date, text), Err(Hint::NotADate), "{text}");
    }
}

fn kinds() -> Vec<FieldKind> {
    let slots = vec![Slot { id: "s".into(), label: "Утро".into(), places: 1, begins: None }];
    vec![
        words_kind(),
        phone_kind(),
        FieldKind::Phone { region: None },
        FieldKind::Email,
        choice_kind(),
        FieldKind::Slot { slots },
        FieldKind::Consent { text: "t".into(), version: "v".into() },
        FieldKind::Number { min: i64::MIN, max: i64::MAX },
        FieldKind::Date,
    ]
}

proptest! {
    #[test]
    fn any_text_is_an_answer_or_a_hint_and_an_answer_shows_something(text in "\\PC*|.*|[0-9+. -]{0,20}|[a-z.@]{0,12}") {
        for kind in kinds() {
            if let Ok(answer) = typed(kind, &text) {
                prop_assert!(!blank::is_blank(&answer.display()));
            }
        }
    }

    #[test]
    fn visible_text_within_limits_is_kept_to_the_character(text in "[^\\s\\x00].{0,60}[^\\s\\x00]") {
        let kind = FieldKind::Text { min: 1, max: 100 };
        prop_assume!(!blank::is_blank(&text) && !text.contains('\0'));
        prop_assert_eq!(typed(kind, &text), Ok(Answer::Text(text.trim().to_owned())));
    }

    #[test]
    fn a_read_day_or_address_reads_as_itself(day in 1_u32..=31, month in 1_u32..=12, year in 1900_u32..=2199) {
        if let Ok(Answer::Date(iso)) = typed(FieldKind::Date, &format!("{day}.{month}.{year}")) {
            prop_assert_eq!(typed(FieldKind::Date, &iso), Ok(Answer::Date(iso)));
        }
    }
}
