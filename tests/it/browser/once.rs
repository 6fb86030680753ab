//! One tap, one ticket: the whole way by mouse and keyboard, and the same with each thing that can go wrong.

use super::visit::{ANNA, BORIS, DESK, SUBMIT, Visit};

#[tokio::test]
async fn a_double_click_makes_one_ticket_and_the_old_button_names_it() {
    let visit = Visit::open().await;
    visit.picture("1-first-sight").await;
    visit.counts(0).await;
    visit.shortcut(ANNA, "start").await;
    visit.says(ANNA, &["Консультация"]).await;
    visit.says(ANNA, &["Как к вам обращаться?"]).await;
    visit.write(ANNA, "Анна «Ё» Смирнова 😀").await;
    visit.says(ANNA, &["Телефон для связи"]).await;
    visit.write(ANNA, "не скажу").await;
    visit.says(ANNA, &["Не похоже на номер телефона"]).await;
    visit.reply(ANNA, "Поделиться контактом").await;
    visit.says(ANNA, &["Электронная почта"]).await;
    visit.write(ANNA, "anna@example.ru").await;
    visit.tap(ANNA, "Другое").await;
    visit.says(ANNA, &["Опишите вопрос"]).await;
    visit.write(ANNA, "<b>Налог</b> & сбор").await;
    visit.tap(ANNA, "7 декабря, 12:00").await;
    visit.tap(ANNA, "Даю согласие").await;
    let parts = ["Анна «Ё» Смирнова 😀", "+79991234567", "anna@example.ru", "<b>Налог</b> & сбор", "7 декабря, 12:00"];
    visit.says(ANNA, &parts).await;
    visit.picture("2-summary").await;

    let submit = visit.button(ANNA, SUBMIT).await;
    visit.forget_answers().await;
    visit.browser().double_click(&submit).await;
    visit.counts(1).await;
    let answers = visit.answers(ANNA, 2).await;
    assert_eq!(visit.look("return eyes.doubleClicks", &[]).await, 1, "the browser saw no double click");
    assert_eq!(answers[0], "Принято, отправляем заявку.");
    let number = visit.newest_number().await;
    let known = ["Уже отправляем. Второй раз нажимать не нужно.", &format!("Заявка № {number} уже создана.")];
    assert!(known.contains(&answers[1].as_str()), "{answers:?}");
    visit.says(ANNA, &[&format!("Заявка № {number} создана")]).await;

    visit.tap(ANNA, SUBMIT).await;
    let answers = visit.answers(ANNA, 3).await;
    assert_eq!(answers[2], format!("Заявка № {number} уже создана."));
    visit.picture("3-created").await;
    visit.counts(1).await;
    visit.was_honest(ANNA).await;
    visit.close().await;
}

/// Submits a form of Boris's under a fault and reads how it ended.
async fn under(visit: &Visit, fault: &str, count: usize) {
    visit.switch(fault, true).await;
    visit.order(BORIS, &format!("Борис {count}")).await;
    visit.picture(&format!("fault-{fault}")).await;
    visit.counts(count).await;
    let number = visit.newest_number().await;
    visit.says(BORIS, &[&format!("№ {number} создана")]).await;
    visit.switch(fault, false).await;
    visit.counts(count).await;
}

#[tokio::test]
async fn each_fault_leaves_one_ticket_and_a_client_who_knows_its_number() {
    let visit = Visit::open().await;
    under(&visit, "crm_lose_answer", 1).await;
    under(&visit, "crm_500_after_create", 2).await;
    under(&visit, "deliver_twice", 3).await;
    under(&visit, "telegram_lose_answer", 4).await;

    visit.switch("crm_down", true).await;
    visit.order(BORIS, "Борис без CRM").await;
    visit.says(BORIS, &["Заявка принята, ждём CRM"]).await;
    visit.picture("fault-crm_down").await;
    visit.counts(4).await;
    visit.switch("crm_down", false).await;
    visit.counts(5).await;
    let number = visit.newest_number().await;
    visit.says(BORIS, &[&format!("№ {number} создана")]).await;
    visit.was_honest(BORIS).await;
    let staff = visit.look("return eyes.byBot(args[0]).map(eyes.text)", &[DESK.into()]).await;
    assert_eq!(staff.as_array().map(Vec::len), Some(0), "nothing of this needs a human: {staff}");
    visit.close().await;
}

#[tokio::test]
async fn the_button_of_an_older_summary_sends_nothing_and_says_why() {
    let visit = Visit::open().await;
    visit.fill(ANNA, "Анна").await;
    let older = visit.button(ANNA, SUBMIT).await;
    visit.tap(ANNA, "Изменить").await;
    visit.choose(ANNA, "Какой ответ изменить?", "Как к вам обращаться?").await;
    visit.asks(ANNA, "Как к вам обращаться?").await;
    visit.write(ANNA, "Анна Петровна").await;
    visit.asks(ANNA, "\nАнна Петровна\n").await;

    visit.forget_answers().await;
    visit.browser().click(&older).await;
    let answers = visit.answers(ANNA, 1).await;
    assert_eq!(answers, ["Анкета изменилась. Проверьте новую сводку."]);
    visit.counts(0).await;
    visit.choose(ANNA, "Проверьте, всё ли верно", SUBMIT).await;
    visit.counts(1).await;
    let ticket = &visit.sandbox.tickets().await[0];
    assert_eq!(ticket["contact"]["name"], "Анна Петровна");
    visit.close().await;
}
