//! The one file that knows SQLite from PostgreSQL: how to connect, and how replicas migrate without a race.

use std::{collections::BTreeSet, time::Duration};

use futures_util::FutureExt as _;
use migration::{Migrator, MigratorTrait as _};
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr,
    SqliteTransactionMode, Statement, TransactionOptions, TransactionTrait as _,
    sqlx::{
        self, ConnectOptions as _, Connection as _, Row as _,
        postgres::{PgConnectOptions, PgConnection},
    },
};

use super::{SchemaSteps, StoreError};

/// Connections for reading.
const READERS: u32 = 4;

/// What a connection to SQLite keeps of the file in memory at most: KiB, with the sign that says so.
const READER_CACHE: &str = "-256";
const WRITER_CACHE: &str = "-4096";

/// Connections for writing on PostgreSQL: one transaction of works and two of updates go side by side, and one may turn out broken.
const WRITERS: u32 = 4;

/// As many rows as one statement gives back at most.
const ROWS: usize = 256;

/// The advisory lock that migrating replicas take: any fixed number, ours alone.
const MIGRATION_LOCK: i64 = 0x7a61_7961_766b_6131;

/// The connections of one process.
#[derive(Debug)]
pub(super) struct Connections {
    pub(super) writer: DatabaseConnection,
    pub(super) reader: DatabaseConnection,
    /// Whether a transaction pooler stands in between.
    pub(super) pooled: bool,
}

/// Connects to `url` (`sqlite://path`, `sqlite::memory:` is refused, `postgres://…`).
/// Whether a pooler stands in between is found out where nobody says.
pub(super) async fn connect(url: &str, pooled: Option<bool>) -> Result<Connections, StoreError> {
    if url.starts_with("sqlite:") { connect_sqlite(url).await } else { connect_postgres(url, pooled).await }
}

async fn connect_sqlite(url: &str) -> Result<Connections, StoreError> {
    if url.contains(":memory:") {
        return Err(StoreError::Refused("an in-memory database forgets what it acknowledged: give a file".into()));
    }
    let url = if url.contains('?') { url.to_owned() } else { format!("{url}?mode=rwc") };
    let mut tries = SQLITE_TRIES;
    loop {
        tries -= 1;
        match open_sqlite(&url).await {
            Err(error) if tries > 0 && error.to_string().contains("locked") => breathe().await,
            done => return Ok(done?),
        }
    }
}

/// The file and its journal mode exist before the first reader opens it. Setting that mode needs the file for a moment
/// alone, and SQLite does not wait for it.
async fn open_sqlite(url: &str) -> Result<Connections, DbErr> {
    let writer = Database::connect(sqlite_options(url, 1, false)).await?;
    writer.execute_unprepared("PRAGMA journal_mode").await?;
    let reader = Database::connect(sqlite_options(url, READERS, true)).await?;
    Ok(Connections { writer, reader, pooled: false })
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
        // A statement's rows come over in one go: the connection's thread need not wait for us half-way.
        let options = options.row_buffer_size(ROWS);
        // A reader's pages are forgotten with the next commit of the writer: what is kept of them only costs memory. The
        // writer's own pages stay true, and with a long history more of them are in use.
        if read_only {
            options.pragma("query_only", "ON").pragma("cache_size", READER_CACHE)
        } else {
            options.pragma("cache_size", WRITER_CACHE)
        }
    });
    options
}

/// Limits of every transaction on PostgreSQL, so that a process which is frozen or cut off in the middle of one does not hold
/// up the others for longer than this; milliseconds. The second is for locks that somebody else takes by hand.
const LIMITS: &str = "idle_in_transaction_session_timeout = 5000; lock_timeout = 10000";

/// Statements that set these limits, for a connection or, behind a pooler, for one transaction.
fn limits(only_here: &str) -> String {
    LIMITS.split("; ").map(|limit| format!("SET {only_here} {limit}; ")).collect()
}

