//! The shipped texts, and text files with mistakes.

use super::*;
use crate::{
    catalog::{
        problem::Problems,
        wording::{Halt, status_card},
    },
    clock::Timestamp,
    domain::{
        operation::{Operation, State},
        ticket::Ticket,
    },
    ids::{ConfirmVersion, DraftId, ExternalKey, Marker, OperationId},
};

const RU: &str = include_str!("../../../templates/texts/ru.toml");
const EN: &str = include_str!("../../../templates/texts/en.toml");

fn files(ru: &str, en: &str) -> BTreeMap<String, (String, String)> {
    let file = |lang: &str, text: &str| (lang.to_owned(), (format!("{lang}.toml"), text.to_owned()));
    BTreeMap::from([file("ru", ru), file("en", en)])
}

/// A default language, set nowhere in particular.
fn here(lang: &str) -> (&str, crate::config::places::Place) {
    (lang, ("zayavka.toml".to_owned(), Some(3)))
}

fn shipped() -> Texts {
    let mut problems = Problems::new();
    let texts = load(&files(RU, EN), &Sources::new(), here("ru"), &mut problems);
    assert_eq!(problems.to_string(), "");
    texts.unwrap()
}

#[test]
fn the_shipped_texts_load_and_speak_the_client_s_language() {
    let texts = shipped();
    assert_eq!(texts.langs(), ["en", "ru"]);
    assert_eq!(texts.lang(Some("en-GB")), "en");
    assert_eq!(texts.lang(Some("EN")), "en");
    assert_eq!(texts.lang(Some("en_US")), "en");
    assert_eq!(texts.lang(Some("kk")), "ru");
    assert_eq!(texts.lang(None), "ru");
    assert_eq!(texts.say("en", Key::TapCreated, &[("number", "7")]), "Request No. 7 is already created.");
    assert_eq!(texts.say("xx", Key::DialogSubmitButton, &[]), "Отправить заявку");
}

#[test]
fn every_key_is_said_in_every_language_with_all_its_arguments() {
    let texts = shipped();
    for lang in texts.langs() {
        for key in Key::ALL {
            let names: Vec<&str> = key.args().iter().map(|arg| arg.trim_end_matches('?')).collect();
            let args: Vec<(&str, String)> = names.iter().map(|name| (*name, format!("<{name} {{x}}>"))).collect();
            let args: Vec<(&str, &str)> = args.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let said = texts.say(lang, *key, &args);
            if *key == Key::CardCreatedLink {
                assert_eq!(said, "", "a CRM's page is not for clients unless its owner says so");
                continue;
            }
            assert!(!said.trim().is_empty(), "{lang} {}", key.name());
            for (_, value) in &args {
                assert!(said.contains(value), "{lang} {}: {said}", key.name());
            }
        }
    }
}

#[test]
fn the_card_links_to_the_crm_only_where_the_text_says_so() {
    let number = uuid::Uuid::nil();
    let mut operation = Operation::confirmed(
        OperationId(number),
        DraftId(number),
        ConfirmVersion(1),
        ExternalKey(number),
        Timestamp(0),
        Timestamp(0),
    );
    let url = Some("https://crm.example/tickets/1".to_owned());
    operation.state = State::Created { ticket: Ticket { id: "1".to_owned(), number: "7".to_owned(), url } };
    let marker = Marker::of(operation.key);
    let card = |texts: &Texts| status_card(texts, "ru", &operation, &marker, None, Halt::None).text;
    assert!(!card(&shipped()).contains("https://"), "{}", card(&shipped()));
    let open = RU.replace("created_link = \"\"", "created_link = \"Посмотреть: {url}\"");
    let mut problems = Problems::new();
    let texts = load(&files(&open, EN), &Sources::new(), here("ru"), &mut problems).unwrap();
    assert!(card(&texts).ends_with("\nПосмотреть: https://crm.example/tickets/1"), "{}", card(&texts));
}

#[test]
fn what_the_contract_promises_is_said_in_its_words() {
    let texts = shipped();
    let say = |key| texts.say("ru", key, &[("number", "7"), ("marker", "Z-1")]).to_lowercase();
    for (key, words) in [
        (Key::DialogSubmitButton, "отправить заявку"),
        (Key::DialogShareContact, "поделиться контактом"),
        (Key::DialogSkip, "пропустить"),
        (Key::TapAccepted, "принято"),
        (Key::TapSending, "уже отправляем"),
        (Key::TapCreated, "заявка № 7 уже создана"),
        (Key::TapReview, "на проверке"),
        (Key::TapFormChanged, "анкета изменилась"),
        (Key::TapForeign, "это не ваша заявка"),
        (Key::CardReview, "на проверке у сотрудника"),
        (Key::CardWaitingCrm, "принята, ждём crm"),
    ] {
        assert!(say(key).contains(words), "{}: {}", key.name(), say(key));
    }
}

#[test]
fn the_answer_to_a_tap_fits_whatever_its_arguments() {
    let said = shipped().say("ru", Key::TapCreated, &[("number", &"👩".repeat(300))]);
    assert!(said.encode_utf16().count() <= LONGEST_TAP && said.ends_with('…'), "{said}");
}

