//! The fake CRM's listener, which can really be closed and opened again at the same port.

use std::{
    io,
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::Router;
use tokio::{
    net::{TcpListener, TcpSocket},
    task::JoinSet,
};

use super::super::line::{Doors, Line, Lines};

#[derive(Debug)]
enum State {
    /// One task that accepts connections.
    Open(JoinSet<()>),
    /// A socket bound but not listening: connections are refused, and nobody else gets the port meanwhile, not even
    /// an outgoing connection that would then talk to itself.
    Closed { _guard: Option<TcpSocket> },
}

/// The listener of one server.
#[derive(Debug)]
pub(super) struct Door {
    address: SocketAddr,
    lines: Lines,
    state: Mutex<State>,
    /// One change at a time.
    turn: tokio::sync::Mutex<()>,
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Connections just closed still occupy the port for a while; they must not keep it from being opened.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

impl Door {
    /// A closed door.
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            lines: Lines::default(),
            state: Mutex::new(State::Closed { _guard: None }),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(*self.state(), State::Closed { .. })
    }

    /// Serves `router` on the listener.
    pub(super) async fn open(&self, listener: TcpListener, router: Router) {
        let _turn = self.turn.lock().await;
        self.serve(listener, router);
    }

    fn serve(&self, listener: TcpListener, router: Router) {
        let doors = Doors::new(listener, self.lines.clone());
        let service = router.into_make_service_with_connect_info::<Line>();
        let mut task = JoinSet::new();
        task.spawn(async move {
            if let Err(error) = axum::serve(doors, service).await {
                tracing::error!(%error, "sandbox: the fake CRM stopped answering");
            }
        });
        *self.state() = State::Open(task);
    }

    /// Closes the listener and every connection; when this returns, new connections are refused.
    /// A door that is to be reopened keeps its port.
    pub(super) async fn close(&self, keep_port: bool) {
        let _turn = self.turn.lock().await;
        let before = std::mem::replace(&mut *self.state(), State::Closed { _guard: None });
        if let State::Open(mut task) = before {
            task.shutdown().await;
        }
        self.lines.cut_all();
        if !keep_port {
            return;
        }
        match bind(self.address) {
            Ok(guard) => *self.state() = State::Closed { _guard: Some(guard) },
            Err(error) => tracing::debug!(%error, "sandbox: the closed port could not be kept"),
        }
    }

    /// Listens again at the same port; nothing happens if the door is open.
    ///
    /// # Errors
    /// If the port cannot be bound.
    pub(super) async fn reopen(&self, router: Router) -> io::Result<()> {
        let _turn = self.turn.lock().await;
        if !self.is_closed() {
            return Ok(());
        }
        *self.state() = State::Closed { _guard: None };
        let listener = bind(self.address)?.listen(1024)?;
        self.serve(listener, router);
        Ok(())
    }

    /// Ends the accepting task and all connections without waiting.
    pub(super) fn abandon(&self) {
        if let State::Open(task) = &mut *self.state() {
            task.abort_all();
        }
        self.lines.cut_all();
    }
}
