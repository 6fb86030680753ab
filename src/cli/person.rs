//! A person's data from a shell: all of it on request, and its erasure.

use clap::Args;
use serde_json::json;

use super::{
    Exit,
    desk::{Desk, one},
};
use crate::{
    domain::role::Role,
    ids::UserId,
    store::{
        StoreError, drafts, journal, operations, people,
        purge::{self, Forgotten},
    },
};

/// More operations than one person has.
const ALL: u64 = 100_000;

#[derive(Debug, Args)]
pub(super) struct Person {
    /// A numeric id, or a marker or operation of theirs.
    person: String,
}

pub(super) async fn export(desk: &Desk, who: Option<i64>, person: &Person) -> Result<Exit, Exit> {
    desk.actor(who, Role::Owner)?;
    let user = find(desk, &person.person).await?;
    let trouble = |error: StoreError| Desk::trouble(&error);
    let (db, bot) = (desk.store.reader(), desk.staff.bot);
    let mut listed = Vec::new();
    for stored in operations::of_person(db, bot, user, ALL).await.map_err(trouble)? {
        let history = journal::of_operation(db, stored.operation.id).await.map_err(trouble)?;
        let history: Vec<_> = history.iter().map(|line| json!({"at": line.at.rfc3339(), "what": line.entry})).collect();
        let answers = drafts::load(db, stored.operation.draft).await.map_err(trouble)?.map(|draft| draft.answers);
        listed.push(json!({
            "operation": super::queue::operation(&stored), "name": stored.client_name, "phone": stored.client_phone,
            "ticket": stored.order, "answers": answers, "history": history,
        }));
    }
    let open = drafts::active(db, bot, user).await.map_err(trouble)?;
    let open = open.map(|draft| json!({"form": draft.form, "answers": draft.answers}));
    let lang = people::lang(db, bot, user).await.map_err(trouble)?;
    // JSON in any case: it is handed on to the person.
    println!("{:#}", json!({"user": user, "language": lang, "open_draft": open, "operations": listed}));
    Ok(Exit::Done)
}

pub(super) async fn erase(desk: &Desk, who: Option<i64>, person: &Person) -> Result<Exit, Exit> {
    let actor = desk.actor(who, Role::Owner)?;
    let user = find(desk, &person.person).await?;
    let (bot, now) = (desk.staff.bot, desk.now());
    let erased = desk.store.write(move |tx| async move {
        let db = tx.as_ref();
        let forgotten = purge::forget(db, bot, user).await?;
        journal::note(db, None, "erased", Some(actor.id), Some(format!("person {user}")), now).await?;
        Ok(forgotten)
    });
    let Forgotten { drafts, operations, waiting } = erased.await.map_err(|error| Desk::trouble(&error))?;
    if desk.json {
        println!("{}", json!({"user": user, "drafts": drafts, "operations": operations, "still_in_work": waiting}));
    } else {
        println!("Erased: {drafts} drafts, answers of {operations} operations. Still in work and kept: {waiting}.");
    }
    Ok(if waiting == 0 { Exit::Done } else { Exit::NotWell })
}

async fn find(desk: &Desk, who: &str) -> Result<UserId, Exit> {
    if let Ok(number) = who.parse::<i64>() {
        let (db, bot, user) = (desk.store.reader(), desk.staff.bot, UserId(number));
        if people::is_known(db, bot, user).await.map_err(|error| Desk::trouble(&error))? {
            return Ok(user);
        }
        eprintln!("nothing is stored about the person {user}: a marker or an operation of theirs names them too");
        return Err(Exit::NotWell);
    }
    let found = operations::named(desk.store.reader(), desk.staff.bot, who).await;
    let found = found.map_err(|error| Desk::trouble(&error))?;
    one(found, who).map(|stored| stored.user).map_err(|words| {
        eprintln!("{words}");
        Exit::NotWell
    })
}
