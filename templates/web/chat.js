// One chat window: the messages, the buttons under them, the keyboard above the text box, and what the visitor does
// with them. It keeps no copy of the conversation: every state is patched in, and every act is one POST.

import { lang, t } from "./i18n.js";
import { h, icon, patchList, setAttr, setText, show } from "./dom.js";
import { Refused, post } from "./net.js";
import { messageNode, updateMessage } from "./message.js";

const SHOWN_MESSAGES = 200; // a load test may write thousands; the newest are the ones anybody reads
const NEAR_BOTTOM_PX = 48;
const TOAST_MS = 6000;
const SHOWN_TOASTS = 2; // both answers to a double click, and still the chat behind them
const SPINNER_MS = 15_000; // the age at which Telegram stops taking an answer to a tap
const MAX_INPUT_PX = 132;
const STEADY_MS = 400; // a double click has to find the same button twice, even if the bot answers in between

/** Whether a message is a press of one of the keyboard's buttons; only that uses a one-time keyboard up, typing does not. */
function presses(message, rows) {
  return rows.flat().some((button) => (button.contact ? Boolean(message.contact) : message.text === button.text));
}

/** The rows of the keyboard the bot last put above the text box, or none. */
function replyRows(messages, user) {
  const own = [];
  for (const message of messages.toReversed()) {
    if (message.from?.id === user) own.push(message);
    const keyboard = message.reply_keyboard;
    if (!keyboard || message.deleted) continue;
    const rows = keyboard.remove ? [] : (keyboard.rows ?? []);
    return keyboard.one_time && own.some((later) => presses(later, rows)) ? [] : rows;
  }
  return [];
}

/**
 * Builds a chat inside `root`. `user` is who the visitor writes as, `chat` where; `words` names the i18n keys of the
 * title, the role, the input's label and the empty state; `onNews(count)` hears of messages that came while out of sight.
 */
