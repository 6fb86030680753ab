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
//! count is wrong, never by how fast the machine is; what could not be measured says why. See docs/performance.md.
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
mod watch;
mod weight;

use std::{
    env,
    process::ExitCode,
    time::{Duration, Instant},
};

use crate::{
    flow::Queues,
    growth::Histories,
    place::Ground,
    report::{Line, Report},
    watch::Watch,
};

/// How much of everything.
#[derive(Debug, Clone)]
pub(crate) struct Sizes {
    pub(crate) rounds: usize,
    /// Everything together may take so long, and one stage of a round.
    pub(crate) limit: Duration,
    pub(crate) stage_limit: Duration,
    /// How long anything that is waited for may take.
    pub(crate) answers_within: Duration,
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
    answers_within: Duration::from_secs(50),
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
    stage_limit: Duration::from_secs(60),
    answers_within: Duration::from_secs(25),
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
    println!("{}", measure::machine(std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))));
    println!("{sizes:?}");
    let ground = Ground::new(sizes).await;
    let mut report = Report::default();
    let mut watch = Watch::new(began, &ground.sizes);
    all(&ground, &mut report, &mut watch).await;
    let (table, well) = report.close(!ground.sizes.only.is_empty());
    println!("\n{table}\n{} s", began.elapsed().as_secs());
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn all(ground: &Ground, report: &mut Report, watch: &mut Watch) {
    use Line::{
        BatchSqlite, ButtonPostgres, ButtonSqlite, Claim, ColdStart, Cpu, CrmDown, CrmHanging, CrmSlow, Http,
        IdleMemory, Latency, NewTap, PlainBot, QueuePage, Queued, QueuedMemory, RepeatTap, Replicas, Restart,
        RoutePostgres, RouteSqlite, WakeUps,
    };
    let is_asked = |stage: &str| stage.contains(&ground.sizes.only);
    let (mut queues, mut histories) = (None, None);
    if is_asked("a queue") || is_asked("weight and start") {
        let making = async { queues = Some(Queues::make(ground).await) };
        if let Some(why) = watch.watched("the making of queues", making).await {
            report.missed(1, &[Queued, IdleMemory, QueuedMemory, ColdStart, Restart], &why);
        }
    }
    if is_asked("a long history") {
        let making = async { histories = Some(Histories::make(ground).await) };
        if let Some(why) = watch.watched("the making of histories", making).await {
            report.missed(1, &[NewTap, RepeatTap, Claim, QueuePage], &why);
        }
    }
    for round in 1..=ground.sizes.rounds {
        let flush = measure::fsync(ground.folder(), 200);
        println!("\nround {round}  one flush takes {:.2} ms, at {} s", measure::ms(flush), watch.elapsed().as_secs());
        macro_rules! stage {
            ($name:literal, $lines:expr, $stage:expr) => {
                if is_asked($name) && watch.has_time_for($name) {
                    let why = watch.watched($name, $stage).await;
                    if let Some(why) = why {
                        report.missed(round, &$lines, &why);
                    }
                }
            };
        }
        stage!("the route on SQLite", [RouteSqlite, BatchSqlite], route::sqlite(ground, report, round));
        stage!("the route on PostgreSQL", [RoutePostgres], route::postgres(ground, report, round));
        stage!("HTTP", [Http, PlainBot, Latency], http::measure(ground, report, round));
        stage!("CPU", [Cpu], flow::cpu(ground, report, round));
        stage!("trouble of the CRM", [CrmDown, CrmHanging, CrmSlow], flow::crm(ground, report, round));
        stage!("one button", [ButtonSqlite, ButtonPostgres], flow::one_button(ground, report, round));
        stage!("replicas", [Replicas], replicas::measure(ground, report, round));
        stage!("wake-ups", [WakeUps], replicas::wake_ups(ground, report, round));
        if let Some(queues) = &queues {
            stage!("a queue", [Queued], flow::queued(ground, queues, report, round));
            let lines = [IdleMemory, QueuedMemory, ColdStart, Restart];
            stage!("weight and start", lines, weight::measure(ground, queues, report, round));
        }
        if let Some(histories) = &mut histories {
            let lines = [NewTap, RepeatTap, Claim, QueuePage];
            stage!("a long history", lines, growth::measure(ground, histories, report, round));
        }
    }
}
