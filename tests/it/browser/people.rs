//! What machines cannot settle, people do: a kill in the middle of a call, and cases brought to the staff's chat.

use std::path::Path;

use serde_json::json;

use super::visit::{ANNA, BORIS, DESK, SUBMIT, Visit};

/// Waits until the CRM has received a create that it holds.
async fn held(visit: &Visit) {
    let open = async |sandbox: &crate::command::process::Sandbox| {
        let log = sandbox.get("/crm/log").await;
        log["calls"].as_array().unwrap().iter().any(|call| call["outcome"] == "open")
    };
    visit.sandbox.until("a held create", open).await;
}

#[tokio::test]
async fn a_process_killed_during_the_call_goes_on_and_the_late_ticket_is_the_only_one() {
    let visit = Visit::open().await;
    visit.sandbox.post("/crm/faults", json!({ "on": "POST /tickets", "do": "hold" })).await;
    visit.order(ANNA, "Анна").await;
    held(&visit).await;
    visit.says(ANNA, &["Номер появится здесь"]).await;
    let shown = "return document.querySelector('[data-testid=service-pid]').textContent";
    let old = visit.sandbox.service_pid().await.unwrap();
    assert_eq!(visit.look(shown, &[]).await, format!("pid {old}"));

    visit.click("[data-testid=kill]").await;
    let restarted = "return document.querySelector('[data-testid=service-restarts]').textContent === '1 перезапуск'";
    visit.wait("the restart", restarted, &[]).await;
    let new = visit.sandbox.service_pid().await.unwrap();
    assert_ne!(new, old);
    assert_eq!(visit.look(shown, &[]).await, format!("pid {new}"));
    assert!(!Path::new(&format!("/proc/{old}")).exists(), "the old process still runs");
    visit.picture("4-killed").await;
    visit.counts(0).await;

    // The CRM carries out what it had received, long after whoever asked has died.
    visit.sandbox.post("/crm/release", json!({})).await;
    visit.counts(1).await;
    let number = visit.newest_number().await;
    visit.says(ANNA, &[&format!("№ {number} создана")]).await;
    visit.tap(ANNA, SUBMIT).await;
    let known = format!("Заявка № {number} уже создана.");
    let told = "return eyes.answers(args[0]).at(-1) === args[1]";
    visit.wait("the number once more", told, &[ANNA.into(), known.into()]).await;
    visit.counts(1).await;
    visit.was_honest(ANNA).await;
    visit.close().await;
}

/// Files a ticket whose answer is lost while the CRM cannot be searched; the marker of the case this becomes.
async fn case(visit: &Visit, chat: &str, name: &str) -> String {
    visit.order(chat, name).await;
    visit.says(chat, &["на проверке у сотрудника"]).await;
    let card = visit.says(DESK, &["Случай", name]).await;
    card.split_whitespace().find(|word| word.starts_with("Z-")).unwrap().to_owned()
}

#[tokio::test]
async fn staff_settle_what_could_not_be_looked_up_and_both_clients_are_told() {
    let visit = Visit::open().await;
    visit.switch("crm_lose_answer", true).await;
    visit.switch("crm_blind_lookup", true).await;
    let annas = case(&visit, ANNA, "Анна").await;
    visit.counts(1).await;
    let annas_number = visit.newest_number().await;
    let boriss = case(&visit, BORIS, "Борис").await;
    visit.counts(2).await;
    let boriss_number = visit.newest_number().await;
    visit.picture("5-review").await;
    visit.shortcut(DESK, "queue").await;
    visit.says(DESK, &["Ждут решения: 2", &annas, &boriss]).await;

    visit.switch("crm_lose_answer", false).await;
    visit.switch("crm_blind_lookup", false).await;
    // A number that is in the CRM, but is another request's.
    visit.write(DESK, &format!("/link {annas} {boriss_number}")).await;
    visit.says(DESK, &[&format!("Номер {boriss_number} в CRM есть, но это другая заявка")]).await;
    visit.says(ANNA, &["на проверке у сотрудника"]).await;
    // The right one, typed as one types on a phone.
    visit.write(DESK, &format!("/link {} {annas_number}", annas.to_lowercase().replace('-', ""))).await;
    visit.says(ANNA, &[&format!("№ {annas_number} создана")]).await;
    visit.says(DESK, &[&format!("Случай {annas} решён")]).await;

    let boriss_card = format!("Случай {boriss}");
    let look = "const card = eyes.said(...args.slice(0, 2)); return card && eyes.keyOf(card, args[2])";
    let look = visit.wait("Boris's card", look, &[DESK.into(), boriss_card.into(), "Поискать ещё раз".into()]).await;
    visit.browser().click(&super::webdriver::Session::element(&look)).await;
    visit.says(BORIS, &[&format!("№ {boriss_number} создана")]).await;
    visit.says(DESK, &[&format!("Случай {boriss} решён")]).await;
    visit.picture("6-settled").await;
    visit.counts(2).await;
    visit.was_honest(ANNA).await;
    visit.was_honest(BORIS).await;
    visit.close().await;
}
