// One message of a chat as DOM nodes: what kind it is, its text exactly as sent, its earlier versions, its buttons.

import { clock, lang, t } from "./i18n.js";
import { h, icon, patchList, setAttr, setText, show } from "./dom.js";

const KINDS = {
  photo: ["photo", "kindPhoto"],
  contact: ["contact", "kindContact"],
  voice: ["voice", "kindVoice"],
  sticker: ["sticker", "kindSticker"],
};

const parts = new WeakMap(); // node of a message → its inner nodes and what was drawn last

/** An empty message; `updateMessage` fills it. */
export function messageNode() {
  const who = h("p", { class: "who", dir: "auto" });
  const media = h("p", { class: "media" });
  const text = h("p", { class: "text", dir: "auto" });
  const chip = h("summary", { class: "edited" });
  const versions = h("ol", { class: "versions" });
  const edits = h("details", { class: "edits" }, chip, versions);
  const pencil = h("button", { class: "pencil", type: "button", "data-t-label": "editOwn", "data-t-title": "editOwn" }, icon("pencil"));
  const time = h("time", { class: "time" });
  const keys = h("div", { class: "keys", role: "group", "data-t-label": "messageKeys" });
  const node = h("li", { class: "message", "data-testid": "message" },
    h("div", { class: "bubble" }, who, media, text, h("div", { class: "meta" }, edits, pencil, time)), keys);
  parts.set(node, { who, media, text, chip, versions, edits, pencil, time, keys, drawn: "", message: null, acts: null });
  const own = parts.get(node);
  pencil.addEventListener("click", () => own.acts.edit(own.message));
  return node;
}

/** Makes the node show `message`; does nothing when nothing changed. */
export function updateMessage(node, message, { own, group, acts }) {
  const part = parts.get(node);
  const drawing = JSON.stringify([lang(), own, message]);
  if (part.drawn === drawing) return;
  Object.assign(part, { drawn: drawing, message, acts });

  setAttr(node, "data-id", message.message_id);
  node.classList.toggle("is-own", own);
  node.classList.toggle("is-bot", Boolean(message.from?.bot));
  offer(part.who, group && !own, "who");
  setText(part.who, message.from?.bot ? `${message.from.name} · ${t("bot")}` : message.from?.name);

  drawMedia(part.media, message);
  offer(part.text, Boolean(message.text), "text");
  drawText(part.text, message.text, message.entities ?? []);

  const at = new Date(message.at);
  setText(part.time, clock(message.at));
  setAttr(part.time, "datetime", Number.isNaN(at.getTime()) ? null : at.toISOString());
  setAttr(part.time, "title", clock(message.at, true));
  offer(part.pencil, own && (message.kind ?? "text") === "text", "edit");
  setAttr(part.pencil, "aria-label", t("editOwn"));

  drawVersions(part, message, acts);
  drawKeys(part.keys, message, message.keyboard ?? [], "button", acts);
  setAttr(part.keys, "aria-label", t("messageKeys"));
  show(part.keys, (message.keyboard ?? []).length > 0);
}

/** Shows a part under its test hook, or hides it together with the hook. */
function offer(node, visible, testid) {
  show(node, visible);
  setAttr(node, "data-testid", visible && testid);
}

const STYLES = new Set(["bold", "italic", "underline", "strikethrough", "code", "pre"]);

/** The text exactly as sent; Telegram's entities only style runs of it (their offsets count UTF-16 units, as strings here do). */
function drawText(node, text, entities) {
  const styled = entities.filter(({ type }) => STYLES.has(type));
  if (styled.length === 0) {
    setText(node, text);
    return;
  }
  const cuts = new Set([0, text.length]);
  for (const { offset, length } of styled) cuts.add(offset).add(offset + length);
  const edges = [...cuts].filter((cut) => cut >= 0 && cut <= text.length).sort((a, b) => a - b);
  node.replaceChildren(...edges.slice(1).map((end, index) => {
    const start = edges[index];
    const kinds = styled.filter(({ offset, length }) => offset <= start && end <= offset + length).map(({ type }) => type);
    const run = text.slice(start, end);
    return kinds.length > 0 ? h("span", { class: kinds.join(" ") }, run) : run;
  }));
}

function drawMedia(node, message) {
  const kind = message.kind ?? "text";
  show(node, kind !== "text");
  if (kind === "text") return;
  const [image, word] = KINDS[kind] ?? ["file", "kindOther"];
  setAttr(node, "data-kind", kind);
  const detail = message.contact ? [message.contact.name, message.contact.phone].filter(Boolean).join(", ") : "";
  node.replaceChildren(icon(image), h("span", {}, t(word)), detail && h("bdi", { class: "media-detail" }, detail));
}

/** Earlier texts, and earlier buttons that are gone from the message now: a stale phone still shows them. */
function drawVersions(part, message, acts) {
  const edits = message.edits ?? [];
  show(part.edits, edits.length > 0);
  setAttr(part.chip, "data-testid", edits.length > 0 && "edited");
  if (edits.length === 0) return;
  setText(part.chip, edits.length > 1 ? t("editedTimes", edits.length) : t("edited"));
  const kept = new Set((message.keyboard ?? []).flat().map((button) => button.data));
  const told = [];
  for (const edit of edits.toReversed()) {
    const rows = (edit.keyboard ?? []).map((row) => row.filter((button) => button.data && !kept.has(button.data))).filter((row) => row.length > 0);
    rows.flat().forEach((button) => kept.add(button.data));
    told.push({ edit, rows, text: edit.text !== message.text ? edit.text : "" });
  }
  const worth = told.filter(({ rows, text }) => text || rows.length > 0);
  patchList(part.versions, worth, ({ edit }, index) => `${edit.at}:${worth.length - index}`,
    () => h("li", { class: "version" }, h("p", { class: "version-at" }), h("p", { class: "text", dir: "auto" }), h("p", { class: "version-hint" }), h("div", { class: "keys", role: "group" })),
    (node, { edit, rows, text }) => {
      const [at, words, hint, keys] = node.children;
      setText(at, `${t("earlier")} · ${clock(edit.at)}`);
      show(words, Boolean(text));
      setText(words, text);
      show(hint, rows.length > 0);
      setText(hint, t("oldKeys"));
      setAttr(keys, "aria-label", t("oldKeys"));
      show(keys, rows.length > 0);
      drawKeys(keys, message, rows, "old-button", acts);
    });
}

function drawKeys(node, message, rows, testid, acts) {
  patchList(node, rows, (_, index) => index, () => h("div", { class: "key-row" }), (line, row) =>
    patchList(line, row, (button, index) => JSON.stringify([index, button.data, button.url, button.copy]),
      (button) => keyNode(message, button, testid, acts),
      (key, button) => setText(key.firstElementChild, button.text)));
}

/** A button is keyed by what it does: when that changes it is another button, and a held Enter does not reach it. */
function keyNode(message, button, testid, acts) {
  const label = h("span", { dir: "auto" });
  const common = { class: "key", "data-testid": testid };
  if (/^https?:\/\//i.test(button.url ?? "")) return h("a", { ...common, href: button.url, target: "_blank", rel: "noopener noreferrer" }, label);
  const node = h("button", { ...common, type: "button" }, label);
  node.addEventListener("click", () => {
    if (button.data !== undefined && button.data !== null) acts.tap(message, button, node);
    else acts.copy(String(button.copy ?? button.url ?? button.text));
  });
  return node;
}
