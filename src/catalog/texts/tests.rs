//! The shipped texts, and text files with mistakes.

use super::*;
use crate::catalog::problem::Problems;

const RU: &str = include_str!("../../../templates/texts/ru.toml");
const EN: &str = include_str!("../../../templates/texts/en.toml");

fn files(ru: &str, en: &str) -> BTreeMap<String, (String, String)> {
    let file = |lang: &str, text: &str| (lang.to_owned(), (format!("{lang}.toml"), text.to_owned()));
    BTreeMap::from([file("ru", ru), file("en", en)])
}

fn shipped() -> Texts {
    let mut problems = Problems::new();
    let texts = load(&files(RU, EN), "ru", &mut problems);
    assert_eq!(problems.to_string(), "");
    texts.unwrap()
}

#[test]
fn the_shipped_texts_load_and_speak_the_client_s_language() {
    let texts = shipped();
    assert_eq!(texts.langs(), ["en", "ru"]);
    assert_eq!(texts.lang(Some("en-GB")), "en");
    assert_eq!(texts.lang(Some("kk")), "ru");
    assert_eq!(texts.lang(None), "ru");
    assert_eq!(texts.say("en", Key::TapCreated, &[("number", "7")]), "Request No. 7 is already created.");
    assert_eq!(texts.say("xx", Key::DialogSubmitButton, &[]), "Отправить заявку");
}
