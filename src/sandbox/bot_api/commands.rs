//! The bot's command lists, by scope and language.

use serde_json::{Value, json};

use super::{
    book::Book,
    params::{Params, Refusal},
    strict::units,
};

/// The most commands of one scope and language.
const COMMANDS: usize = 100;

/// `setMyCommands`, `getMyCommands`, `deleteMyCommands`; the method in lower case.
pub(super) fn call(book: &mut Book, method: &str, params: &Params) -> Result<Value, Refusal> {
    let scope = scope(book, params)?;
    match method {
        "setmycommands" => {
            let list = checked(params.structure("commands")?)?;
            book.commands.insert(scope, list);
            Ok(json!(true))
        }
        "deletemycommands" => {
            book.commands.remove(&scope);
            Ok(json!(true))
        }
        _ => Ok(book.commands.get(&scope).cloned().unwrap_or_else(|| json!([]))),
    }
}

/// The name a list is kept under.
fn scope(book: &Book, params: &Params) -> Result<String, Refusal> {
    let language = params.text("language_code").unwrap_or_default();
    let short = language.len() == 2 && language.bytes().all(|c| c.is_ascii_lowercase());
    if !language.is_empty() && !short {
        return Err(Refusal::bad("invalid language code specified"));
    }
    let scope = params.structure("scope")?.unwrap_or_else(|| json!({ "type": "default" }));
    let kind = scope["type"].as_str().unwrap_or_default();
    let of_chat = matches!(kind, "chat" | "chat_administrators" | "chat_member");
    let general = matches!(kind, "default" | "all_private_chats" | "all_group_chats" | "all_chat_administrators");
    if !of_chat && !general {
        return Err(Refusal::bad("can't parse BotCommandScope: unsupported type specified"));
    }
    if of_chat {
        let chat = scope["chat_id"].as_i64().or_else(|| scope["chat_id"].as_str().and_then(|id| id.parse().ok()));
        if chat.is_none_or(|chat| book.chats.chat(chat).is_none()) {
            return Err(Refusal::bad("chat not found"));
        }
    }
    Ok(format!("{scope}/{language}"))
}

fn checked(given: Option<Value>) -> Result<Value, Refusal> {
    let Some(Value::Array(list)) = given else {
        return Err(Refusal::bad("can't parse commands JSON array"));
    };
    if list.len() > COMMANDS {
        return Err(Refusal::bad("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in &list {
        let name = command["command"].as_str().unwrap_or_default().trim_start_matches('/');
        let letters = name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
        if !letters || !(1..=32).contains(&name.len()) {
            return Err(Refusal::bad("BOT_COMMAND_INVALID"));
        }
        if !(1..=256).contains(&units(command["description"].as_str().unwrap_or_default())) {
            return Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    Ok(Value::Array(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call_with(book: &mut Book, method: &str, params: Value) -> Result<Value, String> {
        let Value::Object(object) = params else { unreachable!() };
        call(book, method, &Params::from_object(object)).map_err(|refusal| refusal.description)
    }

    #[test]
    fn lists_are_kept_by_scope_and_language() {
        let mut book = Book::new(1, -100);
        let list = json!([{ "command": "start", "description": "Начать" }]);
        let staff = json!({ "type": "chat", "chat_id": -100 });
        call_with(&mut book, "setmycommands", json!({ "commands": list, "scope": staff, "language_code": "ru" }))
            .unwrap();
        let got = call_with(&mut book, "getmycommands", json!({ "scope": staff, "language_code": "ru" }));
        assert_eq!(got.unwrap(), list);
        assert_eq!(call_with(&mut book, "getmycommands", json!({ "scope": staff })).unwrap(), json!([]));
        call_with(&mut book, "deletemycommands", json!({ "scope": staff, "language_code": "ru" })).unwrap();
        assert!(book.commands.is_empty());
    }

    #[test]
    fn wrong_lists_are_refused() {
        let mut book = Book::new(1, -100);
        let mut set = |name: &str, description: &str, scope: Value| {
            let commands = json!([{ "command": name, "description": description }]);
            call_with(&mut book, "setmycommands", json!({ "commands": commands, "scope": scope }))
        };
        let everywhere = json!({ "type": "default" });
        assert_eq!(set("Старт", "x", everywhere.clone()).unwrap_err(), "Bad Request: BOT_COMMAND_INVALID");
        assert_eq!(set("a", "", everywhere.clone()).unwrap_err(), "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID");
        let elsewhere = json!({ "type": "chat", "chat_id": 77 });
        assert_eq!(set("a", "x", elsewhere).unwrap_err(), "Bad Request: chat not found");
        assert!(set("a", "x", json!({ "type": "?" })).is_err());
        let many = vec![json!({ "command": "a", "description": "b" }); 101];
        assert!(call_with(&mut book, "setmycommands", json!({ "commands": many })).is_err());
    }
}
