// Every word of the page, in Russian and English, and the one place that knows the current language.

const ru = {
  title: "zayavka · песочница",
  tagline: "Одно нажатие — одна заявка",
  sandbox: "песочница",
  skip: "Перейти к чату клиента",
  lang: "RU EN: язык русский. Switch to English",
  themeToDark: "Включить тёмную тему",
  themeToLight: "Включить светлую тему",
  linkUp: "на связи",
  linkDown: "нет связи",
  banner: "Нет связи с песочницей. Подключаемся снова… Набранный текст останется.",
  bannerBack: "Связь восстановлена",

  guide: "Что попробовать",
  guideHint: "пять шагов, две минуты",
  step1: "Заполните анкету",
  step1Text: "В чате Анны нажмите /start и ответьте боту. Номером можно поделиться кнопкой.",
  step2: "Нажмите дважды",
  step2Text: "Под сводкой дважды и быстро: «Отправить заявку». В CRM появится одна заявка.",
  step3: "Вернитесь к старой кнопке",
  step3Text: "Сводка осталась в чате. Нажмите её кнопку ещё раз: бот назовёт тот же номер.",
  step4: "Сломайте связь",
  step4Text: "Включите любой сбой и отправьте заявку Бориса. Она будет одна, а бот честен.",
  step5: "Убейте процесс",
  step5Text: "Сразу после отправки. Он поднимется на той же базе; спорное решат в /queue.",

  tabs: "Окна",
  tabA: "Анна",
  tabB: "Борис",
  tabStaff: "Сотрудники",
  tabCrm: "CRM",
  unread: (n) => plural(n, { one: `${n} новое сообщение`, few: `${n} новых сообщения`, other: `${n} новых сообщений` }),

  chatA: "Анна Смирнова",
  chatB: "Борис Петров",
  chatStaff: "Сотрудники",
  roleA: "клиент · вы пишете за неё",
  roleB: "клиент · вы пишете за него",
  roleStaff: "группа · вы пишете как Ольга",
  log: "Сообщения",
  emptyClient: "Пока тихо. Нажмите /start, и бот начнёт анкету.",
  emptyStaff: "Сюда бот приносит то, что должен решить человек. Очередь: /queue.",
  shortcuts: "Быстрые команды",
  replyKeys: "Клавиатура бота",
  messageKeys: "Кнопки под сообщением",
  input: "Сообщение",
  inputLabelA: "Сообщение от Анны",
  inputLabelB: "Сообщение от Бориса",
  inputLabelStaff: "Сообщение от сотрудника",
  send: "Отправить",
  photo: "Отправить фото",
  newer: "К новым сообщениям",
  bot: "бот",
  edited: "✎ изменено",
  editedTimes: (n) => `✎ изменено ×${n}`,
  editOwn: "Изменить сообщение",
  editing: "Изменение сообщения",
  cancel: "Отменить",
  earlier: "Раньше здесь было",
  oldKeys: "Прежние кнопки: как с телефона, который ещё не обновился",
  kindPhoto: "Фото",
  kindContact: "Контакт",
  kindVoice: "Голосовое сообщение",
  kindSticker: "Стикер",
  kindOther: "Вложение",
  copied: "Скопировано",
  failed: (why) => `Не получилось: ${why}`,
  noAnswer: "песочница не ответила",

  count: "Заявок в CRM:",
  countZero: "ждём первую",
  twinsNone: "повторов нет",
  twins: (n) => plural(n, { one: `${n} повтор`, few: `${n} повтора`, other: `${n} повторов` }),
  faultsOn: (n) => plural(n, { one: `${n} сбой`, few: `${n} сбоя`, other: `${n} сбоев` }),
  tickets: "Заявки",
  ticketsEmpty: "Здесь появятся заявки, как их видит CRM.",
  contact: "Контакт",
  fields: "Поля",
  body: "Текст",
  key: "Ключ",
  number: (n) => `№ ${n}`,

  faults: "Сбои по заказу",
  faultsHint: "действуют, пока включены",
  crm_lose_answer: "Потерять ответ CRM",
  crm_lose_answerText: "Заявка создаётся, ответ не доходит",
  crm_down: "CRM недоступна",
  crm_downText: "Соединение отклоняется",
  crm_500_after_create: "CRM отвечает 500 после создания",
  crm_500_after_createText: "Создаёт заявку и сообщает об ошибке",
  crm_blind_lookup: "Поиск в CRM отвечает 500",
  crm_blind_lookupText: "Проверить, есть ли заявка, нельзя",
  telegram_lose_answer: "Telegram потерял ответ",
  telegram_lose_answerText: "Сообщение показано, бот об этом не знает",
  deliver_twice: "Доставить update дважды",
  deliver_twiceText: "Каждое обновление придёт ещё раз",

  service: "Процесс сервиса",
  running: "работает",
  stopped: "остановлен",
  restarting: "перезапуск…",
  pid: (n) => `pid ${n}`,
  restarts: (n) => plural(n, { one: `${n} перезапуск`, few: `${n} перезапуска`, other: `${n} перезапусков` }),
  pending: (n) => plural(n, { one: `${n} обновление в очереди`, few: `${n} обновления в очереди`, other: `${n} обновлений в очереди` }),
  kill: "Убить процесс и поднять снова",
  start: "Поднять процесс",
  killed: "Процесс убит и поднят снова",
  started: "Процесс поднят",
  wire: "Что идёт по проводам",
  wireEmpty: "Пока ничего",
};

