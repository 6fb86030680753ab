//! Reads operators' files whole, with a limit: a wrong path must not fill the memory.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::problem::Problems;

/// Largest file read, in bytes: real ones have a few kilobytes.
const LARGEST: u64 = 1024 * 1024;

/// The text of a file, or a problem that names it.
#[must_use]
pub fn read(path: &Path, problems: &mut Problems) -> Option<String> {
    read_or(path, "check the path", problems)
}

/// The same; `missing` says what to do where there is no such file.
#[must_use]
pub fn read_or(path: &Path, missing: &str, problems: &mut Problems) -> Option<String> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => missing,
            _ => "check the path and its permissions",
        };
        problems.error(name, None, format!("cannot be read: {}", said(&error)), hint);
        return None;
    }
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LARGEST {
        problems.error(name, None, "is larger than 1 MiB", "is this the right file?");
        return None;
    }
    String::from_utf8(bytes)
        .map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(good).filter(|byte| **byte == b'\n').count() + 1;
            problems.error(name, u32::try_from(line).ok(), "is not UTF-8 text", "save it as UTF-8");
        })
        .ok()
}

/// The `*.toml` files of a folder, by name; none if there is no such folder.
#[must_use]
pub fn toml_files(folder: &Path, problems: &mut Problems) -> Vec<PathBuf> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let name = folder.display().to_string();
            problems.error(name, None, format!("cannot be read: {}", said(&error)), "check its permissions");
            return Vec::new();
        }
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml") && path.is_file())
        .collect();
    found.sort();
    found
}

/// The names in a folder, in order, and which are folders; without hidden ones. None where it cannot be read: that is
/// an error of whoever reads its files.
#[must_use]
pub fn names(folder: &Path) -> Vec<(String, bool)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().is_dir()))
        .filter(|(name, _)| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// Whether a folder is the one that this process runs in.
#[must_use]
pub fn is_current(folder: &Path) -> bool {
    std::env::current_dir().is_ok_and(|here| folder.canonicalize().is_ok_and(|folder| folder == here))
}

fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
