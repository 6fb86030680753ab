//! The one file that knows SQLite from PostgreSQL: how to connect, and how replicas migrate without a race.

use std::{collections::BTreeSet, time::Duration};

use migration::{Migrator, MigratorTrait as _};
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbBackend, Statement};

use super::{SchemaSteps, StoreError};

/// Readers beside the one writer.
const READERS: u32 = 4;

/// The advisory lock that migrating replicas take: any fixed number, ours alone.
const MIGRATION_LOCK: i64 = 0x7a61_7961_766b_6131;

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

/// Brings the schema up to date; one that a later release has taken further serves as it is. Replicas that start together wait for each other.
pub(super) async fn migrate(connection: &DatabaseConnection) -> Result<(), StoreError> {
    if connection.get_database_backend() != DbBackend::Postgres {
        return up(connection).await;
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
    let migrated = up(connection).await;
    lock.commit().await?;
    migrated
}

/// A later release's steps only add, so that the release before it can be gone back to: they are left alone, which the
/// library's own `up` does not.
async fn up(connection: &DatabaseConnection) -> Result<(), StoreError> {
    let SchemaSteps { pending, unknown } = schema_steps(connection).await?;
    if unknown.is_empty() {
        return Ok(Migrator::up(connection, None).await?);
    }
    let unknown = unknown.join(", ");
    if !pending.is_empty() {
        let pending = pending.join(", ");
        let what =
            format!("the schema has steps of another release ({unknown}) and lacks some of this one ({pending})");
        return Err(StoreError::Refused(what));
    }
    tracing::warn!(steps = unknown, "the schema is a later release's; this one goes on with what it knows of it");
    Ok(())
}

/// How the schema's steps differ from ours.
pub(super) async fn schema_steps(connection: &DatabaseConnection) -> Result<SchemaSteps, StoreError> {
    let models = Migrator::get_migration_models(connection).await?;
    let applied: BTreeSet<String> = models.into_iter().map(|model| model.version).collect();
    let ours: Vec<String> = Migrator::get_migration_files().iter().map(|step| step.name().to_owned()).collect();
    let unknown = applied.iter().filter(|step| !ours.contains(step)).cloned().collect();
    Ok(SchemaSteps { pending: ours.into_iter().filter(|step| !applied.contains(step)).collect(), unknown })
}
