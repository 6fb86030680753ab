// Puts the page together: language, theme, tabs, three chats and the desk, and the stream that keeps them fresh.

import { createChat } from "./chat.js";
import { createDesk } from "./desk.js";
import { icon, setAttr, setText, show } from "./dom.js";
import { lang, t, translate } from "./i18n.js";
import { follow } from "./net.js";

const STAFF_CHAT = -1001000000001;
const STAFF_USER = 9001;
const CLIENT_SHORTCUTS = [
  { text: "/start", path: "start", testid: "start" },
  { text: "/status", path: "text", body: { text: "/status" }, testid: "status" },
];
const STAFF_SHORTCUTS = [{ text: "/queue", path: "text", body: { text: "/queue" }, testid: "queue" }];
const BANNER_DELAY_MS = 900; // a blink of the connection is not news
const BACK_MS = 2500;
const GUIDE_HEIGHT_PX = 760; // below that the chats need the room more

const byId = (id) => document.getElementById(id);
const root = document.documentElement;

function remember(key, value) {
  try {
    localStorage.setItem(`zayavka.${key}`, value);
  } catch {
    // storage may be forbidden: then the choice lasts until the page is closed
  }
}

function recall(key) {
  try {
    return localStorage.getItem(`zayavka.${key}`);
  } catch {
    return null;
  }
}

// ---- the parts ---------------------------------------------------------------------------------------------------
const chats = [
  { tab: "a", chat: 101, user: 101, phone: "+79991234567", shortcuts: CLIENT_SHORTCUTS, words: { initial: "А", title: "chatA", role: "roleA", input: "inputLabelA", empty: "emptyClient", invite: true } },
  { tab: "b", chat: 102, user: 102, phone: "+79997654321", shortcuts: CLIENT_SHORTCUTS, words: { initial: "Б", title: "chatB", role: "roleB", input: "inputLabelB", empty: "emptyClient", invite: true } },
  { tab: "staff", chat: STAFF_CHAT, user: STAFF_USER, phone: "", shortcuts: STAFF_SHORTCUTS, words: { initial: "С", title: "chatStaff", role: "roleStaff", input: "inputLabelStaff", empty: "emptyStaff" } },
].map((spec) => ({ ...spec, view: createChat({ ...spec, root: byId(`pane-${spec.tab}`), onNews: (count) => badge(spec.tab, count) }) }));
const desk = createDesk();
let state = null;

function draw(fresh = false) {
  if (state === null) return;
  for (const { chat, view } of chats) view.update({ ...state.chats?.[chat], acks: state.acks }, { fresh });
  desk.update(state);
}

// ---- language and theme ------------------------------------------------------------------------------------------
function drawPreferences() {
  translate(document);
  const dark = root.dataset.theme === "dark";
  const theme = byId("theme");
  theme.replaceChildren(icon(dark ? "sun" : "moon"));
  setAttr(theme, "aria-label", t(dark ? "themeToLight" : "themeToDark"));
  setAttr(theme, "title", t(dark ? "themeToLight" : "themeToDark"));
  drawLink();
}

byId("lang").addEventListener("click", () => {
  root.lang = lang() === "ru" ? "en" : "ru";
  remember("lang", root.lang);
  drawPreferences();
  draw();
  if (state === null) desk.update(undefined);
});

byId("theme").addEventListener("click", () => {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  remember("theme", root.dataset.theme);
  drawPreferences();
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({ matches }) => {
  if (recall("theme") !== null) return;
  root.dataset.theme = matches ? "dark" : "light";
  drawPreferences();
});

// ---- tabs: all panes side by side when there is room, one at a time when there is not -----------------------------
const tabs = [...byId("tabs").querySelectorAll("[role=tab]")];
const narrow = matchMedia("(max-width: 1279px)");
const phone = matchMedia("(max-width: 767px)");

function choose(name, focus = false) {
  document.body.dataset.tab = name;
  for (const tab of tabs) {
    const chosen = tab.dataset.tab === name;
    setAttr(tab, "aria-selected", chosen ? "true" : "false");
    setAttr(tab, "tabindex", chosen ? "0" : "-1");
    if (chosen && focus) tab.focus();
  }
  chats.find(({ tab }) => tab === name)?.view.looked();
}

function fitTabs() {
  for (const tab of tabs) {
    const tabbed = tab.dataset.tab === "crm" ? phone.matches : narrow.matches;
    setAttr(byId(tab.getAttribute("aria-controls")), "role", tabbed ? "tabpanel" : null);
  }
  if (!phone.matches && document.body.dataset.tab === "crm") choose("a");
}

function badge(name, count) {
  const tab = byId(`tab-${name}`);
  setAttr(tab, "data-unread", count > 0 ? (count > 99 ? "99+" : count) : null);
  setAttr(tab, "aria-description", count > 0 ? t("unread", count) : null);
}

byId("tabs").addEventListener("click", (event) => {
  const tab = event.target.closest("[role=tab]");
  if (tab) choose(tab.dataset.tab);
});
byId("tabs").addEventListener("keydown", (event) => {
  const reachable = tabs.filter((tab) => tab.offsetParent !== null);
  const at = reachable.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: reachable.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  choose(reachable[(to + reachable.length) % reachable.length].dataset.tab, true);
});
narrow.addEventListener("change", fitTabs);
phone.addEventListener("change", fitTabs);

// The skip link works from any tab.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  if (narrow.matches) choose("a");
  byId("input-101").focus();
});

// ---- the guide: open at first sight where there is room, afterwards as the visitor left it -------------------------
const guide = byId("guide");
guide.open = recall("guide") === null ? !phone.matches && innerHeight >= GUIDE_HEIGHT_PX : recall("guide") === "open";
guide.querySelector("summary").addEventListener("click", () => remember("guide", guide.open ? "closed" : "open"));

// ---- the connection ----------------------------------------------------------------------------------------------
let up = null; // not known yet
let bannerTimer = 0;

function drawLink() {
  setAttr(byId("banner"), "data-up", up ? "yes" : "no");
  setAttr(byId("link"), "data-up", up ? "yes" : "no");
  byId("link-text").dataset.t = up ? "linkUp" : "linkDown";
  setText(byId("link-text"), t(up ? "linkUp" : "linkDown"));
  if (!byId("banner").hidden) setText(byId("banner"), t(up ? "bannerBack" : "banner"));
}

function onLink(now) {
  if (now === up) return;
  up = now;
  clearTimeout(bannerTimer);
  const banner = byId("banner");
  if (!up) bannerTimer = setTimeout(() => setBanner(true), BANNER_DELAY_MS);
  else if (!banner.hidden) bannerTimer = setTimeout(() => setBanner(false), BACK_MS);
  drawLink();
}

function setBanner(visible) {
  setText(byId("banner"), visible ? t("banner") : "");
  show(byId("banner"), visible);
}

drawPreferences();
choose("a");
fitTabs();
follow((next, fresh) => {
  state = next;
  draw(fresh);
}, onLink);
