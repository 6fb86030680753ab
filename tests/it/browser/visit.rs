//! A visitor of the page: what they do, and what they wait for. A browser of its own, a sandbox of its own.

use std::{path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    chrome::Chrome,
    webdriver::{ENTER, Element, Session},
};
use crate::command::process::Sandbox;

/// The longest a visitor waits for anything; a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The people of the page, as their chats are called there.
pub(crate) const ANNA: &str = "101";
pub(crate) const BORIS: &str = "102";
pub(crate) const DESK: &str = "staff";

pub(crate) const SUBMIT: &str = "Отправить заявку";

/// A script that answers as soon as its body does, looking again after each change of the page, its size or its motion.
const WATCH: &str = r#"
const done = arguments[arguments.length - 1];
const [limit, args] = arguments;
let over = false, trouble = null;
const finish = (answer) => {
  if (over) return;
  over = true;
  watcher.disconnect();
  for (const event of events) removeEventListener(event, look, true);
  clearTimeout(timer);
  done(answer);
};
const look = () => {
  try {
    const found = (() => { BODY })();
    if (found !== undefined && found !== null && found !== false) finish({ found });
  } catch (error) {
    trouble = String(error);
  }
};
const events = ["resize", "scroll", "focusin", "animationend", "transitionend"];
for (const event of events) addEventListener(event, look, true);
const watcher = new MutationObserver(look);
watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
const timer = setTimeout(() => finish({ trouble }), limit);
look();
"#;

pub(crate) struct Visit {
    pub(crate) sandbox: Sandbox,
    chrome: Chrome,
}

impl Visit {
    /// Opens the page as somebody who reads Russian, on a desktop.
    pub(crate) async fn open() -> Self {
        Self::open_as("ru-RU", &[]).await
    }

    /// Opens the page in a browser that prefers `language`, after some orders to the browser itself.
    pub(crate) async fn open_as(language: &str, orders: &[(&str, Value)]) -> Self {
        let sandbox = Sandbox::start();
        let chrome = Chrome::open(language).await;
        let visit = Self { sandbox, chrome };
        let eyes = json!({ "source": include_str!("eyes.js") });
        visit.browser().devtools("Page.addScriptToEvaluateOnNewDocument", eyes).await;
        for (command, params) in orders {
            visit.browser().devtools(command, params.clone()).await;
        }
        // What the browser asked for to show its own first page is not the page's doing.
        visit.browser().go("about:blank").await;
        visit.browser().log("performance").await;
        visit.reload().await;
        visit
    }

    /// Loads the page anew, and waits until it is connected.
    pub(crate) async fn reload(&self) {
        self.browser().go(self.sandbox.page()).await;
        self.wait("the page's connection", "return document.querySelector('[data-testid=link][data-up=yes]')", &[])
            .await;
    }

    pub(crate) fn browser(&self) -> &Session {
        &self.chrome.session
    }

    /// Ends browser and sandbox. The page never complained and never spoke to anybody else; nothing stays behind.
    pub(crate) async fn close(mut self) {
        assert_eq!(self.look("return eyes.errors", &[]).await, json!([]), "the page's scripts failed");
        let console = self.browser().log("browser").await;
        assert_eq!(console, Vec::<Value>::new(), "the console is not empty");
        let strangers: Vec<_> = self.requests().await.into_iter().filter(|url| !self.is_own(url)).collect();
        assert_eq!(strangers, Vec::<String>::new(), "the page asked somebody else");
        self.chrome.close().await;
        self.sandbox.stop();
    }

    /// The addresses the browser asked for.
    async fn requests(&self) -> Vec<String> {
        let lines = self.browser().log("performance").await;
        let asked: Vec<_> = lines
            .iter()
            .filter_map(|line| serde_json::from_str::<Value>(line["message"].as_str()?).ok())
            .filter(|event| event["message"]["method"] == "Network.requestWillBeSent")
            .filter_map(|event| event["message"]["params"]["request"]["url"].as_str().map(ToOwned::to_owned))
            .collect();
        assert!(asked.iter().any(|url| self.is_own(url)), "the network was not watched");
        asked
    }

