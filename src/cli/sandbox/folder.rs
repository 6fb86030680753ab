//! The sandbox's folder: made for one run, gone at its end, and tidied by the next run after a `kill -9`.
//!
//! Whoever uses a folder holds a lock inside it. The system gives the lock back whichever way the process ends, so a
//! folder whose lock can be had belongs to nobody. Process numbers alone would not tell: they are used again.

use std::{
    fs::{DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

const PREFIX: &str = "zayavka-sandbox-";
const LOCK: &str = "lock";

/// A folder of its own, removed when dropped.
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder, and removes those that nobody uses any more.
    pub(super) fn new() -> Result<Self, String> {
        Self::within(&std::env::temp_dir(), std::process::id())
    }

    fn within(parent: &Path, process: u32) -> Result<Self, String> {
        sweep(parent);
        let path = parent.join(format!("{PREFIX}{process}"));
        make(&path)
            .map_err(|error| format!("{} cannot be made: {error}; set TMPDIR to a folder of yours", path.display()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// It gets its name only when its lock is held: until then a sweep of another process does not look at it.
fn make(path: &Path) -> io::Result<Folder> {
    let unnamed = path.with_extension("new");
    drop(std::fs::remove_dir_all(&unnamed));
    DirBuilder::new().mode(0o700).create(&unnamed)?;
    let lock = File::create(unnamed.join(LOCK))?;
    lock.try_lock()?;
    std::fs::rename(&unnamed, path)?;
    Ok(Folder { path: path.to_owned(), _lock: lock })
}

/// Removes what killed processes left. What cannot be removed is somebody else's, and stays.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let ours = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX));
        if ours && is_left(&path) {
            drop(std::fs::remove_dir_all(&path));
        }
    }
}

fn is_left(folder: &Path) -> bool {
    let Ok(lock) = File::open(folder.join(LOCK)) else { return false };
    match lock.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_and_is_nobody_elses_to_read() {
        use std::os::unix::fs::PermissionsExt;

        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::within(parent.path(), 7).unwrap();
        let mode = std::fs::metadata(folder.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::write(folder.path().join("zayavka.db"), "rows").unwrap();
        drop(folder);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_next_run_removes_what_a_killed_one_left_and_nothing_in_use() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join("zayavka-sandbox-8");
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join(LOCK), "").unwrap();
        let strange = parent.path().join("zayavka-sandbox-notes");
        std::fs::create_dir(&strange).unwrap();
        let first = Folder::within(parent.path(), 7).unwrap();
        assert!(!left.exists(), "the killed run's folder is still there");
        let second = Folder::within(parent.path(), 9).unwrap();
        assert!(first.path().exists() && second.path().exists() && strange.exists());
    }

    #[test]
    fn a_name_that_is_taken_is_told_in_words() {
        let parent = tempfile::tempdir().unwrap();
        let _first = Folder::within(parent.path(), 7).unwrap();
        let words = Folder::within(parent.path(), 7).err().unwrap();
        assert!(words.contains("zayavka-sandbox-7") && words.contains("TMPDIR"), "{words}");
    }
}
