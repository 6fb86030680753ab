//! The product's door without what comes after it: updates are stored and acknowledged, and then let go. And the handler
//! that keeps nothing, which shows what the harness itself costs.

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, body::Bytes, http::StatusCode};
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;
use zayavka::{
    app::App,
    clock::SystemClock,
    config::Receive,
    inbox::doubt::Doubt,
    store::inbox::Claimed,
    web::{self, Hook, Receiving, Web},
};

/// The route over a store of its own; what it has stored goes nowhere.
pub(crate) struct Door {
    pub(crate) app: App,
    rows: mpsc::Sender<Vec<Claimed>>,
    tasks: JoinSet<()>,
}

impl Door {
    pub(crate) fn new(app: App) -> Self {
        let (rows, mut stored) = mpsc::channel(256);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { while stored.recv().await.is_some() {} });
        Self { app, rows, tasks }
    }

    fn web(&self) -> Web {
        let Receive::Webhook(webhook) = &self.app.config.telegram.receive else { panic!("a webhook is configured") };
        let hook = Some(Hook::new(webhook, self.rows.downgrade(), Arc::new(Doubt::unknown())));
        let receiving = Arc::new(Receiving::by_webhook(Arc::new(SystemClock)));
        Web { inbox: self.app.inbox.clone(), hook, receiving, stop: CancellationToken::new() }
    }

    /// The route itself, for requests without a socket.
    pub(crate) fn router(&self) -> Router {
        web::router(self.web())
    }

    /// Opens it on a port.
    pub(crate) async fn open(&mut self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        self.tasks.spawn(web::serve(listener, self.web(), CancellationToken::new()));
        at
    }
}

/// A handler that reads a request, keeps nothing and says 200. It ends with the set.
pub(crate) async fn null() -> (SocketAddr, JoinSet<()>) {
    serve(Router::new().fallback(|_: Bytes| async { StatusCode::OK })).await
}

/// A router on a port of its own.
pub(crate) async fn serve(router: Router) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("an address");
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true)));
        axum::serve(listener, router).await.expect("it goes on");
    });
    (at, tasks)
}