const en = {
  title: "zayavka · sandbox",
  tagline: "One tap, one ticket",
  sandbox: "sandbox",
  skip: "Skip to the client’s chat",
  lang: "RU EN: the language is English. Переключить на русский",
  themeToDark: "Switch to the dark theme",
  themeToLight: "Switch to the light theme",
  linkUp: "connected",
  linkDown: "offline",
  banner: "The sandbox is out of reach. Reconnecting… What you typed stays.",
  bannerBack: "Connected again",

  guide: "What to try",
  guideHint: "five steps, two minutes",
  step1: "Fill in the form",
  step1Text: "In Anna’s chat press /start and answer the bot. A button shares the phone.",
  step2: "Tap twice",
  step2Text: "Under the summary, tap submit twice, fast. One ticket appears in the CRM.",
  step3: "Go back to an old button",
  step3Text: "The summary is still in the chat. Tap its button again: the bot names the same number.",
  step4: "Break the wire",
  step4Text: "Turn any fault on and submit as Boris. Still one ticket, and an honest bot.",
  step5: "Kill the process",
  step5Text: "Right after submitting. It comes back on the same database; staff settle the rest in /queue.",

  tabs: "Panes",
  tabA: "Anna",
  tabB: "Boris",
  tabStaff: "Staff",
  tabCrm: "CRM",
  unread: (n) => plural(n, { one: `${n} new message`, other: `${n} new messages` }),

  chatA: "Анна Смирнова",
  chatB: "Борис Петров",
  chatStaff: "Staff",
  roleA: "client · you write as Anna",
  roleB: "client · you write as Boris",
  roleStaff: "staff group · you write as Olga",
  log: "Messages",
  emptyClient: "All quiet. Press /start and the bot will begin the form.",
  emptyStaff: "The bot brings here what a person has to decide. The queue: /queue.",
  shortcuts: "Quick commands",
  replyKeys: "The bot’s keyboard",
  messageKeys: "Buttons under the message",
  input: "Message",
  inputLabelA: "Message from Anna",
  inputLabelB: "Message from Boris",
  inputLabelStaff: "Message from staff",
  send: "Send",
  photo: "Send a photo",
  newer: "To the newest messages",
  bot: "bot",
  edited: "✎ edited",
  editedTimes: (n) => `✎ edited ×${n}`,
  editOwn: "Edit message",
  editing: "Editing a message",
  cancel: "Cancel",
  earlier: "It used to say",
  oldKeys: "Earlier buttons: as on a phone that has not refreshed yet",
  kindPhoto: "Photo",
  kindContact: "Contact",
  kindVoice: "Voice message",
  kindSticker: "Sticker",
  kindOther: "Attachment",
  copied: "Copied",
  failed: (why) => `That did not work: ${why}`,
  noAnswer: "the sandbox did not answer",

  count: "Tickets in the CRM:",
  countZero: "waiting for the first",
  twinsNone: "no duplicates",
  twins: (n) => plural(n, { one: `${n} duplicate`, other: `${n} duplicates` }),
  faultsOn: (n) => plural(n, { one: `${n} fault`, other: `${n} faults` }),
  tickets: "Tickets",
  ticketsEmpty: "Tickets will appear here, as the CRM sees them.",
  contact: "Contact",
  fields: "Fields",
  body: "Text",
  key: "Key",
  number: (n) => `No. ${n}`,

  faults: "Faults on order",
  faultsHint: "they last while they are on",
  crm_lose_answer: "Lose the CRM’s answer",
  crm_lose_answerText: "The ticket is made, the answer never arrives",
  crm_down: "CRM is down",
  crm_downText: "Connections are refused",
  crm_500_after_create: "CRM answers 500 after creating",
  crm_500_after_createText: "Makes the ticket, reports an error",
  crm_blind_lookup: "CRM search answers 500",
  crm_blind_lookupText: "No way to check whether a ticket exists",
  telegram_lose_answer: "Telegram loses its answer",
  telegram_lose_answerText: "The message is shown, the bot is not told",
  deliver_twice: "Deliver every update twice",
  deliver_twiceText: "Each update comes once more",

  service: "Service process",
  running: "running",
  stopped: "stopped",
  restarting: "restarting…",
  pid: (n) => `pid ${n}`,
  restarts: (n) => plural(n, { one: `${n} restart`, other: `${n} restarts` }),
  pending: (n) => plural(n, { one: `${n} update queued`, other: `${n} updates queued` }),
  kill: "Kill the process and start it again",
  start: "Start the process",
  killed: "Process killed and started again",
  started: "Process started",
  wire: "What goes over the wire",
  wireEmpty: "Nothing yet",
};

const words = { ru, en };

/** The current language, `ru` or `en`; it lives in `<html lang>`. */
export function lang() {
  return document.documentElement.lang === "en" ? "en" : "ru";
}

function plural(n, forms) {
  return forms[new Intl.PluralRules(lang()).select(n)] ?? forms.other;
}

/** The text under `key`; texts with a number or a reason take it as `value`. */
export function t(key, value) {
  const text = words[lang()][key] ?? key;
  return typeof text === "function" ? text(value) : text;
}

/** Hours and minutes in the visitor's own zone; the full moment is for a tooltip. */
export function clock(at, full = false) {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return "";
  const form = full ? { dateStyle: "medium", timeStyle: "medium" } : { hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat(lang() === "ru" ? "ru-RU" : "en-GB", form).format(moment);
}

/** Fills in every `data-t` (text), `data-t-label`, `data-t-title` and `data-t-placeholder` under `root`. */
export function translate(root) {
  const each = (name, apply) => root.querySelectorAll(`[${name}]`).forEach((node) => apply(node, t(node.getAttribute(name))));
  each("data-t", (node, text) => {
    if (node.textContent !== text) node.textContent = text;
  });
  each("data-t-label", (node, text) => node.setAttribute("aria-label", text));
  each("data-t-title", (node, text) => node.setAttribute("title", text));
  each("data-t-placeholder", (node, text) => node.setAttribute("placeholder", text));
}
