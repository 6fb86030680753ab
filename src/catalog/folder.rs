//! What lies in the operator's folder of templates and is not read: a mistyped name must not let the shipped files serve
//! in silence.

use std::path::Path;

use super::problem::Problems;
use crate::config::{files, nearest::nearest};

/// The folders that are read.
const READ: [&str; 3] = ["crm", "forms", "texts"];
/// What else stands beside them in the sources: a copied folder is no mistake.
const KNOWN: [&str; 2] = ["sandbox", "web"];

/// Warns of every name in `dir` that looks as if it were meant to be read and is not.
pub fn report_unread(dir: &Path, problems: &mut Problems) {
    // The folder that the service runs in has other things in it too.
    let shared = files::is_current(dir);
    for (name, is_folder) in files::names(dir) {
        let shown = dir.join(&name).display().to_string();
        if is_folder && !READ.contains(&name.as_str()) && !KNOWN.contains(&name.as_str()) {
            match nearest(&name, READ) {
                Some(near) => problems.warning(shown, None, "is not read", format!("did you mean `{near}`?")),
                None if shared => {}
                None => problems.warning(shown, None, "is not read", "the folders read here: crm, forms, texts"),
            }
        } else if !is_folder && READ.contains(&name.as_str()) {
            problems.error(shown, None, "is a file", "a folder of this name holds what is to be read");
        }
    }
    for folder in READ {
        for (name, is_folder) in files::names(&dir.join(folder)) {
            let shown = dir.join(folder).join(&name).display().to_string();
            if is_folder {
                problems.warning(shown, None, "is not read", format!("put its files into {folder} itself"));
            } else if let Some((stem, end)) = name.rsplit_once('.')
                && end != "toml"
                && nearest(end, ["toml"]).is_some()
            {
                problems.warning(shown, None, "is not read", format!("did you mean `{stem}.toml`?"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_spoken_of_and_a_note_is_not() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["formz", "archive", "texts/old", "forms", "crm", ".git", "web"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for name in ["README.md", "forms/f.tml", "forms/notes.md", "forms/good.toml", "forms/F.TOML", "config.toml"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let mut problems = Problems::new();
        report_unread(folder.path(), &mut problems);
        let said = problems.to_string().replace(&format!("{}/", folder.path().display()), "");
        insta::assert_snapshot!(said, @r"
        archive: warning: is not read — the folders read here: crm, forms, texts
        formz: warning: is not read — did you mean `forms`?
        forms/F.TOML: warning: is not read — did you mean `F.toml`?
        forms/f.tml: warning: is not read — did you mean `f.toml`?
        texts/old: warning: is not read — put its files into texts itself
        ");
    }
}
