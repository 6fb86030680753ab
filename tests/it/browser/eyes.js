// Runs in the page before anything of its own: keeps what a person would have seen, also what is gone again by the time a
// test looks, and finds things the way a person names them.
window.eyes = {
  toasts: [],
  doubleClicks: 0,
  errors: [],

  chat: (name) => document.querySelector(`[data-testid="chat-${name}"]`),
  messages: (name) => [...eyes.chat(name).querySelectorAll('[data-testid="message"]')],
  text: (message) => message.querySelector(':scope > .bubble > [data-testid="text"]')?.textContent ?? "",
  byBot: (name) => eyes.messages(name).filter((message) => message.classList.contains("is-bot")),
  /** The newest message of the bot that says all of `parts`. */
  said: (name, ...parts) => eyes.byBot(name).findLast((message) => parts.every((part) => eyes.text(message).includes(part))),
  /** The newest control of this kind and label; a label may be its beginning. */
  key: (name, testid, label) => [...eyes.chat(name).querySelectorAll(`[data-testid="${testid}"]`)].findLast((key) => key.textContent.startsWith(label)),
  keyOf: (message, label) => [...message.querySelectorAll('[data-testid="button"]')].find((key) => key.textContent.startsWith(label)),
  answers: (name) => eyes.toasts.filter((toast) => toast.chat === `chat-${name}`).map((toast) => toast.text),

  /** Whether a person sees the middle of it: inside the window, under nothing else. */
  inSight(node) {
    const box = node.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return box.width > 0 && (node === top || node.contains(top));
  },

  /** Texts whose contrast with what lies behind them is under WCAG's 4.5 to 1. */
  pale() {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const brush = canvas.getContext("2d", { willReadFrequently: true });
    const paint = (colours) => {
      brush.clearRect(0, 0, 1, 1);
      for (const colour of colours) {
        brush.fillStyle = colour;
        brush.fillRect(0, 0, 1, 1);
      }
      return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (rgb) => {
      const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const pale = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const node = texts.currentNode.parentElement;
      if (!texts.currentNode.textContent.trim() || !node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      const behind = [];
      for (let at = node; at; at = at.parentElement) behind.unshift(getComputedStyle(at).backgroundColor);
      const [ink, ground] = [light(paint([...behind, getComputedStyle(node).color])), light(paint(behind))];
      const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
      if (contrast < 4.5) pale.push(`${contrast.toFixed(2)} ${node.className || node.tagName}: ${node.textContent.trim().slice(0, 40)}`);
    }
    return [...new Set(pale)];
  },
};

addEventListener("dblclick", () => { eyes.doubleClicks += 1; }, true);
addEventListener("error", (event) => eyes.errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => eyes.errors.push(String(event.reason)));
new MutationObserver((changes) => {
  for (const node of changes.flatMap((change) => [...change.addedNodes])) {
    if (node.matches?.('[data-testid="toast"]')) eyes.toasts.push({ chat: node.closest(".chat").dataset.testid, text: node.textContent });
  }
}).observe(document, { childList: true, subtree: true });
