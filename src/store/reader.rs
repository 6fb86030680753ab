//! Where reads go. Behind a transaction pooler each read is a transaction of its own: preparing a statement and running
//! it are two exchanges, and only within a transaction do both reach the same server connection.

use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement,
    prelude::async_trait,
};

use super::{StoreError, backend};

/// Connections for reading: they never wait for the writer.
#[derive(Debug, Clone)]
pub struct Reader {
    connection: DatabaseConnection,
    pooled: bool,
}

impl Reader {
    pub(super) fn new(connection: DatabaseConnection, pooled: bool) -> Self {
        Self { connection, pooled }
    }

    pub(super) async fn close(self) -> Result<(), DbErr> {
        self.connection.close().await
    }
}

/// Keeps whether the same call may work later.
fn refused(error: StoreError) -> DbErr {
    let text = error.to_string();
    if error.may_pass() { DbErr::Conn(RuntimeErr::Internal(text)) } else { DbErr::Custom(text) }
}

#[async_trait::async_trait]
impl ConnectionTrait for Reader {
    fn get_database_backend(&self) -> DbBackend {
        self.connection.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        if !self.pooled {
            return self.connection.execute_raw(statement).await;
        }
        let tx = backend::begin(&self.connection, true).await.map_err(refused)?;
        let done = tx.execute_raw(statement).await?;
        tx.commit().await?;
        Ok(done)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        // Sent in one exchange: it needs no transaction around it.
        self.connection.execute_unprepared(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        if !self.pooled {
            return self.connection.query_one_raw(statement).await;
        }
        let tx = backend::begin(&self.connection, true).await.map_err(refused)?;
        let found = tx.query_one_raw(statement).await?;
        tx.commit().await?;
        Ok(found)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        if !self.pooled {
            return self.connection.query_all_raw(statement).await;
        }
        let tx = backend::begin(&self.connection, true).await.map_err(refused)?;
        let found = tx.query_all_raw(statement).await?;
        tx.commit().await?;
        Ok(found)
    }
}
