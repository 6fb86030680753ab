//! Instruments: percentiles, the disk's own speed, what a process has used.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    os::unix::fs::FileExt as _,
    path::Path,
    time::{Duration, Instant},
};

/// The value below which a share of them lies; sorts them.
pub(crate) fn percentile(values: &mut [Duration], share: f64) -> Duration {
    assert!(!values.is_empty(), "nothing was measured");
    values.sort_unstable();
    let last = values.len() - 1;
    values[((last as f64) * share).round() as usize]
}

/// Both, in an order that changes from round to round.
pub(crate) async fn in_turn<A, B>(
    round: usize,
    one: impl AsyncFnOnce() -> A,
    other: impl AsyncFnOnce() -> B,
) -> (A, B) {
    if round.is_multiple_of(2) {
        let one = one().await;
        (one, other().await)
    } else {
        let other = other().await;
        (one().await, other)
    }
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// What one flush to the disk takes here and now, p50: 4 KiB written over and `fdatasync`.
pub(crate) fn fsync(folder: &Path, times: usize) -> Duration {
    let path = folder.join("probe");
    let mut file = File::create(&path).expect("a file for the probe");
    file.write_all(&[0; 64 * 1024]).expect("the probe's file is written");
    file.sync_all().expect("the probe's file is flushed");
    let file = OpenOptions::new().write(true).open(&path).expect("the probe's file");
    let mut took: Vec<_> = (0..times)
        .map(|i| {
            let began = Instant::now();
            file.write_all_at(&[i as u8; 4096], (i as u64 % 16) * 4096).expect("the probe writes");
            file.sync_data().expect("the probe flushes");
            began.elapsed()
        })
        .collect();
    percentile(&mut took, 0.5)
}

/// CPU time a process has used so far, its ended threads too. In steps of 10 ms: Linux counts it so.
pub(crate) fn cpu(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    // The name may hold blanks; what follows its bracket does not.
    let (_, rest) = stat.rsplit_once(')').expect("a stat line");
    let ticks: u64 = rest.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().expect("ticks")).sum();
    Duration::from_millis(ticks * 10)
}

/// Resident and proportional memory of a process, bytes.
pub(crate) fn memory(pid: u32) -> (f64, f64) {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("the process runs");
    let field = |name: &str| {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name)).expect("a line of smaps_rollup");
        line.trim().trim_end_matches(" kB").trim().parse::<f64>().expect("kilobytes") * 1024.0
    };
    (field("Rss:"), field("Pss:"))
}

/// The processor and the disk's file system, as far as this machine tells.
pub(crate) fn machine(folder: &Path) -> String {
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let disk = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .filter(|(at, _)| folder.starts_with(at))
        .max_by_key(|(at, _)| at.len())
        .map_or("unknown", |(_, kind)| kind);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let (model, kernel) = (model.trim_start_matches([':', ' ', '\t']), kernel.trim());
    format!("{cpus} cores, {model}, Linux {kernel}, {disk}, load at the start {}", load.trim())
}
