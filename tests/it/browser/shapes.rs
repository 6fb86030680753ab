//! The page in every shape: a phone and its keyboard, light and dark, Russian and English.

use serde_json::{Value, json};

use super::{
    visit::{ANNA, BORIS, SUBMIT, Visit},
    webdriver::{ENTER, SHIFT, TAB},
};

/// The most Tab presses between two things somebody wants.
const FAR: usize = 60;

fn screen(width: u32, height: u32, mobile: bool) -> (&'static str, Value) {
    let metrics =
        json!({ "width": width, "height": height, "deviceScaleFactor": if mobile { 2 } else { 1 }, "mobile": mobile });
    ("Emulation.setDeviceMetricsOverride", metrics)
}

/// Presses Tab (or Shift and Tab) until the focus stands on what a script, given `args`, says yes to.
async fn tab_to(visit: &Visit, back: bool, what: &str, script: &str, args: &[Value]) {
    for _ in 0..FAR {
        visit.browser().press_with(back.then_some(SHIFT), TAB).await;
        if visit.look(&format!("const at = document.activeElement; {script}"), args).await == true {
            return;
        }
    }
    visit.picture("failed").await;
    panic!("{FAR} times Tab did not reach {what}");
}

async fn tab_to_control(visit: &Visit, back: bool, chat: &str, name: &str) {
    let script = "return at.dataset.testid === args[1] && eyes.chat(args[0]).contains(at)";
    tab_to(visit, back, name, script, &[chat.into(), name.into()]).await;
}

/// Reaches a button under the bot's last message from the text box, going back, and presses it.
async fn press_button(visit: &Visit, chat: &str, question: &str, label: &str) {
    visit.asks(chat, question).await;
    let script = "return eyes.byBot(args[0]).at(-1).contains(at) && at.textContent.startsWith(args[1])";
    tab_to_control(visit, false, chat, "input").await;
    tab_to(visit, true, label, script, &[chat.into(), label.into()]).await;
    let seen = visit.look("return eyes.inSight(document.activeElement)", &[]).await;
    assert_eq!(seen, true, "the focus on «{label}» cannot be seen");
    visit.browser().press(ENTER).await;
}

/// Nothing is wider than the screen, and the count is in sight.
async fn fits(visit: &Visit, where_: &str) {
    let wide = "return [...document.querySelectorAll('body *')].filter((node) => node.checkVisibility() && \
        node.getBoundingClientRect().right > innerWidth + 0.5 && !node.closest('.skip')).map((node) => node.className)";
    assert_eq!(visit.look(wide, &[]).await, json!([]), "{where_}: wider than the screen");
    let scroll = visit.look("return document.documentElement.scrollWidth - innerWidth", &[]).await;
    assert!(scroll.as_i64().unwrap() <= 0, "{where_}: the page scrolls sideways by {scroll}");
    let seen = visit.look("return eyes.inSight(document.querySelector('[data-testid=ticket-count]'))", &[]).await;
    assert_eq!(seen, true, "{where_}: the count is out of sight");
}

#[tokio::test]
async fn on_a_phone_the_whole_job_is_done_with_the_keyboard_alone() {
    let visit = Visit::open_as("ru-RU", &[screen(390, 844, true)]).await;
    fits(&visit, "at first sight").await;
    visit.picture("phone-1-first-sight").await;
    // The very first Tab offers the way past everything, to the client's text box.
    visit.browser().press(TAB).await;
    assert_eq!(visit.look("return document.activeElement.className", &[]).await, "skip");
    visit.browser().press(ENTER).await;
    assert_eq!(visit.look("return document.activeElement.id", &[]).await, "input-101");

    tab_to_control(&visit, true, ANNA, "start").await;
    visit.browser().press(ENTER).await;
    visit.asks(ANNA, "Как к вам обращаться?").await;
    tab_to_control(&visit, false, ANNA, "input").await;
    visit.browser().press(&format!("Анна{ENTER}")).await;
    visit.asks(ANNA, "Телефон для связи").await;
    let share = "return at.dataset.testid === 'reply-button' && at.textContent === 'Поделиться контактом'";
    tab_to(&visit, true, "the contact button", share, &[]).await;
    visit.browser().press(ENTER).await;
    visit.asks(ANNA, "Электронная почта").await;
    fits(&visit, "in the middle of the form").await;
    visit.browser().press(&format!("anna@example.ru{ENTER}")).await;
    press_button(&visit, ANNA, "Тема", "Налоги").await;
    press_button(&visit, ANNA, "Когда удобно?", "7 декабря, 12:00").await;
    press_button(&visit, ANNA, "Согласны на обработку", "Даю согласие").await;
    press_button(&visit, ANNA, "Проверьте, всё ли верно", SUBMIT).await;
    visit.browser().press(ENTER).await;
    visit.counts(1).await;
    visit.says(ANNA, &["создана"]).await;
    fits(&visit, "at the end").await;
    visit.picture("phone-2-created").await;

    // The tabs, by arrows: every pane can be reached, and only that one is seen.
    tab_to(&visit, true, "the tabs", "return at.id === 'tab-a'", &[]).await;
    for (tab, pane) in [("tab-b", "pane-b"), ("tab-staff", "pane-staff"), ("tab-crm", "pane-crm")] {
        visit.browser().press("\u{E014}").await;
        let seen = "return document.activeElement.id === args[0] && [...document.querySelectorAll('.chat, .desk')]\
            .filter((pane) => pane.checkVisibility()).map((pane) => pane.id).join() === args[1]";
        assert_eq!(visit.look(seen, &[tab.into(), pane.into()]).await, true, "{tab}");
        fits(&visit, tab).await;
    }
    visit.picture("phone-3-crm").await;
    visit.close().await;
}

