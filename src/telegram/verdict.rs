//! What an answer proves about a send, an edit or a callback answer: one table, on code and tolerant fragments.
//!
//! Sources: Bot API documentation and the public server's source (`Client.cpp`), release 10. Wording changes between
//! releases, so fragments are short and case does not count; wording nobody knows falls into the careful class.

use std::time::Duration;

use serde_json::Value;

use super::answer::{Answer, Refusal};
use crate::ids::{ChatId, MessageId};

/// Which kind of call was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Makes a message: a repeat may show it twice.
    Send,
    /// Changes a message: a repeat is harmless.
    Edit,
}

/// What the answer proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was carried out, now or before.
    Done(Option<MessageId>),
    /// Surely not carried out; may work later.
    NotSent(String),
    /// Surely not carried out; keep silent in this chat for so long.
    Throttled(Duration),
    /// Surely not carried out; the group lives under this number now.
    Moved(ChatId),
    /// Surely not carried out; this chat is not known. Seen for chats that exist, so worth a few spaced tries.
    NotFound(String),
    /// The topic is closed or gone: may work once without it.
    NoTopic(String),
    /// The message to edit is no longer there, or can no longer be edited.
    Gone,
    /// Nobody can write to this chat until its person writes again.
    ChatRefused(String),
    /// This content will never be taken.
    RowRefused(String),
    /// Our token or server is wrong.
    Misconfigured(String),
    /// It may have been carried out.
    Lost(String),
}

const NOT_FOUND: [&str; 3] = ["chat not found", "peer_id_invalid", "user not found"];

const CHAT_REFUSED: [&str; 11] = [
    "bot was blocked by the user",
    "user is deactivated",
    "bot can't initiate conversation",
    "can't send messages to bots",
    "was kicked from the",
    "is not a member of the",
    "group chat was deleted",
    "not enough rights to send",
    "have no rights to send",
    "need administrator rights",
    "chat_write_forbidden",
];

/// Whether a message that was sent into a topic stands elsewhere: Telegram does so without an error where a topic was
/// deleted in a private chat (tdlib/telegram-bot-api#854).
#[must_use]
pub fn is_astray(payload: &Value, answer: &Answer) -> bool {
    let Answer::Ok(message) = answer else { return false };
    let meant = payload.get("message_thread_id").and_then(Value::as_i64);
    meant.is_some() && message.get("message_thread_id").and_then(Value::as_i64) != meant
}

/// Reads an answer to a send or an edit.
#[must_use]
pub fn verdict(call: Call, answer: &Answer) -> Verdict {
    match answer {
        Answer::Ok(result) => Verdict::Done(result.get("message_id").and_then(Value::as_i64).map(MessageId)),
        Answer::NotSent { detail } => Verdict::NotSent(detail.clone()),
        Answer::Lost { detail } => Verdict::Lost(detail.clone()),
        Answer::Unreadable { status } => Verdict::Lost(format!("an answer that is not the Bot API's, HTTP {status}")),
        Answer::Refused(refusal) => refused(call, refusal),
    }
}

