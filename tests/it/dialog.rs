//! The main job, from `/start` to the number, and what else a person may ask of the bot.

use insta::assert_snapshot;

use crate::{
    databases::on_both,
    world::{ANNA, World},
};

on_both! {
    async fn from_start_to_the_number(db: Database) {
        let mut world = World::new(db).await;
        world.fill_in(ANNA).await;
        assert_eq!(world.count().await, 0);
        assert_eq!(world.submit(ANNA).await, "Принято, отправляем заявку.");
        assert_eq!(world.count().await, 1);
        let told = world.transcript(ANNA).await.replace(&world.marker(ANNA).await, "Z-XXXX-XXXX");
        whole_talk(&told.replace(&world.crm_url(), "http://crm").replace('\u{a0}', " "));
        world.finish().await;
    }
}
fn whole_talk(told: &str) {
    insta::allow_duplicates! {
        assert_snapshot!(told, @r#"
    > /start

    Здравствуйте! Это анкета «Консультация».
    Ответьте на несколько вопросов, это займёт минуту.

    Как к вам обращаться?

    > Анна

    Телефон для связи
    [Поделиться контактом]
    [Назад]

    > contact

    Записали: +79000000101

    Электронная почта
    Этот вопрос можно пропустить.
    [Пропустить] [Назад]

    Тема

    Налоги — 3 000 ₽
    [Налоги]
    [Другое]
    [Назад]

    Когда удобно?
    [7 декабря, 10:00]
    [7 декабря, 11:00]
    [Назад]

    Согласны на обработку персональных данных?

    Текст согласия, редакция 2026-01
    [Даю согласие]
    [Не даю согласия]
    [Назад]

    Проверьте, всё ли верно.

    Как к вам обращаться?
    Анна

    Телефон для связи
    +79000000101

    Электронная почта
    —

    Тема
    Налоги — 3 000 ₽

    Когда удобно?
    7 декабря, 11:00 (UTC+3)

    Согласны на обработку персональных данных?
    ✓

    Если всё так, нажмите «Отправить заявку».
    [Отправить заявку]
    [Изменить] [Отменить]

    Заявка № 1001 создана.

    Код для обращений: Z-XXXX-XXXX
    [Скопировать № 1001]
    "#);
    }
}
