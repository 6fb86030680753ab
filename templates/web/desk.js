// The right-hand side: the count that matters, the CRM's tickets, the faults a visitor switches on, and the process that
// can be killed.

import { clock, t } from "./i18n.js";
import { h, icon, patchList, setAttr, setText, show } from "./dom.js";
import { Refused, post } from "./net.js";

/** The switches in the order they are shown; the names are the control API's. */
export const SWITCHES = ["crm_lose_answer", "crm_down", "crm_500_after_create", "crm_blind_lookup", "telegram_lose_answer", "deliver_twice"];

const SHOWN_TICKETS = 200;
const byId = (id) => document.getElementById(id);

/** Tickets beyond the first for the same request of ours: what this whole project is there to prevent. */
function twins(tickets) {
  const keys = tickets.map((ticket) => ticket.external_id || ticket.marker).filter(Boolean);
  return keys.length - new Set(keys).size;
}

function failure(error) {
  return t("failed", error instanceof Refused ? error.message : t("noAnswer"));
}

function ticketNode() {
  const fact = (name) => [h("dt", {}, ""), h("dd", { class: name, dir: "auto" })];
  return h("li", {},
    h("details", { class: "ticket", "data-testid": "ticket-row" },
      h("summary", {},
        h("span", { class: "ticket-number", "data-testid": "ticket-number" }),
        h("span", { class: "ticket-marker mono", "data-testid": "ticket-marker" }),
        h("time", { class: "time" }),
        h("span", { class: "ticket-subject", dir: "auto", "data-testid": "ticket-subject" })),
      h("dl", { class: "facts" }, ...fact("f-contact"), ...fact("text f-body"), ...fact("text mono f-fields"), ...fact("mono f-key"))));
}

function updateTicket(node, ticket) {
  const [number, marker, time, subject] = node.querySelector("summary").children;
  setText(number, t("number", ticket.number));
  setText(marker, ticket.marker ?? "");
  setText(time, clock(ticket.at));
  setText(subject, ticket.subject);
  const fields = Object.entries(ticket.fields ?? {}).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  const contact = Object.values(ticket.contact ?? {}).filter(Boolean);
  const facts = [["contact", contact.join(" · ")], ["body", ticket.body], ["fields", fields.join("\n")], ["key", ticket.key ?? ticket.external_id]];
  const cells = node.querySelector("dl").children;
  facts.forEach(([word, value], index) => {
    setText(cells[index * 2], t(word));
    setText(cells[index * 2 + 1], value ?? "");
    show(cells[index * 2], Boolean(value));
    show(cells[index * 2 + 1], Boolean(value));
  });
}

