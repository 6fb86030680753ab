//! The outside world over HTTP: a Bot API emulator, a fake CRM, faults on order, and a page to watch it all.
//!
//! It is the fixture of the tests and what `zayavka sandbox` shows. It knows nothing of the service: both meet
//! only over HTTP, as the real ones do. It imports nothing of ours but the clock.
//!
//! Two listeners, both on loopback: the *world* (page, control, Bot API) and the fake CRM, which can really be
//! closed. Everything is in memory and ends with [`World`].

mod bot_api;
mod control;
mod crm;
mod events;
mod faults;
mod line;
mod log;
mod page;
mod stage;
mod switches;

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
};

use tokio::net::TcpListener;

use self::{
    bot_api::BotApi,
    crm::Crm,
    events::Changes,
    line::{Doors, Line, Lines},
    stage::Tasks,
};
use crate::clock::{Clock, SystemClock};

/// A boxed future, as [`ServiceControl`] returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The largest request body, bytes.
const BODY_LIMIT: usize = 1024 * 1024;
/// The two clients who are there from the start, and whose chats the page shows.
pub const CLIENTS: [i64; 2] = [101, 102];
/// The two staff members who are there from the start.
pub const STAFF: [i64; 2] = [9001, 9002];

/// Where the world listens unless told otherwise.
const DEFAULT_PORT: u16 = 8088;

/// Where the world listens.
#[derive(Debug, Clone, Copy, Default)]
pub enum Listen {
    /// 127.0.0.1:8088, or any free port if that is taken.
    #[default]
    Default,
    /// Exactly there, or not at all.
    Exact(SocketAddr),
    /// Any free port of 127.0.0.1.
    Free,
}

/// How a world is made.
#[derive(Clone)]
pub struct WorldOptions {
    /// Where the world listens.
    pub listen: Listen,
    /// Stamps messages, taps and tickets, and ages them.
    pub clock: Arc<dyn Clock>,
    /// What the page's «Убить процесс» acts on; `None` hides it.
    pub service: Option<Arc<dyn ServiceControl>>,
    /// The bot's token; its digits are the bot's number. The emulator takes any token of the right form.
    pub token: String,
    /// The bearer token the fake CRM asks for.
    pub crm_token: String,
    /// The staff's group.
    pub staff_chat: i64,
    /// For a service of somebody else, whose settings the world cannot know: any bearer token opens the fake CRM, and a
    /// group is there as soon as somebody writes to it.
    pub open: bool,
}

impl Default for WorldOptions {
    fn default() -> Self {
        Self {
            listen: Listen::Default,
            clock: Arc::new(SystemClock),
            service: None,
            token: "1000000001:SANDBOX-token-that-opens-nothing-00".to_owned(),
            crm_token: "sandbox-secret".to_owned(),
            staff_chat: -1_001_000_000_001,
            open: false,
        }
    }
}

impl fmt::Debug for WorldOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorldOptions").field("listen", &self.listen).field("staff_chat", &self.staff_chat).finish()
    }
}

/// How the service's process stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceStatus {
    /// Whether it runs.
    pub running: bool,
    /// Its process number while it runs.
    pub pid: Option<u32>,
    /// How often it was started again.
    pub restarts: u32,
}

/// The service as a process that can be killed and started.
pub trait ServiceControl: Send + Sync {
    /// Kills it for good, without a chance to tidy up. An error in words.
    fn kill(&self) -> BoxFuture<'_, Result<(), String>>;
    /// Starts it again on the same database. An error in words.
    fn start(&self) -> BoxFuture<'_, Result<(), String>>;
    /// How it stands.
    fn status(&self) -> ServiceStatus;
}

/// Why a world did not start.
#[derive(Debug)]
pub enum StartError {
    /// The address cannot be listened at.
    Listen {
        /// Where it was tried.
        at: SocketAddr,
        /// What the system said.
        why: io::Error,
    },
    /// The address is reachable from outside; the sandbox has no protection against that.
    NotLoopback(SocketAddr),
    /// The bot's token has not the form of one.
    Token,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { at, why } => {
                write!(f, "the sandbox cannot listen at {at}: {why}; give another address with --listen")
            }
            Self::NotLoopback(at) => {
                write!(f, "the sandbox listens on loopback only, not at {at}; give an address of 127.0.0.0/8 or ::1")
            }
            Self::Token => f.write_str("the bot token is not of the form digits:letters"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { why, .. } => Some(why),
            Self::NotLoopback(_) | Self::Token => None,
        }
    }
}

