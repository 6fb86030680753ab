//! One case of each kind, as staff read it.

use insta::{allow_duplicates, assert_snapshot};
use serde_json::json;

use super::{
    MINUTE, absent,
    undelivered::{blocked, poisoned, unconfirmed},
};
use crate::{
    databases::on_both,
    world::{ANNA, Options, REVIEWER, World},
};

on_both! {
    async fn not_in_the_crm_and_rejected(db: Database) {
        let mut world = absent(db).await;
        let fresh = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(fresh, @r"
        Случай Z-ANNA-XXXX
        Ответа, по которому ясно, создана ли заявка, от CRM нет, и за всё время ожидания заявка в ней не нашлась.

        Анкета: Консультация
        Ждёт с 30.11 12:29 (2 мин)
        Случай открыт 30.11 12:32 (0 с)
        Заявитель: Анна, •••0101
        Отправлено: Консультация: Анна
          topic: Налоги
        Ответ CRM: 1) 30.11 12:29 ответа нет: соединение оборвалось раньше ответа
           для инженера: error sending request: client error (SendRequest): connection closed before message completed
        [Взять] [Поискать ещё раз]
        [Указать номер] [Создать всё же]
        [Отклонить] [Почему?]
        [Z-ANNA-XXXX]
        "); }
        world.desk_tap(REVIEWER, "Взять").await;
        world.desk_tap(REVIEWER, "Отклонить").await;
        world.desk_tap(REVIEWER, "Не хватает данных").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @r"
        Случай Z-ANNA-XXXX
        Ответа, по которому ясно, создана ли заявка, от CRM нет, и за всё время ожидания заявка в ней не нашлась.

        Анкета: Консультация
        Ждёт с 30.11 12:29 (2 мин)
        Случай открыт 30.11 12:32 (0 с)
        Заявитель: Анна, •••0101
        Отправлено: Консультация: Анна
          topic: Налоги
        Ответ CRM: 1) 30.11 12:29 ответа нет: соединение оборвалось раньше ответа
           для инженера: error sending request: client error (SendRequest): connection closed before message completed
          ~
        Случай Z-ANNA-XXXX
        Ответа, по которому ясно, создана ли заявка, от CRM нет, и за всё время ожидания заявка в ней не нашлась.

        Анкета: Консультация
        Ждёт с 30.11 12:29 (5 мин)
        Случай открыт 30.11 12:32 (2 мин)
        Заявитель: Анна, •••0101
        Отправлено: Консультация: Анна
          topic: Налоги
        Ответ CRM: 1) 30.11 12:29 ответа нет: соединение оборвалось раньше ответа
           для инженера: error sending request: client error (SendRequest): connection closed before message completed

        В работе: Пётр (сотрудник), до 30.11 13:04
          ~
        Случай Z-ANNA-XXXX решён: не принята
        Пётр (сотрудник): отклонено

        Пётр (сотрудник), почему отклоняем Z-ANNA-XXXX? Причину прочтёт заявитель. Выберите или ответьте на это сообщение своими словами.
          ~
        Z-ANNA-XXXX: отклонена, заявитель узнает причину.
        "); }
        world.finish().await;
    }

    async fn a_blind_crm_and_a_number_nobody_can_check(db: Database) {
        let mut world = World::with(db, Options::blind()).await;
        world.fill_in(ANNA).await;
        world.fault(json!({ "on": "POST /tickets", "do": "lose_answer" })).await;
        world.submit(ANNA).await;
        world.desk_tap(crate::world::OWNER, "Указать номер").await;
        let question = world.desk_message("Ольга").await;
        world.desk_reply(crate::world::OWNER, question, "№ 1001").await;
        world.desk_tap(crate::world::OWNER, "Связать без проверки").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @r"
        Случай Z-ANNA-XXXX
        Ответа, по которому ясно, создана ли заявка, от CRM нет, а искать в этой CRM нельзя: посмотрите в ней сами.

        Анкета: Консультация
        Ждёт с 30.11 12:29 (0 с)
        Случай открыт 30.11 12:29 (0 с)
        Заявитель: Анна, •••0101
        Отправлено: Консультация: Анна
          topic: Налоги
        Ответ CRM: 1) 30.11 12:29 ответа нет: соединение оборвалось раньше ответа
           для инженера: error sending request: client error (SendRequest): connection closed before message completed
          ~
        Случай Z-ANNA-XXXX решён: создана, № 1001
        Ольга (сотрудник): связано без проверки

        Ольга (сотрудник), какой номер у заявки Z-ANNA-XXXX в CRM? Ответьте на это сообщение номером или ссылкой. Передумали: /cancel

        > № 1001

        Ольга (сотрудник), CRM о номере 1001 спросить нельзя. Связать с Z-ANNA-XXXX без проверки, под вашу ответственность?
          ~
        Z-ANNA-XXXX: связана с номером 1001 без проверки в CRM.
        "); }
        world.finish().await;
    }

    async fn created_after_all_and_a_late_twin(db: Database) {
        let mut world = absent(db).await;
        world.may_have_twins();
        world.desk_tap(REVIEWER, "Создать всё же").await;
        world.desk_tap(REVIEWER, "В CRM её нет").await;
        world.desk_tap(REVIEWER, "Да, создать").await;
        let stored = world.operations(ANNA).await.remove(0);
        let body = json!({ "external_id": stored.operation.key, "marker": stored.marker, "subject": "Дошла поздно",
            "body": "", "contact": {}, "fields": {} });
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_else(|error| panic!("{error}"));
        let url = format!("{}/tickets", world.crm_url());
        let made = http.post(url).bearer_auth("sandbox-secret").json(&body).send().await;
        made.unwrap_or_else(|error| panic!("{error}"));
        world.pass(4 * 60 * MINUTE).await;
        world.desk_tap(REVIEWER, "Разобрались").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @r"
        Случай Z-ANNA-XXXX
        Ответа, по которому ясно, создана ли заявка, от CRM нет, и за всё время ожидания заявка в ней не нашлась.

        Анкета: Консультация
        Ждёт с 30.11 12:29 (2 мин)
        Случай открыт 30.11 12:32 (0 с)
        Заявитель: Анна, •••0101
        Отправлено: Консультация: Анна
          topic: Налоги
        Ответ CRM: 1) 30.11 12:29 ответа нет: соединение оборвалось раньше ответа
           для инженера: error sending request: client error (SendRequest): connection closed before message completed
          ~
        Случай Z-ANNA-XXXX решён: создана, № 1001
        Пётр (сотрудник): велено создать всё же

        Пётр (сотрудник), создать Z-ANNA-XXXX всё же?

        Прежняя отправка могла дойти. Если она дойдёт, в CRM станет две заявки. Отправим под тем же ключом и ещё долго будем искать двойника.

        Почему? Выберите причину или ответьте на это сообщение своими словами.
          ~
        Пётр (сотрудник), точно создать Z-ANNA-XXXX?

        Прежняя отправка могла дойти. Если она дойдёт, в CRM станет две заявки. Отправим под тем же ключом и ещё долго будем искать двойника.

        Причина: В CRM её нет, проверено вручную
          ~
        Z-ANNA-XXXX: отправляем под тем же ключом и следим, не появится ли двойник.

        Случай Z-ANNA-XXXX: двойник
        В CRM не одна заявка по этому коду: 1001, 1002. Оставьте одну.

        Анкета: Консультация
        Заявитель: Анна, •••0101
        Ждёт с 30.11 12:34 (0 с)

        Похожие в CRM:
        № 1001 — http://crm/tickets/1001
        № 1002 — http://crm/tickets/1002
          ~
        Случай Z-ANNA-XXXX: двойник
        В CRM не одна заявка по этому коду: 1001, 1002. Оставьте одну.

        Анкета: Консультация
        Заявитель: Анна, •••0101
        Ждёт с 30.11 12:34 (3 ч)

        Похожие в CRM:
        № 1001 — http://crm/tickets/1001
        № 1002 — http://crm/tickets/1002
          ~
        Случай Z-ANNA-XXXX закрыт: с двойником разобрались (Пётр (сотрудник))

        9001: ждут решения и никем не взяты: 1
        Z-ANNA-XXXX · 3 ч · В CRM не одна заявка по этому коду: 1001, 1002. Оставьте одну.
        "); }
        world.finish().await;
    }

    async fn a_message_whose_fate_nobody_knows(db: Database) {
        let mut world = unconfirmed(db).await;
        world.desk_tap(REVIEWER, "Отправить ещё раз").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @r"
            Случай Z-ANNA-XXXX: сообщение не доставлено
            Неизвестно, дошло ли: сообщение о номере.

            Заявка: создана, № 1001
            Заявитель: Анна, •••0101
            Ждёт с 30.11 12:30 (0 с)
              ~
            Случай Z-ANNA-XXXX закрыт: сообщение отправлено ещё раз (Пётр (сотрудник))
            "); }
        world.finish().await;
    }

    async fn a_person_who_cannot_be_reached(db: Database) {
        let mut world = blocked(db).await;
        world.desk_tap(REVIEWER, "Оставить так").await;
        let told = world.desk_transcript().await;
        allow_duplicates! { assert_snapshot!(told, @r"
        Случай Z-ANNA-XXXX
        Ответа, по которому ясно, создана ли заявка, от CRM нет, и за всё время ожидания заявка в ней не нашлась.

        Анкета: Консультация
        Ждёт с 30.11 12:29 (2 мин)
        Случай открыт 30.11 12:32 (0 с)
        Заявитель: Анна, •••0101
        Отправлено: Консультация: Анна
          topic: Налоги
        Ответ CRM: 1) 30.11 12:29 ответа нет: соединение оборвалось раньше ответа
           для инженера: error sending request: client error (SendRequest): connection closed before message completed
          ~
        Случай Z-ANNA-XXXX решён: не принята
        Ольга (сотрудник): отклонено

        > /reject Z-ANNA-XXXX услуги нет

        Z-ANNA-XXXX: отклонена, заявитель узнает причину.

        Случай Z-ANNA-XXXX: сообщение не доставлено
        Не доставлено: карточка заявки — заявитель остановил бота или ушёл из Telegram

        Заявка: не принята
        Заявитель: Анна, •••0101
        Ждёт с 30.11 12:34 (0 с)
          ~
        Случай Z-ANNA-XXXX закрыт: оставлено как есть (Пётр (сотрудник))
        "); }
        world.finish().await;
    }

    async fn an_update_on_the_shelf(db: Database) {
        let mut world = poisoned(db).await;
        world.desk_tap(REVIEWER, "Оставить так").await;
        let told = world.desk_transcript().await;
        // The draft's own id is in the error.
        let told: Vec<_> = told.split_whitespace().map(|word| if word.len() == 36 { "<draft>" } else { word }).collect();
        allow_duplicates! { assert_snapshot!(told.join(" "), @r"
            Случай #1: обновление на полке Обновление не удалось обработать трижды: row <draft> of `drafts` cannot be read: answers: key must be a string at line 1 column 2 Строка: 2, после исправления: /replay 2 Ждёт с 30.11 12:29 (0 с) ~ Случай #1 закрыт: оставлено как есть (Пётр (сотрудник))
            "); }
        world.finish().await;
    }
}
