//! The table: what each line demands, what each round measured, and the medians of the rounds.

use std::collections::BTreeMap;

/// A line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Line {
    RouteSqlite,
    BatchSqlite,
    RoutePostgres,
    Http,
    PlainBot,
    Cpu,
    Latency,
    CrmDown,
    CrmHanging,
    CrmSlow,
    Queued,
    NewTap,
    RepeatTap,
    Claim,
    QueuePage,
    ButtonSqlite,
    ButtonPostgres,
    IdleMemory,
    QueuedMemory,
    ColdStart,
    Restart,
    Replicas,
    WakeUps,
}

/// What a line demands.
pub(crate) struct Demand {
    pub(crate) line: Line,
    what: &'static str,
    unit: &'static str,
    /// Whether more is better.
    more: bool,
    must: f64,
    aim: f64,
}

const fn least(line: Line, what: &'static str, must: f64, aim: f64) -> Demand {
    Demand { line, what, unit: "", more: true, must, aim }
}

const fn most(line: Line, what: &'static str, unit: &'static str, must: f64, aim: f64) -> Demand {
    Demand { line, what, unit, more: false, must, aim }
}

/// Every line, in the table's order.
pub(crate) const DEMANDS: &[Demand] = &[
    least(Line::RouteSqlite, "taps/s at the route ÷ raw group commit, SQLite", 0.30, 0.50),
    least(Line::BatchSqlite, "the same in batches of 100", 0.60, 0.80),
    least(Line::RoutePostgres, "taps/s at the route ÷ raw 64-row statements, PostgreSQL", 0.50, 0.75),
    least(Line::Http, "durable taps/s over HTTP ÷ null handler", 0.50, 0.80),
    least(Line::PlainBot, "durable taps/s over HTTP ÷ plain bot", 8.0, 20.0),
    most(Line::Cpu, "CPU per tap, whole flow ÷ plain bot", "", 1.0, 0.5),
    most(Line::Latency, "tap → 200 at a tenth of saturation, p50 above null", "fsyncs", 3.0, 2.0),
    most(Line::CrmDown, "tap → answer p99: CRM down ÷ well", "", 1.10, 1.03),
    most(Line::CrmHanging, "tap → answer p99: CRM hanging ÷ well", "", 1.10, 1.03),
    most(Line::CrmSlow, "tap → answer p99: CRM slow ÷ well", "", 1.10, 1.03),
    most(Line::Queued, "tap → answer p99: 100,000 queued ÷ none", "", 1.15, 1.05),
    most(Line::NewTap, "many operations ÷ 1 thousand, p50: new tap", "", 1.15, 1.05),
    most(Line::RepeatTap, "many operations ÷ 1 thousand, p50: repeat tap", "", 1.15, 1.05),
    most(Line::Claim, "many operations ÷ 1 thousand, p50: claim", "", 1.15, 1.05),
    most(Line::QueuePage, "many operations ÷ 1 thousand, p50: queue page", "", 1.15, 1.05),
    most(Line::ButtonSqlite, "1,000 simultaneous taps on one button, SQLite", "tickets", 1.0, 1.0),
    most(Line::ButtonPostgres, "1,000 simultaneous taps on one button, PostgreSQL", "tickets", 1.0, 1.0),
    most(Line::IdleMemory, "idle memory", "MiB", 30.0, 15.0),
    most(Line::QueuedMemory, "memory per queued operation", "B", 64.0, 0.0),
    most(Line::ColdStart, "cold start to the first durable 200", "ms", 300.0, 100.0),
    most(Line::Restart, "kill -9 with 100,000 queued, start to the first CRM call", "ms", 2000.0, 300.0),
    least(Line::Replicas, "three replicas ÷ one, equal total workers, PostgreSQL", 0.90, 1.0),
    least(Line::WakeUps, "PostgreSQL commits/s, wake-ups on ÷ off", 0.90, 0.97),
];

fn demand(line: Line) -> &'static Demand {
    DEMANDS.iter().find(|demand| demand.line == line).expect("every line has its demand")
}

/// All that was measured.
#[derive(Default)]
pub(crate) struct Report {
    figures: BTreeMap<Line, Vec<f64>>,
    /// Lines that could not be measured in some round, and why.
    missed: BTreeMap<Line, String>,
    /// What must not be: two tickets where there should be one.
    wrong: Vec<String>,
}

impl Report {
    /// One round's figure, with the raw values it was made of. Shown at once.
    pub(crate) fn add(&mut self, round: usize, line: Line, value: f64, raw: &str) {
        let Demand { what, unit, .. } = demand(line);
        println!("round {round}  {what}: {} {unit}  [{raw}]", shown(value));
        self.figures.entry(line).or_default().push(value);
    }

    /// Lines that could not be measured in this round. Whichever of them has a figure of it already keeps that.
    pub(crate) fn missed(&mut self, round: usize, lines: &[Line], why: &str) {
        for line in lines {
            if self.figures.get(line).map_or(0, Vec::len) < round {
                println!("round {round}  {}: not measured: {why}", demand(*line).what);
                self.missed.insert(*line, why.to_owned());
            }
        }
    }

    /// A count that must not be.
    pub(crate) fn wrong(&mut self, what: String) {
        println!("WRONG  {what}");
        self.wrong.push(what);
    }

    /// The table, and whether every count is right. `some`: only some stages were asked for.
    pub(crate) fn close(self, some: bool) -> (String, bool) {
        let mut table =
            String::from("| what | must | aim | median | worst | rounds | |\n|---|---|---|---|---|---|---|\n");
        for Demand { line, what, unit, more, must, aim } in DEMANDS {
            let missed = self.missed.get(line).map(|why| format!("not measured: {why}"));
            let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
            let Some(values) = self.figures.get(line) else {
                if missed.is_some() || !some {
                    let why = missed.unwrap_or_else(|| "not measured: no time was left for it".to_owned());
                    table.push_str(&format!("| {what} | {must}{unit} | {aim} | – | – | 0 | {why} |\n"));
                }
                continue;
            };
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let median = sorted[sorted.len() / 2];
            let worst = if *more { sorted[0] } else { sorted[sorted.len() - 1] };
            let (must_ok, aim_ok) =
                if *more { (median >= *must, median >= *aim) } else { (median <= *must, median <= *aim) };
            let verdict = match (aim_ok, must_ok) {
                (true, _) => "aim",
                (false, true) => "must",
                (false, false) => "misses",
            };
            let missed = missed.map(|why| format!("; one round {why}")).unwrap_or_default();
            let (median, worst, count) = (shown(median), shown(worst), values.len());
            table.push_str(&format!(
                "| {what} | {must}{unit} | {aim} | {median}{unit} | {worst} | {count} | {verdict}{missed} |\n"
            ));
        }
        for wrong in &self.wrong {
            table.push_str(&format!("WRONG: {wrong}\n"));
        }
        (table, self.wrong.is_empty())
    }
}

fn shown(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
