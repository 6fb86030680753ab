//! Connections that can be cut: an answer is lost by closing its connection, not by pretending to.
//!
//! axum hands a request over without its socket. Here the listener wraps each socket, and the handler gets the
//! other end of the wrapper ([`Line`]): once cut, the socket reads and writes nothing more and is closed.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    extract::{ConnectInfo, FromRequestParts, connect_info::Connected},
    http::request::Parts,
    serve::{IncomingStream, Listener},
};
use futures_util::task::AtomicWaker;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// How long the accept loop rests after an error that concerns the machine (no free descriptors), not one caller.
const ACCEPT_REST: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct Switch {
    cut: AtomicBool,
    waker: AtomicWaker,
}

impl Switch {
    fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        self.waker.wake();
    }

    fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }
}

/// A handler's hold on the connection its request came by; none where a request has no connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Line(Arc<Switch>);

impl Line {
    /// Closes the connection; nothing more of any answer leaves it.
    pub(super) fn cut(&self) {
        self.0.cut();
    }
}

impl Connected<IncomingStream<'_, Doors>> for Line {
    fn connect_info(stream: IncomingStream<'_, Doors>) -> Self {
        stream.io().line.clone()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Line {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<ConnectInfo<Self>>().map(|info| info.0.clone()).unwrap_or_default())
    }
}

/// All open connections of one server, so that a stopped server leaves none behind.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines(Arc<Mutex<Vec<Weak<Switch>>>>);

impl Lines {
    fn add(&self, line: &Line) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Tidied only when the list has to grow anyway, so that a connection costs constant time on average.
        if open.len() == open.capacity() {
            open.retain(|line| line.strong_count() > 0);
        }
        open.push(Arc::downgrade(&line.0));
    }

    /// Closes every connection of this server.
    pub(super) fn cut_all(&self) {
        for line in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if let Some(line) = line.upgrade() {
                line.cut();
            }
        }
    }
}

/// A listener whose connections can be cut.
#[derive(Debug)]
pub(super) struct Doors {
    listener: TcpListener,
    lines: Lines,
}

impl Doors {
    pub(super) fn new(listener: TcpListener, lines: Lines) -> Self {
        Self { listener, lines }
    }
}

impl Listener for Doors {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    // Without this a short answer may wait 40 ms for the caller's acknowledgement.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "sandbox: TCP_NODELAY was refused");
                    }
                    let line = Line::default();
                    self.lines.add(&line);
                    return (Wire { stream, line }, from);
                }
                Err(error) => {
                    tracing::debug!(%error, "sandbox: a connection was not accepted");
                    let never = std::future::pending::<()>();
                    let _rested = tokio::time::timeout(ACCEPT_REST, never).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A socket that stops working once its [`Line`] is cut.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    line: Line,
}

impl Wire {
    fn alive(&self) -> io::Result<()> {
        if self.line.0.is_cut() { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // Registered before the check, so that a cut in between is not slept through.
        self.line.0.waker.register(cx.waker());
        self.alive()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.alive()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.alive()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
