//! Files on their way to the CRM: where their bytes come from, and how they get into a request without being stored.
//!
//! A stored request holds a mark where a file's content goes, and the content's SHA-256. The bytes are fetched when the
//! request is sent and take the mark's place on the way out, as secrets do. A repeat fetches them again and goes out only
//! if they are the same: so it is byte for byte what the CRM saw before, and no database ever holds a file.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::request::Rendered;
use crate::{
    catalog::profile::template::base64,
    domain::attachment::{Attachment, LeftOut},
    ids::ExternalKey,
};

/// Why a file's bytes cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFile {
    /// Nobody has it any more.
    Gone,
    /// It is larger than may be fetched.
    TooLarge,
    /// Not now; why, without secrets.
    Later(String),
}

/// Where the bytes of attached files come from.
pub trait FileSource: Debug + Send + Sync {
    /// Fetches a file of at most `most` bytes.
    fn fetch<'a>(&'a self, file: &'a Attachment, most: u64) -> BoxFuture<'a, Result<Vec<u8>, NoFile>>;
}

/// No source: for trials, where nobody attached anything.
#[derive(Debug)]
pub(super) struct NoSource;

impl FileSource for NoSource {
    fn fetch<'a>(&'a self, _: &'a Attachment, _: u64) -> BoxFuture<'a, Result<Vec<u8>, NoFile>> {
        async { Err(NoFile::Gone) }.boxed()
    }
}

/// The sentences a ticket's text gets for files that are not with it.
#[derive(Debug, Clone, Default)]
pub struct FileWords {
    /// One sentence, with `{name}` and `{reason}`.
    pub sentence: String,
    /// The reasons.
    pub reasons: BTreeMap<LeftOut, String>,
}

impl FileWords {
    /// The text with a line for each file that is left out.
    #[must_use]
    pub fn added(&self, body: &str, left: &[(String, LeftOut)]) -> String {
        let line = |(name, why): &(String, LeftOut)| {
            let reason = self.reasons.get(why).map_or(why.name(), String::as_str);
            match self.sentence.as_str() {
                "" => format!("{name}: {reason}"),
                sentence => sentence.replace("{reason}", reason).replace("{name}", name),
            }
        };
        let lines: Vec<_> = left.iter().map(line).collect();
        if lines.is_empty() { body.to_owned() } else { format!("{body}\n\n{}", lines.join("\n")) }
    }
}

/// A place in a stored request that a file's content takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inset {
    /// What stands there meanwhile.
    pub mark: String,
    /// Which file of the order, counted from 0.
    pub file: usize,
    /// The content's SHA-256 in hex.
    pub sha256: String,
    /// Whether it goes in as base64, or as it is.
    pub base64: bool,
}

/// The bytes of some files of an order, by their places in it.
pub(super) type Contents = BTreeMap<usize, Arc<Vec<u8>>>;

/// What stands for a file's content: a word no person can have written, since it is made of the order's key.
pub(super) fn mark(key: ExternalKey, file: usize) -> String {
    format!("zayavka-file-{}", key.of_step(&format!("content.{file}")).0.simple())
}

/// A content's SHA-256 in hex.
pub(super) fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Notes in a request which files it carries, by the marks that stand in it.
pub(super) fn noted(mut request: Rendered, key: ExternalKey, contents: &Contents, base64: bool) -> Rendered {
    let body = request.body.as_deref().unwrap_or_default();
    let carried = contents.iter().filter_map(|(file, content)| {
        let mark = mark(key, *file);
        body.contains(&mark).then(|| Inset { mark, file: *file, sha256: sha256(content), base64 })
    });
    request.insets = carried.collect();
    request
}

/// A body with the files in their places; `None` where one of them is not at hand.
pub(super) fn filled(body: &str, insets: &[Inset], contents: &Contents) -> Option<Vec<u8>> {
    let size: usize = contents.values().map(|content| content.len() * 4 / 3 + 4).sum();
    let mut out = Vec::with_capacity(body.len() + size);
    let mut rest = body;
    loop {
        let next = insets.iter().filter_map(|inset| Some((rest.find(&inset.mark)?, inset))).min_by_key(|(at, _)| *at);
        let Some((at, inset)) = next else {
            out.extend_from_slice(rest.as_bytes());
            return Some(out);
        };
        let content = contents.get(&inset.file)?;
        out.extend_from_slice(rest.get(..at)?.as_bytes());
        if inset.base64 {
            out.extend_from_slice(base64(content).as_bytes());
        } else {
            out.extend_from_slice(content);
        }
        rest = rest.get(at + inset.mark.len()..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_take_the_places_of_their_marks_and_nothing_else_moves() {
        let key = ExternalKey(uuid::Uuid::from_u128(7));
        let contents: Contents = [(0, vec![0, 255, b'"']), (2, b"x".to_vec())].map(|(n, c)| (n, Arc::new(c))).into();
        let (first, third) = (mark(key, 0), mark(key, 2));
        let body = format!("{{\"b\":\"{third}\",\"a\":\"{first}\",\"again\":\"{first}\",\"é\":1}}");
        let request = Rendered {
            method: "POST".into(),
            url: "http://crm/".into(),
            headers: Vec::new(),
            body: Some(body.clone()),
            insets: Vec::new(),
        };
        let request = noted(request, key, &contents, true);
        assert_eq!(request.insets.len(), 2);
        let sent = filled(&body, &request.insets, &contents).unwrap();
        assert_eq!(String::from_utf8(sent).unwrap(), "{\"b\":\"eA==\",\"a\":\"AP8i\",\"again\":\"AP8i\",\"é\":1}");
        assert_eq!(filled(&body, &request.insets, &Contents::new()), None, "nothing goes out with a mark in it");
        let raw = noted(Rendered { body: Some(first.clone()), ..request }, key, &contents, false);
        assert_eq!(filled(&first, &raw.insets, &contents).unwrap(), [0, 255, b'"']);
    }

    #[test]
    fn what_is_left_out_is_said_under_the_text() {
        let words = FileWords {
            sentence: "Файл «{name}» не приложен: {reason}.".into(),
            reasons: BTreeMap::from([(LeftOut::Gone, "его больше нет".to_owned())]),
        };
        let left = [("{reason}.pdf".to_owned(), LeftOut::Gone)];
        assert_eq!(words.added("Текст", &left), "Текст\n\nФайл «{reason}.pdf» не приложен: его больше нет.");
        assert_eq!(words.added("Текст", &[]), "Текст");
    }
}
