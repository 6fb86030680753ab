//! What this process counted since its start, and how numbers are written for Prometheus.
//!
//! Level 0, so that every module can count: `metrics::count(Counter::TapsAnswered)` is one addition on an atomic. There
//! is one registry a process. No label ever holds what a person wrote or who they are: labels come from this file.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// What is counted. The order is that of the exposition: counters of one name stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// An update was stored for the first time.
    UpdatesStored,
    /// An update had been stored before.
    UpdatesRepeated,
    /// What came was no update: it was acknowledged and dropped.
    UpdatesPoison,
    /// An update's handling was stored.
    UpdatesHandled,
    /// An update's handling failed and is tried again.
    UpdatesRetried,
    /// An update was put on the shelf.
    UpdatesShelved,
    /// A webhook request came without the right secret.
    WebhookDenied,
    /// A webhook request was answered "later": nothing could be stored.
    WebhookPutOff,
    /// A request came to a path that is nobody's.
    PathUnknown,
    /// A tap was answered.
    TapsAnswered,
    /// A tap's answer was not taken, or came too late.
    TapsUnanswered,
    /// A tap met an operation that stood already.
    TapsRepeated,
    /// A create call ended with a ticket.
    CrmCreated,
    /// A create call was refused for good.
    CrmRefused,
    /// A create call was provably not executed.
    CrmNotSent,
    /// An order of which the profile makes no request: nothing was sent.
    CrmUnfit,
    /// A create call was refused for our credentials.
    CrmAuthRefused,
    /// The CRM still worked on an earlier create call.
    CrmInFlight,
    /// The CRM knew our key without naming the ticket.
    CrmExists,
    /// Nobody knows what became of a create call.
    CrmLost,
    /// An operation became unknown.
    UnknownBegan,
    /// An operation that had been unknown ended with a ticket a search found.
    UnknownFound,
    /// The same by a repeat under its key, or by a late answer.
    UnknownAnswered,
    /// The same by staff: a number they named, or "create after all".
    UnknownByStaff,
    /// It ended without a ticket.
    UnknownRejected,
    /// A lookup found our key.
    LookFound,
    /// A lookup found nothing.
    LookMissed,
    /// A lookup proved nothing.
    LookUnsure,
    /// There is no lookup.
    LookImpossible,
    /// A message or edit was carried out.
    MessageDone,
    /// A message was surely not sent.
    MessageNotSent,
    /// A message was throttled.
    MessageThrottled,
    /// A message's group had moved.
    MessageMoved,
    /// A message's topic was closed or gone.
    MessageNoTopic,
    /// A message to edit was gone.
    MessageGone,
    /// A message's chat takes nothing from us.
    MessageChatRefused,
    /// A message's content was refused.
    MessageRowRefused,
    /// Telegram did not accept our token or server.
    MessageMisconfigured,
    /// Nobody knows what became of a message.
    MessageLost,
    /// Retention erased a row, or its personal data.
    RowsErased,
}

use Counter as C;

/// Name, help, and the counters under it with their label.
type Family = (&'static str, &'static str, &'static [(C, &'static str)]);

