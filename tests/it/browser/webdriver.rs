//! A small client of the W3C WebDriver protocol: one browser session, spoken to over HTTP as chromedriver understands it.
//!
//! Only what these tests need. Whatever goes wrong ends the test with the browser's own words.

use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::{Value, json};

/// The longest a single command may take; waits inside the page end by themselves before.
const COMMAND: Duration = Duration::from_secs(150);
/// The name under which WebDriver passes elements; it is the same for ever.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys without a character of their own.
pub(crate) const ENTER: &str = "\u{E007}";
pub(crate) const TAB: &str = "\u{E004}";
pub(crate) const SHIFT: &str = "\u{E008}";

/// An element of the page.
#[derive(Debug, Clone)]
pub(crate) struct Element(String);

impl Element {
    /// As an argument of a script.
    pub(crate) fn json(&self) -> Value {
        json!({ ELEMENT: self.0 })
    }

    fn read(value: &Value) -> Self {
        let id = value[ELEMENT].as_str().unwrap_or_else(|| panic!("this is no element of a page: {value}"));
        Self(id.to_owned())
    }
}

/// One window of one browser.
#[derive(Debug)]
pub(crate) struct Session {
    http: Client,
    base: String,
}

impl Session {
    /// Opens a browser through the driver at `driver`.
    pub(crate) async fn open(driver: &str, capabilities: Value) -> Self {
        let http = Client::builder().no_proxy().timeout(COMMAND).build().unwrap();
        let new = Self { http, base: driver.to_owned() };
        let opened =
            new.call(Method::POST, "/session", json!({ "capabilities": { "alwaysMatch": capabilities } })).await;
        let id = opened["sessionId"].as_str().unwrap_or_else(|| panic!("no session was opened: {opened}"));
        Self { base: format!("{driver}/session/{id}"), ..new }
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.base));
        if method == Method::POST {
            request = request.json(&body);
        }
        let answer =
            request.send().await.unwrap_or_else(|error| panic!("{path}: chromedriver does not answer: {error}"));
        let status = answer.status();
        let answer: Value = answer.json().await.unwrap_or_else(|error| panic!("{path}: {status}, no JSON: {error}"));
        let value = &answer["value"];
        assert!(status.is_success(), "{path}: {} {}", value["error"], value["message"]);
        value.clone()
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.call(Method::POST, path, body).await
    }

    /// Ends the browser.
    pub(crate) async fn close(&self) {
        self.call(Method::DELETE, "", Value::Null).await;
    }

    pub(crate) async fn go(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    /// Runs a script to its end. `arguments` are its arguments, its `return` is the answer.
    pub(crate) async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": arguments })).await
    }

    /// Runs a script that answers by calling its last argument.
    pub(crate) async fn run_until_it_calls(&self, script: &str, arguments: &[Value], limit: Duration) -> Value {
        let millis = u64::try_from(limit.as_millis()).unwrap();
        self.post("/timeouts", json!({ "script": millis + 10_000 })).await;
        self.post("/execute/async", json!({ "script": script, "args": arguments })).await
    }

    /// The one element a CSS selector names.
    pub(crate) async fn find(&self, css: &str) -> Element {
        Element::read(&self.post("/element", json!({ "using": "css selector", "value": css })).await)
    }

    /// An element that a script returned.
    pub(crate) fn element(value: &Value) -> Element {
        Element::read(value)
    }

    /// A click as a person makes it: scrolled to, in the middle, refused if something lies over it.
    pub(crate) async fn click(&self, element: &Element) {
        self.post(&format!("/element/{}/click", element.0), json!({})).await;
    }

    /// Two clicks in the same place with nothing between them.
    pub(crate) async fn double_click(&self, element: &Element) {
        self.run("arguments[0].scrollIntoView({ block: 'nearest' })", &[element.json()]).await;
        let (down, up) = (json!({ "type": "pointerDown", "button": 0 }), json!({ "type": "pointerUp", "button": 0 }));
        let go = json!({ "type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": element.json() });
        let mouse = json!({ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" },
            "actions": [go, down, up, down, up] });
        self.post("/actions", json!({ "actions": [mouse] })).await;
    }

    /// Types into an element: focus, then key after key.
    pub(crate) async fn type_into(&self, element: &Element, text: &str) {
        self.post(&format!("/element/{}/value", element.0), json!({ "text": text })).await;
    }

    /// Presses keys one after another, wherever the focus is.
    pub(crate) async fn press(&self, keys: &str) {
        self.press_with(None, keys).await;
    }

    /// Presses keys while another is held.
    pub(crate) async fn press_with(&self, held: Option<&str>, keys: &str) {
        let down = |key: &str| json!({ "type": "keyDown", "value": key });
        let up = |key: &str| json!({ "type": "keyUp", "value": key });
        let mut acts: Vec<_> = held.iter().map(|key| down(key)).collect();
        for key in keys.chars().map(String::from) {
            acts.extend([down(&key), up(&key)]);
        }
        acts.extend(held.iter().map(|key| up(key)));
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": acts });
        self.post("/actions", json!({ "actions": [keyboard] })).await;
    }

    /// A picture of what is seen, PNG as base64.
    pub(crate) async fn screenshot(&self) -> String {
        self.call(Method::GET, "/screenshot", Value::Null).await.as_str().unwrap().to_owned()
    }

    /// The lines a log got since it was last asked for: `browser` (the console) or `performance` (the network).
    pub(crate) async fn log(&self, kind: &str) -> Vec<Value> {
        self.post("/se/log", json!({ "type": kind })).await.as_array().unwrap().clone()
    }

    /// A command of the browser's own, for what WebDriver has no words for: a phone's screen, a dark desktop.
    pub(crate) async fn devtools(&self, command: &str, params: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": params })).await
    }
}
