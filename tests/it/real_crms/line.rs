//! The line between the service and a real CRM: it carries requests over, and breaks where it is told to.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// What happens to one create on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Break {
    /// The connection ends after the request was read; the CRM never hears of it.
    Before,
    /// The CRM carries it out; its answer is lost.
    Answer,
    /// The CRM carries it out; a gateway says 500 instead of its answer.
    Says500,
}

/// The line; faults are for the next creates, everything else passes.
pub(super) struct Line {
    pub(super) address: SocketAddr,
    next: Arc<Mutex<Vec<Break>>>,
    creates: Arc<Mutex<usize>>,
    _task: JoinSet<()>,
}

impl Line {
    pub(super) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (next, creates) = (Arc::<Mutex<Vec<Break>>>::default(), Arc::<Mutex<usize>>::default());
        let shared = (Arc::clone(&next), Arc::clone(&creates));
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (next, creates) = (Arc::clone(&shared.0), Arc::clone(&shared.1));
                open.spawn(async move {
                    // A connection that breaks is what this is for.
                    let _ = carry(stream, port, &next, &creates).await;
                });
            }
        });
        Self { address, next, creates, _task: task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn breaks(&self, how: Break) {
        self.next.lock().expect("no panic holds it").push(how);
    }

    /// How many creates came this way.
    pub(super) fn creates(&self) -> usize {
        *self.creates.lock().expect("no panic holds it")
    }
}

async fn carry(
    mut client: TcpStream,
    port: u16,
    next: &Mutex<Vec<Break>>,
    creates: &Mutex<usize>,
) -> std::io::Result<()> {
    let Some((head, body)) = read(&mut client).await? else { return Ok(()) };
    let is_create = head.starts_with("POST ");
    let how = is_create.then(|| next.lock().expect("no panic holds it").pop()).flatten();
    if is_create {
        *creates.lock().expect("no panic holds it") += 1;
    }
    if how == Some(Break::Before) {
        return Ok(());
    }
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    // One request a connection: the answer ends where the connection does.
    let (line, fields) = head.split_once("\r\n").unwrap_or((&head, ""));
    server.write_all(format!("{line}\r\nConnection: close\r\n{fields}\r\n\r\n").as_bytes()).await?;
    server.write_all(&body).await?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).await?;
    match how {
        Some(Break::Answer) => Ok(()),
        Some(Break::Says500) => {
            client.write_all(b"HTTP/1.1 500 Oops\r\ncontent-length: 4\r\nconnection: close\r\n\r\nOops").await
        }
        _ => client.write_all(&answer).await,
    }
}

/// Head without its last empty line, and body.
async fn read(stream: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let mut piece = [0; 8192];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
            });
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                return Ok(Some((head, bytes[end + 4..].to_vec())));
            }
        }
        match stream.read(&mut piece).await? {
            0 => return Ok(None),
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
}