/// The options of every connection to PostgreSQL. A transaction pooler gives each transaction whatever server connection
/// is free: nothing may be left behind on one, so no statement is kept, and none is asked for by name elsewhere.
fn postgres_options(url: &str, connections: u32, pooled: bool) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        .min_connections(1)
        .acquire_timeout(Duration::from_secs(5))
        .test_before_acquire_if_idle_for(Duration::from_secs(30))
        .sqlx_logging(false);
    options.map_sqlx_postgres_opts(move |options| {
        // A pooler refuses this parameter; we store no floating point.
        let options = options.extra_float_digits(None);
        if pooled { options.statement_cache_capacity(0) } else { options }
    });
    if !pooled {
        options.map_sqlx_postgres_pool_opts(|pool| {
            pool.after_connect(|connection, _| {
                async move {
                    sqlx::raw_sql(sqlx::AssertSqlSafe(limits("SESSION"))).execute(connection).await?;
                    Ok(())
                }
                .boxed()
            })
        });
    }
    options
}

async fn connect_postgres(url: &str, pooled: Option<bool>) -> Result<Connections, StoreError> {
    let pooled = match pooled {
        Some(known) => known,
        None => behind_a_pooler(url).await?,
    };
    if pooled {
        tracing::info!("the database is behind a transaction pooler: nothing is kept on its connections");
    }
    let writer = Database::connect(postgres_options(url, WRITERS, pooled)).await?;
    let reader = Database::connect(postgres_options(url, READERS, pooled)).await?;
    Ok(Connections { writer, reader, pooled })
}

/// Whether two connections of ours can be one at the server: then somebody in between hands them out, transaction by
/// transaction. Asked by the simple protocol, which needs no statement to be kept.
async fn behind_a_pooler(url: &str) -> Result<bool, StoreError> {
    let options: PgConnectOptions = url.parse().map_err(|error: sqlx::Error| StoreError::from_sqlx(&error))?;
    let options = options.extra_float_digits(None).statement_cache_capacity(0);
    let connect = || async { options.connect().await.map_err(|error| StoreError::from_sqlx(&error)) };
    let (mut one, mut two) = (connect().await?, connect().await?);
    let mut found = false;
    // Others may use the pool at this very moment: asked a few times.
    for _ in 0..3 {
        found |= process(&mut one).await? == process(&mut two).await?;
    }
    for connection in [one, two] {
        // Whatever becomes of the goodbye, the connection is gone.
        drop(connection.close().await);
    }
    Ok(found)
}

async fn process(connection: &mut PgConnection) -> Result<i32, StoreError> {
    let row = sqlx::raw_sql("SELECT pg_backend_pid()").fetch_one(connection).await;
    row.and_then(|row| row.try_get(0)).map_err(|error| StoreError::from_sqlx(&error))
}

/// Begins a transaction: the only way to write, and behind a pooler the only way to read.
pub(super) async fn begin(connection: &DatabaseConnection, pooled: bool) -> Result<DatabaseTransaction, StoreError> {
    // A connection that the server has closed meanwhile is found out only by using it.
    let mut tries = 1 + WRITERS;
    loop {
        tries -= 1;
        match begin_once(connection, pooled).await.map_err(StoreError::from) {
            Err(error) if tries > 0 && error.may_pass() => tracing::debug!(%error, "the database is asked once more"),
            begun => return begun,
        }
    }
}

async fn begin_once(connection: &DatabaseConnection, pooled: bool) -> Result<DatabaseTransaction, DbErr> {
    // Immediate: a deferred SQLite transaction that reads and then writes can fail at once with "database is locked".
    let options =
        TransactionOptions { sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate), ..Default::default() };
    let tx = connection.begin_with_options(options).await?;
    if pooled {
        // Statements that somebody else left on this server connection may bear the names of ours.
        tx.execute_unprepared(&format!("DEALLOCATE ALL; {}", limits("LOCAL"))).await?;
    }
    Ok(tx)
}

