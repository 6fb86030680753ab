//! Wake-ups between replicas on PostgreSQL: "something was written, look". Only ever a hint: every loop also looks by
//! itself, so a lost one costs its pause and nothing else.
//!
//! Sent outside the transactions it tells of, many commits in one: a NOTIFY inside a tap's transaction would hold a lock
//! of the whole server through its commit.

use std::time::Duration;

use sea_orm::{
    ConnectionTrait as _, DbBackend,
    sqlx::{
        Error,
        postgres::{PgListener, PgPoolOptions},
    },
};

use super::Store;

/// The channel all services on a database share.
const CHANNEL: &str = "zayavka_wake";

/// The shortest time between two calls: commits meanwhile share the next one.
const BETWEEN: Duration = Duration::from_millis(100);

/// The pause before a broken connection is made again.
const AGAIN: Duration = Duration::from_secs(5);

async fn rest(pause: Duration) {
    drop(tokio::time::timeout(pause, std::future::pending::<()>()).await);
}

impl Store {
    /// Whether several processes may serve one bot on this database.
    #[must_use]
    pub fn has_replicas(&self) -> bool {
        self.raw_writer.get_database_backend() == DbBackend::Postgres
    }

    /// Calls the other replicas after commits, for as long as it is polled. `name` is one that no other process has.
    pub async fn call_others(&self, name: &str) {
        if !self.has_replicas() {
            return std::future::pending().await;
        }
        // One statement, so that it cannot leave a transaction open; a call need not survive a power cut. The name is sent
        // as text: only letters and digits can do no harm there.
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let call = format!("SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', '{name}')");
        loop {
            self.writer.committed().notified().await;
            if let Err(error) = self.reader.execute_unprepared(&call).await {
                tracing::debug!(%error, "the other replicas could not be called; they look by themselves");
            }
            rest(BETWEEN).await;
        }
    }

    /// Runs `heard` whenever another replica calls, for as long as it is polled. `url` is a direct way to the server: behind
    /// a pooler nothing can be heard without one.
    pub async fn hear_others(&self, url: Option<&str>, name: &str, heard: impl Fn() + Sync) {
        let Some(url) = url.filter(|_| self.has_replicas()) else { return std::future::pending().await };
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let mut known_broken = false;
        loop {
            match listen(url, &name, &heard).await {
                Ok(()) => known_broken = false,
                Err(error) if !known_broken => {
                    known_broken = true;
                    tracing::warn!(%error, "other replicas cannot be heard now; what they write is seen at the next look");
                }
                Err(_) => {}
            }
            rest(AGAIN).await;
        }
    }
}

async fn listen(url: &str, name: &str, heard: &(impl Fn() + Sync)) -> Result<(), Error> {
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(5)).connect(url).await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(CHANNEL).await?;
    // What was written before anybody listened.
    heard();
    loop {
        match listener.try_recv().await? {
            Some(call) if call.payload() == name => {}
            Some(_) => heard(),
            None => {
                // The connection broke off: whatever was called meanwhile is looked for at once.
                heard();
                return Ok(());
            }
        }
    }
}
