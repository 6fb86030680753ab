// The page's whole "framework": make an element, patch an element, patch a keyed list. Patching keeps the
// nodes that stay, so focus, scroll position, open <details> and typed text survive every new state.
// Text only ever enters through textContent; nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Stroke paths on a 24 × 24 grid. */
const ICONS = {
  send: "M12 19V5M5.5 11.5 12 5l6.5 6.5",
  photo: "M4 6.5A1.5 1.5 0 0 1 5.5 5h13A1.5 1.5 0 0 1 20 6.5v11a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 4 17.5zM4.5 16.5l4.5-5 3.5 4 2.5-2.5 4.5 4M15.5 9.2v.1",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4",
  moon: "M19.5 14.2A8 8 0 0 1 9.8 4.5a8 8 0 1 0 9.7 9.7z",
  power: "M12 3.5v8M7 6.7a7.5 7.5 0 1 0 10 0",
  down: "M12 5v14M5.5 12.5 12 19l6.5-6.5",
  close: "M6 6l12 12M18 6 6 18",
  pencil: "M4 20l1-4.5L16 4.5l3.5 3.5L8.5 19z",
  contact: "M12 5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7M5 20c.6-3.6 3.4-5.5 7-5.5s6.4 1.9 7 5.5",
  voice: "M12 4v16M8 8v8M16 8v8M4 11v2M20 11v2",
  sticker: "M5 5h14v8l-6 6H5zM13 19v-6h6",
  file: "M6 3.5h8l4 4v13H6zM14 3.5v4h4",
};

/** An icon drawn with DOM calls; decorative, the control around it carries the name. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name] ?? "");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return svg;
}

/** `h("button", {class: "x", type: "button", onclick: f}, "text", node)`: properties that are functions become listeners. */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else setAttr(node, name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Sets or removes (`null`, `false`) an attribute, touching the DOM only on a change. */
export function setAttr(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value === true ? "" : String(value));
}

/** Sets the text, touching the DOM only on a change (a live region speaks on every touch). */
export function setText(node, text) {
  const words = String(text ?? "");
  if (node.textContent !== words) node.textContent = words;
}

/** Shows or hides. */
export function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

const lists = new WeakMap();

/**
 * Makes `parent`'s children be the items, in order. A node lives as long as its key. Nodes in place are never moved, and
 * when the focused node goes away, focus goes to the nearest `[data-focus-home]` instead of to the top of the page.
 */
export function patchList(parent, items, keyOf, create, update) {
  const old = lists.get(parent) ?? new Map();
  const next = new Map();
  items.forEach((item, index) => {
    const key = keyOf(item, index);
    const node = old.get(key) ?? create(item, index);
    update(node, item, index);
    next.set(key, node);
  });
  for (const [key, node] of old) {
    if (next.has(key)) continue;
    const focused = node.contains(document.activeElement);
    node.remove();
    if (focused) parent.closest("[data-focus-home]")?.focus({ preventScroll: true });
  }
  let place = parent.firstChild;
  for (const node of next.values()) {
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
  lists.set(parent, next);
}
