//! Files people send: `getFile`, and the address where their bytes are.

use std::sync::Arc;

use axum::{
    body::Bytes,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    BotApi, BoxFuture,
    book::Book,
    bot_of,
    params::{Params, Refusal},
};
use crate::sandbox::{
    line::Line,
    stage::{Call, Reply},
};

/// The largest file a bot may read.
const LARGEST: usize = 20 << 20;

/// The name of the file's address in fault rules and in the log.
const NAME: &str = "file";

/// A file of the sandbox.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) size: usize,
}

impl File {
    /// Its bytes: the beginning of a JPEG, then every byte there is, over and over.
    fn bytes(&self) -> Vec<u8> {
        let start = [0xFF, 0xD8, 0xFF, 0xE0].into_iter().chain(self.path.bytes());
        start.chain((0..=u8::MAX).cycle()).take(self.size).collect()
    }
}

pub(super) fn get_file(book: &Book, params: &Params) -> Result<Value, Refusal> {
    let id = params.text("file_id").unwrap_or_default();
    match book.file(&id) {
        Some(file) if file.size > LARGEST => Err(Refusal::bad("file is too big")),
        Some(file) => Ok(json!({ "file_id": id, "file_unique_id": format!("u{id}"), "file_size": file.size,
            "file_path": file.path })),
        None => Err(Refusal::bad("invalid file_id")),
    }
}

struct FileCall {
    api: Arc<BotApi>,
    seq: u64,
    path: String,
}

impl Call for FileCall {
    fn carry_out(&self) -> BoxFuture<'_, Reply> {
        let file = self.api.read(|book, _| book.file_at(&self.path));
        let reply = match file {
            Some(file) => Reply {
                status: 200,
                content_type: "application/octet-stream",
                retry_after: None,
                body: Bytes::from(file.bytes()),
                outcome: "ok",
            },
            None => self.failure(404, None),
        };
        Box::pin(std::future::ready(reply))
    }

    fn failure(&self, status: u16, retry_after: Option<u64>) -> Reply {
        let refusal = Refusal { code: status, description: "Not Found".to_owned() };
        Reply { retry_after, ..Reply::json(status, refusal.body(retry_after)) }
    }

    fn finish(&self, outcome: &'static str) {
        self.api.book().log.close(self.seq, outcome);
    }
}

impl BotApi {
    /// Answers with a file; `rest` is the path after `/file/bot`.
    pub(in crate::sandbox) async fn file(self: &Arc<Self>, rest: &str, line: &Line) -> Response {
        let refused = |code: u16, words: &str| {
            let refusal = Refusal { code, description: words.to_owned() };
            Reply::json(code, refusal.body(None)).into_response()
        };
        let Some((token, path)) = rest.split_once('/') else { return refused(404, "Not Found") };
        if bot_of(token).is_none() {
            return refused(401, "Unauthorized");
        }
        let (seq, rule) = self.read(|book, now| {
            let entry = json!({ "method": NAME, "params": { "path": path } });
            (book.log.open(now, NAME, entry), book.plan.pick(NAME))
        });
        self.changes.note();
        let call = FileCall { api: Arc::clone(self), seq, path: path.to_owned() };
        self.stage.play(rule, Arc::new(call), line).await
    }
}
