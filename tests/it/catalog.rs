//! Configuration, forms and texts as an operator keeps them: files in a folder, and what is said of their mistakes.

use std::{collections::BTreeMap, fs, io, path::Path};

use zayavka::{
    catalog::{
        Catalog,
        problem::Problems,
        texts::{Key, Texts},
    },
    config::Config,
};

const CONTRACT: &str = "tests/it/fixtures/contract";
const RU: &str = include_str!("../../templates/texts/ru.toml");
const EN: &str = include_str!("../../templates/texts/en.toml");

fn load(dir: Option<&Path>, lang: &str) -> Result<Catalog, String> {
    let mut problems = Problems::new();
    let catalog = Catalog::load(dir, lang, &mut problems);
    problems.sort();
    match catalog {
        Some(catalog) => {
            assert_eq!(problems.to_string(), "");
            Ok(catalog)
        }
        None => {
            let shown = problems.to_string();
            Err(dir.map_or(shown.clone(), |dir| shown.replace(&format!("{}/", dir.display()), "")))
        }
    }
}

fn say(texts: &Texts, lang: &str) -> String {
    texts.say(lang, Key::TapChosen, &[])
}

/// A templates folder with these files.
fn folder(files: &[(&str, &str)]) -> io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for name in ["forms", "texts"] {
        fs::create_dir(folder.path().join(name))?;
    }
    for (name, text) in files {
        fs::write(folder.path().join(name), text)?;
    }
    Ok(folder)
}

#[test]
fn without_a_folder_the_compiled_in_files_serve() {
    for dir in [None, Some(Path::new("tests/no-such-folder"))] {
        let catalog = load(dir, "ru").unwrap();
        assert_eq!(catalog.forms.len(), 1);
        assert!(catalog.form("consultation").is_some() && catalog.form("other").is_none());
        assert_eq!(catalog.texts.langs(), ["en", "ru"]);
    }
}

#[test]
fn the_contract_s_files_load_from_disk() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(CONTRACT);
    let config = Config::load(Some(&folder.join("zayavka.toml")), &BTreeMap::new()).unwrap();
    assert_eq!(config.warnings.to_string(), "");
    let catalog = load(Some(&folder), &config.templates.language).unwrap();
    assert_eq!(catalog.form("consultation").map(|form| form.fields.len()), Some(7));
}

#[test]
fn own_forms_replace_the_sample_and_own_texts_replace_their_language() {
    let form = |id: &str| {
        format!(
            "id = '{id}'\ntitle = 'T'\n[[field]]\nid = 'a'\nkind = 'text'\nask = '?'\n[ticket]\nsubject = 's'\nbody = 'b'\n"
        )
    };
    let folder = folder(&[
        ("forms/b.toml", &form("second")),
        ("forms/a.toml", &form("first")),
        ("forms/notes.md", "not a form"),
        ("texts/en.toml", &EN.replace("\"Chosen.\"", "\"Got it.\"")),
        ("texts/de.toml", &EN.replace("\"Chosen.\"", "\"Gewählt.\"")),
    ])
    .unwrap();
    let catalog = load(Some(folder.path()), "de").unwrap();
    let ids: Vec<&str> = catalog.forms.iter().map(|form| form.id.as_str()).collect();
    assert_eq!(ids, ["first", "second"]);
    assert_eq!(catalog.texts.langs(), ["de", "en", "ru"]);
    assert_eq!(
        [say(&catalog.texts, "en"), say(&catalog.texts, "ru"), say(&catalog.texts, "fr")],
        ["Got it.", "Выбрано.", "Gewählt."]
    );
}

#[test]
fn mistakes_of_all_files_are_reported_together() {
    let sound =
        "id = 'x'\ntitle = 'T'\n[[field]]\nid = 'a'\nkind = 'text'\nask = '?'\n[ticket]\nsubject = 's'\nbody = 'b'\n";
    let folder = folder(&[
        ("forms/1.toml", sound),
        ("forms/2.toml", sound),
        ("forms/3.toml", &sound.replace("kind = 'text'", "kind = 'txt'")),
        ("texts/ru.toml", &RU.replace("chosen = ", "chosn = ")),
        ("texts/Deutsch.toml", EN),
    ])
    .unwrap();
    fs::write(folder.path().join("forms/4.toml"), b"id = 'x'\ntitle = '\xff'\n").unwrap();
    let said = load(Some(folder.path()), "ru").unwrap_err();
    // The shipped texts grow: the line is counted in the file itself.
    let line = RU.lines().position(|line| line.starts_with("chosen = ")).unwrap() + 1;
    let said = said.replace(&format!("ru.toml:{line}:"), "ru.toml at chosn:");
    let line = RU.lines().position(|line| line == "[tap]").unwrap() + 1;
    let said = said.replace(&format!("ru.toml:{line}:"), "ru.toml at [tap]:");
    insta::assert_snapshot!(said, @r"
    forms/2.toml:1: form `x` is also in forms/1.toml — each form needs its own id
    forms/3.toml:5: `field[1].kind` cannot be `txt` — did you mean `text`?
    forms/4.toml:2: is not UTF-8 text — save it as UTF-8
    texts/Deutsch.toml: is not named after a language — two or three letters, such as ru.toml
    texts/ru.toml at [tap]: `tap.chosen` is missing — a text with no placeholder
    texts/ru.toml at chosn: unknown key `chosn` in [tap] — did you mean `chosen`?
    ");
}

#[test]
fn a_config_that_is_not_there_is_named() {
    let problems = Config::load(Some(Path::new("no/such.toml")), &BTreeMap::new()).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "no/such.toml: cannot be read: there is no such file — name it with --config, or make it: templates/config.toml of the \
         source has every setting with what it means"
    );
}
