//! The question for files, as a person sees it.

use serde_json::json;

use super::FORM;
use crate::{
    databases::{Database, on_both},
    world::{ANNA, Options, SUBMIT, World},
};

async fn at_the_files(db: Database) -> World {
    let mut world = World::with(db, Options::searchable().form(|_| FORM.to_owned())).await;
    world.type_text(ANNA, "/start").await;
    world.type_text(ANNA, "Анна").await;
    world
}

async fn send(world: &mut World, verb: &str, details: serde_json::Value) -> String {
    world.act(ANNA, verb, details).await;
    world.settle().await;
    world.last_text(ANNA).await
}

on_both! {
    async fn files_are_attached_one_by_one_and_as_an_album_and_taken_away_again(db: Database) {
        let mut world = at_the_files(db).await;
        assert!(world.last_text(ANNA).await.contains("не больше 3"), "{}", world.last_text(ANNA).await);
        let said = send(&mut world, "document", json!({ "file_name": "../паспорт.pdf" })).await;
        assert!(said.starts_with("Приложено 1 из 3:\n1. паспорт.pdf"), "{said}");
        let before = world.said(ANNA).await.len();
        let said = send(&mut world, "photo", json!({ "count": 2 })).await;
        assert!(said.starts_with("Приложено 3 из 3:\n1. паспорт.pdf\n2. фото\n3. фото"), "{said}");
        assert_eq!(world.said(ANNA).await.len(), before + 1, "an album gets one answer: {:?}", world.said(ANNA).await);
        // An earlier «Готово» than the newest still means this question.
        let old = world.messages(ANNA).await;
        world.tap(ANNA, "✕ 2. фото").await;
        assert!(world.last_text(ANNA).await.starts_with("Приложено 2 из 3:\n1. паспорт.pdf\n2. фото\n\n"));
        let first = old.iter().find(|message| message.text.starts_with("Приложено 1 из 3")).expect("it was said").id;
        assert_eq!(world.tap_on(ANNA, first, "✕ 1. паспорт.pdf").await, "Кнопка устарела: ответы с тех пор изменились. Смотрите последнее сообщение.");
        assert_eq!(world.tap_on(ANNA, first, "Готово").await, "Выбрано.");
        assert!(world.last_text(ANNA).await.starts_with("Что ещё?"), "what depends on files is asked");
        world.type_text(ANNA, "ничего").await;
        let summary = world.last_text(ANNA).await;
        assert!(summary.contains("Приложите документы\nпаспорт.pdf, фото (файлов: 2)"), "{summary}");
        world.tap(ANNA, SUBMIT).await;
        let body = world.tickets().await[0]["body"].as_str().expect("a text").to_owned();
        assert!(body.contains("паспорт.pdf, фото (файлов: 2)") && body.contains("[паспорт.pdf, photo_2.jpg]"), "{body}");
        assert!(body.contains("Файл «photo_2.jpg» не приложен: в этой системе файлы не хранятся"), "{body}");
        world.finish().await;
    }

    async fn what_does_not_fit_is_told_and_loses_nothing(db: Database) {
        let mut world = at_the_files(db).await;
        let said = send(&mut world, "voice", json!({})).await;
        assert!(said.starts_with("Здесь нужно фото или файл."), "{said}");
        send(&mut world, "photo", json!({})).await;
        let said = send(&mut world, "document", json!({ "size": 3 << 20 })).await;
        assert!(said.starts_with("Этот файл слишком большой: помещается до 2 МБ.") && said.contains("Приложено 1 из 3"), "{said}");
        let said = send(&mut world, "document", json!({ "file_name": "a.exe", "mime_type": "application/x-msdownload" })).await;
        assert!(said.starts_with("Такой файл сюда не подходит. Можно прислать: изображения, PDF."), "{said}");
        let said = send(&mut world, "text", json!({ "text": "вот документы" })).await;
        assert!(said.starts_with("Здесь нужно фото или файл.") && said.contains("Приложено 1 из 3"), "{said}");
        let said = send(&mut world, "photo", json!({ "count": 4 })).await;
        assert!(said.starts_with("Больше файлов сюда не помещается: самое большее 3."), "{said}");
        assert!(said.contains("Приложено 3 из 3"), "{said}");
        world.tap(ANNA, "✕ 1. фото").await;
        world.tap(ANNA, "✕ 1. фото").await;
        world.tap(ANNA, "✕ 1. фото").await;
        assert_eq!(world.last_text(ANNA).await, "Ничего не приложено. Пришлите фото или файл.");
        world.tap(ANNA, "Пропустить").await;
        assert!(world.last_text(ANNA).await.contains("Приложите документы\n—"), "{}", world.last_text(ANNA).await);
        world.tap(ANNA, "Изменить").await;
        world.tap(ANNA, "Приложите документы").await;
        send(&mut world, "photo", json!({})).await;
        send(&mut world, "text", json!({ "text": "Готово" })).await;
        world.type_text(ANNA, "это всё").await;
        assert!(world.last_text(ANNA).await.contains("фото (файлов: 1)"), "{}", world.last_text(ANNA).await);
        world.tap(ANNA, SUBMIT).await;
        assert_eq!(world.count().await, 1);
        world.finish().await;
    }

    async fn a_redelivered_photo_is_attached_once(db: Database) {
        let mut world = at_the_files(db).await;
        let sent = world.act(ANNA, "photo", json!({})).await;
        world.settle().await;
        world.post("/updates/redeliver", json!({ "update_id": sent["update_ids"][0] })).await;
        world.settle().await;
        assert!(world.last_text(ANNA).await.starts_with("Приложено 1 из 3:\n1. фото\n\n"));
        world.type_text(ANNA, "/forget").await;
        assert!(world.operations(ANNA).await.is_empty());
        world.finish().await;
    }
}
