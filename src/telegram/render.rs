//! From words and buttons to the payload of a call. No parse mode: what people typed arrives as it is.

use serde_json::Value;
use teloxide::{
    payloads::{AnswerCallbackQuery, EditMessageText, SendMessage},
    types::{
        CallbackQueryId, ChatId as TgChat, CopyTextButton, ForceReply, InlineKeyboardButton, InlineKeyboardButtonKind,
        InlineKeyboardMarkup, KeyboardButton, KeyboardMarkup, KeyboardRemove, MessageId as TgMessage, ReplyMarkup,
    },
};

use super::button::LIMIT;
pub use crate::domain::text::{LONGEST as TEXT_LIMIT, split};
use crate::{
    domain::{
        notice::{Button, Keyboard, Press, ReplyButton, Words},
        review::Hindrance,
    },
    ids::{ChatId, MessageId},
};

/// Most characters of a callback answer. Source: Bot API, `answerCallbackQuery`.
pub const TOAST_LIMIT: usize = 200;

/// Most buttons under a message. Source: the public server refuses more (`reply markup is too long`).
const BUTTON_LIMIT: usize = 100;

/// Words that Telegram would refuse; a mistake of ours, caught before the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsayable {
    /// Which limit it breaks.
    pub why: Hindrance,
    /// The figure and the limit, where there are any: `4100 > 4096`.
    pub detail: String,
}

impl Unsayable {
    fn new(why: Hindrance, detail: impl Into<String>) -> Self {
        Self { why, detail: detail.into() }
    }
}

impl std::fmt::Display for Unsayable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Telegram would refuse this message: {} {}", self.why.word(), self.detail)
    }
}

/// The payload of `sendMessage`.
///
/// # Errors
/// [`Unsayable`] when a limit of Telegram's is exceeded.
pub fn send(chat: ChatId, thread: Option<i64>, words: &Words) -> Result<Value, Unsayable> {
    check_text(&words.text)?;
    let mut payload = SendMessage::new(TgChat(chat.0), words.text.clone());
    payload.reply_markup = markup(&words.keyboard)?;
    let mut payload = to_value(&payload)?;
    // General is written to by naming no topic; its number 1 is refused. Numbers of topics and messages outgrow the
    // library's 32 bits, so they are written here.
    if let Some(thread) = thread.filter(|thread| *thread != 1) {
        payload["message_thread_id"] = thread.into();
    }
    Ok(payload)
}

/// The payload of `editMessageText`. Only buttons under a message can be edited with it.
///
/// # Errors
/// [`Unsayable`] when a limit of Telegram's is exceeded.
pub fn edit(chat: ChatId, message: MessageId, words: &Words) -> Result<Value, Unsayable> {
    check_text(&words.text)?;
    let mut payload = EditMessageText::new(TgChat(chat.0), TgMessage(0), words.text.clone());
    if let Keyboard::Inline(rows) = &words.keyboard {
        payload.reply_markup = Some(inline(rows)?);
    }
    let mut payload = to_value(&payload)?;
    payload["message_id"] = message.0.into();
    Ok(payload)
}

/// The payload of `answerCallbackQuery`. The text is cut rather than lost.
///
/// # Errors
/// [`Unsayable`] never for text; only if the payload cannot be written.
pub fn toast(callback: &str, text: Option<&str>, alert: bool) -> Result<Value, Unsayable> {
    let mut payload = AnswerCallbackQuery::new(CallbackQueryId(callback.to_owned()));
    payload.text = text.map(|text| text.chars().take(TOAST_LIMIT).collect());
    payload.show_alert = alert.then_some(true);
    to_value(&payload)
}

fn check_text(text: &str) -> Result<(), Unsayable> {
    let units = text.encode_utf16().count();
    if units > TEXT_LIMIT {
        return Err(Unsayable::new(Hindrance::TextTooLong, format!("{units} > {TEXT_LIMIT}")));
    }
    if crate::domain::blank::is_blank(text) {
        return Err(Unsayable::new(Hindrance::TextEmpty, ""));
    }
    Ok(())
}

fn markup(keyboard: &Keyboard) -> Result<Option<ReplyMarkup>, Unsayable> {
    Ok(Some(match keyboard {
        Keyboard::None => return Ok(None),
        Keyboard::Inline(rows) => ReplyMarkup::InlineKeyboard(inline(rows)?),
        Keyboard::Remove => ReplyMarkup::KeyboardRemove(KeyboardRemove::new()),
        Keyboard::Answer { named_only: true } => ReplyMarkup::ForceReply(ForceReply::new().selective()),
        Keyboard::Answer { named_only: false } => ReplyMarkup::ForceReply(ForceReply::new()),
        Keyboard::Reply(rows) => {
            let rows = rows.iter().map(|row| row.iter().map(reply_button).collect::<Vec<_>>());
            ReplyMarkup::Keyboard(KeyboardMarkup::new(rows).resize_keyboard().one_time_keyboard())
        }
    }))
}