/// Gives up the connection for writing to a SQLite file; the next use opens another one. PostgreSQL tells by itself when a
/// connection is lost.
pub(super) async fn renew(connection: &DatabaseConnection) -> Result<(), StoreError> {
    if connection.get_database_backend() == DbBackend::Sqlite {
        let pool = connection.get_sqlite_connection_pool();
        let held = pool.acquire().await.map_err(|error| StoreError::from_sqlx(&error))?;
        held.close().await.map_err(|error| StoreError::from_sqlx(&error))?;
        tracing::debug!("the connection to the database file was given up");
    }
    Ok(())
}

/// How often a SQLite file that others are opening is tried again, with a tenth of a second in between.
const SQLITE_TRIES: u32 = 50;

/// The pause between two of these tries.
async fn breathe() {
    drop(tokio::time::timeout(Duration::from_millis(100), std::future::pending::<()>()).await);
}

/// Brings the schema up to date; one that a later release has taken further serves as it is. Replicas that start together
/// wait for each other.
pub(super) async fn migrate(connection: &DatabaseConnection, pooled: bool) -> Result<(), StoreError> {
    if connection.get_database_backend() != DbBackend::Postgres {
        let mut tries = SQLITE_TRIES;
        // Another process may be applying the same step: what it has applied is not ours any more.
        while let Err(error) = migrate_file(connection).await {
            let text = error.to_string();
            tries -= 1;
            let raced = ["locked", "already exists", "UNIQUE constraint", "duplicate column"];
            if tries == 0 || !raced.iter().any(|words| text.contains(words)) {
                return Err(error);
            }
            breathe().await;
        }
        return Ok(());
    }
    // Lock and steps in one transaction on one connection: it holds behind a pooler, and a death leaves nothing behind.
    let tx = begin(connection, pooled).await?;
    let take = Statement::from_sql_and_values(
        DbBackend::Postgres,
        "SELECT pg_advisory_xact_lock($1)",
        [MIGRATION_LOCK.into()],
    );
    // Whoever comes second waits for as long as the first needs.
    tx.execute_unprepared("SET LOCAL lock_timeout = 0").await?;
    tx.execute_raw(take).await?;
    if has_steps_to_apply(&tx).await? {
        Migrator::up(&tx, None).await?;
    }
    tx.commit().await?;
    Ok(())
}

async fn migrate_file(connection: &DatabaseConnection) -> Result<(), StoreError> {
    if has_steps_to_apply(connection).await? {
        Migrator::up(connection, None).await?;
    }
    Ok(())
}

/// A later release's steps only add, so that the release before it can be gone back to: they are left alone, which the
/// library's own `up` does not.
async fn has_steps_to_apply<C: ConnectionTrait>(connection: &C) -> Result<bool, StoreError> {
    let SchemaSteps { pending, unknown } = steps_of(connection).await?;
    if unknown.is_empty() {
        return Ok(true);
    }
    let unknown = unknown.join(", ");
    if !pending.is_empty() {
        let pending = pending.join(", ");
        let what =
            format!("the schema has steps of another release ({unknown}) and lacks some of this one ({pending})");
        return Err(StoreError::Refused(what));
    }
    tracing::warn!(steps = unknown, "the schema is a later release's; this one goes on with what it knows of it");
    Ok(false)
}

/// How the schema's steps differ from ours.
pub(super) async fn schema_steps(connection: &DatabaseConnection, pooled: bool) -> Result<SchemaSteps, StoreError> {
    let tx = begin(connection, pooled).await?;
    let steps = steps_of(&tx).await?;
    tx.commit().await?;
    Ok(steps)
}

async fn steps_of<C: ConnectionTrait>(connection: &C) -> Result<SchemaSteps, StoreError> {
    let models = Migrator::get_migration_models(connection).await?;
    let applied: BTreeSet<String> = models.into_iter().map(|model| model.version).collect();
    let ours: Vec<String> = Migrator::get_migration_files().iter().map(|step| step.name().to_owned()).collect();
    let unknown = applied.iter().filter(|step| !ours.contains(step)).cloned().collect();
    Ok(SchemaSteps { pending: ours.into_iter().filter(|step| !applied.contains(step)).collect(), unknown })
}
