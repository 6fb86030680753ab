//! What Telegram would refuse is never sent: keyboards stay within their limits. And everybody is spoken to in a language
//! of theirs, where there is one.

use serde_json::json;

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, Options, World},
};

/// The sample form with so many topics to choose from.
fn with_topics(count: usize) -> Options {
    let topics: String = (0..count).map(|n| format!("  {{ id = \"t{n}\", label = \"Тема {n}\" }},\n")).collect();
    Options::searchable().form(|form| {
        let (before, rest) = form.split_once("choices = [\n").unwrap_or_else(|| panic!("no choices: {form}"));
        let (_, after) = rest.split_once("]\n").unwrap_or_else(|| panic!("no end of choices: {form}"));
        format!("{before}choices = [\n{topics}]\n{after}").replace("topic == 'other'", "topic == 't94'")
    })
}

on_both! {
    async fn ninety_five_choices_stand_on_three_pages_of_at_most_forty(db: Database) {
        let mut world = World::with(db, with_topics(95)).await;
        world.type_text(ANNA, "/start").await;
        world.type_text(ANNA, "Анна").await;
        world.share_contact(ANNA, "+79000000101").await;
        world.tap(ANNA, "Пропустить").await;
        let mut pages = Vec::new();
        loop {
            let messages = world.messages(ANNA).await;
            let page = messages.iter().rev().find(|message| message.by_bot && !message.rows.is_empty()).cloned();
            let page = page.unwrap_or_else(|| panic!("no page: {messages:?}"));
            let labels: Vec<_> = page.rows.iter().flatten().cloned().collect();
            pages.push(labels.iter().filter(|label| label.starts_with("Тема")).count());
            if !labels.iter().any(|label| label == "▶") {
                break;
            }
            world.tap(ANNA, "▶").await;
        }
        assert_eq!(pages, [40, 40, 15]);
        world.tap(ANNA, "Тема 93").await;
        world.tap(ANNA, "7 декабря, 11:00").await;
        world.tap(ANNA, "Даю согласие").await;
        world.submit(ANNA).await;
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn everybody_is_spoken_to_in_their_language_where_there_is_one(db: Database) {
        let mut world = World::new(db).await;
        let mut helps = Vec::new();
        for (user, lang) in [(ANNA, "ru"), (BORIS, "kk"), (103, "en-GB"), (104, "EN")] {
            world.act(user, "text", json!({ "text": "/help", "lang": lang })).await;
            world.settle().await;
            helps.push(world.last_text(user).await);
        }
        assert_eq!(helps[0], helps[1], "the default where there is no file");
        assert_eq!(helps[2], helps[3], "a region or capitals change nothing");
        assert_ne!(helps[0], helps[2]);
        assert!(helps[2].contains("fill in a form"), "{}", helps[2]);
        world.finish().await;
    }
}