#[tokio::test]
async fn no_width_scrolls_sideways_or_hides_the_count() {
    let visit = Visit::open().await;
    visit.order(BORIS, "Борис-с-очень-длинным-именем-без-единого-пробела-ни-в-одном-месте").await;
    visit.counts(1).await;
    for (width, height) in
        [(320, 568), (360, 740), (768, 1024), (1024, 768), (1279, 800), (1280, 720), (1440, 900), (1920, 1080)]
    {
        let (command, metrics) = screen(width, height, width < 768);
        visit.browser().devtools(command, metrics).await;
        visit.wait("the new width", "return innerWidth === args[0]", &[width.into()]).await;
        for tab in ["tab-101", "tab-102", "tab-staff", "tab-crm"] {
            let css = format!("[data-testid='{tab}']");
            if visit.look("return document.querySelector(args[0]).checkVisibility()", &[css.as_str().into()]).await
                == true
            {
                visit.click(&css).await;
            }
            fits(&visit, &format!("{width}×{height}, {tab}")).await;
        }
        visit.picture(&format!("width-{width}")).await;
    }
    visit.close().await;
}

/// Every text can be read, in the theme that is on.
async fn readable(visit: &Visit, theme: &str) {
    assert_eq!(visit.look("return document.documentElement.dataset.theme", &[]).await, theme);
    let still = "return !document.getAnimations().some((motion) => motion.playState === 'running')";
    visit.wait("an end of all motion", still, &[]).await;
    assert_eq!(visit.look("return eyes.pale()", &[]).await, json!([]), "too pale in the {theme} theme");
}

#[tokio::test]
async fn both_themes_can_be_read_and_the_choice_is_kept() {
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    let visit = Visit::open_as("ru-RU", &[("Emulation.setEmulatedMedia", dark)]).await;
    visit.order(ANNA, "Анна").await;
    visit.says(ANNA, &["создана"]).await;
    visit.switch("deliver_twice", true).await;
    readable(&visit, "dark").await;
    visit.picture("7-dark").await;
    visit.click("[data-testid=theme]").await;
    readable(&visit, "light").await;
    visit.reload().await;
    readable(&visit, "light").await;
    visit.close().await;
}

#[tokio::test]
async fn the_page_and_the_bot_speak_the_visitors_language() {
    let visit = Visit::open_as("en-GB", &[]).await;
    assert_eq!(visit.look("return document.documentElement.lang", &[]).await, "en");
    let russian = "return [...document.querySelectorAll('[data-t], [data-t-label], [data-t-placeholder]')]\
        .filter((node) => node.id !== 'lang' && !node.closest('.chat-name')).flatMap((node) => [node.dataset.t && node.textContent, \
        node.dataset.tLabel && node.getAttribute('aria-label'), node.placeholder])\
        .filter((text) => /[а-яё]/i.test(text ?? '') && !text.includes('«'))";
    assert_eq!(visit.look(russian, &[]).await, json!([]), "Russian words on the English page");
    visit.shortcut(ANNA, "status").await;
    visit.says(ANNA, &["/new"]).await;
    let said = visit.sandbox.ever_said(ANNA.parse().unwrap()).await;
    assert!(said.iter().all(|text| text.is_ascii()), "{said:?}");
    visit.picture("8-english").await;
    visit.click("[data-testid=lang]").await;
    assert_eq!(
        visit.look("return document.querySelector('.tagline').textContent", &[]).await,
        "Одно нажатие — одна заявка"
    );
    visit.shortcut(ANNA, "status").await;
    visit.says(ANNA, &["Заявок пока нет"]).await;
    visit.reload().await;
    assert_eq!(visit.look("return document.documentElement.lang", &[]).await, "ru");
    visit.close().await;
}

#[tokio::test]
async fn a_page_left_alone_says_so_keeps_what_was_typed_and_comes_back_by_itself() {
    let visit = Visit::open().await;
    visit.fill(ANNA, "Анна").await;
    let input = visit.browser().find("#input-101").await;
    visit.browser().type_into(&input, "ещё не отправлено").await;
    let visit = visit.restart_the_sandbox().await;
    visit
        .wait("an empty chat, as the new sandbox has it", "return eyes.messages(args[0]).length === 0", &[ANNA.into()])
        .await;
    assert_eq!(visit.look("return document.querySelector('#input-101').value", &[]).await, "ещё не отправлено");
    visit.order(BORIS, "Борис").await;
    visit.counts(1).await;
    visit.close().await;
}