    /// Stops the whole sandbox under the page, waits until the page has noticed, and starts another at the same address.
    pub(crate) async fn restart_the_sandbox(mut self) -> Self {
        let listen = self.sandbox.page().trim_start_matches("http://").trim_end_matches('/').to_owned();
        self.sandbox.stop();
        self.wait(
            "the word that nobody is there",
            "return !document.querySelector('[data-testid=banner]').hidden",
            &[],
        )
        .await;
        self.picture("9-nobody-there").await;
        self.sandbox = Sandbox::start_at(&listen, &[], TempDir::new().unwrap());
        let back = "return document.querySelector('[data-testid=link][data-up=yes]')";
        self.wait("the page's connection", back, &[]).await;
        // Nobody answered for a while: the console says so, and may.
        let console = self.browser().log("browser").await;
        let refused = |line: &Value| line["message"].as_str().is_some_and(|words| words.contains("net::ERR_"));
        assert!(console.iter().all(refused), "the console says more: {console:?}");
        self
    }

    fn is_own(&self, url: &str) -> bool {
        url.starts_with(self.sandbox.page())
    }

    // ---- looking -----------------------------------------------------------------------------------------------------

    /// What a script returns now.
    pub(crate) async fn look(&self, script: &str, args: &[Value]) -> Value {
        self.browser().run(&format!("const args = arguments;\n{script}"), args).await
    }

    /// Waits until a script, run again after each change of the page, returns something.
    pub(crate) async fn wait(&self, what: &str, script: &str, args: &[Value]) -> Value {
        let watch = WATCH.replace("BODY", script);
        let millis = u64::try_from(PATIENCE.as_millis()).unwrap();
        let answer = self.browser().run_until_it_calls(&watch, &[json!(millis), json!(args)], PATIENCE).await;
        if answer.get("found").is_none() {
            self.picture("failed").await;
            let page = self.look("return document.body.innerText", &[]).await;
            panic!("{what} did not come ({}); the page shows:\n{}", answer["trouble"], page.as_str().unwrap());
        }
        answer["found"].clone()
    }

    /// Waits until the bot has said all of `parts` in one message; its text.
    pub(crate) async fn says(&self, chat: &str, parts: &[&str]) -> String {
        let what = format!("{parts:?} in chat {chat}");
        let script = "const message = eyes.said(...args); return message && eyes.text(message)";
        let args: Vec<_> = std::iter::once(chat).chain(parts.iter().copied()).map(Value::from).collect();
        self.wait(&what, script, &args).await.as_str().unwrap().to_owned()
    }

    /// Waits until this is what the bot said last.
    pub(crate) async fn asks(&self, chat: &str, question: &str) {
        let script = "const last = eyes.byBot(args[0]).at(-1); return last && eyes.text(last).includes(args[1])";
        self.wait(&format!("«{question}» in chat {chat}"), script, &[chat.into(), question.into()]).await;
    }

    /// Waits for a control of this kind that a label begins.
    async fn key(&self, chat: &str, kind: &str, label: &str) -> Element {
        let what = format!("the button «{label}» in chat {chat}");
        let args = [chat.into(), kind.into(), label.into()];
        Session::element(&self.wait(&what, "return eyes.key(...args)", &args).await)
    }

    pub(crate) async fn button(&self, chat: &str, label: &str) -> Element {
        self.key(chat, "button", label).await
    }

    /// Forgets the answers to taps that were shown so far.
    pub(crate) async fn forget_answers(&self) {
        self.look("eyes.toasts.length = 0", &[]).await;
    }