const FAMILIES: [Family; 17] = [
    ("zayavka_updates_stored_total", "Updates stored for the first time.", &[(C::UpdatesStored, "")]),
    ("zayavka_updates_repeated_total", "Updates skipped because they were stored before.", &[(C::UpdatesRepeated, "")]),
    (
        "zayavka_updates_poison_total",
        "Deliveries that were no update, acknowledged and dropped.",
        &[(C::UpdatesPoison, "")],
    ),
    ("zayavka_updates_handled_total", "Updates handled.", &[(C::UpdatesHandled, "")]),
    (
        "zayavka_updates_retried_total",
        "Handlings of an update that failed and are tried again.",
        &[(C::UpdatesRetried, "")],
    ),
    ("zayavka_updates_shelved_total", "Updates put on the shelf.", &[(C::UpdatesShelved, "")]),
    ("zayavka_webhook_denied_total", "Webhook requests with a wrong or without a secret.", &[(C::WebhookDenied, "")]),
    (
        "zayavka_webhook_put_off_total",
        "Webhook requests answered 503: not stored, Telegram brings them again.",
        &[(C::WebhookPutOff, "")],
    ),
    (
        "zayavka_unknown_paths_total",
        "Requests to a path that is nobody's; many of them may be Telegram at an old webhook address.",
        &[(C::PathUnknown, "")],
    ),
    (
        "zayavka_taps_total",
        "Taps by whether Telegram took their answer.",
        &[(C::TapsAnswered, "answer=\"taken\""), (C::TapsUnanswered, "answer=\"missed\"")],
    ),
    ("zayavka_taps_repeated_total", "Taps on a version that had been confirmed before.", &[(C::TapsRepeated, "")]),
    (
        "zayavka_crm_calls_total",
        "Create calls to the CRM by what they ended in.",
        &[
            (C::CrmCreated, "outcome=\"created\""),
            (C::CrmRefused, "outcome=\"refused\""),
            (C::CrmNotSent, "outcome=\"not_sent\""),
            (C::CrmUnfit, "outcome=\"unfit\""),
            (C::CrmAuthRefused, "outcome=\"auth_refused\""),
            (C::CrmInFlight, "outcome=\"in_flight\""),
            (C::CrmExists, "outcome=\"exists\""),
            (C::CrmLost, "outcome=\"lost\""),
        ],
    ),
    (
        "zayavka_unknowns_total",
        "Operations that became unknown: an answer of the CRM was lost.",
        &[(C::UnknownBegan, "")],
    ),
    (
        "zayavka_unknowns_settled_total",
        "Operations that had been unknown, by how they ended.",
        &[
            (C::UnknownFound, "how=\"found\""),
            (C::UnknownAnswered, "how=\"answered\""),
            (C::UnknownByStaff, "how=\"by_staff\""),
            (C::UnknownRejected, "how=\"rejected\""),
        ],
    ),
    (
        "zayavka_crm_lookups_total",
        "Lookups by our key in the CRM by what they ended in.",
        &[
            (C::LookFound, "outcome=\"found\""),
            (C::LookMissed, "outcome=\"missed\""),
            (C::LookUnsure, "outcome=\"unsure\""),
            (C::LookImpossible, "outcome=\"impossible\""),
        ],
    ),
    (
        "zayavka_messages_total",
        "Messages and edits sent to Telegram by what the answer proved.",
        &[
            (C::MessageDone, "verdict=\"done\""),
            (C::MessageNotSent, "verdict=\"not_sent\""),
            (C::MessageThrottled, "verdict=\"throttled\""),
            (C::MessageMoved, "verdict=\"moved\""),
            (C::MessageNoTopic, "verdict=\"no_topic\""),
            (C::MessageGone, "verdict=\"gone\""),
            (C::MessageChatRefused, "verdict=\"chat_refused\""),
            (C::MessageRowRefused, "verdict=\"row_refused\""),
            (C::MessageMisconfigured, "verdict=\"misconfigured\""),
            (C::MessageLost, "verdict=\"lost\""),
        ],
    ),
    ("zayavka_retention_rows_total", "Rows that retention erased or emptied.", &[(C::RowsErased, "")]),
];

/// How many counters there are.
const COUNTERS: usize = C::RowsErased as usize + 1;

/// Upper bounds of the buckets, milliseconds, and how they are written, seconds.
const BUCKETS: [(u64, &str); 10] = [
    (500, "0.5"),
    (1_000, "1"),
    (2_000, "2"),
    (5_000, "5"),
    (10_000, "10"),
    (30_000, "30"),
    (60_000, "60"),
    (300_000, "300"),
    (1_800_000, "1800"),
    (7_200_000, "7200"),
];

/// The numbers themselves.
struct Registry {
    counts: [AtomicU64; COUNTERS],
    /// One for each bucket and one for what is beyond the last.
    waits: [AtomicU64; BUCKETS.len() + 1],
    waited_ms: AtomicU64,
}

static PROCESS: Registry = Registry::new();

