//! From words and buttons to the payload of a call. No parse mode: what people typed arrives as it is.

use serde_json::Value;
use teloxide::{
    payloads::{AnswerCallbackQuery, EditMessageText, SendMessage},
    types::{
        CallbackQueryId, ChatId as TgChat, CopyTextButton, ForceReply, InlineKeyboardButton, InlineKeyboardButtonKind,
        InlineKeyboardMarkup, KeyboardButton, KeyboardMarkup, KeyboardRemove, MessageId as TgMessage, ReplyMarkup,
        ThreadId,
    },
};

use super::button::LIMIT;
pub use crate::domain::text::{LONGEST as TEXT_LIMIT, split};
use crate::{
    domain::notice::{Button, Keyboard, Press, ReplyButton, Words},
    ids::{ChatId, MessageId},
};

/// Most characters of a callback answer. Source: Bot API, `answerCallbackQuery`.
pub const TOAST_LIMIT: usize = 200;

/// Words that Telegram would refuse; a mistake of ours, caught before the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsayable(pub String);

impl std::fmt::Display for Unsayable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Telegram would refuse this message: {}", self.0)
    }
}

/// The payload of `sendMessage`.
///
/// # Errors
/// [`Unsayable`] when a limit of Telegram's is exceeded.
pub fn send(chat: ChatId, thread: Option<i64>, words: &Words) -> Result<Value, Unsayable> {
    check_text(&words.text)?;
    let mut payload = SendMessage::new(TgChat(chat.0), words.text.clone());
    // General is written to by naming no topic; its number 1 is refused.
    payload.message_thread_id = thread
        .filter(|thread| *thread != 1)
        .and_then(|thread| i32::try_from(thread).ok())
        .map(|thread| ThreadId(TgMessage(thread)));
    payload.reply_markup = markup(&words.keyboard)?;
    to_value(&payload)
}

/// The payload of `editMessageText`. Only buttons under a message can be edited with it.
///
/// # Errors
/// [`Unsayable`] when a limit of Telegram's is exceeded.
pub fn edit(chat: ChatId, message: MessageId, words: &Words) -> Result<Value, Unsayable> {
    check_text(&words.text)?;
    let number = i32::try_from(message.0).map_err(|_| Unsayable(format!("message number {message}")))?;
    let mut payload = EditMessageText::new(TgChat(chat.0), TgMessage(number), words.text.clone());
    if let Keyboard::Inline(rows) = &words.keyboard {
        payload.reply_markup = Some(inline(rows)?);
    }
    to_value(&payload)
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
        return Err(Unsayable(format!("{units} UTF-16 units, at most {TEXT_LIMIT}")));
    }
    if crate::domain::blank::is_blank(text) {
        return Err(Unsayable("the text is empty".to_owned()));
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
    if buttons > 100 {
        return Err(Unsayable(format!("{buttons} buttons, at most 100")));
    }
    let rows = rows.iter().map(|row| row.iter().map(inline_button).collect::<Result<Vec<_>, _>>());
    Ok(InlineKeyboardMarkup::new(rows.collect::<Result<Vec<_>, _>>()?))
}

fn inline_button(button: &Button) -> Result<InlineKeyboardButton, Unsayable> {
    let kind = match &button.press {
        Press::Data(data) if data.is_empty() || data.len() > LIMIT => {
            return Err(Unsayable(format!("button data of {} bytes, 1 to {LIMIT}", data.len())));
        }
        Press::Data(data) => InlineKeyboardButtonKind::CallbackData(data.clone()),
        Press::Url(url) => {
            let url = reqwest::Url::parse(url).map_err(|_| Unsayable("a button with a broken address".to_owned()))?;
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
    serde_json::to_value(payload).map_err(|error| Unsayable(error.to_string()))
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
    fn what_telegram_refuses_is_not_sent() {
        for words in [
            Words::plain(""),
            Words::plain("\u{200b}\u{2060}"),
            Words::plain("x".repeat(4097)),
            Words::plain("😀".repeat(2049)),
            Words::with_buttons("x", vec![vec![Button::data("x", "д".repeat(33))]]),
            Words::with_buttons("x", vec![vec![Button::data("x", "")]]),
            Words::with_buttons("x", vec![vec![Button::url("x", "not an address")]]),
        ] {
            assert!(send(ChatId(1), None, &words).is_err(), "{words:?}");
        }
    }
}
