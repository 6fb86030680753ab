//! The staff's desk without Telegram: the database, the texts, and who sits at the shell.

use std::{path::Path, sync::Arc};

use secrecy::ExposeSecret as _;

use super::{
    Exit,
    database::{existing, trouble},
    load_checked,
};
use crate::{
    app,
    clock::{SystemClock, SystemDice, Timestamp},
    domain::role::Role,
    ids::{Marker, UserId},
    points::Points,
    staff::{
        Staff,
        deed::{Actor, Deed, Target},
    },
    store::{
        Store, StoreError, Tx, cases,
        operations::{self, Stored},
    },
};

/// The desk at a shell.
pub(super) struct Desk {
    pub(super) staff: Arc<Staff>,
    pub(super) store: Store,
    pub(super) json: bool,
}

impl Desk {
    /// Opens the database that the configuration names, without touching its schema.
    pub(super) async fn open(path: &Path, json: bool) -> Result<Self, Exit> {
        let (config, checked) = load_checked(path)?;
        let trouble = |error: StoreError| {
            eprintln!("{}", trouble(&config, &error));
            Exit::Usage
        };
        let (url, pooler) = (config.database.url.expose_secret(), config.database.pooler);
        let store = Store::connect_as(&existing(url), pooler, Points::default()).await.map_err(trouble)?;
        let pending = store.pending_migrations().await.map_err(trouble)?;
        if !pending.is_empty() {
            eprintln!("The schema is not up to date: {}. Apply with `zayavka migrate up`.", pending.join(", "));
            return Err(Exit::NotWell);
        }
        let author = app::author(&config, &SystemDice);
        let staff = app::desk(&config, &checked, author, Arc::new(SystemClock));
        Ok(Self { staff: Arc::new(staff), store, json })
    }

    pub(super) fn now(&self) -> Timestamp {
        self.staff.clock.now()
    }

    pub(super) fn lang(&self) -> &str {
        self.staff.texts.lang(None)
    }

    /// Who `--as` names, with their role in the configuration.
    pub(super) fn actor(&self, named: Option<i64>, least: Role) -> Result<Actor, Exit> {
        let Some(id) = named.map(UserId) else {
            eprintln!("who decides? Give --as with a numeric id of [staff] owners or reviewers");
            return Err(Exit::Usage);
        };
        match self.staff.roster.now().role(id) {
            Some(role) if role >= least => Ok(Actor { id, role }),
            Some(_) => {
                eprintln!("--as {id}: their role in [staff] does not reach that far");
                Err(Exit::Usage)
            }
            None => {
                eprintln!("--as {id}: not listed in [staff] owners, reviewers or viewers");
                Err(Exit::Usage)
            }
        }
    }

    /// Says what a database could not do.
    pub(super) fn trouble(error: &StoreError) -> Exit {
        eprintln!("the database: {error}");
        Exit::NotWell
    }
}

/// What a shell names: a case by `#12` or `12`, or an operation by its marker, id or ticket. An error in words.
pub(super) async fn target(
    staff: &Staff,
    tx: &Tx,
    name: &str,
    deed: &Deed,
) -> Result<Result<Target, String>, StoreError> {
    let db = tx.as_ref();
    if let Some(number) = name.strip_prefix('#').and_then(|digits| digits.parse().ok()) {
        let Some(case) = cases::load_of(db, staff.bot, number).await? else {
            return Ok(Err(format!("there is no case {name}")));
        };
        let stored = match case.operation {
            Some(operation) => operations::load(db, operation).await?,
            None => None,
        };
        return Ok(Ok(Target { case: Some(case), stored }));
    }
    Ok(match one(operations::named(db, staff.bot, name).await?, name) {
        Ok(stored) => Ok(staff.target(tx, stored, deed).await?),
        Err(words) => Err(words),
    })
}

/// The only operation a name fits, or why there is none.
pub(super) fn one(mut found: Vec<Stored>, name: &str) -> Result<Stored, String> {
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            let ids: Vec<_> = found.iter().chain([&last]).map(|stored| stored.operation.id.to_string()).collect();
            Err(format!("{name} names several operations; give one by its id: {}", ids.join(", ")))
        }
        (None, _) if Marker::parse(name).is_some() => Err(format!("there is no operation with the marker {name}")),
        (None, _) => Err(format!("{name} is no marker, operation or linked ticket known here (a case is written #12)")),
    }
}
