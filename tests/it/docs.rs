//! The docs, held to what the program does: every sample file loads, every command exists, every link leads somewhere.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use clap::CommandFactory as _;
use zayavka::{
    app,
    catalog::{forms, problem::Problems, profile},
    cli::Cli,
    config::Config,
};

type Outcome = Result<(), Box<dyn Error>>;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What is named here does not exist yet, and says so.
const NOT_YET: &str = "## Not there yet";

/// The pages people read, with their text.
fn pages() -> Result<Vec<(PathBuf, String)>, Box<dyn Error>> {
    let mut paths = vec!["README.md".into(), "README.ru.md".into(), "CHANGELOG.md".into()];
    for entry in fs::read_dir(Path::new(ROOT).join("docs"))? {
        paths.push(Path::new("docs").join(entry?.file_name()));
    }
    paths.sort();
    paths.into_iter().map(|path: PathBuf| Ok((path.clone(), fs::read_to_string(Path::new(ROOT).join(path))?))).collect()
}

/// A sample file: a block of TOML whose first line names the file.
struct Sample {
    place: String,
    file: String,
    text: String,
}

fn samples() -> Result<Vec<Sample>, Box<dyn Error>> {
    let mut found = Vec::new();
    for (page, text) in pages()? {
        for (number, block) in text.split("```toml\n").skip(1).enumerate() {
            let block = block.split("```").next().unwrap_or_default();
            let place = format!("{}, sample {}", page.display(), number + 1);
            let file = block.lines().next().and_then(|line| line.strip_prefix("# file: "));
            let file = file.ok_or_else(|| format!("{place} does not begin with `# file: name`"))?.to_owned();
            found.push(Sample { place, file, text: block.to_owned() });
        }
    }
    Ok(found)
}

#[test]
fn every_sample_form_and_profile_loads_without_a_remark() -> Outcome {
    let mut seen = 0;
    for sample in samples()? {
        if sample.file.starts_with("forms/") {
            let mut problems = Problems::new();
            let form = forms::load(&sample.file, &sample.text, &mut problems);
            assert!(form.is_some() && problems.iter().next().is_none(), "{}: {problems}", sample.place);
            seen += 1;
        } else if sample.file.starts_with("crm/") {
            let (profile, remarks) = profile::load(&sample.file, &sample.text)
                .map_err(|problems| format!("{}: {problems}", sample.place))?;
            assert!(remarks.iter().next().is_none(), "{}: {remarks}", sample.place);
            assert_eq!(format!("crm/{}.toml", profile.meta.name), sample.file);
            seen += 1;
        }
    }
    assert!(seen >= 2, "only {seen} samples were found");
    Ok(())
}

#[test]
fn every_sample_configuration_passes_the_check() -> Outcome {
    let mut seen = 0;
    for sample in samples()?.into_iter().filter(|sample| sample.file == "zayavka.toml") {
        let folder = tempfile::tempdir()?;
        // The files it names exist on its reader's machine, not here.
        let mut text = sample.text.clone();
        for name in ["token", "crm_token"] {
            let path = folder.path().join(name);
            fs::write(&path, "123456:SAMPLE\n")?;
            text = text.replace(&format!("_file = \"{name}\""), &format!("_file = {path:?}"));
        }
        let path = folder.path().join(&sample.file);
        fs::write(&path, text)?;
        let config = Config::load(Some(&path), &BTreeMap::new()).map_err(|it| format!("{}: {it}", sample.place))?;
        let checked = app::check(&config).map_err(|problems| format!("{}: {problems}", sample.place))?;
        assert!(checked.warnings.iter().next().is_none(), "{}: {}", sample.place, checked.warnings);
        seen += 1;
    }
    assert!(seen >= 2, "only {seen} samples were found");
    Ok(())
}

#[test]
fn every_command_the_docs_name_exists() -> Outcome {
    let cli = Cli::command();
    let mut seen = 0;
    for (page, text) in pages()? {
        let text = text.split(NOT_YET).next().unwrap_or_default();
        for mention in text.split("`zayavka ").skip(1).map(|rest| rest.split('`').next().unwrap_or_default()) {
            let mut command = &cli;
            for word in mention.split_whitespace().take_while(|word| word.chars().all(|c| c.is_ascii_lowercase())) {
                let below = command.find_subcommand(word);
                command = below.ok_or_else(|| format!("{}: there is no `zayavka {mention}`", page.display()))?;
            }
            for flag in mention.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
                let known = command.get_arguments().chain(cli.get_arguments());
                let known: Vec<_> = known.filter_map(|argument| argument.get_long()).collect();
                assert!(known.contains(&flag), "{}: `zayavka {mention}` has no --{flag}", page.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} mentions were found");
    Ok(())
}

#[test]
fn every_link_between_pages_leads_to_a_file() -> Outcome {
    let mut seen = 0;
    for (page, text) in pages()? {
        for target in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap_or_default()) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.starts_with("https://") {
                continue;
            }
            let path = Path::new(ROOT).join(&page).parent().unwrap_or(Path::new(ROOT)).join(file);
            assert!(path.exists(), "{}: {target} leads nowhere", page.display());
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} links were found");
    Ok(())
}

#[test]
fn the_front_pages_are_short() -> Outcome {
    for name in ["README.md", "README.ru.md"] {
        let lines = fs::read_to_string(Path::new(ROOT).join(name))?.lines().count();
        assert!(lines < 200, "{name} has {lines} lines: what does not fit belongs into docs/");
    }
    Ok(())
}

#[test]
fn every_test_that_holds_a_field_case_exists() -> Outcome {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/field-cases.md"))?;
    let (held, rest) = text.split_once(NOT_YET).ok_or("no part for what is not there yet")?;
    let mut cases = BTreeMap::new();
    for row in held.lines().filter(|line| line.starts_with("| B") || line.starts_with("| S")) {
        let (case, tests) =
            (row.split('|').nth(1).unwrap_or_default().trim(), row.rsplit('|').nth(1).unwrap_or_default());
        let mut named = 0;
        for test in tests.split('`').filter(|part| part.contains("::")) {
            let (file, name) = test.split_once("::").unwrap_or_default();
            let source =
                fs::read_to_string(Path::new(ROOT).join(file)).map_err(|why| format!("{case}: {file}: {why}"))?;
            assert!(source.contains(&format!("fn {name}(")), "{case}: {file} has no test {name}");
            named += 1;
        }
        assert!(named > 0, "{case} is held by no test");
        assert!(cases.insert(case.to_owned(), named).is_none(), "{case} stands there twice");
    }
    assert!(cases.len() > 90, "only {} cases were found", cases.len());
    let elsewhere = rest.lines().filter(|line| line.starts_with("| B") || line.starts_with("| S")).count();
    assert!(elsewhere < 10, "{elsewhere} cases are held by nothing");
    Ok(())
}