/// Both servers and what they share.
struct Outside {
    bot_api: Arc<BotApi>,
    crm: Arc<Crm>,
    changes: Changes,
    service: Option<Arc<dyn ServiceControl>>,
    staff_chat: i64,
}

/// A running outside world; it ends when this is dropped.
pub struct World {
    outside: Arc<Outside>,
    addr: SocketAddr,
    token: String,
    crm_token: String,
    tasks: Tasks,
    lines: Lines,
}

impl World {
    /// Starts both servers.
    ///
    /// # Errors
    /// If an address cannot be listened at or is not loopback, or the token is malformed.
    pub async fn start(options: WorldOptions) -> Result<Self, StartError> {
        let listener = bind(options.listen).await?;
        let addr = local(&listener)?;
        let crm_listener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let crm_addr = local(&crm_listener)?;
        let (changes, tasks, lines) = (Changes::default(), Tasks::default(), Lines::default());
        let WorldOptions { clock, service, token, crm_token, staff_chat, open, .. } = options;
        let bot_api = BotApi::new(&token, staff_chat, Arc::clone(&clock), changes.clone(), &tasks);
        let bot_api = bot_api.ok_or(StartError::Token)?;
        bot_api.with(|book, _| book.chats.open = open);
        let asked = (!open).then(|| crm_token.clone());
        let crm = Arc::new(Crm::new(crm_addr, asked, clock, changes.clone(), tasks.clone()));
        crm.open(crm_listener).await;
        let outside = Arc::new(Outside { bot_api, crm, changes, service, staff_chat });
        let served = control::router(Arc::clone(&outside)).into_make_service_with_connect_info::<Line>();
        let doors = Doors::new(listener, lines.clone());
        tasks.spawn(async move {
            if let Err(error) = axum::serve(doors, served).await {
                tracing::error!(%error, "sandbox: the world stopped answering");
            }
        });
        Ok(Self { outside, addr, token, crm_token, tasks, lines })
    }

    /// Where the world listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The page.
    #[must_use]
    pub fn page_url(&self) -> String {
        format!("http://{}/", self.addr)
    }

    /// What goes into `[telegram] api_url`.
    #[must_use]
    pub fn api_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// What goes into `[crm.vars] base_url`.
    #[must_use]
    pub fn crm_base_url(&self) -> String {
        self.outside.crm.base_url().to_owned()
    }

    /// The bot's token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The bearer token the fake CRM asks for.
    #[must_use]
    pub fn crm_token(&self) -> &str {
        &self.crm_token
    }

    /// The staff's group.
    #[must_use]
    pub fn staff_chat(&self) -> i64 {
        self.outside.staff_chat
    }

    /// Ends everything and waits until it has: both ports are free afterwards.
    pub async fn stop(self) {
        self.outside.crm.close().await;
        self.tasks.stop().await;
        self.lines.cut_all();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.tasks.abort();
        self.outside.crm.abandon();
        self.lines.cut_all();
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("addr", &self.addr).finish_non_exhaustive()
    }
}

async fn bind(wanted: Listen) -> Result<TcpListener, StartError> {
    let local = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match wanted {
        Listen::Exact(at) if !at.ip().is_loopback() => Err(StartError::NotLoopback(at)),
        Listen::Exact(at) => listen(at).await,
        Listen::Free => listen(local(0)).await,
        Listen::Default => match listen(local(DEFAULT_PORT)).await {
            Ok(listener) => Ok(listener),
            Err(_) => listen(local(0)).await,
        },
    }
}

async fn listen(at: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(at).await.map_err(|why| StartError::Listen { at, why })
}

fn local(listener: &TcpListener) -> Result<SocketAddr, StartError> {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    listener.local_addr().map_err(|why| StartError::Listen { at: nowhere, why })
}

/// The pairs of a query or a form; the last of equal names wins.
fn query(text: &str) -> HashMap<String, String> {
    // The base is arbitrary: only the query's own rules of writing are wanted.
    let url = reqwest::Url::parse("http://sandbox/").ok().map(|mut url| {
        url.set_query(Some(text));
        url
    });
    url.iter()
        .flat_map(reqwest::Url::query_pairs)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}
