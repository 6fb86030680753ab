//! Everything the page shows, in one answer.

use serde_json::{Value, json};

use super::super::{CLIENTS, Outside, switches};

/// How many taps and log lines it shows.
const ACKS: usize = 50;
const LINES: usize = 30;

/// The page's whole state.
pub(super) fn json(world: &Outside) -> Value {
    // Read first: a change during the reading is then announced with a later number, never missed.
    let seq = world.changes.seq();
    let shown: Vec<_> = CLIENTS.into_iter().chain([world.staff_chat]).collect();
    let (chats, acks, pending, mut lines) = world.bot_api.read(|book, now| {
        let lines = book.log.lines("telegram", "getUpdates", LINES);
        (book.chats.view(&shown), book.taps.json(ACKS, now), book.queue.len(now), lines)
    });
    lines.extend(world.crm.log_lines(LINES));
    lines.sort_by_key(|(at, _)| *at);
    let lines: Vec<_> = lines.split_off(lines.len().saturating_sub(LINES)).into_iter().map(|(_, line)| line).collect();
    let mut state = world.crm.tickets_json();
    state["seq"] = json!(seq);
    state["chats"] = chats;
    state["acks"] = acks;
    state["crm"] = world.crm.options_json();
    state["switches"] = switches::json(world);
    state["service"] = service(world);
    state["pending_updates"] = json!(pending);
    state["log"] = json!(lines);
    state
}

/// The service's process, null where there is none.
pub(super) fn service(world: &Outside) -> Value {
    world.service.as_ref().map_or(Value::Null, |service| {
        let status = service.status();
        json!({ "running": status.running, "pid": status.pid, "restarts": status.restarts })
    })
}