impl Registry {
    const fn new() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; COUNTERS],
            waits: [const { AtomicU64::new(0) }; BUCKETS.len() + 1],
            waited_ms: AtomicU64::new(0),
        }
    }

    fn add(&self, counter: Counter, many: usize) {
        if let Some(cell) = self.counts.get(counter as usize) {
            cell.fetch_add(u64::try_from(many).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    fn counted(&self, counter: Counter) -> u64 {
        self.counts.get(counter as usize).map_or(0, |cell| cell.load(Ordering::Relaxed))
    }

    fn ticket_after(&self, wait: Duration) {
        let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.iter().position(|(bound, _)| ms <= *bound).unwrap_or(BUCKETS.len());
        if let Some(cell) = self.waits.get(bucket) {
            cell.fetch_add(1, Ordering::Relaxed);
        }
        self.waited_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

/// Counts one.
pub fn count(counter: Counter) {
    PROCESS.add(counter, 1);
}

/// Counts several.
pub fn add(counter: Counter, many: usize) {
    PROCESS.add(counter, many);
}

/// How often it was counted since the start.
#[must_use]
pub fn counted(counter: Counter) -> u64 {
    PROCESS.counted(counter)
}

/// Notes how long it took from the tap that confirmed an operation until its ticket was stored.
pub fn ticket_after(wait: Duration) {
    PROCESS.ticket_after(wait);
}

/// A page of metrics in Prometheus' text format 0.0.4.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// The page's media type.
    pub const MEDIA_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// A page with everything this process counted.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::of(&PROCESS)
    }

    fn of(registry: &Registry) -> Self {
        let mut page = Self::default();
        for (name, help, counters) in FAMILIES {
            page.head(name, "counter", help);
            for (counter, labels) in counters {
                page.line(name, labels, registry.counted(*counter));
            }
        }
        page.waits(registry);
        page
    }

    /// Adds a gauge without labels; nothing when there is no value.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Into<Option<u64>>) {
        if let Some(value) = value.into() {
            self.head(name, "gauge", help);
            self.line(name, "", value);
        }
    }

    /// Adds a gauge with one label, a line for each of its values. The values must be words of our own.
    pub fn gauge_by<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        self.head(name, "gauge", help);
        for (word, value) in values {
            self.line(name, &format!("{label}=\"{}\"", escaped(word)), value);
        }
    }

    /// The page's text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{labels}}} {value}")
        };
    }

    fn waits(&mut self, registry: &Registry) {
        let name = "zayavka_tap_to_ticket_seconds";
        self.head(name, "histogram", "From the tap that confirmed an operation until a worker stored its ticket.");
        let mut so_far = 0;
        let bounds = BUCKETS.iter().map(|(_, bound)| *bound).chain(["+Inf"]);
        for (cell, bound) in registry.waits.iter().zip(bounds) {
            so_far += cell.load(Ordering::Relaxed);
            self.line(&format!("{name}_bucket"), &format!("le=\"{bound}\""), so_far);
        }
        let ms = registry.waited_ms.load(Ordering::Relaxed);
        self.line(&format!("{name}_sum"), "", format_args!("{}.{:03}", ms / 1_000, ms % 1_000));
        self.line(&format!("{name}_count"), "", so_far);
    }
}

/// A label's value as the format wants it.
fn escaped(word: &str) -> String {
    word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_stands_in_one_family_once_and_in_order() {
        let all: Vec<usize> =
            FAMILIES.iter().flat_map(|(_, _, counters)| counters.iter()).map(|c| c.0 as usize).collect();
        assert_eq!(all, (0..COUNTERS).collect::<Vec<_>>());
        for (name, help, counters) in FAMILIES {
            assert!(name.starts_with("zayavka_") && name.ends_with("_total") && help.ends_with('.'), "{name}");
            assert_eq!(counters.len() == 1, counters.iter().all(|(_, label)| label.is_empty()), "{name}");
        }
    }

    #[test]
    fn what_is_counted_is_on_the_page() {
        let registry = Registry::new();
        registry.add(Counter::MessageGone, 1);
        registry.add(Counter::MessageGone, 2);
        let text = Page::of(&registry).into_text();
        assert!(text.contains("zayavka_messages_total{verdict=\"gone\"} 3\n"), "{text}");
        assert!(text.contains("zayavka_updates_stored_total 0\n"), "{text}");
    }

    #[test]
    fn waits_fall_into_buckets_that_add_up() {
        let registry = Registry::new();
        for ms in [0, 500, 501, 9_000, 8_000_000] {
            registry.ticket_after(Duration::from_millis(ms));
        }
        let text = Page::of(&registry).into_text();
        let of = |line: &str| -> f64 {
            let line = text.lines().find(|found| found.starts_with(line)).unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let name = "zayavka_tap_to_ticket_seconds";
        assert_eq!(of(&format!("{name}_bucket{{le=\"0.5\"}}")), 2.0);
        assert_eq!(of(&format!("{name}_bucket{{le=\"1\"}}")), 3.0);
        assert_eq!(of(&format!("{name}_bucket{{le=\"7200\"}}")), 4.0);
        assert_eq!(of(&format!("{name}_bucket{{le=\"+Inf\"}}")), 5.0);
        assert_eq!((of(&format!("{name}_count")), of(&format!("{name}_sum"))), (5.0, 8_010.001));
    }

    #[test]
    fn a_gauge_has_its_head_and_odd_words_do_not_break_the_page() {
        let mut page = Page::default();
        page.gauge("zayavka_x_seconds", "X.", 7);
        page.gauge("zayavka_absent", "Absent.", None);
        page.gauge_by("zayavka_y", "Y.", "state", [("a\"\n\\", 1)]);
        let wanted = "# HELP zayavka_x_seconds X.\n# TYPE zayavka_x_seconds gauge\nzayavka_x_seconds 7\n\
            # HELP zayavka_y Y.\n# TYPE zayavka_y gauge\nzayavka_y{state=\"a\\\"\\n\\\\\"} 1\n";
        assert_eq!(page.into_text(), wanted);
    }
}
