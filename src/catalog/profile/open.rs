//! Finds the profile an installation names: a path, a file in its own templates, or one that ships.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Profile, built_in, load, load_on};
use crate::{
    clock::Timestamp,
    config::{files, nearest, places::Place, problem::Problems},
};

/// Reads the profile `named` in the configuration: with a slash or `.toml` it is a path, otherwise the name of a file
/// in `crm/` of the templates folder, or else of a shipped profile. `named_at` is where it is named, `now` what days in
/// it must not lie after. What is only odd comes back beside it.
///
/// # Errors
/// There is no such profile, or every mistake of its file.
pub fn open(
    named: &str,
    templates: Option<&Path>,
    named_at: Place,
    now: Timestamp,
) -> Result<(Profile, Problems), Problems> {
    let refused = |what: String, hint: String| {
        let mut problems = Problems::new();
        problems.error(named_at.0.clone(), named_at.1, what, hint);
        problems
    };
    if is_path(named) {
        let path = Path::new(named);
        if !path.is_file() {
            let what = format!("`crm.profile` is the path {named}, where there is no file");
            return Err(refused(
                what,
                "a path is read from the folder the service runs in; or give a profile's name".into(),
            ));
        }
        return file(path, now);
    }
    if let Some(path) = own(named, templates).filter(|path| path.exists()) {
        return file(&path, now);
    }
    if let Some(text) = built_in::text(named) {
        return load(&format!("(built in) crm/{named}.toml"), text);
    }
    let folder = templates.unwrap_or_else(|| Path::new("templates")).join("crm");
    let hint = format!(
        "{}; a profile of your own is {}, or a path",
        near(named, &known(templates)),
        folder.join(format!("{named}.toml")).display()
    );
    Err(refused(format!("there is no CRM profile `{named}`"), hint))
}

/// What is wrong in the profiles of the templates folder that are not the `named` one, as warnings: nothing works by them
/// now, and whoever selects one later should not find its mistakes only then.
#[must_use]
pub fn others(named: &str, templates: Option<&Path>, now: Timestamp) -> Problems {
    let mut problems = Problems::new();
    let all = templates.map(|folder| files::toml_files(&folder.join("crm"), &mut problems)).unwrap_or_default();
    let selected = if is_path(named) { Some(PathBuf::from(named)) } else { own(named, templates) };
    let selected = selected.and_then(|path| path.canonicalize().ok());
    for path in all.iter().filter(|path| selected.is_none() || path.canonicalize().ok() != selected) {
        match file(path, now) {
            Ok((_, found)) | Err(found) => problems.append(found),
        }
    }
    problems.as_warnings()
}

/// Whether a profile is named by its path.
fn is_path(named: &str) -> bool {
    named.contains(['/', '\\']) || named.ends_with(".toml")
}

/// The names most like a wrong one: a slip of the hand, the same product, or else all there are.
fn near(named: &str, known: &[String]) -> String {
    if let Some(name) = nearest::nearest(named, known.iter().map(String::as_str)) {
        return format!("did you mean `{name}`?");
    }
    let product = named.split('-').next().unwrap_or(named).to_lowercase();
    let of_product: Vec<_> = known.iter().filter(|name| name.split('-').next() == Some(&*product)).cloned().collect();
    let listed = if of_product.is_empty() { known } else { &of_product };
    format!("there are: {}", listed.join(", "))
}

