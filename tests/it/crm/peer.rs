//! A CRM made of raw sockets: it misbehaves to order and counts what reached it.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// What the peer does with one connection.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Closes before it reads anything.
    Close,
    /// Resets before it reads anything.
    Reset,
    /// Reads the whole request, then closes.
    ReadClose,
    /// Reads the whole request, then resets.
    ReadReset,
    /// Reads the whole request, then is silent.
    ReadStall,
    /// Reads the whole request, writes these bytes, closes.
    Say(Vec<u8>),
    /// Reads the whole request, writes these bytes, is silent.
    SayStall(Vec<u8>),
    /// Reads the whole request, writes these bytes one at a time, far too slowly.
    SayDrip(Vec<u8>),
    /// Reads the head of the request only, writes these bytes, closes.
    SayEarly(Vec<u8>),
}

/// One listening peer; its last act is repeated.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Peer {
    pub(crate) async fn new(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            let mut acts = acts.into_iter().peekable();
            let mut last = Act::Close;
            while let Ok((stream, _)) = listener.accept().await {
                last = acts.next().unwrap_or(last);
                connections.spawn(serve(stream, last.clone(), Arc::clone(&seen)));
            }
        });
        Self { address, requests, _tasks: tasks }
    }

    /// Every request that was read whole, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic holds it").clone()
    }
}

async fn serve(mut stream: TcpStream, act: Act, seen: Arc<Mutex<Vec<String>>>) {
    match act {
        Act::Close => return,
        Act::Reset => {
            let _ = stream.set_zero_linger();
            return;
        }
        Act::SayEarly(bytes) => {
            read(&mut stream, true).await;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            // Reads on, so that the close does not become a reset that takes the answer with it.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
            return;
        }
        _ => {}
    }
    let Some(request) = read(&mut stream, false).await else { return };
    seen.lock().expect("no panic holds it").push(request);
    match act {
        Act::ReadReset => drop(stream.set_zero_linger()),
        Act::ReadStall => std::future::pending().await,
        Act::Say(bytes) => drop(stream.write_all(&bytes).await),
        Act::SayStall(bytes) => {
            let _ = stream.write_all(&bytes).await;
            std::future::pending().await
        }
        Act::SayDrip(bytes) => {
            let mut beat = tokio::time::interval(Duration::from_millis(70));
            // A busy machine makes it slower, never quicker.
            beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            for byte in bytes {
                beat.tick().await;
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
            }
        }
        _ => {}
    }
}

/// Reads one request; only its head where `head_only`.
pub(super) async fn read(stream: &mut TcpStream, head_only: bool) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
            });
            if head_only || bytes.len() >= head.len() + 4 + length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

/// An answer with its length, connection closed after it.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}
