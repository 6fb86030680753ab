//! `zayavka migrate`: the schema.

use std::path::Path;

use clap::Subcommand;
use secrecy::ExposeSecret as _;

use super::{
    Exit,
    database::{existing, trouble},
    load,
};
use crate::{
    config::Config,
    points::Points,
    store::{SchemaSteps, Store, StoreError},
};

#[derive(Debug, Subcommand)]
pub(super) enum MigrateCommand {
    /// Bring the schema up to date.
    Up,
    /// Say which steps are not applied yet.
    Status,
}

pub(super) async fn run(path: &Path, command: &MigrateCommand, json: bool) -> Exit {
    let config = match load(path) {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    match act(&config, command, json).await {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("{}", trouble(&config, &error));
            Exit::Usage
        }
    }
}

async fn act(config: &Config, command: &MigrateCommand, json: bool) -> Result<Exit, StoreError> {
    let (url, pooler) = (config.database.url.expose_secret(), config.database.pooler);
    let makes = matches!(command, MigrateCommand::Up);
    let url = if makes { url.to_owned() } else { existing(url) };
    let store = Store::connect_as(&url, pooler, Points::default()).await?;
    if makes {
        store.migrate().await?;
    }
    let SchemaSteps { pending, unknown } = store.schema_steps().await?;
    if json {
        println!("{}", serde_json::json!({"pending": pending, "unknown": unknown}));
    } else {
        if !pending.is_empty() {
            println!("Not applied yet: {}. Apply with `zayavka migrate up`.", pending.join(", "));
        } else if unknown.is_empty() {
            println!("The schema is up to date.");
        }
        if !unknown.is_empty() {
            println!("Warning: applied by a later release, left alone by this one: {}.", unknown.join(", "));
        }
    }
    Ok(if pending.is_empty() { Exit::Done } else { Exit::NotWell })
}
