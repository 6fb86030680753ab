//! Reading a file that somebody sent: `getFile`, then the file's own address, which holds the bot's token and lives an
//! hour. Source: Bot API, `getFile` and `File`.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::{Answer, Telegram, client::describe};

/// The longest a file's bytes may take to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came of asking for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// Telegram does not have it, or not for this bot.
    Gone,
    /// Larger than was asked for, or than a bot may read.
    TooLarge,
    /// Not now; why, without the token.
    Later(String),
}

impl Telegram {
    /// Reads a file of at most `most` bytes. An address that no longer works is asked for once more.
    pub async fn file(&self, file_id: &str, most: u64) -> Fetched {
        let mut last = Fetched::Gone;
        for _ in 0..2 {
            let path = match self.path_of(file_id, most).await {
                Ok(path) => path,
                Err(ended) => return ended,
            };
            last = match tokio::time::timeout(PATIENCE, self.bytes(&path, most)).await {
                Ok(Ok(fetched)) => return fetched,
                Ok(Err(status)) => Fetched::Later(format!("Telegram answered {status} at the file's address")),
                Err(_) => return Fetched::Later("Telegram takes too long over the file".to_owned()),
            };
        }
        last
    }

    async fn path_of(&self, file_id: &str, most: u64) -> Result<String, Fetched> {
        match self.call("getFile", &json!({ "file_id": file_id })).await {
            Answer::Ok(file) => {
                if file.get("file_size").and_then(Value::as_u64).is_some_and(|size| size > most) {
                    return Err(Fetched::TooLarge);
                }
                let path = file.get("file_path").and_then(Value::as_str).filter(|path| is_plain(path));
                path.map(str::to_owned)
                    .ok_or_else(|| Fetched::Later("Telegram names no path that can be read".to_owned()))
            }
            Answer::Refused(refusal) if refusal.says("too big") => Err(Fetched::TooLarge),
            Answer::Refused(refusal) if refusal.code == 400 => Err(Fetched::Gone),
            Answer::Refused(refusal) => Err(Fetched::Later(format!("Telegram refused: {}", refusal.description))),
            Answer::Unreadable { status } => Err(Fetched::Later(format!("Telegram answered {status}, unreadable"))),
            Answer::NotSent { detail } | Answer::Lost { detail } => Err(Fetched::Later(detail)),
        }
    }

    /// The bytes at a path; `Err` is a status that a fresh path may mend.
    async fn bytes(&self, path: &str, most: u64) -> Result<Fetched, u16> {
        let url = format!("{}/file/bot{}/{path}", self.base, self.token.expose_secret());
        let later = |error: reqwest::Error| Fetched::Later(describe(&error.without_url()));
        let mut response = match self.calls.get(url).send().await {
            Ok(response) => response,
            Err(error) => return Ok(later(error)),
        };
        match response.status().as_u16() {
            200 => {}
            status @ (401 | 403 | 404 | 410) => return Err(status),
            status => return Ok(Fetched::Later(format!("Telegram answered {status} at the file's address"))),
        }
        let mut bytes = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if bytes.len() as u64 + chunk.len() as u64 <= most => bytes.extend_from_slice(&chunk),
                Ok(Some(_)) => return Ok(Fetched::TooLarge),
                Ok(None) => return Ok(Fetched::Bytes(bytes)),
                Err(error) => return Ok(later(error)),
            }
        }
    }
}

/// Whether a path can stand in an address as it is: it may not lead elsewhere. A local Bot API server names files of its
/// own disk instead, which nobody can read over HTTP.
fn is_plain(path: &str) -> bool {
    let letters = |part: &str| {
        !part.is_empty()
            && part != ".."
            && part != "."
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    path.len() <= 512 && path.split('/').all(letters)
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn a_path_leads_nowhere_else() {
        for good in ["photos/file_1.jpg", "documents/file_20", "a.pdf"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in ["", "/var/lib/bot/1.jpg", "a/../../b", "a?b", "a#b", "a b", "a//b", "http://x/y", "a%2fb"] {
            assert!(!is_plain(bad), "{bad}");
        }
    }
}