export function createChat({ root, user, chat, phone, shortcuts, words, onNews }) {
  const elsewhere = chat === user ? {} : { chat };
  const seenAcks = new Set();
  const waiting = new Map(); // callback id → the button that shows a spinner
  let stick = true; // follow the newest message until the reader scrolls up
  let editing = null; // the id of the own message being edited
  let lastSeen = 0;
  let sending = Promise.resolve();
  let steadyUntil = 0;
  let steadyTimer = 0;

  // ---- the frame -------------------------------------------------------------------------------------------------
  const title = h("h2", { class: "chat-name", id: `${root.id}-title`, dir: "auto" });
  const list = h("ol", { class: "messages" });
  const log = h("div", { class: "log", role: "log", tabindex: "0", "aria-labelledby": `${root.id}-title`, "data-testid": "log", "data-focus-home": true }, list);
  const empty = h("p", { class: "empty chat-empty", "data-t": words.empty });
  const toasts = h("div", { class: "toasts", role: "status", "aria-live": "polite", "data-testid": "toasts" });
  const newer = h("button", { class: "newer", type: "button", hidden: true, "data-testid": "newer", "data-t-label": "newer", "data-t-title": "newer", onclick: () => scrollDown() }, icon("down"));
  const input = h("textarea", { class: "input", id: `input-${root.dataset.testid.replace("chat-", "")}`, rows: "1", dir: "auto", "data-testid": "input", "data-t-placeholder": "input", "data-t-label": words.input, enterkeyhint: "send", autocomplete: "off" });
  const replyKeys = h("div", { class: "reply-keys", role: "group", "data-t-label": "replyKeys", "data-testid": "reply-keyboard", hidden: true });
  const editBar = h("div", { class: "edit-bar", hidden: true, "data-testid": "edit-bar" },
    icon("pencil"), h("span", { "data-t": "editing" }),
    h("button", { class: "icon-button", type: "button", "data-t-label": "cancel", "data-t-title": "cancel", onclick: () => endEdit() }, icon("close")));
  const chips = h("div", { class: "chips", role: "group", "data-t-label": "shortcuts" },
    ...shortcuts.map(({ text, path, body, testid }) => h("button", { class: "chip", type: "button", "data-testid": testid, onclick: () => say(path, body) }, text)));
  const form = h("form", { class: "composer", onsubmit: (event) => (event.preventDefault(), submit()) },
    h("button", { class: "icon-button", type: "button", "data-testid": "photo", "data-t-label": "photo", "data-t-title": "photo", onclick: () => say("photo") }, icon("photo")),
    input,
    h("button", { class: "send", type: "submit", "data-testid": "send", "data-t-label": "send", "data-t-title": "send" }, icon("send")));
  root.setAttribute("aria-labelledby", title.id);
  root.append(
    h("header", { class: "chat-head" },
      h("span", { class: "avatar", "aria-hidden": "true" }, words.initial),
      h("div", { class: "chat-names" }, title, h("p", { class: "chat-role", "data-t": words.role }))),
    h("div", { class: "stage" }, log, empty, toasts, newer),
    h("div", { class: "foot" }, chips, replyKeys, editBar, form));

  // ---- what the visitor does -------------------------------------------------------------------------------------
  // The person's Telegram speaks the language of the page, so that the bot does too.
  const act = (path, body = {}) => post(`/sandbox/clients/${user}/${path}`, { ...body, ...elsewhere, lang: lang() });

  function report(error) {
    toast(t("failed", error instanceof Refused ? error.message : t("noAnswer")), "bad");
  }

  /** Messages leave one after another, so that they arrive in the order they were written. */
  function say(path, body) {
    stick = true;
    const done = sending.then(() => act(path, body));
    sending = done.catch(report);
    return done;
  }

  function submit() {
    const text = input.value;
    if (text === "") return;
    const done = editing === null ? say("text", { text }) : say("edit", { message_id: editing, text });
    endEdit();
    setInput("");
    done.catch(() => {
      if (input.value === "") setInput(text); // nothing typed is ever lost to a failure
    });
  }

  /** Every tap is sent at once, also the second of a double click: telling them apart is the bot's work. */
  async function tap(message, button, node) {
    steadyUntil = performance.now() + STEADY_MS;
    node.classList.add("is-waiting");
    const settle = () => node.classList.remove("is-waiting");
    setTimeout(settle, SPINNER_MS);
    try {
      const { callback_id: id } = await act("tap", { message_id: message.message_id, button: button.data });
      if (id === undefined || seenAcks.has(id)) settle();
      else waiting.set(id, settle);
    } catch (error) {
      settle();
      report(error);
    }
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      toast(t("copied"));
    } catch {
      toast(text);
    }
  }

  function pressReply(button) {
    if (button.contact) say("contact", { phone });
    else say("text", { text: button.text });
    input.focus({ preventScroll: true });
  }

  function startEdit(message) {
    editing = message.message_id;
    show(editBar, true);
    setInput(message.text);
    input.focus();
  }

  function endEdit() {
    if (editing === null) return;
    editing = null;
    show(editBar, false);
    setInput("");
    input.focus({ preventScroll: true });
  }

  // ---- the text box ----------------------------------------------------------------------------------------------
  function grow() {
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, MAX_INPUT_PX)}px`;
  }

  function setInput(text) {
    input.value = text;
    grow();
  }

  input.addEventListener("input", grow);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") endEdit();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });

  // ---- scrolling -------------------------------------------------------------------------------------------------
  const visible = () => log.clientHeight > 0;

  function scrollDown() {
    stick = true;
    log.scrollTop = log.scrollHeight;
    show(newer, false);
  }

  log.addEventListener("scroll", () => {
    if (!visible()) return;
    stick = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_BOTTOM_PX;
    if (stick) show(newer, false);
  });
  new ResizeObserver(() => visible() && stick && scrollDown()).observe(log);

  // ---- toasts ----------------------------------------------------------------------------------------------------
  function toast(text, tone = "plain") {
    const node = h("p", { class: "toast", dir: "auto", "data-tone": tone, "data-testid": "toast" }, text);
    toasts.append(node);
    while (toasts.childElementCount > SHOWN_TOASTS) toasts.firstElementChild.remove();
    setTimeout(() => node.remove(), TOAST_MS);
  }

  /** Answers to taps. What was answered before the page looked is history, and is not announced. */
  function showAcks(acks, fresh) {
    for (const ack of acks) {
      if (ack.chat !== chat || ack.answered_at === null || ack.answered_at === undefined || seenAcks.has(ack.callback_id)) continue;
      seenAcks.add(ack.callback_id);
      waiting.get(ack.callback_id)?.();
      waiting.delete(ack.callback_id);
      if (!fresh && ack.text) toast(ack.text, ack.alert ? "alert" : "plain");
    }
  }

  // ---- drawing ---------------------------------------------------------------------------------------------------
  const acts = { tap, copy, edit: startEdit };

  function showReplyKeys(rows) {
    show(replyKeys, rows.length > 0);
    patchList(replyKeys, rows, (_, index) => index, () => h("div", { class: "key-row" }), (node, row) =>
      patchList(node, row, (button, index) => `${index}:${button.text}`,
        (button) => h("button", { class: "reply-key", type: "button", "data-testid": "reply-button", onclick: () => pressReply(button) }, button.contact ? icon("contact") : null, h("span", { dir: "auto" }, button.text)),
        () => {}));
  }

  /** Draws the state; for a moment after a tap the messages stand still, only the answers show. */
  function update(state, { fresh }) {
    showAcks(state?.acks ?? [], fresh);
    clearTimeout(steadyTimer);
    const rest = steadyUntil - performance.now();
    if (rest > 0) steadyTimer = setTimeout(draw, rest, state, fresh);
    else draw(state, fresh);
  }

  function draw(state, fresh) {
    const messages = (state?.messages ?? []).filter((message) => !message.deleted);
    const newest = messages.at(-1)?.message_id ?? 0;
    // A person's name is theirs in any language; what the group is for is said in the reader's.
    setText(title, (chat === user && state?.title) || t(words.title));
    patchList(list, messages.slice(-SHOWN_MESSAGES), (message) => message.message_id,
      () => messageNode(), (node, message) => updateMessage(node, message, { own: message.from?.id === user, group: chat !== user, acts }));
    show(empty, messages.length === 0);
    showReplyKeys(replyRows(state?.messages ?? [], user));
    setAttr(chips, "data-invite", words.invite && messages.length === 0);
    if (visible()) {
      if (stick) scrollDown();
      else if (newest > lastSeen) show(newer, true);
      lastSeen = newest;
      onNews(0);
    } else {
      if (fresh) lastSeen = newest;
      onNews(messages.filter((message) => message.message_id > lastSeen).length);
    }
  }

  /** The pane came into sight: what is in it counts as read. */
  function looked() {
    lastSeen = Number(list.lastElementChild?.dataset.id ?? lastSeen);
    onNews(0);
    if (stick) scrollDown();
  }

  return { update, looked, toast };
}
