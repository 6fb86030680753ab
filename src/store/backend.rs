//! The one file that knows SQLite from PostgreSQL: how to connect, and how replicas migrate without a race.

use std::time::Duration;

use migration::{Migrator, MigratorTrait as _};
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbBackend, Statement};
use tokio::time::timeout;

use super::StoreError;

/// Readers beside the one writer.
const READERS: u32 = 4;

/// The advisory lock that migrating replicas take: any fixed number, ours alone.
const MIGRATION_LOCK: i64 = 0x7a61_7961_766b_6131;

/// How often a process that others overtake looks again, and the pause in between: two seconds in all.
const MIGRATION_TRIES: u32 = 40;
const MIGRATION_PAUSE: Duration = Duration::from_millis(50);

/// The connections of one process.
#[derive(Debug)]
pub(super) struct Connections {
    pub(super) writer: DatabaseConnection,
    pub(super) reader: DatabaseConnection,
}

/// Connects to `url` (`sqlite://path`, `sqlite::memory:` is refused, `postgres://…`).
pub(super) async fn connect(url: &str) -> Result<Connections, StoreError> {
    if url.starts_with("sqlite:") { connect_sqlite(url).await } else { connect_postgres(url).await }
}

async fn connect_sqlite(url: &str) -> Result<Connections, StoreError> {
    if url.contains(":memory:") {
        return Err(StoreError::Refused("an in-memory database forgets what it acknowledged: give a file".into()));
    }
    let url = if url.contains('?') { url.to_owned() } else { format!("{url}?mode=rwc") };
    let writer = Database::connect(sqlite_options(&url, 1, false)).await?;
    // The file and its journal mode exist before the first reader opens it.
    writer.execute_unprepared("PRAGMA journal_mode").await?;
    let reader = Database::connect(sqlite_options(&url, READERS, true)).await?;
    Ok(Connections { writer, reader })
}

fn sqlite_options(url: &str, connections: u32, read_only: bool) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options.max_connections(connections).min_connections(1).sqlx_logging(false).test_before_acquire(false);
    options.map_sqlx_sqlite_opts(move |options| {
        let options = options
            .pragma("journal_mode", "WAL")
            // What is acknowledged must survive a power cut.
            .pragma("synchronous", "FULL")
            .pragma("foreign_keys", "ON")
            .pragma("busy_timeout", "5000");
        // What is erased must not stay readable in free pages.
        let options = options.pragma("secure_delete", "ON");
        if read_only { options.pragma("query_only", "ON") } else { options }
    });
    options
}

async fn connect_postgres(url: &str) -> Result<Connections, StoreError> {
    let options = |connections: u32| {
        let mut options = ConnectOptions::new(url);
        options
            .max_connections(connections)
            .min_connections(1)
            .acquire_timeout(Duration::from_secs(5))
            .test_before_acquire_if_idle_for(Duration::from_secs(30))
            .sqlx_logging(false);
        options
    };
    Ok(Connections { writer: Database::connect(options(2)).await?, reader: Database::connect(options(READERS)).await? })
}

/// Brings the schema up to date; replicas that start together wait for each other.
pub(super) async fn migrate(connection: &DatabaseConnection) -> Result<(), StoreError> {
    if connection.get_database_backend() != DbBackend::Postgres {
        return migrate_sqlite(connection).await;
    }
    use sea_orm::TransactionTrait as _;
    // A transaction-scoped lock, so that it also holds behind a transaction pooler. The steps run on another connection.
    let lock = connection.begin().await?;
    let take = Statement::from_sql_and_values(
        DbBackend::Postgres,
        "SELECT pg_advisory_xact_lock($1)",
        [MIGRATION_LOCK.into()],
    );
    lock.execute_raw(take).await?;
    let migrated = Migrator::up(connection, None).await;
    lock.commit().await?;
    Ok(migrated?)
}

/// SQLite has no lock that outlives a step. Of two processes at one step the slower one is refused and undone, and finds
/// on its next look that the step is there.
async fn migrate_sqlite(connection: &DatabaseConnection) -> Result<(), StoreError> {
    let mut tries = 1;
    loop {
        match Migrator::up(connection, None).await {
            Ok(()) => return Ok(()),
            Err(error) if tries < MIGRATION_TRIES => {
                tracing::debug!(%error, tries, "a migration step was refused; another process may be ahead");
                tries += 1;
                drop(timeout(MIGRATION_PAUSE, std::future::pending::<()>()).await);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The migrations not yet applied, by name.
pub(super) async fn pending_migrations(connection: &DatabaseConnection) -> Result<Vec<String>, StoreError> {
    let pending = Migrator::get_pending_migrations(connection).await?;
    Ok(pending.iter().map(|step| step.name().to_owned()).collect())
}