#[test]
fn every_mistake_of_a_text_file_is_reported_at_its_line() {
    let wrong = EN
        .replace("chosen = \"Chosen.\"\n", "")
        .replace("\ngone = \"", "\ngnoe = \"")
        .replace("done = \"Done.\"", "done = \"\u{200B}\"")
        .replace("stale = \"This button", "stale = \"This {button} button")
        .replace("Request No. {number} is already", "The request is already")
        .replace("back = \"Back\"", "back = 5")
        .replace("edit = \"Edit\"", &format!("edit = \"{}\"", "e".repeat(65)))
        .replace("foreign = \"This", &format!("foreign = \"{}This", "e".repeat(200)))
        .replace("resume = \"Let us", "resume = \"Let {us")
        .replace("accepted = \"Accepted, sending", "accepted = \"Your ticket is created, sending")
        .replace("The confirmation takes longer than usual.", "An error, please try again.")
        .replace("[age]", "[aeg]");
    let mut problems = Problems::new();
    let wrong_files = files(&RU.replace("\"Отправить заявку\"", "\"Отправить\""), &wrong);
    assert!(load(&wrong_files, &Sources::new(), here("de"), &mut problems).is_none());
    problems.sort();
    // The shipped texts grow: what a line says names it better than its number. A wrong number would name another line.
    let at = |file: &str, text: &str, words: &str| {
        let number = words.split(':').nth(1).and_then(|n| n.parse::<usize>().ok());
        match number.filter(|_| words.starts_with(file)).and_then(|n| text.lines().nth(n - 1)) {
            Some(line) => words.replacen(
                &format!(":{}:", number.unwrap()),
                &format!(" at `{}`:", line.split(" =").next().unwrap()),
                1,
            ),
            None => words.to_owned(),
        }
    };
    let ru = RU.replace("\"Отправить заявку\"", "\"Отправить\"");
    let named: Vec<_> =
        problems.to_string().lines().map(|words| at("ru.toml", &ru, &at("en.toml", &wrong, words))).collect();
    insta::assert_snapshot!(named.join("\n"), @r"
    en.toml: `age.seconds` is missing — a text with {n}
    en.toml: `age.minutes` is missing — a text with {n}
    en.toml: `age.hours` is missing — a text with {n}
    en.toml: `age.days` is missing — a text with {n}
    en.toml at `back`: `dialog.back` must be a string (in quotes), this is a whole number
    en.toml at `edit`: `dialog.edit` is too long: 65 — at most 64 characters
    en.toml at `resume`: `dialog.resume`: `{us` is no placeholder — {name} is a placeholder; a brace itself is {{ or }}
    en.toml at `[tap]`: `tap.chosen` is missing — a text with no placeholder
    en.toml at `[tap]`: `tap.gone` is missing — a text with no placeholder
    en.toml at `accepted`: `tap.accepted`: «created» claims a ticket that this state does not prove — say what is known in this state, and nothing more
    en.toml at `created`: `tap.created`: {number} is missing — the person needs it here
    en.toml at `created`: `tap.created`: «created» is said without the number: {number} — say what is known in this state, and nothing more
    en.toml at `stale`: `tap.stale`: unknown placeholder {button} — this text has no placeholders
    en.toml at `foreign`: `tap.foreign` is too long: 225 — at most 200 UTF-16 units, arguments included
    en.toml at `gnoe`: unknown key `gnoe` in [tap] — did you mean `gone`?
    en.toml at `done`: `tap.done` shows nothing — write what the person should read
    en.toml at `unknown`: `card.unknown`: «try again» calls it a failure while the ticket may exist — say what is known in this state, and nothing more
    en.toml at `[aeg]`: unknown key `aeg` — did you mean `age`?
    ru.toml at `submit_button`: `dialog.submit_button` must be «Отправить заявку» — scripts and pages find the button by it
    zayavka.toml:3: there is no file of texts for the default language `de` — there are: en, ru; a further one is texts/de.toml in the templates folder
    ");
}

#[test]
fn an_own_file_replaces_the_one_of_its_language_whole() {
    let own =
        |lang: &str, text: &str| Sources::from([(lang.to_owned(), (format!("own/{lang}.toml"), text.to_owned()))]);
    let mut problems = Problems::new();
    let changed = own("ru", &RU.replace("chosen = \"Выбрано.\"", "chosen = \"Записали.\""));
    let texts = load(&files(RU, EN), &changed, here("ru"), &mut problems).unwrap();
    assert_eq!(problems.to_string(), "");
    assert_eq!(texts.say("ru", Key::TapChosen, &[]), "Записали.");
    assert_eq!(texts.say("en", Key::TapChosen, &[]), "Chosen.");
    let german = own("de", &EN.replace("chosen = \"Chosen.\"\n", ""));
    assert!(load(&files(RU, EN), &german, here("ru"), &mut problems).is_none());
    assert!(problems.to_string().contains("`tap.chosen` is missing"), "{problems}");
    // A file with a few lines does not bury its mistakes under all that is not in it.
    let mut problems = Problems::new();
    let few = own("ru", "[tap]\nchosn = \"Записали.\"\nreview = \"Заявка создана.\"\n");
    assert!(load(&files(RU, EN), &few, here("ru"), &mut problems).is_none());
    let lines = problems.to_string();
    assert!(lines.lines().count() == 3 && lines.contains("texts are missing: dialog.welcome, "), "{lines}");
}
