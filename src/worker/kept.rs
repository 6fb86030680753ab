//! What the CRM client keeps in the database: the steps of one create, and the token all replicas share.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};

use crate::{
    clock::{Clock, Timestamp},
    crm::{
        steps::{Done, Saved, StepStore},
        tokens::TokenStore,
    },
    domain::attachment::LeftOut,
    ids::{ExternalKey, OperationId},
    store::{
        Store, StoreError,
        crm_steps::{self as steps, StepRow},
        journal, leases, settings, to_json,
    },
};

/// The steps of one operation, for as long as its sender's lease lasts.
#[derive(Debug)]
pub(super) struct OperationSteps {
    pub(super) store: Store,
    pub(super) operation: OperationId,
    pub(super) began: Timestamp,
    pub(super) last_start: Timestamp,
    pub(super) lease_end: Timestamp,
    pub(super) clock: Arc<dyn Clock>,
    /// Whether the request may be made anew where it cannot go out as it was.
    pub(super) may_differ: bool,
}

impl StepStore for OperationSteps {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Saved>, String>> {
        async move {
            let rows = steps::load(self.store.reader(), self.operation).await.map_err(in_words)?;
            let read = |row: StepRow| {
                let done = serde_json::from_str(&row.output)
                    .map_err(|error| format!("operation_steps {} {}: {error}", self.operation, row.step))?;
                let age = self.clock.now().since(row.at);
                Ok(Saved { step: row.step, key: ExternalKey(row.key), done, age })
            };
            rows.into_iter().map(read).collect()
        }
        .boxed()
    }

    fn save(&self, step: &str, key: ExternalKey, done: &Done) -> BoxFuture<'_, Result<(), String>> {
        let row = to_json(done)
            .map(|output| Arc::new(StepRow { step: step.to_owned(), key: key.0, output, at: self.clock.now() }));
        let operation = self.operation;
        async move {
            let row = row.map_err(in_words)?;
            let write = self.store.write(move |tx| {
                let row = Arc::clone(&row);
                async move { steps::save(tx.as_ref(), operation, &row).await }
            });
            write.await.map_err(in_words)?;
            self.store.points().pass("crm.step").await;
            Ok(())
        }
        .boxed()
    }

    fn begin(&self, step: &str, key: ExternalKey) -> BoxFuture<'_, Result<bool, String>> {
        let row = to_json(&Done { request: None, outputs: None })
            .map(|output| Arc::new(StepRow { step: step.to_owned(), key: key.0, output, at: self.clock.now() }));
        let operation = self.operation;
        async move {
            let row = row.map_err(in_words)?;
            let write = self.store.write(move |tx| {
                let row = Arc::clone(&row);
                async move { steps::begin(tx.as_ref(), operation, &row).await }
            });
            let fresh = write.await.map_err(in_words)?;
            self.store.points().pass("crm.step").await;
            Ok(fresh)
        }
        .boxed()
    }

    fn note(&self, file: usize, why: LeftOut) -> BoxFuture<'_, ()> {
        let (operation, now) = (self.operation, self.clock.now());
        async move {
            tracing::warn!(operation.id = %operation, file, why = why.name(), "a file is not with its ticket");
            let write = self.store.write(move |tx| async move {
                let detail = Some(format!("{file} {}", why.name()));
                journal::note(tx.as_ref(), Some(operation), journal::FILE_LEFT_OUT, None, detail, now).await
            });
            if let Err(error) = write.await {
                tracing::warn!(operation.id = %operation, %error, "that a file is not with its ticket could not be stored");
            }
        }
        .boxed()
    }

    fn may_differ(&self) -> bool {
        self.may_differ
    }

    fn left(&self) -> Duration {
        let now = self.clock.now();
        // Under a clock that was set back since, nobody can tell.
        if now < self.began { Duration::ZERO } else { self.lease_end.since(now) }
    }

    fn is_ours(&self) -> bool {
        (self.began..=self.last_start).contains(&self.clock.now())
    }
}

/// Tokens of the CRM, shared by all replicas through the database.
#[derive(Debug)]
pub struct SharedTokens {
    /// The database.
    pub store: Store,
    /// A name no other process has.
    pub holder: String,
    /// How long asking for a token may take.
    pub patience: Duration,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl TokenStore for SharedTokens {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn load(&self, name: &str) -> BoxFuture<'_, Result<Option<String>, String>> {
        let name = name.to_owned();
        async move { settings::get(self.store.reader(), &name).await.map_err(in_words) }.boxed()
    }

    fn save(&self, name: &str, text: String) -> BoxFuture<'_, Result<(), String>> {
        let (kept, now) = (Arc::new((name.to_owned(), text)), self.clock.now());
        async move {
            let write = self.store.write(move |tx| {
                let kept = Arc::clone(&kept);
                async move { settings::set(tx.as_ref(), &kept.0, &kept.1, now).await }
            });
            write.await.map_err(in_words)
        }
        .boxed()
    }

    fn lock(&self, name: &str) -> BoxFuture<'_, Result<bool, String>> {
        let who = Arc::new((name.to_owned(), self.holder.clone()));
        let now = self.clock.now();
        let until = now.plus(self.patience);
        async move {
            let write = self.store.write(move |tx| {
                let who = Arc::clone(&who);
                async move { leases::take(tx.as_ref(), &who.0, &who.1, now, until).await }
            });
            write.await.map_err(in_words)
        }
        .boxed()
    }

    fn unlock(&self, name: &str) -> BoxFuture<'_, ()> {
        let who = Arc::new((name.to_owned(), self.holder.clone()));
        async move {
            let write = self.store.write(move |tx| {
                let who = Arc::clone(&who);
                async move { leases::give_back(tx.as_ref(), &who.0, &who.1).await }
            });
            // A lease nobody gave back ends by itself.
            drop(write.await);
        }
        .boxed()
    }
}

fn in_words(error: StoreError) -> String {
    error.to_string()
}
