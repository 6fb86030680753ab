//! A database that can be copied: many lives begin on the same stored state.

use std::path::PathBuf;

/// One database, ours alone.
pub enum Stored {
    Sqlite { folder: tempfile::TempDir },
}

impl Stored {
    pub async fn fresh(postgres: bool) -> Self {
        assert!(!postgres);
        Self::Sqlite { folder: tempfile::tempdir().unwrap() }
    }

    pub fn url(&self) -> String {
        match self {
            Self::Sqlite { folder } => format!("sqlite://{}", file(folder).display()),
        }
    }

    /// A copy of it as it stands; nobody may be connected.
    pub async fn copy(&self) -> Self {
        match self {
            Self::Sqlite { folder } => {
                let copy = tempfile::tempdir().unwrap();
                for entry in std::fs::read_dir(folder.path()).unwrap() {
                    let entry = entry.unwrap();
                    std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
                }
                Self::Sqlite { folder: copy }
            }
        }
    }

    pub async fn remove(self) {}
}

fn file(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("zayavka.db")
}
