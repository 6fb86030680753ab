//! Connections, each within limits: a peer that dawdles, floods or never leaves cannot hold up the others.
//!
//! Served by hyper itself, since it alone knows when a header is late. The header limit also ends an idle connection;
//! a peer that meets this just connects again.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, JoinSet},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// What one peer may take from the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Connections at once.
    connections: usize,
    /// The longest a request's header may take.
    header: Duration,
    /// The longest a connection is kept: whoever never reads its answers must not stay for ever.
    life: Duration,
}

/// Telegram makes at most 100 connections; the rest is for proxies, probes and scrapers.
pub(super) const LIMITS: Limits =
    Limits { connections: 512, header: Duration::from_secs(10), life: Duration::from_secs(600) };

/// The largest header, bytes.
const HEADER_LIMIT: usize = 16 * 1024;

/// How long a connection may go on after it was asked to end.
const LAST_REQUEST: Duration = Duration::from_secs(15);

/// The pause after the system could not give another connection.
const BREATHER: Duration = Duration::from_millis(100);

pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits, end: CancellationToken) {
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = next(&listener, &room) => accepted,
            Some(ended) = connections.join_next() => {
                note(ended);
                continue;
            }
            () = end.cancelled() => break,
        };
        if let Some((stream, place)) = accepted {
            connections.spawn(connection(stream, place, router.clone(), limits, end.clone()));
        } else {
            drop(timeout(BREATHER, end.cancelled()).await);
        }
    }
    drop(listener);
    while let Some(ended) = connections.join_next().await {
        note(ended);
    }
}

/// The next connection, once there is room for it.
async fn next(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be taken");
            None
        }
    }
}

fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection's task died; Telegram brings again what it got no answer for");
    }
}

async fn connection(
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    router: Router,
    limits: Limits,
    end: CancellationToken,
) {
    let _place = place;
    // Answers are small: they must not wait to be gathered.
    drop(stream.set_nodelay(true));
    let mut served = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header)
            .max_header_size(HEADER_LIMIT)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
    );
    tokio::select! {
        // A peer that breaks off or writes nonsense concerns only itself.
        _ = served.as_mut() => return,
        _ = timeout(limits.life, end.cancelled()) => served.as_mut().graceful_shutdown(),
    }
    drop(timeout(LAST_REQUEST, served).await);
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        sync::Notify,
    };

    use super::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const PATIENCE: Duration = Duration::from_secs(20);

    struct Server {
        at: std::net::SocketAddr,
        end: CancellationToken,
        task: JoinSet<()>,
        /// Lets `/held` answer.
        let_go: Arc<Notify>,
    }

    async fn server(limits: Limits) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (at, end) = (listener.local_addr().unwrap(), CancellationToken::new());
        let let_go = Arc::new(Notify::new());
        let held = Arc::clone(&let_go);
        let wait = move || {
            let held = Arc::clone(&held);
            async move {
                held.notified().await;
                "at last"
            }
        };
        let router = Router::new().route("/", get(async || "here")).route("/held", get(wait));
        let mut task = JoinSet::new();
        task.spawn(serve(listener, router, limits, end.clone()));
        Server { at, end, task, let_go }
    }

    /// Everything that comes until the connection ends.
    async fn rest(stream: &mut TcpStream) -> String {
        let mut all = Vec::new();
        drop(timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("it ends"));
        String::from_utf8_lossy(&all).into_owned()
    }

    /// The head of one answer.
    async fn some(stream: &mut TcpStream) -> String {
        let mut buffer = vec![0; 1024];
        let read = timeout(PATIENCE, stream.read(&mut buffer)).await.expect("an answer").unwrap();
        String::from_utf8_lossy(&buffer[..read]).into_owned()
    }

    #[tokio::test]
    async fn a_header_that_dawdles_and_a_peer_that_says_nothing_are_cut_off() {
        let server = server(Limits { header: Duration::from_millis(50), ..LIMITS }).await;
        let mut dawdles = TcpStream::connect(server.at).await.unwrap();
        dawdles.write_all(b"GET / HTTP/1.1\r\nHo").await.unwrap();
        let mut silent = TcpStream::connect(server.at).await.unwrap();
        assert_eq!((rest(&mut dawdles).await.as_str(), rest(&mut silent).await.as_str()), ("", ""));
    }

    #[tokio::test]
    async fn one_too_many_waits_until_another_has_gone() {
        let server = server(Limits { connections: 1, ..LIMITS }).await;
        let mut first = TcpStream::connect(server.at).await.unwrap();
        first.write_all(GET).await.unwrap();
        assert!(some(&mut first).await.starts_with("HTTP/1.1 200 "));
        let mut second = TcpStream::connect(server.at).await.unwrap();
        second.write_all(GET).await.unwrap();
        // The first is still served, the second not yet.
        first.write_all(GET).await.unwrap();
        assert!(some(&mut first).await.starts_with("HTTP/1.1 200 "));
        assert!(second.try_read(&mut [0; 1]).is_err(), "nothing came yet");
        drop(first);
        assert!(some(&mut second).await.starts_with("HTTP/1.1 200 "));
    }

    #[tokio::test]
    async fn a_connection_kept_for_too_long_ends() {
        let server = server(Limits { life: Duration::from_millis(50), ..LIMITS }).await;
        let mut stream = TcpStream::connect(server.at).await.unwrap();
        stream.write_all(GET).await.unwrap();
        assert!(rest(&mut stream).await.ends_with("here"));
    }

    #[tokio::test]
    async fn an_end_closes_idle_connections_at_once_and_finishes_what_is_under_way() {
        let mut server = server(LIMITS).await;
        let mut idle = TcpStream::connect(server.at).await.unwrap();
        idle.write_all(GET).await.unwrap();
        assert!(some(&mut idle).await.contains("here"));
        let mut busy = TcpStream::connect(server.at).await.unwrap();
        busy.write_all(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        // An answer on a third connection, made later: the second has been taken by then.
        let mut later = TcpStream::connect(server.at).await.unwrap();
        later.write_all(GET).await.unwrap();
        assert!(some(&mut later).await.contains("here"));
        server.end.cancel();
        assert_eq!(rest(&mut idle).await, "");
        server.let_go.notify_one();
        assert!(rest(&mut busy).await.ends_with("at last"));
        assert!(timeout(PATIENCE, server.task.join_next()).await.expect("it ends").unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_header_without_end_is_refused() {
        let server = server(LIMITS).await;
        let mut stream = TcpStream::connect(server.at).await.unwrap();
        let long = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(2 * HEADER_LIMIT));
        drop(stream.write_all(long.as_bytes()).await);
        assert!(some(&mut stream).await.starts_with("HTTP/1.1 431 "));
    }
}
