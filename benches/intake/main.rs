//! The speed table of intake: every update stored once and applied once, how fast, beside what else the machine could do.
//!
//! ```text
//! cargo bench --bench intake                       the whole run: five rounds, at most 12 minutes
//! cargo bench --bench intake -- --history 10000000 the same over ten million operations
//! cargo bench --bench intake -- --only HTTP        one stage, for whoever works on it
//! cargo test --bench intake -- --short             one small round
//! ```
//!
//! Every line is a ratio to a baseline measured in the same round on the same machine, or a count. The run fails when a
//! line cannot be measured or a count is wrong, never by how fast the machine is. See docs/performance.md.
#![expect(clippy::expect_used, reason = "a benchmark that cannot measure must stop, with the reason")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures the machine's own time")]
#![expect(unreachable_pub, reason = "a program has no outside; `pub` here means beyond its own file")]

mod door;
mod flow;
mod growth;
mod http;
mod load;
mod measure;
mod mould;
mod outside;
mod place;
mod plain;
mod replicas;
mod report;
mod route;
#[path = "../../tests/it/databases/server.rs"]
mod server;
mod service;
mod weight;

use std::{
    env,
    panic::AssertUnwindSafe,
    process::ExitCode,
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use tokio::time::timeout;

use crate::{flow::Queues, growth::Histories, place::Ground, report::Report};

/// How much of everything.
#[derive(Debug, Clone)]
pub(crate) struct Sizes {
    rounds: usize,
    /// Everything together may take so long, and one stage of a round.
    limit: Duration,
    stage_limit: Duration,
    /// Only stages whose name holds this.
    only: String,
    /// Updates at the route in this process.
    pub(crate) taps: usize,
    /// Updates over HTTP, and those of the plain bot, which is slow.
    pub(crate) requests: usize,
    pub(crate) plain_requests: usize,
    /// How long latency is looked at, seconds.
    pub(crate) seconds: f64,
    /// People who tap in one run of the whole service, and how many a second.
    pub(crate) people: usize,
    pub(crate) rate: f64,
    pub(crate) taps_on_one_button: usize,
    /// Operations in the queue, where there is one.
    pub(crate) queued: u64,
    /// Operations in the long history.
    pub(crate) history: u64,
    /// How often each act is timed over it in a round.
    pub(crate) acts: usize,
    pub(crate) queued_for_replicas: u64,
    /// How long a process comes to rest before it is weighed, seconds.
    pub(crate) rest: f64,
}

const WHOLE: Sizes = Sizes {
    rounds: 5,
    limit: Duration::from_secs(12 * 60),
    stage_limit: Duration::from_secs(120),
    only: String::new(),
    taps: 20_000,
    requests: 20_000,
    plain_requests: 2_000,
    seconds: 2.0,
    people: 400,
    rate: 80.0,
    taps_on_one_button: 1_000,
    queued: 100_000,
    history: 1_000_000,
    acts: 60,
    queued_for_replicas: 1_500,
    rest: 2.0,
};

/// Without optimisation, too: every line once, for whether it can be measured and is right. It takes less than a minute
/// where nothing else runs; the limit only ends what hangs.
const SHORT: Sizes = Sizes {
    rounds: 1,
    limit: Duration::from_secs(240),
    stage_limit: Duration::from_secs(120),
    only: String::new(),
    taps: 1_000,
    requests: 1_000,
    plain_requests: 200,
    seconds: 0.5,
    people: 30,
    rate: 20.0,
    taps_on_one_button: 300,
    queued: 5_000,
    history: 5_000,
    acts: 5,
    queued_for_replicas: 100,
    rest: 0.5,
};

#[tokio::main]
async fn main() -> ExitCode {
    if env::args().nth(1).as_deref() == Some("plain-bot") {
        plain::process().await;
        return ExitCode::SUCCESS;
    }
    match sizes(env::args().skip(1)) {
        Ok(sizes) => run(sizes).await,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::from(2)
        }
    }
}

fn sizes(args: impl Iterator<Item = String>) -> Result<Sizes, String> {
    let (mut args, mut short, mut history, mut rounds, mut only) = (args, false, None, None, String::new());
    let number = |given: Option<String>, of: &str| {
        given.and_then(|given| given.parse().ok()).ok_or_else(|| format!("{of} needs a number"))
    };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--short" => short = true,
            "--history" => history = Some(number(args.next(), "--history")?),
            "--rounds" => rounds = Some(number(args.next(), "--rounds")?),
            "--only" => only = args.next().ok_or("--only needs words of a stage's name")?,
            // Said by cargo.
            "--bench" => {}
            other => {
                return Err(format!(
                    "unknown argument: {other} (known: --short, --history N, --rounds N, --only WORDS)"
                ));
            }
        }
    }
    let mut sizes = if short { SHORT } else { WHOLE };
    sizes.only = only;
    sizes.history = history.unwrap_or(sizes.history).max(1_000);
    sizes.rounds = rounds.map_or(sizes.rounds, |rounds: u64| usize::try_from(rounds).unwrap_or(1).max(1));
    Ok(sizes)
}

async fn run(sizes: Sizes) -> ExitCode {
    let began = Instant::now();
    let (rounds, limit) = (sizes.rounds, sizes.limit);
    println!("{}", measure::machine(std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))));
    println!("{sizes:?}");
    let ground = Ground::new(sizes).await;
    let mut report = Report::default();
    let whole = timeout(limit, all(&ground, &mut report, began)).await;
    if whole.is_err() {
        report.fault(format!("the run was cut off after {} s", limit.as_secs()));
    }
    let (table, well) = report.close(rounds, !ground.sizes.only.is_empty());
    println!("\n{table}\n{} s", began.elapsed().as_secs());
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn all(ground: &Ground, report: &mut Report, began: Instant) {
    let queues = Queues::make(ground).await;
    let mut histories = Histories::make(ground, ground.sizes.rounds).await;
    println!("prepared within {} s", began.elapsed().as_secs());
    for round in 1..=ground.sizes.rounds {
        let flush = measure::fsync(ground.folder(), 200);
        println!("\nround {round}  one flush takes {:.2} ms, at {} s", measure::ms(flush), began.elapsed().as_secs());
        // One that fails or hangs is a fault of the run and keeps the others from nothing.
        macro_rules! stage {
            ($name:literal, $stage:expr) => {
                if $name.contains(&ground.sizes.only) {
                    let stage = AssertUnwindSafe($stage).catch_unwind();
                    match timeout(ground.sizes.stage_limit, stage).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) => report.fault(format!("round {round}: {} could not be measured", $name)),
                        Err(_) => report.fault(format!("round {round}: {} took too long", $name)),
                    }
                }
            };
        }
        stage!("the route on SQLite", route::sqlite(ground, report, round));
        stage!("the route on PostgreSQL", route::postgres(ground, report, round));
        stage!("HTTP", http::measure(ground, report, round));
        stage!("CPU", flow::cpu(ground, report, round));
        stage!("trouble of the CRM", flow::crm(ground, report, round));
        stage!("a queue", flow::queued(ground, &queues, report, round));
        stage!("a long history", growth::measure(ground, &mut histories, report, round));
        stage!("one button", flow::one_button(ground, report, round));
        stage!("weight and start", weight::measure(ground, &queues, report, round));
        stage!("replicas", replicas::measure(ground, report, round));
        stage!("wake-ups", replicas::wake_ups(ground, report, round));
    }
}