    /// Waits until so many answers to taps were shown in a chat; all of them.
    pub(crate) async fn answers(&self, chat: &str, count: usize) -> Vec<String> {
        let script = "const all = eyes.answers(args[0]); return all.length >= args[1] && all";
        let all = self.wait(&format!("{count} answers"), script, &[chat.into(), count.into()]).await;
        all.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    /// Waits for the large count, then asks the CRM itself.
    pub(crate) async fn counts(&self, count: usize) {
        let script = "return document.querySelector('[data-testid=ticket-count]').textContent === String(args[0])";
        self.wait(&format!("the count {count}"), script, &[count.into()]).await;
        assert_eq!(self.sandbox.tickets().await.len(), count, "the CRM counts otherwise");
        let twins = self.look("return document.querySelector('[data-testid=twins]').dataset.tone", &[]).await;
        assert_eq!(twins, if count == 0 { "quiet" } else { "good" });
    }

    /// The number of a ticket, as the CRM's newest row shows it.
    pub(crate) async fn newest_number(&self) -> String {
        let script = "return document.querySelector('[data-testid=ticket-number]').textContent";
        let shown = self.look(script, &[]).await;
        shown.as_str().unwrap().trim_start_matches(|c: char| !c.is_ascii_digit()).to_owned()
    }

    /// Everything the bot ever said to a client was true and calm.
    pub(crate) async fn was_honest(&self, chat: &str) {
        let chat: i64 = chat.parse().unwrap();
        let said = self.sandbox.ever_said(chat).await;
        let acks = self.sandbox.get("/acks").await;
        let answered = acks["acks"].as_array().unwrap().iter().filter(|ack| ack["chat"] == chat);
        for text in said.iter().map(String::as_str).chain(answered.filter_map(|ack| ack["text"].as_str())) {
            let low = text.to_lowercase();
            assert!(!low.contains("ошибк") && !low.contains("ещё раз"), "this frightens: {text}");
            assert!(!low.contains("создана") || low.contains("№ "), "created, but which? {text}");
        }
    }

    // ---- doing -------------------------------------------------------------------------------------------------------

    pub(crate) async fn click(&self, css: &str) {
        let element = self.browser().find(css).await;
        self.browser().click(&element).await;
    }

    /// Presses one of the shortcuts above the text box.
    pub(crate) async fn shortcut(&self, chat: &str, name: &str) {
        self.click(&format!("[data-testid='chat-{chat}'] [data-testid='{name}']")).await;
    }

    /// Writes a message and sends it with Enter.
    pub(crate) async fn write(&self, chat: &str, text: &str) {
        let input = self.browser().find(&format!("[data-testid='chat-{chat}'] [data-testid='input']")).await;
        self.browser().type_into(&input, &format!("{text}{ENTER}")).await;
    }

    /// Taps the newest button of this label.
    pub(crate) async fn tap(&self, chat: &str, label: &str) {
        let button = self.button(chat, label).await;
        self.browser().click(&button).await;
    }

    /// Presses a key of the keyboard the bot put above the text box.
    pub(crate) async fn reply(&self, chat: &str, label: &str) {
        let key = self.key(chat, "reply-button", label).await;
        self.browser().click(&key).await;
    }

    /// Waits until the bot's last message asks `question`, and taps one of its buttons.
    pub(crate) async fn choose(&self, chat: &str, question: &str, label: &str) {
        let script = "const asked = eyes.byBot(args[0]).at(-1);\
            return asked && eyes.text(asked).includes(args[1]) && eyes.keyOf(asked, args[2])";
        let what = format!("«{label}» under «{question}» in chat {chat}");
        let button = self.wait(&what, script, &[chat.into(), question.into(), label.into()]).await;
        self.browser().click(&Session::element(&button)).await;
    }

    /// Turns one of the page's switches and waits until it is so.
    pub(crate) async fn switch(&self, name: &str, on: bool) {
        let css = format!("[data-testid='switch-{name}']");
        self.click(&css).await;
        self.sandbox.until(name, async |sandbox| sandbox.get("/switches").await[name] == on).await;
        let script = "return document.querySelector(args[0]).getAttribute('aria-checked') === args[1]";
        self.wait(name, script, &[css.into(), on.to_string().into()]).await;
    }

    /// Fills in the form by typing and tapping, up to the summary.
    pub(crate) async fn fill(&self, chat: &str, name: &str) {
        self.shortcut(chat, "start").await;
        self.asks(chat, "Как к вам обращаться?").await;
        self.write(chat, name).await;
        self.asks(chat, "Телефон для связи").await;
        self.reply(chat, "Поделиться контактом").await;
        self.choose(chat, "Электронная почта", "Пропустить").await;
        self.choose(chat, "Тема", "Налоги").await;
        self.choose(chat, "Когда удобно?", "7 декабря, 12:00").await;
        self.choose(chat, "Согласны на обработку", "Даю согласие").await;
        self.asks(chat, &format!("\n{name}\n")).await;
    }

    /// Fills in the form and submits it.
    pub(crate) async fn order(&self, chat: &str, name: &str) {
        self.fill(chat, name).await;
        self.choose(chat, "Проверьте, всё ли верно", SUBMIT).await;
    }

    /// Keeps a picture of the page for whoever wants to see it.
    pub(crate) async fn picture(&self, name: &str) {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/screens");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), from_base64(&self.browser().screenshot().await)).unwrap();
    }
}

/// Reads base64 as WebDriver writes it: no line breaks, padded.
fn from_base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<_> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let bytes = |four: &[u8]| {
        let all = four.iter().enumerate().fold(0u32, |all, (at, six)| all | u32::from(*six) << (18 - 6 * at));
        all.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(bytes).collect()
}
