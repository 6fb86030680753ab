//! Load over HTTP: a lean client that keeps its connections, as Telegram does, and two ways to drive it.
//!
//! Capacity is what a standing queue on every connection gets through. Latency is measured open-loop: requests fall due
//! by the clock whether or not earlier ones were answered, and each is timed from when it fell due.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Mutex, mpsc},
    task::JoinSet,
};

/// As many as Telegram makes.
pub(crate) const CONNECTIONS: usize = 100;

pub(crate) const SECRET: &str = "s3cret_of-the-benchmark";
pub(crate) const PATH: &str = "/telegram";

/// Whole requests, byte for byte.
pub(crate) type Requests = Arc<Vec<Vec<u8>>>;

/// An update as Telegram brings it.
pub(crate) fn request(body: &str) -> Vec<u8> {
    format!(
        "POST {PATH} HTTP/1.1\r\nHost: bot\r\nContent-Type: application/json\r\n\
         X-Telegram-Bot-Api-Secret-Token: {SECRET}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A kept connection.
pub(crate) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    pub(crate) async fn to(at: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(at).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(1024) })
    }

    /// Sends one request and reads its answer; the status.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> std::io::Result<u16> {
        let broken = |what| std::io::Error::new(std::io::ErrorKind::InvalidData, what);
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let head = loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(broken("the connection was closed"));
            }
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = String::from_utf8_lossy(&self.buffer[..head]).to_ascii_lowercase();
        let status = text.get(9..12).and_then(|status| status.parse().ok()).ok_or_else(|| broken("no status"))?;
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        while self.buffer.len() < head + length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(broken("half an answer"));
            }
        }
        Ok(status)
    }
}

/// Sends all requests, each connection its next one as soon as the last is answered. How long it took.
///
/// # Panics
/// When one is not answered with 200.
pub(crate) async fn saturate(at: SocketAddr, requests: &Requests) -> Duration {
    let next = Arc::new(AtomicUsize::new(0));
    let mut wires = Vec::new();
    for _ in 0..CONNECTIONS {
        wires.push(Wire::to(at).await.expect("a connection"));
    }
    let began = Instant::now();
    let mut running = JoinSet::new();
    for mut wire in wires {
        let (next, requests) = (Arc::clone(&next), Arc::clone(requests));
        running.spawn(async move {
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                assert_eq!(wire.ask(request).await.expect("an answer"), 200);
            }
        });
    }
    running.join_all().await;
    began.elapsed()
}

/// Sends all requests at `rate` a second. When each fell due, and when it was answered.
///
/// # Panics
/// When one is not answered with 200.
pub(crate) async fn open_loop(at: SocketAddr, requests: &Requests, rate: f64) -> Vec<(Instant, Instant)> {
    let (due, arrivals) = mpsc::unbounded_channel();
    let arrivals = Arc::new(Mutex::new(arrivals));
    let mut running = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut wire = Wire::to(at).await.expect("a connection");
        let (arrivals, requests) = (Arc::clone(&arrivals), Arc::clone(requests));
        running.spawn(async move {
            let mut answered = Vec::new();
            loop {
                // In a statement of its own, so that the next connection may wait for the next arrival.
                let arrival: Option<(usize, Instant)> = arrivals.lock().await.recv().await;
                let Some((index, at)) = arrival else { return answered };
                assert_eq!(wire.ask(&requests[index]).await.expect("an answer"), 200);
                answered.push((index, at, Instant::now()));
            }
        });
    }
    let count = requests.len();
    // A thread keeps time more finely than the runtime's timer.
    let clock = thread::spawn(move || {
        let began = Instant::now();
        for index in 0..count {
            let at = began + Duration::from_secs_f64(index as f64 / rate);
            thread::sleep(at.saturating_duration_since(Instant::now()));
            if due.send((index, at)).is_err() {
                return;
            }
        }
    });
    let mut answered: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    clock.join().expect("the clock's thread");
    assert_eq!(answered.len(), count, "each request is answered");
    answered.sort_unstable_by_key(|(index, ..)| *index);
    answered.into_iter().map(|(_, due, done)| (due, done)).collect()
}