/// The names of all profiles an installation can choose from, its own and the shipped ones.
#[must_use]
pub fn known(templates: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = built_in::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    for path in templates.map(|folder| files::toml_files(&folder.join("crm"), &mut Problems::new())).unwrap_or_default()
    {
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    names.dedup();
    names
}

fn own(named: &str, templates: Option<&Path>) -> Option<PathBuf> {
    templates.map(|folder| folder.join("crm").join(format!("{named}.toml")))
}

/// The latest day of the calendar anywhere on earth at `now`; not before the day of what ships, for a clock that says so
/// is wrong.
fn latest_day(now: Timestamp) -> String {
    let ahead = now.plus(Duration::from_secs(14 * 3_600)).rfc3339();
    ahead.get(..10).unwrap_or_default().max(built_in::DATED).to_owned()
}

fn file(path: &Path, now: Timestamp) -> Result<(Profile, Problems), Problems> {
    let shown = path.display().to_string();
    let mut problems = Problems::new();
    let Some(text) = files::read(path, &mut problems) else { return Err(problems) };
    let (profile, mut warnings) = load_on(&shown, &text, &latest_day(now))?;
    if path.file_stem().is_some_and(|stem| *stem != *profile.meta.name) {
        let what = format!("the profile calls itself `{}`, its file is named otherwise", profile.meta.name);
        warnings.warning(shown, None, what, "give both the same name: cards and journals show the profile's");
    }
    Ok((profile, warnings))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// 2027-01-31T09:00:00Z.
    const NOW: Timestamp = Timestamp(1_801_386_000_000);

    #[test]
    fn nothing_is_known_from_a_day_that_has_not_come() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.toml");
        let text = built_in::text("generic-searchable").expect("it ships").replace("generic-searchable", "mine");
        let named = path.display().to_string();
        let said = |text: &str, now: Timestamp| {
            fs::write(&path, text).expect("written");
            let read = open(&named, None, ("zayavka.toml".to_owned(), Some(7)), now);
            read.err().map(|problems| problems.to_string().replace(&named, "mine.toml")).unwrap_or_default()
        };
        let verified =
            |day: &str| text.replace("verified = { date = \"2026-11-30\"", &format!("verified = {{ date = \"{day}\""));
        let evidence = |day: &str| text.replace("\ndate = \"2026-11-30\"", &format!("\ndate = \"{day}\""));
        for day in ["2027-01-30", "2027-01-31"] {
            assert_eq!(said(&verified(day), NOW) + &said(&evidence(day), NOW), "", "{day}");
        }
        // It is the first of February already in the east.
        let evening = NOW.plus(Duration::from_secs(3 * 3_600));
        assert!(said(&verified("2027-02-01"), NOW).contains("has not come yet"));
        assert_eq!(said(&verified("2027-02-01"), evening), "");
        for text in [verified("2999-11-30"), evidence("2027-02-02")] {
            let said = said(&text, evening);
            assert!(
                said.starts_with("mine.toml:") && said.contains("has not come yet — the day it was seen"),
                "{said}"
            );
        }
        // A clock that stands before what ships was dated is wrong, and refuses nothing.
        assert_eq!(said(&text, Timestamp(0)), "");
        assert!(built_in::ALL.iter().all(|(name, text)| load_on(name, text, built_in::DATED).is_ok()));
    }

    #[test]
    fn mistakes_of_profiles_that_are_not_selected_are_warnings() {
        let folder = tempfile::tempdir().expect("a folder");
        let crm = folder.path().join("crm");
        fs::create_dir(&crm).expect("a folder");
        let text = built_in::text("generic-blind").expect("it ships");
        fs::write(crm.join("good.toml"), text.replace("generic-blind", "good")).expect("written");
        fs::write(crm.join("magic.toml"), text.replace("promise = \"blind\"", "promise = \"magic\"")).expect("written");
        fs::write(crm.join("none.toml"), "this is no TOML").expect("written");
        let said = others("good", Some(folder.path()), NOW);
        let told = said.to_string().replace(&format!("{}/", crm.display()), "");
        assert!(!said.has_errors() && !told.contains("good.toml"), "{told}");
        let magic = told.lines().find(|line| line.starts_with("magic.toml:")).unwrap_or_default();
        assert!(magic.contains(": warning: ") && magic.contains("cannot be `magic`"), "{told}");
        assert!(told.contains("none.toml:1: warning: not valid TOML"), "{told}");
        // The selected one is read, and told of, by itself: by its name or by its path.
        assert!(!others("magic", Some(folder.path()), NOW).to_string().contains("magic.toml"));
        let by_path = crm.join("none.toml").display().to_string();
        assert!(!others(&by_path, Some(folder.path()), NOW).to_string().contains("none.toml"));
        assert!(others("good", None, NOW).is_empty());
    }

    #[test]
    fn an_own_file_goes_before_a_shipped_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let crm = folder.path().join("crm");
        fs::create_dir(&crm).expect("a folder");
        let text = built_in::text("generic-blind").expect("it ships");
        fs::write(crm.join("generic-blind.toml"), text.replace("Generic ticket API", "Ours")).expect("written");
        fs::write(crm.join("mine.toml"), text).expect("written");

        let here = || ("zayavka.toml".to_owned(), Some(7));
        let system =
            |named: &str| open(named, Some(folder.path()), here(), NOW).map(|(profile, _)| profile.meta.system);
        assert!(system("generic-blind").is_ok_and(|system| system.starts_with("Ours")));
        assert!(system("generic-keyed").is_ok_and(|system| system.starts_with("Generic")));
        let known = known(Some(folder.path()));
        assert!(known.is_sorted() && known.len() == built_in::ALL.len() + 1 && known.contains(&"mine".to_owned()));

        let (_, warnings) = open("mine", Some(folder.path()), here(), NOW).expect("it loads");
        assert!(warnings.to_string().contains("named otherwise"), "{warnings}");
        let by_path = crm.join("mine.toml").display().to_string();
        assert!(open(&by_path, None, here(), NOW).is_ok());
        for gone in ["generic-kyed", "nosuch", "./nosuch.toml", "../etc/passwd"] {
            assert!(open(gone, Some(folder.path()), here(), NOW).is_err(), "{gone}");
        }
        for (named, said) in [
            (
                "generic-kyed",
                "did you mean `generic-keyed`?; a profile of your own is templates/crm/generic-kyed.toml, or",
            ),
            ("generic-nope", "there are: generic-blind, generic-keyed, generic-searchable; a profile of your own is"),
            ("nosuch/file.toml", "`crm.profile` is the path nosuch/file.toml, where there is no file"),
        ] {
            let problems = open(named, None, here(), NOW).expect_err("no such profile").to_string();
            assert!(problems.starts_with("zayavka.toml:7: ") && problems.contains(said), "{problems}");
        }
    }
}
