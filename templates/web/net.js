// Talking to the sandbox: POST with the server's own words on failure, and the state kept fresh by server-sent events.

/** The server answered, and said no; `message` is what it said. */
export class Refused extends Error {}

/**
 * POSTs JSON and returns the answer. Throws `Refused` with the server's words, or the browser's own error when there
 * was no answer.
 */
export async function post(path, body = {}) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Refused(answer?.error ?? `${response.status} ${response.statusText}`);
  return answer ?? {};
}

const FIRST_DELAY_MS = 400;
const LONGEST_DELAY_MS = 5000;
const STATE_TIMEOUT_MS = 10_000;

/**
 * Follows the sandbox. `onState(state, fresh)` gets every state, `fresh` on the first one after (re)connecting;
 * `onLink(up)` tells whether the sandbox is reachable. We reconnect ourselves: a browser gives an event stream up for
 * good after some errors, and the state has to be fetched anew anyway.
 */
export function follow(onState, onLink) {
  let source = null;
  let timer = 0;
  let delay = FIRST_DELAY_MS;
  let busy = false;
  let dirty = false;
  let fresh = true;

  function lost() {
    source?.close();
    source = null;
    fresh = true;
    onLink(false);
    clearTimeout(timer);
    timer = setTimeout(connect, delay);
    delay = Math.min(delay * 1.6, LONGEST_DELAY_MS);
  }

  async function load() {
    const response = await fetch("/sandbox/state", { cache: "no-store", signal: AbortSignal.timeout(STATE_TIMEOUT_MS) });
    if (!response.ok) throw new Error(`state: ${response.status}`);
    return response.json();
  }

  // At most one fetch at a time; whatever changes meanwhile is one more fetch, not many.
  async function refresh() {
    dirty = true;
    if (busy) return;
    busy = true;
    while (dirty) {
      dirty = false;
      let state = null;
      try {
        state = await load();
      } catch {
        lost();
        break;
      }
      delay = FIRST_DELAY_MS;
      onLink(true);
      try {
        onState(state, fresh);
      } catch (error) {
        console.error(error); // a state we cannot draw must not stop the next one
      }
      fresh = false;
    }
    busy = false;
  }

  function connect() {
    clearTimeout(timer);
    source?.close();
    source = new EventSource("/sandbox/events");
    source.addEventListener("state", refresh);
    source.addEventListener("error", lost);
  }

  function hurry() {
    if (source === null && !document.hidden) connect();
  }

  document.addEventListener("visibilitychange", hurry);
  addEventListener("online", hurry);
  connect();
}