/** Builds the desk into the page's own markup. */
export function createDesk() {
  const wanted = new Map(); // switches on their way to the server
  let last = null;
  let busy = false;
  let note = null;
  let shown = null;

  // ---- switches --------------------------------------------------------------------------------------------------
  const nodes = new Map(SWITCHES.map((name) => {
    const node = h("button", { class: "switch", type: "button", role: "switch", "aria-checked": "false", "data-testid": `switch-${name}`, "aria-labelledby": `sw-${name}`, "aria-describedby": `sw-${name}-text`, onclick: () => flip(name) },
      h("span", { class: "switch-words" },
        h("span", { class: "switch-name", id: `sw-${name}`, "data-t": name }),
        h("span", { class: "switch-text", id: `sw-${name}-text`, "data-t": `${name}Text` })),
      h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "thumb" })));
    return [name, node];
  }));
  byId("switches").append(...nodes.values());

  async function flip(name) {
    const on = nodes.get(name).getAttribute("aria-checked") !== "true";
    wanted.set(name, on);
    setText(byId("faults-note"), "");
    drawSwitches();
    try {
      await post("/sandbox/switches", { name, on });
      if (last?.switches) last.switches[name] = on; // true now; the next state says the same
    } catch (error) {
      setText(byId("faults-note"), failure(error));
    }
    if (wanted.get(name) === on) wanted.delete(name);
    drawSwitches();
  }

  function drawSwitches() {
    let count = 0;
    for (const [name, node] of nodes) {
      const on = wanted.get(name) ?? Boolean(last?.switches?.[name]);
      if (on) count += 1;
      setAttr(node, "aria-checked", on ? "true" : "false");
    }
    show(byId("faults-on"), count > 0);
    setText(byId("faults-on"), count > 0 ? t("faultsOn", count) : "");
    setAttr(byId("tab-crm"), "data-faults", count > 0);
  }

  // ---- the process -----------------------------------------------------------------------------------------------
  byId("kill").addEventListener("click", async () => {
    if (busy) return;
    const what = last?.service?.running === false ? "start" : "restart";
    busy = true;
    note = null;
    drawService();
    try {
      await post("/sandbox/service", { do: what });
      note = { key: what === "start" ? "started" : "killed" };
    } catch (error) {
      note = { error };
    }
    busy = false;
    drawService();
  });

  function drawService() {
    const service = last?.service;
    show(byId("service"), Boolean(service));
    if (!service) return;
    setText(byId("service-note"), note?.error ? failure(note.error) : note ? t(note.key) : "");
    setAttr(byId("service-note"), "data-bad", Boolean(note?.error));
    setAttr(byId("service"), "data-state", busy ? "busy" : service.running ? "up" : "down");
    setText(byId("service-state"), busy ? t("restarting") : t(service.running ? "running" : "stopped"));
    setText(byId("service-pid"), service.running && service.pid ? t("pid", service.pid) : "");
    setText(byId("service-restarts"), t("restarts", service.restarts ?? 0));
    setText(killText, t(service.running || busy ? "kill" : "start"));
    setAttr(byId("kill"), "aria-busy", busy ? "true" : null);
  }

  const killText = h("span");
  byId("kill").append(icon("power"), killText);

  // ---- tickets and the wire --------------------------------------------------------------------------------------
  function drawTickets() {
    const tickets = last?.tickets ?? [];
    const count = last?.count ?? tickets.length;
    const doubled = twins(tickets);
    setText(byId("count"), count);
    setText(byId("twins"), count === 0 ? t("countZero") : doubled === 0 ? t("twinsNone") : t("twins", doubled));
    setAttr(byId("twins"), "data-tone", count === 0 ? "quiet" : doubled === 0 ? "good" : "bad");
    if (shown !== null && shown !== count) pulse(byId("count"));
    shown = count;
    document.title = count > 0 ? `(${count}) ${t("title")}` : t("title");
    show(byId("tickets-empty"), tickets.length === 0);
    patchList(byId("tickets"), tickets.slice(-SHOWN_TICKETS).toReversed(), (ticket) => ticket.number, ticketNode, updateTicket);
  }

  function drawWire() {
    const lines = (last?.log ?? []).map((line, index) => ({ ...line, index })).toReversed();
    const pending = last?.pending_updates ?? 0;
    setText(byId("pending"), pending > 0 ? t("pending", pending) : "");
    show(byId("wire-empty"), lines.length === 0);
    if (!byId("wire").open) return;
    patchList(byId("wire-lines"), lines, (_, index) => index,
      () => h("li", {}, h("span", { class: "wire-source" }), h("span", { class: "wire-text" })),
      (node, line) => {
        setAttr(node, "data-source", line.source);
        setText(node.children[0], line.source === "crm" ? "CRM" : "TG");
        setText(node.children[1], line.line);
      });
  }

  byId("wire").addEventListener("toggle", drawWire);

  function pulse(node) {
    node.classList.remove("is-new");
    void node.offsetWidth; // restarts the animation
    node.classList.add("is-new");
  }

  function update(state = last) {
    last = state;
    drawTickets();
    drawSwitches();
    drawService();
    drawWire();
  }

  return { update };
}
