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

/// Connections at once: Telegram makes at most 100, the rest is for proxies, probes and scrapers.
const CONNECTIONS: usize = 512;

/// The longest a request's header may take.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest header, bytes.
const HEADER_LIMIT: usize = 16 * 1024;

/// The longest a connection is kept: whoever never reads its answers must not stay for ever.
const CONNECTION_LIFE: Duration = Duration::from_secs(600);

/// How long a connection may go on after it was asked to end.
const LAST_REQUEST: Duration = Duration::from_secs(15);

/// The pause after the system could not give another connection.
const BREATHER: Duration = Duration::from_millis(100);

pub(super) async fn serve(listener: TcpListener, router: Router, end: CancellationToken) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
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
            connections.spawn(connection(stream, place, router.clone(), end.clone()));
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

async fn connection(stream: TcpStream, place: OwnedSemaphorePermit, router: Router, end: CancellationToken) {
    let _place = place;
    // Answers are small: they must not wait to be gathered.
    drop(stream.set_nodelay(true));
    let mut served = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_header_size(HEADER_LIMIT)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
    );
    tokio::select! {
        // A peer that breaks off or writes nonsense concerns only itself.
        _ = served.as_mut() => return,
        _ = timeout(CONNECTION_LIFE, end.cancelled()) => served.as_mut().graceful_shutdown(),
    }
    drop(timeout(LAST_REQUEST, served).await);
}