fn reply_button(button: &ReplyButton) -> KeyboardButton {
    match button {
        ReplyButton::Say(label) => KeyboardButton::new(label),
        ReplyButton::ShareContact(label) => KeyboardButton::new(label).request(teloxide::types::ButtonRequest::Contact),
    }
}

fn inline(rows: &[Vec<Button>]) -> Result<InlineKeyboardMarkup, Unsayable> {
    let buttons: usize = rows.iter().map(Vec::len).sum();
    if buttons > BUTTON_LIMIT {
        return Err(Unsayable::new(Hindrance::TooManyButtons, format!("{buttons} > {BUTTON_LIMIT}")));
    }
    let rows = rows.iter().map(|row| row.iter().map(inline_button).collect::<Result<Vec<_>, _>>());
    Ok(InlineKeyboardMarkup::new(rows.collect::<Result<Vec<_>, _>>()?))
}

fn inline_button(button: &Button) -> Result<InlineKeyboardButton, Unsayable> {
    let kind = match &button.press {
        Press::Data(data) if data.is_empty() || data.len() > LIMIT => {
            return Err(Unsayable::new(Hindrance::ButtonData, format!("{} ∉ 1…{LIMIT}", data.len())));
        }
        Press::Data(data) => InlineKeyboardButtonKind::CallbackData(data.clone()),
        Press::Url(url) => {
            let url = reqwest::Url::parse(url).map_err(|_| Unsayable::new(Hindrance::ButtonAddress, ""))?;
            InlineKeyboardButtonKind::Url(url)
        }
        Press::Copy(text) => {
            let text = text.chars().take(256).collect();
            InlineKeyboardButtonKind::CopyText(CopyTextButton { text })
        }
    };
    Ok(InlineKeyboardButton::new(button.label.clone(), kind))
}

fn to_value<P: serde::Serialize>(payload: &P) -> Result<Value, Unsayable> {
    serde_json::to_value(payload).map_err(|error| Unsayable::new(Hindrance::Unnamed, error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_become_the_payload_telegram_documents() {
        let words = Words::with_buttons("Да?", vec![vec![Button::data("Да", "y"), Button::copy("№", "1001")]]);
        assert_eq!(
            send(ChatId(7), Some(1), &words).unwrap(),
            json!({"chat_id": 7, "text": "Да?", "reply_markup": {"inline_keyboard": [[
                {"text": "Да", "callback_data": "y"}, {"text": "№", "copy_text": {"text": "1001"}}]]}})
        );
        let contact = Words {
            text: "Телефон?".into(),
            keyboard: Keyboard::Reply(vec![vec![ReplyButton::ShareContact("Поделиться".into())]]),
        };
        let payload = send(ChatId(7), Some(12), &contact).unwrap();
        assert_eq!(payload["message_thread_id"], json!(12));
        assert_eq!(payload["reply_markup"]["keyboard"], json!([[{"text": "Поделиться", "request_contact": true}]]));
    }

    #[test]
    fn numbers_of_any_size_arrive_whole() {
        let (large, words) = ((1_i64 << 52) - 1, Words::plain("x"));
        for thread in [2, 3_895_315_077, large] {
            let payload = send(ChatId(-large), Some(thread), &words).unwrap();
            assert_eq!(payload, json!({"chat_id": -large, "text": "x", "message_thread_id": thread}));
        }
        for message in [1, i64::from(i32::MAX) + 1, large] {
            let payload = edit(ChatId(large), MessageId(message), &words).unwrap();
            assert_eq!(payload, json!({"chat_id": large, "message_id": message, "text": "x"}));
        }
    }

    #[test]
    fn a_toast_is_never_cached() {
        // With a cache a repeated tap would be answered by the client alone, and never reach us.
        assert_eq!(
            toast("c", Some(&"я".repeat(300)), false).unwrap(),
            json!({"callback_query_id": "c", "text": "я".repeat(TOAST_LIMIT)})
        );
    }

    #[test]
    fn what_telegram_refuses_is_not_sent() {
        let button = |button: Button| Words::with_buttons("x", vec![vec![button]]);
        for (words, why, detail) in [
            (Words::plain(""), Hindrance::TextEmpty, ""),
            (Words::plain("\u{200b}\u{2060}"), Hindrance::TextEmpty, ""),
            (Words::plain("x".repeat(4097)), Hindrance::TextTooLong, "4097 > 4096"),
            (Words::plain("😀".repeat(2049)), Hindrance::TextTooLong, "4098 > 4096"),
            (button(Button::data("x", "д".repeat(33))), Hindrance::ButtonData, "66 ∉ 1…64"),
            (button(Button::data("x", "")), Hindrance::ButtonData, "0 ∉ 1…64"),
            (button(Button::url("x", "not an address")), Hindrance::ButtonAddress, ""),
            (Words::with_buttons("x", vec![vec![Button::data("x", "x")]; 101]), Hindrance::TooManyButtons, "101 > 100"),
        ] {
            assert_eq!(send(ChatId(1), None, &words), Err(Unsayable::new(why, detail)), "{words:?}");
        }
    }
}