fn refused(call: Call, refusal: &Refusal) -> Verdict {
    let text = || format!("{} {}", refusal.code, refusal.description);
    let says = |fragments: &[&str]| fragments.iter().any(|fragment| refusal.says(fragment));
    if let Some(wait) = refusal.retry_after {
        return Verdict::Throttled(wait);
    }
    if let Some(to) = refusal.moved_to {
        return Verdict::Moved(to);
    }
    if refusal.code == 429 {
        return Verdict::Throttled(Duration::from_secs(5));
    }
    if refusal.code >= 500 {
        return if refusal.says("message was immediately deleted") {
            Verdict::Done(None)
        } else {
            Verdict::Lost(text())
        };
    }
    if call == Call::Edit {
        if refusal.says("message is not modified") {
            return Verdict::Done(None);
        }
        if says(&["message to edit not found", "message can't be edited", "message_id_invalid", "message not found"]) {
            return Verdict::Gone;
        }
    }
    if matches!(refusal.code, 401 | 404 | 421) || refusal.says("logged out") {
        return Verdict::Misconfigured(text());
    }
    if says(&["message thread not found", "topic_closed", "topic_deleted", "topic closed"]) {
        return Verdict::NoTopic(text());
    }
    if says(&NOT_FOUND) {
        return Verdict::NotFound(text());
    }
    if says(&CHAT_REFUSED) {
        return Verdict::ChatRefused(text());
    }
    Verdict::RowRefused(text())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::telegram::answer::read;

    fn said(code: u16, description: &str) -> Answer {
        read(code, json!({"ok": false, "error_code": code, "description": description}).to_string().as_bytes())
    }

    #[test]
    fn the_words_alone_are_enough_whatever_stands_around_them_and_in_which_case() {
        let refused = Verdict::ChatRefused(String::new());
        let (unknown, no_topic) = (Verdict::NotFound(String::new()), Verdict::NoTopic(String::new()));
        for (call, fragments, class) in [
            (
                Call::Send,
                &[
                    "bot was blocked by the user",
                    "user is deactivated",
                    "bot can't initiate conversation",
                    "can't send messages to bots",
                    "was kicked from the",
                    "is not a member of the",
                    "group chat was deleted",
                    "not enough rights to send",
                    "have no rights to send",
                ][..],
                refused,
            ),
            (Call::Send, &["chat not found", "private chat not found", "PEER_ID_INVALID"], unknown),
            (Call::Send, &["message thread not found", "TOPIC_CLOSED", "TOPIC_DELETED"], no_topic),
            (Call::Edit, &["message is not modified"], Verdict::Done(None)),
            (
                Call::Edit,
                &["message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID"],
                Verdict::Gone,
            ),
        ] {
            for fragment in fragments {
                for text in [(*fragment).to_owned(), fragment.to_uppercase(), format!("Xyz: A {fragment} b: c")] {
                    let said = verdict(call, &said(400, &text));
                    let same = std::mem::discriminant(&said) == std::mem::discriminant(&class);
                    assert!(same, "{call:?} {text}: {said:?}, not {class:?}");
                }
            }
        }
    }

    #[test]
    fn every_known_answer_has_its_class() {
        use Call::{Edit, Send};
        let words = |verdict: Verdict| match verdict {
            Verdict::Done(_) => "done",
            Verdict::NotSent(_) => "not sent",
            Verdict::Throttled(_) => "throttled",
            Verdict::Moved(_) => "moved",
            Verdict::NotFound(_) => "not found",
            Verdict::NoTopic(_) => "no topic",
            Verdict::Gone => "gone",
            Verdict::ChatRefused(_) => "chat refused",
            Verdict::RowRefused(_) => "row refused",
            Verdict::Misconfigured(_) => "misconfigured",
            Verdict::Lost(_) => "lost",
        };
        for (call, answer, class) in [
            (Send, read(200, br#"{"ok":true,"result":{"message_id":5,"new_shape":[1]}}"#), "done"),
            (Send, read(200, br#"{"ok":true,"result":true}"#), "done"),
            (Send, read(502, b"<html>Bad Gateway</html>"), "lost"),
            (Edit, read(200, b"{\"ok\":true,\"resu"), "lost"),
            (Send, said(500, "Internal Server Error: restart"), "lost"),
            (Send, said(500, "Internal Server Error: sent message was immediately deleted and can't be returned"), "done"),
            (Send, read(429, br#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7200","parameters":{"retry_after":7200}}"#), "throttled"),
            (Send, said(429, "Too Many Requests"), "throttled"),
            (Send, read(400, br#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1005}}"#), "moved"),
            (Send, said(401, "Unauthorized: invalid token specified"), "misconfigured"),
            (Send, said(404, "Not Found"), "misconfigured"),
            (Send, said(400, "Logged out"), "misconfigured"),
            (Send, said(403, "Forbidden: bot was blocked by the user"), "chat refused"),
            (Send, said(403, "Forbidden: user is deactivated"), "chat refused"),
            (Send, said(403, "Forbidden: bot can't initiate conversation with a user"), "chat refused"),
            (Send, said(403, "Forbidden: bot was kicked from the supergroup chat"), "chat refused"),
            (Send, said(400, "Bad Request: not enough rights to send text messages to the chat"), "chat refused"),
            (Send, said(400, "Bad Request: chat not found"), "not found"),
            (Send, said(400, "Bad Request: private chat not found"), "not found"),
            (Send, said(400, "Bad Request: PEER_ID_INVALID"), "not found"),
            (Send, said(400, "Bad Request: message thread not found"), "no topic"),
            (Send, said(400, "TOPIC_CLOSED"), "no topic"),
            (Send, said(400, "Bad Request: message is too long"), "row refused"),
            (Send, said(400, "Bad Request: BUTTON_DATA_INVALID"), "row refused"),
            (Send, said(400, "Bad Request: words nobody has seen yet"), "row refused"),
            (Send, said(413, "Request Entity Too Large"), "row refused"),
            (Edit, said(400, "Bad Request: MESSAGE is Not Modified: same"), "done"),
            (Edit, said(400, "Bad Request: message to edit not found"), "gone"),
            (Edit, said(400, "Bad Request: message can't be edited"), "gone"),
            (Edit, said(400, "Bad Request: MESSAGE_ID_INVALID"), "gone"),
            (Send, said(400, "Bad Request: message is not modified"), "row refused"),
        ] {
            assert_eq!(words(verdict(call, &answer)), class, "{call:?} {answer:?}");
        }
    }
}
